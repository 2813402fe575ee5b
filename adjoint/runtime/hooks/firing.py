"""Runs hooks: calls each kind with its arguments, checks its result, and adds a note to an exception.

docs/hooks.md says what each kind of hook means.  The kinds are listed at the end of the file: the code that runs Cells and gradients takes
from there what differs between them.  docs/adding-a-hook.md adds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Loc, user_place, warn
from adjoint.ir.types import TensorType
from adjoint.runtime.hooks.handles import CellHook, Hooked, TensorHooks, described, subject_of
from adjoint.runtime.hooks.watchers import watchers
from adjoint.runtime.process import context
from adjoint.runtime.process.location import user_location
from adjoint.runtime.process.tracer import set_eager, state

__all__ = [
    "AFTER_CONSTRUCT", "BACKWARD_PRE", "BEFORE_CONSTRUCT", "FORWARD", "FORWARD_PRE", "OPERATORS", "CallArguments", "ForwardKind",
    "GradientKind", "fire_always", "fire_backward", "fire_backward_pre", "fire_forward", "fire_forward_pre", "fire_gradient",
    "fire_tensor", "fire_value", "noting",
]

_Tensor = Any
"""The tensors that hooks get.  The class is defined in a later package; only `type` and `memory` are used here."""


def _where(hook_fn: Any, subject: str | Hooked, loc: Loc | None) -> str:
    subject = subject if isinstance(subject, str) else subject_of(subject)
    place = user_place(loc) if loc is not None else None
    return f"hook {described(hook_fn)}, on {subject}" + (f", forward at {place.file}:{place.line}" if place else "")


class noting:  # read as a statement: `with noting(hook, subject):`
    """Within a `with` statement, add a note to an exception: it names the hook, its tensor or cell, and the line of the forward pass.

    hook_fn  the hook function
    subject  the cell, or a description of the tensor
    loc      the location of the forward op; None: the running line of the user's program
    """

    __slots__ = ("hook_fn", "loc", "subject")

    def __init__(self, hook_fn: Any, subject: str | Hooked, loc: Loc | None = None):
        self.hook_fn, self.subject, self.loc = hook_fn, subject, loc

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, raised: BaseException | None, traceback: object) -> None:
        if raised is not None:
            _note(raised, self.hook_fn, self.subject, self.loc)


def _note(raised: BaseException, hook_fn: Any, subject: str | Hooked, loc: Loc | None) -> None:
    raised.add_note(f"raised in {_where(hook_fn, subject, user_location() if loc is None else loc)}")


def _from_graph(fire: Callable[..., Any], cell: Hooked, *given: Any) -> Any:
    """Run hooks on behalf of a function under `jit` that runs eagerly, just as its graph would run them.

    Functions and Cells that the hooks call run as graphs.  `asnumpy` returns copies for the tensors that the hooks get, since a graph would
    hold their memory, too.

    fire   the function that runs the hooks; it gets `cell` and `given`
    """
    held: list[Any] = []
    _hold(given, held)
    set_eager(False)  # as `not_eagerly` does, but quicker
    try:
        return fire(cell, *given)
    finally:
        set_eager(True)
        held.clear()


def _hold(items: Iterable[Any], held: list[Any]) -> None:
    """Append the memory of each tensor among `items`, also in tuples, lists and dicts, to `held`, so that it is not freed or written in
    place.
    """
    for item in items:
        if isinstance(item, (tuple, list)):
            _hold(item, held)
        elif isinstance(item, dict):
            if item:
                _hold(item.values(), held)
        elif (memory := getattr(item, "memory", None)) is not None:
            held.append(memory)


def _argument(cell: Hooked) -> Any:
    return cell if context.hook_signature() == "cell" else f"{type(cell).__name__}({id(cell)})"


# -- around construct -------------------------------------------------------------------------------------------------
CallArguments = tuple[tuple[Any, ...], dict[str, Any]]
"""The arguments of a call: positional, keyword."""


def fire_forward_pre(cell: Hooked, given: CallArguments) -> CallArguments:
    """Run the forward pre hooks on a call's arguments, and return the arguments for construct.

    given  the positional and the keyword arguments
    """
    hooks = cell._cell_hooks
    if hooks is None:
        return given
    if state.eager:
        return _from_graph(fire_forward_pre, cell, given)
    args, kwargs = given
    for hook in hooks.forward_pre.firing():
        try:  # inlined `noting`, which takes as long as a small hook
            returned = hook.function(_argument(cell), args, kwargs) if hook.with_kwargs else hook.function(_argument(cell), args)
        except BaseException as raised:
            _note(raised, hook.function, cell, None)
            raise
        if returned is None:
            continue
        if not hook.with_kwargs:
            args = returned if isinstance(returned, tuple) else (returned,)
        elif isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict):
            args, kwargs = returned[0] if isinstance(returned[0], tuple) else (returned[0],), returned[1]
        else:
            raise RuntimeError("forward pre hook with kwargs must return None or a tuple of (new_args, new_kwargs), "
                               f"but got {returned}")
    return args, kwargs


def fire_forward(cell: Hooked, given: CallArguments, output: Any) -> Any:
    """Run the forward hooks on a call's arguments and result, and return the result that the caller gets.

    given   the positional and the keyword arguments
    output  the result of construct
    """
    hooks = cell._cell_hooks
    if hooks is None:
        return output
    if state.eager:
        return _from_graph(fire_forward, cell, given, output)
    args, kwargs = given
    for hook in hooks.forward.firing():
        try:  # inlined `noting`
            if hook.with_kwargs:
                returned = hook.function(_argument(cell), args, kwargs, output)
            else:
                returned = hook.function(_argument(cell), args, output)
        except BaseException as raised:
            _note(raised, hook.function, cell, None)
            raise
        if returned is not None:
            output = returned
    return output


def fire_always(cell: Hooked, given: CallArguments) -> None:
    """Run the forward hooks that were registered with `always_call`, after construct has raised.  They get None as the output.

    given  the positional and the keyword arguments
    """
    hooks = cell._cell_hooks
    if hooks is None:
        return
    if state.eager:
        _from_graph(fire_always, cell, given)
        return
    args, kwargs = given
    for hook in hooks.forward.firing():
        if hook.always_call:
            try:
                hook.function(_argument(cell), args, *([kwargs] if hook.with_kwargs else []), None)
            except Exception as raised:  # the first error is the one to report
                warn("cell forward hook with ``always_call=True`` raised an exception that was silenced because "
                     f"another error was already raised in forward: {raised}")


# -- on gradients -----------------------------------------------------------------------------------------------------
def _held(gradients: Sequence[Any]) -> list[tuple[TensorType, Any, int | None] | None]:
    """Return, for each gradient, its type, its memory and its slot (the number on the tape), as they are before a hook runs; None for a
    gradient that is None.

    While the memory is held, a hook that changes a gradient in place changes a copy.
    """
    tape = state.tracer
    if tape is None or tape.emits is True:
        return [None if g is None else (g.type, g.memory, None) for g in gradients]
    return [None if g is None else (g.type, g.memory, tape.slots.get(id(g))) for g in gradients]


def _untouched(gradients: Any, held: Sequence[tuple[TensorType, Any, int | None] | None]) -> Any:
    """Return the gradients as they were before a hook.

    A change in place affects only the hook's own tensor; only what the hook returns counts.

    held  what `_held` noted before the hook ran
    """
    for g, before in zip(gradients, held):
        if before is not None and g.memory is not before[1]:
            break
    else:
        return gradients
    return tuple(g if before is None or g.memory is before[1] else _again(g, *before)
                 for g, before in zip(gradients, held, strict=True))


def _again(changed: _Tensor, type_: TensorType, memory: Any, slot: int | None) -> _Tensor:
    """Return a new tensor with the contents that a gradient had before a hook changed it.

    changed  the changed tensor, which gives the class
    slot     the number that the tape had given to the tensor; None for none
    """
    gradient = object.__new__(changed.__class__)
    gradient.type, gradient.memory = type_, memory
    tape = state.tracer
    if slot is not None and tape is not None and tape.emits is False:
        tape.slots[id(gradient)] = slot
        tape.keep[id(gradient)] = gradient
    return gradient


def fire_tensor(hooks: TensorHooks, gradient: _Tensor, subject: str, loc: Loc | None) -> _Tensor:
    """Run the hooks of one tensor on its complete gradient, one after the other; return the gradient that the last one leaves.

    subject  a description of the tensor, for messages
    loc      the location of the forward op, for messages
    """
    for hook_fn in hooks.firing():
        held = _held((gradient,))
        with noting(hook_fn, subject, loc):
            returned = hook_fn(gradient)
        if returned is None:
            gradient, = _untouched((gradient,), held)
            continue
        if not _is_tensor(returned):
            raise RuntimeError(f"Tensor hook should be return Tensor, but get type: {type(returned).__name__}. "
                               f"({_where(hook_fn, subject, loc)})")
        _same_type(described(hook_fn).split(" at ")[0], returned, gradient.type, _where(hook_fn, subject, loc))
        gradient = returned
    return gradient


def fire_value(hook_fn: Callable[[Any], Any], gradients: Sequence[_Tensor], loc: Loc | None) -> Sequence[_Tensor]:
    """Run the function of a `HookBackward` on the gradients of its results, which it gets as a tuple; return the new gradients.

    loc  the location of the forward op, for messages
    """
    for watcher in watchers:
        hook_fn = watcher.called_by_operator("HookBackward", hook_fn)
    where = _where(hook_fn, "HookBackward", loc)
    held = _held(gradients)
    with noting(hook_fn, "HookBackward", loc):
        returned = hook_fn(tuple(gradients))
    if returned is None:
        return _untouched(gradients, held)
    name = described(hook_fn).split(" at ")[0]
    if len(gradients) == 1:
        one = returned[0] if isinstance(returned, tuple) and len(returned) == 1 else returned
        returned = (_tensor_or_error(name, one, where),)
    elif not isinstance(returned, tuple) or len(returned) == 1:
        raise TypeError(f"The output gradient should be a tuple! It should hold {len(gradients)} tensors, but got "
                        f"{type(returned).__name__}. ({where})")
    elif len(returned) != len(gradients):
        raise ValueError(f"The tuple size of output gradient should be {len(gradients)}, but it is {len(returned)}. ({where})")
    for new, old in zip(returned, gradients, strict=True):
        _same_type(name, _tensor_or_error(name, new, where), old.type, where)
    return returned


def fire_gradient(hook_fn: Callable[[Any], Any], gradients: Sequence[_Tensor], loc: Loc | None) -> Sequence[_Tensor]:
    """Run the function of an `InsertGradientOf` on the gradient of its result, which it gets without a tuple.

    loc  the location of the forward op, for messages

    Return a tuple with the new gradient.
    """
    for watcher in watchers:
        hook_fn = watcher.called_by_operator("InsertGradientOf", hook_fn)
    gradient, = gradients
    where = _where(hook_fn, "InsertGradientOf", loc)
    held = _held((gradient,))
    with noting(hook_fn, "InsertGradientOf", loc):
        returned = hook_fn(gradient)
    if returned is None:
        return _untouched((gradient,), held)
    name = described(hook_fn).split(" at ")[0]
    _same_type(name, _tensor_or_error(name, returned, where), gradient.type, where)
    return (returned,)


_Gradients = tuple[Any, ...]


def fire_backward_pre(cell: Hooked, gradients: _Gradients, loc: Loc | None, latest: int) -> _Gradients:
    """Run a cell's backward pre hooks on the gradients of its outputs; return the new gradients.

    gradients  one for each output, None for an output without one
    loc        the location of the cell's call, for messages
    latest     the id of the last hook registered before that call: later hooks run only from the next call on
    """
    for hook in _slot(cell, "backward_pre", latest):
        held = _held(gradients)
        with noting(hook.function, cell, loc):
            returned = hook.function(_argument(cell), gradients)
        gradients = _checked(hook, cell, returned, _untouched(gradients, held), loc,
                             "hook_backward_pre_grad", "The backward pre hook return value size", "output")
    return gradients


def fire_backward(cell: Hooked, inputs: _Gradients, outputs: _Gradients, loc: Loc | None, latest: int) -> _Gradients:
    """Run a cell's backward hooks on the gradients of its arguments and of its outputs; return the new gradients of the arguments.

    inputs, outputs  the gradients, None for a value without one
    loc        the location of the cell's call, for messages
    latest     the id of the last hook registered before that call: later hooks run only from the next call on
    """
    for hook in _slot(cell, "backward", latest):
        gradients = (*inputs, *outputs)
        held = _held(gradients)
        try:  # inlined `noting`, which takes as long as a small hook
            if context.hook_signature() == "cell":
                returned = hook.function(cell, inputs, outputs)
            else:
                # In the older manual `grad_input` is the gradient that enters the cell in the backward pass.
                returned = hook.function(_argument(cell), outputs, inputs)
        except BaseException as raised:
            _note(raised, hook.function, cell, loc)
            raise
        untouched = _untouched(gradients, held)
        if untouched is not gradients:
            inputs, outputs = untouched[:len(inputs)], untouched[len(inputs):]
        if returned is not None:
            inputs = _checked(hook, cell, returned, inputs, loc,
                              "hook_backward_grad", "The backward hook return value size", "grad input")
    return inputs


def _slot(cell: Hooked, name: str, latest: int) -> Iterator[CellHook]:
    return getattr(cell._cell_hooks, name).firing(latest) if cell._cell_hooks is not None else iter(())


def _checked(
    hook: CellHook, cell: Hooked, returned: Any, expected: _Gradients, loc: Loc | None, role: str, size: str, noun: str
) -> _Gradients:
    """Return what a backward hook has returned as the new gradients, or the old ones if it has returned None.

    expected  the gradients before the hook
    role, size, noun  words for the messages

    TypeError or ValueError if number, dtypes or shapes differ from those of `expected`.
    """
    if returned is None:
        return expected
    where = _where(hook.function, cell, loc)
    if not isinstance(returned, tuple):
        if len(expected) != 1:
            raise TypeError(f"{size} is 1 not equal to expect {noun} size {len(expected)}. ({where})")
        returned = (_tensor_or_error(role, returned, where),)
    if len(returned) != len(expected):
        raise TypeError(f"{size} is {len(returned)} not equal to expect {noun} size {len(expected)}. ({where})")
    for new, old in zip(returned, expected, strict=True):
        if old is not None:
            _same_type(role, _tensor_or_error(role, new, where), old.type, where)
    return tuple(new if old is not None else None for new, old in zip(returned, expected, strict=True))


def _is_tensor(x: object) -> bool:
    return hasattr(x, "memory") and isinstance(getattr(x, "type", None), TensorType)


def _tensor_or_error(name: str, x: Any, where: str) -> Any:
    if not _is_tensor(x):
        raise TypeError(f"The output type of function: {name} should be a tensor but got {type(x).__name__}. ({where})")
    return x


def _same_type(name: str, new: _Tensor, expected: TensorType, where: str) -> None:
    if new.type is not expected:
        raise ValueError(
            f"The output type of function: {name} is not consistent with the expected, it should be "
            f"{_type_text(expected)}, but got {_type_text(new.type)}. ({where})")


def _type_text(type_: TensorType) -> str:
    return f"Tensor shape:[[const vector]{{{', '.join(map(str, type_.shape))}}}]{type_.dtype.long_name}"


# -- the kinds of hooks ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class ForwardKind:
    """Describes a kind of hooks of a Cell that run in the forward pass, on the arguments of a call or on its result.

    slot  the name of the kind, as in `Slots`
    fire  runs the hooks: before construct, `fire(cell, given)` returns the arguments; after it, `fire(cell, given, output)` returns the
        result
    """

    slot: str
    fire: Callable[..., Any]


@dataclass(frozen=True, eq=False)
class GradientKind:
    """Describes a kind of hooks of a Cell that run in the backward pass, on the gradients of its result.

    slot  the name of the kind, as in `Slots`
    fire  runs the hooks: `fire(cell, gradients, loc, latest)` returns the gradients, None where there is none; for `latest` see
        `fire_backward_pre`
    mark  what the text of graphs calls the kind: `outputs @relu.pre(y)` of a cell "relu"
    """

    slot: str
    fire: Callable[[Hooked, _Gradients, Loc | None, int], _Gradients]
    mark: str


FORWARD_PRE = ForwardKind("forward_pre", fire_forward_pre)
FORWARD = ForwardKind("forward", fire_forward)
BACKWARD_PRE = GradientKind("backward_pre", fire_backward_pre, "pre")

BEFORE_CONSTRUCT = (FORWARD_PRE,)
AFTER_CONSTRUCT: tuple[ForwardKind | GradientKind, ...] = (FORWARD, BACKWARD_PRE)
"""The kinds of hooks of a Cell in the order of their turns, but for backward hooks: these are called by the gradient of construct."""

OPERATORS: dict[str, Callable[[Callable[[Any], Any], Sequence[_Tensor], Loc | None], Sequence[_Tensor]]] = {
    "value": fire_value,  # HookBackward
    "gradient": fire_gradient,  # InsertGradientOf
}
"""The operators that call a hook on the gradients of their results, by the name `kind` in `hook @h(x, kind="value")`: the function that
calls it.
"""
