"""Names that a Cell keeps things under for itself are free for networks: methods, attributes and sub-cells may be called like them."""

from __future__ import annotations

import importlib.util
import pathlib
import types
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, nn

USED = {"title", "bprop", "is_list", "keeps_parameters", "takes_absent"}
"""Documented names of ours; the others that MindSpore's Cell lacks begin with `_cell_`."""

FREE = (
    "_adopt_cell", "_assign", "_begin_calls", "_called", "_compute", "_direct", "_hooks", "_inputs", "_name_apart", "_need_init",
    "_packing", "_paths", "_register", "_result", "_save", "_slots", "_substitute", "_substitutes", "_values", "_watched",
    "title",
)

BODIES = {
    "method": "        self.act = nn.ReLU()\n    def {name}(self, x):\n        return x * 2\n"
              "    def construct(self, x):\n        return self.act(self.dense(x)) + self.{name}(x)\n",
    "attribute": "        self.act = nn.ReLU()\n        self.{name} = 2\n"
                 "    def construct(self, x):\n        return self.act(self.dense(x)) + x * self.{name}\n",
    "cell": "        self.{name} = nn.ReLU()\n    def construct(self, x):\n        return self.{name}(self.dense(x)) + x * 2\n",
}


def network(folder: pathlib.Path, kind: str, name: str) -> nn.Cell:
    """A network whose method, attribute or sub-cell has a name."""
    file = folder / f"net_{kind}_{name}.py"
    body = BODIES[kind].format(name=name)
    file.write_text(f"from adjoint import nn\nclass Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n"
                    f"        self.dense = nn.Dense(3, 3, 'ones', 'ones')\n{body}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module: types.ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Net()


def answers(net: nn.Cell) -> list[Any]:
    """What a network answers in both modes, before and after what may use the names of a Cell."""
    x = Tensor([[1.0, -2.0, 3.0]])
    heard: list[int] = []
    gradient = ms.value_and_grad(lambda x: net(x).sum(), 0, net.trainable_params())
    found = [net(x), *gradient(x)[1]]
    net.to_float(ms.float32)
    for hook in (net.register_forward_pre_hook(lambda cell, inputs: heard.append(1)), net.register_forward_hook(
            lambda cell, inputs, output: heard.append(2)), net.register_backward_hook(lambda cell, ins, outs: heard.append(3))):
        gradient(x)
        hook.remove()
    found += [net(x), *gradient(x)[1]]
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        found += [net(x), *gradient(x)[1], net(x)]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    net.load_state_dict(net.state_dict())
    flat = [y for each in found for y in (each if isinstance(each, tuple) else (each,))]
    return [heard, [y.asnumpy().tolist() for y in flat], [parameter.name for parameter in net.get_parameters()]]


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("name", FREE)
def test_a_network_may_use_the_name(kind: str, name: str, tmp_path: pathlib.Path) -> None:
    assert answers(network(tmp_path, kind, name)) == answers(network(tmp_path, kind, "own"))


def test_other_names_of_a_cell_begin_alike() -> None:
    cell = nn.Cell()
    theirs = {"_auto_prefix", "_buffers", "_cells", "_param_prefix", "_params", "_set_scope"}
    private = {name for name in {*vars(cell), *dir(nn.Cell)} if name.startswith("_") and not name.startswith("__")}
    assert {name for name in private if not name.startswith("_cell_")} <= theirs
    assert cell.title == "Cell" and all(hasattr(nn.Cell, name) for name in USED)
