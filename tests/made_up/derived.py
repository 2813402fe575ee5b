"""Networks of parts that take derivatives, keep state, draw random numbers or have hooks; they are asked for derivatives, and trained.

A seed decides the parts and the question. Eager mode, `jit`, GRAPH_MODE and the text of the graph, printed and parsed, give the same bits,
and hooks see the same tensors in the same order.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.verify import verify_module
from adjoint.runtime.graphs.calls.making import parsed, run_instead

__all__ = ["DerivedTally", "checked"]

MODES = ("jit", "graph", "text")
WEIGHTS = np.array([0.3, -0.7, 1.1], np.float32)
INPUTS = ([0.1, 0.5, -0.3], [-0.4, 0.2, 0.9], [0.1, 0.5, -0.3])


class Part(nn.Cell):
    """A part of a network: [3] to [3]. `seen` is what its hooks were given."""

    def __init__(self, rng: np.random.Generator, seen: list[bytes]):
        super().__init__()
        self.dense = nn.Dense(3, 3, weight_init=Tensor(rng.normal(size=(3, 3)).astype(np.float32)), bias_init="zeros")
        self.seen, self.kind, self.scale = seen, int(rng.integers(3)), float(rng.choice([0.5, 1.0, 2.0]))
        self.begin()

    def begin(self) -> None:
        """Make what the part has besides."""

    def product(self, x: Any) -> Any:
        return ops.tanh(self.dense(x)) * x

    def construct(self, x: Any) -> Any:
        y = self.dense(x)
        if self.kind == 0:
            return ops.tanh(y)
        return ops.sigmoid(y) * x if self.kind == 1 else ops.sin(y) + x * 0.5

    def note(self, x: Any) -> None:
        self.seen.append(x.asnumpy().tobytes())


class Gradient(Part):
    def construct(self, x: Any) -> Any:
        return ms.grad(lambda v: self.product(v).sum())(x) + x


class Pulled(Part):
    def construct(self, x: Any) -> Any:
        y, pull = ms.vjp(self.product, x)
        return pull(x)[0] + pull(y)[0]


class Along(Part):
    def construct(self, x: Any) -> Any:
        return ms.jvp(self.product, x, x)[1] + x * 0.25


class Linear(Part):
    def construct(self, x: Any) -> Any:
        y, along = ms.linearize(self.product, x)
        return along(x) + along(x * 0.5) + y


class Rows(Part):
    def construct(self, x: Any) -> Any:
        return ms.jacrev(self.product)(x).sum(0)


class Columns(Part):
    def construct(self, x: Any) -> Any:
        return ms.jacfwd(self.product)(x).sum(0)


class Second(Part):
    def construct(self, x: Any) -> Any:
        return ms.hessian(lambda v: self.product(v).sum())(x).sum(0) * 0.3 + x


class Batch(Part):
    def construct(self, x: Any) -> Any:
        return ms.vmap(self.product)(ops.stack([x, x * 2, x * 0.3, -x])).sum(0) * 0.5


class Gradients(Part):
    def construct(self, x: Any) -> Any:
        return ms.vmap(ms.grad(lambda v: self.product(v).sum()))(ops.stack([x, x * 2, -x])).sum(0) * 0.5


class Jitted(Part):
    def construct(self, x: Any) -> Any:
        return ms.jit(lambda v: ms.vmap(self.dense)(ops.stack([v, v * 2, v - 1])).sum(0))(x) * 0.3


class Loop(Part):
    def construct(self, x: Any) -> Any:
        if self.kind == 0:
            for row in ops.stack([x, x * 2, x * 0.5]):
                x = ops.tanh(self.dense(row) + x)
        elif self.kind == 1:
            i = Tensor(0)
            while i < 3:
                x = self.dense(x) * 0.5 + ops.cos(x)
                i = i + 1
        elif x.sum() > 0:
            x = self.dense(x) * x
        return x


class Stopped(Part):
    def construct(self, x: Any) -> Any:
        return x * ops.stop_gradient(self.dense(x)) + ops.tanh(x)


class InPlace(Part):
    def construct(self, x: Any) -> Any:
        y = self.dense(x) * 1
        y[0] = y[1] * 2
        y[1:] *= 0.5
        return y + x


class State(Part):
    def begin(self) -> None:
        self.kept = Parameter(Tensor(np.zeros(3, np.float32)), name="kept", requires_grad=False)

    def construct(self, x: Any) -> Any:
        y = self.product(x)
        ops.assign(self.kept, ops.stop_gradient(y))
        return y + self.kept * 0.1


class Drawing(Part):
    def begin(self) -> None:
        self.dropout = nn.Dropout(p=0.4)

    def construct(self, x: Any) -> Any:
        return self.dropout(self.product(x))


class Half(Part):
    def begin(self) -> None:
        self.dense.to_float(ms.float16)


class Again(Part):
    def begin(self) -> None:
        self.dense.recompute()


class Rule(Part):
    def construct(self, x: Any) -> Any:
        return x * x * 0.5

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        self.note(dout)
        return (dout * x * 1.5,)


def _scaled(part: Part, x: Any) -> Any:
    part.note(x)
    return x * part.scale


class Hooked(Part):
    """A part with a hook of one kind."""

    def begin(self) -> None:
        self.hook = KINDS[self.seen_kinds()]
        self.operator = ops.HookBackward(lambda gradients: _scaled(self, gradients[0]))
        self.inserted = ops.InsertGradientOf(lambda gradient: _scaled(self, gradient))
        match self.hook:
            case "forward":
                self.dense.register_forward_hook(lambda cell, inputs, output: self.note(output))
            case "changing forward":
                self.dense.register_forward_hook(lambda cell, inputs, output: _scaled(self, output))
            case "forward_pre":
                self.dense.register_forward_pre_hook(lambda cell, inputs: (_scaled(self, inputs[0]),))
            case "backward":
                self.dense.register_backward_hook(lambda cell, given, sent: self.note(sent[0]))
            case "backward_pre":
                self.dense.register_backward_pre_hook(lambda cell, sent: (_scaled(self, sent[0]),))
            case "parameter":
                self.dense.weight.register_hook(lambda gradient: _scaled(self, gradient))

    def seen_kinds(self) -> int:
        return int(self.kind * 3 + self.scale) % len(KINDS)

    def construct(self, x: Any) -> Any:
        y = super().construct(x) * 1
        if self.hook == "value":
            y.register_hook(lambda gradient: _scaled(self, gradient))
        elif self.hook == "operator":
            y = self.operator(y)
        elif self.hook == "inserted":
            y = self.inserted(y)
        return y


KINDS = ("forward", "changing forward", "forward_pre", "backward", "backward_pre", "parameter", "value", "operator", "inserted")
PARTS: tuple[type[Part], ...] = (Part, Gradient, Pulled, Along, Linear, Rows, Columns, Second, Batch, Gradients, Jitted, Loop, Stopped,
                                 InPlace, State, Drawing, Half, Again, Rule, Hooked, Hooked, Hooked, Hooked)
LATE: tuple[Callable[[Part], Any], ...] = (
    lambda part: part.dense.register_forward_hook(lambda cell, inputs, output: part.note(output)),
    lambda part: part.dense.register_backward_hook(lambda cell, given, sent: part.note(sent[0])),
    lambda part: part.dense.weight.register_hook(lambda gradient: _scaled(part, gradient)),
)


def _questions(net: Any) -> dict[str, Callable[[Any], Any]]:
    def loss(x: Any) -> Any:
        return (net(x) * Tensor(WEIGHTS)).sum()

    def of_gradient(x: Any) -> Any:
        return (ms.grad(loss)(x) ** 2).sum()

    return {
        "value": lambda x: net(x), "gradient": lambda x: ms.grad(loss)(x), "second derivative": lambda x: ms.grad(of_gradient)(x),
        "jacrev": lambda x: ms.jacrev(lambda x: net(x))(x), "jacfwd": lambda x: ms.jacfwd(lambda x: net(x))(x),
        "hessian": lambda x: ms.hessian(loss)(x), "hvp": lambda x: ms.hvp(loss, x, Tensor(WEIGHTS))[1],
        "jvp": lambda x: ms.jvp(lambda x: net(x), x, Tensor(WEIGHTS))[1],
        "linearize": lambda x: ms.linearize(lambda x: net(x), x)[1](Tensor(WEIGHTS)),
        "batch": lambda x: ms.vmap(lambda x: net(x))(ops.stack([x, x * 0.5])),
        "gradients of a batch": lambda x: ms.vmap(ms.grad(loss))(ops.stack([x, -x])),
        "by weights": lambda x: ms.grad(loss, None, net.trainable_params())(x),
        "penalty": lambda x: ms.grad(of_gradient, None, net.trainable_params())(x),
    }


def _trained(net: Any, chosen: random.Random, mode: str) -> list[bytes]:
    """Return the losses of training steps, and the weights; a hook comes and goes between steps."""
    optimizer = chosen.choice([
        lambda weights: nn.Momentum(weights, 0.1, 0.9), lambda weights: nn.Adam(weights, 0.01), lambda weights: nn.SGD(weights, 0.1),
    ])(net.trainable_params())
    gradient, found = ms.value_and_grad(lambda x: ((net(x) - Tensor(WEIGHTS)) ** 2).sum(), None, optimizer.parameters), list[bytes]()

    def step(x: Any) -> Any:
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    function, part, late, handle = ms.jit(step) if mode == "jit" else step, net[0], chosen.choice(LATE), None
    for run in range(6):
        if run == 3:
            handle = late(part)
        if run == 5:
            handle.remove()
        found.append(function(Tensor(INPUTS[run % 3])).asnumpy().tobytes())
    return [*found, *(weight.asnumpy().tobytes() for weight in net.get_parameters())]


def _of_text(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what the graph of a function computes, by its text."""

    def run(x: Any) -> Any:
        made = parsed(function, x)
        text = print_module(made.graph.module)
        module = parse_module(text)
        verify_module(module)
        assert print_module(module) == text
        return run_instead(made, module, (x,))

    return run


def _asked(seed: int, mode: str) -> tuple[str, Any, list[bytes]]:
    """Return the question that a seed asks, the answers or the exception, and what hooks have seen."""
    chosen, seen = random.Random(seed), list[bytes]()
    kinds = [chosen.choice(PARTS) for _ in range(chosen.choice([1, 2, 2, 3]))]
    rng = np.random.default_rng(seed)
    ms.set_seed(3)
    net = nn.SequentialCell(*(kind(rng, seen) for kind in kinds))
    net.set_train()
    questions = _questions(net)
    question = chosen.choice([*questions, "training", "training", "training"])
    told = f"{question} of {', '.join(kind.__name__ for kind in kinds)}"
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    try:
        if question == "training":
            return told, _trained(net, chosen, mode), seen
        function, found = questions[question], list[bytes]()
        if mode == "jit":
            function = ms.jit(function)
        if mode == "text":
            function = _of_text(function)
        for x in INPUTS:
            answer = function(Tensor(x))
            found += [each.asnumpy().tobytes() for each in (answer if isinstance(answer, tuple) else (answer,))]
    except Exception as raised:  # such as a Parameter that would get another value for each example
        return told, raised, seen
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    return told, found, seen


@dataclass
class DerivedTally:
    """What was compared; `failures` are reports for people."""

    compared: Counter[str] = field(default_factory=Counter[str])
    failures: list[str] = field(default_factory=list)


def checked(seeds: Sequence[int]) -> DerivedTally:
    """Compare the networks of these seeds in each mode with eager mode."""
    tally = DerivedTally()
    for seed in seeds:
        told, expected, calls = _asked(seed, "eager")
        for mode in MODES:
            _, found, seen = _asked(seed, mode)
            if isinstance(expected, Exception):
                alike = type(found) is type(expected)
            else:
                alike = not isinstance(found, Exception) and found == expected and seen == calls
                tally.compared[mode] += 1
            if not alike:
                said = repr(found) if isinstance(found, Exception) else "hooks" if found == expected else "values"
                tally.failures.append(f"seed {seed}, {told}, {mode}: {said}")
    return tally
