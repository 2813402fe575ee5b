"""Traced programs: their text parses back, runs, and gives eager's bits, value and gradient."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.diagnostics import At, user_place
from adjoint.ir.core import walk
from adjoint.ir.interpret import Interpreter
from adjoint.ir.ops.state import Read
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.verify import verify_module
from adjoint.passes.autodiff import Grad
from adjoint.passes.manager import Pipeline
from adjoint.runtime.execution.text import Loaded, load_ir
from adjoint.runtime.gradients.trace import trace
from adjoint.runtime.process.location import definition


class Convolutional(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, 3, has_bias=True), nn.BatchNorm2d(4)
        self.pool, self.flatten, self.dense = nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(4 * 4 * 4, 3, activation="tanh")

    def construct(self, x):
        return self.dense(self.flatten(self.pool(ops.relu(self.norm(self.conv(x))))))


class Shared(nn.Cell):
    """A parameter used twice, a cell called twice, a number, a tensor from outside, a value that leaves its cell in a list."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([[0.5, -1.0], [2.0, 0.25]]), name="w")
        self.square = nn.SequentialCell(nn.Sigmoid(), nn.Tanh())
        self.offset = Tensor([0.125, 3.0])

    def construct(self, x):
        y = self.square(ops.matmul(x, self.w)) * 0.5
        z = self.square(ops.matmul(y, self.w) + self.offset)
        return (z - x / 3.0) * y


def draw(*shape):
    return Tensor(np.random.default_rng(7).standard_normal(shape).astype(np.float32))


PROGRAMS = [(Convolutional, (3, 2, 8, 8)), (Shared, (5, 2))]


@pytest.mark.parametrize(("make", "shape"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_the_text_gives_eagers_bits(make, shape):
    ms.set_seed(11)
    net, x = make(), draw(*shape)
    net.set_train()
    traced = trace(net, [x])
    text = print_module(traced.module)
    module = parse_module(text)
    verify_module(module)
    assert print_module(module) == text
    state = {name: Tensor(p) for name, p in traced.parameters.items()}
    expected = net(x)
    (found,) = Loaded(module, state, {}).run(traced.symbol, [x, *_constants(net, module)])
    assert found.asnumpy().tobytes() == expected.asnumpy().tobytes()

    wanted = [p for p in net.trainable_params() if any(q is p for q in traced.parameters.values())]
    names = {id(p): name for name, p in traced.parameters.items()}
    value, (by_x, by_weight) = ms.value_and_grad(net, 0, wanted)(x)
    pipeline = Pipeline((Grad(wrt=("x", *(f"@{names[id(p)]}" for p in wanted)), of=traced.symbol), *Pipeline.parse("dce").passes))
    adjoint = pipeline.run(module)
    verify_module(adjoint)
    again = parse_module(print_module(adjoint))
    assert print_module(again) == print_module(adjoint)
    ones = Tensor(np.ones(value.shape, np.float32))
    grads = Loaded(again, state, {}).run(f"{traced.symbol}.grad", [x, *_constants(net, module), ones])
    for got, eager in zip(grads, (by_x, *by_weight), strict=True):
        assert got.asnumpy().tobytes() == eager.asnumpy().tobytes()

    arrays = {name: value.asnumpy() for name, value in state.items()}
    meaning = Interpreter(again, state=arrays).run(f"{traced.symbol}.grad", x.asnumpy(), *(c.asnumpy() for c in _constants(net, module)),
                                                   ones.asnumpy())
    for got, reference in zip(grads, meaning, strict=True):
        np.testing.assert_allclose(got.asnumpy(), reference, rtol=2e-4, atol=2e-5)


def _constants(net, module):
    """Tensors from outside that became parameters of the traced function."""
    (function,) = module.functions.values()
    return [net.offset] if len(function.params) > 1 else []


def test_every_node_has_the_users_line():
    traced = trace(Shared(), [draw(5, 2)])
    (function,) = traced.module.functions.values()
    nodes = [node for node in walk(function.body) if not isinstance(node.op, Read)]
    assert nodes
    for node in nodes:
        place = user_place(node.loc)
        if node.op.name != "cell" or node.op.title != "Shared":
            assert place is not None and place.file == __file__, node.op


def test_a_function_without_a_tensor_result():
    with pytest.raises(TypeError, match="must return at least one Tensor"):
        trace(lambda x: 3, [draw(2)])


def test_load_ir_names_what_is_missing():
    text = ('param @w : f32[2]\nhost @h = "x:y"\n\n'
            'func @f(x: f32[2]) -> f32[2] {\n  w: f32[2] = read @w\n  y: f32[2] = apply! @h(x)\n  return y\n}\n')
    with pytest.raises(ValueError, match="@h"):
        load_ir(text)(draw(2))
    with pytest.raises(ValueError, match="no parameter @v"):
        load_ir(text, state={"v": 1})
    with pytest.raises(ValueError, match="@w is"):
        load_ir(text, state={"w": np.ones(3, np.float32)})
    with pytest.raises(KeyError, match="no function @g"):
        load_ir(text)["g"]
    assert load_ir(text, hosts={"h": lambda x: x * 2})(Tensor([1.0, 2.0])).asnumpy().tolist() == [2, 4]


class Indented:
    def method(self) -> None:
        """What stands in a class."""


def test_a_function_is_placed_where_its_text_begins() -> None:
    """Not on the white space before it, where a caret would show nothing."""
    place = definition(Indented().method)
    assert isinstance(place, At) and place.column == 5
    assert linecache.getline(place.file, place.line)[place.column - 1 :].startswith("def method")
