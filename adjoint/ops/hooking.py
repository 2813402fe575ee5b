"""Hooks as operators: an identity whose gradient passes through a Python function.

The results are tensors of their own, with the numbers of the operands.  Inside of a gradient the function is called once for each
use that a gradient reaches, last use first.  None returned leaves the gradient as it is; see docs/hooks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.foundation.diagnostics import warn
from adjoint.ops.arguments import wrong
from adjoint.ops.primitive import Primitive
from adjoint.runtime.hooks.handles import check_hook, described
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["HookBackward", "InsertGradientOf"]


def _checked(op: str, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise wrong(op, "input", "a Tensor", x if not isinstance(x, str) else repr(x), TypeError)
    return x


class HookBackward(Primitive):
    """An identity on tensors that shows their gradients to `hook_fn`.

    hook_fn  called with a tuple of one gradient for each tensor, zeros where there is none.  It returns None, or the new
             gradient (of one tensor: a Tensor or a tuple of one; of several: a tuple of as many)
    cell_id  a name for what is hooked; kept only

    hook = HookBackward(hook_fn); `y = hook(x)`, or `a, b = hook(x, y)`.  Raise TypeError when `hook_fn` cannot be called, and
    when an input is not a Tensor.
    """

    def __init__(self, hook_fn: Callable[[tuple[Tensor, ...]], Any], cell_id: str = ""):
        check_hook(hook_fn)
        if not isinstance(cell_id, str):
            raise wrong("HookBackward", "cell_id", "a str", cell_id, TypeError)
        if cell_id:
            warn("For 'HookBackward', 'cell_id' is kept but has no meaning.")
        super().__init__(cell_id=cell_id)
        self.hook_fn = hook_fn

    def __call__(self, *inputs: Tensor) -> Any:
        if not inputs:
            raise TypeError("For 'HookBackward', at least one Tensor must be given.")
        if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
            raise TypeError(f"For 'HookBackward', the inputs must be Tensors, but got type '{type(inputs[0]).__name__}'.")
        for x in inputs:
            _checked("HookBackward", x)
        results = _behind("value", self.hook_fn, inputs)
        return results[0] if len(results) == 1 else results


class InsertGradientOf(Primitive):
    """An identity on one tensor that shows its gradient to `f`.

    f  called with the bare gradient; returns None or the new gradient

    TypeError when `f` cannot be called, and when the input is not a Tensor.
    """

    def __init__(self, f: Callable[[Tensor], Any]):
        check_hook(f)
        super().__init__(f=f)

    def __call__(self, input_x: Tensor) -> Tensor:
        _checked("InsertGradientOf", input_x)
        return _behind("gradient", self.f, (input_x,))[0]


def _behind(kind: str, hook_fn: Callable[[Any], Any], operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
    if state.tracer is None:
        return tuple(wrap(x.type, x.memory) for x in operands)
    return state.tracer.hook(kind, hook_fn, operands, described(hook_fn))
