"""Calls with the names of `mindspore.mint`, which are PyTorch's, as expressions over the arrays of `VALUES`.

`mint`, `F` and `nn` are the modules: of `mindspore.mint` or of `torch`.  `filled(cell)` is the layer, in training, with
parameters that do not depend on chance, `resting(cell)` one out of training, `stepped(Optimizer, ...)` a parameter after three steps.
"""

import numpy as np

VALUES = {
    "x": np.array([[0.7, -1.3, 2.9], [3.4, 0.45, -1.9]]),
    "s": np.array([[2.0, 1.1, 0.5], [0.6, 3.0, 1.2], [1.05, 0.25, 4.0]]),
    "r": np.array([0.8, 1.7, 2.6]),
    "image": np.cos(np.arange(2 * 4 * 5 * 6) * 1.3).reshape(2, 4, 5, 6) * 2,
    "volume": np.cos(np.arange(2 * 2 * 3 * 4 * 3) * 0.7).reshape(2, 2, 3, 4, 3),
    "line": np.sin(np.arange(2 * 4 * 7) * 0.9).reshape(2, 4, 7) * 2,
}
"""Floats: a matrix, a square one, a row, images and sequences of 4 channels."""

CONSTANTS = {"w": np.array([0.8, 1.7, 2.6]), "signs": np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])}
"""Floats that take no gradient."""

INTEGERS = {"i": np.array([[4, 6, 0], [9, 3, 12]]), "at": np.array([0, 2, 1]), "places": np.array([[0, 2], [1, 0]]),
            "classes": np.array([2, 0])}
"""Int64."""

CALLS = """
mint.arange(5); mint.arange(1.0, 3, 0.5); mint.zeros((2, 3)); mint.ones((2,)); mint.full((2,), 3); mint.full((2,), 3.5); mint.eye(2, 3)
mint.full_like(x, 2); mint.zeros_like(i); mint.ones_like(x); mint.linspace(0, 1, 3); mint.meshgrid(r, r, indexing='ij')
mint.meshgrid(r, x[0], indexing='xy'); mint.add(x, r, alpha=2); mint.sub(x, r, alpha=3); mint.mul(x, 2); mint.div(x, r)
mint.div(i, 4, rounding_mode='floor'); mint.divide(i, 4); mint.pow(r, 2); mint.float_power(r, 2); mint.floor_divide(i, 4)
mint.remainder(x, r); mint.fmod(x, r); mint.xlogy(r, r); mint.lerp(x, s[:2], 0.3); mint.addcdiv(x, x, r, value=2); mint.maximum(x, r)
mint.minimum(x, r); mint.abs(x); mint.neg(x); mint.sign(x); mint.sqrt(r); mint.rsqrt(r); mint.square(x); mint.reciprocal(r); mint.exp(x)
mint.exp2(x); mint.expm1(x); mint.log(r); mint.log1p(r); mint.log2(r); mint.log10(r); mint.sin(x); mint.cos(x); mint.tan(x / 4)
mint.asin(x / 4); mint.acos(x / 4); mint.atan(x); mint.atan2(x, r); mint.arctan2(x, r); mint.sinh(x); mint.cosh(x); mint.tanh(x)
mint.asin(i * 0); mint.acos(i * 0); mint.atan(i); mint.atan2(i, i + 1); mint.atan2(i, r)
mint.asinh(x); mint.acosh(r + 1); mint.atanh(x / 4); mint.erf(x); mint.erfc(x); mint.sigmoid(x); mint.sinc(x); mint.sinc(x * 0)
mint.floor(x); mint.ceil(x); mint.trunc(x); mint.fix(x); mint.frac(x); mint.round(x); mint.round(x, decimals=1); mint.clamp(x, -1, 2)
mint.nan_to_num(x / (x * 0)); mint.logaddexp(x, r); mint.logaddexp2(x, r); mint.gcd(i, i + 3); mint.bitwise_and(i, 6)
mint.bitwise_or(i, i); mint.bitwise_xor(i, 5); mint.bitwise_not(i); mint.eq(x, r); mint.ne(x, r); mint.lt(x, r); mint.le(x, r)
mint.gt(x, r); mint.greater_equal(x, r); mint.less(x, 1); mint.greater(x, 1); mint.isclose(x, x); mint.isnan(x); mint.isinf(x)
mint.isfinite(x); mint.isneginf(x); mint.logical_and(x > 0, x < 2); mint.logical_not(i); mint.logical_xor(x > 0, x < 2); mint.equal(x, x)
mint.allclose(x, x + 1); mint.softmax(x, 1); mint.sum(x); mint.sum(i); mint.sum(x, 1); mint.sum(x, (0, 1), True); mint.mean(x, 0)
mint.prod(x, 1); mint.nansum(x); mint.var(x); mint.std(x, 1); mint.var(x, 0, correction=0, keepdim=True); mint.std_mean(x, 1)
mint.var_mean(x); mint.amax(x, 1); mint.amin(x, 0, True); mint.max(x); mint.min(x); mint.max(x, 1); mint.min(x, 0, True)
mint.max(x, s[:2]); mint.argmax(x); mint.argmin(x, 1); mint.argmax(x, 0, True); mint.all(x > -2); mint.any(x > 3, 1)
mint.count_nonzero(x - 0.7, 1); mint.cumsum(x, 1); mint.cumsum(i, 0); mint.cumprod(x, 1); mint.cummax(x, 1); mint.cummin(x, 0)
mint.cummax(i * 0, 1); mint.logsumexp(x, 1); mint.median(x); mint.median(x, 1); mint.kthvalue(x, 2); mint.kthvalue(x, 1, 0, True)
mint.diff(x); mint.diff(x, 2, 1); mint.diff(x, prepend=x[:, :1], append=x); mint.trace(s); mint.trace(i[:, :2]); mint.bincount(at)
mint.bincount(at, minlength=5); mint.histc(x, 4); mint.histc(x, 3, -1, 2); mint.cat((x, s)); mint.cat([x, x], 1)
mint.concat((x, s), dim=0); mint.stack((r, r), 1); mint.hstack((r, r)); mint.dstack((x, x)); mint.split(x, 2, 1)
mint.split(x, [1, 2], dim=1); mint.chunk(x, 2, 1); mint.unbind(x, 1); mint.narrow(x, 1, 1, 2); mint.select(x, 1, -1)
mint.transpose(x, 0, 1); mint.swapaxes(x, 0, 1); mint.permute(x, (1, 0)); mint.t(x); mint.flatten(image, 1, 2); mint.reshape(x, (3, 2))
mint.ravel(x); mint.squeeze(x[:1]); mint.squeeze(x[:1], 0); mint.unsqueeze(x, 1); mint.tile(x, (2, 1)); mint.repeat_interleave(x, 2, 1)
mint.repeat_interleave(x, 2); mint.broadcast_to(r, (2, 3)); mint.flip(x, (0,)); mint.roll(x, 1, 1); mint.diag(r, 1); mint.diag(s)
mint.tril(s); mint.triu(s, 1); mint.gather(x, 1, places); mint.index_select(x, 1, at); mint.scatter(x, 1, places, x[:, :2] * 2)
mint.scatter(x, 1, places, 9.0); mint.scatter_add(x, 1, places, s[:2, :2]); mint.index_add(s, 0, at, s, alpha=2)
mint.masked_select(x, x > 0); mint.nonzero(x > 0); mint.where(x > 0, x, r); mint.where(x > 0); mint.take(x, at); mint.sort(x, dim=1)
mint.sort(x, dim=0, descending=True); mint.argsort(x); mint.topk(x, 2); mint.topk(x, 1, 0, False); mint.unique_consecutive(i * 0)
mint.unique_consecutive(at, True, True); mint.searchsorted(r, x); mint.searchsorted(r, r, right=True)
mint.searchsorted(r, r, out_int32=True); mint.matmul(x, s); mint.mm(x, s); mint.bmm(line, line.swapaxes(1, 2)); mint.mv(s, r)
mint.dot(r, r); mint.vdot(r, r); mint.outer(r, r); mint.einsum('ij,jk->ik', x, s); mint.addmm(x, x, s, beta=2, alpha=3)
mint.addmv(r, s, r); mint.addbmm(x[:, :2], line[:, :2], line[:, :2].swapaxes(1, 2))
mint.baddbmm(line[:, :, :4], line, line.swapaxes(1, 2)); mint.cross(s, s + r * r, dim=1); mint.cdist(x, s); mint.cdist(x, x)
mint.cdist(x, s, 1.0); mint.cdist(x, s, 3.0); mint.norm(x); mint.norm(x, 1); mint.norm(x, 2, 1, True); mint.linalg.vector_norm(x)
mint.linalg.vector_norm(image, 3, (1, 2)); mint.linalg.matrix_norm(s); mint.linalg.matrix_norm(image, 1)
mint.linalg.matrix_norm(s, 'nuc'); mint.linalg.matrix_norm(x, 2); mint.linalg.matrix_norm(volume, -2, (1, 3), True)
mint.linalg.norm(s, 2); mint.norm(s, 'nuc'); mint.inverse(s); mint.linalg.inv(s); mint.linalg.norm(x)
mint.special.expm1(x); mint.special.log_softmax(x, 1); F.relu(x); F.relu6(x * 3); F.silu(x); F.elu(x); F.elu(x, 2.0); F.gelu(x)
F.gelu(x, approximate='tanh'); F.leaky_relu(x); F.hardtanh(x); F.hardsigmoid(x); F.hardswish(x); F.hardshrink(x); F.softshrink(x)
F.threshold(x, 1.0, 9.0); F.glu(line, 1); F.logsigmoid(x); F.mish(x); F.selu(x); F.softplus(x); F.softmax(x, 0); F.log_softmax(x, 1)
F.prelu(x, r[:1]); F.dropout(x, 0.5, False); F.linear(x, s, r); F.conv1d(line, line[:, :, :3])
F.conv1d(line[0], line[:, :, :3], stride=2, padding=1); F.conv2d(image, image[:, :, :3, :2], r[:2])
F.conv2d(image, image[:, :, :3, :2], padding='same'); F.conv2d(image, image[:, :2, :3, :2], None, (2, 1), (1, 2), 1, 2)
F.conv_transpose2d(image[:, :2], image[:, :3, :2, :3], None, 2, 1, 1); F.conv_transpose2d(image[0, :2], image[:, :3, :2, :3], r)
F.conv_transpose2d(image[:, :2], image[:, :3, :2, :2], None, 1, 1, 1, 1, 2); F.pad(x, (1, 2)); F.pad(image, (1, 2, 1, 0), 'reflect')
F.pad(x, (1, 1), value=3.0); F.max_pool2d(image, 2); F.max_pool2d(image, 3, 2, 1, return_indices=True); F.avg_pool1d(line, 2)
F.avg_pool2d(image, 2, 1); F.avg_pool2d(image, (2, 3), padding=1, count_include_pad=False); F.adaptive_avg_pool2d(image, (2, 3))
F.adaptive_avg_pool1d(line, 3); F.batch_norm(image, r.new_zeros(4), r.new_ones(4)); F.batch_norm(image, None, None, training=True)
F.layer_norm(x, (3,)); F.layer_norm(x, (3,), r, r); F.group_norm(image, 2); F.normalize(x); F.normalize(image, 1.0, 2)
F.cross_entropy(x, classes); F.cross_entropy(x, classes, w, label_smoothing=0.1); F.nll_loss(x, classes); F.mse_loss(x, s[:2])
F.l1_loss(x, s[:2]); F.smooth_l1_loss(x, s[:2]); F.smooth_l1_loss(x, s[:2], beta=2.0)
F.binary_cross_entropy(F.sigmoid(x), F.sigmoid(s[:2])); F.binary_cross_entropy_with_logits(x, F.sigmoid(s[:2]), pos_weight=w)
F.kl_div(x, F.softmax(s[:2], 1)); F.kl_div(x, x, log_target=True); F.kl_div(x, F.softmax(s[:2], 1), reduction='batchmean')
F.soft_margin_loss(x, signs); F.one_hot(at); F.one_hot(at, 4); F.embedding(at, s); F.pixel_shuffle(image, 2)
F.cosine_embedding_loss(x, s[:2], signs[:, 0]); F.cosine_embedding_loss(r, s[0], signs[0, 0]); filled(nn.Linear(3, 2))(x)
filled(nn.Linear(3, 2, bias=False))(x)
filled(nn.Conv2d(4, 2, 3))(image); filled(nn.Conv2d(4, 4, (3, 2), stride=2, padding=1, groups=2, padding_mode='reflect'))(image)
filled(nn.Conv2d(4, 2, 3, padding='same'))(image); filled(nn.Conv1d(4, 2, 3, padding=1))(line)
filled(nn.ConvTranspose2d(4, 2, 3, 2, 1, 1))(image); filled(nn.BatchNorm2d(4))(image); resting(filled(nn.BatchNorm2d(4)))(image)
filled(nn.BatchNorm1d(4, affine=False))(line); filled(nn.GroupNorm(2, 4))(image); filled(nn.LayerNorm(3))(x); filled(nn.PReLU())(x)
filled(nn.Embedding(3, 2))(at); nn.ReLU()(x); nn.GELU()(x); nn.ELU(2.0)(x); nn.SiLU()(x); nn.Hardtanh()(x); nn.Softmax(1)(x)
nn.LogSoftmax(0)(x); nn.Threshold(1.0, 9.0)(x); nn.Flatten()(image); nn.PixelShuffle(2)(image); nn.MaxPool2d(2)(image)
nn.AvgPool2d(2)(image); nn.AvgPool1d(2)(line); nn.AdaptiveAvgPool2d((1, 1))(image); nn.ZeroPad2d(1)(image); nn.ConstantPad1d(1, 2.0)(line)
nn.ReflectionPad2d(1)(image); nn.ReplicationPad1d(2)(line); nn.MSELoss()(x, s[:2]); nn.L1Loss()(x, s[:2])
nn.CrossEntropyLoss()(x, classes); nn.NLLLoss()(x, classes); nn.SmoothL1Loss()(x, s[:2])
nn.KLDivLoss(reduction='batchmean')(x, F.softmax(s[:2], 1)); nn.BCEWithLogitsLoss()(x, F.sigmoid(s[:2])); nn.SoftMarginLoss()(x, signs)
F.conv3d(volume, volume[:, :, :2, :3, :2], None, 1, (1, 0, 1)); F.interpolate(image, (3, 9)); F.interpolate(image, scale_factor=2)
F.interpolate(image, scale_factor=2, mode="bilinear"); F.interpolate(line, 5, mode="linear", align_corners=True)
F.interpolate(image, (7, 4), mode="bicubic"); F.interpolate(image, (7, 4), mode="bicubic", align_corners=True)
F.interpolate(image, scale_factor=2, mode="bicubic"); F.interpolate(image, scale_factor=(0.7, 1.7), mode="bicubic")
F.interpolate(image, scale_factor=(0.7, 1.7), mode="bicubic", align_corners=True)
F.interpolate(image, scale_factor=1.3, mode="bicubic", recompute_scale_factor=True); F.interpolate(image, (5, 6), mode="bicubic")
F.interpolate(image, scale_factor=(0.7, 1.7), mode="bilinear"); F.interpolate(image, scale_factor=(1.3, 2.5))
F.interpolate(image, scale_factor=(1.3, 2.5), mode="nearest-exact"); F.interpolate(line, scale_factor=1.5, mode="linear")
F.interpolate(line, scale_factor=1.5, recompute_scale_factor=True); F.interpolate(volume, scale_factor=1.4, mode="trilinear")
F.interpolate(volume, scale_factor=1.4, mode="nearest"); F.interpolate(image, scale_factor=1.5, mode="area")
nn.Upsample(scale_factor=1.7, mode="bicubic")(image)
F.unfold(image, (2, 3), padding=1, stride=2)
F.fold(line.swapaxes(1, 2)[:, :4], (2, 5), (2, 2)); filled(nn.Conv3d(2, 2, 2))(volume); nn.Upsample(scale_factor=2)(image)
nn.UpsamplingBilinear2d(scale_factor=2)(image); nn.UpsamplingNearest2d((3, 4))(image); nn.Unfold(2)(image); stepped(optim.SGD, lr=0.1)
stepped(optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
stepped(optim.SGD, lr=0.1, momentum=0.9, dampening=0.2, maximize=True); stepped(optim.Adam, lr=0.1)
stepped(optim.Adam, lr=0.1, betas=(0.8, 0.99), weight_decay=0.1, amsgrad=True); stepped(optim.AdamW, lr=0.1)
stepped(optim.AdamW, lr=0.1, maximize=True)
"""

HARD_VALUES = {
    "zeros": {name: np.zeros_like(value) for name, value in VALUES.items()},
    "ties": {
        "x": np.array([[0.0, 1.0, 1.0], [0.0, 0.0, -0.0]]),
        "s": np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 1.0, 1.0]]),
        "r": np.array([0.0, 1.0, 1.0]),
        "image": np.round(VALUES["image"] / 2), "volume": np.round(VALUES["volume"] / 2), "line": np.round(VALUES["line"] / 2),
    },
    "bounds": {
        "x": np.array([[3.0, -3.0, 6.0], [-1.0, 2.0, 0.5]]),
        "s": np.array([[3.0, -3.0, 6.0], [-1.0, 2.0, 0.5], [1.0, -0.5, -2.0]]),
        "r": np.array([3.0, -3.0, 0.5]),
        "image": np.round(VALUES["image"]), "volume": np.round(VALUES["volume"]), "line": np.round(VALUES["line"]),
    },
}
"""Values for the arrays where functions have kinks: zeros of both signs, equal numbers and equal operands, rows of zeros, the ends of the
intervals of piecewise functions."""

AT_KINKS = """
mint.linalg.vector_norm(x, 0.5, 1); mint.linalg.vector_norm(x, 1, 1); mint.linalg.vector_norm(x, 1.5, 1)
mint.linalg.vector_norm(x, 2, (0, 1)); mint.linalg.vector_norm(x, 2.5, 0, True); mint.linalg.vector_norm(x, 3, 1)
mint.linalg.vector_norm(x, 4); mint.linalg.vector_norm(x, float("inf"), 1); mint.linalg.vector_norm(x, -float("inf"), 1)
mint.linalg.vector_norm(x, 0, 1); mint.linalg.vector_norm(x, -1, 1); mint.norm(x, 3, 1); mint.norm(x, 'fro', (0, 1))
mint.norm(x, 2, 0, True); mint.norm(x, float("inf"), 0); F.normalize(x, 1.0); F.normalize(x, 3.0, 0); F.normalize(x, eps=0.5)
F.normalize(x, float("inf")); mint.cdist(x, s, 0.5); mint.cdist(x, s, 1.5); mint.cdist(x, s, float("inf")); mint.cdist(x, s, 0.0)
mint.std(x); mint.std(x, 0, correction=0, keepdim=True); mint.std_mean(x, 0, correction=0); mint.var_mean(x, 1)
mint.pow(x, r); mint.pow(x, 2); mint.pow(x, 0); mint.pow(x, 1); mint.pow(x, 0.5); mint.pow(2.0, x); mint.pow(0.0, x)
mint.float_power(x, 2); mint.xlogy(x, r); mint.xlogy(r, x); mint.xlogy(x, 0.5); mint.xlogy(x, 0.0); mint.xlogy(0.0, x)
mint.sqrt(x); mint.rsqrt(x); mint.log(x); mint.log1p(x); mint.log2(x); mint.log10(x); mint.reciprocal(x); mint.div(x, r); mint.div(x, x)
mint.asin(x); mint.acos(x); mint.atanh(x); mint.acosh(x); mint.remainder(x, 2.0); mint.fmod(x, 2.0); mint.clamp(x, 0, 1)
mint.clamp(x, min=0); mint.logsumexp(x / (x * 0), 1); mint.logaddexp(x, x); mint.logaddexp2(x, x); mint.prod(x); mint.prod(x, 0)
mint.cumprod(x, 0); mint.sinc(r); mint.addcdiv(x, x, r); mint.where(x == 0, x * 0, mint.sqrt(x)); F.smooth_l1_loss(x, x * 1)
F.l1_loss(x, x * 1); F.mse_loss(x, x * 1); F.smooth_l1_loss(x, s[:2], beta=0.0); F.cosine_embedding_loss(x, s[:2] * 1, signs[:, 1])
F.kl_div(x, s[:2]); F.binary_cross_entropy(F.sigmoid(x), F.sigmoid(x)); F.softplus(x, 2, 1); F.hardshrink(x, 1.0); F.softshrink(x, 1.0)
F.relu6(x); F.threshold(x, 0.0, 2.0); F.hardtanh(x, 0.0, 3.0); mint.amax(x, (0, 1)); mint.max(x, s[:2] * 1)
mint.median(x, 0); mint.linalg.matrix_norm(x); mint.linalg.matrix_norm(x, 1); mint.linalg.matrix_norm(x, float("inf"))
mint.linalg.norm(x, 3, 1); F.logsigmoid(x * 1000); F.softmax(x / (x * 0), 1)
F.layer_norm(x * 0 + 1, (3,)); F.glu(x[:, :2]); F.prelu(x, r[:1])
"""
"""Calls of functions that have kinks, or poles where their gradient has a finite limit."""


def calls(text: str) -> list[str]:
    return [e.strip() for line in text.strip().splitlines() for e in line.split("; ")]


def expressions() -> list[str]:
    return calls(CALLS)


def at_kinks() -> list[str]:
    """The calls whose gradients at `HARD_VALUES` are compared: those of functions of small arrays."""
    large = ("image", "volume", "line[", "line,", "line.")
    return [e for e in expressions() if e.startswith(("mint.", "F.")) and not any(name in e for name in large)] + calls(AT_KINKS)
