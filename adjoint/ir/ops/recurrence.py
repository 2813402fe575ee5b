"""Recurrent layers over whole sequences, each one kernel: all steps, and all steps of the gradient.

    x_p = inputs[p]         what the step at place p takes of the sequence: the products for all steps, computed before
    y_p = weight h_{p-1}    what it takes of the state: a product of few rows, with a weight that is copied once into the order it is read

`formulas.py` has the steps themselves.  Steps go up from place 0, or down from the last place with `reverse`.  A sequence with a length
below the number of steps rests at the places behind it: its state stays as it is.  Threads share the sequences, so no step waits for
another thread.

    d_p            the gradient of inputs[p], which is computed for the last step first
    y_p' = d_p     but for the last gate of a GRU, where y is multiplied
    h_{p-1}'       ct[p-1] + weight^T y_p' + what passes the product by
    weight'        the sum of y_p' h_{p-1}^T: one product over the whole sequence, an op of its own

A forward op returns the gates too, of which its gradient is computed without computing them again.  The gradient of a gradient, which few
programs take, is that of its composition of other ops, step by step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, Sample, family, mistake, mistyped, operation, sample
from adjoint.ir.ops.batching import for_all, merged, moved, split
from adjoint.ir.ops.linalg import DEPTH, PRODUCTS_PER_THREAD, SHARE, UNIT_ROWS
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD
from adjoint.ir.ops.recurrent import vjp_of_parts
from adjoint.ir.ops.recurrent_formulas import GRU, LSTM, RELU, TANH, AtomTerm, Formulas, InC, InNodes, InNumPy
from adjoint.ir.ops.recurrent_weight import RecurrentWeightGradient
from adjoint.ir.types import F32, I64, Dim, DType, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any
Cotangents = Sequence["Atom | None"]

__all__ = ["GruSteps", "GruStepsGradient", "LstmSteps", "LstmStepsGradient", "RnnSteps", "RnnStepsGradient"]


def _type_of(name: str, formulas: Formulas, dtype: DType, steps: Any, rows: Any, width: int) -> TensorType:
    """Return the type of an operand or result with this name."""
    match name:
        case "inputs" | "inputs_out":
            return tensor(dtype, (steps, rows, formulas.gates * width))
        case "weight":
            return tensor(dtype, (formulas.gates * width, width))
        case "bias":
            return tensor(dtype, (formulas.gates * width,))
        case "lengths":
            return tensor(I64, (rows,))
        case "gates":
            return tensor(dtype, (steps, rows, formulas.kept * width))
        case "states" | "cells" | "ct" | "last_out":
            return tensor(dtype, (steps, rows, width))
        case _:
            return tensor(dtype, (rows, width))


@family
class _Steps(Op):
    """Operands and results by their names, and the types that they have: s steps of n sequences, with states of w elements."""

    reverse: bool = False
    variadic = True
    names: ClassVar[tuple[str, ...]]
    """Names of the operands; the first one is of a float type and of rank 3, the last one, `lengths`, may be left out."""
    outputs: ClassVar[tuple[str, ...]]
    """Names of the results."""
    kind: ClassVar[Formulas]
    """The formulas of a step."""

    @property
    def formulas(self) -> Formulas:
        return self.kind

    def infer(self, *operands: Any) -> tuple[Type, ...]:
        first, parts = operands[0], self.formulas.gates if self.names[0] == "inputs" else 1
        if not isinstance(first, TensorType) or not first.dtype.is_float:
            raise mistake(self, self.names[0], "a tensor of floating point numbers", first, TypeError)
        wide = first.shape[2] if first.rank == 3 else None
        if not isinstance(wide, int) or wide % parts or first.shape[0] == 0:
            raise mistake(self, self.names[0], f"of shape [s, n, {f'{parts} * ' if parts > 1 else ''}h] with at least one step", first)
        steps, rows = first.shape[:2]
        if not 0 <= len(self.names) - len(operands) <= 1:
            raise mistake(self, "operands", f"{', '.join(self.names[:-1])} and perhaps {self.names[-1]}", f"{len(operands)} operands")
        for name, operand in zip(self.names, operands, strict=False):
            expected = _type_of(name, self.formulas, first.dtype, steps, rows, wide // parts)
            if operand is not expected:
                raise mistyped(self, name, expected, operand)
        return tuple(_type_of(name, self.formulas, first.dtype, steps, rows, wide // parts) for name in self.outputs)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        """The sequences of all examples are those of one batch, if they share the weights."""
        shared = {name: x for name, x, is_mapped in zip(self.names, operands, mapped, strict=False) if name in ("weight", "bias")
                  and not is_mapped}
        if len(shared) != sum(name in ("weight", "bias") for name in self.names):
            return None
        whole = [x if name in shared else _in_rows(b, *for_all(b, [x], [is_mapped], size))
                 for name, x, is_mapped in zip(self.names, operands, mapped, strict=False)]
        return [_of_examples(b, x, size, tensor_type(one)) for x, one in zip(b.emit_node(self, whole).results, node.results, strict=True)]

    def named(self, operands: Sequence[Any], results: Sequence[Any] = ()) -> dict[str, Any]:
        """Return operands and results by their names."""
        return dict(zip(self.names, operands, strict=False)) | dict(zip(self.outputs, results, strict=False))

    def places(self, steps: int) -> list[int]:
        """Return the places of the steps, in their order."""
        return list(range(steps))[:: -1 if self.reverse else 1]

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterator[tuple[Op, tuple[Type, ...]]]:
        if dtype.is_float:
            made = cls()
            yield made, tuple(_type_of(name, made.formulas, dtype, 3, 5, 8) for name in cls.names[:-1])


def _in_rows(b: Builder, x: Atom) -> Atom:
    """Return a tensor of all examples, [e, n], [e, n, h] or [e, s, n, h], with the rows of all as the rows of one."""
    at = tensor_type(x).rank == 4
    return merged(b, moved(b, x, 0, 1) if at else x, int(at))


def _of_examples(b: Builder, x: Atom, size: Dim, one: TensorType) -> Atom:
    """Do the reverse: `one` is the type of one example."""
    if one.rank < 3:
        return split(b, x, size, one)
    return moved(b, b.reshape(x, to=one.with_shape((one.shape[0], size, *one.shape[1:]))), 1, 0)


def _samples(names: tuple[str, ...], formulas: Formulas, **attributes: Any) -> tuple[Sample, ...]:
    """Return samples of operands with these names: several lengths, one of 0, no lengths, one step, no sequence."""
    found = []
    for steps, rows, width, lengths in ((3, 2, 3, (3, 1)), (3, 2, 3, (2, 0)), (4, 3, 5, None), (1, 5, 17, None), (2, 0, 2, ())):
        own = names if lengths is not None else names[:-1]
        types = [_type_of(name, formulas, F32, steps, rows, width) for name in own]
        domain = [(0.1, 0.9) if name in ("gates", "states") else (-1.5, 1.5) for name in own]
        values = {} if lengths is None else {len(own) - 1: lengths}
        found.append(sample(*types, domain=domain, values=values, reverse=len(found) % 2 == 1, **attributes))
    return tuple(found)


class _Products:
    """The products of a kernel: rows of a matrix [rows, depth] with the weight, [w, depth] transposed or [depth, w].

    The weight is copied once, by stages that begin the kernel.
    """

    def __init__(self, k: Kernel, weight: Buffer, rows: int, steps: int, *, transposed: bool):
        self.k, self.dtype = k, weight.dtype.compute
        columns, depth = weight.shape if transposed else weight.shape[::-1]
        self.plain = k.takes_plain_form(steps * rows * columns * depth)
        self.rows, self.columns, self.depth, self.transposed = (
            k.size(value, name) for value, name in ((rows, "n"), (columns, "m"), (depth, "k"), (int(transposed), "transpose_b")))
        self.units = -(-rows // UNIT_ROWS)
        self.grain = max(1, PRODUCTS_PER_THREAD * self.units // max(1, steps * rows * columns * depth))
        if self.dtype is not weight.dtype:
            wide = k.scratch(self.dtype, weight.count, "wide_weight")
            with k.stage(weight.count, ELEMENTS_PER_THREAD) as i:
                k.store(wide, i, weight[i])
            weight = wide
        self.weight = weight
        if not self.plain:
            blocks, shares = -(-depth // DEPTH), -(-columns // SHARE)
            self.weight = k.scratch(self.dtype, depth * shares * SHARE, "panels")
            with k.stage_range(blocks * shares, 1) as (begin, end):
                k.run(f"adjoint_matmul_panels_{self.dtype.name}", weight, self.weight, self.columns, self.depth, self.transposed,
                      begin, end)

    @contextmanager
    def stage(self) -> Iterator[tuple[Expr, Expr]]:
        """Open the stage that does all steps for some rows; yield the first row and the one behind the last."""
        k = self.k
        with k.stage_range(self.units, self.grain) as (begin, end):
            self.begin, self.end = begin, end
            yield k.let(begin * UNIT_ROWS, "first"), k.let(k.minimum_of(end * UNIT_ROWS, self.rows), "last")

    def product(self, a: Expr, out: Expr, first: Expr, last: Expr) -> None:
        """Append the product of the stage's rows of `a`, written to the same rows of `out`."""
        k, dtype = self.k, self.dtype.name
        if self.plain:
            k.run(f"adjoint_plain_product_{dtype}", a, self.weight, out, self.rows, self.columns, self.depth, 0, self.transposed,
                  first, last)
        else:
            k.run(f"adjoint_matmul_shared_{dtype}", a, self.weight, out, self.rows, self.columns, self.depth, 0, UNIT_ROWS,
                  self.begin, self.end)


class _Forward(_Steps):
    """All steps of a layer: for names, types and formulas see its subclasses."""

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        at = self.named(operands)
        inputs, formulas, width = at["inputs"], self.formulas, at["weight"].shape[1]
        held = tuple(at[name] for name in formulas.carries)
        series = [np.zeros((*inputs.shape[:2], width), inputs.dtype) for _ in held]
        gates = np.zeros((*inputs.shape[:2], formulas.kept * width), inputs.dtype)
        for p in self.places(len(inputs)):
            given = {"x": inputs[p], "y": held[0] @ at["weight"].T}
            given[formulas.biased] = given[formulas.biased] + at["bias"]
            parts = (np.split(x, formulas.gates, axis=1) for x in given.values())
            new, kept = formulas.step(InNumPy(), *parts, *held)
            there = (p < at["lengths"])[:, None] if "lengths" in at else True
            held = tuple(np.where(there, a, b).astype(inputs.dtype) for a, b in zip(new, held, strict=True))
            for x, part in zip(series, held, strict=True):
                x[p] = part
            if kept:
                gates[p] = np.where(there, np.concatenate(kept, axis=1), 0)
        return self.results_of(series, held, gates)

    def results_of(self, series: Sequence[Any], last: Sequence[Any], gates: Any) -> tuple[Any, ...]:
        """Return the results in their order.

        series  the parts of the state after each step; `last` are those after the last one
        """
        found: dict[str, Any] = dict(zip(("states", "cells"), series, strict=False))
        found |= {"gates": gates, **dict(zip(("h_out", "c_out"), last, strict=False))}
        return tuple(found[name] for name in self.outputs)

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        at = self.named(buffers[: -len(self.outputs)], buffers[-len(self.outputs) :])
        formulas, inputs, lengths = self.formulas, at["inputs"], at.get("lengths")
        steps, rows, wide = inputs.shape
        products = _Products(k, at["weight"], rows, steps, transposed=True)
        width = at["weight"].shape[1]
        now = [k.scratch(products.dtype, rows * width, f"{name}_now") for name in formulas.carries]
        carried = k.scratch(products.dtype, rows * wide, "carried")
        series = [at[name] for name in ("states", "cells")[: len(now)]]
        s, h = k.size(steps, "s"), k.size(width, "h")
        with products.stage() as (first, last):
            with k.loop(first * h, last * h, "e") as e:
                for held, name in zip(now, formulas.carries, strict=True):
                    k.store(held, e, at[name][e])
            with k.loop(0, s, "step") as step:
                place = k.let(s - 1 - step, "place") if self.reverse else step
                products.product(now[0].at(0), carried.at(0), first, last)
                with k.loop(first, last, "row") as row:
                    start, there = k.let(row * h, "start"), k.let((place * products.rows + row) * h, "there")
                    with k.block() if lengths is None else k.when(k.less(place, lengths[row])), k.loop(0, h, "j") as j:
                        x = [inputs[there * formulas.gates + h * gate + j] for gate in range(formulas.gates)]
                        y = [carried[start * formulas.gates + h * gate + j] for gate in range(formulas.gates)]
                        bias = [at["bias"][h * gate + j] for gate in range(formulas.gates)]
                        x, y = ([a + b for a, b in zip(part, bias, strict=True)] if own == formulas.biased else part
                                for own, part in (("x", x), ("y", y)))
                        new, kept = formulas.step(InC(k), x, y, *(held[start + j] for held in now))
                        for gate, value in enumerate(kept):
                            k.store(at["gates"], there * formulas.kept + h * gate + j, value)
                        for held, out, value in zip(now, series, [k.let(x, "new") for x in new], strict=True):
                            k.store(out, there + j, value)
                            k.store(held, start + j, value if out.dtype is held.dtype else out[there + j])
                    if lengths is not None:
                        with k.otherwise():
                            with k.loop(0, h * formulas.kept, "j") as j:
                                for out in (at["gates"],) if formulas.kept else ():
                                    k.store(out, there * formulas.kept + j, 0)
                            with k.loop(0, h, "j") as j:
                                for held, out in zip(now, series, strict=True):
                                    k.store(out, there + j, held[start + j])
            with k.loop(first * h, last * h, "e") as e:
                for held, name in zip(now, ("h_out", "c_out"), strict=False):
                    k.store(at[name], e, held[e])

    def nodes(self, b: Builder, *operands: Atom) -> tuple[Atom, ...]:
        """Return the results expressed by other ops."""
        at = self.named(operands)
        formulas = self.formulas
        inputs = _unstacked(b, at["inputs"])
        held: Sequence[Atom] = [at[name] for name in formulas.carries]
        series: list[list[Atom]] = [[None] * len(inputs) for _ in held]  # pyright: ignore[reportAssignmentType] - all are set below
        gates: list[Any] = [None] * len(inputs)
        for p in self.places(len(inputs)):
            given = {"x": inputs[p], "y": b.matmul(held[0], at["weight"], ta=False, tb=True)}
            given[formulas.biased] = b.add(given[formulas.biased], at["bias"])
            parts = (_terms(b, x, formulas.gates) for x in given.values())
            new, kept = formulas.step(InNodes(), *parts, *(AtomTerm(b, x) for x in held))
            held = [_where_there(b, at, p, term.atom, before) for term, before in zip(new, held, strict=True)]
            for x, part in zip(series, held, strict=True):
                x[p] = part
            if kept:
                joined = b.concat(*(term.atom for term in kept), axis=1)
                gates[p] = _where_there(b, at, p, joined, b.constant(0.0, tensor_type(joined).dtype))
        return self.results_of([_stacked(b, x) for x in series], held, _stacked(b, gates) if formulas.kept else None)

    def gradient(self, b: Builder, at: dict[str, Atom], given: dict[str, Atom]) -> dict[str, Atom]:
        """Emit the gradient op; return its results by name.

        at     operands and results
        given  the cotangents ct, ct_h and, of an LSTM, ct_c
        """
        raise NotImplementedError

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        known = 1 + len(self.formulas.carries)
        if any(ct is not None for ct in cotangents[known:]):
            return vjp_of_parts(b, self.nodes, node.operands, cotangents)
        at = self.named(node.operands, node.results)
        given = {name: b.zeros(tensor_type(result)) if ct is None else ct
                 for name, result, ct in zip(("ct", "ct_h", "ct_c"), node.results[:known], cotangents, strict=False)}
        found = self.gradient(b, at, given)
        carried = found["inputs_out"]
        last = (found["last_out"],) if "last_out" in found else ()
        by = {"inputs": carried, "h": found["h_out"], "c": found.get("c_out"),
              "weight": b.emit(RecurrentWeightGradient(self.reverse), carried, at["h"], at["states"], *last)}
        sums = [b.sum(x, axes=(0, 1), keepdims=False) for x in (carried, *last)]
        if last:
            whole, part = (tensor_type(x).sizes[0] for x in sums)
            sums[0] = b.concat(b.slice(sums[0], start=(0,), stop=(whole - part,), step=(1,)), sums[1], axis=0)
        by["bias"] = sums[0]
        return [by.get(name) for name in self.names[: len(node.operands)]]


class _Backward(_Steps):
    """The gradient of all steps, the last one first."""

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        at = self.named(operands)
        formulas, (steps, n, width), dtype = self.formulas, at["ct"].shape, at["ct"].dtype
        by_x, by_y = (np.zeros((steps, n, formulas.gates * width), dtype) for _ in range(2))
        by_h: Array = at["ct_h"]
        by_c: Array = at.get("ct_c")
        places = self.places(steps)
        for position, p in reversed(list(enumerate(places))):
            there = (p < at["lengths"])[:, None] if "lengths" in at else True
            before, after = self.around(at, p, places[position - 1] if position else None)
            kept = np.split(at["gates"][p], formulas.kept, axis=1) if formulas.kept else ()
            ct = at["ct"][p] + by_h
            x, y, direct, more = formulas.back(InNumPy(), ct, by_c, kept, before, after)
            by_x[p], by_y[p] = (np.where(there, np.concatenate(part, axis=1), 0) for part in (x, y))
            by_h = (by_y[p] @ at["weight"] + np.where(there, 0 if direct is None else direct, ct)).astype(dtype)
            by_c = None if more is None else np.where(there, more, by_c).astype(dtype)
        return self.results_of(by_x, by_y[:, :, -width:], by_h, by_c)

    def around(self, at: dict[str, Any], place: int, previous: int | None) -> tuple[Any, Any]:
        """Return the parts of the state that the formulas read, before and after the step at `place`; None for one that they do not."""
        formulas: Formulas = self.formulas
        series: Any = at.get("cells", at.get("states"))
        before = None if not formulas.before else at[formulas.before] if previous is None else series[previous]
        return before, series[place] if formulas.after else None

    def results_of(self, by_x: Any, last: Any, by_h: Any, by_c: Any) -> tuple[Any, ...]:
        """Return the results in their order.

        by_x  the cotangents of the inputs
        last  those of the products with the state, for the last gate; for the others they are those of the inputs
        """
        found = {"inputs_out": by_x, "last_out": last, "h_out": by_h, "c_out": by_c}
        return tuple(found[name] for name in self.outputs)

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        at = self.named(buffers[: -len(self.outputs)], buffers[-len(self.outputs) :])
        formulas, lengths, by_x = self.formulas, at.get("lengths"), at["inputs_out"]
        last_out, series = at.get("last_out"), at.get("cells", at.get("states"))
        assert series is not None
        steps, rows, width = at["ct"].shape
        products = _Products(k, at["weight"], rows, steps, transposed=False)
        dtype, wide = products.dtype, formulas.gates * width
        through, direct = (k.scratch(dtype, rows * width, name) for name in ("through", "direct"))
        before = k.scratch(dtype, rows * width, "before") if formulas.before else None
        by_c = k.scratch(dtype, rows * width, "by_c") if "ct_c" in at else None
        by_y = k.scratch(dtype, rows * wide, "by_y") if last_out is not None or by_x.dtype is not dtype else None
        s, h = k.size(steps, "s"), k.size(width, "h")
        with products.stage() as (first, last):
            with k.loop(first * h, last * h, "e") as e:
                k.store(through, e, at["ct_h"][e])
                k.store(direct, e, 0)
                if by_c is not None:
                    k.store(by_c, e, at["ct_c"][e])
            with k.loop(0, s, "step") as step:
                place = step if self.reverse else k.let(s - 1 - step, "place")
                with k.loop(first, last, "row") as row:
                    start, there = k.let(row * h, "start"), k.let((place * products.rows + row) * h, "there")
                    with k.block() if lengths is None else k.when(k.less(place, lengths[row])):
                        if before is not None:
                            self.copy_before(k, at[formulas.before], series, before, start, there, step, s, h, products.rows)
                        with k.loop(0, h, "j") as j:
                            ct = k.let(at["ct"][there + j] + (through[start + j] + direct[start + j]), "ct_now")
                            x, y, passed, more = formulas.back(
                                InC(k), ct, None if by_c is None else by_c[start + j],
                                [k.let(at["gates"][there * formulas.kept + h * gate + j], "gate") for gate in range(formulas.kept)],
                                None if before is None else before[start + j],
                                k.let(series[there + j], "after") if formulas.after else None)
                            for gate, value in enumerate(x):
                                k.store(by_x, there * formulas.gates + h * gate + j, value)
                            if last_out is not None:
                                k.store(last_out, there + j, y[-1])
                            if by_y is not None:
                                for gate, value in enumerate(y):
                                    k.store(by_y, start * formulas.gates + h * gate + j, value)
                            k.store(direct, start + j, 0 if passed is None else passed)
                            if by_c is not None:
                                k.store(by_c, start + j, more)
                    if lengths is not None:
                        with k.otherwise():
                            self.rest(k, at, by_y, through, direct, start, there, h)
                source = by_x.at(place * products.rows * h * formulas.gates) if by_y is None else by_y.at(0)
                products.product(source, through.at(0), first, last)
            with k.loop(first * h, last * h, "e") as e:
                k.store(at["h_out"], e, through[e] + direct[e])
                if by_c is not None:
                    k.store(at["c_out"], e, by_c[e])

    def rest(
        self, k: Kernel, at: dict[str, Buffer], by_y: Buffer | None, through: Buffer, direct: Buffer, start: Expr, there: Expr, h: Expr
    ) -> None:
        """Append what is done for a sequence that has no step at a place: the cotangent of h passes by."""
        gates = self.formulas.gates
        with k.loop(0, h, "j") as j:
            k.store(direct, start + j, at["ct"][there + j] + (through[start + j] + direct[start + j]))
            if "last_out" in at:
                k.store(at["last_out"], there + j, 0)
        with k.loop(0, h * gates, "j") as j:
            k.store(at["inputs_out"], there * gates + j, 0)
            if by_y is not None:
                k.store(by_y, start * gates + j, 0)

    def copy_before(
        self, k: Kernel, begin: Buffer, series: Buffer, before: Buffer, start: Expr, there: Expr, step: Expr, s: Expr, h: Expr, n: Expr
    ) -> None:
        """Append a copy of a row of the state before the step, which is an operand or the state after another step, to `before`."""
        with k.when(k.less(step, s - 1)):
            other = k.let(there + n * h if self.reverse else there - n * h, "other")
            with k.loop(0, h, "j") as j:
                k.store(before, start + j, series[other + j])
        with k.otherwise(), k.loop(0, h, "j") as j:
            k.store(before, start + j, begin[start + j])

    def nodes(self, b: Builder, *operands: Atom) -> tuple[Atom, ...]:
        """Return the results expressed by other ops."""
        at = self.named(operands)
        formulas, dtype = self.formulas, tensor_type(operands[0]).dtype
        around = {name: _unstacked(b, x) if name in ("states", "cells") else x for name, x in at.items()}
        cts, gates = _unstacked(b, at["ct"]), _unstacked(b, at["gates"]) if formulas.kept else []
        by_x: list[Any] = [None] * len(cts)
        by_y, by_h, by_c, zero = [*by_x], at["ct_h"], at.get("ct_c"), b.constant(0.0, dtype)
        places = self.places(len(cts))
        for position, p in reversed(list(enumerate(places))):
            before, after = (x and AtomTerm(b, x) for x in self.around(around, p, places[position - 1] if position else None))
            ct = AtomTerm(b, b.add(cts[p], by_h))
            kept = _terms(b, gates[p], formulas.kept) if formulas.kept else ()
            x, y, direct, more = formulas.back(InNodes(), ct, by_c and AtomTerm(b, by_c), kept, before, after)
            by_x[p], by_y[p] = (_where_there(b, at, p, b.concat(*(term.atom for term in part), axis=1), zero) for part in (x, y))
            through = b.matmul(by_y[p], at["weight"], ta=False, tb=False)
            by_h = b.add(through, _where_there(b, at, p, direct.atom if direct else b.zeros(tensor_type(through)), ct.atom))
            if by_c is not None:
                by_c = _where_there(b, at, p, more.atom, by_c)
        last = [_part(b, x, formulas.gates - 1, formulas.gates) for x in by_y] if "last_out" in self.outputs else []
        return self.results_of(_stacked(b, by_x), _stacked(b, last) if last else None, by_h, by_c)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        return vjp_of_parts(b, self.nodes, node.operands, cotangents)


def _unstacked(b: Builder, x: Atom) -> list[Atom]:
    """Return the slices of a tensor of rank 3 along axis 0, without it.

    The tensor is halved repeatedly: the gradient of a slice is as large as the tensor it was taken from, so that taking all slices from the
    whole would cost quadratic time.
    """
    steps, *rest = tensor_type(x).sizes
    if steps == 1:
        return [b.reshape(x, to=tensor_type(x).with_shape(tuple(rest)))]
    cuts = (0, steps // 2), (steps // 2, steps)
    return [part for begin, end in cuts for part in _unstacked(
        b, b.slice(x, start=(begin, 0, 0), stop=(end, *rest), step=(1, 1, 1)))]


_TOGETHER = 16
"""Number of tensors that are joined at once: each number of them has its own kernel."""


def _stacked(b: Builder, steps: Sequence[Atom]) -> Atom:
    """Return tensors of one type stacked along a new axis 0."""
    held = [b.reshape(x, to=tensor_type(x).with_shape((1, *tensor_type(x).shape))) for x in steps]
    while len(held) > 1:
        held = [b.concat(*held[at : at + _TOGETHER], axis=0) if len(held) > at + 1 else held[at] for at in range(0, len(held), _TOGETHER)]
    return held[0]


def _terms(b: Builder, x: Atom, count: int) -> list[AtomTerm]:
    """Return the gates in a tensor [n, count * h], each [n, h]."""
    return [AtomTerm(b, _part(b, x, gate, count)) for gate in range(count)]


def _part(b: Builder, x: Atom, gate: int, count: int) -> Atom:
    rows, width = tensor_type(x).sizes
    each = width // count
    return b.slice(x, start=(0, each * gate), stop=(rows, each * gate + each), step=(1, 1))


def _where_there(b: Builder, at: dict[str, Atom], place: int, x: Atom, y: Atom) -> Atom:
    """Return x for the sequences that have a step at this place, y for the others."""
    if "lengths" not in at:
        return x
    lengths = at["lengths"]
    wide = b.reshape(lengths, to=tensor_type(lengths).with_shape((*tensor_type(lengths).shape, 1)))
    return b.select(b.less(b.constant(place, I64), wide), x, y)


def _lengths(at: dict[str, Atom]) -> tuple[Atom, ...]:
    return (at["lengths"],) if "lengths" in at else ()


@operation
class LstmSteps(_Forward):
    """All steps of one direction of an LSTM layer.

    operands inputs   T[s, n, 4 * h], T a floating point type, s at least 1: the products with the sequence, for the gates i, f, g, o
             weight   T[4 * h, h], which is multiplied by the state
             bias     T[4 * h], added to the inputs
             h, c     T[n, h], the state before the first step
             lengths  I64[n]: a sequence has steps at the places below its length; left out, it has all
    result   states   T[s, n, h], h after each step, or where there is none, as it was
             h', c'   T[n, h], the last state
             cells    T[s, n, h], c after each step
             gates    T[s, n, 4 * h], i, f, g, o of each step; 0 where there is none
    gradient lstm_steps_gradient and recurrent_weight_gradient; unfused if the last two results have a cotangent
    errors   TypeError: inputs not floating point; ValueError: types that do not fit, no step
    """

    pack = "lstm"
    kind = LSTM
    names = ("inputs", "weight", "bias", "h", "c", "lengths")
    outputs = ("states", "h_out", "c_out", "cells", "gates")
    samples = _samples(names, LSTM)

    def gradient(self, b: Builder, at: dict[str, Atom], given: dict[str, Atom]) -> dict[str, Atom]:
        found = b.emit(LstmStepsGradient(self.reverse), given["ct"], given["ct_h"], given["ct_c"], at["weight"], at["c"], at["cells"],
                       at["gates"], *_lengths(at))
        return dict(zip(LstmStepsGradient.outputs, found, strict=True))


@operation
class LstmStepsGradient(_Backward):
    """The gradient of lstm_steps, but for that of the weight.

    operands ct          T[s, n, h], the cotangent of states
             ct_h, ct_c  T[n, h], those of the last state
             weight, c, cells, gates, lengths: operands and results of lstm_steps
    result   inputs'     T[s, n, 4 * h]
             h', c'      T[n, h]
    gradient unfused: of the results as functions of all operands
    errors   as lstm_steps
    """

    pack = "lstm"
    kind = LSTM
    names = ("ct", "ct_h", "ct_c", "weight", "c", "cells", "gates", "lengths")
    outputs = ("inputs_out", "h_out", "c_out")
    samples = _samples(names, LSTM)


@operation
class GruSteps(_Forward):
    """All steps of one direction of a GRU layer.

    operands inputs   T[s, n, 3 * h], T a floating point type, s at least 1: the products with the sequence, for the gates r, z, n
             weight   T[3 * h, h], which is multiplied by the state
             bias     T[3 * h], added to that product
             h        T[n, h], the state before the first step
             lengths  I64[n]: a sequence has steps at the places below its length; left out, it has all
    result   states   T[s, n, h], h after each step, or where there is none, as it was
             h'       T[n, h], the last state
             gates    T[s, n, 4 * h], r, z, n and the last third of the product of each step; 0 where there is none
    gradient gru_steps_gradient and recurrent_weight_gradient; unfused if the last result has a cotangent
    errors   TypeError: inputs not floating point; ValueError: types that do not fit, no step
    """

    pack = "gru"
    kind = GRU
    names = ("inputs", "weight", "bias", "h", "lengths")
    outputs = ("states", "h_out", "gates")
    samples = _samples(names, GRU)

    def gradient(self, b: Builder, at: dict[str, Atom], given: dict[str, Atom]) -> dict[str, Atom]:
        found = b.emit(GruStepsGradient(self.reverse), given["ct"], given["ct_h"], at["weight"], at["h"], at["states"], at["gates"],
                       *_lengths(at))
        return dict(zip(GruStepsGradient.outputs, found, strict=True))


@operation
class GruStepsGradient(_Backward):
    """The gradient of gru_steps, but for those of the weight and of the bias.

    operands ct        T[s, n, h], the cotangent of states
             ct_h      T[n, h], that of the last state
             weight, h, states, gates, lengths: operands and results of gru_steps
    result   inputs'   T[s, n, 3 * h]
             last'     T[s, n, h], of the last third of the product with the state; for the others it is as for the inputs
             h'        T[n, h]
    gradient unfused: of the results as functions of all operands
    errors   as gru_steps
    """

    pack = "gru"
    kind = GRU
    names = ("ct", "ct_h", "weight", "h", "states", "gates", "lengths")
    outputs = ("inputs_out", "last_out", "h_out")
    samples = _samples(names, GRU)


@operation
class RnnSteps(_Forward):
    """All steps of one direction of an RNN layer: h' = tanh(inputs[p] + bias + weight h), or relu in place of tanh.

    operands inputs   T[s, n, h], T a floating point type, s at least 1: the products with the sequence
             weight   T[h, h], which is multiplied by the state
             bias     T[h], added to the inputs
             h        T[n, h], the state before the first step
             lengths  I64[n]: a sequence has steps at the places below its length; left out, it has all
    result   states   T[s, n, h], h after each step, or where there is none, as it was
             h'       T[n, h], the last state
    gradient rnn_steps_gradient and recurrent_weight_gradient
    errors   TypeError: inputs not floating point; ValueError: types that do not fit, no step
    """

    relu: bool = False
    pack = "rnn"
    names = ("inputs", "weight", "bias", "h", "lengths")
    outputs = ("states", "h_out")
    samples = (*_samples(names, TANH), *_samples(names, RELU, relu=True))

    @property
    def formulas(self) -> Formulas:
        return RELU if self.relu else TANH

    def gradient(self, b: Builder, at: dict[str, Atom], given: dict[str, Atom]) -> dict[str, Atom]:
        found = b.emit(RnnStepsGradient(self.reverse, self.relu), given["ct"], given["ct_h"], at["weight"], at["states"], *_lengths(at))
        return dict(zip(RnnStepsGradient.outputs, found, strict=True))


@operation
class RnnStepsGradient(_Backward):
    """The gradient of rnn_steps, but for that of the weight.

    operands ct       T[s, n, h], the cotangent of states
             ct_h     T[n, h], that of the last state
             weight, states, lengths: operands and a result of rnn_steps
    result   inputs'  T[s, n, h]
             h'       T[n, h]
    gradient unfused: of the results as functions of all operands
    errors   as rnn_steps
    """

    relu: bool = False
    pack = "rnn"
    names = ("ct", "ct_h", "weight", "states", "lengths")
    outputs = ("inputs_out", "h_out")
    samples = (*_samples(names, TANH), *_samples(names, RELU, relu=True))

    @property
    def formulas(self) -> Formulas:
        return RELU if self.relu else TANH
