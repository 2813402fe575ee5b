"""Calls of `mindspore.numpy`, as expressions over the arrays of `space`; `mnp` is the module."""

from typing import Any

import numpy as np

DTYPES = ("bool_", "int8", "uint8", "int32", "int64", "float16", "float32", "float64")
PAIRS = (("int32", "int32"), ("int32", "float32"), ("float16", "float32"), ("float16", "int64"), ("int8", "uint8"), ("int32", "int64"),
         ("float64", "float32"), ("bool_", "int32"))

ONE = (
    "absolute", "deg2rad", "rad2deg", "square", "sqrt", "reciprocal", "log", "log1p", "log2", "log10", "exp", "expm1", "exp2", "floor",
    "ceil", "fix", "trunc", "rint", "negative", "positive", "sign", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos",
    "arctan", "arcsinh", "arctanh", "invert", "sum", "mean", "std", "var", "ptp", "amax", "amin", "argmax", "argmin", "nansum", "nanmean",
    "nanmax", "nanmin", "nanstd", "nanvar", "cumsum", "nancumsum", "cumprod", "average", "count_nonzero", "around", "diff", "ediff1d",
    "trapz", "gradient", "cov", "norm", "isnan", "isfinite", "isinf", "signbit", "unwrap", "logical_not", "tril", "diagflat", "flip",
)
"""Functions of one array, of each dtype."""

TWO = (
    "add", "subtract", "multiply", "divide", "power", "float_power", "minimum", "maximum", "floor_divide", "remainder", "fmod", "hypot",
    "arctan2", "heaviside", "logaddexp", "logaddexp2", "copysign", "gcd", "lcm", "divmod", "bitwise_and", "bitwise_or", "bitwise_xor",
    "dot", "inner", "outer", "matmul", "kron", "cross", "convolve", "correlate", "equal", "less", "greater", "logical_and", "logical_or",
)
"""Functions of two arrays, of pairs of dtypes, and with Python's numbers."""

CALLS = """
mnp.array([1, 2.5]); mnp.array([True, 2]); mnp.array([]); mnp.array('a'); mnp.array(1, dtype='int'); mnp.array(1, int); mnp.array(True)
mnp.array([[1, 2], [3]]); mnp.array(np.ones(2)); mnp.array(1, dtype='foo'); mnp.array(ints, ndmin=3); mnp.array([1, 2], ndmin=3)
mnp.array(1.5, np.float64); mnp.array([half, half]); mnp.asarray([1, 2], 'float16'); mnp.asarray(whole); mnp.asfarray([1, 2])
mnp.asfarray([1, 2], 'int32'); mnp.asfarray(3); mnp.copy([1, 2]); mnp.copy(a); mnp.full((2,), 3); mnp.full((2,), 3.5); mnp.full((2,), True)
mnp.full((2, 3), [1, 2, 3]); mnp.full((2, 0), 1); mnp.full((2,), None); mnp.full(-1, 1); mnp.full(2.5, 1); mnp.full('a', 1)
mnp.zeros((2,), 'int'); mnp.zeros([2, 3]); mnp.zeros(2, int); mnp.zeros(2, bool); mnp.ones(3); mnp.ones((2, 3), 'float64')
mnp.empty((2, 3)); mnp.ones_like([1, 2]); mnp.ones_like(half); mnp.ones_like('a'); mnp.zeros_like([[1.0, 2.0]], dtype='int', shape=(3,))
mnp.full_like(ints, 2.5); mnp.full_like([1, 2], 7, shape=(2, 2)); mnp.empty_like([1, 2]); mnp.arange(5); mnp.arange(5.0); mnp.arange(1, 5)
mnp.arange(1, 6, 2); mnp.arange(1, 2, 0.3); mnp.arange(5, 0, -1); mnp.arange(5, dtype='float16'); mnp.arange(True); mnp.arange(0, 5, 0)
mnp.arange('a'); mnp.arange(step=2, stop=5, start=1); mnp.linspace(0, 1, 5); mnp.linspace(0, 1, 5, False)
mnp.linspace(0, 1, 5, retstep=True); mnp.linspace([1, 2], 5, 3); mnp.linspace([1.0, 2.0], [5, 6], 3, axis=1); mnp.linspace(0, 1, 1)
mnp.linspace(0, 10, 5, dtype='int32'); mnp.linspace(0, 1, 2.5); mnp.linspace(0, 1, 0); mnp.logspace(0, 2, 3); mnp.logspace(0, 2, 3, base=2)
mnp.geomspace(1, 256, 9); mnp.geomspace(1, 256, 8, False); mnp.eye(2); mnp.eye(2, 3, 1); mnp.eye(2, 3, -1, 'int'); mnp.eye(2.0)
mnp.eye(3, 3, 5); mnp.identity(2); mnp.tri(3); mnp.tri(3, 4, 1); mnp.tril([1, 2, 3]); mnp.triu([1, 2, 3], 1); mnp.tril(5); mnp.triu(truth)
mnp.triu(square, 1); mnp.diagonal(a); mnp.diagonal(square, 1); mnp.trace(square); mnp.trace(whole); mnp.diag(row); mnp.diag(a, 1)
mnp.diag([1, 2]); mnp.diagflat(whole, -1); mnp.vander([1.0, 2.0, 3.0]); mnp.vander(ints, 2); mnp.vander([1, 2, 3], increasing=True)
mnp.vander(a); mnp.meshgrid(row, ints); mnp.meshgrid(row, ints, sparse=True); mnp.meshgrid(row); mnp.meshgrid([1, 2])
mnp.meshgrid(row, indexing='z'); mnp.mgrid[0:3]; mnp.mgrid[0:3, 0:2]; mnp.mgrid[0:1:5j]; mnp.ogrid[0:3, 0:2]; mnp.ogrid[0:3]
mnp.diag_indices(3); mnp.ix_(ints, ints); mnp.indices((2, 3)); mnp.bartlett(5); mnp.blackman(5); mnp.hamming(5); mnp.hanning(6)
mnp.hanning(1); mnp.hanning(5.0); mnp.triu_indices(3); mnp.tril_indices(3, 1, 2); mnp.triu_indices_from(a); mnp.tril_indices_from(a)
mnp.triu_indices_from(row); mnp.pad(ints, 1); mnp.pad(ints, (1, 2), constant_values=(5, 6)); mnp.pad(a, ((1, 1), (2, 0)), 'edge')
mnp.pad(ints, 2, 'reflect'); mnp.pad(ints, 4, 'reflect'); mnp.pad(ints, 4, 'symmetric'); mnp.pad(row, 5, 'reflect', reflect_type='odd')
mnp.pad(ints, 4, 'wrap'); mnp.pad(row, 3, 'symmetric', reflect_type='odd'); mnp.pad(row, 2, 'linear_ramp', end_values=5)
mnp.pad(row, 2, 'maximum'); mnp.pad(row, 2, 'mean', stat_length=2); mnp.pad(row, 1, 'minimum'); mnp.pad(ints, 2, 'foo')
mnp.pad(ints, 2, 'median'); mnp.pad(a, (1, 2)); mnp.randint(0); mnp.randint(5, 1); mnp.rand('a'); mnp.randint(2.5); mnp.concatenate((a, b))
mnp.concatenate((a, whole)); mnp.concatenate((ints, longs)); mnp.concatenate((half, longs)); mnp.concatenate(a)
mnp.concatenate((a, b), None); mnp.concatenate((a, b), 5); mnp.concatenate(None); mnp.append(a, b); mnp.append(a, b, 0)
mnp.append(a, row, 0); mnp.append(a, 5); mnp.column_stack((row, row)); mnp.vstack((row, row)); mnp.hstack((row, row)); mnp.dstack((a, b))
mnp.hstack(a); mnp.hstack(5); mnp.hstack([]); mnp.stack((a, b)); mnp.stack((a, whole), axis=2); mnp.stack((a, b), -1); mnp.stack(a, 1)
mnp.stack(5); mnp.stack((a, row)); mnp.split(a, 2); mnp.split(a, 3, 1); mnp.split(a, 2, 1); mnp.split(a, [1], 1); mnp.split(a, (1, 2), 1)
mnp.split(a, [0], 1); mnp.split(a, [-1], 1); mnp.split(a, 0); mnp.split(a, 5); mnp.split(a, 2.0); mnp.split([1, 2], 2); mnp.split(a, 2, 3)
mnp.array_split(longs, 2); mnp.array_split(a, 2); mnp.vsplit(a, 2); mnp.hsplit(a, 3); mnp.dsplit(a, 3); mnp.expand_dims(a, 0)
mnp.expand_dims(a, (0, -1)); mnp.expand_dims(a, 5); mnp.expand_dims(a, 1.0); mnp.squeeze(mnp.ones((1, 2, 1)))
mnp.squeeze(mnp.ones((1, 2, 1)), 0); mnp.squeeze(a, 0); mnp.transpose(a); mnp.transpose(a, (1, 0)); mnp.rollaxis(box, 2)
mnp.rollaxis(box, 0, 3); mnp.rollaxis(box, 0, 5); mnp.rollaxis(box, 5); mnp.rollaxis(box, 2, 1); mnp.swapaxes(a, 0, 1); mnp.size(a)
mnp.reshape(a, (3, 2)); mnp.reshape(a, -1); mnp.reshape(a, (4, 2)); mnp.reshape([1, 2], 2); mnp.ravel(a); mnp.size(a, 1); mnp.size([1, 2])
mnp.where(truth, a, b); mnp.where(truth, 1, 0); mnp.where(truth, 1.5, whole); mnp.where(truth, truth, truth); mnp.where(whole, a, 1)
mnp.where(truth); mnp.where([True, False], [1, 2], [3, 4]); mnp.atleast_1d(number); mnp.atleast_2d(row, number); mnp.atleast_3d(row)
mnp.atleast_1d(5); mnp.atleast_3d(a); mnp.unique(whole); mnp.unique(twice, True); mnp.unique([1, 2]); mnp.roll(a, 1)
mnp.roll(a, (1, 2), (0, 1)); mnp.roll(whole, 1, 1); mnp.roll(a, 1, 5); mnp.roll(a, 1.0); mnp.moveaxis(box, 0, -1)
mnp.moveaxis(box, (0, 1), (-1, 0)); mnp.moveaxis(a, 0, 5); mnp.moveaxis(a, (0, 1), 0); mnp.tile(a, 2); mnp.tile(a, (2, 1, 1))
mnp.tile(a, 0); mnp.tile(a, 2.0); mnp.broadcast_to(row, (2, 3)); mnp.broadcast_to(row, (2, 4)); mnp.broadcast_arrays(row, mnp.ones((2, 1)))
mnp.flip(a); mnp.flip(whole, 1); mnp.flip(a, (0, 1)); mnp.flip(a, 2); mnp.flip(truth, 0); mnp.flipud(a); mnp.fliplr(a); mnp.fliplr(row)
mnp.take_along_axis(a, whole % 2, 0); mnp.take_along_axis(a, column, 1); mnp.take_along_axis(a, places, None)
mnp.take_along_axis(a, places, 0); mnp.take(a, places); mnp.take(a, far); mnp.take(a, column, 1); mnp.take(a, far, 1, 'wrap')
mnp.take(a, places, 1, 'raise'); mnp.take(a, places, 1, 'foo'); mnp.take(a, [0, 1]); mnp.repeat(a, 2); mnp.repeat(a, [1, 2], 0)
mnp.repeat(3, 4); mnp.repeat(a, 2, 1); mnp.repeat(a, [1, 2, 3], 0); mnp.rot90(a); mnp.rot90(whole, 2); mnp.rot90(a, -1)
mnp.rot90(a, 1, (0, 0)); mnp.rot90(a, 1.0); mnp.rot90(a, 1, (0,)); mnp.select([truth, a < 1], [a, b], 7); mnp.select([truth], [a, b])
mnp.select([truth, a < 1], [whole, whole], 7.5); mnp.choose(ints - 1, [[1, 2, 3], [4, 5, 6], [7, 8, 9]]); mnp.choose(row, [[1], [2]])
mnp.choose(far, [[1, 2], [3, 4]]); mnp.choose(far, [[1, 2], [3, 4]], 'wrap'); mnp.choose(ints, [[1], [2]], 'raise'); mnp.array_str(ints)
mnp.array_str([1]); mnp.apply_along_axis(mnp.sum, 0, a); mnp.apply_along_axis(mnp.diag, -1, a); mnp.apply_along_axis(lambda x: x * 2, 0, a)
mnp.piecewise(a, [a < 2, a >= 2], [-1, 1]); mnp.piecewise(a, [a < 2, a >= 2], [lambda x: -x, lambda x: x])
mnp.piecewise(a, [a < 2], [-1, 1, 3]); mnp.unravel_index([4, 5], (2, 3)); mnp.unravel_index(far, (2, 3)); mnp.unravel_index(4, (2, 3))
mnp.unravel_index(4, 6); mnp.unravel_index([4, 5], (2, 3), 'F'); mnp.unravel_index([4, 5], (2, 3), 'X')
mnp.apply_over_axes(mnp.sum, a, (0, 1)); mnp.apply_over_axes(mnp.sum, a, 0); mnp.argwhere(truth); mnp.argwhere([0, 1, 2])
mnp.intersect1d([1, 3, 5], [3, 5, 7]); mnp.intersect1d([1, 3, 3, 5], [5, 3, 7], return_indices=True); mnp.intersect1d([3, 1], [1, 3], True)
mnp.intersect1d([1], [2]); mnp.in1d([1, 2], [2, 3]); mnp.isin(whole, [1, 2]); mnp.isin(whole, [1, 2], True)
mnp.setdiff1d([3, 1, 2, 1], [2]); mnp.setdiff1d([3, 1, 2, 1], [2], True); mnp.setdiff1d([3.0, 1], [2], 1); mnp.not_equal(a, b)
mnp.less(a, 1); mnp.less(1, 2); mnp.less_equal(a, b); mnp.greater_equal(a, b); mnp.equal(a, [1, 2, 3]); mnp.equal('a', 1); mnp.isinf(1.0)
mnp.isposinf(odd); mnp.isneginf(odd); mnp.isposinf(1.0); mnp.isneginf(1.0); mnp.isscalar(1); mnp.isscalar(a); mnp.isscalar('a')
mnp.isscalar([1]); mnp.isscalar(number); mnp.isscalar(None); mnp.isclose(a, b); mnp.isclose([1.0, np.nan], [1.0, np.nan], equal_nan=True)
mnp.logical_xor(truth, truth); mnp.logical_xor(truth, True); mnp.array_equal(a, b); mnp.array_equal([1, 2], [1, 2])
mnp.array_equal([1, 2], [1, 2, 3]); mnp.array_equal([np.nan], [np.nan], True); mnp.array_equiv([1, 1], [[1, 1], [1, 1]])
mnp.array_equiv([1, 1], [1, 1, 1]); mnp.signbit([-1.0, 2.0]); mnp.sometrue(truth); mnp.sometrue(a, 1); mnp.sometrue(a, 1, True)
mnp.sometrue(a, (0, 1)); mnp.sometrue(a, 5); mnp.sum(a, 0); mnp.sum(a, (0, 1), keepdims=True); mnp.sum(whole, initial=3)
mnp.sum(half, dtype='float32'); mnp.sum(a, 5); mnp.mean(a, 1); mnp.mean(a, keepdims=True); mnp.mean([1, 2, 4]); mnp.std(a, 0)
mnp.std(a, ddof=1); mnp.var(a, 1, 1, True); mnp.average(a, 1); mnp.average(a, 1, row); mnp.average(a, weights=b)
mnp.average(a, 0, returned=True); mnp.average(a, weights=row); mnp.amax(a, 1); mnp.amax(a, 0, True); mnp.amax(a, initial=9.0)
mnp.amax(a, 1, initial=0.5, where=truth); mnp.amin(a, (0, 1)); mnp.argmax(a, 1); mnp.argmin(a, 0); mnp.ptp(a, 0); mnp.count_nonzero(a, 0)
mnp.count_nonzero(a, keepdims=True); mnp.nansum(odd); mnp.nanmean(odd[:3]); mnp.nanmax(odd[:3]); mnp.nanmin(odd[:3]); mnp.nanstd(odd[:3])
mnp.nanvar(odd[:3], ddof=1); mnp.nancumsum(odd[:3]); mnp.nanmean(a, 0, keepdims=True); mnp.nanvar(a, 1); mnp.nansum(a, 0, dtype='float64')
mnp.cumsum(a); mnp.cumsum(a, 0); mnp.cumsum(whole, 1, 'float32'); mnp.cumprod(a, 1); mnp.cumprod(b); mnp.cumprod(a, 1.0)
mnp.around([2.567, -1.5, 2.5]); mnp.around(row, 2); mnp.around(row, -1); mnp.clip(a, 1, 3); mnp.clip(whole, 1.5, None)
mnp.clip(a, None, None); mnp.maximum(a, 2); mnp.maximum(whole, 2.5); mnp.minimum([1, 5], [3, 2]); mnp.add(2, 3); mnp.add(half, 1.5)
mnp.add(longs, 1); mnp.divide(3, 2); mnp.remainder([7, -7, 5], [3, 3, 0]); mnp.fmod([7, -7, 5], [3, 3, 0]); mnp.floor_divide(a, 2)
mnp.divmod([7, -7], 3); mnp.power(a, 2); mnp.gcd([12, 18, 0], [18, 12, 5]); mnp.lcm([4, 6, 0], [6, 4, 5]); mnp.heaviside(row - 2.5, 0.5)
mnp.sign(row - 2.5); mnp.copysign(row, -1.0); mnp.absolute(row - 2.5); mnp.positive(truth); mnp.sign(truth); mnp.rint(row * 0.7)
mnp.fix(row - 2.7); mnp.diff(a, axis=0); mnp.diff(a, 2); mnp.diff(a, 3); mnp.diff(a, prepend=0.5); mnp.diff(a, 0); mnp.diff(a, -1)
mnp.ediff1d(a, 7, [1, 2]); mnp.trapz(a); mnp.trapz(a, [0.0, 1.0, 3.0]); mnp.trapz(a, dx=0.5, axis=0); mnp.gradient(a)
mnp.gradient(a, 2.0, axis=1); mnp.gradient(row); mnp.gradient(a, edge_order=2); mnp.unwrap([0.0, 3.0, 6.2, 0.1]); mnp.cov(a)
mnp.cov(a, rowvar=False); mnp.cov(a, bias=True); mnp.cov(a, b); mnp.cov(a, fweights=[1, 2, 1]); mnp.cov(a, aweights=[1, 2, 1])
mnp.corrcoef(square); mnp.corrcoef(row); mnp.norm(a); mnp.norm(a, 1); mnp.norm(a, np.inf); mnp.norm(row, 3); mnp.norm(a, axis=1)
mnp.norm(a, 'fro', keepdims=True); mnp.norm(row, 0); mnp.norm(a, 2); mnp.norm(a, 'x'); mnp.norm(box, 1); mnp.norm(a, -1, (0, 1))
mnp.norm(box); mnp.dot(a, square); mnp.dot(row, row); mnp.dot(a, number); mnp.dot(a, a); mnp.inner(a, b); mnp.inner(a, number)
mnp.outer(a, row); mnp.tensordot(a, square, 1); mnp.tensordot(a, b); mnp.tensordot(a, b, ((1,), (1,))); mnp.tensordot(a, b, 1)
mnp.matmul(a, square); mnp.matmul(a, row, 'float64'); mnp.matmul(a, a); mnp.kron(a, row); mnp.kron([1, 2], [[1], [2]]); mnp.cross(a, b)
mnp.cross(a[:, :2], b); mnp.cross(a[:, :2], b[:, :2]); mnp.cross(square, square[::-1], axis=0); mnp.cross(a, whole); mnp.cross(row, [1.0])
mnp.matrix_power(square, 3); mnp.matrix_power(square, 0); mnp.matrix_power(square, -1); mnp.matrix_power(a, 2)
mnp.matrix_power(square, 1.5); mnp.multi_dot((a, square, row)); mnp.multi_dot((a, square)); mnp.multi_dot((a,))
mnp.multi_dot((row, square, square, row)); mnp.convolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]); mnp.convolve(row, [1.0, 2.0], 'same')
mnp.convolve(row, [1.0, 2.0], 'valid'); mnp.convolve([1, 2], ints); mnp.convolve(row, row, 'x'); mnp.correlate(row, [0.0, 1.0], 'full')
mnp.correlate(row, row); mnp.correlate(row, [1.0, 2.0], 'same'); mnp.correlate([1.0, 2.0], row, 'full'); mnp.polyadd([1, 2], [9, 5, 4])
mnp.polysub([2, 10, -2], [3, 10, -4]); mnp.polymul([3, 1, 2], [2, 5]); mnp.polyval([3.0, 0, 1], row); mnp.polyder([1, 1, 1, 1])
mnp.polyder([1, 1], 3); mnp.polyder([1], -1); mnp.polyint([1, 1, 1]); mnp.polyint([6, 1], 2, [3, 5]); mnp.searchsorted([1, 2, 3, 4, 5], 3)
mnp.searchsorted([1, 2, 3, 4, 5], 3, 'right'); mnp.searchsorted([1, 2, 3], [-10, 10, 2, 3])
mnp.searchsorted([3, 1, 2], [2, 3], sorter=[1, 2, 0]); mnp.searchsorted([1, 2], 1, 'x'); mnp.searchsorted(a, 1)
mnp.digitize([0.2, 6.4, 3.0, 1.6], [0.0, 1.0, 2.5, 4.0, 10.0]); mnp.digitize([1.2, 10.0, 12.4], [0.0, 5.0, 10.0], True)
mnp.digitize([1, 3], [4, 2, 0]); mnp.digitize(row, a); mnp.interp([0.0, 1.0, 1.5, 2.72, 3.14], [1, 2, 3], [3, 2, 0])
mnp.interp(2.5, [1, 2, 3], [3, 2, 0]); mnp.interp([0.0, 4.0], [1, 2, 3], [3, 2, 0], -99.0, 99.0); mnp.interp(1.0, [1, 2], [1])
mnp.bincount([1, 0, 3, 1]); mnp.bincount([1, 0, 1], [0.5, 1.0, 2.0]); mnp.bincount([1, 0], minlength=4); mnp.bincount(row)
mnp.bincount(whole); mnp.bincount([1, 0, 5], length=3); mnp.histogram([1, 2, 1], bins=[0, 1, 2, 3]); mnp.histogram(row, 4)
mnp.histogram(row, 4, (0, 8)); mnp.histogram(row, 4, density=True); mnp.histogram([1, 2, 1], 3, weights=[1.0, 0.5, 2.0])
mnp.histogram_bin_edges([1, 2, 4], 4); mnp.histogram_bin_edges([1, 2, 4], [1, 2, 3]); mnp.histogram_bin_edges([1, 2, 4], 'auto')
mnp.histogram(row, 4, (8, 0)); mnp.histogram2d(row, [3.0, 1.0, 2.0], 3); mnp.histogramdd([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]], (2, 3))
mnp.histogramdd(5); mnp.histogramdd(square, 2, density=True); mnp.ravel_multi_index([[3, 6, 6], [4, 5, 1]], (7, 6))
mnp.ravel_multi_index([[8], [4]], (7, 6)); mnp.ravel_multi_index([[8], [7]], (7, 6), 'wrap')
mnp.ravel_multi_index([[3, 6], [4, 5]], (7, 6), order='F'); mnp.ravel_multi_index([[8], [4]], (7, 6), 'raise')
mnp.promote_types('float32', 'int64'); mnp.promote_types('uint8', 'int8'); mnp.promote_types('uint64', 'int8'); mnp.result_type('i2', 2.0)
mnp.result_type(whole, 'float16'); mnp.result_type(3, 4.0); mnp.float_; mnp.int_; mnp.uint; mnp.pi; mnp.inf; mnp.PINF; mnp.NINF
mnp.int_ == mnp.int32
"""


def expressions() -> list[str]:
    found = [e.strip() for line in CALLS.strip().splitlines() for e in line.split("; ")]
    found += [f"mnp.{name}(of('{dtype}'))" for name in ONE for dtype in DTYPES]
    found += [f"mnp.{name}(of('{one}'), of('{two}', (3, 1, 2)))" for name in TWO for one, two in PAIRS]
    found += [f"mnp.{name}(of('{dtype}'), {number})" for name in TWO[:22] for dtype, number in
              (("int32", 2), ("int32", 2.5), ("float16", 2), ("float16", 2.5), ("int64", 2), ("float64", 1.5))]
    return found


def space(mnp: Any, make: Any) -> dict[str, Any]:
    """The names of the expressions; `make` makes an array of the module out of one of NumPy's."""

    def of(dtype: str, values: tuple[int, ...] = (1, 2, 3)) -> Any:
        small = np.array(values) / (8 if "float" in dtype else 1)
        return make(small.astype("bool" if dtype == "bool_" else dtype))

    arrays = {
        "a": np.arange(6.0, dtype=np.float32).reshape(2, 3), "b": np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3) * 1.5,
        "row": np.array([1.5, 2.0, 4.0], np.float32), "ints": np.array([1, 2, 3], np.int32), "longs": np.array([4, 5, 6]),
        "half": np.array([1.5, 2.0, 4.0], np.float16), "whole": np.array([[1, 5, 2], [4, 3, 0]], np.int32),
        "truth": np.array([[True, False, True], [False, True, True]]), "number": np.array(2.5, np.float32),
        "square": np.array([[2.0, 1.0, 0.5], [0.5, 3.0, 1.0], [1.0, 0.25, 4.0]], np.float32), "column": np.array([[0], [2]]),
        "box": np.arange(24.0, dtype=np.float32).reshape(2, 3, 4), "places": np.array([0, 2]), "far": np.array([5, 9]),
        "twice": np.array([3.0, 1.0, 3.0], np.float32), "odd": np.array([1.0, np.nan, 3.0, np.inf, -np.inf], np.float32),
    }
    return {"mnp": mnp, "np": np, "of": of, **{name: make(array) for name, array in arrays.items()}}
