"""The trail of hooks: which hooks ran in a block, in order, what they changed, and why the others did not run.

    with watch.hooks(net) as trail:
        ms.grad(net)(x)
    print(trail)
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import user_place
from adjoint.ir.core import Node, Region, Value, walk
from adjoint.ir.ops.control import Cell as CellNode
from adjoint.ir.ops.host import Attach, Outputs
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.assembly import assembled
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import CellCall, TrieStep
from adjoint.runtime.hooks.handles import CellHook, HookHandle, HookList, Slots, TensorHooks, described, register
from adjoint.runtime.hooks.watchers import watchers
from adjoint.runtime.memory.machine import array_of
from adjoint.runtime.process import context
from adjoint.runtime.process.location import user_location
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import CONTAINERS, items, leaves
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["HookRun", "HookTrail", "SilentHook", "hooks"]

_KINDS = {"forward_pre": "forward pre hook", "forward": "forward hook", "backward_pre": "backward pre hook", "backward": "backward hook"}
_TENSOR = "tensor hook"


@dataclass(frozen=True)
class HookRun:
    """One call of a hook.

    kind     "forward pre hook", "forward hook", "backward pre hook", "backward hook", "tensor hook", "HookBackward" or "InsertGradientOf"
    subject  the path of the Cell or Parameter in the network, such as `block.fc`; "" for the network itself; "a tensor"
    hook     the function, with the line of its definition
    registered  the file and line that registered it; "" for an operator, and where it is not known
    value    the types of what it may change: of the arguments, the result, or the gradients
    changed  True if it returned other numbers, or changed them in place
    """

    kind: str
    subject: str
    hook: str
    registered: str
    value: str
    changed: bool

    def __str__(self) -> str:
        return (f"{self.kind:17}  {self.subject or '(the network)':13}  {self.value}{', changed' if self.changed else ''}, "
                f"by {self.hook}{_registered(self)}")


@dataclass(frozen=True)
class SilentHook:
    """A hook that did not run.

    kind, subject, hook  as for a HookRun
    registered           the file and line that registered it; "" if that is not known
    reason               why it did not run
    """

    kind: str
    subject: str
    hook: str
    registered: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind:17}  {self.subject or '(the network)':13}  {self.hook}{_registered(self)}: {self.reason}"


def _registered(hook: HookRun | SilentHook) -> str:
    """Return where a hook was registered, for the trail; "" if that is the line of its definition."""
    return f", registered at {hook.registered}" if hook.registered and not hook.hook.endswith(hook.registered) else ""


class HookTrail:
    """What `watch.hooks` has seen; `print` shows it, equal calls once.  It is complete when the block has ended.

    calls   the calls of hooks, in order
    silent  the hooks that did not run
    """

    def __init__(self) -> None:
        self.calls: list[HookRun] = []
        self.silent: list[SilentHook] = []

    def __str__(self) -> str:
        counts = Counter(map(str, self.calls))  # in the order of the first calls
        lines = [f"{len(self.calls)} calls of hooks",
                 *(f"    {call}{f', {count} times' if count > 1 else ''}" for call, count in counts.items())]
        if self.silent:
            lines += [f"{len(self.silent)} hooks did not run", *(f"    {hook}" for hook in self.silent)]
        return "\n".join(lines)


@contextmanager
def hooks(net: Cell) -> Iterator[HookTrail]:
    """Note each call of a hook in a `with` block, on this thread, and at its end why the other hooks of a network did not run.

    net  the network: the hooks of its Cells and Parameters are listed, and of all tensors on which a hook is registered in the block

    with adjoint.watch.hooks(net) as trail:
        step(x)
    print(trail)

    Numbers are not changed.  Each hook is slower, since its values are compared.  A function under `jit` is made into another graph for the
    block.

    TypeError if `net` is not a Cell.
    """
    if not isinstance(net, Cell):
        raise TypeError(f"For 'hooks', the argument 'net' must be a Cell, but got {net!r} of type {type(net).__name__}.")
    watched = _Watched(net)
    try:
        watchers.append(watched)
        yield watched.trail
    finally:
        watchers.remove(watched)
        watched.finish()


@dataclass
class _Known:
    """A hook, and what has become of it.

    kind, subject, hook, registered  as for a HookRun
    owner      the Cell or Parameter; None for another tensor
    functions  the list of hooks in which it is
    inside     True if it was registered in the block
    no_grad    True if that was inside of `_no_grad`
    removed    the file and line that removed it; "" if nothing did
    runs       how often it ran
    """

    kind: str
    subject: str
    hook: str
    registered: str
    owner: Any
    functions: HookList
    inside: bool = False
    no_grad: bool = False
    removed: str = ""
    runs: int = 0


class _Watched:
    """Follows the hooks of one network while a block runs."""

    def __init__(self, net: Cell):
        self.net, self.trail, self.thread = net, HookTrail(), threading.get_ident()
        self.known: dict[tuple[int, int], _Known] = {}
        self.lists: dict[int, tuple[Any, str, str, Any]] = {}
        """For the id of a list of hooks: the list, their kind, the path of its owner, and the owner."""
        self.entered: dict[int, bool] = {}
        """For the id of each Cell that was called, True if every call was inside of `_no_grad`."""
        self.gradients: list[tuple[Tape, TrieStep, tuple[int, ...], tuple[int, ...]]] = []
        self.marks: dict[int, HookHandle] = {}
        """For the id of a Cell, the handle of the hook that notes its calls."""
        self.search()
        for known in list(self.known.values()):
            self.mark(known.owner)

    # -- the hooks that there are --------------------------------------------------------------------------------------
    def search(self) -> None:
        """Find the lists of hooks of the network's Cells and Parameters, and the hooks in them."""
        for path, cell in self.net.cells_and_names():
            if cell._cell_hooks is not None:
                for slot in Slots._fields:
                    self.add(getattr(cell._cell_hooks, slot), _KINDS[slot], path, cell)
        for path, parameter in self.net.parameters_and_names():
            if parameter._hooks is not None:
                self.add(parameter._hooks.functions, _TENSOR, path, parameter)

    def add(self, functions: HookList, kind: str, path: str, owner: Any) -> None:
        if id(functions) not in self.lists:
            self.lists[id(functions)] = functions, kind, path, owner
            for key in functions:
                self.note(functions, key)

    def note(self, functions: HookList, key: int) -> _Known:
        """Return what is known of a hook."""
        if id(functions) not in self.lists:
            self.search()
        if id(functions) not in self.lists:
            self.lists[id(functions)] = functions, _TENSOR, "a tensor", None
        _, kind, path, owner = self.lists[id(functions)]
        found = self.known.get((id(functions), key))
        if found is None:
            hook, place = functions[key], functions.places.get(key)
            text = described(hook.function if isinstance(hook, CellHook) else hook)
            found = self.known[id(functions), key] = _Known(
                kind, path, text, f"{place[0]}:{place[1]}" if place else "", owner, functions)
        return found

    def mark(self, owner: Any) -> None:
        """Register a forward pre hook on a Cell that has hooks, to see whether it is called."""
        if isinstance(owner, Cell) and id(owner) not in self.marks:
            self.marks[id(owner)] = register(owner._cell_slots().forward_pre, _Mark(self.enter), prepend=True)

    def enter(self, cell: Cell) -> None:
        outside = not state.no_grad
        self.entered[id(cell)] = self.entered.get(id(cell), True) and not outside

    # -- what happens ----------------------------------------------------------------------------------------------------
    def mine(self, functions: HookList, key: int) -> bool:
        if threading.get_ident() != self.thread or key not in functions:
            return False
        hook = functions[key]
        return not isinstance(getattr(hook, "function", hook), _Mark)

    def registered(self, functions: HookList, key: int) -> None:
        if self.mine(functions, key):
            known = self.note(functions, key)
            known.inside, known.no_grad = True, bool(state.no_grad)
            self.mark(known.owner)

    def removed(self, functions: HookList, key: int) -> None:
        if self.mine(functions, key):
            place = user_place(user_location())
            self.note(functions, key).removed = "a line that is not known" if place is None else f"{place.file}:{place.line}"

    def called(self, functions: HookList, key: int, hook: Any) -> Any:
        if not self.mine(functions, key):
            return hook
        known = self.note(functions, key)
        if not isinstance(hook, CellHook):
            return self.noting(hook, known.kind, known.subject, known, 0)
        position = 1
        if known.kind == _KINDS["forward"]:
            position = -1
        elif known.kind == _KINDS["backward"] and context.hook_signature() != "cell":
            position = 2
        return CellHook(self.noting(hook.function, known.kind, known.subject, known, position), hook.with_kwargs, hook.always_call)

    def called_by_operator(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.noting(function, kind, "a tensor", None, 0) if threading.get_ident() == self.thread else function

    def noting(self, function: Callable[..., Any], kind: str, subject: str, known: _Known | None, position: int) -> Callable[..., Any]:
        """Return a function that calls a hook, and adds the call to the trail.

        position  the index of the argument that the hook may change
        """
        def noted(*given: Any) -> Any:
            value = given[position]
            before, text = _numbers(value), _text(value)
            if known is not None:
                known.runs += 1
            index, registered = len(self.trail.calls), "" if known is None else known.registered
            self.trail.calls.append(HookRun(kind, subject, described(function), registered, text, False))
            returned = function(*given)
            if _differs(value, before, returned, given):
                self.trail.calls[index] = HookRun(kind, subject, described(function), registered, text, True)
            return returned

        noted.__watched_hook__ = getattr(function, "__watched_hook__", function)  # pyright: ignore[reportFunctionMemberAccess] - for `described`
        return noted

    def gradient(self, tape: Tape, start: TrieStep, outputs: tuple[int, ...], wanted: tuple[int, ...]) -> None:
        if threading.get_ident() == self.thread:
            self.gradients.append((tape, start, outputs, wanted))

    # -- the end ---------------------------------------------------------------------------------------------------------
    def finish(self) -> None:
        """Say of each hook that did not run why."""
        for handle in self.marks.values():
            handle.remove()
        paths = [_Recording(*each) for each in self.gradients]
        for known in self.known.values():
            if not known.runs:
                reason = self.reason(known, paths)
                self.trail.silent.append(SilentHook(known.kind, known.subject, known.hook, known.registered, reason))
        self.gradients.clear()

    def reason(self, known: _Known, paths: Sequence[_Recording]) -> str:
        if known.removed:
            return f"it was removed at {known.removed}"
        if isinstance(known.owner, Cell) and id(known.owner) not in self.entered:
            return "it was registered in the block, after its turn" if known.inside else "the Cell was not called"
        if known.kind in (_KINDS["forward"], _KINDS["forward_pre"]):
            return "it was registered in the block, after its turn" if known.inside else "construct raised an exception"
        if isinstance(known.owner, Cell) and self.entered[id(known.owner)]:
            return "the Cell was called inside of `_no_grad`"
        if isinstance(known.owner, Parameter) and not known.owner.requires_grad:
            return "the Parameter has requires_grad=False"
        if known.no_grad:
            return "it was registered inside of `_no_grad`"
        for path in paths:
            found = path.reason(known)
            if found:
                return found
        return "no gradient reached it" if paths else "no gradient was taken, or a graph took it and none reached it"


class _Mark:
    """A forward pre hook that notes the call of a Cell, and changes nothing."""

    def __init__(self, enter: Callable[[Cell], None]):
        self.enter = enter

    def __call__(self, cell: Any, args: tuple[Any, ...]) -> None:
        self.enter(cell)


class _Recording:
    """What a gradient was taken of, to find where the way from a value to the result ends."""

    def __init__(self, tape: Tape, start: TrieStep, outputs: tuple[int, ...], wanted: tuple[int, ...]):
        made = assembled(tape.path(), start, [*outputs, *wanted])
        self.tape, self.made = tape, made
        self.nodes = list(walk(Region((), made.nodes, ())))
        self.outputs = {x for x in made.results[: len(outputs)] if isinstance(x, Value)}
        self.users: dict[Any, list[Node]] = {}
        self.yields: dict[Any, list[Value]] = {}
        for node in self.nodes:
            for x in node.operands:
                self.users.setdefault(x, []).append(node)
            for region in node.regions:
                for x, y in (*zip(node.operands, region.params, strict=False), *zip(region.results, node.results, strict=False)):
                    self.yields.setdefault(x, []).append(y)

    def reason(self, known: _Known) -> str:
        """Return why no gradient reached what a hook is on; "" if the recording does not tell."""
        values = self.values_of(known)
        if not values:
            return ("none of its arguments depends on what the gradient is taken by" if isinstance(known.owner, Cell)
                    else "no gradient was taken by it" if isinstance(known.owner, Parameter) else "")
        cut: Node | None = None
        seen, reached = set[Any](values), list(values)
        while reached:
            x = reached.pop()
            if x in self.outputs:
                return ""
            following = list(self.yields.get(x, []))
            for node in self.users.get(x, []):
                if node.ends_gradients:
                    cut = cut or node
                elif not node.regions:
                    following += node.results
            reached += [y for y in following if y not in seen]
            seen.update(following)
        if cut is None:
            return "what is differentiated does not depend on it"
        place = user_place(cut.loc)
        return f"`{cut.op.name}`{'' if place is None else f' at {place.file}:{place.line}'} ends the gradient: {cut.op.cuts}"

    def values_of(self, known: _Known) -> list[Value]:
        """Return the values that a hook is on: the results of its Cell, or the tensor."""
        found: list[Value] = []
        for node in self.nodes:
            if not isinstance(node.op, (Attach, CellNode, Outputs)) or not node.op.symbol:
                continue
            host = self.tape.hosts[self.made.hosts[node.op.symbol]]
            if isinstance(host, CellCall) and host.cell is known.owner:
                found += node.results
            elif isinstance(host, TensorHooks) and (host.functions is known.functions or (
                    host.outside is not None and host.outside.functions is known.functions)):
                found += [x for x in node.operands if isinstance(x, Value)]
        return found


def _numbers(value: Any) -> list[tuple[Any, np.ndarray[Any, Any]]]:
    """Return the tensors in a value, each with a copy of its numbers."""
    return [(x, array_of(x.memory, x.type).copy()) for x in leaves(value, Tensor)]


def _differs(value: Any, before: Sequence[tuple[Tensor, np.ndarray[Any, Any]]], returned: Any, given: tuple[Any, ...]) -> bool:
    """Return True if a hook has changed a value: in place, or by returning another one.

    before  the numbers of its tensors before the hook ran
    """
    if returned is None:
        returned = value
    elif isinstance(value, tuple) and not isinstance(returned, tuple):
        returned = (returned,)
    elif len(given) == 3 and isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict):
        returned = returned[0]  # of a forward pre hook with keywords
    after = [array_of(x.memory, x.type) for x in leaves(returned, Tensor)]
    return len(after) != len(before) or any(a.shape != b.shape or a.dtype != b.dtype or a.tobytes() != b.tobytes()
                                            for a, (_, b) in zip(after, before, strict=True))


def _text(value: Any) -> str:
    """Return the types of a value, for the trail."""
    if isinstance(value, Tensor):
        return str(value.type)
    if isinstance(value, CONTAINERS):
        return f"({', '.join(map(_text, items(value) or ()))})"
    return str(value) if value is None or isinstance(value, (bool, int, float)) else type(value).__name__
