"""Make programs up from seeds, compare all of them in all ways, and report failures with what is needed to find the mistake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tests.made_up import control_flow, networks, straight
from tests.made_up.choices import Choices
from tests.made_up.forms import TIERS, Comparison, Differs, Way, compile_fused
from tests.made_up.smaller import smaller

__all__ = ["Tally", "checked", "made_up"]

WRITERS = (straight.written, networks.written, straight.written, networks.written, control_flow.written)


def made_up(seed: int) -> str:
    """Return the text of the program of a seed."""
    return WRITERS[seed % len(WRITERS)](Choices(seed))


@dataclass
class Tally:
    """What was compared; `failures` are reports for people."""

    programs: int = 0
    graphs: int = 0
    refused: int = 0
    failures: list[str] | None = None


def checked(seeds: Sequence[int], *, seconds: float = 60.0) -> Tally:
    """Compare the programs of these seeds, each in some of the ways; the kernels that all of them fuse are compiled together.

    seconds  for making one failing program smaller
    """
    found: list[str] = []
    comparisons: dict[int, Comparison] = {}
    tally = Tally(failures=found)
    for seed in seeds:
        comparison = Comparison(made_up(seed))
        comparisons[seed] = comparison
        ways = [replace(way, busy=seed % 2 > 0) for way in comparison.ways("tables", Choices("tables", seed), 2)]
        if (said := first_difference(comparison, ways)) is not None:
            found.append(report(seed, said, seconds))
            del comparisons[seed]
    compile_fused({text: kernel for comparison in comparisons.values() for text, kernel in comparison.texts.items()})
    for seed, comparison in comparisons.items():
        if (said := first_difference(comparison, comparison.ways(TIERS[1 + seed % 2], Choices("fused", seed), 1))) is not None:
            found.append(report(seed, said, seconds))
        tally.graphs += comparison.graphs
        tally.refused += comparison.refused
    tally.programs = len(seeds)
    return tally


def first_difference(comparison: Comparison, ways: Iterable[Way]) -> Differs | None:
    for way in ways:
        try:
            comparison.check(way)
        except Differs as differs:
            return differs
    return None


def report(seed: int, differs: Differs, seconds: float) -> str:
    """Return what differs, and a small program in which it does."""
    way = differs.way

    def fails(text: str) -> bool:
        try:
            Comparison(text).check(way)
        except Differs as other:
            return other.what == differs.what
        except Exception:  # no program any more
            return False
        return False

    said = f"seed {seed}: {differs}"
    program = smaller(made_up(seed), fails, seconds)
    try:
        Comparison(program).check(way)
    except Differs as last:
        said += f"\nin the program below: {last}"
    return f"{said}\n\n{program}\nmake fuzz SEED={seed} checks the whole program; python -m tests.made_up FILE checks the one above"
