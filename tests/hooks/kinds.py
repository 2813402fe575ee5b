"""Each kind of hook, and how to add one to a program of `programs`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint import Tensor, nn, ops
from tests.hooks.events import Square
from tests.hooks.log import Event, F, Trace
from tests.hooks.programs import Mixed, Program, Ruled

__all__ = ["ALL", "CELLS", "KINDS", "MAIN", "Kind", "hang_four", "seen"]

Act = Callable[[Any], Any] | None


class Attribute:
    """A hook that a program looks up in one of its attributes; removing it empties the attribute."""

    def __init__(self, holder: Any, name: str, hook: Any):
        self.holder, self.name = holder, name
        setattr(holder, name, hook)

    def remove(self) -> None:
        setattr(self.holder, self.name, None)


def forward_pre(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return net.cell.register_forward_pre_hook(trace.forward_pre(name, act))


def forward_pre_kwargs(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    change = None if act is None else lambda args: _with_kwargs(act(args))
    return net.cell.register_forward_pre_hook(trace.forward_pre_kwargs(name, change), with_kwargs=True)


def _with_kwargs(returned: Any) -> Any:
    return None if returned is None else (returned, {})


def forward_pre_first(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    net.cell.register_forward_pre_hook(trace.forward_pre("other"))
    return net.cell.register_forward_pre_hook(trace.forward_pre(name, act), prepend=True)


def forward(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return net.cell.register_forward_hook(trace.forward(name, act))


def forward_kwargs(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return net.cell.register_forward_hook(trace.forward_kwargs(name, act), with_kwargs=True)


def forward_first(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    net.cell.register_forward_hook(trace.forward("other"))
    return net.cell.register_forward_hook(trace.forward(name, act), prepend=True)


def forward_always(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return net.cell.register_forward_hook(trace.forward(name, act), always_call=True)


def backward_pre(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return net.cell.register_backward_pre_hook(trace.backward_pre(name, act))


def backward(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return net.cell.register_backward_hook(trace.backward(name, act))


def argument(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return x.register_hook(trace.gradient(name, act))


def parameter(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return net.w.register_hook(trace.gradient(name, act))


def inside(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return Attribute(net, "hook", trace.gradient(name, act))


def hook_backward(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return Attribute(net, "mark", ops.HookBackward(trace.gradient(name, act)))


def insert_gradient(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    return Attribute(net, "mark", ops.InsertGradientOf(trace.gradient(name, act)))


def bprop(net: Program, x: Tensor, trace: Trace, name: str, act: Act) -> Any:
    def rule(gradient: Any) -> Any:
        trace.add(name, gradient)
        returned = gradient if act is None else act(gradient)
        return returned if act is None or getattr(act, "armed", True) else gradient

    return Attribute(net.cell, "rule", rule)


@dataclass(frozen=True)
class Kind:
    """A kind of hook.

    base  the kind that it behaves like
    cell  makes the cell it is used with
    role  the function that errors of what a hook returns name
    size  how the error of a wrong number of gradients begins; both: "" if as of `base`
    """

    name: str
    base: str
    hang: Callable[[Program, Tensor, Trace, str, Act], Any]
    cell: Callable[[], nn.Cell] = Square
    role: str = ""
    size: str = ""

    def __repr__(self) -> str:
        return self.name


MAIN = [
    Kind("fpre", "fpre", forward_pre), Kind("fwd", "fwd", forward),
    Kind("bpre", "bpre", backward_pre, role="hook_backward_pre_grad", size="The backward pre hook return value size"),
    Kind("bwd", "bwd", backward, role="hook_backward_grad", size="The backward hook return value size"),
    Kind("argument", "argument", argument), Kind("parameter", "parameter", parameter), Kind("inside", "inside", inside),
    Kind("value", "value", hook_backward, role="hook"), Kind("insert", "insert", insert_gradient, role="hook"),
    Kind("bprop", "bprop", bprop, Ruled),
]
"""One of each."""

_OPTIONS = [
    Kind("fpre_kwargs", "fpre", forward_pre_kwargs), Kind("fpre_first", "fpre", forward_pre_first),
    Kind("fwd_kwargs", "fwd", forward_kwargs), Kind("fwd_first", "fwd", forward_first), Kind("fwd_always", "fwd", forward_always),
    Kind("ruled_fpre", "fpre", forward_pre, Ruled), Kind("ruled_fwd", "fwd", forward, Ruled),
    Kind("ruled_bpre", "bpre", backward_pre, Ruled), Kind("ruled_bwd", "bwd", backward, Ruled),
    Kind("mixed_bwd", "bwd", backward, Mixed),
]
"""With options, and on other cells."""

ALL = MAIN + _OPTIONS
KINDS = {kind.name: kind for kind in ALL}
CELLS = MAIN[:4]


def seen(kind: Kind, y: float, z: float, dz: float, dy: float, dx: float, dw: float) -> list[Event]:
    """Return what a hook of a kind receives: y enters the cell, z leaves it, dy and dz are their gradients, dx and dw those of the
    leaves."""
    name = kind.name
    other = []
    if name == "fpre_first":
        other = [("other", (F(y),))]
    if name == "fwd_first":
        other = [("other", (F(y),), F(z))]
    kwargs = ({},) if name.endswith("kwargs") else ()
    match kind.base:
        case "fpre":
            return [(name, (F(y),), *kwargs), *other]
        case "fwd":
            return [(name, (F(y),), *kwargs, F(z)), *other]
        case "bpre":
            return [(name, (F(dz),))]
        case "bwd":
            return [(name, (F(dy),), (F(dz),))]
        case "argument":
            return [(name, F(dx))]
        case "parameter":
            return [(name, F(dw))]
        case "value":
            return [(name, (F(dy),))]
        case _:
            return [(name, F(dy))]


def hang_four(cell: nn.Cell, trace: Trace, suffix: str = "") -> list[Any]:
    """Register one hook of each kind on a cell, which only observes."""
    return [
        cell.register_forward_pre_hook(trace.forward_pre("fpre" + suffix)),
        cell.register_forward_hook(trace.forward("fwd" + suffix)),
        cell.register_backward_pre_hook(trace.backward_pre("bpre" + suffix)),
        cell.register_backward_hook(trace.backward("bwd" + suffix)),
    ]
