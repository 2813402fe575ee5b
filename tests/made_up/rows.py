"""Loops over rows: programs of loops and branches, in each other, that read rows of arrays by their counters.

A graph that takes the gradient of such a program gives the bits of eager mode.  There `x[i]` is a slice, since i is a number of Python; in
the graph it is a gather.
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
CALLS = 3
"""How often each number of rounds is asked for: calls run in pieces first, then by one function."""


class RowWriter:
    """Writes statements that change `v`, a row, by rows of `x`, `y` and `z`.

    counters  the counters of the loops around the statement that is written
    """

    def __init__(self, choices: Choices):
        self.choices, self.counters = choices, list[str]()
        self._loops = 0

    def index(self) -> str:
        counter = self.choices.one_of(*self.counters) if self.counters else "0"
        return self.choices.one_of(f"{counter} % 3", f"-1 - {counter} % 3", f"{counter} % 2", f"{counter} * 0 + 1")

    def row(self) -> str:
        read = f"{self.choices.one_of('x', 'y', 'z')}[{self.index()}]"
        return self.choices.one_of(read, read, f"{read} * y[{self.index()}]", f"ops.relu({read})", "z[0]", "v * 0.7")

    def statement(self, depth: int) -> str:
        choices = self.choices
        if depth < DEEPEST and choices.chance(30):
            counter, rounds = f"i{self._loops}", choices.one_of("n", "n", "n", "3", *self.counters[-1:] * 3)
            self._loops += 1
            self.counters.append(counter)
            body = self.block(depth + 1)
            self.counters.pop()
            return f"for {counter} in range({rounds}):\n{body}"
        if 0 < depth < DEEPEST and choices.chance(35):
            text = f"if v.sum() > {choices.one_of(0.3, -0.2, 1.0)}:\n{self.block(depth + 1)}"
            return f"{text}\nelse:\n{self.block(depth + 1)}" if choices.chance(70) else text
        return choices.one_of(f"v = ops.tanh(v * 0.5 + {self.row()})", f"v = v + {self.row()} * {self.row()} * 0.3",
                              f"v = ops.sin(v) * {self.row()}", f"v = v * -0.0 + {self.row()}")

    def block(self, depth: int) -> str:
        return textwrap.indent("\n".join(self.statement(depth) for _ in range(self.choices.between(1, 3))), "    ")


def written(choices: Choices) -> str:
    """Return the text of a program."""
    writer = RowWriter(choices)
    writer.counters.append("i")
    loop = writer.block(1)
    writer.counters.pop()
    body = textwrap.indent(f"for i in range(n):\n{loop}", "    ")
    return f"{HEAD}\ndef loss(x, y, n):\n    z, v = x * 1.5, y.sum(0) * 0.1\n{body}\n{writer.block(2)}\n    return (v * v).sum()\n"


def difference(text: str, seed: int) -> str:
    """Return in which respect the gradient in a graph is another one than in eager mode; "" if it is the same."""
    loss, numbers = loaded(text).loss, np.random.default_rng(seed)
    dtype = (np.float32, np.float64, np.float16)[seed % 3]
    x, y = (Tensor(np.where(numbers.random((3, 4)) < 0.1, -0.0, numbers.standard_normal((3, 4))).astype(dtype)) for _ in range(2))
    graph = adjoint.jit(lambda x, y, n: adjoint.value_and_grad(loss, (0, 1))(x, y, n))
    for n in (0, 1, 3) * CALLS:
        expected = adjoint.value_and_grad(loss, (0, 1))(x, y, n)
        try:
            found = graph(x, y, Tensor(n))
            for at, (one, other) in enumerate(zip((expected[0], *expected[1]), (found[0], *found[1]), strict=True)):
                same(one, other, f"result {at} with {n} rounds")
        except AssertionError as differs:
            return str(differs)
        except Exception as raised:
            return f"raised {type(raised).__name__}: {raised}"
    return ""


def checked(seeds: Sequence[int], *, seconds: float = 20.0) -> list[str]:
    """Return reports of the programs of these seeds whose gradients differ; `seconds` are for making one of them smaller."""
    return reports(seeds, lambda seed: written(Choices("rows", seed)), difference, seconds)
