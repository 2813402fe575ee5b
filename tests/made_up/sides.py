"""Programs of one example with branches and loops that its values decide, in each other, and their batches.

A batch of such a program, and its gradients, have the bits of the loop over the examples in eager mode.  Many numbers are zeros, so that
the sign of each is seen.  No statement gives a value a second name, such as `a = x`: where an example takes a branch with it, sums of
gradients of a batch may be in another order.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

import adjoint
from adjoint import Tensor
from tests.made_up.choices import Choices
from tests.made_up.program import HEAD, loaded
from tests.made_up.smaller import reports
from tests.outcomes import same

__all__ = ["checked", "written"]

DEEPEST = 3
"""How many loops and branches are in each other at most."""
COUNT = 5
"""The number of examples."""
NAMES = ("a", "b", "c")


class SideWriter:
    """Writes statements that change the vectors `a`, `b` and `c` by each other, by `x` and `y`, an example, and by `w`, which all share."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self._loops = 0

    def operand(self) -> str:
        return self.choices.one_of(*NAMES, *NAMES, "x", "w", "y")

    def value(self) -> str:
        one, other = self.operand(), self.operand()
        return self.choices.one_of(f"{one} * {other}", f"{one} + {other}", f"ops.tanh({one}) - {other}", f"ops.relu({one}) * {other}",
                                   f"{one} * -0.0 + {other}", f"ops.sin({one}) * 0.5", f"-{one}", f"{one} * 0.75")

    def statement(self, depth: int) -> str:
        choices = self.choices
        if depth < DEEPEST and choices.chance(20):
            counter, test = f"k{self._loops}", f"{self.operand()}.sum() > {choices.one_of(0.5, 2.0, -0.2)}"
            self._loops += 1
            if choices.chance(30):
                return f"for {counter} in range({choices.between(1, 3)}):\n{self.block(depth + 1)}"
            return f"{counter} = 0\nwhile {counter} < {choices.between(1, 4)} and {test}:\n    {counter} += 1\n{self.block(depth + 1)}"
        if depth < DEEPEST and choices.chance(35):
            text = f"if {self.operand()}.sum() > {choices.one_of(0.3, -0.2, 1.0)}:\n{self.block(depth + 1)}"
            return f"{text}\nelse:\n{self.block(depth + 1)}" if choices.chance(50) else text
        return f"{choices.one_of(*NAMES)} = {self.value()}"

    def block(self, depth: int) -> str:
        return textwrap.indent("\n".join(self.statement(depth) for _ in range(self.choices.between(1, 3))), "    ")


def written(choices: Choices) -> str:
    """Return the text of a program."""
    writer = SideWriter(choices)
    body = "\n".join(writer.block(0) for _ in range(2))
    return f"{HEAD}\ndef loss(x, y, w):\n    a, b, c = x * 1.5, y + x, x * w\n{body}\n    return (a * b + c * {writer.operand()}).sum()\n"


def difference(text: str, seed: int) -> str:
    """Return in which respect a batch is another one than the loop over the examples; "" if it is the same."""
    loss, numbers = loaded(text).loss, np.random.default_rng(seed)

    def some() -> Tensor:
        zeros, others = numbers.choice([0.0, -0.0], (COUNT, 3)), numbers.standard_normal((COUNT, 3))
        return Tensor(np.where(numbers.random((COUNT, 3)) < 0.2, zeros, others).astype(np.float32))

    x, y, w = some(), some(), Tensor(np.array([0.5, -0.25, 1.5], np.float32))
    of_one = adjoint.value_and_grad(loss, (0, 1, 2))
    try:
        expected = [of_one(x[i], y[i], w) for i in range(COUNT)]
        if not all(np.isfinite(part.asnumpy()).all() for value, gradients in expected for part in (value, *gradients)):
            return ""
        value, gradients = adjoint.vmap(of_one, (0, 0, None))(x, y, w)
        for i, (own, its) in enumerate(expected):
            for at, (one, other) in enumerate(zip((own, *its), (value[i], *(each[i] for each in gradients)), strict=True)):
                same(one, other, f"result {at} of example {i}")
        of_loop = adjoint.grad(lambda x, y: [loss(x[i], y[i], w) for i in range(COUNT)], (0, 1))(x, y)
        of_batch = adjoint.grad(lambda x, y: adjoint.vmap(loss, (0, 0, None))(x, y, w), (0, 1))(x, y)
        for at, (one, other) in enumerate(zip(of_loop, of_batch, strict=True)):
            same(one, other, f"gradient {at} of the batch")
    except AssertionError as differs:
        return str(differs)
    except Exception as raised:
        return f"raised {type(raised).__name__}: {raised}"
    return ""


def checked(seeds: Sequence[int], *, seconds: float = 20.0) -> list[str]:
    """Return reports of the programs of these seeds whose batches differ; `seconds` are for making one of them smaller."""
    return reports(seeds, lambda seed: written(Choices("sides", seed)), difference, seconds)
