"""Calls functions of `adjoint.numpy` in a process without a compiler, where an operator costs no compilation, and writes what they give.

python array_answers.py > answers.json     keys "mindspore", "numpy", "slopes", "graphs": see `test_numpy.py`

The kernels of the operators are tested with these; here it is about which of them are called, with which dtypes and shapes.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ms
import adjoint.numpy as mnp
from adjoint import Tensor, compat

compat.install()
sys.path.insert(0, str(Path(__file__).parent.parent / "oracle"))
answers = importlib.import_module("answers")
array_calls = importlib.import_module("array_calls")

DIFFERENTIABLE = """
mnp.array([x[0], r]); mnp.copy(x); mnp.full((3, 2, 3), x); mnp.linspace(x, 5.0, 3); mnp.logspace(x, 1.5, 3); mnp.geomspace(x, 9.0, 3)
mnp.tril(s); mnp.triu(x, 1); mnp.diagonal(s); mnp.trace(s); mnp.diag(r, 1); mnp.diag(s); mnp.diagflat(x, -1); mnp.vander(r)
mnp.meshgrid(r, r)[1]; mnp.ix_(r, r)[1]; mnp.pad(x, 1); mnp.pad(x, 1, constant_values=((1, 2), (3, 4))); mnp.pad(x, 3, 'symmetric')
mnp.pad(r, 3, 'reflect', reflect_type='odd'); mnp.pad(x, (1, 2), 'mean'); mnp.pad(x, 2, 'linear_ramp', end_values=1); mnp.pad(x, 2, 'wrap')
mnp.concatenate((x, s)); mnp.concatenate((x, s), None); mnp.append(x, s, 0); mnp.column_stack((r, s)); mnp.vstack((r, s))
mnp.hstack((s, s)); mnp.dstack((x, x)); mnp.stack((r, r), 1); mnp.split(x, 3, 1)[1]; mnp.array_split(s, 2)[0]; mnp.hsplit(x, [1])[1]
mnp.expand_dims(x, (0, -1)); mnp.squeeze(x[:1]); mnp.transpose(x); mnp.swapaxes(x, 0, 1); mnp.moveaxis(x, 0, 1); mnp.reshape(x, (3, -1))
mnp.ravel(x); mnp.atleast_3d(x); mnp.broadcast_arrays(x, r)[1]; mnp.broadcast_to(r, (2, 3)); mnp.tile(x, 2); mnp.repeat(x, [1, 2], 0)
mnp.flip(x); mnp.flipud(x); mnp.fliplr(x); mnp.rot90(x); mnp.roll(x, 1); mnp.roll(x, (1, 2), (0, 1)); mnp.where(x > 2, x, r)
mnp.take(x, at, 1); mnp.take(x, at); mnp.take_along_axis(x, at[None], 1); mnp.choose(at, (r, r * r)); mnp.rollaxis(x, 1)
mnp.select([x > 2, x > 1], [x, x * x], 1); mnp.piecewise(x, [x > 2, x <= 2], [lambda t: t * t, lambda t: -t])
mnp.apply_along_axis(lambda t: t * t, 1, x); mnp.apply_over_axes(mnp.sum, x, (0,)); mnp.sum(x, 0); mnp.mean(x, 1); mnp.std(x, 0)
mnp.var(x, 1, 1); mnp.average(x, 1, r); mnp.amax(x, 1); mnp.amin(x); mnp.ptp(x, 0); mnp.nansum(x, 1); mnp.nanmean(x); mnp.nanmax(x, 1)
mnp.nanmin(x); mnp.nanstd(x, 0); mnp.nanvar(x, 1); mnp.cumsum(x, 1); mnp.nancumsum(x); mnp.cumprod(x, 1); mnp.add(x, r); mnp.subtract(x, 2)
mnp.multiply(x, r); mnp.divide(r, x); mnp.reciprocal(x); mnp.floor_divide(x, 2); mnp.remainder(x, r); mnp.fmod(x, r); mnp.divmod(x, r)[1]
mnp.square(x); mnp.power(x, r); mnp.hypot(x, r); mnp.rint(x); mnp.around(x, 1); mnp.absolute(x - 2.0); mnp.negative(x); mnp.positive(x)
mnp.sign(x - 2.0); mnp.copysign(x, r - 2); mnp.heaviside(x - 2.0, r); mnp.maximum(x, r); mnp.minimum(x, 2); mnp.clip(x, 1, 3); mnp.sin(x)
mnp.cos(x); mnp.tan(x / 4); mnp.arcsin(x / 9); mnp.arccos(x / 9); mnp.arctan(x); mnp.arctan2(x, r); mnp.sinh(x); mnp.cosh(x); mnp.tanh(x)
mnp.arcsinh(x - 2.0); mnp.arccosh(x + 1.0); mnp.arctanh(x / 9); mnp.deg2rad(x); mnp.rad2deg(x); mnp.exp(x); mnp.exp2(x); mnp.expm1(x)
mnp.log(x); mnp.log10(x); mnp.log1p(x); mnp.log2(x); mnp.logaddexp(x, r); mnp.logaddexp2(x, r); mnp.sqrt(x); mnp.cbrt(x - 2.0)
mnp.diff(x, 2); mnp.diff(x, prepend=r[0]); mnp.ediff1d(x, 1, r[:1]); mnp.trapz(x, r); mnp.trapz(x, dx=0.5); mnp.gradient(x)[1]
mnp.unwrap(x * 3); mnp.cov(x); mnp.corrcoef(s); mnp.norm(x); mnp.norm(r, 3); mnp.norm(s, 1); mnp.norm(x, axis=1); mnp.dot(x, s)
mnp.inner(x, s); mnp.outer(r, x); mnp.tensordot(x, s, 1); mnp.matmul(x, s); mnp.kron(x, r); mnp.cross(x, r); mnp.cross(x[:, :2], x[:, 1:])
mnp.matrix_power(s, 3); mnp.multi_dot((x, s, r)); mnp.convolve(r, x[0]); mnp.polyint(r); mnp.correlate(r, x[0], 'full')
mnp.polyadd(r, x[0, :2]); mnp.polymul(r, r); mnp.polyval(r, x); mnp.polyder(r); mnp.interp(x, [0, 9], r[:2])
mnp.histogram(x, [0, 2, 5], weights=x)[0]; mnp.bincount(at, r, length=3); mnp.gcd(at, 6) * r; mnp.unravel_index(at, (2, 2))[0] * r
mnp.zeros_like(x) + x; mnp.ones(3) * r; mnp.arange(3) * r; mnp.eye(3) * s; mnp.mgrid[0:2, 0:3][1] * x; mnp.isin(at, [0, 1]) * r
mnp.hanning(3) * r; mnp.digitize(x, [1, 2]) * x; mnp.pi * x; mnp.full_like(x, 3) * x; mnp.searchsorted(r, x) * x
mnp.logical_and(x > 1, x < 3) * x
"""
EXPRESSIONS = [e.strip() for line in DIFFERENTIABLE.strip().splitlines() for e in line.split("; ")]
"""Functions of a matrix x [2, 3], a square one s, a row r [3] and integers at [3]."""

VALUES = (
    np.array([[0.7, 1.3, 2.9], [3.4, 0.45, 1.9]]),
    np.array([[2.0, 1.1, 0.5], [0.6, 3.0, 1.2], [1.05, 0.25, 4.0]]),
    np.array([0.8, 1.7, 2.6]),
)
DIRECTIONS = [np.cos(np.arange(v.size) * 1.7 + 0.3).reshape(v.shape) for v in VALUES]
AT = np.array([0, 2, 1])


def as_recorded(expression: str) -> Any:
    """What a call gives, written as MindSpore's answers are; of an exception the names of its classes."""
    try:
        return answers.encoded(eval(expression, array_calls.space(mnp, Tensor)))
    except Exception as problem:
        return {"error": [kind.__name__ for kind in type(problem).__mro__]}


def arrays(x: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays in a result."""
    if isinstance(x, (tuple, list)):
        return [array for item in x for array in arrays(item)]
    return [np.asarray(x)]


def is_as_numpy(expression: str) -> bool | None:
    """Whether shapes and values are NumPy's; None where it does not take the call, or we do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = arrays(eval(expression, array_calls.space(np, lambda array: array)))
            got = arrays(eval(expression, array_calls.space(mnp, Tensor)))
        except Exception:
            return None
    near = 3e-3 if any(x.dtype == np.float16 for x in (*wanted, *got)) else 2e-6
    try:
        return [x.shape for x in wanted] == [x.shape for x in got] and all(
            np.allclose(x.astype(float), y.astype(float), near, near, equal_nan=True) for x, y in zip(wanted, got, strict=True))
    except (TypeError, ValueError):
        return False


def slopes(expression: str) -> list[float]:
    """The slope of the sum of the sines along one direction: by gradients, and by a central difference, in Float64."""

    def f(x: Tensor, s: Tensor, r: Tensor) -> Tensor:
        return mnp.sum(mnp.sin(eval(expression, {"mnp": mnp, "x": x, "s": s, "r": r, "at": Tensor(AT)})))

    gradients = ms.grad(f, (0, 1, 2))(*map(Tensor, VALUES))
    step = 1e-6
    high, low = (float(f(*(Tensor(v + sign * step * d) for v, d in zip(VALUES, DIRECTIONS, strict=True)))) for sign in (1, -1))
    return [sum(float((g.asnumpy() * d).sum()) for g, d in zip(gradients, DIRECTIONS, strict=True)), (high - low) / (2 * step)]


def in_graphs() -> dict[str, bool | str]:
    """Whether the gradients in a graph have the bits of eager ones, for each expression; or the exception."""
    text = "import adjoint.numpy as mnp\n" + "".join(
        f"def f{i}(x, s, r, at):\n    return mnp.sum(mnp.sin({e}))\n" for i, e in enumerate(EXPRESSIONS))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "expressions.py")
        file.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("expressions", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return {e: has_the_same_bits(getattr(module, f"f{i}")) for i, e in enumerate(EXPRESSIONS)}


def has_the_same_bits(function: Any) -> bool | str:
    operands = [*(Tensor(v.astype(np.float32)) for v in VALUES), Tensor(AT)]
    gradient = ms.value_and_grad(function, (0, 1, 2))
    try:
        (one, eager), (other, graph) = gradient(*operands), ms.jit(gradient)(*operands)
    except Exception as problem:
        return repr(problem)
    return [g.asnumpy().tobytes() for g in (one, *eager)] == [g.asnumpy().tobytes() for g in (other, *graph)]


if __name__ == "__main__":
    calls = array_calls.expressions()
    json.dump({
        "mindspore": {e: as_recorded(e) for e in calls}, "numpy": {e: is_as_numpy(e) for e in calls},
        "slopes": {e: slopes(e) for e in EXPRESSIONS}, "graphs": in_graphs(),
    }, sys.stdout)
