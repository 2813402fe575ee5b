"""One step of recurrent cells, in one pass over their gates.

The matrix products of the step are computed before: `inputs` holds those of the sequence, `carried` those of the state, side by side for
each gate:

    LSTM   i, f, o = sigmoid, g = tanh of inputs + carried         c' = f * c + i * g        h' = o * tanh(c')
    GRU    r, z = sigmoid(inputs + carried)    n = tanh(inputs + r * carried)                h' = n + z * (h - n)

(Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000; Cho et al. 2014, with the reset gate after the product.)
A gradient computes the gates again; its own gradient is that of its composition from other ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import Value, tensor_type
from adjoint.ir.op import Op, mistake, mistyped, operation, sample
from adjoint.ir.ops.batching import of_items
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.types import F32, DType, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any
Cotangents = Sequence["Atom | None"]

__all__ = ["GruCell", "GruCellGradient", "LstmCell", "LstmCellGradient"]

COST = 60
"""The time for one element of a state, in additions of float32."""


class _Step(Op):
    """A step with operands of the gates' type [n, gates * h], then operands of the state's type [n, h]."""

    pack = "recurrent"
    batch = of_items
    gates: ClassVar[int]
    """Number of gates."""
    names: ClassVar[tuple[str, ...]]
    """Names of the operands: `inputs` and `carried`, then those of the state's type."""

    def state(self, operands: Sequence[Any]) -> TensorType:
        """Return the type of the state; raise TypeError or ValueError if the operands do not fit."""
        inputs = operands[0]
        if not isinstance(inputs, TensorType) or not inputs.dtype.is_float:
            raise mistake(self, "inputs", "a tensor of floating point numbers", inputs, TypeError)
        if inputs.rank != 2 or not isinstance(inputs.shape[1], int) or inputs.shape[1] % self.gates:
            raise mistake(self, "inputs", f"of shape [n, {self.gates} * h]", inputs)
        state = inputs.with_shape((inputs.shape[0], inputs.shape[1] // self.gates))
        for position, (name, operand) in enumerate(zip(self.names, operands, strict=True)):
            expected = inputs if position < 2 else state
            if operand is not expected:
                raise mistyped(self, name, expected, operand)
        return state

    def each(
        self, k: Kernel, inputs: Buffer, carried: Buffer, body: Callable[[Any, Any, list[Any], list[Any]], None], size: int,
    ) -> None:
        """Do `body` for each element of the state: its index, that of its first gate, and the gates of both operands."""
        rows, width = inputs.shape[0], inputs.shape[1] // self.gates
        h = k.size(width, "h")
        with k.stage(rows, grain_of(max(1, width) * size), "row") as row, k.loop(0, h, "j") as j:
            first = k.let(row * (h * self.gates) + j, "first")
            places = [first + h * gate if gate else first for gate in range(self.gates)]
            body(row * h + j, places, [inputs[p] for p in places], [carried[p] for p in places])

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[Type, ...]]]:
        if dtype.is_float:
            wide, narrow = tensor(dtype, (4, 8 * cls.gates)), tensor(dtype, (4, 8))
            yield cls(), (wide, wide, *(narrow,) * (len(cls.names) - 2))


def _parts(b: Builder, gates: Atom, count: int) -> list[Atom]:
    """Return the gates of a tensor [n, count * h], each [n, h]."""
    rows, width = tensor_type(gates).sizes
    each = width // count
    return [b.slice(gates, start=(0, each * i), stop=(rows, each * i + each), step=(1, 1)) for i in range(count)]


def vjp_of_parts(
    b: Builder, compose: Callable[..., Sequence[Atom]], operands: Sequence[Atom], cotangents: Sequence[Atom | None]
) -> list[Atom | None]:
    """Return the cotangents of `operands` for those of the results of `compose(b, *operands)`, which expresses an op by other ops."""
    inner = b.inner()
    results = compose(inner, *operands)
    found: dict[Atom, Atom] = {}

    def add(atom: Atom, ct: Atom | None) -> None:
        if ct is not None and isinstance(atom, Value):
            found[atom] = b.add(found[atom], ct) if atom in found else ct

    for node in inner.nodes:
        b.append(node)
    for result, ct in zip(results, cotangents, strict=True):
        add(result, ct)
    for node in reversed(inner.nodes):
        given = [found.get(result) for result in node.results]
        if any(ct is not None for ct in given):
            for operand, ct in zip(node.operands, node.op.vjp(b, node, *given), strict=True):
                add(operand, ct)
    return [found.pop(x, None) for x in operands]  # an operand that occurs twice has its total cotangent once


def _given(b: Builder, node: Node, cotangents: Sequence[Any]) -> list[Atom]:
    """Return the cotangents of all results: zeros if there is none."""
    return [b.zeros(tensor_type(r)) if ct is None else ct for r, ct in zip(node.results, cotangents, strict=True)]


def _sigmoid(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


_WIDE, _STATE = tensor(F32, (3, 20)), tensor(F32, (3, 5))
_GRU = tensor(F32, (3, 15))


@operation
class LstmCell(_Step):
    """One step of an LSTM.

    operands inputs   T[n, 4 * h], T a floating point type: the gates i, f, g, o
             carried  T[n, 4 * h]
             c        T[n, h]
    result   h'       T[n, h]: o * tanh(c')
             c'       T[n, h]: f * c + i * g
    gradient lstm_cell_gradient(inputs, carried, c, ct_h, ct_c)
    errors   TypeError: inputs not floating point; ValueError: types that do not fit
    """

    gates = 4
    names = ("inputs", "carried", "c")
    samples = (
        sample(_WIDE, _WIDE, _STATE),
        sample(tensor(F32, (1, 68)), tensor(F32, (1, 68)), tensor(F32, (1, 17)), domain=(-30.0, 30.0), smooth=False,
               note="gates that are shut"),
        sample(tensor(F32, (0, 8)), tensor(F32, (0, 8)), tensor(F32, (0, 2))),
    )

    def infer(self, inputs: Any, carried: Any, c: Any) -> tuple[Type, ...]:
        return (self.state((inputs, carried, c)),) * 2

    def reference(self, inputs: Array, carried: Array, c: Array) -> tuple[Array, ...]:
        i, f, g, o = np.split(inputs + carried, 4, axis=1)
        new = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(new), new

    def lower(self, k: Kernel, inputs: Buffer, carried: Buffer, c: Buffer, h_out: Buffer, c_out: Buffer) -> None:
        def body(at: Expr, places: list[Expr], x: list[Expr], y: list[Expr]) -> None:
            i, f, g, o = (k.call("tanh" if name == "g" else "sigmoid", a + b) for name, a, b in zip("ifgo", x, y, strict=True))
            new = k.let(f * c[at] + i * g, "new")
            k.store(c_out, at, new)
            k.store(h_out, at, o * k.call("tanh", new))

        self.each(k, inputs, carried, body, COST)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        gates, c = b.emit(LstmCellGradient(), *node.operands, *_given(b, node, cotangents))
        return gates, gates, c


def _lstm_gradient(b: Builder, inputs: Atom, carried: Atom, c: Atom, ct_h: Atom, ct_c: Atom) -> tuple[Atom, Atom]:
    """Return `lstm_cell_gradient` expressed by other ops."""
    i, f, g, o = _parts(b, b.add(inputs, carried), 4)
    i, f, g, o = b.sigmoid(i), b.sigmoid(f), b.tanh(g), b.sigmoid(o)
    t = b.tanh(b.add(b.mul(f, c), b.mul(i, g)))
    u = b.add(ct_c, b.tanh_gradient(t, b.mul(ct_h, o)))
    gates = (b.sigmoid_gradient(i, b.mul(u, g)), b.sigmoid_gradient(f, b.mul(u, c)), b.tanh_gradient(g, b.mul(u, i)),
             b.sigmoid_gradient(o, b.mul(ct_h, t)))
    return b.concat(*gates, axis=1), b.mul(u, f)


@operation
class LstmCellGradient(_Step):
    """The gradient of lstm_cell.

    operands inputs   T[n, 4 * h]
             carried  T[n, 4 * h]
             c        T[n, h]
             ct_h     T[n, h], the cotangent of h'
             ct_c     T[n, h], that of c'
    result   gates'   T[n, 4 * h], of inputs and of carried: with u = ct_c + ct_h * o * (1 - tanh(c')^2),
                      u * g * i * (1 - i), u * c * f * (1 - f), u * i * (1 - g^2), ct_h * tanh(c') * o * (1 - o)
             c_       T[n, h]: u * f
    gradient unfused: of both results as functions of all five operands
    errors   as lstm_cell
    """

    gates = 4
    names = ("inputs", "carried", "c", "ct_h", "ct_c")
    samples = (sample(_WIDE, _WIDE, *(_STATE,) * 3), sample(tensor(F32, (0, 8)), tensor(F32, (0, 8)), *(tensor(F32, (0, 2)),) * 3))

    def infer(self, inputs: Any, carried: Any, c: Any, ct_h: Any, ct_c: Any) -> tuple[Type, ...]:
        return inputs, self.state((inputs, carried, c, ct_h, ct_c))

    def reference(self, inputs: Array, carried: Array, c: Array, ct_h: Array, ct_c: Array) -> tuple[Array, ...]:
        i, f, g, o = np.split(inputs + carried, 4, axis=1)
        i, f, g, o = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)
        t = np.tanh(f * c + i * g)
        u = ct_c + ct_h * o * (1 - t * t)
        return np.concatenate((u * g * i * (1 - i), u * c * f * (1 - f), u * i * (1 - g * g), ct_h * t * o * (1 - o)), axis=1), u * f

    def lower(
        self, k: Kernel, inputs: Buffer, carried: Buffer, c: Buffer, ct_h: Buffer, ct_c: Buffer, gates_out: Buffer, c_out: Buffer,
    ) -> None:
        def body(at: Expr, places: list[Expr], x: list[Expr], y: list[Expr]) -> None:
            i, f, g, o = (
                k.let(k.call("tanh" if name == "g" else "sigmoid", a + b), name) for name, a, b in zip("ifgo", x, y, strict=True))
            before, ct = k.let(c[at], "before"), k.let(ct_h[at], "ct")
            t = k.let(k.call("tanh", f * before + i * g), "t")
            u = k.let(ct_c[at] + ct * o * (1.0 - t * t), "u")
            for place, value in zip(places, (
                u * g * i * (1.0 - i), u * before * f * (1.0 - f), u * i * (1.0 - g * g), ct * t * o * (1.0 - o),
            ), strict=True):
                k.store(gates_out, place, value)
            k.store(c_out, at, u * f)

        self.each(k, inputs, carried, body, COST)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        return vjp_of_parts(b, _lstm_gradient, node.operands, cotangents)


@operation
class GruCell(_Step):
    """One step of a GRU.

    operands inputs   T[n, 3 * h], T a floating point type: the gates r, z, n
             carried  T[n, 3 * h]
             h        T[n, h]
    result   T[n, h]: n + z * (h - n)
    gradient gru_cell_gradient(inputs, carried, h, ct)
    errors   TypeError: inputs not floating point; ValueError: types that do not fit
    """

    gates = 3
    names = ("inputs", "carried", "h")
    samples = (
        sample(_GRU, _GRU, _STATE),
        sample(tensor(F32, (1, 51)), tensor(F32, (1, 51)), tensor(F32, (1, 17)), domain=(-30.0, 30.0), smooth=False,
               note="gates that are shut"),
        sample(tensor(F32, (0, 6)), tensor(F32, (0, 6)), tensor(F32, (0, 2))),
    )

    def infer(self, inputs: Any, carried: Any, h: Any) -> TensorType:
        return self.state((inputs, carried, h))

    def reference(self, inputs: Array, carried: Array, h: Array) -> Array:
        (xr, xz, xn), (hr, hz, hn) = np.split(inputs, 3, axis=1), np.split(carried, 3, axis=1)
        n = np.tanh(xn + _sigmoid(xr + hr) * hn)
        return n + _sigmoid(xz + hz) * (h - n)

    def lower(self, k: Kernel, inputs: Buffer, carried: Buffer, h: Buffer, out: Buffer) -> None:
        def body(at: Expr, places: list[Expr], x: list[Expr], y: list[Expr]) -> None:
            r, z = (k.call("sigmoid", x[gate] + y[gate]) for gate in (0, 1))
            n = k.let(k.call("tanh", x[2] + r * y[2]), "n")
            k.store(out, at, n + z * (h[at] - n))

        self.each(k, inputs, carried, body, COST)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        return b.emit(GruCellGradient(), *node.operands, cotangents[0])


def _gru_gradient(b: Builder, inputs: Atom, carried: Atom, h: Atom, ct: Atom) -> tuple[Atom, Atom, Atom]:
    """Return `gru_cell_gradient` expressed by other ops."""
    (xr, xz, xn), (hr, hz, hn) = _parts(b, inputs, 3), _parts(b, carried, 3)
    r, z = b.sigmoid(b.add(xr, hr)), b.sigmoid(b.add(xz, hz))
    n = b.tanh(b.add(xn, b.mul(r, hn)))
    through_z = b.sigmoid_gradient(z, b.mul(ct, b.sub(h, n)))
    direct = b.mul(ct, z)
    through_n = b.tanh_gradient(n, b.sub(ct, direct))
    through_r = b.sigmoid_gradient(r, b.mul(through_n, hn))
    return b.concat(through_r, through_z, through_n, axis=1), b.concat(through_r, through_z, b.mul(through_n, r), axis=1), direct


@operation
class GruCellGradient(_Step):
    """The gradient of gru_cell.

    operands inputs    T[n, 3 * h]
             carried   T[n, 3 * h]
             h         T[n, h]
             ct        T[n, h], the cotangent of the result
    result   inputs'   T[n, 3 * h]: with p = ct * (1 - z) * (1 - n^2),
                       p * carried * r * (1 - r), ct * (h - n) * z * (1 - z), p
             carried'  T[n, 3 * h]: the same, but p * r for the last gate
             h_        T[n, h]: ct * z
    gradient unfused: of the results as functions of all four operands
    errors   as gru_cell
    """

    gates = 3
    names = ("inputs", "carried", "h", "ct")
    samples = (sample(_GRU, _GRU, _STATE, _STATE), sample(tensor(F32, (0, 6)), tensor(F32, (0, 6)), *(tensor(F32, (0, 2)),) * 2))

    def infer(self, inputs: Any, carried: Any, h: Any, ct: Any) -> tuple[Type, ...]:
        return inputs, carried, self.state((inputs, carried, h, ct))

    def reference(self, inputs: Array, carried: Array, h: Array, ct: Array) -> tuple[Array, ...]:
        (xr, xz, xn), (hr, hz, hn) = np.split(inputs, 3, axis=1), np.split(carried, 3, axis=1)
        r, z = _sigmoid(xr + hr), _sigmoid(xz + hz)
        n = np.tanh(xn + r * hn)
        p = ct * (1 - z) * (1 - n * n)
        gates = p * hn * r * (1 - r), ct * (h - n) * z * (1 - z)
        return np.concatenate((*gates, p), axis=1), np.concatenate((*gates, p * r), axis=1), ct * z

    def lower(
        self, k: Kernel, inputs: Buffer, carried: Buffer, h: Buffer, ct: Buffer, inputs_out: Buffer, carried_out: Buffer, h_out: Buffer,
    ) -> None:
        def body(at: Expr, places: list[Expr], x: list[Expr], y: list[Expr]) -> None:
            r, z = (k.let(k.call("sigmoid", x[gate] + y[gate]), "rz"[gate]) for gate in (0, 1))
            n = k.let(k.call("tanh", x[2] + r * y[2]), "n")
            given = k.let(ct[at], "given")
            p = k.let(given * (1.0 - z) * (1.0 - n * n), "p")
            by_r = k.let(p * y[2] * r * (1.0 - r), "by_r")
            by_z = k.let(given * (h[at] - n) * z * (1.0 - z), "by_z")
            for out, last in ((inputs_out, p), (carried_out, p * r)):
                for place, value in zip(places, (by_r, by_z, last), strict=True):
                    k.store(out, place, value)
            k.store(h_out, at, given * z)

        self.each(k, inputs, carried, body, COST)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        return vjp_of_parts(b, _gru_gradient, node.operands, cotangents)
