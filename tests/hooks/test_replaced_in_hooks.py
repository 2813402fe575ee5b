"""A forward hook replaces cells and changes their state: what has been read before it stays, what is read after it is new."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn
from adjoint.runtime.tensor.structure import leaves


class Twice(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * 2


class Thrice(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * 3


class Training(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * 5 if self.training else x * 7


class Options:
    rate = 2.0


def swapped(x: Tensor) -> Tensor:
    return x * 17


def scaled(x: Tensor) -> Tensor:
    return x * 11


class Net(nn.Cell):
    def __init__(self, body: Callable[[Net, Tensor], Tensor]):
        super().__init__()
        self.body, self.rate, self.options = body, 2.0, Options()
        self.a, self.b, self.d = Thrice(), Thrice(), Training()
        self.l, self.s = nn.CellList([Thrice(), Thrice()]), nn.SequentialCell(Thrice(), Thrice())
        self.drop, self.relu = nn.Dropout(p=0.999), nn.ReLU()
        self.w = Parameter(Tensor([2.0, 3.0]), name="w")
        self.set_train()

    def helper(self, x: Tensor) -> Tensor:
        return x * 13

    def construct(self, x: Tensor) -> Tensor:
        return self.body(self, x)


def through_list(net: Net, x: Tensor) -> Tensor:
    x = net.a(x)
    for cell in net.l:
        x = cell(x)
    return x


def kept(value: Callable[[Net], Any], use: Callable[[Any, Tensor], Tensor]) -> Callable[[Net, Tensor], Tensor]:
    """Read something before the hook, and use it after the hook."""

    def body(net: Net, x: Tensor) -> Tensor:
        found = value(net)
        return use(found, net.a(x))

    return body


BODIES: dict[str, Callable[[Net, Tensor], Tensor]] = {
    "read before its argument": lambda net, x: net.b(net.a(x)),
    "read after": lambda net, x: (lambda y: net.b(y))(net.a(x)),
    "kept": kept(lambda net: net.b, lambda b, y: b(y)),
    "called before": lambda net, x: net.a(net.b(x)),
    "called before and after": lambda net, x: net.b(net.a(net.b(x))),
    "item": lambda net, x: net.l[0](net.a(x)),
    "item kept": kept(lambda net: net.l[0], lambda cell, y: cell(y)),
    "list kept": kept(lambda net: net.l, lambda cells, y: cells[0](y)),
    "list": through_list,
    "sequence": lambda net, x: net.s(net.a(x)),
    "sequence after": lambda net, x: (lambda y: net.s(y))(net.a(x)),
    "sequence before": lambda net, x: net.a(net.s(x)),
    "training": lambda net, x: net.d(net.a(x)),
    "trained before": lambda net, x: net.a(net.d(x)),
    "own training": lambda net, x: net.a(x) * (2 if net.training else 3),
    "dropout": lambda net, x: net.drop(net.a(x)),
    "method": lambda net, x: net.helper(net.a(x)),
    "method after": lambda net, x: (lambda y: net.helper(y))(net.a(x)),
    "function": lambda net, x: (lambda y: scaled(y))(net.a(x)),
    "number": lambda net, x: net.a(x) * net.rate,
    "number kept": kept(lambda net: net.rate, lambda rate, y: y * rate),
    "object kept": kept(lambda net: net.options, lambda options, y: y * options.rate),
    "Parameter kept": kept(lambda net: net.w, lambda w, y: y * w),
    "Parameter after": lambda net, x: net.a(x) * net.w,
    "trainable": lambda net, x: net.a(x) * (1 + len(net.trainable_params())),
    "flags": lambda net, x: net.a(x) * (2 if "zz" in net.get_flags() else 3),
}


def new_options(net: Net) -> None:
    net.options = Options()
    net.options.rate = 9.0


CHANGES: dict[str, Callable[[Net], Any]] = {
    "cell": lambda net: setattr(net, "b", Twice()), "cell deleted": lambda net: delattr(net, "b"),
    "class": lambda net: setattr(net.b, "__class__", Twice), "construct": lambda net: setattr(net.b, "construct", swapped),
    "construct of a class": lambda net: setattr(Training, "construct", lambda self, x: x * 19),
    "item": lambda net: net.l.__setitem__(0, Twice()), "more items": lambda net: net.l.append(Twice()),
    "list": lambda net: setattr(net, "l", nn.CellList([Twice()])), "item of a sequence": lambda net: net.s.__setitem__(0, Twice()),
    "more of a sequence": lambda net: net.s.append(Twice()), "sequence": lambda net: setattr(net, "s", nn.SequentialCell(Twice())),
    "train": lambda net: net.set_train(False), "p": lambda net: setattr(net.drop, "p", 0.0),
    "method": lambda net: setattr(net, "helper", swapped), "method of a class": lambda net: setattr(Net, "helper", lambda self, x: x * 23),
    "function": lambda net: globals().update(scaled=swapped), "number": lambda net: setattr(net, "rate", 9.0),
    "number and cell": lambda net: (setattr(net, "rate", 9.0), setattr(net, "b", Twice())), "object": new_options,
    "Parameter": lambda net: setattr(net, "w", Parameter(Tensor([5.0, 5.0]), name="w")),
    "frozen": lambda net: setattr(net.w, "requires_grad", False), "flags": lambda net: net.add_flags(zz=1),
    "a hook": lambda net: net.b.register_forward_hook(lambda cell, args, output: output * 31),
    "a hook of an item": lambda net: net.s[0].register_forward_hook(lambda cell, args, output: output * 31),
    "result and cell": lambda net: setattr(net, "b", Twice()),
}


def steps(body: str, change: str, register: str, form: str, gradient: bool) -> list[Any]:
    """Return what four calls give; the hook makes its change in the second one."""
    net, calls = Net(BODIES[body]), list[int]()

    def hook(cell: nn.Cell, *given: Any) -> Any:
        calls.append(1)
        if len(calls) != 2:
            return None
        CHANGES[change](net)
        return given[-1].astype(ms.float64) if change == "result and cell" and isinstance(given[-1], Tensor) else None

    getattr(net.a, register)(hook)
    of = jit(net) if form == "jit" else net
    run: Any = ms.value_and_grad(of, 0, [net.w]) if gradient else of
    if form == "jit of all":
        whole = run
        run = jit(lambda x: whole(x))
    found: list[Any] = []
    ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
    ms.set_seed(3)
    try:
        for _ in range(4):
            try:
                found.append([(x.dtype, x.asnumpy().tolist()) for x in leaves(run(Tensor([1.0, 2.0])), Tensor)])
            except (AttributeError, RuntimeError) as raised:
                found.append(raised)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    return found


def agree(eager: Any, graph: Any) -> bool:
    """Return True if a graph gives what eager mode gives, or says by name what its hook has changed."""
    if isinstance(graph, RuntimeError):
        return "changed what the graph" in str(graph)
    return type(eager) is type(graph) if isinstance(eager, Exception) else eager == graph


FORMS = ("jit", "jit of all", "graph mode")
KINDS = ("register_forward_hook", "register_forward_pre_hook")


def forms_of(body: str, register: str, change: str) -> list[str]:
    """Return half of the forms, the others for the other kind of hook: every body meets every change in each form."""
    turn = [*BODIES].index(body) + KINDS.index(register) + [*CHANGES].index(change) // 2  # half of them with gradients
    return [form for i, form in enumerate(FORMS) if (turn + i) % 2]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("register", KINDS)
def test_what_is_read_before_stays_and_what_is_read_after_is_new(
    body: str, register: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i, change in enumerate(CHANGES):
        gradient, results = bool((i + len(body)) % 2), dict[str, list[Any]]()
        for form in ("eager", *forms_of(body, register, change)):
            with monkeypatch.context() as patched:
                patched.setattr(Training, "construct", Training.construct)
                patched.setattr(Net, "helper", Net.helper)
                patched.setitem(globals(), "scaled", scaled)
                results[form] = steps(body, change, register, form, gradient)
        for form, found in results.items():
            assert all(map(agree, results["eager"], found)), (change, form, gradient, results["eager"], found)
            assert not any(isinstance(each, RuntimeError) for each in found[2:]), (change, form)


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("change", [
    lambda net: net.__setitem__(1, Twice()), lambda net: net.append(Twice()), lambda net: net.__delitem__(1),
    lambda net: net.__setitem__(0, Twice()),
])
def test_a_sequence_whose_own_cell_changes_it_goes_on_with_its_cells(change: Callable[[Any], Any], register: str) -> None:
    """As in MindSpore, whose sequence makes a new list of cells when it is changed, and goes on with the one that it has begun."""
    results = list[Any]()
    for form in ("eager", "jit", "graph mode"):
        net, calls = nn.SequentialCell(Thrice(), Thrice()), list[int]()

        def hook(cell: nn.Cell, *given: Any, net: Any = net, calls: list[int] = calls) -> None:
            calls.append(1)
            if len(calls) == 2:
                change(net)

        getattr(net[0], register)(hook)
        ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
        try:
            run = jit(net) if form == "jit" else net
            results.append([run(Tensor([1.0])).item() for _ in range(3)])
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    assert results[0][:2] == [9.0, 9.0] and results[0][2] != 9.0
    assert results == [results[0]] * 3


def test_what_a_hook_replaces_is_freed_after_the_run() -> None:
    for form in ("jit", "graph mode"):
        net = Net(BODIES["read before its argument"])
        gone = weakref.ref(net.b)
        net.a.register_forward_hook(lambda cell, args, output, net=net: setattr(net, "b", Twice()) if type(net.b) is Thrice else None)
        run = jit(net) if form == "jit" else net
        ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
        try:
            assert run(Tensor([1.0])).asnumpy().tolist() == [9.0] and run(Tensor([1.0])).asnumpy().tolist() == [6.0]
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
        gc.collect()
        assert gone() is None, form
