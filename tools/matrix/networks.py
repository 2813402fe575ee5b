"""Networks, training steps and filters that `tools/matrix` exports with `export`: what a controller would run, and what others have
measured.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Tensor, nn, ops

__all__ = ["NETWORKS", "Exported", "Network"]

HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Exported:
    """What `export` is called with.

    target   a network or a function
    inputs   its arguments
    options  others of `export`
    """

    target: Any
    inputs: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    """A program to export.

    make   returns it; the random numbers are the same each time
    small  whether it fits into the memory of the board (`board.py`)
    about  what it is, for the table
    """

    make: Callable[[], Exported]
    about: str
    small: bool = True


def _numbers(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32))


def _labels(count: int, classes: int) -> Tensor:
    return Tensor(np.random.default_rng(count).integers(classes, size=count).astype(np.int32))


def training_step(net: nn.Cell, optimizer: nn.Optimizer) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function that trains a classifier on a batch and returns the loss."""
    loss = ms.value_and_grad(lambda x, labels: ops.cross_entropy(net(x), labels), None, optimizer.parameters)

    def step(x: Tensor, labels: Tensor) -> Tensor:
        value, gradients = loss(x, labels)
        optimizer(gradients)
        return value

    return step


# -- networks --------------------------------------------------------------------------------------------------------------
class Digits(nn.Cell):
    """A convolution and two dense layers for images of 8 x 8."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 8, 3, pad_mode="valid", has_bias=True)
        self.pool, self.flatten = nn.MaxPool2d(2, 2), nn.Flatten()
        self.hidden, self.last = nn.Dense(72, 24), nn.Dense(24, 10)

    def construct(self, images: Tensor) -> Tensor:
        h = self.flatten(self.pool(ops.relu(self.convolution(images))))
        return self.last(ops.tanh(self.hidden(h)))


class Sequence(nn.Cell):
    """A recurrent network that classifies a series."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrent, self.last = nn.LSTM(3, 8, batch_first=True), nn.Dense(8, 4)

    def construct(self, x: Tensor) -> Tensor:
        h, _ = self.recurrent(x)
        return self.last(h[:, -1])


def _sine() -> Exported:
    return Exported(nn.SequentialCell(nn.Dense(1, 16), nn.ReLU(), nn.Dense(16, 16), nn.ReLU(), nn.Dense(16, 1)), (_numbers(1, 1),))


def _dense() -> Exported:
    return Exported(nn.SequentialCell(nn.Dense(32, 16), nn.ReLU(), nn.Dense(16, 4)), (_numbers(1, 32),))


def _digits() -> Exported:
    net = Digits()
    step = training_step(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    return Exported(step, (_numbers(4, 1, 8, 8), _labels(4, 10)), {"also": {"predict": (net, _numbers(1, 1, 8, 8))}})


def _last_layer() -> Exported:
    """The example of docs/deploying.md."""
    net = nn.SequentialCell(nn.Dense(64, 24), nn.ReLU(), nn.Dense(24, 10))
    for parameter in net[0].trainable_params():
        parameter.requires_grad = False
    step = training_step(net, nn.SGD(net.trainable_params(), 0.1))
    return Exported(step, (_numbers(1, 64), _labels(1, 10)), {"also": {"predict": (net, _numbers(1, 64))}})


def _sequence() -> Exported:
    net = Sequence()
    return Exported(training_step(net, nn.Adam(net.trainable_params(), 0.01)), (_numbers(2, 10, 3), _labels(2, 4)))


class Normalised(nn.Cell):
    """A convolution with batch normalisation and dropout, for images of 8 x 8."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(1, 4, 3, pad_mode="valid", has_bias=True), nn.BatchNorm2d(4)
        self.flatten, self.drop, self.last = nn.Flatten(), nn.Dropout(p=0.25), nn.Dense(144, 10)

    def construct(self, images: Tensor) -> Tensor:
        return self.last(self.drop(self.flatten(ops.relu(self.norm(self.convolution(images))))))


def _batches() -> Exported:
    net = Normalised().set_train()
    step = training_step(net, nn.Adam(net.trainable_params(), 0.01))
    return Exported(step, (_numbers(3, 1, 8, 8), _labels(3, 10)), {"also": {"predict": (net, _numbers(3, 1, 8, 8))}, "max_batch": 9})


def _steering() -> Exported:
    cost = runpy.run_path(str(HERE / "examples" / "steering.py"))["cost"]
    slope = ms.grad(cost)

    def steer(forces: Tensor, target: Tensor, response: Tensor) -> Tensor:
        """Lower the cost until it hardly falls, in 50 rounds at most."""
        before = ops.zeros((), ms.float32) + 1e9
        now, rounds = cost(forces, target, response), 0
        while rounds < 50 and now < 0.999 * before:
            forces = forces - 0.5 * slope(forces, target, response)
            before, now, rounds = now, cost(forces, target, response), rounds + 1
        return forces

    response = Tensor(np.tril(np.full((20, 20), 0.1, np.float32)))
    return Exported(steer, (ops.zeros((20,), ms.float32), _numbers(20) * 0.3, response))


def _controller() -> Exported:
    """A step of a PID controller, and the gradient of its error by the gains."""

    def step(gains: Tensor, state: Tensor, measured: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the force in N, from -10 to 10, and the state after 10 ms: the sum of the errors in m s, and the last error in m."""
        error = target - measured
        total = state[0] + 0.01 * error
        slope = (error - state[1]) / 0.01
        force = gains[0] * error + gains[1] * total + gains[2] * slope
        return ops.clamp(force, -10.0, 10.0), ops.stack((total, error))

    def miss(gains: Tensor, state: Tensor, measured: Tensor, target: Tensor) -> Tensor:
        """Return the square of what is missing where the force moves 0.1 m/N."""
        force, _ = step(gains, state, measured, target)
        return (measured + 0.1 * force - target) ** 2

    given = (_numbers(3), _numbers(2), _numbers(), _numbers() + 0.1)
    return Exported(step, given, {"also": {"tune": (ms.value_and_grad(miss), *given)}})


def _filter() -> Exported:
    """A step of a Kalman filter of a place and a speed, and the gradient of the measurement's likelihood by the noise."""
    motion, sees = Tensor(np.array([[1, 0.1], [0, 1]], np.float32)), Tensor(np.array([[1, 0]], np.float32))
    one = Tensor(np.eye(2, dtype=np.float32))

    def step(state: Tensor, spread: Tensor, noise: Tensor, measured: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the state f32[2, 1] and its covariance after a measurement, and minus the logarithm of its likelihood."""
        state = motion @ state
        spread = motion @ spread @ motion.T + noise[1] * one
        off = measured - sees @ state
        expected = sees @ spread @ sees.T + noise[0]
        gain = spread @ sees.T / expected
        surprise = 0.5 * (off * off / expected + ops.log(expected)).sum()
        return state + gain @ off, spread - gain @ sees @ spread, surprise

    def surprise(state: Tensor, spread: Tensor, noise: Tensor, measured: Tensor) -> Tensor:
        return step(state, spread, noise, measured)[2]

    given = (_numbers(2, 1), one, ops.exp(_numbers(2)), _numbers(1, 1))
    return Exported(step, given, {"also": {"tune": (ms.value_and_grad(surprise, 2), *given)}})


def _pendulum() -> Exported:
    """A pendulum for 0.2 s, and the gradient of where it is then."""

    def slope(state: Tensor, torque: Tensor) -> Tensor:
        return ops.stack((state[1], torque - 9.81 * ops.sin(state[0]) - 0.1 * state[1]))

    def swing(state: Tensor, torque: Tensor) -> Tensor:
        """Return the angle and the speed f32[2] after 20 steps of Heun's rule."""
        for _ in range(20):
            first = slope(state, torque)
            second = slope(state + 0.01 * first, torque)
            state = state + 0.005 * (first + second)
        return state

    def far(state: Tensor, torque: Tensor) -> Tensor:
        return (swing(state, torque) ** 2).sum()

    given = (_numbers(2), _numbers())
    return Exported(swing, given, {"also": {"tune": (ms.value_and_grad(far, (0, 1)), *given)}})


def _lenet() -> Exported:
    net = runpy.run_path(str(HERE / "examples" / "lenet_digits.py"))["LeNet5"]()
    step = training_step(net, nn.Momentum(net.trainable_params(), 0.01, 0.9))
    return Exported(step, (_numbers(4, 1, 32, 32), _labels(4, 10)), {"also": {"predict": (net, _numbers(1, 1, 32, 32))}})


NETWORKS = {
    "sine": Network(_sine, "dense 1, 16, 16, 1"),
    "dense": Network(_dense, "dense 32, 16, 4"),
    "digits": Network(_digits, "convolution and dense, 8 x 8, batch of 4, Momentum"),
    "last_layer": Network(_last_layer, "dense 64, 24, 10; its last layer trains, SGD"),
    "sequence": Network(_sequence, "LSTM, 10 steps, batch of 2, Adam"),
    "batches": Network(_batches, "convolution and batch normalisation, 8 x 8, batches of 1 to 9, Adam"),
    "steering": Network(_steering, "gradient descent in a loop, 20 forces"),
    "pid": Network(_controller, "PID controller, a step; its gradient by the gains"),
    "kalman": Network(_filter, "Kalman filter of 2 states, a step; its gradient by the noise"),
    "pendulum": Network(_pendulum, "pendulum, 20 steps; its gradient"),
    "lenet": Network(_lenet, "LeNet-5, 32 x 32, batch of 4, Momentum", small=False),
}
"""By the prefix of their C."""
