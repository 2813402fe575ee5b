"""Compares two answers to a call: what is the same, and what kind of difference there is."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

EPSILON = {"Float16": 2.0**-10, "BFloat16": 2.0**-7, "Float32": 2.0**-23, "Float64": 2.0**-52}
NEAR = 32
"""Numbers differ within rounding if they are at most so many units in the last place apart, each in its own unit."""
RELATIVE = 64
"""Or, where digits cancel, so many units of the largest number of the result."""

KINDS = {
    "equal": "equal to the bit",
    "rounding": f"within {NEAR} units in the last place, or {RELATIVE} of the result's largest number",
    "drawn": "numbers drawn at random: the same dtype and shape",
    "values": "other values",
    "gradients": "other gradients",
    "shape": "another shape, or another number of results",
    "dtype": "another dtype or type",
    "error": "another type of exception",
    "refused here": "an exception here alone",
    "refused there": "an exception of MindSpore's alone",
    "crashed there": "MindSpore's process ends",
    "crashed here": "our process ends",
    "absent there": "no such name in MindSpore's CPU version",
    "absent here": "no such name here",
    "unsteady": "MindSpore's answers to the same call differ",
    "not asked": "MindSpore cannot make the operands",
}
"""What a comparison may find, from the best to the worst."""


@dataclass(frozen=True)
class Verdict:
    """What was found of a call: its kind, and both answers in words."""

    kind: str
    ours: str = ""
    theirs: str = ""
    ulp: float = 0.0


def judged(ours: dict[str, Any], theirs: dict[str, Any], of_chance: bool = False) -> Verdict:
    """Compare the two answers to one call; `of_chance`: it draws numbers, and the forms of its results alone are compared."""
    for kind, key in (("not asked", "skipped"), ("absent", "absent"), ("crashed", "crashed")):
        for side, answer in (("there", theirs), ("here", ours)):
            if key in answer:
                return Verdict(kind if kind == "not asked" else f"{kind} {side}", _words(ours), _words(theirs))
    if "error" in ours and "error" in theirs:
        same = theirs["error"][0] in ours["error"]
        return Verdict("equal" if same else "error", _words(ours), _words(theirs))
    if "error" in ours or "error" in theirs:
        return Verdict("refused here" if "error" in ours else "refused there", _words(ours), _words(theirs))
    if of_chance or theirs.get("unsteady"):
        forms = [[_form(leaf) for leaf in answer["result"]] for answer in (ours, theirs)]
        same = "drawn" if of_chance else "unsteady"
        return Verdict(same) if forms[0] == forms[1] else Verdict("dtype", _words(ours), _words(theirs))
    found = _of_lists(ours["result"], theirs["result"], "values")
    for key in ("written", "held"):
        mine, other = ours.get(key, {}), theirs.get(key, {})
        if mine.keys() != other.keys():
            found = _worse(found, Verdict("values", f"{key}: {', '.join(mine) or 'nothing'}", f"{key}: {', '.join(other) or 'nothing'}"))
        for name in mine.keys() & other.keys():
            found = _worse(found, _of_lists([mine[name]], [other[name]], "values"))
    if "gradients" in ours and "gradients" in theirs and found.kind in ("equal", "rounding"):
        for mine, other in zip(ours["gradients"], theirs["gradients"]):
            found = _worse(found, _of_gradients(mine, other))
    return found


def _of_gradients(ours: list[Any], theirs: list[Any]) -> Verdict:
    failed = ["error" in found[0] for found in (ours, theirs) if found]
    if any(failed):
        if len(failed) == 2 and all(failed):
            return Verdict("equal")
        return Verdict("refused here" if failed[0] else "refused there", f"gradient: {_words(ours[0])}", f"gradient: {_words(theirs[0])}")
    found = _of_lists(ours, theirs, "gradients")
    return found if found.kind in ("equal", "rounding", "gradients") else Verdict(found.kind, f"gradient: {found.ours}",
                                                                                  f"gradient: {found.theirs}")


def _of_lists(ours: list[Any], theirs: list[Any], kind: str) -> Verdict:
    if len(ours) != len(theirs):
        return Verdict("shape", f"{len(ours)} results", f"{len(theirs)} results")
    found = Verdict("equal")
    for mine, other in zip(ours, theirs):
        found = _worse(found, _of_leaves(mine, other, kind))
    return found


def _of_leaves(ours: Any, theirs: Any, kind: str) -> Verdict:
    if "bytes" not in ours or "bytes" not in theirs:
        if ours == theirs or ("object" in ours and "object" in theirs):
            return Verdict("equal")
        same = ours.get("type") == theirs.get("type") and ours.keys() == theirs.keys()
        return Verdict(kind if same else "dtype", _leaf(ours), _leaf(theirs))
    if ours["dtype"] != theirs["dtype"]:
        return Verdict("dtype", _leaf(ours), _leaf(theirs))
    if ours["shape"] != theirs["shape"]:
        return Verdict("shape", _leaf(ours), _leaf(theirs))
    if ours["bytes"] == theirs["bytes"]:
        return Verdict("equal")
    mine, other = (_parts(_array(leaf)) for leaf in (ours, theirs))
    if mine.dtype.kind != "f":
        return Verdict(kind, _leaf(ours), _leaf(theirs))
    nan = np.isnan(mine)
    infinite = (np.isinf(mine) | np.isinf(other)) & (mine != other) & ~nan
    if (nan != np.isnan(other)).any() or infinite.any():
        return Verdict(kind, _leaf(ours), _leaf(theirs))
    a, b = mine[np.isfinite(mine)].astype(np.float64), other[np.isfinite(mine)].astype(np.float64)
    epsilon = EPSILON.get(ours["dtype"], float(np.finfo(mine.dtype).eps))
    if (a == b).all():
        return Verdict("equal" if (np.signbit(a) == np.signbit(b)).all() else kind, _leaf(ours), _leaf(theirs))
    largest = max(np.abs(a).max(), np.abs(b).max())
    apart = np.abs(a - b)
    with np.errstate(all="ignore"):
        units = float(np.nan_to_num(apart / (np.maximum(np.abs(a), np.abs(b)) * epsilon)).max())
    if units <= NEAR or (apart <= RELATIVE * epsilon * largest).all():
        return Verdict("rounding", _leaf(ours), _leaf(theirs), units)
    return Verdict(kind, _leaf(ours), _leaf(theirs), units)


def _worse(one: Verdict, two: Verdict) -> Verdict:
    order = list(KINDS)
    if one.kind == two.kind:
        return one if one.ulp >= two.ulp else two
    return one if order.index(one.kind) > order.index(two.kind) else two


def _form(leaf: Any) -> Any:
    return (leaf["dtype"], leaf["shape"]) if "bytes" in leaf else leaf.get("type")


def _array(leaf: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(leaf["bytes"]), leaf["as"]).reshape(leaf["shape"])


def _parts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Complex numbers as their real and imaginary parts, other arrays as they are."""
    return array.reshape(-1).view(f"f{array.itemsize // 2}") if array.dtype.kind == "c" else array


def _words(answer: dict[str, Any]) -> str:
    if "error" in answer:
        return f"{answer['error'][0]}: {answer['text'].splitlines()[0] if answer['text'] else ''}"[:160]
    for key in ("absent", "crashed", "skipped"):
        if key in answer:
            return str(answer[key])
    return ", ".join(map(_leaf, answer.get("result", [answer])))[:160]


def _leaf(leaf: Any) -> str:
    if "bytes" in leaf:
        with np.printoptions(precision=6, threshold=12, linewidth=400):
            return f"{leaf['dtype']}{leaf['shape']} {' '.join(str(_array(leaf)).split())}"[:160]
    return str(leaf.get("number", leaf.get("cell", leaf.get("object", leaf))))[:160]
