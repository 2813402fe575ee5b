"""The gradients of operators of the user's own: `bprop`, called once on symbolic tensors, becomes nodes.

    def sqmul_bprop(x, y, out, dout, *, k):           dx' += cast(unbroadcast(dx)), for each operand x
        return 2 * x * y * k * dout, x * x * k * dout

The nodes are ops, so that they have gradients themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from adjoint.foundation.diagnostics import UNKNOWN, At, Loc, is_of_python, is_ours, noted
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Node, Value
from adjoint.ir.errors import BPROP
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.state import Read
from adjoint.ir.types import TensorType, broadcast_shapes
from adjoint.runtime.execution.library_traces import LibraryTrace, Symbolic, Untraceable
from adjoint.runtime.process.location import definition
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["pulled_by"]

class _Own(Protocol):
    """An op of the user's own: its name, the names of its operands, and its attributes by name."""

    @property
    def name(self) -> str: ...
    @property
    def takes(self) -> tuple[str, ...]: ...
    @property
    def given(self) -> dict[str, Any]: ...


def pulled_by(bprop: Callable[..., Any]) -> Callable[..., list[Atom | None]]:
    """Return the function `pull` of an operator whose gradient is `bprop`; of several results `bprop` gets tuples."""

    def pull(op: _Own, b: Builder, node: Node, *cts: Atom | None) -> list[Atom | None]:
        trace = LibraryTrace(closed=True)
        whole = [b.nothing(x.type) if ct is None else ct for ct, x in zip(cts, node.results, strict=True)]
        atoms = [*node.operands, *node.results, *whole]
        given: list[Any] = [trace.argument(_tensor_type(x)) for x in atoms]
        operands, results = len(node.operands), len(node.results)
        out, dout = tuple(given[operands : operands + results]), tuple(given[operands + results :])
        try:
            with trace:
                returned = bprop(*given[:operands], *((out[0], dout[0]) if results == 1 else (out, dout)), **op.given)
        except Untraceable as reason:
            label = str(reason)
            label = "it does something else than to call operators on Tensors" if label.endswith("of an emitter") else label
            raise BPROP.at(_user_line(reason.__traceback__, bprop), f"{label}, while the gradient of `{op.name}` is made",
                           help="choose between values by `ops.where(condition, a, b)`; the Tensors here have no numbers yet") from None
        except Exception as raised:
            noted(raised, _user_line(raised.__traceback__, bprop))
            raise
        gradients = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(gradients) != len(op.takes):
            count = f"{len(op.takes)} gradient{'s' * (len(op.takes) > 1)}, for {', '.join(op.takes)}"
            raise BPROP.at(definition(bprop), f"the 'bprop' of `{op.name}` must return {count}, but it returned {len(gradients)}")
        return _emitted(op, b, node, bprop, trace, atoms, gradients)

    # `pull.__wrapped__` is the user's function, so that messages can name its line.
    return functools.update_wrapper(pull, bprop, assigned=(), updated=())


def _emitted(op: _Own, b: Builder, node: Node, bprop: Callable[..., Any], trace: LibraryTrace, atoms: Sequence[Atom],
             results: Sequence[Any]) -> list[Atom | None]:
    """Emit the nodes of a trace, and return the gradient of each operand.

    atoms    what the arguments of `bprop` stand for
    results  what it has returned
    """
    function = trace.function(op.name, [x for x in results if isinstance(x, Symbolic)])
    known: dict[Atom, Atom] = dict(zip(function.params, atoms, strict=True))
    for made in function.body.nodes:
        if isinstance(made.op, Read):
            known[made.results[0]] = _constant(op, b, bprop, trace.tensors[made.op.symbol])
            continue
        copy = b.emit_node(made.op, [known.get(x, x) for x in made.operands], regions=made.regions)
        known.update(zip(made.results, copy.results, strict=True))
    found: list[Atom | None] = []
    for name, x, operand in zip(op.takes, results, node.operands, strict=True):
        type_ = _tensor_type(operand)
        match x:
            case None:
                found.append(None)
            case Symbolic():
                found.append(_fitted(op, b, bprop, name, known.get(x.atom, x.atom), type_))
            case Tensor():
                found.append(_fitted(op, b, bprop, name, _constant(op, b, bprop, x), type_))
            case bool() | int() | float() | np.bool_() | np.integer() | np.floating():
                found.append(b.constant(float(x) if type_.dtype.is_float else int(x), type_))
            case _:
                raise BPROP.at(definition(bprop), f"the 'bprop' of `{op.name}` must return for '{name}' a Tensor, a number or None, "
                                                  f"but it returned {x!r} of type {type(x).__name__}")
    return found


def _fitted(op: _Own, b: Builder, bprop: Callable[..., Any], name: str, x: Atom, to: TensorType) -> Atom:
    """Return a gradient with the type of its operand: cast to its dtype, summed over the axes along which it was broadcast."""
    have = _tensor_type(x)
    if have.dtype is not to.dtype:
        x = b.emit(Cast(to.dtype), x)
        have = _tensor_type(x)
    if have is to:
        return x
    try:
        both = broadcast_shapes(have.shape, to.shape)
    except ValueError:
        both = None
    if both == have.shape:
        return b.unbroadcast(x, to=to)
    raise BPROP.at(definition(bprop), f"the 'bprop' of `{op.name}` must return for '{name}' a gradient of its shape, {list(to.shape)}, or "
                                      f"of one that it broadcasts to, but it returned one of shape {list(have.shape)}")


def _constant(op: _Own, b: Builder, bprop: Callable[..., Any], x: Tensor) -> Atom:
    """Return a tensor that `bprop` has made of a known number as a constant."""
    numbers = x.asnumpy() if x.type.count else np.zeros(1)
    first = numbers.reshape(-1)[:1]
    if not (numbers.view(np.uint8).reshape(-1, numbers.itemsize) == first.view(np.uint8)).all():
        raise BPROP.at(definition(bprop), f"the 'bprop' of `{op.name}` uses a Tensor from outside, of shape {list(x.shape)}",
                       help="pass it to the operator as an operand")
    return b.constant(first[0].item(), x.type)


def _tensor_type(x: Atom | Value) -> TensorType:
    assert isinstance(x.type, TensorType)
    return x.type


def _user_line(frames: TracebackType | None, bprop: Callable[..., Any]) -> Loc:
    """Return the line of the user's program, in a traceback, that called what raised; the definition of `bprop` if there is none."""
    found: Loc = UNKNOWN
    while frames is not None:
        code = frames.tb_frame.f_code
        if not is_ours[code.co_filename] and not is_of_python(code.co_filename):
            line, _, column, end = next(islice(code.co_positions(), frames.tb_lasti // 2, None))
            found = At(code.co_filename, line or frames.tb_lineno, (column or 0) + 1, (end or 0) + 1 if end else 0)
        frames = frames.tb_next
    return definition(bprop) if found is UNKNOWN else found
