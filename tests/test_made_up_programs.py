"""Programs made up from seeds do what they do in eager mode: as graphs, along recorded paths, with the kernels of nodes and fused ones.

To the bit: values, gradients to order two, training, what hooks see, exceptions.  A graph may refuse a program with a diagnostic, and
only so.  A batch of examples (`vmap`) does what the loop over them does, with the signs of
zeros.  Gradients in graphs of loops over rows are those of eager mode.  Networks whose parts take derivatives, or have hooks, are asked for
derivatives and trained.
`tests/made_up` says which programs there are and in which ways they run.

    make fuzz N=2000              other programs each time, as many as wanted
    make fuzz SEED=17             the program of a seed, and as many after it as N says
    python -m tests.made_up 17    shows the program of a seed
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from test_ops import needs_compiler

from tests.made_up import batches, derived, rows, sides
from tests.made_up.fuzz import checked, made_up

FUZZ = int(os.environ.get("ADJOINT_FUZZ", "0"))
"""How many programs are tried; 0: the same fifty each time."""
SEED = os.environ.get("ADJOINT_FUZZ_SEED", "")
FIRST = int(SEED) if SEED else random.SystemRandom().randrange(2**40) if FUZZ else 0
COUNT, TOGETHER = FUZZ or 50, 5

BATCHES = FUZZ or 15
ROWS = FUZZ or 20
SIDES = FUZZ or 10
DERIVED = FUZZ or 60

counts: Counter[str] = Counter()


@needs_compiler
@pytest.mark.parametrize("seeds", [range(begin, min(begin + TOGETHER, FIRST + COUNT)) for begin in range(FIRST, FIRST + COUNT, TOGETHER)],
                         ids=lambda seeds: f"{seeds[0]}")
def test_all_ways_do_the_same(seeds: range) -> None:
    tally = checked(seeds)
    counts.update(graphs=tally.graphs, refused=tally.refused)
    assert not tally.failures, "\n\n".join(tally.failures)


@needs_compiler
@pytest.mark.parametrize("begin", range(FIRST, FIRST + BATCHES, TOGETHER))
def test_a_batch_does_what_the_loop_does(begin: int) -> None:
    tally = batches.checked(range(begin, min(begin + TOGETHER, FIRST + BATCHES)))
    assert not tally.failures, "\n\n".join(tally.failures)
    assert FUZZ or all(tally.compared[question] for question in batches.QUESTIONS)


@needs_compiler
@pytest.mark.parametrize("begin", range(FIRST, FIRST + ROWS, TOGETHER))
def test_gradients_of_loops_over_rows(begin: int) -> None:
    failures = rows.checked(range(begin, min(begin + TOGETHER, FIRST + ROWS)))
    assert not failures, "\n\n".join(failures)


@needs_compiler
@pytest.mark.parametrize("begin", range(FIRST, FIRST + SIDES, TOGETHER))
def test_batches_whose_examples_take_other_sides(begin: int) -> None:
    failures = sides.checked(range(begin, min(begin + TOGETHER, FIRST + SIDES)))
    assert not failures, "\n\n".join(failures)


@needs_compiler
@pytest.mark.parametrize("begin", range(FIRST, FIRST + DERIVED, 2 * TOGETHER))
def test_networks_that_take_derivatives(begin: int) -> None:
    tally = derived.checked(range(begin, min(begin + 2 * TOGETHER, FIRST + DERIVED)))
    assert not tally.failures, "\n".join(tally.failures)
    assert FUZZ or all(tally.compared[mode] > TOGETHER for mode in derived.MODES)


def test_most_programs_are_graphs() -> None:
    """Most programs of the writers can be made into graphs."""
    if not counts:
        pytest.skip("no programs were tried")
    assert counts["graphs"] > 4 * counts["refused"]


def test_a_seed_gives_one_program() -> None:
    first, second = ([made_up(seed) for seed in range(1, 6)] for _ in range(2))
    assert first == second and len({*first}) == 5
