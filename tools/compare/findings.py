"""Groups what was found of all calls by name and kind, with the reasons of differences that are meant."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from judging import KINDS, judged
from reasons import RANDOM, reason

Found = dict[str, Any]

SHOWN = ("values", "gradients", "shape", "dtype", "refused here", "crashed here", "absent here")
"""Kinds of which the findings tell the names, with a call."""

REFUSED = ("refused there", "crashed there")
"""Kinds that are told of right calls alone."""

LONGEST = 90
"""Characters of a call, or an answer, that the findings show."""

PREFIXES = {"mnp": "numpy", "F": "mint.nn.functional", "T": "dataset.transforms", "V": "dataset.vision", "text": "dataset.text",
            "ms": "mindspore"}


def of(calls: list[dict[str, Any]], ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> Found:
    """Return the counts of each kind, and for each name and kind how many calls, one of them and its answers.

    Of a kind at a name there is one row for each reason, and one for what has none.
    """
    counts: Counter[str] = Counter()
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    asked: set[str] = set()
    for call, mine, other in zip(calls, ours, theirs, strict=True):
        name = name_of(call)
        verdict = judged(mine, other, of_chance=RANDOM.search(call["text"]) is not None)
        asked.add(name)
        counts[verdict.kind] += 1
        if verdict.kind not in SHOWN and not (verdict.kind in REFUSED and call["kind"] == "right"):
            continue
        why = reason(verdict, name, call)
        first = {"count": 0, "call": _cut(written(call)), "ours": _cut(verdict.ours), "theirs": _cut(verdict.theirs)}
        rows.setdefault((name, verdict.kind, why), first)["count"] += 1
    listed = [{"name": name, "kind": kind, "why": why, **row} for (name, kind, why), row in sorted(rows.items())]
    kinds = {kind: counts[kind] for kind in KINDS if counts[kind]}
    return {"calls": len(calls), "names": len(asked), "kinds": kinds, "words": KINDS, "rows": listed}


def name_of(call: dict[str, Any]) -> str:
    """The public name that a call is of: `ops.relu`, `nn.Dense`, `Tensor.sum`, `numpy.pad`."""
    text = re.sub(r"^(fed|filled|resting|stepped)\((?:filled\()?", "", call["text"])
    owner, _, name = re.split(r"[(\[, ]", text, maxsplit=1)[0].rpartition(".")
    if call["of"] == "mint":
        return f"{PREFIXES.get(owner, {'nn': 'mint.nn', 'optim': 'mint.optim'}.get(owner, owner))}.{name}"
    known = owner in PREFIXES or owner.split(".")[0] in ("ops", "nn", "train", "initializer", "net", "text", *PREFIXES)
    first = owner.split(".")[0]
    return f"{PREFIXES.get(first, first)}{owner[len(first):]}.{name}" if known else f"Tensor.{name}"


def written(call: dict[str, Any]) -> str:
    """A call as a reader sees it."""
    changed = ", ".join(f"{name} {how}" for name, how in call["given"].items())
    return f"{call['text']}; {changed}" if changed else call["text"]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def written_file(found: Found) -> str:
    """The findings as JSON with one row a line."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found["rows"])
    head = json.dumps({key: value for key, value in found.items() if key != "rows"}, ensure_ascii=False)
    return f'{head[:-1]}, "rows": [\n{rows}\n]}}\n'


def summary(found: Found) -> str:
    """How many calls there are of each kind."""
    lines = [f"{found['calls']} calls of {found['names']} names"]
    return "\n".join([*lines, *(f"{count:7} {KINDS[kind]}" for kind, count in found["kinds"].items())])


def in_words(found: Found) -> str:
    """Every row, for a reader at a terminal."""
    return "\n".join(f"{row['name']}, {row['kind']}, {row['count']} calls{': ' + row['why'] if row['why'] else ''}\n    {row['call']}\n"
                     f"        here  {row['ours']}\n        there {row['theirs']}" for row in found["rows"])
