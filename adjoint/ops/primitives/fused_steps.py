"""Steps of optimisers as operators whose parameter and moments have several dtypes or shapes.

What they write and how they check it is as for the steps in `optimizers`.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F16, F32, DType
from adjoint.ops.arguments import flag, operand, real, wrong
from adjoint.ops.arithmetic import maximum, sqrt
from adjoint.ops.primitive import Primitive
from adjoint.ops.primitives.optimizers import scalar_of
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["FusedAdaFactor", "FusedCastAdamWeightDecay"]


def _floats(op: str, shape: tuple[int, ...] | None, kinds: tuple[DType, ...], **operands: Any) -> list[Tensor]:
    """Return tensors of one of some dtypes, and of a shape: that of the first, if it is None."""
    found: list[Tensor] = []
    for name, value in operands.items():
        x = operand(op, value, name)
        if x.dtype not in kinds:
            raise wrong(op, name, f"a Tensor of {' or '.join(kind.long_name for kind in kinds)}", x, TypeError)
        shape = x.shape if shape is None else shape
        if x.shape != shape:
            raise wrong(op, name, f"of shape {shape}", x)
        found.append(x)
    return found


class FusedCastAdamWeightDecay(Primitive):
    """Write var, m and v as `nn.AdamWeightDecay` does, from the gradient divided by `global_norm`; returns the three.

    var and the gradient are Float16 or Float32, and so are m and v; everything is computed in Float32.
    """

    def __init__(self, use_locking: bool = False):
        super().__init__(use_locking=flag("FusedCastAdamWeightDecay", "use_locking", use_locking))

    def __call__(
        self, var: Any, m: Any, v: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, decay: Any, gradient: Any, global_norm: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        x, first, second, g = _floats(self.name, None, (F16, F32), var=var, m=m, v=v, gradient=gradient)
        given = {"lr": lr, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "decay": decay, "global_norm": global_norm}
        rate, keep, keep_squares, small, shrink, norm = (scalar_of(self.name, name, value, F32) for name, value in given.items())
        g = g.astype(F32) / norm
        moment = first.astype(F32) * keep + g * (1.0 - keep)
        squares = second.astype(F32) * keep_squares + g * g * (1.0 - keep_squares)
        wide = x.astype(F32)
        new = wide - rate * (moment / (sqrt(squares) + small) + shrink * wide)
        for held, value in ((x, new), (first, moment), (second, squares)):
            held.overwrite(value.astype(held.dtype, copy=False))
        return var, m, v


def moved(moments: Tensor, step: Tensor, new: Any) -> Tensor:
    """Move moments by the share `new` towards a step; return them in the dtype of the step."""
    now = moments.astype(step.dtype, copy=False) * (1.0 - new) + step * new
    moments.overwrite(now.astype(moments.dtype, copy=False))
    return now


def root_of_mean_square(x: Tensor) -> Tensor:
    return sqrt((x * x).mean())


def factored(g: Tensor, epsilon: Any, new: Any, rows: Tensor, columns: Tensor, squares: Tensor) -> Tensor:
    """Return a gradient divided by the root of its second moments, which are moved by the share `new` (Shazeer and Stern 2018).

    rows, columns  the moments of rows and columns of matrices
    squares        those of a vector
    """
    square = g * g + epsilon
    if g.ndim < 2:
        return g / sqrt(moved(squares, square, new))
    of_rows, of_columns = moved(rows, square.mean(-1), new), moved(columns, square.mean(-2), new)
    share = of_rows / of_rows.mean(-1, keep_dims=True)
    return g / sqrt(share.expand_dims(-1)) / sqrt(of_columns.expand_dims(-2))


class FusedAdaFactor(Primitive):
    """Write a parameter and its moments as `nn.AdaFactor` does, Float16 or Float32; returns a tuple of the parameter.

    It is called on epsilon, a pair: what is added to squares, and the least scale of a parameter; clip_threshold, the largest root of the
    mean square of a step; beta1 and beta2, the shares of moments that stay; weight_decay, learning_rate and gradient; and on what it
    writes: param, exp_avg, the moments of rows [..., n] and of columns [..., m] of matrices [..., n, m], and the squares of a vector.

    enable_scale_parameter  True to multiply the rate with the root of the mean square of the parameter
    enable_first_moment     True to use `exp_avg`
    enable_weight_decay     True to use `weight_decay`
    """

    def __init__(self, enable_scale_parameter: bool = False, enable_first_moment: bool = False, enable_weight_decay: bool = False):
        flags = {"enable_scale_parameter": enable_scale_parameter, "enable_first_moment": enable_first_moment,
                 "enable_weight_decay": enable_weight_decay}
        super().__init__(None, **{name: flag("FusedAdaFactor", name, value) for name, value in flags.items()})

    def __call__(
        self, epsilon: Any, clip_threshold: Any, beta1: Any, beta2: Any, weight_decay: Any, learning_rate: Any, gradient: Any, param: Any,
        exp_avg: Any, exp_avg_sq_row: Any, exp_avg_sq_col: Any, exp_avg_sq: Any,
    ) -> tuple[Tensor]:
        op, kinds = self.name, (F16, F32)
        if isinstance(epsilon, Tensor) and epsilon.shape == (2,):
            epsilon = tuple(epsilon.tolist())
        if not isinstance(epsilon, (tuple, list)):
            raise wrong(op, "epsilon", "a pair of numbers", epsilon, TypeError)
        if len(epsilon) != 2:
            raise wrong(op, "epsilon", "a pair of numbers", tuple(epsilon))
        added, least = (real(op, "epsilon", value) for value in epsilon)
        x, g = _floats(op, None, kinds, param=param, gradient=gradient)
        first, rows, columns, squares = (operand(op, value, name) for name, value in (
            ("exp_avg", exp_avg), ("exp_avg_sq_row", exp_avg_sq_row), ("exp_avg_sq_col", exp_avg_sq_col), ("exp_avg_sq", exp_avg_sq)))
        if x.ndim < 2:
            _floats(op, x.shape, kinds, exp_avg_sq=squares)
        else:
            _floats(op, x.shape[:-1], kinds, exp_avg_sq_row=rows)
            _floats(op, (*x.shape[:-2], x.shape[-1]), kinds, exp_avg_sq_col=columns)
        given = {"clip_threshold": clip_threshold, "beta1": beta1, "beta2": beta2, "weight_decay": weight_decay,
                 "learning_rate": learning_rate}
        clip, keep, keep_squares, shrink, rate = (scalar_of(op, name, value, F32) for name, value in given.items())
        wide = x.astype(F32)
        if self.enable_scale_parameter:
            rate = rate * maximum(root_of_mean_square(wide), least)
        step = factored(g.astype(F32), added, 1.0 - keep_squares, rows, columns, squares)
        step = step / maximum(root_of_mean_square(step) / clip, 1.0) * rate
        if self.enable_first_moment:
            _floats(op, x.shape, kinds, exp_avg=first)
            step = moved(first, step, 1.0 - keep)
        if self.enable_weight_decay:
            wide = wide - wide * (shrink * rate)
        x.overwrite((wide - step).astype(x.dtype, copy=False))
        return (param,)
