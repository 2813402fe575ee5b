"""Small networks, their losses and updates."""

from __future__ import annotations

import adjoint
from adjoint import Parameter, ParameterTuple, Tensor, nn, ops
from programs.program import f32, grid, i32, program


def dense(inputs, outputs, seed, activation=None):
    return nn.Dense(inputs, outputs, Tensor(grid(outputs, inputs, seed)), "zeros", activation=activation)


def image(batch, channels, size, seed=0):
    return grid(batch * channels, size * size, seed).reshape(batch, channels, size, size)


@program(grid(4, 3), wrt=0, features="MLP, cells")
class MLP(nn.Cell):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = dense(3, 5, 1), dense(5, 2, 2)

    def construct(self, x):
        return ops.softmax(self.out(ops.tanh(self.hidden(x))), axis=-1)[:, 0]


@program(grid(4, 3), wrt=0, features="MLP, sequential, cells")
class SequentialMLP(nn.Cell):
    """The same written as a SequentialCell, with a loop over its cells besides."""

    def __init__(self):
        super().__init__()
        self.net = nn.SequentialCell(dense(3, 5, 1, "tanh"), nn.LayerNorm((5,)), dense(5, 2, 2), nn.Sigmoid())

    def construct(self, x):
        y = x
        for cell in self.net:
            y = cell(y)
        return self.net(x) + y


def of_unit_length(parameter):
    """Divide weights by their length; leave biases."""
    return parameter / ops.sqrt(ops.square(parameter).sum()) if parameter.ndim > 1 else parameter


def chosen(parameter):
    """Double a bias if most of it is negative."""
    return parameter * 2 if parameter.sum() < 0 else parameter * 1


@program(grid(4, 3), wrt=0, features="MLP, cells, hooks on Parameters")
class HookedParameters(nn.Cell):
    """Hooks return what construct sees in the place of Parameters: one for all weights, one for a single Parameter."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = dense(3, 5, 1, "tanh"), dense(5, 2, 2)
        self.shift = Parameter(Tensor(grid(1, 2, 3)[0]), name="shift")
        self.register_parameter_forward_hook(of_unit_length)
        self.register_parameter_forward_hook([{"params": [self.shift], "hook": chosen}])

    def construct(self, x):
        return self.out(self.hidden(x)) * self.shift + self.shift


@program(image(2, 1, 6), wrt=0, features="conv net, cells")
class ConvNet(nn.Cell):
    """Convolution, pooling, a dense layer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, pad_mode="valid", has_bias=True, weight_init=Tensor(image(2, 1, 3, 5)), bias_init="ones")
        self.pool, self.flatten = nn.AvgPool2d(2, 2), nn.Flatten()
        self.out = dense(8, 3, 2)

    def construct(self, x):
        return self.out(self.flatten(self.pool(ops.tanh(self.conv(x)))))


@program(image(2, 2, 4), wrt=0, features="conv net, moving average, training", differences=False)
class ConvNetWithNorm(nn.Cell):
    """Convolution, batch normalisation in training, ReLU and maximum pooling."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, weight_init=Tensor(image(3, 2, 3, 5)))
        self.norm, self.relu, self.pool = nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2, 2)
        self.set_train()

    def construct(self, x):
        return self.pool(self.relu(self.norm(self.conv(x)))).mean(axis=(2, 3))


@program(grid(6, 3).reshape(3, 2, 3), wrt=0, features="RNN, for tensor rows, list methods")
class RNN(nn.Cell):
    """A recurrent network over time steps, which keeps its states."""

    def __init__(self):
        super().__init__()
        self.input, self.recurrent = dense(3, 4, 1), dense(4, 4, 2)

    def construct(self, sequence):
        state = ops.zeros((sequence.shape[1], 4), sequence.dtype)
        states = []
        for step in sequence:
            state = ops.tanh(self.input(step) + self.recurrent(state))
            states.append(state)
        return ops.stack(states, axis=0), state


@program(grid(3, 4), f32(0.5, -0.5), wrt=(0, 1), features="RNN, gated unit, reads: loop variable")
class GatedRNN(nn.Cell):
    """A gated recurrent unit, with parameters of its own; the last step comes first."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(grid(6, 4, 1)), name="weight")
        self.back = Parameter(Tensor(grid(6, 2, 2)), name="back")

    def step(self, x, h):
        a, b = self.weight @ x, self.back @ h
        reset, update = ops.sigmoid(a[:2] + b[:2]), ops.sigmoid(a[2:4] + b[2:4])
        candidate = ops.tanh(a[4:] + reset * b[4:])
        return (1 - update) * candidate + update * h

    def construct(self, x, h):
        for t in range(x.shape[0] - 1, -1, -1):
            h = self.step(x[t], h)
        return h


@program(grid(6, 4).reshape(2, 3, 4), wrt=0, features="attention, shapes")
class Attention(nn.Cell):
    """Two heads of causal self-attention."""

    def __init__(self, heads=2):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (dense(4, 4, seed) for seed in range(4))

    def split(self, x):
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, width // self.heads).transpose(0, 2, 1, 3)

    def construct(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = ops.matmul(q, k.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
        mask = ops.tril(ops.ones(scores.shape[-2:]))
        scores = scores + (1 - mask) * -1e4
        mixed = ops.matmul(ops.softmax(scores, axis=-1), v)
        return self.out(mixed.transpose(0, 2, 1, 3).reshape(x.shape))


class Block(nn.Cell):
    """x + tanh(dense(x)), or tanh(dense(x)) alone."""

    def __init__(self, width, seed, skip=True):
        super().__init__()
        self.inner, self.skip = dense(width, width, seed), skip

    def construct(self, x):
        y = ops.tanh(self.inner(x))
        return x + y if self.skip else y


@program(grid(2, 3), wrt=0, features="residual network, CellList")
class ResidualNetwork(nn.Cell):
    """Blocks in a CellList; some are used twice."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block(3, seed, skip=seed != 1) for seed in range(3)])

    def construct(self, x):
        kept = []
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i % 2 == 0:
                x = x * 0.5 + block(x)
                kept.append(x)
        return sum(kept)


@program(grid(3, 2), grid(3, 1, 4), wrt=0, features="residual network, CellList, tensor if, tensor break, early stopping")
class EarlyExit(nn.Cell):
    """Layers are skipped as soon as the result is certain."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block(2, seed) for seed in range(4)])
        self.out = dense(2, 1, 7)

    def construct(self, x, target):
        loss = x.sum() * 0
        for block in self.blocks:
            x = block(x)
            loss = ((self.out(x) - target) ** 2).mean()
            if loss < 1.5:
                break
        return loss


@program(i32([1, 0, 3], [2, 2, 1]), wrt=(), features="embedding, cells")
class WordAverages(nn.Cell):
    """Integer inputs select rows of a table."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 3, embedding_table=Tensor(grid(4, 3, 1)))
        self.out = dense(3, 2, 2)

    def construct(self, words):
        weight = ops.cast(words > 0, adjoint.float32)[..., None]
        return self.out((self.table(words) * weight).sum(axis=1) / weight.sum(axis=1))


@program(grid(2, 4), wrt=0, features="autoencoder, cells")
class TiedAutoencoder(nn.Cell):
    """One weight used in both directions."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(grid(2, 4, 1)), name="weight")

    def construct(self, x):
        code = ops.tanh(x @ self.weight.T)
        return ((code @ self.weight - x) ** 2).mean()


@program(grid(4, 3), i32(0, 1, 1, 0), wrt=0, features="loss cell, cells")
class Classifier(nn.Cell):
    """A network, its loss cell, and a penalty on its weights."""

    def __init__(self):
        super().__init__()
        self.net = nn.SequentialCell([dense(3, 4, 1), nn.GELU(), dense(4, 2, 2)])
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, x, labels):
        penalty = 0.0
        for weight in self.trainable_params():
            penalty = penalty + (weight * weight).sum()
        return self.loss(self.net(x), labels) + 0.01 * penalty


@program(grid(4, 3), wrt=0, features="hypernetwork, dicts, cells")
class NamedLayers(nn.Cell):
    """Layers in a dict by name, in an order given by strings."""

    def __init__(self, order=("tanh", "dense", "tanh", "gelu")):
        super().__init__()
        self.order = order
        self.dense = dense(3, 3, 1)
        self.layers = {"tanh": nn.Tanh(), "gelu": nn.GELU(), "dense": self.dense}

    def construct(self, x):
        for name in self.order:
            x = self.layers[name](x)
        return x


# Updates ----------------------------------------------------------------------------------------------------------------


@program(grid(4, 3), grid(4, 1, 1), features="optimiser, grad, parameters written: assign")
class DescentByHand(nn.Cell):
    """Gradient descent with momentum, written out."""

    def __init__(self):
        super().__init__()
        self.net = dense(3, 1, 2)
        self.weights = ParameterTuple(self.net.trainable_params())
        self.speeds = self.weights.clone(prefix="speed", init="zeros")

    def loss(self, x, target):
        return ((self.net(x) - target) ** 2).mean()

    def construct(self, x, target):
        value, gradients = adjoint.value_and_grad(self.loss, None, self.weights)(x, target)
        for weight, speed, gradient in zip(self.weights, self.speeds, gradients):
            ops.assign(speed, 0.9 * speed + gradient)
            ops.assign_sub(weight, 0.1 * speed)
        return value


@program(grid(4, 3), grid(4, 1, 1), features="optimiser, cells, parameters written")
class TrainingStep(nn.Cell):
    """Network, loss, optimiser and training step of the library."""

    def __init__(self):
        super().__init__()
        net = dense(3, 1, 2)
        self.step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))

    def construct(self, x, target):
        first = self.step(x, target)
        return first, self.step(x, target)


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1), features="optimiser, tuples, functions")
def adam_update(weight, gradient):
    """Three steps of Adam, on a tensor and its state."""

    def step(weight, state, gradient, rate=0.1, first=0.9, second=0.99):
        mean, square, count = state
        count = count + 1
        mean = first * mean + (1 - first) * gradient
        square = second * square + (1 - second) * gradient**2
        corrected = mean / (1 - first**count) / (ops.sqrt(square / (1 - second**count)) + 1e-3)
        return weight - rate * corrected, (mean, square, count)

    state = (ops.zeros_like(weight), ops.zeros_like(weight), 0)
    for _ in range(3):
        weight, state = step(weight, state, gradient * weight)
    return weight


@program(grid(2, 3), grid(3, 1, 1), features="optimiser, clipping, tensor if", wrt=0)
def clipped_gradients(x, w):
    """Gradients scaled down when their norm is too large."""

    def loss(weight):
        return ((x @ weight) ** 2).sum()

    gradient = adjoint.grad(loss)(w)
    length = ops.sqrt((gradient * gradient).sum())
    if length > 0.5:
        gradient = gradient * (0.5 / length)
    return w - gradient


@program(grid(3, 2), grid(4, 2, 1), grid(4, 3, 2), wrt=(0, 1, 2), features="attention, default arguments")
def weighted_memory(query, keys, values, mask=None):
    """Attention as a plain function."""
    scores = query @ keys.T * keys.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + mask
    weights = ops.softmax(scores, -1)
    return weights @ values, weights


@program(f32(1.0, -2.0), wrt=0, features="private names")
class HasPrivateNames(nn.Cell):
    """Attributes, methods, variables and parameters whose names begin with two underscores, in a class and in a class that inherits it."""

    __offset = 0.5

    def __init__(self):
        super().__init__()
        self.__rate = 3.0
        self.__weight = Parameter(Tensor([0.5, -1.5]), name="weight")

    @property
    def __twice(self):
        return self.__rate * 2

    def __scaled(self, x, __by=1.0):
        return x * self.__rate * __by

    def construct(self, x):
        __y = self.__scaled(x) + HasPrivateNames.__offset
        for __i in range(3):
            __y = __y * __i + self.__weight

        def __added(z, *, __most=2.0):
            return (z + __y).clip(-__most, __most)

        return __added(x), (lambda z: z * __y + self.__twice)(x), [__z * x for __z in (1.0, self.__offset)]


@program(f32(1.0, -2.0), wrt=0, features="private names")
class InheritsPrivateNames(HasPrivateNames):
    """The class that inherits has private names of its own."""

    def __init__(self):
        super().__init__()
        self.__rate = 7.0

    def construct(self, x):
        return super().construct(x)[0] * self.__rate
