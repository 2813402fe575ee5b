"""Cells in a graph: a region for construct, and the hooks around it as nodes.

    a1 = apply! @relu.forward_pre(a)            forward pre hooks
    y0 = cell "relu" with @relu carry (x = a1) { .. }
    y1 = apply! @relu.forward(a1, y0)           forward hooks
    y = outputs @relu.pre(y1)                   where the backward pre hooks stand

What forward hooks return is assumed to be like what they are given.  If nothing can be made of that, the graph ends at the
hooks, and what they return decides how it goes on (`_asked`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from adjoint.diagnostics import Loc
from adjoint.frontend import errors
from adjoint.frontend.branches import Unreachable
from adjoint.frontend.world import Kind
from adjoint.ir.core import Host
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.host import Outputs
from adjoint.runtime.cell import Cell, _replaced, _tensors
from adjoint.runtime.emitting import tensor_slot
from adjoint.runtime.graph import CellSite, Slots, Unfitting, living, site_key
from adjoint.runtime.hooks import described
from adjoint.runtime.lowering_python import PythonObjects
from adjoint.runtime.outline import filled, outline_key, outlined, slots_of
from adjoint.runtime.precision import computing
from adjoint.runtime.structure import leaves
from adjoint.runtime.tensor import Tensor

__all__ = ["Cells", "hooked_outline", "observed"]


class Cells(PythonObjects):
    """Lowers calls of cells."""

    # -- cells --------------------------------------------------------------------------------------------------------------
    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.cell(cell, args, kwargs)

    def cell(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a cell: its hooks as nodes around a region of its own."""
        ordinal, self.calls = self.calls, self.calls + 1
        pattern = self.decisions.get((ordinal, "slots")) or Slots.of(cell)
        self.taken[ordinal, "slots"] = pattern
        self.guards.of_slots(cell)
        reference = weakref.ref(cell)
        loc = self.loc
        if pattern.forward_pre:

            def before(given: Any) -> Any:
                here = living(reference)
                return here._forward_pre(here._hooks, *given) if here._hooks is not None else given

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
                return here._forward(here._hooks, args_, kwargs_, output_) if here._hooks is not None else output_

            made = output
            output = self._forward_hooks((ordinal, "forward"), cell, (called, made), made, after)
            self._may_be(output, (called, made))
        if pattern.backward_pre:
            tensors = _tensors(output)
            if tensors:
                symbol = self._host(f"{cell.title}.pre", _CellReference(reference), self._hooks_text(cell, "backward_pre"))
                node = self.builder.emit_node(Outputs(symbol), [self.atom(x) for x in tensors], loc=self.loc)
                outside = self.tensors(node.results)
                for x, behind in zip(tensors, outside, strict=True):
                    self.frontend.aliases.may_be(behind, x)
                output = _replaced(output, outside)
        return output

    def _may_be(self, made: Any, given: Any) -> None:
        """What forward hooks made may be any of the tensors that they were given."""
        tensors = leaves(given, Tensor)
        for x in leaves(made, Tensor):
            self.frontend.aliases.may_be(x, *(t for t in tensors if t.type is x.type))

    @staticmethod
    def _hooks_text(cell: Cell, kind: str) -> str:
        assert cell._hooks is not None
        return ", ".join(described(hook.function) for hook in getattr(cell._hooks, kind).values())

    def _forward_hooks(self, site: Any, cell: Cell, given: Any, assumed: Any, run: Callable[[Any], Any]) -> Any:
        """Forward hooks as an `apply!`: `run(given)` when the graph runs, of which the result is assumed to be like `assumed`."""
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
        """Forward hooks of which nothing is known: the graph ends here, and what they give decides how it goes on."""

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
                return cell.construct(*args, **kwargs) if library else self.frontend.call(cell.construct, args, kwargs)
        return cell.construct(*args, **kwargs) if library else self.frontend.call(cell.construct, args, kwargs)

    def _region(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any], pattern: Slots,
                reference: Callable[[], Cell | None], ordinal: int) -> Any:
        """Construct as a region: arguments and results get names of their own."""
        library = self.is_library(type(cell).construct)
        if library:
            self.guards.of_cell(cell)
        self.guards.of_attribute(cell, "construct")
        self.guards.of_attribute(cell, "bprop")
        self.guards.of_attribute(cell, "_compute")
        loc, ends = self.loc, False
        tensors = [x for x in args if isinstance(x, Tensor)]
        operands = [self.atom(x) for x in tensors]
        params = self.params_like(operands)
        self.open()
        try:
            inner = self.tensors(params)
            inside = iter(inner)
            own = tuple(next(inside) if isinstance(x, Tensor) else x for x in args)
            output = None
            try:
                output = self._constructed(cell, own, kwargs, library)
            except Unreachable:
                ends = True
            results = _tensors(output)
            written = [(given, x) for given, x, param in zip(tensors, inner, params, strict=True) if x.atom is not param]
            if any(sum(given is other for other in tensors) > 1 for given, _ in written):
                raise errors.UNSUPPORTED.at(loc, f"`{cell.title}` writes in place to an argument that it is given twice",
                                            help="give it a copy: `x.copy()`")
            yielded = [self.atom(x) for x in (*results, *(x for _, x in written))]
        finally:
            builder = self.close()
            self.cell_homes.add(id(builder))
        region = builder.finish(yielded, params)
        symbol = self._host(cell.title, _CellReference(reference), self._hooks_text(cell, "backward")) if pattern.backward else ""
        if cell.bprop is not None and not ends:
            _check_ruled(cell, loc, (args, kwargs, output), bool(written))
        rule = self._host(f"{cell.title}.bprop", _CellReference(reference), described(cell.bprop)) if cell.bprop is not None else ""
        self.loc = loc
        node = self.builder.emit_node(CellOp(cell.title, symbol, rule, len(written)), operands, regions=[region],
                                      hint=_last_part(cell.title), loc=loc)
        outside = self.tensors(node.results)
        given_as = {id(x): given for given, x in zip(tensors, inner, strict=True)}
        for result, made in zip(results, outside, strict=False):
            self.frontend.aliases.may_be(made, given_as.get(id(result), result))
        for (given, _), value in zip(written, outside[len(results):], strict=True):
            given.overwrite(value)
        key = site_key(node)
        if key is not None:
            self.cell_sites[key] = CellSite(
                reference, _rebuilt(args, kwargs), _rebuilt_output(output), pattern, ordinal,
                bool(written) or _is_nested((args, kwargs, output)))
        if ends:
            raise Unreachable
        return _replaced(output, outside[: len(results)])


class _CellReference:
    """What a host symbol of a cell stands for; the graph does not keep the cell alive."""

    def __init__(self, reference: Callable[[], Cell | None]):
        self._reference = reference

    @property
    def cell(self) -> Cell:
        return living(self._reference)


_Call = tuple[tuple[Any, ...], dict[str, Any]]


def _rebuilt(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Sequence[Tensor]], _Call]:
    """How a cell's call is built of its positional tensors."""
    places = [isinstance(x, Tensor) for x in args]
    rest = [None if is_tensor else x for x, is_tensor in zip(args, places, strict=True)]
    others = dict(kwargs)

    def arguments(tensors: Sequence[Tensor]) -> _Call:
        left = iter(tensors)
        return tuple(next(left) if is_tensor else x for x, is_tensor in zip(rest, places, strict=True)), others

    return arguments


def _is_nested(call: tuple[tuple[Any, ...], dict[str, Any], Any]) -> bool:
    """Whether a call has tensors that are neither positional arguments nor at the top level of its result."""
    args, kwargs, output = call
    own = sum(isinstance(x, Tensor) for x in args) + len(_tensors(output))
    return len(leaves((args, kwargs, output), Tensor)) > own


def _check_ruled(cell: Cell, loc: Loc, call: tuple[tuple[Any, ...], dict[str, Any], Any], writes: bool) -> None:
    """CompileError when a `bprop` cannot have the gradients of all that goes into a cell and comes out of it."""
    if _is_nested(call):
        raise errors.UNSUPPORTED.at(loc, f"{type(cell).__name__} has a `bprop`, and tensors stand inside of its arguments or result",
                                    help="give each tensor as an argument of its own, and return a tuple of tensors")
    if writes:
        raise errors.UNSUPPORTED.at(loc, f"{type(cell).__name__} has a `bprop`, and writes its argument in place",
                                    help="let it write into a copy, `x = x.copy()`, and return that")


def _rebuilt_output(output: Any) -> Callable[[Sequence[Tensor]], Any]:
    def rebuilt(tensors: Sequence[Tensor]) -> Any:
        return _replaced(output, tensors)

    return rebuilt


def _last_part(title: str) -> str:
    """A name for what a cell gives: `relu` for "block.relu", `layers_0` for "layers.0"."""
    around, _, last = title.rpartition(".")
    if last.isdigit():
        last = f"{around.rpartition('.')[2] or 'cell'}_{last}"
    return last.lower() if last.isidentifier() else "y"


def hooked_outline(value: Any) -> Any:
    """The outline of what forward hooks gave."""
    return outlined(value, tensor_slot)[0]


def observed(tensors: Sequence[Tensor]) -> Any:
    """The outline of what forward hooks gave, when it is plain tensors."""
    outline, _ = outlined(tensors[0] if len(tensors) == 1 else tuple(tensors), tensor_slot)
    return outline
