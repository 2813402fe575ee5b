"""Hooks: handles, order, removal, what a hook is given and what may come back.

The meaning of every kind is in docs/hooks.md.  Here stands what all kinds share: a registry of functions in order, a
handle that takes one out again, the checks on what a hook returns, and the note put on an exception that a hook raised.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adjoint.diagnostics import Loc, user_place
from adjoint.ir.types import TensorType
from adjoint.runtime.process import context
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.location import user_location
from adjoint.runtime.process.tracer import state

if TYPE_CHECKING:
    from adjoint.runtime.cells.cell import Cell
    from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "CellHook", "CellHooks", "HookHandle", "TensorHookHandle", "TensorHooks", "cell_argument", "check_hook", "fire_backward",
    "fire_backward_pre", "fire_gradient", "fire_tensor", "fire_value", "noting", "register", "subject_of",
]

class _Ids:
    """Handle ids: they grow over all hooks."""

    def __init__(self) -> None:
        self._count = itertools.count()
        self.last = -1

    def next(self) -> int:
        self.last = next(self._count)
        return self.last


ids = _Ids()


def check_hook(hook_fn: object) -> None:
    """TypeError when `hook_fn` cannot be called, or is a compiled function."""
    if not callable(hook_fn):
        raise TypeError(f"Expected a callable hook function, but got {type(hook_fn).__name__}.")
    if getattr(hook_fn, "__adjoint_jit__", False):
        raise TypeError(f"Decorating hook function {_name(hook_fn)} with '@jit' is not supported.")


class HookHandle:
    """Takes a hook out again with `remove()`, which may be called more than once; also a context manager."""

    def __init__(self, functions: dict[int, Any]):
        if state.tape is not None and state.tape.emits:
            raise state.lowering.registered_inside()
        self.handle_id = ids.next()
        self._functions = weakref.ref(functions)

    def remove(self) -> None:
        """The hook does not run any more: not in the next pass, not in the rest of this one."""
        if state.tape is not None and state.tape.emits:
            raise state.lowering.registered_inside()
        functions = self._functions()
        if functions is not None:
            functions.pop(self.handle_id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class TensorHookHandle(HookHandle):
    """The handle that `Tensor.register_hook` returns."""


class HookList(dict[int, Any]):
    """Hooks by handle id, in the order in which they run."""

    __slots__ = ("__weakref__",)

    def add(self, hook: Any, handle: HookHandle, prepend: bool = False) -> None:
        if prepend:
            others = list(self.items())
            self.clear()
            self[handle.handle_id] = hook
            self.update(others)
        else:
            self[handle.handle_id] = hook

    def firing(self, latest: int | None = None) -> Iterator[Any]:
        """The hooks as they are now; one that is removed while they fire is left out.

        latest  the last handle id that takes part: hooks registered later do not
        """
        if len(self) > 1 or (latest is not None and latest != ids.last):
            return self._present(latest)
        return iter(tuple(self.values()))

    def _present(self, latest: int | None) -> Iterator[Any]:
        for key, hook in list(self.items()):
            if key in self and (latest is None or key <= latest):
                yield hook


class CellSlot(HookList):
    """One slot of a cell: the epoch moves when it is filled or empty again, since graphs depend on that."""

    __slots__ = ()

    def __setitem__(self, handle_id: int, hook: Any) -> None:
        filled = bool(self)
        super().__setitem__(handle_id, hook)
        if not filled:
            epoch.move()

    def pop(self, handle_id: int, *default: Any) -> Any:
        filled = bool(self)
        hook = super().pop(handle_id, *default)
        if filled and not self:
            epoch.move()
        return hook

    def clear(self) -> None:
        filled = bool(self)
        super().clear()
        if filled:
            epoch.move()


class TensorHooks:
    """The backward hooks of one value."""

    def __init__(self, outside: TensorHooks | None = None) -> None:
        self.functions, self.outside = HookList(), outside

    def firing(self) -> Iterator[Any]:
        """The hooks in order: those from outside of the pass first."""
        return self.functions.firing() if self.outside is None else itertools.chain(self.outside.firing(), self.functions.firing())

    def __bool__(self) -> bool:
        return bool(self.functions) or bool(self.outside)

    def register(self, hook_fn: Callable[[Tensor], Any]) -> TensorHookHandle:
        check_hook(hook_fn)
        handle = TensorHookHandle(self.functions)
        self.functions.add(hook_fn, handle)
        return handle


@dataclass(frozen=True)
class CellHook:
    """A hook function of a cell with the options it was registered with."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


class CellHooks:
    """The four slots of a cell."""

    __slots__ = ("backward", "backward_pre", "forward", "forward_pre")

    def __init__(self) -> None:
        self.forward_pre, self.forward, self.backward_pre, self.backward = CellSlot(), CellSlot(), CellSlot(), CellSlot()

    def check_pickling(self, cell: Cell) -> None:
        """PicklingError that names the first hook that cannot be pickled, and its cell."""
        # Needed for this alone.
        import pickle

        for kind in CellHooks.__slots__:
            for hook in getattr(self, kind).values():
                try:
                    pickle.dumps(hook)
                except Exception as problem:
                    raise pickle.PicklingError(
                        f"{subject_of(cell)} cannot be pickled: its {kind} hook {described(hook.function)} cannot ({problem}). "
                        "Remove the hook, or use a function of a module.") from problem

    def __deepcopy__(self, memo: dict[int, Any]) -> CellHooks:
        """The same functions in new slots: a copied cell keeps its hooks, and removing from one leaves the other."""
        copied = CellHooks()
        for slot in CellHooks.__slots__:
            getattr(copied, slot).update(getattr(self, slot))
        return copied


def register(slot: HookList, hook_fn: Any, prepend: bool = False, **options: bool) -> HookHandle:
    """Put a function into a cell's slot."""
    check_hook(hook_fn)
    handle = HookHandle(slot)
    slot.add(CellHook(hook_fn, **options), handle, prepend)
    return handle


# -- what is told to a hook, and about it ----------------------------------------------------------------------------
def described(hook_fn: Any) -> str:
    """`clip at train.py:12`"""
    name = _name(hook_fn)
    inner = hook_fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    code = getattr(getattr(inner, "__func__", inner), "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else name


def _name(hook_fn: Any) -> str:
    return getattr(hook_fn, "__qualname__", type(hook_fn).__qualname__).rsplit("<locals>.", 1)[-1]


def _where(hook_fn: Any, subject: str | Cell, loc: Loc | None) -> str:
    subject = subject if isinstance(subject, str) else subject_of(subject)
    place = user_place(loc) if loc is not None else None
    return f"hook {described(hook_fn)}, on {subject}" + (f", forward at {place.file}:{place.line}" if place else "")


class noting:  # read as a statement: `with noting(hook, subject):`
    """An exception from inside leaves as it is, with a note that names the hook, what it hangs on, and the forward line.

    loc  the forward op's place; None: the user's line that is running
    """

    __slots__ = ("hook_fn", "loc", "subject")

    def __init__(self, hook_fn: Any, subject: str | Cell, loc: Loc | None = None):
        self.hook_fn, self.subject, self.loc = hook_fn, subject, loc

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, raised: BaseException | None, traceback: object) -> None:
        if raised is not None:
            _note(raised, self.hook_fn, self.subject, self.loc)


def _note(raised: BaseException, hook_fn: Any, subject: str | Cell, loc: Loc | None) -> None:
    raised.add_note(f"raised in {_where(hook_fn, subject, user_location() if loc is None else loc)}")


def cell_argument(cell: Cell) -> Any:
    return cell if context.hook_signature() == "cell" else f"{type(cell).__name__}({id(cell)})"


def subject_of(cell: Cell) -> str:
    """`cell 'fc1' (Dense)`"""
    return f"cell '{cell.title}' ({type(cell).__name__})"


# -- firing ----------------------------------------------------------------------------------------------------------
def _held(gradients: Sequence[Any]) -> list[tuple[TensorType, Any, int | None] | None]:
    """What the gradients are before a hook runs: holding the memory keeps a hook's in-place change out of it."""
    tape = state.tape
    if tape is None:
        return [None if g is None else (g.type, g.memory, None) for g in gradients]
    return [None if g is None else (g.type, g.memory, tape.slots.get(id(g))) for g in gradients]


def _untouched(gradients: Any, held: Sequence[tuple[TensorType, Any, int | None] | None]) -> Any:
    """The gradients as they were: a hook that changed one in place changed its own tensor, only what it returns counts."""
    for g, before in zip(gradients, held):
        if before is not None and g.memory is not before[1]:
            break
    else:
        return gradients
    return tuple(g if before is None or g.memory is before[1] else _again(*before)
                 for g, before in zip(gradients, held, strict=True))


def _again(type_: TensorType, memory: Any, slot: int | None) -> Tensor:
    from adjoint.runtime.tensor.tensor import wrap  # the tensor module needs this one

    gradient = wrap(type_, memory)
    if slot is not None and state.tape is not None:
        state.tape.slots[id(gradient)] = slot
        state.tape.keep[id(gradient)] = gradient
    return gradient


def fire_tensor(hooks: TensorHooks, gradient: Tensor, subject: str, loc: Loc | None) -> Tensor:
    """Run the hooks of a value on its total gradient; what the last one made of it."""
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


def fire_value(hook_fn: Callable[[Any], Any], gradients: Sequence[Tensor], loc: Loc | None) -> Sequence[Tensor]:
    """Run the function of a `HookBackward` on the gradients of its results: always a tuple."""
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


def fire_gradient(hook_fn: Callable[[Any], Any], gradient: Tensor, loc: Loc | None) -> Tensor:
    """Run the function of an `InsertGradientOf` on the bare gradient."""
    where = _where(hook_fn, "InsertGradientOf", loc)
    held = _held((gradient,))
    with noting(hook_fn, "InsertGradientOf", loc):
        returned = hook_fn(gradient)
    if returned is None:
        return _untouched((gradient,), held)[0]
    name = described(hook_fn).split(" at ")[0]
    _same_type(name, _tensor_or_error(name, returned, where), gradient.type, where)
    return returned


Gradients = tuple["Tensor | None", ...]


def fire_backward_pre(cell: Cell, gradients: Gradients, loc: Loc | None, latest: int) -> Gradients:
    """Run a cell's backward pre hooks on the gradients of its outputs; None where there is none.

    latest  the last handle id there was when the cell was called: later hooks take part from its next call on
    """
    for hook in _slot(cell, "backward_pre", latest):
        held = _held(gradients)
        with noting(hook.function, cell, loc):
            returned = hook.function(cell_argument(cell), gradients)
        gradients = _checked(hook, cell, returned, _untouched(gradients, held), loc,
                             "hook_backward_pre_grad", "The backward pre hook return value size", "output")
    return gradients


def fire_backward(cell: Cell, inputs: Gradients, outputs: Gradients, loc: Loc | None, latest: int) -> Gradients:
    """Run a cell's backward hooks on the gradients of its arguments and of its outputs; the arguments' ones come back."""
    for hook in _slot(cell, "backward", latest):
        gradients = (*inputs, *outputs)
        held = _held(gradients)
        try:  # as `noting`, which costs what a hook costs that does little
            if context.hook_signature() == "cell":
                returned = hook.function(cell, inputs, outputs)
            else:
                # The older manual calls what flows into the cell backwards its grad_input.
                returned = hook.function(cell_argument(cell), outputs, inputs)
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


def _slot(cell: Cell, name: str, latest: int) -> Iterator[CellHook]:
    return getattr(cell._hooks, name).firing(latest) if cell._hooks is not None else iter(())


def _checked(
    hook: CellHook, cell: Cell, returned: Any, expected: Gradients, loc: Loc | None, role: str, size: str, noun: str
) -> Gradients:
    """What a backward hook returned, as the new gradients; TypeError or ValueError when it does not fit."""
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


def _same_type(name: str, new: Tensor, expected: TensorType, where: str) -> None:
    if new.type is not expected:
        raise ValueError(
            f"The output type of function: {name} is not consistent with the expected, it should be "
            f"{_type_text(expected)}, but got {_type_text(new.type)}. ({where})")


def _type_text(type_: TensorType) -> str:
    return f"Tensor shape:[[const vector]{{{', '.join(map(str, type_.shape))}}}]{type_.dtype.long_name}"
