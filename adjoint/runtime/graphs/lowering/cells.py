"""Cells in a graph: a region for construct, and the hooks around it as nodes.

    a1 = apply! @relu.forward_pre(a)            forward pre hooks
    y0 = cell "relu" with @relu carry (x = a1) { .. }
    y1 = apply! @relu.forward(a1, y0)           forward hooks
    y = outputs @relu.pre(y1)                   backward pre hooks run here

Forward hooks are assumed to return values like those they are given.  If that assumption is of no use, the graph ends at the hooks,
and their result decides how it continues (`_asked`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from adjoint.frontend import errors
from adjoint.frontend.control.branches import PerhapsNone, Unreachable
from adjoint.frontend.world import Kind
from adjoint.ir.core import Host, Value
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.host import Outputs
from adjoint.ir.types import F32
from adjoint.runtime.cells.boundary import held_by, is_nested, top_level, with_top_level
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.precision import cast_floats, computing
from adjoint.runtime.graphs.graph import CellSite, Slots, Unfitting, living, site_key
from adjoint.runtime.graphs.lowering.emitting import as_python, tensor_slot
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber
from adjoint.runtime.graphs.lowering.python_objects import PythonObjects
from adjoint.runtime.graphs.outline import filled, outline_key, outlined, slots_of
from adjoint.runtime.hooks.firing import fire_forward, fire_forward_pre
from adjoint.runtime.hooks.handles import described
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.structure import leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["Cells", "hooked_outline", "observed"]


class Cells(PythonObjects):
    """Lowers calls of cells."""

    # -- cells --------------------------------------------------------------------------------------------------------------
    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.cell(cell, args, kwargs)

    def cell(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Lower a call of a cell: its hooks become nodes around the cell's region."""
        if self.net is not None:
            return self._called(cell, args, kwargs)
        self.net = cell
        try:
            return self._called(cell, args, kwargs)
        finally:
            self.net = None

    def _called(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        ordinal, self.calls = self.calls, self.calls + 1
        pattern = self.decisions.get((ordinal, "slots")) or Slots.of(cell)
        self.taken[ordinal, "slots"] = pattern
        self.guards.of_slots(cell)
        reference = weakref.ref(cell)
        loc = self.loc
        if pattern.forward_pre:

            def before(given: Any) -> Any:
                here = living(reference)
                return fire_forward_pre(here, here._hooks, *given) if here._hooks is not None else given

            given = args, kwargs
            args, kwargs = self._forward_hooks((ordinal, "forward_pre"), cell, given, given, before)
            self._may_be((args, kwargs), given)
        called = (args, kwargs)
        output = self._region(cell, args, kwargs, pattern, reference, ordinal)
        self.loc = loc
        if pattern.forward:

            def after(given: Any) -> Any:
                here = living(reference)
                (args_, kwargs_), output_ = given
                return fire_forward(here, here._hooks, args_, kwargs_, output_) if here._hooks is not None else output_

            made = output
            output = self._forward_hooks((ordinal, "forward"), cell, (called, made), made, after)
            self._may_be(output, (called, made))
        if pattern.backward_pre and not state.no_grad:
            tensors = top_level(output)
            if tensors:
                symbol = self._host(f"{cell.title}.pre", _CellReference(reference), self._hooks_text(cell, "backward_pre"))
                node = self.builder.emit_node(Outputs(symbol), [self.atom(x) for x in tensors], loc=self.loc)
                outside = self.tensors(node.results)
                for x, behind in zip(tensors, outside, strict=True):
                    self.frontend.aliases.may_be(behind, x)
                output = with_top_level(output, outside)
        return output

    def _may_be(self, made: Any, given: Any) -> None:
        """Treat each result of forward hooks as a possible alias of every tensor they were given."""
        tensors = leaves(given, Tensor)
        for x in leaves(made, Tensor):
            self.frontend.aliases.may_be(x, *(t for t in tensors if t.type is x.type))

    @staticmethod
    def _hooks_text(cell: Cell, kind: str) -> str:
        assert cell._hooks is not None
        return ", ".join(described(hook.function) for hook in getattr(cell._hooks, kind).values())

    def _forward_hooks(self, site: Any, cell: Cell, given: Any, assumed: Any, run: Callable[[Any], Any]) -> Any:
        """Emit forward hooks as an `apply!` of `run(given)`; its result is assumed to have the structure and types of `assumed`."""
        if site in self.decisions:
            expected = self.decisions[site]
        elif self.asks:
            self._asked(site, cell, given, run)
        else:
            expected = outlined(assumed, tensor_slot)[0]
            self.assumes = True
        self.taken[site] = expected
        wanted = outline_key(expected)

        def fire(given_: Any) -> Any:
            outline, found = outlined(run(given_), tensor_slot)
            categories = [slot.category for slot in slots_of(outline)]
            tensors = [x if c == "tensor" else Tensor(x) for x, c in zip(found, categories, strict=True)]
            return tensors if outline_key(outline) == wanted else Unfitting(tensors, outline)

        slots = slots_of(expected)
        symbol, results = self.host_call(f"{cell.title}.{site[1]}", fire, (given,), [slot.type for slot in slots])
        self.declared[symbol] = Host(self._hooks_text(cell, site[1]), self.loc)
        self.hook_sites[symbol] = site
        return filled(expected, [self.wrapped(Kind(slot.category, slot.type), value) for slot, value in zip(slots, results, strict=True)])

    def _asked(self, site: Any, cell: Cell, given: Any, run: Callable[[Any], Any]) -> NoReturn:
        """Emit forward hooks whose result is unknown: the graph ends here, and the result decides how it continues."""

        def fire(given_: Any) -> Any:
            outline, found = outlined(run(given_), tensor_slot)
            return Unfitting([x if isinstance(x, Tensor) else Tensor(x) for x in found], outline)

        symbol, _ = self.host_call(f"{cell.title}.{site[1]}", fire, (given,), ())
        self.hook_sites[symbol] = site
        raise Unreachable

    def _constructed(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any], library: bool) -> Any:
        if cell._compute is not None:
            with computing(cell, cell._compute) as cast:
                args, kwargs = tuple(map(cast, args)), {name: cast(x) for name, x in kwargs.items()}
                output = cell.construct(*args, **kwargs) if library else self.frontend.call(cell.construct, args, kwargs)
                return output if cell._result is None else cast_floats(output, cell._result)
        return cell.construct(*args, **kwargs) if library else self.frontend.call(cell.construct, args, kwargs)

    def _region(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any], pattern: Slots,
                reference: Callable[[], Cell | None], ordinal: int) -> Any:
        """Lower construct to a region: arguments and results get new names."""
        ruled = cell.bprop is not None
        library = self.is_library(type(cell).construct)
        if library:
            self.guards.of_cell(cell)
        self.guards.of_attribute(cell, "construct")
        self.guards.of_attribute(cell, "bprop")
        self.guards.of_attribute(cell, "_compute")
        self.guards.of_attribute(cell, "_result")
        loc, ends = self.loc, False
        given = _inputs(args, kwargs, ruled)
        operands = [self.atom(x) for x in given]
        params = self.params_like(operands)
        self.open()
        if not self.frontend.depth and len(self.chain) == 2 and not (ruled or pattern.forward or pattern.backward_pre or pattern.backward):
            self.outermost = self.builder
        try:
            inner = self._like(given, params)
            output, changed = None, False
            try:
                own_args, own_kwargs = _call_with(args, kwargs, inner, ruled)
                held = held_by(own_args, own_kwargs)
                output = self._constructed(cell, own_args, own_kwargs, library)
                changed = held_by(own_args, own_kwargs) != held
            except Unreachable:
                ends = True
            results = _outputs(output, ruled)
            written = [(x, own) for x, own, param in zip(given, inner, params, strict=True) if own.atom is not param]
            if any(sum(x is other for other in given) > 1 for x, _ in written):
                raise errors.UNSUPPORTED.at(loc, f"`{cell.title}` writes in place to an argument that it is given twice",
                                            help="give it a copy: `x.copy()`")
            yielded = [self.atom(x) for x in (*results, *(x for _, x in written))]
        finally:
            builder = self.close()
            self.cell_homes.add(id(builder))
        region = builder.finish(yielded, params)
        hooked = pattern.backward and not state.no_grad
        symbol = self._host(cell.title, _CellReference(reference), self._hooks_text(cell, "backward")) if hooked else ""
        if ruled and not ends and (written or changed):
            raise errors.UNSUPPORTED.at(loc, f"{type(cell).__name__} has a `bprop`, and writes its argument in place",
                                        help="let it write into a copy, `x = x.copy()`, and return that")
        rule = self._host(f"{cell.title}.bprop", _CellReference(reference), described(cell.bprop)) if ruled and not state.no_grad else ""
        self.loc = loc
        node = self.builder.emit_node(CellOp(cell.title, symbol, rule, len(written)), operands, regions=[region],
                                      hint=_last_part(cell.title), loc=loc)
        outside = self._like([*results, *(x for x, _ in written)], node.results)
        given_as = {id(own): x for x, own in zip(given, inner, strict=True)}
        for result, made in zip(results, outside, strict=False):
            self.frontend.aliases.may_be(made, given_as.get(id(result), result))
        for (x, _), value in zip(written, outside[len(results):], strict=True):
            x.overwrite(value)
        key = site_key(node)
        if key is not None:
            kept = None if isinstance(output, PerhapsNone) else output  # otherwise it would refer to tensors of the graph
            self.cell_sites[key] = CellSite(
                reference, _call_made(args, kwargs, given, ruled), _result_made(kept, results, ruled), pattern, ordinal, ruled,
                _numbers(given), _numbers(results),
                bool(written or leaves((args, kwargs, output), GraphNumber)) or (not ruled and is_nested(args, kwargs, output)),
                recorded=not state.no_grad)
        if ends:
            raise Unreachable
        return _result_with(output, outside[: len(results)], ruled)

    def _like(self, given: Sequence[Any], values: Sequence[Value]) -> list[Any]:
        """Return values of the graph as the kinds of objects in `given`: tensors and numbers."""
        kinds = [self.kind(x) for x in given]
        return [self.wrapped(kind, value) for kind, value in zip(kinds, values, strict=False) if kind is not None]


class _CellReference:
    """The host of a cell's symbol; it does not keep the cell alive."""

    def __init__(self, reference: Callable[[], Cell | None]):
        self._reference = reference

    @property
    def cell(self) -> Cell:
        return living(self._reference)


_Call = tuple[tuple[Any, ...], dict[str, Any]]


# -- the boundary of a cell: its tensors, and with a bprop also its run-time numbers ------------------------------------------------
_DYNAMIC = (Tensor, GraphNumber)
_TAKEN_OUT = constant(0.0, F32)
"""Placeholder for a value of the graph: the stored structure of a call does not refer to the graph that is being made."""


def _inputs(args: tuple[Any, ...], kwargs: dict[str, Any], ruled: bool) -> list[Any]:
    return leaves((args, kwargs), _DYNAMIC) if ruled else top_level(args)


def _call_with(args: tuple[Any, ...], kwargs: dict[str, Any], new: Sequence[Any], ruled: bool) -> _Call:
    return replaced((args, kwargs), new, _DYNAMIC) if ruled else (with_top_level(args, new), kwargs)


def _outputs(output: Any, ruled: bool) -> list[Any]:
    return leaves(output, _DYNAMIC) if ruled else top_level(output)


def _result_with(output: Any, new: Sequence[Any], ruled: bool) -> Any:
    return replaced(output, new, _DYNAMIC) if ruled else with_top_level(output, new)


def _call_made(args: tuple[Any, ...], kwargs: dict[str, Any], given: Sequence[Any], ruled: bool) -> Callable[[Sequence[Tensor]], _Call]:
    """Return the function that rebuilds the arguments of a call from the tensors that represent `given`."""
    args, kwargs = _call_with(args, kwargs, [_TAKEN_OUT] * len(given), ruled)
    categories = _categories(given)
    return lambda tensors: _call_with(args, kwargs, as_python(tensors, categories), ruled)


def _result_made(output: Any, results: Sequence[Any], ruled: bool) -> Callable[[Sequence[Tensor]], Any]:
    """Return the function that rebuilds a cell's output from the tensors that represent its `results`."""
    output, categories = _result_with(output, [_TAKEN_OUT] * len(results), ruled), _categories(results)
    return lambda tensors: _result_with(output, as_python(tensors, categories), ruled)


def _categories(values: Sequence[Any]) -> list[str]:
    return ["tensor" if isinstance(x, Tensor) else x.category for x in values]


def _numbers(values: Sequence[Any]) -> frozenset[int]:
    """Return the positions of run-time numbers."""
    return frozenset(i for i, x in enumerate(values) if not isinstance(x, Tensor))


def _last_part(title: str) -> str:
    """Return a name for a cell's result: `relu` for "block.relu", `layers_0` for "layers.0"."""
    around, _, last = title.rpartition(".")
    if last.isdigit():
        last = f"{around.rpartition('.')[2] or 'cell'}_{last}"
    return last.lower() if last.isidentifier() else "y"


def hooked_outline(value: Any) -> Any:
    """Return the outline of the result of forward hooks."""
    return outlined(value, tensor_slot)[0]


def observed(tensors: Sequence[Tensor]) -> Any:
    """Return the outline of the result of forward hooks that is plain tensors."""
    outline, _ = outlined(tensors[0] if len(tensors) == 1 else tuple(tensors), tensor_slot)
    return outline
