"""Scenarios with hooks, as functions of a mode that write a log, and the logs required by docs/hooks.md, written by hand.

The numbers of the logs written by hand follow from w = 2 and the cells' z = y * y: dz = w * g, dy = 2 y dz.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import adjoint as ms
from tests.hooks import programs
from tests.hooks.events import Square, T
from tests.hooks.kinds import ALL, CELLS, KINDS, MAIN, Kind, seen
from tests.hooks.log import Boom, Event, F, Starts, Trace, first, first_line
from tests.hooks.modes import Mode

__all__ = ["SCENARIOS", "Scenario", "add", "ran"]


@dataclass(frozen=True)
class Scenario:
    """A run that a mode can make.

    expected  the log, written by hand; None: that of eager mode
    """

    name: str
    run: Callable[[Mode, Trace], None]
    expected: list[Event] | None = None

    def play(self, mode: Mode) -> list[Event]:
        trace = Trace()
        with mode.active():
            self.run(mode, trace)
        return trace.events


SCENARIOS: dict[str, Scenario] = {}


def add(name: str, run: Callable[[Mode, Trace], None], expected: list[Event] | None = None) -> None:
    assert name not in SCENARIOS, name
    SCENARIOS[name] = Scenario(name, run, expected)


def ran(value: float, dx: float, dw: float, label: str = "run") -> Event:
    """Return the event of a value with the gradients of x and w."""
    return (label, (F(value), (F(dx), (F(dw),))))


class Armed:
    """What a hook returns while it is armed; None afterwards."""

    def __init__(self, act: Callable[[Any], Any]):
        self.act, self.armed = act, True

    def __call__(self, value: Any) -> Any:
        return self.act(value) if self.armed else None


# -- what a hook returns: every kind, every return ---------------------------------------------------------------------
def raising(error: type[BaseException]) -> Callable[[Any], Any]:
    def act(value: Any) -> Any:
        raise error("boom")

    return act


def returned_none(v):
    return None


def returned_same(v):
    return v


def returned_tensor(v):
    return first(v) * 10


def returned_tuple(v):
    return (first(v) * 10,)


def returned_two(v):
    return first(v) * 10, first(v)


def returned_empty(v):
    return ()


def returned_shape(v):
    return T(1, 2)


def returned_dtype(v):
    return first(v).astype(ms.int32)


def returned_half(v):
    return first(v).astype(ms.float16)


def returned_int(v):
    return 3


def returned_text(v):
    return "text"


def returned_list(v):
    return [first(v)]


def returned_array(v):
    return np.ones(1, np.float32)


def returned_hole(v):
    return (None,)


RETURNS: dict[str, Callable[[Any], Any]] = {
    "none": returned_none, "same": returned_same, "tensor": returned_tensor, "tuple": returned_tuple, "two": returned_two,
    "empty": returned_empty, "shape": returned_shape, "dtype": returned_dtype, "half": returned_half, "int": returned_int,
    "text": returned_text, "list": returned_list, "array": returned_array, "hole": returned_hole,
    "value_error": raising(ValueError), "interrupt": raising(KeyboardInterrupt), "boom": raising(Boom),
}

LINE = (3, 9, 2, 12, 24, 9)
"""y, z, dz, dy, dx, dw of `Line` at 1.5"""

_TIMES_TEN = {
    "fpre": (1800, 2400, 900), "fwd": (180, 240, 90), "bpre": (18, 240, 9), "bwd": (18, 240, 9), "argument": (18, 240, 9),
    "parameter": (18, 24, 90), "inside": (18, 240, 9), "value": (18, 240, 9), "insert": (18, 240, 9), "bprop": (18, 240, 9),
}
"""value, dx, dw where a hook multiplies by ten what it may replace."""

_NUMBERS = {"int": "int", "text": "str", "list": "list", "array": "ndarray"}


def _raised(error: str, text: str) -> Event:
    return ("run", "raised", error, Starts(text))


def _outcome(of: Kind, what: str) -> Event | None:
    """Return what docs/hooks.md says about a kind and a returned value; None if it does not say."""
    base, role = of.base, of.role or KINDS[of.base].role or "hook"
    value_kind = base in ("argument", "parameter", "inside")
    names = {"value_error": "ValueError", "interrupt": "KeyboardInterrupt", "boom": "Boom"}
    if what in names:
        return ("run", "raised", names[what], "boom")
    if what == "same" or (what == "none" and base != "bprop"):
        if what == "same" and base == "value":
            return ran(18, 24, 9)
        return ran(18, 24, 9)
    if what == "none":
        return _raised("TypeError", "The python function output is none")
    if what == "tensor" or (what == "tuple" and base in ("fpre", "bpre", "bwd", "value", "bprop")):
        return ran(*_TIMES_TEN[base])
    if base == "bprop":
        return {
            "two": ran(18, 240, 9),
            "empty": _raised("RuntimeError", "Hook fn grad output is empty"),
            "shape": ran(18, 6, 9),
            "dtype": ran(18, 24, 9), "half": ran(18, 24, 9), "hole": ran(18, 0, 9),
        }.get(what)
    if base == "fpre":
        return {
            "two": _raised("TypeError", "Square.construct() takes 2 positional arguments but 3 were given"),
            "empty": _raised("TypeError", "Square.construct() missing 1 required positional argument: 'x'"),
            "int": ran(18, 0, 9), "dtype": ran(18, 0, 9), "half": ran(18, 24, 9),
            "shape": ("run", (F(2, 8), (F(0), (F(5),)))),
        }.get(what)
    if base == "fwd":
        return {
            "int": ran(6, 0, 3), "dtype": ran(18, 0, 9), "half": ran(18, 24, 9), "shape": ("run", (F(2, 4), (F(0), (F(3),)))),
        }.get(what)
    if what in ("shape", "dtype", "half"):
        got = {"shape": "[[const vector]{2}]Float32", "dtype": "[[const vector]{1}]Int32", "half": "[[const vector]{1}]Float16"}[what]
        return _raised("ValueError", f"The output type of function: {role} is not consistent with the expected, "
                                     f"it should be Tensor shape:[[const vector]{{1}}]Float32, but got Tensor shape:{got}")
    kind = _NUMBERS.get(what, "tuple")
    if value_kind:
        return _raised("RuntimeError", f"Tensor hook should be return Tensor, but get type: {kind}.")
    if base in ("bpre", "bwd") and what in ("two", "empty"):
        count = 2 if what == "two" else 0
        size, expected = of.size or KINDS[base].size, "output" if base == "bpre" else "grad input"
        return _raised("TypeError", f"{size} is {count} not equal to expect {expected} size 1")
    if what == "hole" and base != "insert":
        kind = "NoneType"
    return _raised("TypeError", f"The output type of function: {role} should be a tensor but got {kind}")


def returns(kind: Kind, what: str) -> Callable[[Mode, Trace], None]:
    """One hook returns a wrong value in the second of three calls."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x, act = programs.Line(mode.inner(kind.cell())), T(1.5), Armed(RETURNS[what])
        gradient = mode.gradient(net, [net.w])
        kind.hang(net, x, trace, kind.name, act)
        raised = trace.call("run", gradient, x)
        if isinstance(raised, BaseException) and str(raised) == "boom":
            trace.add("notes", [first_line(Exception(note)) for note in getattr(raised, "__notes__", ())])
        act.armed = False
        trace.call("again", gradient, x)

    return run


def _returns_expected(kind: Kind, what: str) -> list[Event] | None:
    outcome = _outcome(kind, what)
    boom = what in ("value_error", "interrupt", "boom")
    other = kind.cell is not Square and kind.base in ("fpre", "fwd") and what in ("two", "empty")
    if outcome is None or other or (kind.name.endswith("first") and what not in ("none", "same")) or (boom and kind.base == "bprop"):
        return None
    normal = seen(kind, *LINE)
    return [*normal, outcome, *([("notes", [Starts("raised in hook ")])] if boom else []), *normal, ran(18, 24, 9, "again")]


for _kind, _what in itertools.product(MAIN, RETURNS):
    add(f"returns-{_kind}-{_what}", returns(_kind, _what), _returns_expected(_kind, _what))
for _index, _what in enumerate(RETURNS):
    for _kind in ALL[len(MAIN) + _index % 2::2]:
        add(f"returns-{_kind}-{_what}", returns(_kind, _what), _returns_expected(_kind, _what))


# -- where the hooked value stands ------------------------------------------------------------------------------------
def where(kind: Kind, made: Callable[[Any], Any], values: tuple[float, ...], what: str = "none") -> Callable[[Mode, Trace], None]:
    def run(mode: Mode, trace: Trace) -> None:
        net = made(mode.inner(kind.cell()))
        gradient = mode.gradient(net, [net.w])
        act = RETURNS["same" if kind.base == "bprop" and what == "none" else what]
        handles = []
        for value in values:
            x = T(value)
            if not handles or kind.base == "argument":
                handles.append(kind.hang(net, x, trace, kind.name, act))
            trace.call("run", gradient, x)

    return run


def rounds(kind: Kind, counts: tuple[int, ...]) -> Callable[[Mode, Trace], None]:
    """The same program with another number of iterations each time."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.For(mode.inner(kind.cell())), T(0.5)
        gradient = mode.gradient(net, [net.w])
        kind.hang(net, x, trace, kind.name, RETURNS["same"] if kind.base == "bprop" else None)
        for count in counts:
            net.rounds = count
            trace.call("run", gradient, x)

    return run


Pairs = list[tuple[float, float]]


def _rounds_seen(kind: Kind, forwards: Pairs, backwards: Pairs, dx: float, dw: float) -> list[Event]:
    """Return the events of several iterations: (y, z) forward in order, (dz, dy) backward in order; leaves once."""
    if kind.base in ("fpre", "fwd"):
        return [event for y, z in forwards for event in seen(kind, y, z, 0, 0, dx, dw)]
    if kind.base == "argument" or (kind.base == "parameter" and backwards):
        return seen(kind, 0, 0, 0, 0, dx, dw)
    if kind.base == "parameter":
        return []
    return [event for dz, dy in backwards for event in seen(kind, 0, 0, dz, dy, dx, dw)]


def _silent(kind: Kind, dx: float) -> list[Event]:
    """If the point is not reached, only the argument's hook runs."""
    return _rounds_seen(kind, [], [], dx, 0)


for _kind in ALL:
    _two = [*_rounds_seen(_kind, [(1, 1), (2, 4)], [(2, 8), (16, 32)], 65, 12), ran(8.5, 65, 12)]
    _ends = _rounds_seen(_kind, [(3, 9), (18, 324)], [(2, 72), (144, 864)], 5185, 972)
    add(f"where-{_kind}-branch", where(_kind, programs.Branch, (1.5, -1.5, 1.5)), [
        *seen(_kind, 3, 9, 2, 12, 25, 9), ran(19.5, 25, 9), *_silent(_kind, 11), ran(-16.5, 11, 0),
        *seen(_kind, 3, 9, 2, 12, 25, 9), ran(19.5, 25, 9)])
    add(f"where-{_kind}-branch_else", where(_kind, programs.BranchElse, (1.5, -1.5)), [
        *_silent(_kind, 11), ran(16.5, 11, 0), *seen(_kind, -3, 9, 2, -12, -23, 9), ran(16.5, -23, 9)])
    add(f"where-{_kind}-while", where(_kind, programs.While, (0.5, 3, 1, 0.5)), [
        *_two, *_silent(_kind, 3), ran(9, 3, 0), *seen(_kind, 2, 4, 2, 8, 17, 4), ran(9, 17, 4), *_two])
    if _kind not in MAIN:
        continue
    add(f"where-{_kind}-early_return", where(_kind, programs.EarlyReturn, (1.5, -1.5)), [
        *seen(_kind, 3, 9, 2, 12, 24, 9), ran(18, 24, 9), *_silent(_kind, 10), ran(-15, 10, 0)])
    add(f"where-{_kind}-for", rounds(_kind, (2, 0, 2)), [*_two, *_silent(_kind, 3), ran(1.5, 3, 0), *_two])
    add(f"where-{_kind}-leaving", where(_kind, programs.Leaving, (0.5, -1, 0.5)), [
        *_ends, ran(648.5, 5185, 972), *_silent(_kind, 3), ran(-3, 3, 0), *_ends, ran(648.5, 5185, 972)])
    add(f"where-{_kind}-branch-times", where(_kind, programs.Branch, (1.5, -1.5), "tensor"))
    add(f"where-{_kind}-while-times", where(_kind, programs.While, (0.5, 3), "tensor"))
    add(f"where-{_kind}-while-raises", where(_kind, programs.While, (0.5, 3, 0.5), "boom"))
    add(f"where-{_kind}-leaving-raises", where(_kind, programs.Leaving, (0.5, -1), "boom"))


# -- how often the value is used --------------------------------------------------------------------------------------
def uses(kind: Kind, made: Callable[[Any, int], Any]) -> Callable[[Mode, Trace], None]:
    def run(mode: Mode, trace: Trace) -> None:
        net, x = made(mode.inner(kind.cell()), 0), T(1.5)
        gradient = mode.gradient(net, [net.w])
        kind.hang(net, x, trace, kind.name, RETURNS["same"] if kind.base == "bprop" else None)
        for count in (0, 1, 3):
            net.uses = count
            trace.call("run", gradient, x)

    return run


for _kind in MAIN:
    _once = [*seen(_kind, 3, 9, 2, 12, 25, 9), ran(19.5, 25, 9)]
    _thrice = seen(_kind, 3, 9, 12, 72, 145, 54)
    _calls = (_thrice if _kind.base in ("inside", "value", "insert") else
              _rounds_seen(_kind, [(3, 9)] * 3, [(6, 36), (4, 24), (2, 12)], 145, 54))
    add(f"uses-{_kind}-value", uses(_kind, programs.UsesValue),
        [*_silent(_kind, 1), ran(1.5, 1, 0), *_once, *_calls, ran(109.5, 145, 54)])
    _unused = seen(_kind, 3, 9, 0, 0, 1, 0) if _kind.base in ("fpre", "fwd", "argument") else []
    add(f"uses-{_kind}-output", uses(_kind, programs.UsesOutput),
        [*_unused, ran(1.5, 1, 0), *_once, *_thrice, ran(109.5, 145, 54)])


# -- when it is registered and removed --------------------------------------------------------------------------------
def late(kind: Kind) -> Callable[[Mode, Trace], None]:
    """Registered after the first call, removed, registered again, removed twice."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.Line(mode.inner(kind.cell())), T(1.5)
        gradient = mode.gradient(net, [net.w])
        act = RETURNS["same"] if kind.base == "bprop" else None
        trace.call("run", gradient, x)
        for _ in range(2):
            handle = kind.hang(net, x, trace, kind.name, act)
            trace.call("run", gradient, x)
            handle.remove()
            handle.remove()
            trace.call("run", gradient, x)

    return run


def flipped(kind: Kind) -> Callable[[Mode, Trace], None]:
    """Registered and removed twenty times, forward only and with the gradient."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.Line(mode.inner(kind.cell())), T(1.5)
        gradient, forward = mode.gradient(net, [net.w]), mode.program(net)
        act = RETURNS["same"] if kind.base == "bprop" else None
        for _ in range(20):
            handle = kind.hang(net, x, trace, kind.name, act)
            trace.call("run", gradient, x)
            handle.remove()
            trace.call("forward", forward, x)
            trace.call("run", gradient, x)

    return run


def replaced(kind: Kind) -> Callable[[Mode, Trace], None]:
    """Another function each time, after removing the old one."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.Line(mode.inner(kind.cell())), T(1.5)
        gradient = mode.gradient(net, [net.w])
        for what in ("same", "tensor", "same"):
            handle = kind.hang(net, x, trace, kind.name, RETURNS[what])
            trace.call("run", gradient, x)
            handle.remove()

    return run


for _kind in ALL:
    if _kind.name.endswith("first"):
        continue
    _on, _off = [*seen(_kind, *LINE), ran(18, 24, 9)], [ran(18, 24, 9)]
    add(f"registered-{_kind}-late", late(_kind), [*_off, *_on, *_off, *_on, *_off])
for _kind in MAIN:
    _on, _off = [*seen(_kind, *LINE), ran(18, 24, 9)], [("forward", F(18)), ran(18, 24, 9)]
    add(f"registered-{_kind}-flipped", flipped(_kind), (_on + _off) * 20)
    _ten = ran(*_TIMES_TEN[_kind.base])
    add(f"registered-{_kind}-replaced", replaced(_kind), [*_on, *seen(_kind, *LINE), _ten, *_on])


def by_a_forward_hook(kind: Kind) -> Callable[[Mode, Trace], None]:
    """The forward hook of a cell registers a hook on the next cell, which is called afterwards: it takes part in this call."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.Two(mode.inner(Square()), mode.inner(Square())), T(1.5)
        gradient = mode.gradient(net, [net.w])
        handles: list[Any] = []

        def hanging(cell, args, output):
            trace.add("hanging")
            if not handles:
                handles.append(kind.hang(net, x, trace, kind.name, None))
            else:
                handles.pop().remove()

        net.before.register_forward_hook(hanging)
        for _ in range(3):
            trace.call("run", gradient, x)

    return run


def by_a_backward_hook(kind: Kind, *, present: bool) -> Callable[[Mode, Trace], None]:
    """The backward hook of a cell registers a hook on the cell before it: it takes part from that cell's next call on.

    present  a hook of the kind is already registered there
    """
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.Two(mode.inner(Square()), mode.inner(Square())), T(1.5)
        before = programs.Line(net.before)
        gradient = mode.gradient(net, [net.w])
        handles: list[Any] = []

        def hanging(cell, grad_input, grad_output):
            trace.add("hanging")
            if not handles:
                handles.append(kind.hang(before, x, trace, kind.name, None))

        if present:
            kind.hang(before, x, trace, "present", None)
        net.cell.register_backward_hook(hanging)
        for _ in range(2):
            trace.call("run", gradient, x)

    return run


def removed_between(kind: Kind) -> Callable[[Mode, Trace], None]:
    """The forward hook of the next cell removes a hook before the backward pass begins."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.Two(mode.inner(Square()), mode.inner(Square())), T(1.5)
        before = programs.Line(net.before)
        before.w = net.w
        gradient = mode.gradient(net, [net.w])
        handle = kind.hang(before, x, trace, kind.name, None)
        trace.call("run", gradient, x)

        def removing(cell, args, output):
            trace.add("removing")
            handle.remove()

        net.cell.register_forward_hook(removing)
        for _ in range(2):
            trace.call("run", gradient, x)

    return run


def removed_by_a_backward_hook(kind: Kind) -> Callable[[Mode, Trace], None]:
    """The backward hook of the next cell, which runs first, removes a hook."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.Two(mode.inner(Square()), mode.inner(Square())), T(1.5)
        before = programs.Line(net.before)
        gradient = mode.gradient(net, [net.w])
        handle = kind.hang(before, x, trace, kind.name, None)

        def removing(cell, grad_input, grad_output):
            trace.add("removing")
            handle.remove()

        net.cell.register_backward_hook(removing)
        for _ in range(2):
            trace.call("run", gradient, x)

    return run


def removed_by_its_like(kind: Kind) -> Callable[[Mode, Trace], None]:
    """The first of three removes itself and the second and registers a fourth: the third still runs, and from the next call the fourth."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = programs.Line(mode.inner(kind.cell())), T(1.5)
        gradient = mode.gradient(net, [net.w])
        handles: list[Any] = []

        def first_of_all(value):
            handles[0].remove()
            handles[1].remove()
            kind.hang(net, x, trace, "fourth", None)

        for name, act in (("first", first_of_all), ("second", None), ("third", None)):
            handles.append(kind.hang(net, x, trace, name, act))
        for _ in range(2):
            trace.call("run", gradient, x)

    return run


TWO = (9, 81, 2, 36, 432, 81)
"""`LINE`, for the second cell of `Two` at 1.5"""
TWO_BEFORE = (3, 9, 36, 216, 432, 81)
"""and for its first"""


def _named(events: list[Event], name: str) -> list[Event]:
    return [(name, *event[1:]) for event in events]


_TWO_RAN = ran(162, 432, 81)
for _kind in [*CELLS, KINDS["parameter"]]:
    _seen, _before = seen(_kind, *TWO), seen(_kind, *TWO_BEFORE)
    add(f"registered-{_kind}-by_a_forward_hook", by_a_forward_hook(_kind), [
        ("hanging",), *_seen, _TWO_RAN, ("hanging",), _TWO_RAN, ("hanging",), *_seen, _TWO_RAN])
    _forward = _kind.base in ("fpre", "fwd")
    if _kind.base == "parameter":
        continue
    add(f"registered-{_kind}-by_a_backward_hook", by_a_backward_hook(_kind, present=False), [
        ("hanging",), _TWO_RAN, *([*_before, ("hanging",)] if _forward else [("hanging",), *_before]), _TWO_RAN])
    _present = _named(_before, "present")
    _both = [*_present, *_before]
    add(f"registered-{_kind}-by_a_backward_hook_present", by_a_backward_hook(_kind, present=True), [
        *([*_present, ("hanging",)] if _forward else [("hanging",), *_present]), _TWO_RAN,
        *([*_both, ("hanging",)] if _forward else [("hanging",), *_both]), _TWO_RAN])
for _kind in [KINDS[name] for name in ("bpre", "bwd", "argument", "parameter")]:
    _before = seen(_kind, *TWO_BEFORE)
    add(f"removed-{_kind}-between", removed_between(_kind), [
        *_before, _TWO_RAN, ("removing",), _TWO_RAN, ("removing",), _TWO_RAN])
    if _kind.base != "parameter":
        add(f"removed-{_kind}-by_a_backward_hook", removed_by_a_backward_hook(_kind), [
            ("removing",), _TWO_RAN, ("removing",), _TWO_RAN])
for _kind in [KINDS[name] for name in ("fpre", "fwd", "bpre", "bwd", "argument", "parameter", "fpre_kwargs", "fwd_kwargs", "ruled_bwd")]:
    _one = seen(_kind, *LINE)
    add(f"removed-{_kind}-by_its_like", removed_by_its_like(_kind), [
        *_named(_one, "first"), *_named(_one, "third"), ran(18, 24, 9),
        *_named(_one, "third"), *_named(_one, "fourth"), ran(18, 24, 9)])


# -- two orders -------------------------------------------------------------------------------------------------------
def second_order(kind: Kind, made: Callable[[Any], Any], values: tuple[float, ...], what: str) -> Callable[[Mode, Trace], None]:
    def run(mode: Mode, trace: Trace) -> None:
        net = made(mode.inner(kind.cell()))
        gradient = mode.gradient(net, [net.w], order=2)
        handle = None
        for value in values:
            x = T(value)
            if handle is None or kind.base == "argument":
                handle = kind.hang(net, x, trace, kind.name, RETURNS[what])
            trace.call("run", gradient, x)
        handle.remove()
        trace.call("run", gradient, T(values[0]))

    return run


for _kind in MAIN:
    add(f"second-{_kind}-line", second_order(_kind, programs.Line, (1.5, 2.5), "same"))
    add(f"second-{_kind}-line-times", second_order(_kind, programs.Line, (1.5,), "tensor"))
    add(f"second-{_kind}-branch", second_order(_kind, programs.Branch, (1.5, -1.5), "same"))
    add(f"second-{_kind}-while", second_order(_kind, programs.While, (0.5, 3), "same"))
    add(f"second-{_kind}-raises", second_order(_kind, programs.Line, (1.5,), "boom"))


# -- forward alone ----------------------------------------------------------------------------------------------------
def outputs(kind: Kind, made: Callable[[Any], Any], what: str) -> Callable[[Mode, Trace], None]:
    """The results when a hook returns something else in every call, and after it is removed."""
    def run(mode: Mode, trace: Trace) -> None:
        net, x = made(mode.inner(kind.cell())), T(1.5)
        forward = mode.program(net)
        handle = kind.hang(net, x, trace, kind.name, RETURNS[what])
        trace.call("out", forward, x)
        trace.call("out", forward, T(-2.5))
        handle.remove()
        trace.call("out", forward, x)

    return run


_OUTPUTS = {
    "none": F(9), "same": F(9), "tensor": F(90), "tuple": (F(90),), "two": (F(90), F(9)), "empty": (), "shape": F(1, 2),
    "dtype": F(9, dtype="int32"), "half": F(9, dtype="float16"), "int": 3, "text": "text", "list": [F(9)],
    "array": ("array", F(1)), "hole": (None,),
}
"""What `Bare` returns at 1.5."""
_OUTPUTS_NEGATIVE = _OUTPUTS | {
    "none": F(25), "same": F(25), "tensor": F(250), "tuple": (F(250),), "two": (F(250), F(25)), "dtype": F(25, dtype="int32"),
    "half": F(25, dtype="float16"), "list": [F(25)],
}
"""and at -2.5."""

for _what in RETURNS:
    for _kind in [KINDS["fpre"], KINDS["fwd"]]:
        _expected = None
        if _kind.base == "fwd" and _what in _OUTPUTS:
            _expected = [*seen(_kind, 3, 9, 0, 0, 0, 0), ("out", _OUTPUTS[_what]),
                         *seen(_kind, -5, 25, 0, 0, 0, 0), ("out", _OUTPUTS_NEGATIVE[_what]), ("out", F(9))]
        add(f"output-{_kind}-bare-{_what}", outputs(_kind, programs.Bare, _what), _expected)
        add(f"output-{_kind}-line-{_what}", outputs(_kind, programs.Line, _what))
    add(f"output-fwd-branch-{_what}", outputs(KINDS["fwd"], programs.Branch, _what))
    if _what != "array":  # ones, of which the loop would never end
        add(f"output-fwd_kwargs-while-{_what}", outputs(KINDS["fwd_kwargs"], programs.While, _what))
    add(f"output-fwd_always-early_return-{_what}", outputs(KINDS["fwd_always"], programs.EarlyReturn, _what))
    add(f"output-ruled_fwd-bare-{_what}", outputs(KINDS["ruled_fwd"], programs.Bare, _what))
