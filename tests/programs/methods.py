"""Properties and methods of tensors, dtypes, and ops that are not elementwise."""

from __future__ import annotations

import adjoint
from adjoint import Tensor, nn, ops
from programs.program import f16, f32, f64, grid, i32, program


@program(grid(2, 3), wrt=0)
def properties(x):
    """Properties are Python values."""
    rows, columns = x.shape
    y = x * x.ndim + x.size / columns - len(x.shape) * rows
    if x.dtype == adjoint.float32 and x.shape == (2, 3) and x.itemsize == 4 and x.nbytes == 24:
        y = y * x.dim()
    return y, x.shape, x.ndim, x.size


@program(grid(2, 3), wrt=0)
def shapes(x):
    """Methods that change shapes."""
    y = x.reshape(3, 2).T + x.transpose(1, 0).reshape((2, 3)) + x.view(-1)[:1]
    z = x.expand_dims(0).squeeze(0).flatten().broadcast_to((2, 6)).swapaxes(0, 1)
    return y, z, x.tile((1, 2)), x.repeat(2, 1), x.permute(1, 0)


@program(grid(3, 4), wrt=0)
def reductions(x):
    """Reductions and comparisons as methods."""
    return (x.sum(), x.sum(axis=0), x.mean(axis=-1, keep_dims=True), x.max() - x.min(), x.prod(axis=1), x.var(axis=0), x.std(),
            x.cumsum(axis=1), x.max(axis=0), x.norm())


@program(grid(3, 4))
def places_of_elements(x):
    """Methods that return indices and truth values."""
    values, places = x.sort(axis=1)
    top, which = x.topk(2)
    return x.argmax(axis=1), x.argmin(), (x > 0).any(), (x > 0).all(axis=0), values, places, top, which, (x > 0).sum()


@program(f32(0.5, 1.5, 2.5), f32(-1.0, 0.25, 2.0), wrt=(0, 1))
def elementwise_methods(x, y):
    """Operators as methods."""
    z = x.exp().log1p() + x.sqrt() * y.tanh() - y.sigmoid().pow(2)
    return z.add(x).mul(y).sub(1.0).div(x), x.maximum(y), y.clamp(-0.5, 0.5), y.abs().neg(), x.square().reciprocal()


@program(f32(0.5, -1.5, 2.6), wrt=0, differences=False)
def dtypes_and_back(x):
    """astype, half, float, to, and int, which stops the gradient."""
    y = x.astype(adjoint.float16) * 3.3
    z = x.astype("float64") / 3
    return y.astype(adjoint.float32) + z.astype(x.dtype), x.half(), x.to(adjoint.float64), x.int(), (x > 0).astype(adjoint.int32)


@program(i32(3, -4, 0), f32(0.3, -0.7, 1.0), wrt=1)
def casts(n, x):
    """ops.cast, type_as, and integers as floats."""
    return ops.cast(n, adjoint.float32) * x + n.float() * 2 + n.type_as(x)


@program(f32(0.5, -1.5, 2.0), wrt=0)
def new_tensors(x):
    """Tensors like others, and of given sizes."""
    y = ops.zeros_like(x) + ops.ones_like(x) * 2 + x.new_ones(3) + ops.full((3,), 0.5)
    return y * x + ops.arange(3) + ops.linspace(0.0, 1.0, 3) + ops.eye(3)[1], ops.zeros(x.shape, x.dtype)


@program(f32(0.5, -1.5, 2.0), f32(1.0, 1.0, -0.0), wrt=(0, 1))
def choices(x, y):
    """where, select, masked_fill, maximum."""
    return ops.where(x > 0, x * y, y - x), ops.select(y > 0.5, x, 2 * y), x.masked_fill(x < 0, 0.25), ops.minimum(x, 1.0 + y * 0.1)


@program(grid(2, 3), grid(2, 3, 1), wrt=(0, 1))
def joins_and_splits(x, y):
    """concat, stack, split, chunk, unstack."""
    joined = ops.concat([x, y], axis=1)
    left, middle, right = joined.split(2, axis=1)
    first, second = ops.stack((x, y), axis=0).unbind(0)
    return left * right + middle, first - second, [part * 2 for part in ops.chunk(joined, 3, axis=1)]


@program(grid(2, 3), grid(3, 4, 1), wrt=(0, 1))
def matrix_methods(x, w):
    """matmul, @, T, transposes and outer products."""
    y = x.matmul(w) + x @ w
    return y @ w.T, ops.outer(x[0], w[1]), ops.tril(y @ y.T), (x.T @ x).trace()


@program(f16(0.1, -2.0, 300.0), f16(0.3), wrt=(0, 1), differences=False)
def half_precision(x, scale):
    """float16 rounds after every operator; 300 * 300 is infinite."""
    return x * scale + 1, x * x, x.sum(), (x / 3).astype(adjoint.float32), ops.exp(x * 0.01)


@program(f64(0.1, -0.2), f64(1e-12), wrt=(0, 1))
def double_precision(x, tiny):
    """float64 keeps what float32 would lose."""
    return (x + tiny) - x * 0.5, ops.sin(x) / (x + 1) ** 2, x.sum() + 0.1


@program(i32(1, 5, -3), i32(2, 2, 2))
def integer_methods(n, m):
    """Integer tensors: sums are Int64, means are integers."""
    return n.sum(), n.max(), n.prod(), n.pow(2), n.clamp(0, 3), n.argmax(), n.equal(m), n.maximum(m), n.abs(), n.cumsum(0)


@program(f32(0.5, -1.5, 2.0), wrt=0, differences=False)
def in_place_methods(x):
    """Methods ending in _ change the tensor they belong to."""
    y = x * 1
    y.add_(1.0)
    y.mul_(x)
    z = y.copy()
    z.fill_(2.0)
    return y, z * x


@program(f32(0.5, -1.5, 2.0), wrt=0, features="chained methods", differences=False)
def chained_methods(x):
    """One method after the other, over several lines."""
    return (
        x.reshape(1, -1)
        .expand_dims(-1)
        .tile((2, 1, 2))
        .sum(axis=(0, 2))
        .astype(adjoint.float32)
    )


@program(grid(2, 6), wrt=0, features="shapes")
def shape_arithmetic(x):
    """Sizes computed from sizes."""
    batch, width = x.shape
    heads = width // 3
    y = x.reshape(batch, heads, -1)
    assert y.shape[-1] * heads == width
    return y.transpose(0, 2, 1).reshape(batch * y.shape[-1], heads) / y.shape[1] ** 0.5


mean_square, absolute = nn.MSELoss(), nn.L1Loss(reduction="sum")
by_class, by_rows = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), nn.SoftmaxCrossEntropyWithLogits()


@program(f32(0.5, -1.5, 2.0), f32(0.0, 1.0, 1.0), wrt=0, features="ops functions, globals")
def losses(x, target):
    """Losses, as functions and as cells."""
    return mean_square(x, target) + ops.mse_loss(x, target) * 2 + absolute(x, target)


@program(grid(3, 4), i32(0, 3, 2), wrt=0, features="ops functions")
def cross_entropy(logits, labels):
    """Class labels as numbers and as rows of a table."""
    table = ops.one_hot(labels, 4, Tensor(1.0), Tensor(0.0))
    return by_class(logits, labels) + by_rows(logits, table).sum(), ops.log_softmax(logits)


@program(grid(2, 6), i32([[1, 4]]), wrt=0, features="shapes, numbers of tensors")
def sizes_and_items(x, bounds):
    """Views whose sizes are computed, and bounds taken out of a tensor."""
    y = x.view(x.size // 3, 3)
    low, high = bounds[0, 0].item(), int(bounds[0, 1])
    return y.sum(axis=0) * low + high, y.size


@program(grid(2, 6), i32([[1, 4]]), wrt=0, features="numbers of tensors", refused="E203")
def part_of_unknown_size(x, bounds):
    """A slice whose ends are in a tensor has a size that no graph knows."""
    return x.view(-1)[int(bounds[0, 0]):bounds[0, 1].item()] * 2


class Doubled:
    """A context manager of the user's: it scales a factor while it is entered."""

    def __init__(self):
        self.factor = Tensor([1.0])
        self.log = []

    def __enter__(self):
        self.factor = self.factor * 2
        self.log.append("in")
        return self

    def __exit__(self, kind, value, traceback):
        self.factor = self.factor / 4
        self.log.append("out" if kind is None else "failed")


@program(f32(1.0, -2.0), wrt=0)
def entered_objects(x):
    """`with` objects that the body makes, one inside of another and in a loop; what `__exit__` changes is seen behind."""
    own = Doubled()
    with own as scale, Doubled():
        if x.sum() > 0:
            y = x * scale.factor
        else:
            y = x - scale.factor
    for i in range(3):
        with own:
            if i == 1:
                continue
            y = y * own.factor
    return y, own.factor, own.log


KEPT = Doubled()


class Entered:
    """A context manager that changes an object from outside."""

    def __enter__(self):
        KEPT.factor = KEPT.factor * 3

    def __exit__(self, *left):
        KEPT.factor = KEPT.factor / 2


@program(f32(1.0, -2.0), wrt=0, features="attributes written")
def entered_outside(x):
    """`with` an object from outside, left by `return`: each run changes its attributes."""
    KEPT.factor = Tensor([1.0])
    with Entered():
        return x * KEPT.factor
