"""One valid call of every public entry: functions, primitives, layers, tensor methods, optimisers, gradients, initialisers, settings.

A line is a Python expression over the values below.  `name(arguments)(operands)` makes an object and calls it.  The values are made anew
for every call, so that a call that writes its operand changes no other.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.common import initializer

FUNCTIONS = """
ops.abs(x); ops.absolute(x); ops.acos(unit); ops.adaptive_avg_pool2d(image, 2); ops.add(x, y); ops.add_flags(function, own=True)
ops.addbmm(row[:2], batch, batch); ops.adjoint(x); ops.arccos(unit); ops.arccosh(positive + 1); ops.arcsin(unit); ops.arcsinh(x)
ops.arctan(x); ops.arctan2(x, y); ops.arctanh(unit); ops.matrix_determinant(square); ops.log_matrix_determinant(square)
ops.nanquantile(x, 0.5); ops.quantile(x, 0.5); ops.row_stack([x, y]); ops.soft_shrink(x); ops.ormqr(square, row, square)
ops.addcdiv(x, y, positive, 1); ops.addcmul(x, y, y, 1); ops.addmm(square, square, square); ops.addmv(row, square, row)
ops.addn([x, y]); ops.all(truth, 0); ops.amax(x, 0); ops.amin(x, 0); ops.any(truth, 0); ops.arange(0, 5, 2); ops.argmax(x, 0)
ops.argmin(x, 0); ops.argsort(x, 0); ops.asin(unit); ops.assign(parameter, row); ops.assign_add(parameter, row)
ops.assign_sub(parameter, row); ops.atan(x); ops.atan2(x, y); ops.avg_pool1d(signal, 2, 1); ops.avg_pool2d(image, 2, 1)
ops.baddbmm(batch, batch, batch); ops.batch_dot(batch, batch, 1); ops.batch_norm(x, row, positive_row, row, row)
ops.bernoulli(unit, 0.5, 1); ops.bias_add(x, row); ops.binary_cross_entropy(unit, unit)
ops.binary_cross_entropy_with_logits(x, unit, x, x); ops.bitwise_and(whole, whole); ops.bitwise_or(whole, whole)
ops.bitwise_xor(whole, whole); ops.bmm(batch, batch); ops.broadcast_to(row, (2, 3)); ops.cast(x, ms.float64); ops.cat([x, y])
ops.ceil(x); ops.celu(x); ops.chunk(x, 2); ops.clamp(x, 0, 1); ops.clip(x, 0, 1); ops.clip_by_global_norm([x, y])
ops.clip_by_norm(x, 1.0); ops.clip_by_value(x, 0, 1); ops.concat([x, y]); ops.conv1d(signal, signal_kernel); ops.conv2d(image, kernel)
ops.cos(x); ops.cosh(x); ops.cosine_embedding_loss(x, y, signs); ops.cosine_similarity(x, y); ops.count_nonzero(x)
ops.cross_entropy(x, classes); ops.ctc_loss(spoken, labels, spoken_lengths, label_lengths); ops.cumprod(x, 0); ops.cumsum(x, 0)
ops.dense(x, square, row); ops.depend(x, y); ops.det(square); ops.diag(row)
ops.diagonal(square); ops.div(x, positive); ops.divide(x, positive); ops.dot(square, square); ops.dropout(x, 0.5, True, 1)
ops.tuple_len((x, y)); ops.pows(positive, 2); ops.mixed_precision_cast(ms.float16, x)
ops.einsum('ij,jk->ik', x, square); ops.elu(x); ops.embedding(classes, x); ops.eq(x, y); ops.equal(x, y); ops.erf(x); ops.erfc(x)
ops.bessel_i0(x); ops.bessel_i0e(x); ops.bessel_i1(x); ops.bessel_i1e(x); ops.bessel_j0(x); ops.bessel_j1(x); ops.bessel_k0(positive)
ops.bessel_k0e(positive); ops.bessel_k1(positive); ops.bessel_k1e(positive); ops.bessel_y0(positive); ops.bessel_y1(positive)
ops.digamma(positive); ops.erfinv(unit); ops.i0(x); ops.igamma(positive, positive); ops.igammac(positive, positive); ops.lgamma(positive)
ops.mvlgamma(positive + 1, 2); ops.polygamma(ms.Tensor(1), positive); ops.sinc(x); ops.zeta(positive + 1.5, positive)
ops.exp(x); ops.exp2(x); ops.expand(row, (2, 3)); ops.expand_as(row, x); ops.expand_dims(x, 0); ops.expm1(x); ops.eye(2, 3)
ops.fast_gelu(x); ops.fill(ms.float32, (2,), 1); ops.flatten(x); ops.flip(x, (0,)); ops.fliplr(x); ops.flipud(x); ops.floor(x)
ops.floor_div(x, positive)
ops.floor_divide(x, positive); ops.floor_mod(x, positive); ops.fmod(x, positive); ops.full((2,), 1.0); ops.full_like(x, 1.0)
ops.gather(x, classes, 0); ops.gather_d(x, 0, places); ops.gather_elements(x, 0, places); ops.gather_nd(x, pairs); ops.ge(x, y)
ops.gelu(x); ops.ger(row, row); ops.get_grad(((0, x), (1, y)), 0); ops.glu(image, 3); ops.grad(function)(x); ops.greater(x, y)
ops.greater_equal(x, y); ops.group_norm(image, 1); ops.gt(x, y); ops.hardshrink(x); ops.hardsigmoid(x); ops.hardswish(x)
ops.hardtanh(x); ops.hinge_embedding_loss(row[:2], signs); ops.hstack([x, y]); ops.huber_loss(x, y); ops.identity(x)
ops.index_add(parameter, classes, row[:2], 0); ops.index_select(x, 0, classes); ops.inner(row, row)
ops.inverse(square)
ops.invert(whole); ops.isclose(x, y); ops.isfinite(x); ops.isinf(x); ops.isnan(x); ops.jvp(function, x, y); ops.kl_div(x, unit)
ops.l1_loss(x, y); ops.layer_norm(x, (3,), row, row); ops.le(x, y); ops.leaky_relu(x); ops.lerp(x, y, 0.5); ops.less(x, y)
ops.less_equal(x, y); ops.linspace(0, 1, 3); ops.log(positive); ops.log10(positive); ops.log1p(positive); ops.log2(positive)
ops.logdet(square)
ops.log_softmax(x); ops.logaddexp(x, y); ops.logaddexp2(x, y); ops.logcumsumexp(x, 0); ops.logical_and(truth, truth)
ops.logical_not(truth); ops.logical_or(truth, truth); ops.logical_xor(truth, truth)
ops.logsigmoid(x); ops.logsumexp(x, 0); ops.lt(x, y); ops.margin_ranking_loss(x, y, y); ops.masked_fill(x, truth, 1.0)
ops.masked_scatter(x, truth, y)
ops.masked_select(x, truth); ops.matmul(x, square); ops.max(x, 0); ops.max_pool2d(image, 2); ops.maximum(x, y); ops.mean(x, 0)
ops.median(x); ops.meshgrid(row, row); ops.min(x, 0); ops.minimum(x, y); ops.mish(x); ops.mm(x, square); ops.mod(x, positive)
ops.moveaxis(x, 0, 1); ops.movedim(x, 0, 1); ops.mse_loss(x, y); ops.mul(x, y); ops.multinomial(positive, 2, True, 1)
ops.multiply(x, y); ops.mv(square, row); ops.nan_to_num(x, 0.0, 1.0, -1.0); ops.nanmean(x, 0); ops.nansum(x, 0); ops.narrow(x, 0, 0, 1)
ops.ne(x, y); ops.neg(x); ops.negative(x); ops.nll_loss(x, classes); ops.nonzero(x); ops.norm(x); ops.normal((2,), 0.0, 1.0, 1)
ops.not_equal(x, y); ops.numel(x); ops.one_hot(classes, 3); ops.ones((2,)); ops.ones_like(x); ops.outer(row, row); ops.pad(x, (1, 1))
ops.permute(x, (1, 0)); ops.pow(positive, 2); ops.prelu(x, slope); ops.prod(x, 0); ops.ptp(x, 0); ops.rand(2, seed=1)
ops.rand_like(x, 1); ops.randint(0, 9, (2,), 1); ops.randint_like(x, 0, 9, 1); ops.randn(2, seed=1); ops.randn_like(x, 1)
ops.randperm(4, 1, 1); ops.range(0, 5, 2); ops.rank(x); ops.ravel(x); ops.reciprocal(positive); ops.relu(x); ops.relu6(x)
ops.remainder(x, positive); ops.repeat_elements(x, 2); ops.repeat_interleave(x, 2, 0); ops.reshape(x, (3, 2)); ops.reverse(x, (0,))
ops.rms_norm(x, row); ops.roll(x, 1, 0); ops.round(x); ops.rsqrt(positive); ops.scalar_add(2, 3.0); ops.scalar_cast(2, ms.float64)
ops.scalar_div(2, 3.0); ops.scalar_eq(2, 3.0); ops.scalar_floordiv(2, 3.0); ops.scalar_ge(2, 3.0); ops.scalar_gt(2, 3.0)
ops.scalar_le(2, 3.0); ops.scalar_log(2.0); ops.scalar_lt(2, 3.0); ops.scalar_max(2, 3.0); ops.scalar_min(2, 3.0); ops.scalar_mod(2, 3.0)
ops.scalar_mul(2, 3.0); ops.scalar_pow(2, 3.0); ops.scalar_sub(2, 3.0); ops.scalar_to_array(2.0); ops.scalar_to_tensor(2.0)
ops.scalar_uadd(2.0); ops.scalar_usub(2.0); ops.scatter(x, 1, places, y[:1]); ops.scatter_add(parameter, classes, row[:2])
ops.scatter_max(parameter, classes, row[:2]); ops.scatter_min(parameter, classes, row[:2]); ops.scatter_nd(pairs, row[:2], (2, 3))
ops.scatter_nd_add(parameter, singles, row[:2]); ops.scatter_nd_max(parameter, singles, row[:2])
ops.scatter_nd_min(parameter, singles, row[:2]); ops.scatter_nd_sub(parameter, singles, row[:2])
ops.scatter_nd_update(parameter, singles, row[:2]); ops.scatter_sub(parameter, classes, row[:2])
ops.scatter_update(parameter, classes, row[:2]); ops.select(truth, x, y); ops.select_scatter(x, row, 0, 1)
ops.selu(x); ops.shape(x); ops.shuffle(x, 1); ops.sigmoid(x); ops.sign(x); ops.silu(x); ops.sin(x); ops.sinh(x); ops.size(x)
ops.slice(x, (0, 0), (1, 2)); ops.slice_scatter(x, y, 0, 0, 2, 1); ops.slogdet(square); ops.smooth_l1_loss(x, y); ops.softmax(x)
ops.softmax_cross_entropy_with_logits(x, unit); ops.softmin(x)
ops.softplus(x); ops.softshrink(x); ops.softsign(x); ops.sort(x); ops.sparse_softmax_cross_entropy_with_logits(x, classes)
ops.split(x, 1); ops.sqrt(positive); ops.square(x); ops.squeeze(x); ops.stack([x, y]); ops.standard_normal((2,), 1); ops.std(x, 0)
ops.std_mean(x, 0); ops.stop_gradient(x); ops.strided_slice(x, (0, 0), (2, 2), (1, 1)); ops.sub(x, y); ops.subtract(x, y); ops.sum(x, 0)
ops.svd(x); ops.eig(square); ops.eigvals(square)
ops.swapaxes(x, 0, 1); ops.swapdims(x, 0, 1); ops.t(x); ops.take(x, classes); ops.tan(x); ops.tanh(x); ops.tanhshrink(x)
ops.tensor_add(x, y); ops.tensor_div(x, positive); ops.tensor_dot(x, square, 1); ops.tensor_floordiv(x, positive); ops.tensor_ge(x, y)
ops.tensor_gt(x, y); ops.tensor_le(x, y); ops.tensor_lt(x, y); ops.tensor_mod(x, positive); ops.tensor_mul(x, y)
ops.tensor_pow(positive, 2); ops.tensor_scatter_add(x, pairs, row[:2]); ops.tensor_scatter_elements(x, places, y[:1], 1)
ops.tensor_scatter_max(x, pairs, row[:2]); ops.tensor_scatter_min(x, pairs, row[:2]); ops.tensor_scatter_sub(x, pairs, row[:2])
ops.tensor_scatter_update(x, pairs, row[:2]); ops.tensor_split(x, 2); ops.tensor_sub(x, y)
ops.threshold(x, 0.0, 1.0); ops.tile(x, (2, 1)); ops.top_k(x, 2); ops.topk(x, 2); ops.transpose(x, (1, 0)); ops.tril(square)
ops.triu(square); ops.true_divide(x, positive); ops.trunc(x); ops.type_as(x, y); ops.unbind(x); ops.uniform((2,), low, high, 1)
ops.unique(whole); ops.unique_consecutive(whole)
ops.unsorted_segment_sum(x, classes, 3); ops.unsqueeze(x, 0); ops.unstack(x); ops.value_and_grad(function)(x); ops.var(x, 0)
ops.var_mean(x, 0); ops.view_as(x, y); ops.vjp(function, x); ops.vstack([x, y]); ops.where(truth, x, y); ops.xlogy(x, positive)
ops.zeros((2,)); ops.zeros_like(x); ops.dtype(x); ops.partial(function, x); ops.reduce_max(x, 0); ops.reduce_mean(x, 0)
ops.reduce_min(x, 0); ops.reduce_sum(x, 0); ops.tuple_to_array((1.0, 2.0))
ops.adaptive_avg_pool1d(sequence, 2); ops.adaptive_avg_pool3d(volume, 2); ops.adaptive_max_pool1d(sequence, 2)
ops.adaptive_max_pool2d(image, 2); ops.adaptive_max_pool3d(volume, 2); ops.avg_pool3d(volume, 2, 1); ops.channel_shuffle(image, 1)
ops.conv_transpose2d(image, kernel[:1]); ops.dropout1d(signal); ops.dropout2d(image); ops.dropout3d(volume); ops.lp_pool1d(signal, 2.0, 2)
ops.conv3d_transpose(volume, volume[:1, :, :1, :1, :1]); ops.imag(x); ops.conj(x)
ops.accumulate_n([x, y]); ops.floordiv(x, positive); ops.floormod(x, positive); ops.tensor_exp(x)
ops.tensor_expm1(x); ops.list_len([x, y]); ops.make_list(x, y); ops.tuple_reversed((x, y)); ops.shape_mul((2, 3)); ops.is_(x, y)
ops.is_not(x, y)
ops.lp_pool2d(image, 2.0, 2); ops.max_pool3d(volume, 2); ops.conv3d(volume, cube); ops.unfold(image, 2); ops.fold(columns, (3, 3), 2)
ops.col2im(patches, (3, 3), 2, 1, 0, 1); ops.interpolate(image, (3, 3));
ops.upsample(image, (3, 3)); ops.make_range(1, 5, 2); ops.iou(corners, corners);
ops.choice_with_mask(truth, 2, 1); ops.pixel_shuffle(four, 2); ops.pixel_unshuffle(four, 1)
ops.lrn(image, 1); ops.tensor_scatter_mul(x, pairs, row[:2]); ops.tensor_scatter_div(x, pairs, row[:2])
ops.scatter_mul(parameter, classes, row[:2]); ops.scatter_div(parameter, classes, row[:2])
ops.scatter_nd_mul(parameter, singles, row[:2]); ops.scatter_nd_div(parameter, singles, row[:2])
ops.gaussian_nll_loss(x, y, positive); ops.multi_margin_loss(x, classes); ops.multilabel_margin_loss(x, ranked)
ops.multilabel_soft_margin_loss(x, unit); ops.soft_margin_loss(x, y); ops.triplet_margin_loss(x, y, unit)
ops.copysign(x, y); ops.deg2rad(x); ops.rad2deg(x); ops.frac(x); ops.float_power(positive, 2); ops.fmax(x, y); ops.fmin(x, y)
ops.gcd(whole, whole); ops.lcm(whole, whole); ops.heaviside(x, y); ops.hypot(x, y); ops.ldexp(x, 2); ops.logit(unit, 0.1)
ops.nextafter(x, y); ops.positive(x); ops.signbit(x); ops.isneginf(x); ops.isposinf(x); ops.isreal(x); ops.is_nonzero(number)
ops.is_tensor(x); ops.is_floating_point(x); ops.is_complex(x)
ops.angle(waves); ops.polar(x, y); ops.view_as_real(waves); ops.approximate_equal(x, y); ops.xdivy(x, y)
ops.truncate_div(x, positive); ops.truncate_mod(x, positive); ops.bitwise_left_shift(whole, 1); ops.bitwise_right_shift(whole, 1)
ops.population_count(whole); ops.inv(positive); ops.eps(x); ops.acosh(large); ops.asinh(x); ops.atanh(unit); ops.sgn(x)
ops.mul_no_nan(x, y); ops.isnan_ext(x)
ops.argwhere(x); ops.cummax(x, 0); ops.cummin(x, 0); ops.diff(x); ops.diff_ext(x); ops.trapz(x); ops.aminmax(x); ops.msort(x)
ops.nanmedian(x); ops.bincount(classes); ops.histc(x, 3); ops.bucketize(x, [0.0, 1.0]); ops.searchsorted(ascending, x)
ops.intopk(x, classes, 2); ops.unique_with_pad(classes, 1)
ops.addr(x, row[:2], row); ops.kron(x, row); ops.vecdot(x, y); ops.cross(x, y); ops.vander(row, 2); ops.cov(x); ops.cdist(x, y)
ops.pdist(x); ops.dist(x, y); ops.renorm(x, 2, 0, 1.0); ops.bidense(x, x, pairing, row[:2]); ops.trace(square); ops.block_diag(x, row)
ops.diag_embed(x); ops.diagflat(row); ops.diagonal_scatter(square, row); ops.matrix_band_part(x, 0, 1); ops.matrix_diag(row)
ops.matrix_diag_part(x, 0, 0.0); ops.matrix_set_diag(square, row); ops.tril_indices(2, 3); ops.triu_indices(2, 3)
ops.atleast_1d(x); ops.atleast_2d(x); ops.atleast_3d(x); ops.batch_to_space_nd(stacked, 2, [[0, 0], [0, 0]]); ops.cartesian_prod(row, row)
ops.column_stack([x, y]); ops.combinations(row); ops.deepcopy(x); ops.move_to(x); ops.dyn_shape(x); ops.vsplit(x, 2); ops.hsplit(x, 3)
ops.dsplit(sequence, 2); ops.mirror_pad(x, paddings, 'SYMMETRIC'); ops.padding(column); ops.reverse_sequence(x, classes, 1)
ops.rot90(x, 1, (0, 1))
ops.sequence_mask(classes, 3); ops.space_to_batch_nd(image, 2, [[0, 0], [0, 0]]); ops.unsorted_segment_max(x, classes, 2)
ops.unsorted_segment_min(x, classes, 2); ops.unsorted_segment_prod(x, classes, 2); ops.index_fill(x, 0, classes, 1.0)
ops.inplace_add(x, y, (0, 1)); ops.inplace_sub(x, y, (0, 1)); ops.inplace_update(x, y, (0, 1))
ops.inplace_index_add(parameter, classes, row[:2], 0); ops.grid_sample(image, grid); ops.affine_grid(affine, (1, 1, 2, 3))
ops.crop_and_resize(image, unit_boxes, firsts, (2, 2)); ops.max_unpool1d(signal, signal_places, 2)
ops.max_unpool2d(image[:, :, :2, :2], tops, 2)
ops.max_unpool3d(volume[:, :, :1, :1, :1], summit, 2); ops.bounding_box_encode(corners, wide_boxes)
ops.bounding_box_decode(corners, corners, (9, 9))
ops.check_valid(corners, row); ops.bartlett_window(length); ops.blackman_window(length); ops.hamming_window(4); ops.hann_window(4)
ops.kaiser_window(4); ops.logspace(0.0, 1.0, 3); ops.gumbel_softmax(x); ops.laplace((2,), number, number, 1); ops.rrelu(x)
ops.standard_laplace((2,), 1)
ops.random_categorical(x, 2, 1); ops.multinomial_with_replacement(positive, 1, 0, 2); ops.random_gamma(length_vector, positive, 1)
ops.fractional_max_pool2d(image, 1, (2, 2)); ops.fractional_max_pool3d(volume, 1, (1, 1, 1))
ops.deformable_conv2d(image, kernel[:, :1, :1, :1], offsets, (1, 1), (1, 1, 1, 1), (0, 0, 0, 0))
ops.vector_norm(x, 2, 0); ops.matrix_norm(x, 'fro', (0, 1)); ops.cond(square); ops.jet(function, x, y); ops.derivative(function, x, 2)
ops.linearize(function, x)
ops.cholesky(definite); ops.cholesky_inverse(definite); ops.cholesky_solve(square, definite); ops.lstsq(square, square)
ops.lu_solve(square, definite, exchanges); ops.lu_unpack(square, exchanges); ops.matrix_power(square, 2); ops.matrix_solve(definite, square)
ops.pinv(square); ops.qr(square); ops.geqrf(square); ops.orgqr(square, row)
ops.real(x); ops.float_power_ext(positive, 2); ops.print_('x', x)
ops.random_poisson(length_vector, positive, 1); ops.random_(x, 0, 5); ops.uniform_(x, 0.0, 1.0)
ops.uniform_candidate_sampler(true_classes, 1, 2, True, 5, 1); ops.log_uniform_candidate_sampler(true_classes, 1, 2, True, 5, 1)
ops.sparse_segment_mean(x, classes, classes); ops.ctc_greedy_decoder(spoken, spoken_lengths)
ops.coo_abs(sparse_matrix); ops.coo_acos(sparse_matrix); ops.coo_acosh(sparse_matrix); ops.coo_asin(sparse_matrix)
ops.coo_asinh(sparse_matrix); ops.coo_atan(sparse_matrix); ops.coo_atanh(sparse_matrix); ops.coo_ceil(sparse_matrix)
ops.coo_cos(sparse_matrix); ops.coo_cosh(sparse_matrix); ops.coo_exp(sparse_matrix); ops.coo_expm1(sparse_matrix)
ops.coo_floor(sparse_matrix); ops.coo_inv(sparse_matrix); ops.coo_isfinite(sparse_matrix); ops.coo_isinf(sparse_matrix)
ops.coo_isnan(sparse_matrix); ops.coo_log(sparse_matrix); ops.coo_log1p(sparse_matrix); ops.coo_neg(sparse_matrix)
ops.coo_relu(sparse_matrix); ops.coo_relu6(sparse_matrix); ops.coo_round(sparse_matrix); ops.coo_sigmoid(sparse_matrix)
ops.coo_sin(sparse_matrix); ops.coo_sinh(sparse_matrix); ops.coo_softsign(sparse_matrix); ops.coo_sqrt(sparse_matrix)
ops.coo_square(sparse_matrix); ops.coo_tan(sparse_matrix); ops.coo_tanh(sparse_matrix); ops.csr_abs(sparse_rows)
ops.csr_acos(sparse_rows); ops.csr_acosh(sparse_rows); ops.csr_asin(sparse_rows); ops.csr_asinh(sparse_rows); ops.csr_atan(sparse_rows)
ops.csr_atanh(sparse_rows); ops.csr_ceil(sparse_rows); ops.csr_cos(sparse_rows); ops.csr_cosh(sparse_rows); ops.csr_exp(sparse_rows)
ops.csr_expm1(sparse_rows); ops.csr_floor(sparse_rows); ops.csr_inv(sparse_rows); ops.csr_isfinite(sparse_rows)
ops.csr_isinf(sparse_rows); ops.csr_isnan(sparse_rows); ops.csr_log(sparse_rows); ops.csr_log1p(sparse_rows); ops.csr_neg(sparse_rows)
ops.csr_relu(sparse_rows); ops.csr_relu6(sparse_rows); ops.csr_round(sparse_rows); ops.csr_sigmoid(sparse_rows); ops.csr_sin(sparse_rows)
ops.csr_sinh(sparse_rows); ops.csr_softsign(sparse_rows); ops.csr_sqrt(sparse_rows); ops.csr_square(sparse_rows)
ops.csr_tan(sparse_rows); ops.csr_tanh(sparse_rows); ops.coalesce(pairs, row[:2], table_shape); ops.coo2csr(classes, 2)
ops.csr2coo(row_ends, 3); ops.coo_add(sparse_matrix, sparse_matrix, 0.0); ops.coo_concat([sparse_matrix, sparse_matrix], 0)
ops.coo_tensor_get_indices(sparse_matrix); ops.coo_tensor_get_values(sparse_matrix); ops.coo_tensor_get_dense_shape(sparse_matrix)
ops.csr_tensor_get_indptr(sparse_rows); ops.csr_tensor_get_indices(sparse_rows); ops.csr_tensor_get_values(sparse_rows)
ops.csr_tensor_get_dense_shape(sparse_rows); ops.csr_add(sparse_rows, sparse_rows, 1.0, 2.0); ops.csr_div(sparse_rows, positive)
ops.csr_gather(row_ends, row_columns, x, (2, 3)); ops.csr_mm(sparse_rows, square); ops.csr_mul(sparse_rows, x)
ops.csr_mv(sparse_rows, square); ops.csr_reduce_sum(sparse_rows, 1); ops.csr_softmax(sparse_rows, ms.float32)
ops.csr_to_coo(sparse_rows); ops.csr_to_dense(sparse_rows); ops.dense_to_sparse_coo(x); ops.dense_to_sparse_csr(x)
ops.make_coo_tensor(pairs, row[:2], (2, 3)); ops.make_sparse_tensor(pairs, row[:2], (2, 3))
ops.make_csr_tensor(row_ends, row_columns, row, (2, 3))
ops.fft(x); ops.ifft(x); ops.rfft(x); ops.irfft(x); ops.hfft(x); ops.ihfft(x); ops.fft2(x); ops.ifft2(x); ops.rfft2(x); ops.irfft2(x)
ops.hfft2(x); ops.ihfft2(x); ops.fftn(x); ops.ifftn(x); ops.rfftn(x); ops.irfftn(x); ops.hfftn(x); ops.ihfftn(x); ops.fftshift(x)
ops.ifftshift(x); ops.fftfreq(4); ops.rfftfreq(4); ops.stft(wave, 4)
"""

PRIMITIVES = """
ops.Addcdiv()(x, y, positive, 1.0); ops.Addcmul()(x, y, y, 1.0); ops.CheckNumerics()(x); ops.Eps()(x); ops.Fmax()(x, y); ops.Fmin()(x, y)
ops.Gcd()(whole, whole); ops.Heaviside()(x, y); ops.Hypot()(x, y); ops.IdentityN()([x, y]); ops.IsClose()(x, y); ops.Lcm()(whole, whole)
ops.LeftShift()(whole, whole); ops.RightShift()(whole, whole); ops.Logit(0.1)(unit); ops.SquareSumAll()(x, y)
ops.TruncateDiv()(x, positive)
ops.TruncateMod()(x, positive); ops.Xdivy()(x, y); ops.PopulationCount()(whole); ops.MulNoNan()(x, y); ops.NextAfter()(x, y)
ops.NonZero()(x); ops.Cummax(0)(x); ops.Cummin(0)(x); ops.CumProd()(x, 0); ops.CumulativeLogsumexp()(x, 0); ops.Median()(x)
ops.ReduceStd()(x); ops.Bincount()(classes, 3, row[:2]); ops.Histogram(3)(x); ops.Bucketize([0.0, 1.0])(x); ops.SearchSorted()(ascending, x)
ops.LowerBound()(x, y); ops.UpperBound()(x, y); ops.InTopK(2)(x, classes); ops.NthElement()(x, 1); ops.ListDiff()(row, row)
ops.EqualCount()(whole, whole); ops.UniqueConsecutive()(classes)
ops.Cross()(x, y); ops.Diag()(row); ops.DiagPart()(square); ops.Ger()(row, row); ops.MatrixBandPart()(x, 0, 1)
ops.MatrixDiagV3()(row, 0, 3, 3, 0.0)
ops.MatrixDiagPartV3()(x, 0, 0.0); ops.MatrixSetDiagV3()(square, row, 0); ops.Pdist()(x); ops.Renorm(2, 0, 1.0)(x); ops.Trace()(square)
ops.TrilIndices(2, 3)(); ops.TriuIndices(2, 3)(); ops.Padding()(column); ops.ReverseSequence(1)(x, classes)
ops.SpaceToBatchND(2, [[0, 0], [0, 0]])(image); ops.BatchToSpaceND(2, [[0, 0], [0, 0]])(stacked); ops.InvertPermutation()((1, 0))
ops.TupleToArray()((1, 2)); ops.LogSpace()(low, high); ops.BartlettWindow()(length); ops.BlackmanWindow()(length)
ops.HammingWindow()(length)
ops.UnsortedSegmentMax()(x, classes, 2); ops.UnsortedSegmentMin()(x, classes, 2); ops.UnsortedSegmentProd()(x, classes, 2)
ops.SegmentSum()(x, classes); ops.SegmentMean()(x, classes); ops.SegmentMax()(x, classes); ops.SegmentMin()(x, classes)
ops.SegmentProd()(x, classes); ops.IndexAdd(0)(parameter, classes, row[:2]); ops.IndexFill()(x, 0, classes, 1.0)
ops.IndexPut()(x, row[:2], [classes, classes]); ops.InplaceAdd((0, 1))(x, y); ops.InplaceSub((0, 1))(x, y); ops.InplaceUpdate((0, 1))(x, y)
ops.InplaceUpdateV2()(x, classes, y); ops.InplaceIndexAdd(0)(parameter, classes, row[:2]); ops.ScatterAddWithAxis(1)(x, places, y[:1])
ops.BoundingBoxEncode()(corners, wide_boxes); ops.BoundingBoxDecode((9, 9))(corners, corners); ops.CheckValid()(corners, row)
ops.ROIAlign(1, 1, 1.0)(image, regions); ops.CropAndResize()(image, unit_boxes, firsts, (2, 2)); ops.GridSampler2D()(image, grid)
ops.GridSampler3D()(volume, volume_grid); ops.AffineGrid()(affine, (1, 1, 2, 3)); ops.MaxUnpool2D(2)(image[:, :, :2, :2], tops)
ops.MaxUnpool3D(2)(volume[:, :, :1, :1, :1], summit); ops.ChannelShuffle(1)(image); ops.GLU()(image); ops.StandardLaplace(1)((2,))
ops.FractionalMaxPool([1.0, 1.5, 1.5, 1.0])(image.transpose(0, 2, 3, 1))
ops.FractionalAvgPool([1.0, 1.5, 1.5, 1.0])(image.transpose(0, 2, 3, 1))
ops.FractionalMaxPoolWithFixedKsize(1, (2, 2))(image, shares); ops.FractionalMaxPool3DWithFixedKsize(1, (1, 1, 1))(volume, shares_of_volume)
ops.ResizeArea()(image, new_size)
ops.ScaleAndTranslate()(image, new_size, two_ones, two_ones)
ops.Conv3DTranspose(1, 1, 1)(volume, volume[:1, :, :1, :1, :1]); ops.SampleDistortedBoundingBoxV2(1)(new_image_size, object_boxes, number)
ops.EditDistance()(sparse_places, row, table_shape, sparse_places, row, table_shape); ops.Assert()(True, [x])
ops.CTCLossV2()(spoken, labels, spoken_lengths, label_lengths); ops.LSTM(4, 2, 1, True, False, 0.0)(sequence, states, states, flat_weights)
ops.MapUniform()(whole, 2, 2); ops.SubAndFilter()(whole, 3, 1); ops.ParallelConcat()([x, y])
ops.FusedCastAdamWeightDecay()(parameter, kept, second, 0.1, 0.9, 0.9, 0.1, 0.1, row, 1.0)
ops.FusedAdaFactor()((0.1, 0.1), 1.0, 0.9, 0.8, 0.1, 0.1, row, parameter, kept, third, third, second)
ops.Qr()(square); ops.Geqrf()(square); ops.Orgqr()(square, row); ops.Cholesky()(definite); ops.CholeskyInverse()(definite)
ops.CholeskySolve()(square, definite); ops.Lstsq()(square, square)
ops.LuSolve()(square, definite, exchanges); ops.LuUnpack()(square, exchanges); ops.MatrixPower(2)(square)
ops.MatrixSolve()(definite, square); ops.MatrixTriangularSolve()(definite, square); ops.TridiagonalMatMul()(x[:1], x[:1], x[:1], square)
ops.RandomGamma(1)(length_vector, positive); ops.RandomPoisson(1)(length_vector, positive)
ops.UniformCandidateSampler(1, 2, True, 5, 1)(true_classes); ops.LogUniformCandidateSampler(1, 2, True, 5, 1)(true_classes)
ops.Acosh()(large); ops.Asinh()(x); ops.Atanh()(unit)
ops.ACos()(unit); ops.Abs()(x); ops.Add()(x, y); ops.AddN()([x, y]); ops.ApproximateEqual()(x, y); ops.ArgMaxWithValue()(x)
ops.ArgMinWithValue()(x); ops.Argmax()(x); ops.Argmin()(x); ops.Asin()(unit); ops.Assign()(parameter, row)
ops.AssignAdd()(parameter, row); ops.AssignSub()(parameter, row); ops.Atan()(x); ops.Atan2()(x, y); ops.AvgPool(2, 2)(image)
ops.BCEWithLogitsLoss()(x, unit, x, x); ops.BatchMatMul()(batch, batch); ops.BatchNorm()(x, row, row, row, positive_row)
ops.BiasAdd()(x, row); ops.BinaryCrossEntropy()(unit, unit); ops.BitwiseAnd()(whole, whole); ops.BitwiseOr()(whole, whole)
ops.BitwiseXor()(whole, whole); ops.BroadcastTo((2, 3))(row); ops.Cast()(x, ms.float64); ops.Ceil()(x); ops.Concat()([x, y])
ops.Conv2D(2, 3)(image, kernel); ops.Cos()(x); ops.Cosh()(x); ops.CumSum()(x, 0); ops.DType()(x); ops.Depend()(x, y)
ops.Div()(x, positive); ops.DivNoNan()(x, positive); ops.Dropout(0.5, 1, 1)(x); ops.Elu()(x); ops.Equal()(x, y); ops.Erf()(x)
ops.BesselI0()(x); ops.BesselI0e()(x); ops.BesselI1()(x); ops.BesselI1e()(x); ops.BesselJ0()(x); ops.BesselJ1()(x)
ops.BesselK0()(positive); ops.BesselK0e()(positive); ops.BesselK1()(positive); ops.BesselK1e()(positive); ops.BesselY0()(positive)
ops.BesselY1()(positive); ops.Betainc()(positive, positive, unit); ops.Digamma()(positive); ops.Erfinv()(unit)
ops.Igamma()(positive, positive); ops.Igammac()(positive, positive); ops.Lgamma()(positive); ops.Mvlgamma(2)(positive + 1)
ops.Polygamma()(ms.Tensor(1), positive); ops.Sinc()(x); ops.Zeta()(positive + 1.5, positive)
ops.Erfc()(x); ops.Exp()(x); ops.ExpandDims()(x, 0); ops.Expm1()(x); ops.Eye()(2, 3, ms.float32); ops.FastGeLU()(x)
ops.Fill()(ms.float32, (2,), 1); ops.FillV2()((2,), number); ops.Flatten()(x); ops.Floor()(x); ops.FloorDiv()(x, positive)
ops.FloorMod()(x, positive); ops.GELU()(x); ops.Gather()(x, classes, 0); ops.GatherD()(x, 0, places); ops.GatherNd()(x, pairs)
ops.GatherV2()(x, classes, 0)
ops.GeLU()(x); ops.Gelu()(x); ops.Greater()(x, y); ops.GreaterEqual()(x, y); ops.HSigmoid()(x); ops.HSwish()(x)
ops.Custom(same, same, same)(x); ops.CustomRegOp().get_op_info()
ops.PyFunc(same, [ms.float32], [(2, 3)], [ms.float32], [(2, 3)])(x); ops.Einsum('ij,jk->ik')((x, square)); ops.Cdist(1.0)(x, y)
ops.CeLU(0.5)(x); ops.HShrink(0.1)(x); ops.SoftShrink(0.1)(x); ops.RmsNorm()(x, row); ops.Randperm(4)(three); ops.ScalarToArray()(2.0)
ops.DropoutGenMask(1, 2)((2, 3), 0.5); ops.DropoutDoMask()(x, mask_of_bits, 0.5); ops.DynamicRNN(); ops.DynamicGRUV2()
ops.NPUAllocFloatStatus(); ops.NPUGetFloatStatus(); ops.NPUClearFloatStatus()
ops.HookBackward(hook)(x); ops.Identity()(x); ops.InsertGradientOf(hook)(x); ops.Inv()(positive); ops.Invert()(whole); ops.IsFinite()(x)
ops.IsInf()(x); ops.IsNan()(x); ops.KLDivLoss()(x, unit); ops.L2Loss()(x); ops.L2Normalize()(x); ops.LayerNorm()(x, row, row)
ops.Lerp()(x, y, 0.5); ops.Less()(x, y); ops.LessEqual()(x, y); ops.LinSpace()(low, high, 3); ops.Log()(positive); ops.Log1p()(positive)
ops.LogMatrixDeterminant()(square)
ops.LogSoftmax()(x); ops.LogicalAnd()(truth, truth); ops.LogicalNot()(truth); ops.LogicalOr()(truth, truth)
ops.LogicalXor()(truth, truth); ops.MaskedFill()(x, truth, 1.0); ops.MaskedSelect()(x, truth); ops.MatMul()(x, square)
ops.MatrixDeterminant()(square); ops.MatrixInverse()(square); ops.MaxPool(2, 2)(image)
ops.MaxPoolWithArgmax(2, 2)(image); ops.Maximum()(x, y); ops.Meshgrid()((row, row)); ops.Minimum()(x, y); ops.MirrorPad()(x, paddings)
ops.Mish()(x); ops.Mod()(x, positive); ops.Mul()(x, y); ops.NLLLoss()(x, classes, positive_row); ops.Neg()(x); ops.NotEqual()(x, y)
ops.OneHot()(classes, 3, number, number); ops.Ones()((2,), ms.float32); ops.OnesLike()(x); ops.PReLU()(x, slope)
ops.MoveTo()(x, "CPU", True)
ops.Pad(((1, 1), (0, 0)))(x); ops.Partial()(function, x); ops.Pow()(positive, 2); ops.Range()(0, 5, 2); ops.Rank()(x); ops.ReLU()(x)
ops.ReLU6()(x)
ops.FloatStatus()(x)
ops.RealDiv()(x, positive); ops.Reciprocal()(positive); ops.ReduceAll()(truth, 0); ops.ReduceAny()(truth, 0); ops.ReduceMax()(x, 0)
ops.ReduceMean()(x, 0); ops.ReduceMin()(x, 0); ops.ReduceProd()(x, 0); ops.ReduceSum()(x, 0); ops.Reshape()(x, (3, 2))
ops.ReverseV2((0,))(x); ops.Rint()(x); ops.Round()(x); ops.Rsqrt()(positive); ops.ScalarToTensor()(2.0)
ops.ScatterAdd()(parameter, classes, row[:2]); ops.ScatterMax()(parameter, classes, row[:2])
ops.ScatterMin()(parameter, classes, row[:2]); ops.ScatterNd()(pairs, row[:2], (2, 3)); ops.ScatterNdAdd()(parameter, singles, row[:2])
ops.ScatterNdMax()(parameter, singles, row[:2]); ops.ScatterNdMin()(parameter, singles, row[:2])
ops.ScatterNdSub()(parameter, singles, row[:2]); ops.ScatterNdUpdate()(parameter, singles, row[:2])
ops.ScatterSub()(parameter, classes, row[:2]); ops.ScatterUpdate()(parameter, classes, row[:2]); ops.SeLU()(x)
ops.Select()(truth, x, y); ops.Shape()(x); ops.Sigmoid()(x); ops.SigmoidCrossEntropyWithLogits()(x, unit); ops.Sign()(x); ops.Sin()(x)
ops.Sinh()(x); ops.Size()(x); ops.Slice()(x, (0, 0), (1, 2)); ops.SmoothL1Loss()(x, y); ops.Softmax()(x)
ops.SoftmaxCrossEntropyWithLogits()(x, unit); ops.Softplus()(x); ops.Softsign()(x); ops.Sort()(x)
ops.SparseSoftmaxCrossEntropyWithLogits()(x, classes); ops.Split(0, 2)(x); ops.Sqrt()(positive); ops.Square()(x)
ops.SquaredDifference()(x, y); ops.Squeeze()(x); ops.Stack()([x, y]); ops.StandardNormal(1, 1)((2,)); ops.StopGradient()(x)
ops.StridedSlice()(x, (0, 0), (2, 2), (1, 1)); ops.Sub()(x, y); ops.Svd()(x); ops.Eig()(square)
ops.MatrixLogarithm()(square.astype(ms.complex64))
ops.Tan()(x); ops.Tanh()(x); ops.TensorAdd()(x, y)
ops.TensorScatterAdd()(x, pairs, row[:2]); ops.TensorScatterElements(1)(x, places, y[:1]); ops.TensorScatterMax()(x, pairs, row[:2])
ops.TensorScatterMin()(x, pairs, row[:2]); ops.TensorScatterSub()(x, pairs, row[:2]); ops.TensorScatterUpdate()(x, pairs, row[:2])
ops.TensorShape()(x); ops.Tile()(x, (2, 1)); ops.TopK()(x, 2); ops.Transpose()(x, (1, 0)); ops.ConjugateTranspose()(waves, (1, 0))
ops.Tril()(square); ops.Triu()(square); ops.Trunc()(x); ops.TypeOf()(x); ops.UniformInt(1, 1)((2,), 0, 9); ops.UniformReal(1, 1)((2,))
ops.Unique()(whole)
ops.UnsortedSegmentSum()(x, classes, 3); ops.Unstack()(x); ops.Xlogy()(x, positive); ops.Zeros()((2,), ms.float32); ops.ZerosLike()(x)
ops.AdaptiveAvgPool2D(2)(image); ops.AdaptiveAvgPool3D(2)(volume); ops.AdaptiveMaxPool2D(2)(image)
ops.Conv2DBackpropInput(2, 3)(pooled, kernel, (1, 1, 4, 4)); ops.Conv2DTranspose(2, 3)(pooled, kernel, (1, 1, 4, 4))
ops.AvgPool3D(2)(volume); ops.IOU()(corners, corners); ops.NMSWithMask()(scored); ops.RandomChoiceWithMask(2, 1, 1)(truth)
 ops.Col2Im(2)(patches, (3, 3)); ops.Conv3D(2, 2)(volume, cube); ops.DepthToSpace(2)(four)
ops.Dropout2D()(image); ops.Dropout3D()(volume); ops.EmbeddingLookup()(x, classes, 0); ops.Im2Col(2)(image); ops.LpNorm(0)(x)
ops.MaxPool3D(2)(volume); ops.ResizeBicubic()(image, (3, 3)); ops.ResizeBilinearV2()(image, (3, 3)); ops.ResizeLinear1D()(signal, (3,))
ops.ResizeNearestNeighbor((3, 3))(image); ops.ResizeNearestNeighborV2()(image, (3, 3)); ops.SpaceToDepth(2)(image)
ops.Primitive('own'); ops.GradOperation()(function)(x); ops.HyperMap(ops.relu)([x, y]); ops.Map(ops.relu)([x, y])
ops.MultitypeFuncGraph('own'); ops.GetNext([ms.float32], [(2,)], 1, 'queue'); ops.register_queue('queue', iter([])); ops.Print()(x)
ops.ScalarSummary()('own', x[0, 0]); ops.TensorSummary()('own', x); ops.ImageSummary()('own', image); ops.HistogramSummary()('own', x)
ops.unregister_queue('queue'); ops.AllReduce()(x); ops.AllGather()(x); ops.ReduceScatter()(x); ops.Broadcast(0)(x); ops.Reduce(0)(x)
ops.AlltoAll(1, 0, 1)(x); ops.Barrier()()
ops.ApplyFtrl()(parameter, kept, second, row, 0.1, 0.1, 0.1, -0.5)
ops.CTCLoss()(spoken, label_places, label_values, spoken_lengths)
ops.LRN(1)(image); ops.TensorScatterMul()(x, pairs, row[:2]); ops.TensorScatterDiv()(x, pairs, row[:2])
ops.ScatterMul()(parameter, classes, row[:2]); ops.ScatterDiv()(parameter, classes, row[:2])
ops.ScatterNdMul()(parameter, singles, row[:2]); ops.ScatterNdDiv()(parameter, singles, row[:2])
ops.MultiMarginLoss()(x, classes); ops.MultilabelMarginLoss()(x, ranked); ops.SoftMarginLoss()(x, y)
ops.TripletMarginLoss()(x, y, unit, 1.0)
ops.ApplyGradientDescent()(parameter, 0.1, row); ops.ApplyMomentum()(parameter, kept, 0.1, row, 0.9)
ops.ApplyAdagrad()(parameter, kept, 0.1, row); ops.SGD()(parameter, row, number, kept, number, second)
ops.Adam()(parameter, kept, second, 0.9, 0.99, 0.1, 0.9, 0.99, 0.1, row)
ops.AdamWeightDecay()(parameter, kept, second, 0.1, 0.9, 0.99, 0.1, 0.0, row)
ops.ApplyAdamWithAmsgrad()(parameter, kept, second, third, 0.9, 0.99, 0.1, row)
ops.ApplyAdaMax()(parameter, kept, second, 0.9, 0.1, 0.9, 0.99, 0.1, row)
ops.ApplyAdamWithAmsgradV2()(parameter, kept, second, third, 0.9, 0.99, 0.1, 0.9, 0.99, 0.1, row)
ops.ApplyRMSProp()(parameter, kept, second, 0.1, row, 0.9, 0.5, 0.1)
ops.ApplyCenteredRMSProp()(parameter, kept, second, third, row, 0.1, 0.9, 0.5, 0.1)
ops.ApplyAdadelta()(parameter, kept, second, 0.1, 0.9, 0.1, row); ops.ApplyAdagradV2(0.1)(parameter, kept, 0.1, row)
ops.ApplyAdagradDA()(parameter, kept, second, row, 0.1, 0.1, 0.1, 2); ops.ApplyAddSign()(parameter, kept, 0.1, 1.0, 0.9, 0.9, row)
ops.ApplyPowerSign()(parameter, kept, 0.1, 2.0, 0.9, 0.9, row); ops.ApplyProximalAdagrad()(parameter, kept, 0.1, 0.1, 0.1, row)
ops.ApplyProximalGradientDescent()(parameter, 0.1, 0.1, 0.1, row); ops.SparseApplyAdagradV2(0.1, 0.1)(parameter, kept, row[:2], classes)
ops.SparseApplyFtrl(0.1, 0.1, 0.1, -0.5)(parameter, kept, second, row[:2], classes)
ops.SparseApplyAdagrad(0.1)(parameter, kept, row[:2], classes)
ops.SparseApplyRMSProp(0.9, 0.1, 0.1)(parameter, kept, second, 0.1, row[:2], classes)
ops.FusedSparseFtrl(0.1, 0.1, 0.1, -0.5)(parameter, kept, second, row[:2], classes)
ops.FusedSparseProximalAdagrad()(parameter, kept, 0.1, 0.1, 0.1, row[:2], classes)
ops.FusedSparseAdam()(parameter, kept, second, 0.9, 0.9, 0.1, 0.9, 0.9, 0.1, row[:2], classes)
ops.FusedSparseLazyAdam()(parameter, kept, second, 0.9, 0.9, 0.1, 0.9, 0.9, 0.1, row[:2], classes)
ops.AdamNoUpdateParam()(kept, second, 0.9, 0.9, 0.1, 0.9, 0.9, 0.1, row)
ops.NanToNum()(x); ops.Real()(x); ops.FillDiagonal(1.0)(square); ops.UniqueWithPad()(classes, 0); ops.MaskedScatter()(x, truth, y)
ops.Pack()((x, y)); ops.Unpack()(x); ops.Expand()(row, (2, 3)); ops.FastGelu()(x); ops.Dense()(x, square, row); ops.NuclearNorm()(x)
ops.CountNonZero()(x); ops.Quantile()(x, 0.5); ops.MatrixSolveLs()(x, x, high.double()); ops.Ormqr()(square, row, square)
ops.Imag()(x); ops.Conj()(x); ops.Complex()(x, y); ops.ComplexAbs()(waves); ops.Angle()(waves); ops.Polar()(x, y)
ops.AccumulateNV2()([x, y]); ops.TruncatedNormal()((2, 3))
ops.ParameterizedTruncatedNormal()((2, 3), low, high, low, high)
ops.NonMaxSuppressionWithOverlaps()(square, row, length.int(), high, low)
ops.LogNormalReverse()(x); ops.RandpermV2()(3); ops.ExtractVolumePatches(2, 1, 'VALID')(volume)
ops.UnravelIndex()(classes, firsts + 2); ops.DataFormatDimMap()(classes); ops.DataFormatVecPermute()(label_places.reshape(6)[:4])
ops.CompareAndBitpack()(image.reshape(2, 8), low); ops.PadV3()(x, firsts, number); ops.NoRepeatNGram(2)(whole.reshape(1, 2, 3), eights)
ops.ScalarCast()(2, ms.float64); ops.CTCGreedyDecoder()(spoken, spoken_lengths); ops.AdaptiveMaxPool3D()(volume, (2, 2, 2))
ops.MaxPoolWithArgmaxV2(2)(image); ops.MaxPool3DWithArgmax(2, 2, 0)(volume); ops.UpsampleNearest3D()(volume, (3, 3, 3))
ops.UpsampleTrilinear3D()(volume, (3, 3, 3)); ops.RGBToHSV()(unit); ops.HSVToRGB()(pixels); ops.AdjustHue()(pixels, number)
ops.AdjustSaturation()(pixels, number); ops.Bernoulli(1)(x); ops.Multinomial(1)(positive, 2); ops.RandomCategorical()(x, 2, 1)
ops.MultinomialWithReplacement(2)(positive, length, length); ops.RandomShuffle(1)(x); ops.Cauchy([2])()
ops.SparseToDense()(pairs, row[:2], (2, 3)); ops.SparseTensorDenseMatmul(False, False)(pairs, row[:2], (2, 3), square)
ops.SparseTensorDenseAdd()(pairs, row[:2], (2, 3), x)
ops.SparseSlice()(pairs, row[:2], table_shape, firsts.long(), length_pair)
ops.FFTWithSize(1, False, True)(x); ops.STFT(4, 2, 4, False, True, True)(wave, drawn_four)
"""

LAYERS = """
nn.AdaptiveAvgPool1d(2)(sequence); nn.AdaptiveAvgPool2d(2)(image); nn.AdaptiveAvgPool3d(2)(volume); nn.AdaptiveMaxPool1d(2)(sequence)
nn.AdaptiveMaxPool2d(2)(image); nn.AdaptiveMaxPool3d(2)(volume); nn.AvgPool1d(2)(signal); nn.AvgPool3d(2)(volume)
nn.BatchNorm3d(1)(volume); nn.ChannelShuffle(1)(image); nn.ConstantPad1d(1, 1.0)(x); nn.ConstantPad2d(1, 1.0)(image)
nn.ConstantPad3d(1, 1.0)(volume); nn.Conv1d(2, 2, 2)(sequence); nn.Conv1dTranspose(2, 2, 2)(sequence); nn.Conv2dTranspose(1, 2, 2)(image)
nn.Dropout1d()(signal); nn.Dropout2d()(image); nn.Dropout3d()(volume); nn.EmbeddingLookup(3, 2, 'ones')(classes); nn.GroupNorm(1, 1)(image)
nn.InstanceNorm1d(2)(sequence); nn.InstanceNorm2d(1)(image); nn.InstanceNorm3d(1)(volume); nn.MaxPool1d(2)(signal); nn.MaxPool3d(2)(volume)
nn.CELU()(x); nn.FastGelu()(x); nn.GLU()(image); nn.HShrink()(x); nn.Hardtanh()(x); nn.LogSigmoid()(x); nn.Mish()(x); nn.SeLU()(x)
nn.SoftShrink()(x); nn.Softmax2d()(image); nn.Softmin()(x); nn.Softsign()(x); nn.Tanhshrink()(x); nn.Threshold(0.0, 1.0)(x)
nn.Conv3d(1, 2, 2)(volume); nn.Conv3dTranspose(1, 2, 2)(volume); nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1])(image)
nn.Upsample((3, 3))(image); nn.Norm()(x); nn.OneHot(depth=3)(classes); nn.Pad(((0, 1), (1, 0)))(x)
nn.PixelShuffle(2)(four); nn.PixelUnshuffle(1)(four)
nn.DiGamma()(positive); nn.IGamma()(positive, positive); nn.LBeta()(positive, positive); nn.LGamma()(positive)
nn.Range(3)(); nn.ReflectionPad1d(1)(x); nn.ReflectionPad2d(1)(image); nn.ReflectionPad3d(1)(volume); nn.ReplicationPad1d(1)(x)
nn.ReplicationPad2d(1)(image); nn.ReplicationPad3d(1)(volume); nn.SyncBatchNorm(1)(image); nn.ZeroPad2d(1)(image)
nn.AvgPool2d(2)(image); nn.BatchNorm1d(3)(x); nn.BatchNorm2d(1)(image); nn.Cell(); nn.CellList([nn.ReLU()]); nn.Conv2d(1, 2, 3)(image)
nn.Dense(3, 2)(x); nn.Dropout(p=0.5)(x); nn.ELU()(x); nn.Embedding(3, 2)(classes); nn.Flatten()(x); nn.GELU()(x); nn.HSigmoid()(x)
nn.HSwish()(x); nn.Identity()(x); nn.L1Loss()(x, y); nn.LayerNorm((3,))(x); nn.LeakyReLU()(x); nn.LogSoftmax()(x); nn.LossBase()
nn.MSELoss()(x, y); nn.MatMul()(x, square); nn.MaxPool2d(2)(image); nn.PReLU()(x); nn.ReLU()(x); nn.ReLU6()(x)
nn.SequentialCell([nn.ReLU()])(x); nn.SiLU()(x); nn.Sigmoid()(x); nn.Softmax()(x); nn.SoftmaxCrossEntropyWithLogits()(x, unit)
nn.Softplus()(x); nn.Tanh()(x); nn.WithEvalCell(nn.ReLU(), nn.MSELoss())(x, y); nn.WithLossCell(nn.ReLU(), nn.MSELoss())(x, y)
nn.get_activation('relu'); nn.Adam([parameter])((row,)); nn.Momentum([parameter], 0.1, 0.9)((row,)); nn.SGD([parameter])((row,))
nn.AdamWeightDecay([parameter])((row,)); nn.BCELoss()(unit, unit); nn.BCEWithLogitsLoss()(x, unit)
nn.CrossEntropyLoss()(x, classes); nn.NLLLoss()(x, classes); nn.SmoothL1Loss()(x, y); nn.HuberLoss()(x, y); nn.KLDivLoss()(x, unit)
nn.CosineEmbeddingLoss()(x, y, whole[:, 0]); nn.MarginRankingLoss()(x, y, y); nn.ClipByNorm()(x, number)
nn.CosineDecayLR(0.1, 0.2, 3)(classes); nn.ExponentialDecayLR(0.1, 0.9, 3)(classes); nn.InverseDecayLR(0.1, 0.9, 3)(classes)
nn.NaturalExpDecayLR(0.1, 0.9, 3)(classes); nn.PolynomialDecayLR(0.1, 0.01, 3, 0.5)(classes); nn.WarmUpLR(0.1, 3)(classes)
nn.cosine_decay_lr(0.1, 0.2, 4, 2, 2); nn.exponential_decay_lr(0.1, 0.9, 4, 2, 2); nn.inverse_decay_lr(0.1, 0.9, 4, 2, 2)
nn.natural_exp_decay_lr(0.1, 0.9, 4, 2, 2); nn.piecewise_constant_lr([1, 3], [0.1, 0.2]); nn.warmup_lr(0.1, 4, 2, 2)
nn.polynomial_decay_lr(0.1, 0.01, 4, 2, 2, 0.5)
nn.DistributedGradReducer([parameter])((x,))
nn.Optimizer(0.1, [parameter]); nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params()))(x, y)
nn.ForwardValueAndGrad(nn.WithLossCell(net, nn.MSELoss()))(x, y); nn.WithGradCell(net, nn.MSELoss())(x, y)
nn.Jvp(nn.Tanh())(x, y); nn.Vjp(nn.Tanh())(x, y)
nn.AdaMax([parameter])((row,)); nn.Adagrad([parameter])((row,)); nn.Lamb([parameter], 0.1)((row,)); nn.RMSProp([parameter])((row,))
nn.LARS(nn.SGD([parameter]))((row,)); ops.LARSUpdate()(row, row, number, number, 0.1, 0.1)
nn.HingeEmbeddingLoss()(x, whole); nn.CTCLoss()(spoken, labels, spoken_lengths, label_lengths)
nn.FixedLossScaleUpdateCell(2.0)(None, False); nn.DynamicLossScaleUpdateCell(2.0, 2.0, 3)(Parameter(number), truth[0, 0])
nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params()), number)(x, y)
nn.GRU(4, 3)(sequence); nn.GRUCell(3, 3)(x, y); nn.LSTM(4, 3)(sequence); nn.LSTMCell(3, 3)(x, (x, y)); nn.RNN(4, 3)(sequence)
nn.RNNCell(3, 3)(x, y); nn.MultiheadAttention(4, 2)(sequence, sequence, sequence); nn.Transformer(4, 2, 1, 1, 3)(sequence, sequence)
nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 3), 1)(sequence, sequence)
nn.TransformerDecoderLayer(4, 2, 3)(sequence, sequence); nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 3), 1)(sequence)
nn.TransformerEncoderLayer(4, 2, 3)(sequence)
nn.LRN(1)(image); nn.FTRL([parameter])((row,))
nn.DiceLoss()(unit, unit); nn.FocalLoss()(x, rows); nn.GaussianNLLLoss()(x, y, positive); nn.MAELoss()(x, y); nn.RMSELoss()(x, y)
nn.MultiClassDiceLoss()(x, unit); nn.PoissonNLLLoss()(x, positive); nn.SoftMarginLoss()(x, y); nn.MultiLabelSoftMarginLoss()(x, unit)
nn.MultiMarginLoss()(x, classes); nn.MultilabelMarginLoss()(x, ranked); nn.TripletMarginLoss()(x, y, unit)
nn.TripletMarginWithDistanceLoss()(x, y, unit)
nn.Moments(0)(x); nn.Tril()(x, 1); nn.Triu()(x)
nn.Unflatten(1, (3, 1))(x); nn.ReduceLogSumExp(1)(x); nn.L1Regularizer(0.5)(x); nn.RReLU()(x); nn.BiDense(3, 3, 2)(x, y)
nn.CentralCrop(0.5)(image); nn.ImageGradients()(image); nn.PSNR()(image, image); nn.SSIM(1.0, 3)(image, image)
nn.MSSSIM(1.0, (0.5, 0.5), 1)(image, image); nn.Conv2dBnAct(1, 2, 3)(image); nn.DenseBnAct(3, 2)(x)
nn.TimeDistributed(nn.ReLU(), 1)(sequence); nn.LPPool1d(2.0, 2)(signal); nn.LPPool2d(2.0, 2)(image)
nn.FractionalMaxPool2d(1, (2, 2))(image); nn.FractionalMaxPool3d(1, (1, 1, 1))(volume); nn.MaxUnpool1d(2)(signal, signal_places)
nn.MaxUnpool2d(2)(image[:, :, :2, :2], tops); nn.MaxUnpool3d(2)(volume[:, :, :1, :1, :1], summit)
nn.CellDict({'a': nn.ReLU()})
nn.ForwardValueAndGrad(net)(x); nn.GradAccumulationCell(nn.ReLU(), 2)(x); nn.MicroBatchInterleaved(nn.ReLU(), 2)(x)
nn.PipelineCell(nn.ReLU(), 2)(x); nn.SampledSoftmaxLoss(2, 3)(square, row, classes, x)
nn.VirtualDatasetCellTriple(nn.TripletMarginLoss())(x, y, unit)
nn.ParameterUpdate(parameter)(row); nn.Adadelta([parameter])((row,)); nn.Rprop([parameter])((row,)); nn.ASGD([parameter])((row,))
nn.ProximalAdagrad([parameter])((row,)); nn.AdaFactor([parameter])((row,)); nn.LazyAdam([parameter])((row,))
nn.AdamOffload([parameter])((row,))
nn.SparseToDense()(sparse_matrix); nn.SparseTensorDenseMatmul(False, False)(pairs, row[:2], (2, 3), square)
"""

METHODS = """
x.allclose(y); x.asnumpy(); x.astype(ms.float64); x.to(ms.float64); x.item((0, 1)); x.stride(0); x.set_data(y); x.assign_value(y)
x.overwrite(y); x.register_hook(hook); x.add_(y); x.sub_(y); x.mul_(y); x.div_(positive); x.clamp_(0, 1); x.floor_divide_(positive)
x.remainder_(positive); x.masked_fill_(truth, 1.0); x.copy_(y); x.fill(1.0); x.fill_(1.0); square.fill_diagonal(1.0); x.itemset(0, 1.0)
x.new_full((2,), 1.0); x.new_ones((2,)); x.new_zeros((2,)); x.normal_(0.0, 1.0); x.uniform_(0.0, 1.0)
x.random_(0, 5); x.cauchy(); x.log_normal(); x.exponential_(1.0); x.bernoulli_(0.5); x.uniform(0.0, 1.0)
x.scatter_(0, places, y); x.scatter_add_(0, places, y); x.index_copy_(0, classes, y); x.index_fill_(0, classes, 1.0)
x.put_(classes, row[:2]); x.index_add_(0, classes, y)
x.index((classes,)); square.fill_diagonal_(1.0); x.kthvalue(1); x.quantile(0.5); x.nanquantile(0.5); x.unique()
x.masked_scatter_(truth, y); square.addmm_(square, square); row.searchsorted(row); square.qr(); square.triangular_solve(square)
x.scatter_sub(pairs, row[:2]); x.scatter_max(pairs, row[:2]); x.scatter_min(pairs, row[:2]); x.scatter_mul(pairs, row[:2])
x.scatter_div(pairs, row[:2]); x.adjoint(); x.arctan2(y); x.real(); x.imag(); x.conj(); waves.angle(); x.to_('CPU')
x.repeat(2, 1); x.reshape(3, 2)
x.reshape_as(y); x.view(3, 2); x.view_as(y); x.permute(1, 0); x.transpose(1, 0); x.tile((2, 1)); x.broadcast_to((2, 3))
row.expand(2, 3); x.select(truth, y); x.where(truth, y); square.trace(); square.det(); square.inverse(); square.logdet()
square.slogdet(); square.eigvals(); x.svd()
x.swapaxes(0, 1); x.take(classes); x.sum(0); x.mean(0); x.requires_grad_(True)
x.max(0); x.min(0); x.std(0); x.var(0); x.prod(0); x.cumsum(0); truth.all(0); truth.any(0); x.argmax(0); x.argmin(0)
x.argmax_with_value(); x.argmin_with_value(); x.squeeze(); x.split(1); x.chunk(2); x.gather(classes, 0); x.expand_dims(0)
x.repeat_interleave(2, 0); x.flatten(); x.init_data(); x.exp_(); positive.log_(); x.sigmoid_(); x.sign_(); x.tanh_(); x.zero_()
x.floor_(); whole.bitwise_not(); x.__getitem__(0); x.__getitem__((slice(0, 1), None)); x.__setitem__(0, 1.0); x.__add__(y); x.__sub__(y)
x.__mul__(y); x.__truediv__(positive); x.__floordiv__(positive); x.__mod__(positive); positive.__pow__(2); square.__matmul__(square)
x.__lt__(y); x.__le__(y); x.__gt__(y); x.__ge__(y); truth.__and__(truth); truth.__or__(truth); truth.__xor__(truth); x.__radd__(y)
x.__rsub__(y); x.__rmul__(y); x.__rtruediv__(y); x.__rpow__(2); square.__rmatmul__(square); x.__array__(); x.__format__('')
x.to_coo(); x.to_csr()
"""

REST = """
ms.tensor([1.0])
ms.Tensor([1.0, 2.0]); ms.Tensor([1.0], ms.float32, (1,)); ms.Parameter(x, 'own'); ms.ParameterTuple([parameter]); ms.JitConfig()
ms.mutable(x); ms.grad(function)(x); ms.value_and_grad(function)(x); ms.get_grad(((0, x), (1, y)), 0); ms.jvp(function, x, y)
ms.vmap(function)(x); ms.jacrev(function)(x); ms.jacfwd(function)(x); ms.hessian(function)(x); ms.hvp(function, x, y)
ms.manual_seed(1); ms.set_rng_state(ms.get_rng_state())
ms.vjp(function, x); ms.jit(function)(x); ms.ms_function(function)(x); ms.jit_class(Own); ms.set_seed(1); ms.get_context('mode')
ms.jit_stats(ms.jit(function))
ms.enable_dynamic(x=ms.Tensor(shape=[None], dtype=ms.float32))
ms.save_checkpoint(net, FILE); ms.load_checkpoint(SAVED); ms.load_param_into_net(net, net.parameters_dict())
ms.set_context(mode=1); ms.set_context(device_target='CPU'); ms.set_context(device_id=0); ms.set_context(max_call_depth=1000)
ms.set_context(save_graphs=False); ms.set_context(save_graphs_path='.'); ms.set_context(pynative_synchronize=False)
ms.set_context(deterministic='OFF'); ms.set_context(num_threads=2); ms.set_context(jit_level='O0'); ms.dtype_to_nptype(ms.float32)
ms.dtype_to_pytype(ms.float32); ms.pytype_to_dtype(float); ms.TensorType(ms.float32); ms.from_numpy(row.asnumpy()); ms.ms_class(Own)
ms.set_device('CPU'); ms.get_auto_parallel_context('parallel_mode'); ms.set_auto_parallel_context(parallel_mode='stand_alone')
ms.set_auto_parallel_context(device_num=1); ms.set_auto_parallel_context(global_rank=0); ms.set_auto_parallel_context(gradients_mean=False)
ms.set_auto_parallel_context(parameter_broadcast=False); initializer.Constant(1.0)(row.asnumpy())
initializer.HeNormal()(square.asnumpy()); initializer.HeUniform()(square.asnumpy()); initializer.Identity()(square.asnumpy())
initializer.Normal()(row.asnumpy()); initializer.One()(row.asnumpy()); initializer.TruncatedNormal()(row.asnumpy())
initializer.Dirac()(image[0].asnumpy()); initializer.Orthogonal()(square.asnumpy()); initializer.Sparse(0.5)(square.asnumpy())
initializer.VarianceScaling()(square.asnumpy())
initializer.Uniform()(row.asnumpy()); initializer.XavierNormal()(square.asnumpy()); initializer.XavierUniform()(square.asnumpy())
initializer.Zero()(row.asnumpy()); initializer.initializer('ones', (2,)); parameter.set_dtype(ms.float64); parameter.set_data(row)
net.add_flags(own=True); net.apply(hook); net.insert_child_to_cell('own', nn.ReLU()); net.insert_param_to_cell('own', parameter)
net.get_parameters(); net.parameters_and_names(); net.parameters_dict(); net.trainable_params(); net.untrainable_params()
net.cells_and_names(); net.register_backward_hook(hook); net.register_backward_pre_hook(hook); net.register_forward_hook(hook)
net.register_forward_pre_hook(hook); net.set_grad(); net.set_train(); net.set_inputs(x); net.set_jit_config(ms.JitConfig())
net.get_sub_cell(''); net.to_float(ms.float16); net.update_parameters_name('own'); net.init_parameters_data()
ms.COOTensor(pairs, row[:2], (2, 3)); ms.SparseTensor(pairs, row[:2], (2, 3)); ms.CSRTensor(row_ends, row_columns, row, (2, 3))
"""

CALLS = {
    area: [line.strip() for line in text.replace("\n", ";").split(";") if line.strip()]
    for area, text in {"functions": FUNCTIONS, "primitives": PRIMITIVES, "layers": LAYERS, "methods": METHODS, "rest": REST}.items()
}


@functools.cache
def _numbers(shape: tuple[int, ...], low: float, high: float) -> np.ndarray[Any, Any]:
    return np.random.default_rng([7, *shape]).uniform(low, high, shape).astype(np.float32)


def drawn(*shape: int, low: float = -2.0, high: float = 2.0) -> Tensor:
    return Tensor(_numbers(shape, low, high).copy())


class Own:
    """A class of the user's."""


_FOLDER = tempfile.TemporaryDirectory()


@functools.cache
def _saved() -> str:
    """Return the name of a file with parameters."""
    name = f"{_FOLDER.name}/saved.ckpt"
    ms.save_checkpoint(nn.Dense(3, 3, "ones", "zeros"), name)
    return name


MODULES = {"ms": ms, "ops": ops, "nn": nn, "Parameter": Parameter, "initializer": initializer, "Own": Own}

MADE: dict[str, Callable[[], Any]] = {
    "x": lambda: drawn(2, 3), "y": lambda: drawn(2, 3) * 0.5, "row": lambda: drawn(3), "square": lambda: drawn(3, 3),
    "batch": lambda: drawn(2, 2, 2), "unit": lambda: drawn(2, 3, low=0.1, high=0.9), "positive": lambda: drawn(2, 3, low=0.5),
    "waves": lambda: Tensor([[1 + 2j, -0.5j, 3.0], [0.5, 1j, -1 - 1j]], ms.complex64),
    "pairing": lambda: drawn(2, 3, 3), "stacked": lambda: drawn(4, 1, 2, 2), "column": lambda: drawn(2, 1),
    "grid": lambda: drawn(1, 2, 2, 2), "volume_grid": lambda: drawn(1, 2, 2, 2, 3), "affine": lambda: drawn(1, 2, 3),
    "unit_boxes": lambda: drawn(2, 4, low=0.1, high=0.9), "firsts": lambda: Tensor([0, 0], ms.int32),
    "offsets": lambda: drawn(1, 3, 4, 4), "shares": lambda: drawn(1, 1, 2, low=0.1, high=0.9),
    "shares_of_volume": lambda: drawn(1, 1, 3, low=0.1, high=0.9), "new_size": lambda: Tensor([2, 1], ms.int32),
    "two_ones": lambda: Tensor([1.0, 1.0]), "new_image_size": lambda: Tensor([6, 5, 3], ms.int32),
    "object_boxes": lambda: drawn(1, 2, 4, low=0.1, high=0.9),
    "sparse_places": lambda: Tensor([[0, 0], [0, 1], [1, 0]]), "table_shape": lambda: Tensor([2, 3]), "states": lambda: drawn(1, 2, 2),
    "flat_weights": lambda: drawn(56, 1, 1),
    "definite": lambda: Tensor([[4.0, 2.0, 0.5], [2.0, 5.0, 1.0], [0.5, 1.0, 3.0]]), "exchanges": lambda: Tensor([2, 3, 3], ms.int32),
    "length_vector": lambda: Tensor([2], ms.int32), "true_classes": lambda: Tensor([[0], [3]]),
    "signal_places": lambda: Tensor([[[1, 2, 5, 6, 8]]]), "tops": lambda: Tensor([[[[0, 3], [9, 15]]]]),
    "summit": lambda: Tensor([[[[[3]]]]]), "wide_boxes": lambda: Tensor([[0.0, 0.0, 3.0, 4.0]] * 3), "length": lambda: Tensor(4),
    "regions": lambda: Tensor([[0.0, 0.0, 1.0, 3.0, 2.0]]), "ascending": lambda: Tensor([-1.0, 0.0, 1.0]),
    "large": lambda: drawn(2, 3, low=1.5, high=4.0),
    "positive_row": lambda: drawn(3, low=0.5), "slope": lambda: Tensor([0.25]), "image": lambda: drawn(1, 1, 4, 4),
    "kernel": lambda: drawn(2, 1, 3, 3), "signal": lambda: drawn(1, 1, 5), "signal_kernel": lambda: drawn(2, 1, 3),
    "sequence": lambda: drawn(1, 2, 4), "volume": lambda: drawn(1, 1, 4, 4, 4), "cube": lambda: drawn(2, 1, 2, 2, 2),
    "columns": lambda: drawn(1, 4, 4), "corners": lambda: drawn(3, 4), "scored": lambda: drawn(3, 5),
    "patches": lambda: drawn(1, 1, 4, 4), "spoken": lambda: drawn(4, 2, 3), "labels": lambda: Tensor([[1, 2], [2, 1]], ms.int32),
    "spoken_lengths": lambda: Tensor([4, 3], ms.int32), "label_lengths": lambda: Tensor([2, 1], ms.int32),
    "label_places": lambda: Tensor([[0, 0], [0, 1], [1, 0]]), "label_values": lambda: Tensor([1, 0, 1], ms.int32),
    "four": lambda: drawn(1, 4, 2, 2), "pooled": lambda: drawn(1, 2, 2, 2), "whole": lambda: Tensor([[1, 2, 3], [4, 5, 6]], ms.int32),
    "truth": lambda: Tensor([[True, False, True], [False, True, True]]), "classes": lambda: Tensor([0, 1], ms.int32),
    "places": lambda: Tensor([[0, 1, 0]]), "pairs": lambda: Tensor([[0, 1], [1, 2]]), "signs": lambda: Tensor([1, -1]),
    "rows": lambda: Tensor([[0], [2]], ms.int32), "ranked": lambda: Tensor([[1, -1, 0], [2, 0, -1]], ms.int32),
    "eights": lambda: drawn(1, 2, 8), "pixels": lambda: drawn(1, 1, 2, 3, low=0.1, high=0.9),
    "singles": lambda: Tensor([[0], [2]]), "paddings": lambda: Tensor([[1, 1], [0, 0]]), "number": lambda: Tensor(1.0),
    "low": lambda: Tensor(0.0), "high": lambda: Tensor(1.0), "parameter": lambda: Parameter(drawn(3), name="parameter"),
    "kept": lambda: Parameter(drawn(3, low=0.5), name="kept"), "second": lambda: Parameter(drawn(3, low=0.5), name="second"),
    "third": lambda: Parameter(drawn(3, low=0.5), name="third"), "net": lambda: nn.Dense(3, 3, "ones", "zeros"),
    "FILE": lambda: f"{_FOLDER.name}/made.ckpt", "SAVED": lambda: _saved(), "function": lambda: lambda x: (x * x).sum(),
    "three": lambda: Tensor([3]), "mask_of_bits": lambda: Tensor([0b101101] + [0] * 15, ms.uint8),
    "sparse_matrix": lambda: drawn(2, 3, low=0.1, high=0.9).to_coo(), "sparse_rows": lambda: drawn(2, 3, low=0.1, high=0.9).to_csr(),
    "row_ends": lambda: Tensor([0, 2, 3], ms.int32), "row_columns": lambda: Tensor([0, 2, 1], ms.int32),
    "wave": lambda: drawn(12), "drawn_four": lambda: drawn(4),
    "length_pair": lambda: Tensor([1, 2]),
    "hook": lambda: lambda *given: None, "same": lambda: lambda x: x,
}


class Values(dict[str, Any]):
    """The values that the expressions name, each made when first used: most expressions use only one or two."""

    def __init__(self) -> None:
        super().__init__(MODULES)

    def __missing__(self, name: str) -> Any:
        value = self[name] = MADE[name]()
        return value


def values() -> dict[str, Any]:
    """Return new values for all names in the expressions."""
    return MODULES | {name: make() for name, make in MADE.items()}
