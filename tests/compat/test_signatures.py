"""The signatures of MindSpore 2.10: names, order and defaults of the parameters of every public function and class that is here.

The record is `tests/oracle/signatures.json`.  Parameters of ours may follow those of MindSpore.  A method of Tensor may be called in each
form that MindSpore has of it.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adjoint import Tensor
from adjoint.compat import install, paths

install()

ROOT = Path(__file__).parents[2]
RECORD: dict[str, Any] = json.loads((ROOT / "tests" / "oracle" / "signatures.json").read_text(encoding="utf-8"))
OPEN = {"(*args, **kwargs)", "(self, *args, **kwargs)", "(cls, *args, **kwargs)", None}
"""Signatures that state nothing."""


OTHERS = {
    "ops.constexpr": "`reuse_result` and `check` are among its other options, which have no effect",
    "ops.Primitive": "a name is not needed, and attributes may be given",
    "ops.ReduceStd": "no axes are an empty tuple, as for the other reductions, where MindSpore has an empty list",
    **dict.fromkeys(("mindspore.export", "train.export"), "the format is C by default, with options of its own"),
    "mint.zeros": "`dtype` may also be given by position",
    "mint.randint_like": "the first of its arguments has a name",
    **dict.fromkeys(("dataset.OBSMindDataset", "dataset.TFRecordDataset"), "raises an error that says what to use"),
}
"""Functions and classes whose parameters are others on purpose, with the reason."""
OTHER_METHODS = {
    "bernoulli": "takes the probability of a 1; MindSpore's has no CPU version",
    "type": "the type, which is called for its name; `astype` casts",
}
"""Methods of Tensor that cannot be called as MindSpore's, with the reason."""


class Given(NamedTuple):
    """A parameter: its name, `*`, `**`, whether it is given by name alone, and its default as text."""

    name: str
    by_name: bool
    default: str | None


def stated(text: str) -> list[Given]:
    """Return the parameters that a recorded signature states, without the tensor or object itself."""
    text = re.sub(r"<(?:[^<>]|<[^<>]*>)*>", "...", re.sub(r"\) -> .*|\)\s*$", ")", text[text.index("("):]))
    arguments = ast.parse(f"def f{text}: pass").body[0].args  # type: ignore[attr-defined]
    names = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(names) - len(arguments.defaults)) + [ast.unparse(default) for default in arguments.defaults]
    found = [Given(name.arg, False, default) for name, default in zip(names, defaults)]
    found += [Given("*", False, None)] if arguments.vararg else []
    found += [Given(name.arg, True, None if default is None else ast.unparse(default))
              for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    found += [Given("**", True, None)] if arguments.kwarg else []
    return found[1:] if found and found[0].name in ("self", "cls") else found


def ours(function: Any) -> list[Given]:
    """Return the parameters of a function, or of what makes the instances of a class."""
    kinds = inspect.Parameter
    found: list[Given] = []
    for parameter in inspect.signature(function.__init__ if inspect.isclass(function) else function).parameters.values():
        name = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(parameter.kind, parameter.name)
        default = None if parameter.default is parameter.empty else repr(parameter.default).removeprefix("mindspore.")
        found.append(Given(name, parameter.kind in (kinds.KEYWORD_ONLY, kinds.VAR_KEYWORD), default))
    return found[1:] if found and inspect.isclass(function) else found


def same(theirs: list[Given], mine: list[Given]) -> bool:
    """Whether the first parameters of ours are those of MindSpore; those that a function takes by any name may be spelled out."""
    wanted = [given._replace(default=_plain(given.default)) for given in theirs if given.name != "**"]
    return wanted == [given._replace(default=_plain(given.default)) for given in mine[: len(wanted)]]


def _plain(default: str | None) -> str | None:
    """Write a default as both do: numbers by value, what a repr alone shows as `...`."""
    if default is None or default.startswith("<") or default == "...":
        return default and "..."
    with contextlib.suppress(ValueError):
        return repr(float(default))
    return default.replace("mindspore.", "").replace("bool_", "bool")


def recorded() -> Iterator[tuple[str, Any, str]]:
    """Yield the public functions and classes that are here, with the signatures that are recorded of them."""
    places: dict[str, dict[str, Any]] = {}
    for section, facts in RECORD.items():
        if section.startswith("mindspore.") and section not in ("mindspore.names", "mindspore.classes"):
            place = re.sub(r"\.(functions|cells|primitives)$", "", section)
            facts = {name: fact["init"] if isinstance(fact, dict) else fact for name, fact in facts.items()}
            places.setdefault(place.removeprefix("mindspore.") if place != "mindspore" else place, {}).update(facts)
    for place, facts in places.items():
        for name, text in facts.items():
            value = paths.look_up(place, name) if name in paths.row_of(place).names else paths.ABSENT
            if text not in OPEN and value is not paths.ABSENT:
                yield f"{place}.{name}", value, text


def test_functions_and_classes() -> None:
    found = list(recorded())
    wrong = [f"{name}{text}; ours: {inspect.signature(value)}" for name, value, text in found
             if name not in OTHERS and not same(stated(text), ours(value))]
    assert len(found) > 1500 and not wrong, "\n".join(wrong)
    known = {name for name, value, text in found if not same(stated(text), ours(value))}
    assert set(OTHERS) == known, "no longer other: remove it from OTHERS"


def forms() -> Iterator[tuple[str, list[Given]]]:
    """Yield each form of a method of Tensor that is here."""
    for name, fact in RECORD["Tensor.members"].items():
        for text in (fact or {}).get("signatures", ()):
            if hasattr(Tensor, name) and text and text.removeprefix(name) not in OPEN:
                yield name, stated(text)


def refused(name: str, theirs: list[Given]) -> str:
    """Return why a method of Tensor cannot be called in a form of MindSpore's, by position or by names; empty if it can."""
    attribute = inspect.getattr_static(Tensor, name)
    function = attribute.__func__ if isinstance(attribute, staticmethod | classmethod) else attribute
    if not callable(function):
        return f"Tensor.{name} is no function"
    method = inspect.signature(function)
    own = () if isinstance(attribute, staticmethod) else (None,)
    plain = [given for given in theirs if given.name not in ("*", "**")]
    calls = [([given.name for given in plain if not given.by_name], {}), ([], dict.fromkeys(given.name for given in plain))]
    if any(given.name == "*" for given in theirs):
        calls[1] = ([], {given.name: None for given in plain if given.by_name})
    for values, named in calls:
        try:
            method.bind(*own, *values, **named)
        except TypeError as error:
            return f"Tensor.{name}({', '.join([*values, *(f'{key}=' for key in named)])}): {error}; ours: {method}"
    return ""


def test_methods_of_tensors_in_all_forms() -> None:
    found = list(forms())
    wrong = [why for name, theirs in found if name not in OTHER_METHODS and (why := refused(name, theirs))]
    assert len(found) > 250 and not wrong, "\n".join(wrong)
    assert {name for name, theirs in found if refused(name, theirs)} == set(OTHER_METHODS), "no longer other: remove it from OTHER_METHODS"
