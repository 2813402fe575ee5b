"""Which makers of tensors from tensors let gradients through: run by MindSpore when they are recorded, by adjoint when they are tested.

MAKERS are expressions of a tensor `t`.  `programs` makes of each one a net with `t` as its Parameter, one with a tensor that is computed
from its Parameter, and a function with `t` as argument; `gradient` takes their gradients.
"""

# pyright: reportMissingImports=false

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import mindspore as ms
from mindspore import Tensor

MAKERS = (
    "t.value()", "t.data", "t.init_data()", "t.copy()", "t.clone()", "copy.copy(t)", "copy.deepcopy(t)", "copy.deepcopy([t])[0]",
    "ParameterTuple([t]).clone('c')[0]", "Tensor(t)", "Tensor(t, ms.float32)", "Tensor(t, ms.float16)", "Tensor([t, t])",
    "ms.tensor(t)", "ms.tensor(t, dtype=ms.float16)", "ms.tensor([t, t])", "Parameter(t)",
    "Tensor(t.asnumpy())", "pickle.loads(pickle.dumps(t))", "ms.mutable(t)", "ops.stop_gradient(t)", "ops.identity(t)", "ops.Identity()(t)",
    "ops.depend(t, t)", "ops.full((2,), t.sum())", "ops.zeros_like(t).copy_(t)", "t.astype(ms.float32)", "t.astype(ms.float16)",
    "t.to(ms.float32)", "t.float()", "t.half()", "ops.cast(t, ms.float32)", "t.type_as(t)", "t.reshape((2,))", "t.view(2)", "t.flatten()",
    "t.contiguous()", "t.expand_as(t)", "ms.numpy.array(t)", "ms.numpy.array([t, t])", "ms.numpy.asarray(t)", "ms.numpy.copy(t)",
    "ms.numpy.full((2,), t)", "ms.numpy.full_like(t, t)", "mint.clone(t)", "ops.stack([t, t])",
)
FORMS = ("parameter", "computed", "argument")
SOURCE = """
import copy
import pickle

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, mint, nn, ops


class Kept(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor([2.0, 3.0], ms.float32), name="p")

    def construct(self, x):
        t = self.p
        y = {maker}
        return (x * y).sum()


class Computed(Kept):
    def construct(self, x):
        t = self.p * 2
        y = {maker}
        return (x * y).sum()


def given(t, x):
    y = {maker}
    return (x * y).sum()
"""


def program(maker: str, folder: Path) -> Any:
    """Return the module of a maker, whose file is written to a new folder: graphs are made of it."""
    file = Path(tempfile.mkdtemp(dir=folder)) / "copying_program.py"
    file.write_text(SOURCE.format(maker=maker))
    spec = importlib.util.spec_from_file_location("copying_program", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules["copying_program"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gradient(module: Any, form: str, wrap: Any = lambda function: function) -> Any:
    """Return the gradient of a program as a list: zeros if the maker lets none through."""
    x, t = Tensor([5.0, 7.0], ms.float32), Tensor([2.0, 3.0], ms.float32)
    if form == "argument":
        return ms.grad(wrap(module.given))(t, x).asnumpy().tolist()
    net = (module.Kept if form == "parameter" else module.Computed)()
    return ms.grad(wrap(net), None, net.trainable_params())(x)[0].asnumpy().tolist()
