"""The stages of parsed programs: every line leads back to the user's, and the optimised graph computes what the parsed one does."""

from __future__ import annotations

import inspect
import runpy

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.diagnostics import user_place
from adjoint.ir.core import walk
from adjoint.ir.print import print_module
from adjoint.passes.schedule import EXPANDED, OPTIMISED
from adjoint.runtime.execution.text import load_ir
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.inspection.stages import adjoint_of, kernels, wanted


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(2, 3, 5, pad_mode="valid")
        self.layers = nn.SequentialCell(nn.Flatten(), nn.Dense(75, 8), nn.ReLU(), nn.Dense(8, 4))
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2, 2)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.layers(x)


class WithLoss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = LeNet()
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, x, label):
        return self.loss(self.net(x), label)


class Hooked(nn.Cell):
    """Every kind of hook, and a parameter that is written."""

    def __init__(self, forward: bool = True):
        super().__init__()
        self.fc = nn.Dense(3, 3)
        self.act = nn.Tanh()
        if forward:
            self.fc.register_forward_pre_hook(lambda cell, args: (args[0] * 2,))
            self.fc.register_forward_hook(lambda cell, args, output: output + 1)
        self.fc.register_backward_hook(lambda cell, grad_input, grad_output: None)
        self.act.register_backward_pre_hook(lambda cell, grad_output: None)
        self.count = Parameter(Tensor([1.0], ms.float32), name="count")

    def construct(self, x):
        h = self.fc(x)
        h.register_hook(clip)
        print("sum", h.sum())
        y = ops.HookBackward(clip)(self.act(h))
        ops.assign(self.count, self.count + 1.0)
        if y.sum() > 0:
            y = self.act(y) * self.count
        return y[0] + y[1]


def clip(grad):
    return ops.clamp(grad, -1.0, 1.0)


def control(x, k):
    total = x * 1.0
    for i in range(k):
        if (x * i).sum() > 0:
            total = total + x * i
        else:
            total = total - -x
    rounds = 0
    while total.sum() < 10.0:
        total = total + 1.0
        rounds = rounds + 1
        if rounds > 20:
            break
    return total, rounds


def early(x):
    if x.sum() > 0:
        return x * 2
    y = x - 1
    for i in range(3):
        if y[i] > 5:
            break
        y = y + i
    else:
        y = -y
    while y.sum() < 10:
        y = y + 1
        if y[0] > 3:
            continue
        y = y * 2
    return y


def inner_gradient(x, w):
    def f(x, w):
        return (ops.sin(x) * w).sum()

    a, b = ms.grad(f, grad_position=(0, 1))(x, w)
    return a * b + a * b


def composite(x, label):
    a, b = x[:, :2], x[:, 1:]
    rows = [ops.relu(x + i) for i in range(2)]
    q = rows[0] - rows[1]
    q[0] = 1.0
    q += label
    return ops.where(q > 0, q, -q).mean(axis=1), a + b, {"sum": sum(rows)}


def array(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(np.float32))


PROGRAMS = {
    "lenet": lambda: (WithLoss(), array(2, 1, 32, 32), Tensor(np.array([1, 3], np.int32))),
    "hooked": lambda: (Hooked(), array(2, 3)),
    "control": lambda: (control, array(3), 3),
    "control of a number known at run time": lambda: (control, array(3), ms.mutable(3)),
    "control the other way": lambda: (control, -array(3), 2),
    "early": lambda: (early, array(3)),
    "early the other way": lambda: (early, -array(3)),
    "inner gradient": lambda: (inner_gradient, array(3), array(3)),
    "composite": lambda: (composite, array(2, 3), array(3)),
}


def lowered(name: str):
    target, *arguments = PROGRAMS[name]()
    return target, arguments, parsed(target, *arguments)


def tensors(made, arguments: list) -> list:
    """The arguments that are parameters of the graph."""
    return [x for x in arguments if isinstance(x, Tensor) or len(made.graph.function.params) == len(arguments)]


def run_text(text: str, graph, arguments: list) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Results and state after the text ran; hooks of gradients do nothing, there being no gradient around."""

    def called(host):
        def call(*tensors):
            returned = host(*tensors)
            return returned[0] if isinstance(returned, (list, tuple)) and len(returned) == 1 else returned

        return call if callable(host) else lambda *_: None

    hosts = {name: called(host) for name, host in graph.hosts.items()}
    loaded = load_ir(text, hosts=hosts, state={name: x.asnumpy() for name, x in graph.state.items()})
    results = loaded(*(x if isinstance(x, Tensor) else Tensor(int(x)) for x in arguments))
    results = results if isinstance(results, tuple) else (results,)
    return [x.asnumpy() for x in results], {name: x.asnumpy() for name, x in loaded.state.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_optimised_program_computes_what_the_parsed_one_does(name, capsys):
    _, arguments, made = lowered(name)
    given = tensors(made, arguments)
    before = run_text(print_module(made.graph.module), made.graph, given)
    printed = capsys.readouterr().out
    after = run_text(print_module(OPTIMISED.run(made.graph.module)), made.graph, given)
    assert capsys.readouterr().out == printed
    for a, b in zip(before[0], after[0], strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b), name
    assert before[1].keys() == after[1].keys() and all(np.array_equal(x, after[1][key]) for key, x in before[1].items())


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_optimised_program_computes_what_python_does(name, capsys):
    target, arguments, made = lowered(name)
    given = tensors(made, arguments)
    got, _ = run_text(print_module(OPTIMISED.run(made.graph.module)), made.graph, given)
    result = target(*arguments)
    leaves: list = []

    def flatten(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (tuple, list)):
            for item in value:
                flatten(item)
        else:
            leaves.append(np.asarray(value.asnumpy() if isinstance(value, Tensor) else value))

    flatten(result)
    assert all(np.array_equal(a, b) for a, b in zip(got, leaves, strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_line_leads_back_to_the_user(name):
    """Every node of every stage stands at a line of this file, and of the function that was parsed."""
    target, _, made = lowered(name)
    graph = made.graph
    stages = [graph.module, OPTIMISED.run(graph.module), EXPANDED.run(graph.module)]
    if name != "hooked":
        stages.append(adjoint_of(graph.module, graph.symbol, wanted(graph.module, graph.symbol)).module)
    lines = [range(start, start + len(text)) for text, start in map(inspect.getsourcelines, (LeNet, WithLoss, Hooked))]
    if not isinstance(target, nn.Cell):
        text, start = inspect.getsourcelines(target)
        lines = [range(start, start + len(text))]
    for module in stages:
        for function in module.functions.values():
            for node in walk(function.body):
                place = user_place(node.loc)
                assert place is not None and place.file == __file__, node.op
                assert any(place.line in range_ for range_ in lines), (node.op, place.line)
        for host in module.hosts.values():
            assert user_place(host.loc) is not None


def test_hooks_stand_in_the_adjoint():
    net = Hooked(forward=False)
    graph = parsed(net, array(2, 3)).graph
    names = wanted(graph.module, graph.symbol)
    assert names == ("x", "@fc.weight", "@fc.bias", "@count")
    adjoint = adjoint_of(graph.module, graph.symbol, names)
    text = print_module(adjoint.module, locations=False)
    for line in ("callback! @h.hook(", "backward! @fc(", 'kind="output"', "callback! @clip("):
        assert line in text, text
    assert "attach!" not in text and "write!" not in text and adjoint.notes
    used = kernels(EXPANDED.run(graph.module), adjoint.module)
    assert len({kernel["c"] for kernel in used}) == len(used) and {"matmul_f32", "tanh_f32"} <= {kernel["name"] for kernel in used}


def test_values_bear_the_first_name_they_are_given():
    def named(x):
        w = x
        m = w * 2
        z = m
        return z if z.sum() > 0 else x

    text = print_module(parsed(named, array(3)).graph.module, locations=False)
    assert "@named(x: f32[3])" in text and "  m: f32[3] = mul(x, 2.0_f32)\n" in text and "yield x\n" in text


def test_a_program_of_the_same_text_in_another_file(tmp_path):
    """Code that says the same is equal in Python; places are those of each file all the same."""
    files = [tmp_path / name for name in ("a.py", "b.py")]
    for file in files:
        file.write_text("def f(x):\n    return x + 1\n")
        node = parsed(runpy.run_path(str(file))["f"], array(3)).graph.function.body.nodes[0]
        place = user_place(node.loc)
        assert place is not None and place.file == str(file)
