"""Forward hooks in a graph: nodes that call Python, and whose results are assumed.

Hooks are assumed to return values like those they are called with.  If no graph can be made with that assumption, the graph ends at the
hooks, and what they return in a run decides how it continues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from adjoint.frontend.changes.aliases import Aliases
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.world import Kind
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.graph import HookCall, Unfitting, living
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.inputs.outline import OutlineSlot, filled, outline_key, outlined, slots_of
from adjoint.runtime.graphs.lowering.assumptions import Assumptions, Site
from adjoint.runtime.graphs.lowering.categories import tensor_slot
from adjoint.runtime.graphs.lowering.hosts import Hosts
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ForwardHooks", "hooked_outline", "outline_of"]


class ForwardHooks:
    """Adds nodes that call the forward pre hooks and the forward hooks of cells, with an assumption of what they return.

    regions, values, hosts, guards  the parts of the `Lowering` that it uses
    assumptions  what the hooks are assumed to return
    aliases      is told which tensors a returned tensor may be
    """

    def __init__(self, regions: Regions, values: Values, hosts: Hosts, guards: Guards, assumptions: Assumptions, aliases: Aliases):
        self._regions, self._guards = regions, guards
        self._values, self._hosts, self._assumptions, self._aliases = values, hosts, assumptions, aliases

    def run(
        self, site: Site, title: str, text: str, cell: Callable[[], Cell | None], fire: Callable[..., Any], values: tuple[Any, ...]
    ) -> Any:
        """Add a node that calls hooks of a cell when the graph runs, and return their result in values of the graph.

        Unless earlier calls have shown otherwise, the result is assumed to have the structure and types of the last of the values.

        site         the key of this assumption: the index of the cell's call in the graph, with the slot of the hooks, as "forward_pre"
        title, text  the cell and its hooks, as the text of the IR shows them
        cell         returns the cell, or None if it has been freed
        fire         calls the hooks: takes the cell and the values
        values       what the hooks are called with: the arguments of the cell, and for forward hooks its result
        """
        known = self._assumptions
        self._guards.mark(site, self._regions.on_a_path())
        if site in known.known:
            expected = known.known[site]
        elif known.asks:
            self._end(site, title, cell, fire, values)
        else:
            expected = hooked_outline(values[-1])
            known.guessed = True
        known.taken[site] = expected
        wanted, guessed = outline_key(expected), site not in known.known

        changed = self._changed(title, text)

        def result(returned: Any, given: tuple[Any, ...]) -> Any:
            if changed():
                outline, found = outlined(returned, tensor_slot)
                return Unfitting([x if isinstance(x, Tensor) else Tensor(x) for x in found], outline)
            if guessed and (unchanged := _unchanged(returned, given[-1])) is not None:
                return unchanged
            outline, found = outlined(returned, tensor_slot)
            categories = [slot.category for slot in slots_of(outline)]
            tensors = [x if c == "tensor" else Tensor(x) for x, c in zip(found, categories, strict=True)]
            return tensors if outline_key(outline) == wanted else Unfitting(tensors, outline)

        slots = slots_of(expected)
        def called(*given: Any) -> Any:
            return result(fire(living(cell), *given), given)

        symbol, results = self._hosts.call(f"{title}.{site[1]}", called, values, [slot.type for slot in slots], text)
        as_it_was = _as_it_was(expected, of_arguments=len(values) == 1) if guessed else None
        if as_it_was is not None:
            guards = self._guards
            self._hosts.written_out(symbol, values, lambda run, made: HookCall(run, cell, made, fire, result, as_it_was, guards))
        known.sites[symbol] = site
        made = filled(expected, [
            self._values.wrapped(Kind(slot.category, slot.type), value) for slot, value in zip(slots, results, strict=True)])
        self._may_be(made, values)
        return made

    def _changed(self, title: str, text: str) -> Callable[[], bool]:
        """Return a function to be called after hooks have run: it returns True if they have changed something on which only the rest of the
        graph depends, so that another graph must be made for the rest.

        The function raises RuntimeError if the changed value was read before the hooks, too: Python values computed from it in the meantime
        are not known any more.

        title, text  the cell and its hooks, for the error
        """
        guards, clock = self._guards, self._guards.clock
        after = 0 if self._regions.on_a_path() else clock  # in a loop, what comes before the hooks is read again in the next round
        guards.called(after)

        def changed() -> bool:
            if guards.unchanged():
                return False
            difference, was_read = guards.changed(clock, after)
            if was_read:
                raise RuntimeError(
                    f"The forward hooks of '{title}' ({text}) have changed what the graph reads both before and after them: {difference}. "
                    "A graph is made for one of the two. Change it between two calls, let the body read it only after the hooks, or, if it "
                    "is a number, keep it in a Parameter, whose value is read anew each time.")
            return bool(difference)

        return changed

    def _end(self, site: Site, title: str, cell: Callable[[], Cell | None], fire: Callable[..., Any], values: tuple[Any, ...]) -> NoReturn:
        """Add a node that calls hooks of whose result nothing is assumed, and end the graph there, by raising Unreachable.

        When the graph runs, their result decides in which graph the call continues.

        site                the index of the cell's call in the graph, with the slot of the hooks
        title               the cell's name
        cell, fire, values  as `run` takes them
        """

        def called(*given: Any) -> Any:
            outline, found = outlined(fire(living(cell), *given), tensor_slot)
            return Unfitting([x if isinstance(x, Tensor) else Tensor(x) for x in found], outline)

        symbol, _ = self._hosts.call(f"{title}.{site[1]}", called, values, ())
        self._assumptions.sites[symbol] = site
        raise Unreachable

    def _may_be(self, made: Any, given: Any) -> None:
        """Record that each tensor which hooks return may be the same object as any tensor of the same type among those they were called
        with.
        """
        tensors = leaves(given, Tensor)
        for x in leaves(made, Tensor):
            self._aliases.may_be(x, *(t for t in tensors if t.type is x.type))


def _unchanged(returned: Any, given: Any) -> list[Tensor] | None:
    """Return the tensors that hooks were called with, if they returned exactly these; None if not, or for anything but tuples of tensors.

    Fast path: most hooks change nothing.
    """
    if isinstance(given, Tensor):
        return [given] if returned is given else None
    if type(given) is dict:
        return [] if returned is given and not given else None
    if type(given) is not tuple or type(returned) is not tuple or len(returned) != len(given):
        return None
    found: list[Tensor] = []
    for one, other in zip(returned, given, strict=True):
        tensors = _unchanged(one, other)
        if tensors is None:
            return None
        found += tensors
    return found


def _as_it_was(outline: Any, of_arguments: bool) -> str | None:
    """Return Python text that is true if hooks replaced nothing (`HookCall.as_it_was`); None if they may change values in place, such as a
    list.

    outline       the structure of what the hooks return
    of_arguments  True for pre hooks: the outline is that of `(arguments, keyword arguments)`, and there must be no keyword arguments
    """
    if of_arguments:
        arguments, named = outline
        return "answer[0] is values[0][0] and not answer[1]" if not named and _is_of_tuples(arguments) else None
    return "answer is values[-1]" if _is_of_tuples(outline) else None


def _is_of_tuples(outline: Any) -> bool:
    """Return True for the structure of a tensor, or of nested tuples of tensors."""
    return isinstance(outline, OutlineSlot) or (type(outline) is tuple and all(map(_is_of_tuples, outline)))


def hooked_outline(value: Any) -> Any:
    """Return the outline of what forward hooks return: its structure, with a slot for each tensor and each number that the graph computes.
    All other leaves stay in it as constants.
    """
    return outlined(value, tensor_slot)[0]


def outline_of(tensors: Sequence[Tensor]) -> Any:
    """Return the structure of what forward hooks have returned, given the tensors: one tensor, or a tuple of several."""
    return hooked_outline(tensors[0] if len(tensors) == 1 else tuple(tensors))
