"""The one way to call a Cell with its hooks.

    arguments -> forward pre hooks -> construct -> forward hooks -> backward pre hooks -> result

`call` has this order, and the rule for an exception in construct.  A kind of hooks says what these are called with (`hooks.firing`).
How each part of the call is done depends on how the cell runs.  An object with a method for each part, its *moves* (`Moves`), does them:

    Eager                                   does them at once; construct is recorded as a region if the thread has a tape
    graphs.running.cells.GraphCell          does them for a cell in a graph, with hooks that were added after the graph was made
    graphs.lowering.cell_calls.LoweredCall  makes nodes of them, in a graph that is being made
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from adjoint.runtime.cells.boundary import call_with, held_by, inputs, outputs, result_with, top_level, with_top_level
from adjoint.runtime.cells.custom_bprop import Rule, WithBprop
from adjoint.runtime.cells.substitutes import WithSubstitutes, with_substitutes
from adjoint.runtime.hooks.firing import BACKWARD_PRE, FORWARD, FORWARD_PRE, CallArguments, ForwardKind, GradientKind, fire_always
from adjoint.runtime.hooks.handles import CellHooks, Slots, subject_of
from adjoint.runtime.hooks.saved_tensors import saved_tensors_hooks
from adjoint.runtime.process.tracer import state

__all__ = ["EAGER", "Callee", "Eager", "Moves", "call"]

_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


class Callee(WithBprop, WithSubstitutes, Protocol):
    """The attributes of a Cell that a call of it uses (a Protocol, so that this module need not import Cell).

    _cell_packing  the hooks on the tensors that gradients of ops in construct read; None if it has none
    """

    _cell_packing: saved_tensors_hooks | None


class Moves(Protocol[_Given, _Result]):
    """The parts of a cell's call, as methods that `call` calls in order.  There is one such class for each way to run a cell: eagerly, in a
    graph that runs, and in a graph that is being made (see the module).

    `given` is the form in which that class passes the arguments of the call, `output` that of the result.
    """

    def before(self, kind: ForwardKind, cell: Any, given: _Given, /) -> _Given:
        """Run the forward pre hooks of `cell` on the arguments; return the arguments as the hooks have changed them.

        kind  the kind of hooks, which says what they are called with
        """
        ...

    def construct(self, cell: Any, given: _Given, /) -> _Result:
        """Run the cell's `construct` on these arguments, in the float type that `to_float` has set, and return its result."""
        ...

    def failed(self, cell: Any, given: _Given, raised: Exception, /) -> None:
        """Run the forward hooks that were registered with `always_call`, after construct has raised `raised`; `call` raises it again."""
        ...

    def after(self, kind: ForwardKind, cell: Any, given: _Given, output: _Result, /) -> _Result:
        """Run the forward hooks of `cell` on the result; return the result as the hooks have changed it.

        kind  the kind of hooks, which says what they are called with
        """
        ...

    def gradients(self, kind: GradientKind, cell: Any, output: _Result, /) -> _Result:
        """Register the backward pre hooks of `cell` on the gradients of its result; return the result with new tensor objects, whose
        gradients these hooks get.

        kind  the kind of hooks
        """
        ...


def call(moves: Moves[_Given, _Result], cell: Any, slots: CellHooks | Slots, given: _Given) -> _Result:
    """Call a cell with its hooks (see the module for their order), and return the result for the caller.

    moves  the object whose methods do each part of the call, such as `EAGER`
    cell   the cell, which is passed to these methods
    slots  tells which kinds of hooks the cell has; each kind is read just before its hooks would run, so that hooks can register others
    given  the arguments of the call, in the form that `moves` takes

    An exception of construct is raised again, after the hooks that are to run even then.
    """
    if slots.forward_pre:
        given = moves.before(FORWARD_PRE, cell, given)
    try:
        output = moves.construct(cell, given)
    except Exception as raised:
        moves.failed(cell, given, raised)
        raise
    if slots.forward:
        output = moves.after(FORWARD, cell, given, output)
    if slots.backward_pre:
        output = moves.gradients(BACKWARD_PRE, cell, output)
    return output


class Eager:
    """Runs the parts of a cell's call at once, as in eager mode (see `Moves`); `given` is the pair (positional arguments, keyword
    arguments).
    """

    @staticmethod
    def before(kind: ForwardKind, cell: Callee, given: CallArguments) -> CallArguments:
        return kind.fire(cell, given)

    @staticmethod
    def construct(cell: Callee, given: CallArguments) -> Any:
        """Run construct.  If a tape records this thread, what construct does is a region of its own on the tape.

        The arguments are then new tensor objects inside, and the results new ones outside.

        RuntimeError if a cell with a `bprop` writes one of its arguments in place.
        """
        args, kwargs = given
        tape = state.tracer  # read here: a forward pre hook may have switched gradients off
        if tape is None or tape.emits is True:
            return with_substitutes(cell, cell.construct, args, kwargs) if cell._cell_substitutes else cell.construct(*args, **kwargs)
        if cell._cell_packing is not None and not (state.packing and state.packing[-1][0] is cell._cell_packing):
            with cell._cell_packing:
                return Eager.construct(cell, given)
        hooks = cell._cell_hooks
        hooked = hooks is not None and bool(hooks.backward)
        rule = None if cell.bprop is None else Rule(cell, args, kwargs)
        if rule is None:
            names = tape.enter(cell, top_level(args), hooked, None)
            args = with_top_level(args, names)
        else:
            names = tape.enter(cell, inputs(args, kwargs, True), hooked, rule)
            args, kwargs = call_with(args, kwargs, names, True)
        slots, held = (None, None) if rule is None else ([tape.slot_of(x) for x in names], held_by(args, kwargs))
        try:
            output = with_substitutes(cell, cell.construct, args, kwargs) if cell._cell_substitutes else cell.construct(*args, **kwargs)
            if rule is not None and ([tape.slot_of(x) for x in names] != slots or (held and held_by(args, kwargs) != held)):
                raise RuntimeError(f"For {subject_of(cell)}, which has a 'bprop', an argument of construct is written in place: the "
                                   "'bprop' says nothing of its new numbers. Write into a copy, `x = x.copy()`, and return that.")
        except BaseException:
            tape.leave((), rule)
            raise
        if rule is None:
            return with_top_level(output, tape.leave(top_level(output), None))
        rule.returned(output)
        return result_with(output, tape.leave(outputs(output, True), rule), True)

    @staticmethod
    def failed(cell: Callee, given: CallArguments, raised: Exception) -> None:
        fire_always(cell, given)

    @staticmethod
    def after(kind: ForwardKind, cell: Callee, given: CallArguments, output: Any) -> Any:
        return kind.fire(cell, given, output)

    @staticmethod
    def gradients(kind: GradientKind, cell: Callee, output: Any) -> Any:
        tape = state.tracer
        if tape is None or tape.emits is True:
            return output
        tensors = top_level(output)
        return with_top_level(output, tape.outputs(kind, cell, tensors)) if tensors else output


EAGER = Eager()
