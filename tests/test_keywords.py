"""A keyword argument of the user's may have the name of any parameter of this package: `Net(cls=1)`, `net(x, self=1)`, `f(x, fn=1)`."""

from __future__ import annotations

import ast
import importlib.util
import keyword
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, jit, nn, ops
from adjoint.train.amp import custom_mixed_precision

PACKAGE = Path(ms.__file__).parent
FUNCTIONS = [(file.relative_to(PACKAGE), node) for file in sorted(PACKAGE.rglob("*.py"))
             if re.search(rb"\*\*\w+[,:)]", text := file.read_bytes())
             for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node.args.kwarg is not None]
"""The functions of the package that take any keywords, with their files."""


def _names() -> list[str]:
    """The parameters of all functions that take any keywords, and names that functions have whose text the package writes."""
    found = {node.arg for _, function in FUNCTIONS for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    written = {"cell", "func", "target", "jit_call", "jit_graphs", "blocks", "failed", "values", "run", "leaf0", "lines", "operand0"}
    return sorted(name for name in {*found, *written} - {"x", "this"} if not keyword.iskeyword(name) and not name.startswith("__"))


NAMES = _names()
GIVEN = {name: float(i) for i, name in enumerate(NAMES)}
SUMMED = ["self", "cls", "fn", "function", "args", "kwargs", "cell", "func", "named", "values", "run", "target", "name"]
ALL = ", ".join(NAMES)
PROGRAM = f"""
import collections, dataclasses, functools, types
import adjoint as ms
from adjoint import nn, ops

class Net(nn.Cell):
    def __init__(this, *, {ALL}):
        super(Net, this).__init__()
        this.total = {" + ".join(SUMMED)}

    def construct(this, x, *, {ALL}):
        return x * this.total + {" + ".join(SUMMED)}

def f(x, *, {ALL}):
    return x * x + {" + ".join(SUMMED)}

class Plain:
    def __init__(this, *, {ALL}):
        this.total = {" + ".join(SUMMED)}

    def __call__(this, x, **given):
        return f(x, **given)

    def method(this, x, **given):
        return this(x, **given)

    @classmethod
    def of_class(this, x, **given):
        return f(x, **given)

    @staticmethod
    def static(x, **given):
        return f(x, **given)

@dataclasses.dataclass
class Data:
    cls: float
    fn: float
    function: float
    kwargs: float

Named = collections.namedtuple("Named", ["cls", "self", "fn", "kwargs"])

def decorated(function):
    @functools.wraps(function)
    def wrapper(x, **given):
        return function(x, **given)
    return wrapper

wrapped = decorated(f)

def uses(x, g):
    d = dict(self=1.0, cls=2.0, iterable=3.0, **{{"x": 4.0}})
    o = collections.OrderedDict(self=1.0, cls=2.0)
    s = types.SimpleNamespace(self=1.0, cls=2.0)
    n = Named(cls=1.0, self=2.0, fn=3.0, kwargs=4.0)._replace(fn=5.0, cls=2.0)
    t = Data(cls=1.0, fn=2.0, function=3.0, kwargs=4.0)
    text = "{{self}} {{cls}} {{format_spec}}".format(self=1, cls=2, format_spec=3)
    y = x * (d["self"] + d["cls"] + o["cls"] + s.cls + n.cls + n.fn + t.kwargs + len(text))
    made = Plain(**g)
    y = y + made.total + made(x, **g) + made.method(x, **g) + Plain.of_class(x, **g) + made.static(x, **g) + wrapped(x, **g)
    local = lambda x, **given: f(x, **given)
    return y + functools.partial(local, **g)(x) + Net(**g)(x, **g) + ops.partial(f, **g)(x) + sum(map(functools.partial(f, **g), [x]))

class Unsupplied(ops.Primitive):
    @ops.prim_attr_register
    def __init__(this, {", ".join(f"{name}=0.0" for name in NAMES)}):
        this.total = {" + ".join(SUMMED)}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("keywords") / "program_with_all_names.py"
    file.write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("program_with_all_names", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hooked(program: Any) -> Any:
    """A cell with hooks of all kinds, of which the pre hook passes its keywords on."""
    net = program.Net(**GIVEN)
    net.register_forward_pre_hook(lambda cell, args, kwargs: (args, kwargs), with_kwargs=True)
    net.register_forward_hook(lambda cell, args, kwargs, output: None if kwargs.keys() == GIVEN.keys() else output * 0, with_kwargs=True)
    net.register_backward_pre_hook(lambda cell, grad_output: None)
    net.register_backward_hook(lambda cell, grad_input, grad_output: None)
    return net


TOTAL = sum(GIVEN[name] for name in SUMMED)
TENSORS = {name: Tensor(value) for name, value in GIVEN.items()}
OF_F, OF_NET = 9.0 + TOTAL, 3.0 * TOTAL + TOTAL
WAYS: dict[str, tuple[Callable[[Any, Tensor], Any], float]] = {
    "function": (lambda p, x: p.f(x, **GIVEN), OF_F),
    "jit": (lambda p, x: jit(p.f)(x, **GIVEN), OF_F),
    "jit with tensors": (lambda p, x: jit(p.f)(x, **TENSORS), OF_F),
    "graph mode": (lambda p, x: ms.value_and_grad(p.f)(x, **GIVEN)[0], OF_F),
    "grad": (lambda p, x: ms.grad(p.f)(x, **TENSORS), 6.0),
    "grad of jit": (lambda p, x: ms.grad(jit(p.f))(x, **GIVEN), 6.0),
    "grad in jit": (lambda p, x: jit(lambda x: ms.grad(p.f)(x, **GIVEN))(x), 6.0),
    "value_and_grad": (lambda p, x: ms.value_and_grad(p.f)(x, **GIVEN)[1], 6.0),
    "GradOperation": (lambda p, x: ops.GradOperation()(p.f)(x, **GIVEN), 6.0),
    "vjp": (lambda p, x: ms.vjp(ops.partial(p.f, **GIVEN), x)[0], OF_F),
    "jvp": (lambda p, x: ms.jvp(ops.partial(p.f, **GIVEN), x, x)[0], OF_F),
    "no_grad": (lambda p, x: ms._no_grad()(p.f)(x, **GIVEN), OF_F),  # pyright: ignore[reportAttributeAccessIssue] - MindSpore's
    "cell": (lambda p, x: p.Net(**GIVEN)(x, **GIVEN), OF_NET),
    "cell with hooks": (lambda p, x: hooked(p)(x, **GIVEN), OF_NET),
    "jit of a cell": (lambda p, x: jit(p.Net(**GIVEN))(x, **GIVEN), OF_NET),
    "jit of a cell with hooks": (lambda p, x: jit(hooked(p))(x, **GIVEN), OF_NET),
    "grad of a cell": (lambda p, x: ms.grad(p.Net(**GIVEN))(x, **GIVEN), TOTAL),
    "grad of a cell with hooks": (lambda p, x: ms.grad(hooked(p))(x, **GIVEN), TOTAL),
    "grad of a jitted cell with hooks": (lambda p, x: ms.grad(jit(hooked(p)))(x, **GIVEN), TOTAL),
    "cell in half precision": (lambda p, x: p.Net(**GIVEN).to_float(ms.float32)(x, **GIVEN), OF_NET),
}


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_a_keyword_of_any_name_reaches_the_user(mode: str, program: Any) -> None:
    x, wrong = Tensor(3.0), dict[str, Any]()
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    try:
        for way, (call, expected) in WAYS.items():
            for _ in range(2):
                try:
                    found = float(call(program, x))
                except (TypeError, ValueError, RuntimeError) as raised:
                    found = f"{type(raised).__name__}: {raised}"
                if found != expected:
                    wrong[way] = found
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert not wrong


def test_parsed_code_passes_keywords_of_any_name(program: Any) -> None:
    """To classes, data classes, named tuples, built-in functions, methods, decorators and partial functions."""
    x = Tensor(3.0, ms.float64)
    expected = program.uses(x, GIVEN)
    assert jit(program.uses)(x, GIVEN) == expected == jit(program.uses)(x, GIVEN)
    assert ms.grad(jit(program.uses))(x, GIVEN) == ms.grad(program.uses)(x, GIVEN)


def test_methods_that_take_names_of_the_users_choice(program: Any, tmp_path: Path) -> None:
    net = program.Net(**GIVEN)
    net.set_inputs(x=Tensor(3.0), **TENSORS)
    net.compile(Tensor(3.0), **GIVEN)
    for flags in (net.add_flags, net.add_flags_recursive):
        assert flags(self=1, flags=2, name=3, value=4).get_flags()["self"] == 1
    assert nn.Cell(flags={"self": 1}).get_flags() == {"self": 1}
    nn.Identity(self=1, args=2, kwargs=3)
    primitive = program.Unsupplied(**GIVEN)
    assert primitive.total == TOTAL and primitive.attrs == {**dict.fromkeys(NAMES, 0.0), **GIVEN}
    state = ms.train.RunState(tmp_path / "run", self=nn.Dense(2, 2))
    state.save(self=3)
    assert state.load() == {"self": 3}


def test_an_operator_in_half_precision_takes_keywords() -> None:
    """`custom_mixed_precision` puts a cell in its place, which passes on what it is given."""

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.add = ops.Add()

        def construct(self, x: Any) -> Any:
            return self.add(input=x, other=1e-8)

    x = Tensor(1.0)
    assert Net()(x).dtype == custom_mixed_precision(Net(), white_list=[ops.Add])(x).dtype == ms.float32


def test_methods_with_keywords_of_any_name_take_self_by_position_only() -> None:
    found = [f"{file}:{function.lineno}" for file, function in FUNCTIONS
             if [one.arg for one in function.args.args] in (["self"], ["cls"], ["kind"])]
    assert not found
