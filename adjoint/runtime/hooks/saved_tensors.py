"""Hooks on the tensors that gradients read: `saved_tensors_hooks`.

The gradient of an op reads some of the op's operands and results: that of `x * y` reads both operands, that of `exp(x)` its result.  Inside
of the context manager each of them is *packed* right after the op has run: a hook gets it and returns any object.  Just before the gradient
of the op is computed, another hook *unpacks* it: it gets that object, and returns the tensor that the gradient reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from adjoint.foundation.diagnostics import Loc
from adjoint.ir.types import TensorType
from adjoint.runtime.hooks.firing import noting
from adjoint.runtime.hooks.handles import described
from adjoint.runtime.process.tracer import set_eager, set_tracer, state

__all__ = ["Packed", "saved_tensors_hooks"]

_Tensor = Any
"""The tensors that hooks get.  The class is defined in a later package; only `type` and `memory` are used here."""


class saved_tensors_hooks:  # read as a statement: `with saved_tensors_hooks(pack, unpack):`
    """Give the tensors that gradients read to hooks, for all ops that run inside while a gradient is taken.

    pack_hook    called as `pack_hook(tensor)` after an op, for each tensor that the op's gradient reads: operands first, then results, each
        in the order of the op.  It returns any object
    unpack_hook  called as `unpack_hook(packed)` before the gradient of the op is computed, with what `pack_hook` has returned.  It returns
        the tensor that the gradient reads, of the dtype and shape of the packed one

    A tensor is packed if the gradient by something that is differentiated by reads it; numbers of Python are not packed.  A Cell with a
    `bprop` of its own reads its arguments and its results.  Inside of the hooks no gradient is recorded.  A gradient of the gradient flows
    through an unpacked tensor to the tensor that was packed.

    Contexts may be nested; the innermost one counts.  Functions under `jit` that are called inside run as in eager mode, since their graphs
    do not keep what gradients read as tensors.  A function under `jit` whose body has such a context runs as in eager mode, too:
    `jit_stats` says so.

    TypeError if a hook is not callable, and when an unpacked tensor has another dtype; ValueError for another shape; RuntimeError if
    `unpack_hook` returns something else than a Tensor.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]):
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"For 'saved_tensors_hooks', the argument '{name}' must be a function, but got {hook!r} "
                                f"of type {type(hook).__name__}.")
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        tracer, eager = state.tracer, state.eager
        state.packing.append((self, tracer, eager))
        if tracer is not None:
            tracer = state.tracer = tracer.packing(self)
        if tracer is None or tracer.emits is False:
            state.eager = True

    def __exit__(self, kind: object, raised: object, traceback: object) -> None:
        _, tracer, eager = state.packing.pop()
        set_tracer(tracer)
        state.tracer = tracer
        state.eager = eager


class Packed:
    """The tensors that the gradient of one op reads, as a pack hook has returned them.

    hooks    the context in which the op ran
    tensors  the tensors to pack: new objects, so that the hook cannot write those of the program
    subject  what they belong to, for messages, such as "what the gradient of `multiply` reads"
    """

    def __init__(self, hooks: saved_tensors_hooks, tensors: Sequence[_Tensor], subject: str):
        self.hooks, self._subject = hooks, subject
        with noting(hooks.pack_hook, subject), _outside():
            self._packed = [hooks.pack_hook(x) for x in tensors]

    def unpacked(self, types: Sequence[TensorType], loc: Loc) -> list[_Tensor]:
        """Call the unpack hook for each packed tensor, and return what it returns.

        types  the types of the tensors that were packed
        loc    the location of the op, for messages

        RuntimeError, TypeError or ValueError for something else than a tensor of that type.
        """
        unpack = self.hooks.unpack_hook
        with noting(unpack, self._subject, loc), _outside():
            found = [unpack(packed) for packed in self._packed]
        for x, type_ in zip(found, types, strict=True):
            self._check(x, type_)
        return found

    def _check(self, x: Any, type_: TensorType) -> None:
        where = f"The unpack hook {described(self.hooks.unpack_hook)}, for {self._subject},"
        own = getattr(x, "type", None)
        if not isinstance(own, TensorType):
            raise RuntimeError(f"{where} must return a Tensor, but got {x!r} of type {type(x).__name__}.")
        if own.dtype is not type_.dtype:
            raise TypeError(f"{where} must return a Tensor of dtype {type_.dtype}, as the packed one, but got {own.dtype}: "
                            f"convert it with `astype`.")
        if own.shape != type_.shape:
            raise ValueError(f"{where} must return a Tensor of shape {type_.shape}, as the packed one, but got {own.shape}.")


@contextmanager
def _outside() -> Iterator[None]:
    """Run a hook: nothing that it computes is recorded or packed, and functions under `jit` that it calls run as graphs."""
    tracer, eager, packing = state.tracer, state.eager, state.packing
    state.packing = []
    set_eager(False)  # `tracing` keeps its entry
    set_tracer(None)
    try:
        yield
    finally:
        set_tracer(tracer)
        set_eager(eager)
        state.packing = packing
