"""Tensors that are made of tensors, in graphs: a copy has the numbers of its place in each run, and shares no later write.

The makers of copies are found by calling whatever is public with a Tensor and a Parameter.  Programs are written for each of them and for
each place where a tensor may be kept, with writes between calls and inside of them, and give the same bits in eager mode, under `jit` and
in GRAPH_MODE.  The same is done with every call of `good_calls`: what a graph cannot read when it runs, it refuses.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import good_calls
import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, jit, mint, nn, ops
from adjoint.common import initializer as initializers
from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.tensor.structure import leaves


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    yield
    ms.set_context(deterministic="ON")  # calls of the whole library are tried


NUMBERS = (2.5, -3.0)


@functools.cache
def makers() -> dict[str, str]:
    """Return expressions of `t` that give a Tensor with the numbers of `t`, or one in a tuple or list, by what they call."""
    found = {
        "copy.copy": "copy.copy(t)", "copy.deepcopy": "copy.deepcopy(t)", "deepcopy of a list": "copy.deepcopy([t])[0]",
        "deepcopy of a dict": "copy.deepcopy({'a': (t,)})['a'][0]", "ParameterTuple.clone": "ParameterTuple([t]).clone('c')[0]",
        "Tensor of a list": "Tensor([t])[0]", "tensor of a list": "ms.tensor([t, t])[1]", "Tensor of an item": "Tensor([t[0], t[1]])",
        "NumPy's": "Tensor(np.array(t))", "tolist": "Tensor(t.tolist())", "asnumpy": "Tensor(t.asnumpy().copy())",
        "from_numpy": "Tensor.from_numpy(t.asnumpy().copy())", "of a keyword": "Tensor(input_data=t)",
        "with a dtype": "Tensor(t, ms.float64)",
    }
    tried: list[tuple[str, ...]] = [
        tuple(f"t.{name}{given}" for given in (METHOD_ARGUMENTS if callable(getattr(Parameter, name)) else ("",)))
        for name in dir(Parameter)
        if (not name.startswith("_") or name in ("__copy__", "__deepcopy__", "__pos__")) and hasattr(Parameter, name)]
    tried += [
        tuple(f"{module.__name__.replace('adjoint', 'ms')}.{name}{given}"
              for given in ("(t)", "()(t)", "(t, ms.float32)", "((2,), t)"))
        for module in (ms, ops, mint, ms.numpy, initializers) for name in sorted({*vars(module), *module.__all__})
        if not name.startswith(OTHERS) and callable(getattr(module, name, None))]
    return found | {text: text for texts in tried for text in texts if _copies(text)}


METHOD_ARGUMENTS = ("()", "({})", "(t)", "(ms.float32)", "(2)")
OTHERS = ("_", "set_", "reset_", "load", "save", "jit", "ms_", "constexpr", "launch_", "Print", "custom_info")
"""Names of what writes settings or files, prints, or wraps a function."""


def _copies(text: str) -> bool:
    """Return whether an expression makes of different tensors copies of them, and writes none.

    There are many: a function that draws random numbers, such as `shuffle`, gives the tensor itself now and then.
    """
    for numbers in (NUMBERS, *((7.5 + i, 0.25) for i in range(20))):
        t = Parameter(Tensor(list(numbers)), name="t")
        try:
            made = eval(text, {**SPACE, "t": t})
        except Exception:
            return False
        if not isinstance(made, Tensor) or made.shape != t.shape or made.asnumpy().tolist() != [*numbers] \
                or t.asnumpy().tolist() != [*numbers]:
            return False
    return True


SPACE: dict[str, Any] = {"ms": ms, "ops": ops, "mint": mint, "np": np, "copy": copy, "Tensor": Tensor, "ParameterTuple": ParameterTuple,
                         "nn": nn, "Parameter": Parameter}

HEAD = """
import copy
import numpy as np
import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, nn, ops

class Object:
    pass

GLOBAL_P, GLOBAL_T = Parameter(Tensor({numbers}), name="global"), Tensor({numbers})
ITEMS, BY_NAME, HELD = [Parameter(Tensor({numbers}), name="item"), Tensor({numbers})], {{"p": Parameter(Tensor({numbers}))}}, Object()
HELD.t, HELD.p = Tensor({numbers}), Parameter(Tensor({numbers}), name="held")
"""
PLACES = ("self.p", "GLOBAL_P", "NEAR_T", "ITEMS[0]", "HELD.t", "self.pair[1]", "BY_NAME['p']", "GLOBAL_T", "NEAR_P", "self.t", "ITEMS[1]",
          "HELD.p", "self.p")
WRITES = ("ops.assign({place}, x)", "{place}.set_data(x)", "{place}.add_(x)", "{place}[0] = x[1]", "pass")
PROGRAM = """
def make_{number}():
    NEAR_P, NEAR_T = Parameter(Tensor({numbers}), name="near"), Tensor({numbers})
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p, self.t = Parameter(Tensor({numbers}), name="p"), Tensor({numbers})
            self.pair = (1, Tensor({numbers}))
        def construct(self, x):
            t = {place}
            first = {maker}
            {write}
            t = {place}
            second = {maker}
            {change}
            return first if type(first) is Tensor else first + 0, second + 0, {place} + 0, isinstance(second, Parameter)
    net = Net()
    def run(x):
        return net.construct(x)
    def outside(self=net):
        return {place}
    return net, run, outside

"""


def loaded(folder: Path, text: str, name: str) -> ModuleType:
    """Return a module of a text, which is kept in a file: graphs are made of the source."""
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bits(value: Any) -> Any:
    return [(type(x), x.dtype.name, x.shape, x.asnumpy().tobytes()) if isinstance(x, Tensor) else x
            for x in leaves(value, (Tensor, int, float))]


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a call gives, or what it raises."""
    try:
        return bits(function(*args))
    except CompileError as problem:
        return Refused(problem)
    except Exception as problem:
        refused = any(text in str(problem) for text in ("depends on val", "read-only", "call it outside of 'jit'"))
        return Refused(problem) if refused else type(problem).__name__


@dataclasses.dataclass
class Refused:
    """What a graph cannot do, and says so."""

    why: Exception


BETWEEN = (
    lambda p: None, lambda p: p.set_data(Tensor([11.0, 13.0])), lambda p: ops.assign(p, Tensor([17.0, 19.0])),
    lambda p: p.add_(Tensor(0.5)), lambda p: p.__setitem__(0, 23.0),
)


def history(module: ModuleType, number: int, mode: str) -> list[Any]:
    """Return what calls of a program give, with a write of the tensor before each, and what the tensor holds after each."""
    net, run, outside = getattr(module, f"make_{number}")()
    called = {"eager": net, "graph": net, "jit": jit(run)}[mode]
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    outside().set_data(Tensor([*NUMBERS]))
    found: list[Any] = []
    for count, between in enumerate(BETWEEN):
        between(outside())
        found.append((outcome(called, Tensor([count + 1.0, 2.0])), bits(outside())))
    ms.set_context(mode=ms.PYNATIVE_MODE)
    return found


CHUNKS = 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_copies_have_the_numbers_of_their_place(chunk: int, tmp_path: Path) -> None:
    text, programs = HEAD.format(numbers=[*NUMBERS]), list[tuple[str, str, str]]()
    places, writes = [*PLACES], [*WRITES]
    for i, (title, maker) in enumerate(sorted(makers().items())):
        for j in range(3 if i % CHUNKS == chunk else 0):
            place, write = places[(i * 3 + j * 4) % len(places)], writes[(i + j) % len(writes)]
            changed = ("second.add_(x)", "first[0] = 5.0", "ops.assign(second, x)")[j]
            text += PROGRAM.format(number=len(programs), numbers=[*NUMBERS], place=place, maker=maker, write=write.format(place=place),
                                   change=changed)
            programs.append((title, place, write))
    module = loaded(tmp_path, text, f"copies_{chunk}")
    wrong: list[Any] = []
    same = 0
    for number, (title, place, write) in enumerate(programs):
        wanted = history(module, number, "eager")
        for mode in ("jit", "graph") if "self" in place else ("jit",):
            got = history(module, number, mode)
            if any(isinstance(made, Refused) for made, _ in got):
                continue
            same += got == wanted
            if got != wanted:
                wrong.append((title, place, write, mode, wanted, got))
    assert not wrong, wrong[:3]
    assert same > len(programs) / 2


# -- every public call --------------------------------------------------------------------------------------------------------
CALLS_HEAD = """
import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.common import initializer
"""
CALL = """
def make_{number}():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            {held}
        def construct(self):
            {write}
            return {text}
    net = Net()
    return net.construct, [{names}]
"""


def operands(text: str) -> list[str]:
    """Return the names of tensors in a call."""
    names = dict.fromkeys(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and node.id in good_calls.MADE)
    return [name for name in names if isinstance(good_calls.MADE[name](), Tensor)]


def with_held(text: str) -> str:
    """Return a call with attributes in the place of tensors."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(good_calls.MADE.get(node.id, int)(), Tensor):
            node.id = f"self.{node.id}"
    return ast.unparse(tree)


def changed_numbers(x: Tensor) -> Tensor:
    """Return other numbers that a call takes as well as these."""
    return x * 0.75 if x.dtype.is_float else ops.flip(x, (0,)) if x.ndim else x


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("area", ["functions", "primitives", "methods", "rest"])
def test_every_call_reads_tensors_from_outside(area: str, written: bool, tmp_path: Path) -> None:
    text, calls = CALLS_HEAD, list[str]()
    for call in good_calls.CALLS[area][:: 3 if written else 1]:  # what writes is the same for all calls
        names = operands(call)
        if not names or not {"hook", "function", "net", "FILE", "allclose", "is_nonzero"}.isdisjoint(re.findall(r"\w+", call)):
            continue  # the last two give a Tensor in a graph
        kinds = ["Parameter(MADE['{0}'](), name='{0}')" if number % 2 else "MADE['{0}']()" for number in range(len(names))]
        held = "; ".join(f"self.{name} = {kind.format(name)}" for name, kind in zip(names, kinds, strict=True))
        write = "; ".join(f"ops.assign(self.{name}, self.{name}_)" for name in names) if written else "pass"
        held += "".join(f"; self.{name}_ = changed(changed(MADE['{name}']()))" for name in names)
        text += CALL.format(number=len(calls), held=held, write=write, text=with_held(call),
                            names=", ".join(f"net.{name}, net.{name}_" for name in names))
        calls.append(call)
    module = loaded(tmp_path, text, f"calls_{area}_{written}")
    vars(module).update(MADE=good_calls.MADE, changed=changed_numbers)
    wrong: list[Any] = []
    same = 0
    for number, call in enumerate(calls):
        found: list[Any] = []
        for wrap in (lambda x: x, jit):
            run, held = getattr(module, f"make_{number}")()
            run, results = wrap(run), list[Any]()
            for change in (False, True, False):
                for x in held if change else ():
                    x.set_data(changed_numbers(x))
                ms.set_seed(1)
                results.append((outcome(run), bits(held)))
            found.append(results)
        if any(isinstance(made, Refused) for made, _ in found[1]):
            continue
        same += found[0] == found[1]
        if found[0] != found[1]:
            wrong.append((call, *found))
    assert not wrong, [each[0] for each in wrong] + wrong[:2]
    assert same > len(calls) / 6


# -- tensors of numbers ---------------------------------------------------------------------------------------------------------
NEW = """
def run_{number}(x):
    y = {text}
    y.add_({by})
    return y
"""


def test_each_run_makes_its_own_tensors_of_numbers(tmp_path: Path) -> None:
    """What the library makes of numbers while a function is parsed is written in place: the next run begins with the first numbers."""
    texts = [text for area in ("functions", "primitives", "rest") for text in good_calls.CALLS[area] if not operands(text)]
    texts += [f"{module}.{name}({given})" for module, space in (("ms", ms), ("ops", ops), ("ms.numpy", ms.numpy))
              for name in sorted({*vars(space), *space.__all__}) if not name.startswith(OTHERS) and callable(getattr(space, name))
              for given in ("[1.5, 2.5]", "(2,)", "np.array([1.5, 2.5], np.float32)", "2.5")]
    texts += ["Tensor.from_numpy(np.array([1.5, 2.5], np.float32))", "ops.TensorShape()(x)", "initializers.initializer('ones', (2,))"]
    used = [text for text in dict.fromkeys(texts) if _makes_a_tensor(text)]
    text = HEAD.format(numbers=[*NUMBERS])
    for number, each in enumerate(used):
        made = eval(each, {**SPACE, **good_calls.MODULES, "x": Tensor([1.0, 2.0])})
        text += NEW.format(number=number, text=each, by="1" if made.dtype.kind != "b" else "True")
    module = loaded(tmp_path, text, "new_tensors")
    wrong: list[Any] = []
    for number, each in enumerate(used):
        run = getattr(module, f"run_{number}")
        graph, x = jit(run), Tensor([1.0, 2.0])
        found = [[outcome(function, x) for _ in range(3)] for function in (run, graph)]
        if not isinstance(found[1][0], Refused) and found[0] != found[1]:
            wrong.append((each, *found))
    assert not wrong, wrong[:3]
    assert len(used) > 40


def _makes_a_tensor(text: str) -> bool:
    """Return whether a call makes the same tensor each time, which can be written."""
    found: list[Any] = []
    for _ in range(2):
        try:
            made = eval(text, {**SPACE, **good_calls.MODULES, "x": Tensor([1.0, 2.0])})
            found.append(bits(made))
            made.add_(1)
        except Exception:
            return False
    return type(made) is Tensor and found[0] == found[1]


# -- copies in code that is not parsed --------------------------------------------------------------------------------------------
class Own:
    """Copies what it holds by a method that Python calls."""

    def __init__(self, t: Tensor):
        self.t = t

    def __deepcopy__(self, memo: dict[int, Any]) -> Own:
        return Own(self.t.value() if isinstance(self.t, Parameter) else self.t.copy())


class OfNumbers(Own):
    def __deepcopy__(self, memo: dict[int, Any]) -> OfNumbers:
        return OfNumbers(Tensor(self.t))


class OfParameters(Own):
    def __deepcopy__(self, memo: dict[int, Any]) -> OfParameters:
        return OfParameters(Parameter(self.t, name="own"))


class Slots:
    __slots__ = ("t",)

    def __init__(self, t: Tensor):
        self.t = t


@dataclasses.dataclass
class Held:
    t: Any
    more: Any = None


class Holding(nn.Cell):
    """Holds a Parameter in all kinds of objects; `made` makes a tensor of one of them."""

    def __init__(self, made: Callable[[Any], Any]):
        super().__init__()
        self.p, self.made = Parameter(Tensor([2.0, 3.0]), name="p"), made
        self.dense = nn.Dense(2, 2, weight_init="ones", bias_init="ones")
        self.t = Tensor([4.0, 5.0])
        self.own, self.of_numbers, self.of_parameters = Own(self.p), OfNumbers(self.p), OfParameters(self.p)
        self.slots, self.held = Slots(self.p), Held(self.p, [self.t])
        self.pair, self.by_name = (self.p, [self.t]), {"p": self.p, "t": (self.t, 1)}
        self.several = ParameterTuple([self.p])


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "own": lambda net: copy.deepcopy(net.own).t + 0,
    "of numbers": lambda net: copy.deepcopy(net.of_numbers).t + 0,
    "of numbers, returned": lambda net: copy.deepcopy(net.of_numbers).t,
    "of parameters": lambda net: copy.deepcopy(net.of_parameters).t + 0,
    "slots": lambda net: copy.deepcopy(net.slots).t + 0,
    "copied object": lambda net: copy.copy(net.held).t + 0,
    "dataclass": lambda net: copy.deepcopy(net.held).t + copy.deepcopy(net.held).more[0],
    "asdict": lambda net: dataclasses.asdict(net.held)["t"] + dataclasses.asdict(net.held)["more"][0],
    "astuple": lambda net: dataclasses.astuple(net.held)[0] + 0,
    "replaced": lambda net: dataclasses.replace(net.held, more=1).t + 0,
    "pair": lambda net: copy.deepcopy(net.pair)[0] + copy.deepcopy(net.pair)[1][0],
    "dict": lambda net: copy.deepcopy(net.by_name)["p"] + copy.deepcopy(net.by_name)["t"][0],
    "cell": lambda net: copy.deepcopy(net.dense)(net.p.reshape((1, 2))),
    "several": lambda net: net.several.clone("c")[0] + 0,
    "itself": lambda net: net.p.clone(),
    "itself twice": lambda net: [net.p.clone()] * 2,
    "of a clone": lambda net: net.p.clone().clone().value() + 0,
    "name": lambda net: (net.p.clone().name, net.p.clone().requires_grad),
    "kind": lambda net: (isinstance(net.p.clone(), Parameter), type(net.p.clone()).__name__, type(net.p.clone()) is Parameter),
    "initial": lambda net: net.p.clone("ones") + net.p.clone(net.t),
    "branch": lambda net: net.p.clone() + 1 if net.t.sum() > 9 else net.p.value(),
}


@pytest.mark.parametrize("title", HOLDERS)
def test_objects_that_copy_in_their_own_code(title: str) -> None:
    found: list[Any] = []
    for mode in ("eager", "jit", "graph"):
        made = HOLDERS[title]
        net = Holding(made)
        called = jit(made) if mode != "eager" else made
        ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
        results: list[Any] = []
        for step in range(3):
            made = called(net)
            results.append((bits(made), [x.name for x in leaves(made, Parameter)]))
            for x in leaves(made, Tensor):
                x.add_(1)  # the caller's own
            ops.assign(net.p, Tensor([step + 5.0, 0.5]))
            net.t.set_data(net.t + 1)
            net.dense.weight.add_(net.dense.weight)
            if step:
                net.p.name, net.p.requires_grad = "another", False
        found.append(results)
    assert found[0] == found[1] == found[2]


def test_a_parameter_made_by_code_that_is_not_parsed_is_not_written() -> None:
    net = Holding(lambda net: None)

    @jit
    def written(net: Any) -> Tensor:
        return ops.assign(copy.deepcopy(net.of_parameters).t, net.t) + 0

    with pytest.raises(CompileError, match="a Parameter is written that the graph makes"):
        written(net)


def test_numbers_are_not_read_where_the_graph_may_have_written_them() -> None:
    """While parsing, a tensor from outside has the numbers of before the run."""
    p = Parameter(Tensor([2.0, 3.0]), name="p")

    @jit
    def before(x: Tensor) -> Any:
        made = Tensor(p.asnumpy()) + 0
        p.set_data(x)
        return made

    @jit
    def after(x: Tensor) -> Any:
        p.set_data(x)
        return Tensor(p.asnumpy())

    @jit
    def in_a_round(x: Tensor) -> Any:
        while x.sum() < 10:
            x = x + Tensor(p.asnumpy())
            p.add_(x)
        return x

    @jit
    def by_an_operator(x: Tensor) -> Any:
        while x.sum() < 10:
            x = x + p.value()
            p.add_(x)
        return x

    for step in range(3):
        wanted = p.tolist()
        assert before(Tensor([step + 7.0, 1.0])).tolist() == wanted
    for refused in (after, in_a_round):
        with pytest.raises(CompileError, match="E203"):
            refused(Tensor([1.0, 1.0]))
    p.set_data(Tensor([1.0, 2.0]))
    assert by_an_operator(Tensor([1.0, 1.0])).tolist() == [5.0, 8.0]
    assert p.tolist() == [8.0, 13.0]


def test_a_copy_of_an_array_s_tensor_is_not_the_array_s() -> None:
    array = np.array([1.0, 2.0], np.float32)
    x = Tensor.from_numpy(array)
    makers = [lambda: x.copy(), lambda: copy.copy(x), lambda: copy.deepcopy(x), lambda: Tensor(x), lambda: ms.tensor(x),
              lambda: x.clone(), lambda: ParameterTuple([p]).clone("c", x)[0]]
    p = Parameter(Tensor([1.0, 2.0]), name="p")
    copies = [function() for make in makers for function in (make, jit(make))]
    array[0] = 9.0
    assert x.tolist() == [9.0, 2.0]
    assert all(made.tolist() == [1.0, 2.0] for made in copies)


# -- cells that are copied, Parameters that are merged ------------------------------------------------------------------------
class Copying(nn.Cell):
    """Copies a cell with hooks in each call, and writes the copy."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.log = nn.Dense(2, 2, weight_init="ones", bias_init="ones"), list[Any]()
        self.dense.register_forward_hook(lambda cell, given, made: self.log.append(("forward", made.tolist())))
        self.dense.register_backward_hook(lambda cell, by_input, by_output: self.log.append(("backward", by_output[0].tolist())))

    def construct(self, x: Tensor) -> Tensor:
        made = copy.deepcopy(self.dense)
        made.extra = 3
        y = made(x)
        ops.assign(made.weight, made.weight * 2)
        return (made(y) * self.dense(x)).sum() * made.extra


class Cloning(nn.Cell):
    """Returns a copy of its Parameter with a name of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.p = Parameter(Tensor([1.0, 2.0]), name="p")

    def construct(self, x: Tensor) -> tuple[Tensor, Parameter]:
        made = self.p.clone()
        made.name, made.requires_grad = "own", False
        made.add_(x)
        return x, made


def test_a_copied_cell_has_its_hooks_and_parameters_of_each_run() -> None:
    found: list[Any] = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net = Copying()
        gradient = ms.value_and_grad(net, 0, net.trainable_params())
        for step in range(3):
            x = Tensor([[step + 1.0, 2.0]])
            net.log += [bits(net(x)), bits(gradient(x))]
            net.dense.weight.set_data(net.dense.weight * 2)
        found.append(net.log)
    assert found[0] == found[1]


def test_a_cell_returns_a_copy_that_is_a_parameter() -> None:
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net = Cloning()
        for step in range(3):
            _, made = net(Tensor([1.0, 1.0]))
            assert type(made) is Parameter and (made.name, made.requires_grad) == ("own", False)
            assert made.tolist() == [step + 2.0, step + 3.0]
            made.add_(7)
            net.p.add_(1)


P, Q = Parameter(Tensor([1.0, 2.0]), name="P"), Parameter(Tensor([3.0, 5.0]), name="Q")


def chosen(x: Tensor) -> Tensor:
    if x.sum() > 0:
        y = P
    else:
        y = x * 2
    return y.clone() + x


def carried(x: Tensor) -> Tensor:
    y = P.clone()
    while y.sum() < 30:
        y = ms.tensor(y) * 2 + x
    return y


def copied(x: Tensor) -> Tensor:
    y = copy.deepcopy(P if x.sum() > 0 else Q)
    return y + x


def differentiated(x: Tensor) -> Tensor:
    made = P.clone()
    return ms.grad(lambda z: (z * made).sum(), None, [made])(x)[0]


@pytest.mark.parametrize(("function", "why"), [(chosen, "E203"), (carried, "E203"), (copied, "E203"), (differentiated, "E202")])
def test_what_a_graph_cannot_know_of_a_copy_is_an_error(function: Callable[[Tensor], Tensor], why: str) -> None:
    """Whether a copy takes a gradient, where a tensor decides whether it is one of a Parameter."""
    assert function(Tensor([1.0, 1.0])).shape == (2,)
    with pytest.raises(CompileError, match=why):
        jit(function)(Tensor([1.0, 1.0]))
