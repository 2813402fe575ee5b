"""A writer of programs: public operators in a row, as someone writes them who tries things out.

A line applies an operator to values that are there.  Two sources are mixed: operators for arrays of any shape, with broadcasting, and the
calls of `good_calls` with some of their operands replaced by values of the same type.  What each line gives is found by running it.
"""

from __future__ import annotations

import ast
import copy
import functools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import adjoint
from adjoint import Parameter, Tensor, nn, ops
from tests import good_calls
from tests.made_up.choices import Choices
from tests.made_up.observing import numbers
from tests.made_up.program import COPIES, HEAD

__all__ = ["Lines", "Shape", "smaller", "tensor_of", "written"]

Shape = tuple[int, ...]

def listed(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


UNARY = listed("""
    ops.tanh({}); ops.sigmoid({}); ops.exp({}); -{}; ops.abs({}); ops.square({}); ops.relu({}); ops.sin({}); ops.cos({}); ops.gelu({})
    ops.sqrt(ops.abs({}) + 0.5); ops.log(ops.abs({}) + 1.0); ops.silu({}); ops.softplus({}); ops.floor({}); ops.sign({}); ops.erf({})
    ops.stop_gradient({}); ops.clamp({}, -0.5, 1.0); ops.leaky_relu({}); ops.elu({}); {}.astype(adjoint.float16).astype(adjoint.float32)
    {} * 2; {} * 0.5; {} + 1; 3.0 - {}; {} ** 2; ops.reciprocal({}); {} * 1; {} - 0.0; ops.hardtanh({}); ops.expm1({}); ops.atan({})
""")
BINARY = listed("""
    {} + {}; {} + {}; {} - {}; {} * {}; {} * {}; {} / {}; ops.maximum({}, {}); ops.minimum({}, {}); ops.where({0} > {1}, {0}, {1})
    ops.where({0} < 0, {0} * {1}, {1}); ops.atan2({}, {}); ops.where({0} == {1}, 1.0, {0}); ops.lerp({}, {}, 0.25)
""")
REDUCED = listed("""
    ops.sum({}, {axis}, keepdims=True); {}.mean({axis}, keep_dims=True); ops.amax({}, {axis}, keepdims=True); {}.sum({axis})
    ops.amin({}, {axis}); {}.mean({axis}); ops.cumsum({}, {axis}); ops.softmax({}, {axis}); ops.log_softmax({}, {axis})
    ops.logsumexp({}, {axis}); ops.flip({}, ({axis},)); ops.prod({}, {axis}); ops.var({}, {axis})
""")
WHOLE = listed("{}.sum(); {}.mean(); {}.max(); ops.prod({}); {}.sum() * 0.25; ops.norm({})")
MOVED = listed("{}.swapaxes(-1, -2); {}.reshape(-1); ops.flatten({}); ops.expand_dims({}, 0); ops.transpose({}, {order})")
PARTS = listed("{}[0]; {}[-1]; {}[::-1]; {}[..., :1]; {}[1:]; {}[None]")

SMALL: Shape = (2, 3)
"""The shape of most operands in `good_calls`."""
SHAPES: tuple[Shape, ...] = (SMALL, SMALL, SMALL, SMALL, (5,), (37,), (4, 130), (3, 1, 7), (17, 33), (1,), ())
MOST = 200_000
"""Elements of a value."""
LARGE: tuple[Shape, ...] = ((40_000,), (300, 200), (40, 30, 20))
"""Shapes of which threads share the elements."""

LEFT_OUT = listed("""
    Print; random; rand; shuffle; dropout; Dropout; asnumpy; __array__; __format__; register_; GetNext; queue; hook; AllReduce
    AllGather; ReduceScatter; Broadcast(; ReduceOp; Reduce(0); AlltoAll; Barrier; net; FILE; Own; function; Cell(); set_data
    assign_value; requires_grad; Optimizer; stride; normal_; uniform_; Partial; MultitypeFuncGraph; multinomial; choice_with_mask
    bernoulli; RandomChoice; Standard; Uniform; Multinomial; Gamma; Poisson(; Parameter; DistributedGradReducer; svd; init_data
""")
"""Parts of calls that are left out: random numbers, queues, processes, and what changes the program itself."""


@functools.cache
def calls() -> list[str]:
    """Return the calls of `good_calls` that give tensors of floats."""
    return [text for area in ("functions", "primitives", "layers", "methods") for text in good_calls.CALLS[area]
            if not any(word in text for word in LEFT_OUT)]


class Lines:
    """The lines of one function.

    given    by name, values that the function has when it begins
    space    the names of the program with the values that they have when it runs once
    pool     names of tensors of floats
    made     lines of `__init__`
    used     names of `good_calls` that are used
    calls    True if calls of `good_calls` are among them
    """

    def __init__(self, choices: Choices, given: dict[str, Tensor], attributes: dict[str, Any] | None = None, *, calls: bool = True):
        self.choices, self.calls = choices, calls
        self.own = SimpleNamespace(**(attributes or {}))
        self.space: dict[str, Any] = {
            "ops": ops, "nn": nn, "adjoint": adjoint, "ms": adjoint, "copy": copy, "Tensor": Tensor, "self": self.own, **given}
        self.pool = [*given, *(f"self.{name}" for name, x in vars(self.own).items() if isinstance(x, Tensor))]
        self.lines: list[str] = []
        self.made: list[str] = []
        self.used: dict[str, Any] = {}
        self.count = 0

    def tensor(self, name: str) -> Tensor:
        return getattr(self.own, name[5:]) if name.startswith("self.") else self.space[name]

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self, fits: Callable[[Tensor], bool] = lambda x: True) -> str | None:
        """Return a value that fits, rather one that is new."""
        fitting = [name for name in self.pool if fits(self.tensor(name))]
        if not fitting:
            return None
        return fitting[max(0, len(fitting) - 1 - min(self.choices.between(0, 3), self.choices.between(0, len(fitting) - 1)))]

    def shape(self, name: str) -> Shape:
        return self.tensor(name).shape

    def expression(self) -> str:
        """Return an operator on values that are there."""
        one, x = self.choices.one_of, self.pick() or "a"
        match one("unary", "unary", "binary", "binary", "binary", "reduced", "whole", "matmul", "moved", "index", "call", "call"):
            case "binary":
                shape = self.shape(x)
                y = self.pick(lambda other: fits(np.broadcast_shapes, shape, other.shape))
                return one(*BINARY).format(x, y or x)
            case "reduced" if self.shape(x):
                return one(*REDUCED).format(x, axis=self.choices.between(-len(self.shape(x)), len(self.shape(x)) - 1))
            case "whole":
                return one(*WHOLE).format(x)
            case "matmul" if len(self.shape(x)) > 1:
                shape = self.shape(x)
                y = self.pick(lambda other: other.ndim > 1 and fits(product, shape, other.shape))
                return f"ops.matmul({x}, {y})" if y else f"{x} * 2"
            case "moved" if len(self.shape(x)) > 1:
                return one(*MOVED).format(x, order=tuple(reversed(range(len(self.shape(x))))))
            case "index" if self.shape(x) and 0 not in self.shape(x):
                return one(*PARTS).format(x)
            case "call" if self.calls and SMALL in [self.shape(name) for name in self.pool]:
                return self.call()
        return one(*UNARY, *COPIES).format(x)

    def call(self) -> str:
        """Return a call of `good_calls` with some operands replaced; a layer is made in `__init__`."""
        tree = ast.parse(self.choices.one_of(*calls()), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in good_calls.MADE:
                made = good_calls.MADE[node.id]()
                like = self.pick(lambda x, made=made: isinstance(made, Tensor) and (x.shape, x.dtype) == (made.shape, made.dtype))
                if like and self.choices.chance(60) and not isinstance(made, Parameter):
                    node.id = like
                else:
                    self.space.setdefault(node.id, made)
                    self.used.setdefault(node.id, made)
        body = tree.body
        if isinstance(body, ast.Call) and isinstance(body.func, ast.Call) and ast.unparse(body.func).startswith("nn."):
            name = f"layer{len(self.made) + 1}"
            setattr(self.own, name, eval(ast.unparse(body.func), self.space))
            self.made.append(f"self.{name} = {ast.unparse(body.func)}")
            body.func = ast.Name(f"self.{name}")
        return ast.unparse(tree)

    def line(self) -> None:
        """Append a line, unless it fails or gives nothing to compute with."""
        space, used, made = dict(self.space), dict(self.used), list(self.made)
        text = self.expression()
        try:
            with np.errstate(all="ignore"):
                result = eval(text, self.space)
        except Exception:
            result = None
        items = list(result) if isinstance(result, (tuple, list)) else [result]
        good = items and all(isinstance(x, Tensor) for x in items) and any(x.dtype is adjoint.float32 for x in items)
        if not good or sum(x.size for x in items) > MOST:
            self.space, self.used, self.made = space, used, made
            return
        names = [self.new() for _ in items]
        self.space.update(zip(names, items, strict=True))
        self.pool += [name for name, x in zip(names, items, strict=True) if x.dtype is adjoint.float32]
        self.lines.append(f"{', '.join(names)}{',' if isinstance(result, (tuple, list)) and len(names) == 1 else ''} = {text}")

    def several(self, least: int, most: int) -> None:
        """Append so many lines, or try to."""
        wanted = self.choices.between(least, most)
        for _ in range(4 * wanted):
            if len(self.lines) < wanted:
                self.line()


def product(one: Shape, other: Shape) -> Shape:
    """Return the shape of a product of matrices.  ValueError if there is none."""
    if one[-1] != other[-2]:
        raise ValueError("no product")
    return (*np.broadcast_shapes(one[:-2], other[:-2]), one[-2], other[-1])


def fits(combined: Callable[[Shape, Shape], Shape], one: Shape, other: Shape) -> bool:
    """Return True if two shapes go together and give no more than MOST elements."""
    try:
        return math.prod(combined(one, other)) <= MOST
    except ValueError:
        return False


def smaller(choices: Choices, shape: Shape) -> Shape:
    """Return a shape that broadcasts to `shape`: a number, a row, a column, one for each channel."""
    kept = tuple(dim if choices.chance(50) else 1 for dim in shape)
    return kept[choices.between(0, len(shape)) :]


def tensor_of(seed: int, shape: Shape, special: int = 0) -> str:
    """Return the expression of a tensor."""
    return f"numbers({', '.join(map(str, (seed, *shape)))}{f', special={special}' if special else ''})"


WRITING = ("_(", "ssign", "catter", "fill", "parameter")
"""Parts of lines that may write tensors."""

PROGRAM = """\
from tests.good_calls import MADE as good

ms = adjoint
WRT = {wrt}
ASKED = {asked}
STILL = {still}


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        {made}

    def construct(self, {names}):
        {lines}
        return {results}


def session(net, call):
    {calls}
"""


def written(choices: Choices) -> str:
    """Return the text of a program."""
    shape = choices.one_of(*LARGE) if choices.chance(8) else choices.one_of(*SHAPES)
    special = choices.one_of(0, 0, 1, 1, 2)
    shapes = {"a": shape, "b": choices.one_of(shape, smaller(choices, shape))}
    weight = choices.one_of(shape, smaller(choices, shape))
    writer = Lines(choices, {name: numbers(1, *each) for name, each in shapes.items()}, {"w": Parameter(numbers(2, *weight), name="w")})
    writer.several(3, 12)
    given = {name: value for name, value in writer.used.items() if not isinstance(value, Parameter)}
    kept = [name for name, value in writer.used.items() if isinstance(value, Parameter)]
    results = [name for name in writer.pool if name.startswith("v")]
    returned = [*choices.some(results[:-1], choices.between(1, 2)), results[-1]] if len(results) > 1 else results or ["a"]
    if kept:
        returned = [f"{name} * 1.0" for name in returned]  # not the parameters that were written
    lines = writer.lines
    for name in kept:
        lines = [replaced(line, name) for line in lines]
    calls_ = []
    for call in range(3):
        drawn = [tensor_of(10 * call + i, each, special) for i, each in enumerate(shapes.values())]
        calls_.append(f"call({', '.join([*drawn, *(f'good[{name!r}]()' for name in given)])})")
    return HEAD + PROGRAM.format(
        wrt=tuple(i for i, x in enumerate([*shapes, *given]) if x in shapes or getattr(given[x], "dtype", None) is adjoint.float32),
        asked=("second",) if choices.chance(40) else (),
        still=not any(part in line for line in lines for part in WRITING),
        made="\n        ".join([f"self.w = Parameter({tensor_of(9, weight)}, name='w')",
                                *(f"self.{name} = good[{name!r}]()" for name in kept), *writer.made]),
        names=", ".join([*shapes, *given]), lines="\n        ".join(lines), results=", ".join(returned), calls="\n    ".join(calls_))


def replaced(line: str, name: str) -> str:
    """Return the line with a name as an attribute of the cell."""
    tree = ast.parse(line)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = f"self.{name}"
    return ast.unparse(tree)
