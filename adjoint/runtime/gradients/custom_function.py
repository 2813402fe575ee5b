"""`_Function`: a function with its own forward and backward pass.

    class Clipped(_Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient.clamp(-1, 1) * 2 * x

    y = Clipped.apply(x)

To the tape and to graphs it is a cell with a `bprop`.  The cell's construct runs `forward` inside `_no_grad` and returns the contents of
the context along with the result, so that `bprop` gets both.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.runtime.cells.calling import EAGER
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.awaited import AwaitedTape
from adjoint.runtime.gradients.no_grad import no_grad
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.process.tracer import emitter, state
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.run_time_checks import called, emitting
from adjoint.runtime.tensor.structure import leaves, mapped
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Function"]


class Function:
    """The base class of functions with their own backward pass: subclass it, and call `apply`.

    forward(ctx, *args)          computes the result, inside `_no_grad`: a Tensor, or a tuple of Tensors and other values.  Hooks in it
                                 do not run
    backward(ctx, *gradients)    returns a gradient for each argument of forward: a Tensor, or None for zeros and for an argument that
                                 is not a Tensor; a single gradient needs no tuple.  `gradients` has an entry for each entry of the
                                 result, None for an entry that is not a Tensor
    setup_context(ctx, inputs, output)
                                 optional: if defined, forward is called without `ctx`, and setup_context after it with the inputs and
                                 the output of forward

    `ctx` is an instance of the class, a new one for each call; `backward` sees its attributes.  Gradients flow to the Tensors among the
    arguments, not to other tensors that forward reads.  A second-order gradient differentiates `backward`, and saved tensors too.
    """

    saved_tensors: tuple[Tensor | None, ...] = ()
    """The tensors given to `save_for_backward`."""
    needs_input_grad: tuple[bool, ...] = ()
    """For each argument, True if its gradient may be needed."""
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    materialize_grads: bool = True

    @staticmethod
    def forward(ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("forward function should be customized.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("backward function should be customized.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors, which `backward` then reads from `ctx.saved_tensors`.  RuntimeError unless each is a Tensor or None."""
        if not all(x is None or isinstance(x, Tensor) for x in tensors):
            raise RuntimeError("Please check your custom function, that save_for_backward() only support None and tensor, "
                               "but got other type!")
        self._keep("saved_tensors", tensors)

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare the arguments that `forward` writes in place and returns.  RuntimeError if one is not a Tensor."""
        for x in args:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"element of dirty_tensors should be a tensor, but get a {type(x).__name__}")
        self._keep("dirty_tensors", args)

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare results of `forward` through which no gradient flows."""
        self._keep("non_differentiable", args)

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what `backward` gets for a result without a gradient: zeros if `value` is True (the default), else None."""
        self._keep("materialize_grads", value)

    def _keep(self, name: str, value: Any) -> None:
        graph = emitter()
        if graph is not None:
            graph.keep_attribute(self, name, value)  # each branch on a tensor's value keeps its own
        else:
            setattr(self, name, value)

    @classmethod
    def apply(cls, /, *args: Any, **kwargs: Any) -> Any:
        """Call `forward` on the arguments and return its result; when a gradient is taken, `backward` computes it.

        TypeError for keyword arguments, unless `setup_context` is defined, and for a result with tensors below its top level.
        RuntimeError for an argument that is written in place and not marked.
        """
        if cls.setup_context is not Function.setup_context:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = (*bound.args, *bound.kwargs.values())
        elif kwargs:
            raise TypeError("apply() takes no keyword arguments")
        cell, tape = _cell_of(cls), state.tracer
        needs = tuple([isinstance(x, Tensor) and x.dtype.is_inexact and (emitting() or _is_recorded(tape, x)) for x in args])
        if any(_is_recorded(tape, x) for arg in args if not isinstance(arg, Tensor) for x in leaves(arg, Tensor)):
            raise TypeError(f"For '{cls.__name__}.apply', a Tensor inside of another argument would take no gradient: "
                            "give each Tensor as an argument of its own.")
        graph = emitter()
        if graph is not None:
            output, kept = graph.call_cell(cell, (needs, *args), {})
        elif any(needs) and isinstance(tape, (Tape, AwaitedTape)):
            output, kept = EAGER.construct(cell, ((needs, *args), {}))
        else:
            output, kept = cell.construct(needs, *args)
        entries = list(output) if isinstance(output, tuple) else [output]
        for i, x in enumerate(entries):
            if isinstance(x, Tensor) and (i in kept["non_differentiable"] or any(x is given for given in args)):
                entries[i] = _constant(x) if i in kept["non_differentiable"] else copy.copy(x)
        for argument, result in kept["dirty_tensors"]:
            args[argument].overwrite(entries[result])
        return tuple(entries) if isinstance(output, tuple) else entries[0]


Function.__name__ = Function.__qualname__ = "_Function"
"""MindSpore's name for it."""


class CustomFunction(Cell):
    """Lets the tape (this thread's recording) and graphs see a `_Function` as a cell, whose `bprop` calls `backward`.

    function  the class of the `_Function`
    """

    takes_absent = True

    def __init__(self, function: type[Function]):
        super().__init__(auto_prefix=False)
        self.function = function
        self.title = function.__name__

    def construct(self, needs: tuple[bool, ...], *args: Any) -> tuple[Any, dict[str, Any]]:
        """Call `forward`; return its result, and the contents of the context for `bprop`.

        needs  for each argument, True if its gradient may be needed
        """
        context = self.function()
        graph = emitter()
        if graph is not None:
            graph.new_object(context)
            graph.read_attribute(self.function, "forward")
            graph.read_attribute(self.function, "setup_context")
        context.needs_input_grad = needs
        # New tensors: forward does not write the caller's argument in place; a marked one is written afterwards.
        own = [copy.copy(x) if isinstance(x, Tensor) else x for x in args]
        before = list(map(_numbers, own))
        with no_grad():
            if self.function.setup_context is not Function.setup_context:
                output = called(self.function.forward, *own)
                called(self.function.setup_context, context, tuple(own), output)
            else:
                output = called(self.function.forward, context, *own)
        written = [i for i, x in enumerate(own) if _numbers(x) is not before[i]]
        entries = output if isinstance(output, tuple) else (output,)
        self._check_result(entries)
        kept = {**vars(context), "materialize_grads": context.materialize_grads,
                "dirty_tensors": self._dirty(context, own, written, entries),
                "non_differentiable": tuple([i for i, x in enumerate(entries) if any(x is y for y in context.non_differentiable)])}
        # A saved argument or result is kept as a reference to it, so that a second-order gradient flows to it.
        arguments = {id(x): i for i, x in enumerate(own) if isinstance(x, Tensor) and i not in written}
        places = {id(x): _Placeholder("result", i) for i, x in enumerate(entries) if isinstance(x, Tensor)}
        places |= {i: _Placeholder("argument", place) for i, place in arguments.items()}
        result = mapped(output, lambda x: args[arguments[id(x)]] if id(x) in arguments else x)
        return result, mapped(kept, lambda x: places.get(id(x), x))

    def _check_result(self, entries: tuple[Any, ...]) -> None:
        for x in entries:
            if not isinstance(x, Tensor) and leaves(x, Tensor):
                raise TypeError(f"For '{self.title}', 'forward' must return a Tensor, or a tuple of Tensors, but it returned one inside of "
                                f"{type(x).__name__}: no gradient would flow to it.")

    def _dirty(self, context: Function, own: Sequence[Any], written: Sequence[int],
               entries: tuple[Any, ...]) -> tuple[tuple[int, int], ...]:
        """Return pairs for the arguments that are written in place: the index of the argument, and that of the result which returns it.

        own      the arguments that `forward` got
        written  the indices of those that it has written
        entries  its results

        RuntimeError for a written argument that is not marked, or is marked but not returned.
        """
        pairs: list[tuple[int, int]] = []
        for x in context.dirty_tensors:
            places = [i for i, result in enumerate(entries) if result is x]
            if not places:
                raise RuntimeError("The dirty tensors must all be outputs of the forward function.")
            pairs += [(i, places[0]) for i, argument in enumerate(own) if argument is x]
        for i in written:
            if not any(own[i] is x for x in context.dirty_tensors):
                raise RuntimeError(f"For '{self.title}', 'forward' writes its argument {i} in place: mark it with 'ctx.mark_dirty' and "
                                   "return it, or write into a copy, `x = x.copy()`.")
        return tuple(pairs)

    def bprop(self, needs: tuple[bool, ...], *rest: Any) -> tuple[Any, ...]:
        """Call `backward`, and return None for `needs`, then a gradient for each argument."""
        args, (output, kept), (gradients, _) = rest[:-2], rest[-2], rest[-1]
        context, single = self.function(), not isinstance(output, tuple)
        by_kind = {"argument": args, "result": (output,) if single else output}
        vars(context).update(mapped(kept, lambda x: by_kind[x.kind][x.index] if isinstance(x, _Placeholder) else x))
        pairs = [(output, gradients)] if single else list(zip(output, gradients, strict=True))
        given = [None if not isinstance(x, Tensor) else zeros(x.type) if g is None and context.materialize_grads else g for x, g in pairs]
        returned = self.function.backward(context, *given)
        entries = returned if isinstance(returned, tuple) else (returned,)
        if len(entries) < len(args):
            raise RuntimeError(f"Function backward return a wrong number of gradients, expect: {len(args)} but: {len(entries)} "
                               f"(backward of '{self.title}')")
        for i, (x, gradient) in enumerate(zip(args, entries, strict=False)):
            if gradient is not None and not isinstance(gradient, Tensor):
                raise RuntimeError(f"Gradient should be none or tensor, position: {i} type: {type(gradient)} (backward of '{self.title}')")
            if gradient is not None and not isinstance(x, Tensor):
                raise RuntimeError(f"Input is not tensor, but gradient is not none, position: {i} type: {type(gradient)} "
                                   f"(backward of '{self.title}')")
        return (None, *entries[: len(args)])


@dataclass(frozen=True)
class _Placeholder:
    """Stands for an argument or a result of the call in the saved attributes of `ctx` (the object that `forward` and `backward` get).

    kind   "argument" or "result"
    index  its index among these
    """

    kind: str
    index: int


def _cell_of(function: type[Function]) -> CustomFunction:
    """Return the cell that runs a `_Function` class; there is one for each class, made when it is first needed."""
    cell = function.__dict__.get("_cell")
    if cell is None:
        cell = function._cell = CustomFunction(function)  # pyright: ignore[reportAttributeAccessIssue] - the class's own
    return cell


def _is_recorded(tape: Any, x: Any) -> bool:
    return isinstance(tape, (Tape, AwaitedTape)) and tape.slot_of(x) is not None


def _numbers(x: Any) -> Any:
    """Return the object that a write to `x` replaces, so that a write can be noticed; None if `x` is not a Tensor.

    That is its memory, or its value in a graph.
    """
    return getattr(x, "atom", None) or x.memory if isinstance(x, Tensor) else None


def _constant(x: Tensor) -> Tensor:
    with no_grad():
        return x.copy()
