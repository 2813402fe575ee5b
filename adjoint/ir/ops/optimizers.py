"""Steps of optimisers: each is one pass over a parameter and its state, element by element.

Every step uses the gradient

    g = gradient * scale + weight_decay * parameter

MindSpore's optimisers undo a loss scale, whose reciprocal is `scale`, and apply weight decay in this way; if `weight_decay` is 0,
nothing is added.  All scalars are operands, 0-d tensors of the dtype in which the parameter is computed: Float32 for half precision, in
which an epsilon of 1e-8 would be 0.  So one kernel serves all their values.  Or they have the first axes of the parameter: then each row
along these has numbers of its own, such as the learning rates of many networks that are trained at once.

A result may be written into the memory of the operand that `in_place` names for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, mistyped, operation, sample
from adjoint.ir.ops.batching import for_all
from adjoint.ir.types import F32, Dim, TensorType, scalar, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any

__all__ = ["AdamUpdate", "AdamWeightDecayUpdate", "AmsgradUpdate", "MomentumUpdate", "SgdMomentumUpdate", "SgdUpdate", "rest_of"]


def rest_of(x: Array) -> Array:
    """Return 1 - x of a number in its dtype; before NumPy 2, `1 - x` of a Float32 without dimensions is a Float64."""
    return x.dtype.type(1) - x


class Update(Op):
    """Checks shared by the steps; `tensors` operands have the parameter's type, the others are scalars."""

    pack = "optimizer"
    cuts = "an optimiser's step is not differentiated"
    names: ClassVar[tuple[str, ...]] = ()
    """Names of the operands: the parameter, its states, the gradient, then scalars.  Each before the gradient has a result."""
    streams: ClassVar[int] = 1
    """The position of the gradient, of which each element is read once, in order and through `window`."""
    tensors: ClassVar[int] = 2
    """The number of operands that have the parameter's type."""
    in_place: ClassVar[Mapping[int, int]]
    """By the index of a result, the operand into whose memory it may be written: the one that it replaces, unless a subclass differs."""

    def __init_subclass__(cls) -> None:
        cls.streams = cls.tensors - 1
        if "reference" in cls.__dict__:
            cls.reference = _of_rows(cls.reference)
        if "in_place" not in cls.__dict__:
            cls.in_place = {i: i for i in range(cls.tensors - 1)}

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        if len(operands) != len(self.names):
            raise mistake(self, "operands", f"{len(self.names)}: {', '.join(self.names)}", len(operands), TypeError)
        parameter = operands[0]
        if not isinstance(parameter, TensorType) or not parameter.dtype.is_float:
            raise mistake(self, "parameter", "a tensor of floating point numbers", parameter, TypeError)
        for position, (name, operand) in enumerate(zip(self.names, operands, strict=True)):
            expected = parameter if position < self.tensors else scalar(parameter.dtype.compute)
            if operand is not expected and not (position >= self.tensors and self._is_of_rows(operand, operands)):
                raise mistyped(self, name, expected, operand)
        return (parameter,) * (self.tensors - 1)

    def _is_of_rows(self, operand: Any, operands: Sequence[TensorType]) -> bool:
        """Return True for a scalar with a number for each row along the first axes of the parameter, the same axes as all such scalars."""
        parameter = operands[0]
        return isinstance(operand, TensorType) and operand is tensor(parameter.dtype.compute, parameter.shape[: operand.rank]) \
            and all(other.rank in (0, operand.rank) for other in operands[self.tensors :])

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom]:
        """A scalar that differs from example to example has the axis of the examples, too."""
        count = self.tensors
        given = for_all(b, operands[:count], mapped[:count], size)
        scalars = list(zip(operands[count:], mapped[count:], node.operands[count:], strict=True))
        rows = max((tensor_type(one).shape for *_, one in scalars), key=len)
        if rows or any(is_mapped for _, is_mapped, _ in scalars):
            whole = (size, *rows)
            scalars = [(x, is_mapped, one) if not (is_mapped or tensor_type(one).rank) else
                       (_with_axes(b, x, is_mapped, whole), is_mapped, one) for x, is_mapped, one in scalars]
        return b.emit_node(self, [*given, *(x for x, *_ in scalars)]).results

    def gradient(self, parameter: Array, gradient: Array, weight_decay: Array, scale: Array) -> Array:
        """Return the gradient g that the module's docstring defines: scaled, with weight decay added."""
        g = gradient * scale
        return np.where(weight_decay != 0, g + parameter * weight_decay, g)

    def each(
        self, k: Kernel, parameter: Buffer, gradient: Buffer, scalars: Sequence[tuple[Buffer, str]],
        outs: Sequence[Buffer], step: Callable[..., Sequence[Any]], *, scale: Buffer | None, decay: Buffer | None,
    ) -> None:
        """Emit a stage over all elements: `step` returns the new values, from index, parameter, g, and the scalars.

        Without `decay`, g is gradient * scale; without `scale`, the gradient.

        A result may share memory with an operand, but then element for element.  A gradient whose index does not tell where its elements
        are computed from is computed block by block.
        """
        found = [buffer for buffer, _ in scalars] + [x for x in (scale, decay) if x is not None]
        rows = max(x.count if x.rank else 0 for x in found)
        units = k.size(rows or parameter.count, "rows" if rows else "n")
        each = k.size(parameter.count // rows, "n") if rows else None

        def of(buffer: Buffer, row: Expr | None) -> Expr:
            return buffer[0 if row is None or not buffer.rank else row]

        def one(begin: Expr, end: Expr, row: Expr | None) -> None:
            values = [k.let(of(buffer, row), name) for buffer, name in scalars]
            factor = None if scale is None else k.let(of(scale, row), "factor")
            share = None if decay is None else k.let(of(decay, row), "decay")
            decays = None if share is None else k.let(k.not_equal(share, 0.0), "decays")

            def steps(start: Expr, stop: Expr) -> None:
                gradients, first = gradient.window(start, stop - start, BLOCK)
                with k.loop(start, stop, "i", independent=True) as i:
                    before = k.let(parameter[i], "before")
                    g = gradients[first + (i - start) if gradient.staged else i]
                    g = k.let(g if factor is None else g * factor, "scaled")
                    if share is not None and decays is not None:
                        g = k.let(k.select(decays, g + before * share, g), "g")
                    made = [k.let(value, f"new_{out.name.removesuffix('_out')}")
                            for out, value in zip(outs, step(i, before, g, *values), strict=True)]
                    for out, value in zip(outs, made, strict=True):
                        k.store(out, i, value)

            if not gradient.staged:
                steps(begin, end)
                return
            with k.loop(begin, end, "block", step=BLOCK) as block:
                steps(block, k.let(k.minimum_of(end, block + BLOCK), "block_end"))

        with k.stage_range(units, WORK if each is None else max(WORK * rows // max(parameter.count, 1), 1)) as (begin, end):
            if each is None:
                one(begin, end, None)
                return
            with k.loop(begin, end, "row") as row:
                one(k.let(row * each, "first"), k.let((row + 1) * each, "last"), row)


def _of_rows(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reference of a step which gives scalars of rows axes for the elements of a row."""

    @functools.wraps(reference)
    def whole(self: Update, *operands: Array) -> Any:
        rank = operands[0].ndim
        return reference(self, *(x.reshape(x.shape + (1,) * (rank - x.ndim)) if 0 < x.ndim < rank else x for x in operands))

    return whole


def _with_axes(b: Builder, x: Atom, is_mapped: bool, shape: tuple[Dim, ...]) -> Atom:
    """Return a scalar, or scalars of rows, with a number for each element of `shape`; its first axis is that of the examples."""
    type_ = tensor_type(x)
    if is_mapped and type_.rank < len(shape):
        x = b.reshape(x, to=type_.with_shape((*type_.shape, *(1,) * (len(shape) - type_.rank))))
    return x if tensor_type(x).shape == shape else b.broadcast(x, to=type_.with_shape(shape))


BLOCK = 1024
"""The number of elements of a gradient that are computed at a time, before they are used."""
WORK = 16384
"""Elements per thread below which threads do not pay."""

_WEIGHTS = tensor(F32, (3, 37))
_SCALAR = tensor(F32, ())
_OF_ROWS = tensor(F32, (3,))
_RATE = (0.0, 1.0)
_TENSORS = ((-2.0, 2.0),) * 4
_DECAYING = ((0.0, 0.1), (0.25, 1.0))


@operation
class SgdUpdate(Update):
    """A step of gradient descent.

    operands parameter      T[s], T a floating point type
             gradient       T[s]
             learning_rate  C, which T computes in
             weight_decay   C
             scale          C
    result   T[s]: parameter - learning_rate * g
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = ("parameter", "gradient", "learning_rate", "weight_decay", "scale")
    samples = (
        sample(*(_WEIGHTS,) * 2, *(_SCALAR,) * 3, domain=(*_TENSORS[:2], _RATE, *_DECAYING)),
        sample(*(_WEIGHTS,) * 2, *(_SCALAR,) * 3, values={3: np.array(0.0), 4: np.array(1.0)}, note="without decay"),
        sample(*(_WEIGHTS,) * 2, _OF_ROWS, _SCALAR, _OF_ROWS, domain=(*_TENSORS[:2], _RATE, *_DECAYING), note="of rows"),
    )

    def reference(self, parameter: Array, gradient: Array, learning_rate: Array, weight_decay: Array, scale: Array) -> Array:
        return parameter - learning_rate * self.gradient(parameter, gradient, weight_decay, scale)

    def lower(
        self, k: Kernel, parameter: Buffer, gradient: Buffer, learning_rate: Buffer, weight_decay: Buffer, scale: Buffer, out: Buffer
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr) -> Sequence[Expr]:
            return (before - rate * g,)

        self.each(k, parameter, gradient, ((learning_rate, "rate"),), (out,), step, scale=scale, decay=weight_decay)


@operation
class SgdMomentumUpdate(Update):
    """A step of `SGD` with momentum: the accumulator begins with the first gradient.

    operands parameter      T[s], T a floating point type
             accumulator    T[s]
             first          T[s]: positive where no step was taken yet
             gradient       T[s]
             learning_rate  C, which T computes in
             momentum       C
             dampening      C
             weight_decay   C
             scale          C
    result   parameter - learning_rate * a, or with `nesterov` - learning_rate * (g + momentum * a)
             a = g where first > 0, else accumulator * momentum + g * (1 - dampening)
             first: 0
             With a momentum of 0 the step is learning_rate * g, accumulator and first stay as they are.
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    nesterov: bool = False
    names = (
        "parameter", "accumulator", "first", "gradient", "learning_rate", "momentum", "dampening", "weight_decay", "scale")
    tensors = 4
    samples = (
        sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 5, domain=(*_TENSORS, _RATE, _RATE, _RATE, *_DECAYING)),
        sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 5, domain=(*_TENSORS, _RATE, _RATE, _RATE, *_DECAYING), nesterov=True),
        sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 5, values={5: np.array(0.0)}, note="without momentum"),
        sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 5, values={7: np.array(0.0)}, note="without decay"),
        sample(*(_WEIGHTS,) * 4, *(_OF_ROWS,) * 5, domain=(*_TENSORS, _RATE, _RATE, _RATE, *_DECAYING),
               values={5: np.array([0.0, 0.5, 0.9]), 7: np.array([0.0, 0.0, 0.1])}, note="of rows"),
    )

    def reference(
        self, parameter: Array, accumulator: Array, first: Array, gradient: Array, learning_rate: Array, momentum: Array,
        dampening: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        moves = momentum > 0
        moved = np.where(first > 0, g, accumulator * momentum + g * rest_of(dampening))
        step = np.where(moves, g + moved * momentum if self.nesterov else moved, g)
        after = np.where(moves & (first > 0), 0, first).astype(first.dtype)
        return parameter - learning_rate * step, np.where(moves, moved, accumulator), after

    def lower(
        self, k: Kernel, parameter: Buffer, accumulator: Buffer, first: Buffer, gradient: Buffer, learning_rate: Buffer,
        momentum: Buffer, dampening: Buffer, weight_decay: Buffer, scale: Buffer, parameter_out: Buffer, accumulator_out: Buffer,
        first_out: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, m: Expr, damp: Expr) -> Sequence[Expr]:
            old, state = k.let(accumulator[i], "old"), k.let(first[i], "state")
            fresh, with_momentum = k.let(k.greater(state, 0), "fresh"), k.let(k.greater(m, 0), "with_momentum")
            summed = k.let(k.select(fresh, g, old * m + g * (1.0 - damp)), "summed")
            taken = g + summed * m if self.nesterov else summed
            return (
                before - rate * k.select(with_momentum, taken, g), k.select(with_momentum, summed, old),
                k.select(k.both(with_momentum, fresh), 0, state))

        scalars = ((learning_rate, "rate"), (momentum, "m"), (dampening, "dampening"))
        outs = (parameter_out, accumulator_out, first_out)
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class MomentumUpdate(Update):
    """A step of `Momentum`.

    operands parameter      T[s], T a floating point type
             accumulator    T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             momentum       C
             weight_decay   C
             scale          C
    result   parameter - learning_rate * a, or with `nesterov` parameter - (g * learning_rate + a * momentum * learning_rate)
             a = accumulator * momentum + g
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    nesterov: bool = False
    names = ("parameter", "accumulator", "gradient", "learning_rate", "momentum", "weight_decay", "scale")
    tensors = 3
    samples = (
        sample(*(_WEIGHTS,) * 3, *(_SCALAR,) * 4, domain=(*_TENSORS[:3], _RATE, _RATE, *_DECAYING)),
        sample(*(_WEIGHTS,) * 3, *(_SCALAR,) * 4, domain=(*_TENSORS[:3], _RATE, _RATE, *_DECAYING), nesterov=True),
        sample(*(_WEIGHTS,) * 3, *(_SCALAR,) * 4, values={5: np.array(0.0), 6: np.array(1.0)}, note="without decay"),
    )

    def reference(
        self, parameter: Array, accumulator: Array, gradient: Array, learning_rate: Array, momentum: Array, weight_decay: Array,
        scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        accumulator = accumulator * momentum + g
        if self.nesterov:
            return parameter - (g * learning_rate + accumulator * momentum * learning_rate), accumulator
        return parameter - learning_rate * accumulator, accumulator

    def lower(
        self, k: Kernel, parameter: Buffer, accumulator: Buffer, gradient: Buffer, learning_rate: Buffer, momentum: Buffer,
        weight_decay: Buffer, scale: Buffer, parameter_out: Buffer, accumulator_out: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, m: Expr) -> Sequence[Expr]:
            summed = k.let(accumulator[i] * m + g, "summed")
            return before - (g * rate + summed * m * rate if self.nesterov else rate * summed), summed

        scalars = ((learning_rate, "rate"), (momentum, "m"))
        self.each(k, parameter, gradient, scalars, (parameter_out, accumulator_out), step, scale=scale, decay=weight_decay)


class _Adam(Update):
    """The moments of Adam: averages of the gradient and of its square."""

    tensors = 4

    def moments(self, m: Array, v: Array, g: Array, beta1: Array, beta2: Array) -> tuple[Array, Array]:
        return m + (g - m) * rest_of(beta1), v + (g * g - v) * rest_of(beta2)

    def new_moments(
        self, k: Kernel, i: Expr, g: Expr, betas: tuple[Expr, Expr], moments: tuple[Buffer, Buffer]
    ) -> tuple[Expr, Expr]:
        """Return the new moments of element i."""
        m, v = k.let(moments[0][i], "old_m"), k.let(moments[1][i], "old_v")
        return k.let(m + (g - m) * (1.0 - betas[0]), "next_m"), k.let(v + (g * g - v) * (1.0 - betas[1]), "next_v")


_VARIANTS: tuple[tuple[TensorType, dict[str, Any]], ...] = ((_SCALAR, {}), (_SCALAR, {"nesterov": True}), (_OF_ROWS, {}))
_MOMENTS = (*_TENSORS[:2], (0.0, 2.0), *_TENSORS[:1])
_BETAS = ((0.001, 0.1), (0.8, 0.95), (0.9, 0.999), (1e-3, 1e-2))


@operation
class AdamUpdate(_Adam):
    """A step of Adam (Kingma and Ba 2014, its second form).

    operands parameter       T[s], T a floating point type
             m               T[s], first moment
             v               T[s], second moment
             gradient        T[s]
             learning_rate   C, which T computes in
             beta1           C
             beta2           C
             epsilon         C
             beta1_power     C: beta1 to the power of the number of this step, which counts from 1
             beta2_power     C
             weight_decay    C
             scale           C
    result   parameter - l * m / (sqrt(v) + epsilon), with `nesterov` beta1 * m + (1 - beta1) * g in place of m
             m + (g - m) * (1 - beta1), used above
             v + (g * g - v) * (1 - beta2), used above
             l = learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power)
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    nesterov: bool = False
    names = (
        "parameter", "m", "v", "gradient", "learning_rate", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power", "weight_decay",
        "scale")
    samples = tuple(
        sample(*(_WEIGHTS,) * 4, *(each,) * 8, domain=(*_MOMENTS, *_BETAS, (0.7, 0.8), (0.9, 0.99), *_DECAYING), **attributes)
        for each, attributes in _VARIANTS)

    def reference(
        self, parameter: Array, m: Array, v: Array, gradient: Array, learning_rate: Array, beta1: Array, beta2: Array,
        epsilon: Array, beta1_power: Array, beta2_power: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        m, v = self.moments(m, v, g, beta1, beta2)
        rate = learning_rate * np.sqrt(rest_of(beta2_power)) / rest_of(beta1_power)
        ahead = m * beta1 + rest_of(beta1) * g if self.nesterov else m
        return parameter - rate * ahead / (np.sqrt(v) + epsilon), m, v

    def lower(
        self, k: Kernel, parameter: Buffer, m: Buffer, v: Buffer, gradient: Buffer, learning_rate: Buffer, beta1: Buffer,
        beta2: Buffer, epsilon: Buffer, beta1_power: Buffer, beta2_power: Buffer, weight_decay: Buffer, scale: Buffer,
        parameter_out: Buffer, m_out: Buffer, v_out: Buffer,
    ) -> None:
        def step(
            i: Expr, before: Expr, g: Expr, rate: Expr, b1: Expr, b2: Expr, tiny: Expr, power1: Expr, power2: Expr
        ) -> Sequence[Expr]:
            next_m, next_v = self.new_moments(k, i, g, (b1, b2), (m, v))
            corrected = rate * k.call("sqrt", 1.0 - power2) / (1.0 - power1)
            ahead = next_m * b1 + (1.0 - b1) * g if self.nesterov else next_m
            return before - corrected * ahead / (k.call("sqrt", next_v) + tiny), next_m, next_v

        scalars = (
            (learning_rate, "rate"), (beta1, "b1"), (beta2, "b2"), (epsilon, "tiny"), (beta1_power, "power1"),
            (beta2_power, "power2"))
        self.each(k, parameter, gradient, scalars, (parameter_out, m_out, v_out), step, scale=scale, decay=weight_decay)


@operation
class AmsgradUpdate(_Adam):
    """A step of Adam that divides by the largest second moment so far (Reddi, Kale and Kumar 2018).

    operands parameter       T[s], T a floating point type
             m               T[s], first moment
             v               T[s], second moment
             largest         T[s], the largest v so far
             gradient        T[s]
             learning_rate   C, which T computes in
             beta1           C
             beta2           C
             epsilon         C
             beta1_power     C: beta1 to the power of the number of this step, which counts from 1
             beta2_power     C
             weight_decay    C
             scale           C
    result   parameter - l * m / (sqrt(largest) + epsilon)
             m + (g - m) * (1 - beta1), used above
             v + (g * g - v) * (1 - beta2)
             largest, or v where that is not less, used above
             l = learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power)
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = (
        "parameter", "m", "v", "largest", "gradient", "learning_rate", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power",
        "weight_decay", "scale")
    tensors = 5
    samples = (
        sample(*(_WEIGHTS,) * 5, *(_SCALAR,) * 8,
               domain=(*_MOMENTS[:3], (0.0, 2.0), _MOMENTS[3], *_BETAS, (0.7, 0.8), (0.9, 0.99), *_DECAYING)),)

    def reference(
        self, parameter: Array, m: Array, v: Array, largest: Array, gradient: Array, learning_rate: Array, beta1: Array, beta2: Array,
        epsilon: Array, beta1_power: Array, beta2_power: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        m, v = self.moments(m, v, self.gradient(parameter, gradient, weight_decay, scale), beta1, beta2)
        largest = np.where(v < largest, largest, v)
        rate = learning_rate * np.sqrt(rest_of(beta2_power)) / rest_of(beta1_power)
        return parameter - rate * m / (np.sqrt(largest) + epsilon), m, v, largest

    def lower(
        self, k: Kernel, parameter: Buffer, m: Buffer, v: Buffer, largest: Buffer, gradient: Buffer, learning_rate: Buffer, beta1: Buffer,
        beta2: Buffer, epsilon: Buffer, beta1_power: Buffer, beta2_power: Buffer, weight_decay: Buffer, scale: Buffer,
        parameter_out: Buffer, m_out: Buffer, v_out: Buffer, largest_out: Buffer,
    ) -> None:
        def step(
            i: Expr, before: Expr, g: Expr, rate: Expr, b1: Expr, b2: Expr, tiny: Expr, power1: Expr, power2: Expr
        ) -> Sequence[Expr]:
            next_m, next_v = self.new_moments(k, i, g, (b1, b2), (m, v))
            old = k.let(largest[i], "old_largest")
            peak = k.let(k.select(k.less(next_v, old), old, next_v), "peak")
            corrected = rate * k.call("sqrt", 1.0 - power2) / (1.0 - power1)
            return before - corrected * next_m / (k.call("sqrt", peak) + tiny), next_m, next_v, peak

        scalars = (
            (learning_rate, "rate"), (beta1, "b1"), (beta2, "b2"), (epsilon, "tiny"), (beta1_power, "power1"),
            (beta2_power, "power2"))
        outs = (parameter_out, m_out, v_out, largest_out)
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class AdamWeightDecayUpdate(_Adam):
    """A step of Adam with weight decay outside of the moments (Loshchilov and Hutter 2017), as in BERT.

    operands parameter       T[s], T a floating point type
             m               T[s], first moment
             v               T[s], second moment
             gradient        T[s]
             learning_rate   C, which T computes in
             beta1           C
             beta2           C
             epsilon         C
             weight_decay    C
             scale           C
    result   parameter - learning_rate * (m / (sqrt(v) + epsilon) + weight_decay * parameter)
             m + (g - m) * (1 - beta1), used above
             v + (g * g - v) * (1 - beta2), used above
             with g = gradient * scale; moments are not corrected for beginning at zero
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = ("parameter", "m", "v", "gradient", "learning_rate", "beta1", "beta2", "epsilon", "weight_decay", "scale")
    samples = (sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 6, domain=(*_MOMENTS, *_BETAS, *_DECAYING)),)

    def reference(
        self, parameter: Array, m: Array, v: Array, gradient: Array, learning_rate: Array, beta1: Array, beta2: Array,
        epsilon: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        m, v = self.moments(m, v, gradient * scale, beta1, beta2)
        return parameter - learning_rate * (m / (np.sqrt(v) + epsilon) + weight_decay * parameter), m, v

    def lower(
        self, k: Kernel, parameter: Buffer, m: Buffer, v: Buffer, gradient: Buffer, learning_rate: Buffer, beta1: Buffer,
        beta2: Buffer, epsilon: Buffer, weight_decay: Buffer, scale: Buffer, parameter_out: Buffer, m_out: Buffer, v_out: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, b1: Expr, b2: Expr, tiny: Expr, share: Expr) -> Sequence[Expr]:
            next_m, next_v = self.new_moments(k, i, g, (b1, b2), (m, v))
            change = next_m / (k.call("sqrt", next_v) + tiny) + share * before
            return before - rate * change, next_m, next_v

        scalars = ((learning_rate, "rate"), (beta1, "b1"), (beta2, "b2"), (epsilon, "tiny"), (weight_decay, "share"))
        self.each(k, parameter, gradient, scalars, (parameter_out, m_out, v_out), step, scale=scale, decay=None)
