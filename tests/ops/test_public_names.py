"""The class of an op carries its public names: they stand nowhere else, and a user's class gets them as well."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from added_ops import taken_back

import adjoint as ms
from adjoint import Tensor, ops
from adjoint.ir.op import operation, registry
from adjoint.ir.ops.elementwise import Unary
from adjoint.ir.public import Public
from adjoint.ops import functional

OPS = Path(ops.__file__).parent


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    with taken_back():
        yield


def test_what_a_class_describes_is_there() -> None:
    for kind in registry().values():
        for public in kind.publics():
            function = getattr(ops, public.name)
            assert str(inspect.signature(function)) == public.signature.removeprefix(public.name) and function.__doc__
            assert all(getattr(ops, name) is function and name in ops.__all__ for name in public.function_names)
            assert all(getattr(Tensor, name) is function for name in public.method_names if not name.endswith("_"))
            assert all(issubclass(getattr(ops, name), ops.Primitive) and name in ops.__all__ for name in public.primitive_names(kind))


def test_no_name_is_written_twice() -> None:
    """What a class carries is neither defined by hand in `ops`, nor listed there."""
    described = {name for kind in registry().values() for public in kind.publics()
                 for name in (*public.function_names, *public.primitive_names(kind))}
    methods = {name for kind in registry().values() for public in kind.publics() for name in public.method_names}
    assert len(described) > 100 and len(methods) > 60
    for path in sorted(OPS.rglob("*.py")):
        for place, name in by_hand(ast.parse(path.read_text(encoding="utf-8"))):
            assert name not in (methods if path.stem == "tensor_methods" else described), f"{path.name}:{place}: {name}"


def by_hand(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines, and those in its tables of names, with their lines."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            assigned = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
            yield from ((node.lineno, name) for name in assigned)
            if assigned & {"__all__", "_FUNCTIONS", "_SYNONYMS", "_IN_PLACE"}:
                texts = [text for text in ast.walk(node) if isinstance(text, ast.Constant) and isinstance(text.value, str)]
                yield from ((text.lineno, name) for text in texts for name in text.value.split())


# An op of the user's ------------------------------------------------------------------------------------------------------


def power() -> type[Any]:
    """Make a class as a user would write it."""

    @operation
    class RaisedTo(Unary):
        """The number x to a power, by its sign and size.

        x         T[s], T a floating point type
        result    T[s]
        gradient  ct * exponent * |x| ** (exponent - 1)
        errors    TypeError: not floating point
        """

        exponent: float = 2.0
        shifted: bool = False
        public = Public("raised_to(base, exponent=2.0, *, moved=False)", methods="raised_to raised_to_", operands="to floats")

        def reference(self, x: Any) -> Any:
            return np.sign(x) * np.abs(x) ** self.exponent + self.shifted

        def scalar(self, k: Any, x: Any) -> Any:
            exponent = k.literal(self.exponent, x.dtype)
            return k.call("copysign", k.call("pow", k.call("fabs", x), exponent), x) + int(self.shifted)

        def vjp(self, b: Any, node: Any, ct: Any) -> Any:
            (x,) = node.operands
            size = b.pow(b.abs(x), b.constant(self.exponent - 1.0, x.type.dtype))
            return (b.mul(ct, b.mul(b.constant(self.exponent, x.type.dtype), size)),)

    return RaisedTo


def test_an_op_with_attributes() -> None:
    kind = power()
    space: Any = ops
    x = Tensor(np.array([-2.0, 0.5, 3.0], np.float32))
    assert str(inspect.signature(space.raised_to)) == "(base, exponent=2.0, *, moved=False)"
    # A docstring that is indented by eight spaces, or by none, from Python 3.13 on.
    prose = "Return the number base to a power, by its sign and size.\n\nIntegers and bools become Float32.\n"
    assert space.raised_to.__doc__.startswith(prose + "\ngradient  ")
    expected = np.array([-8.0, 0.125, 27.0], np.float32)
    made = space.RaisedTo(3.0)
    assert made == space.RaisedTo(exponent=3) and made != space.RaisedTo() and repr(made) == "Prim[RaisedTo]<exponent=3.0, moved=False>"
    for result in (space.raised_to(x, 3.0), made(x), x.raised_to(3.0), functional.raised_to(base=x, exponent=3.0),  # type: ignore[attr-defined]
                   ms.jit(lambda x: ops.raised_to(x, 3.0))(x), ms.jit(lambda x: made(x))(x)):  # type: ignore[attr-defined]
        assert np.allclose(result.asnumpy(), expected)
    assert np.allclose(space.raised_to(x, 3.0, moved=True).asnumpy(), expected + 1)
    assert np.allclose(space.raised_to(Tensor([2, 3])).asnumpy(), [4.0, 9.0])
    y = x.copy()
    assert y.raised_to_(3.0) is y and np.allclose(y.asnumpy(), expected)
    gradient = ms.grad(lambda x: x.raised_to(3.0).sum())
    assert np.allclose(gradient(x).asnumpy(), 3 * x.asnumpy() ** 2)
    assert np.allclose(ms.grad(lambda x: gradient(x).sum())(x).asnumpy(), 6 * np.abs(x.asnumpy()) * np.sign(x.asnumpy()))
    assert kind is registry()["raised_to"]


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda x: ops.raised_to(), TypeError, r"raised_to\(\) missing 1 required positional argument: 'base'"),
    (lambda x: ops.raised_to(x, 2.0, True), TypeError, r"raised_to\(\) takes from 1 to 2 positional arguments but 3 were given"),
    (lambda x: ops.raised_to(x, power=2.0), TypeError, r"raised_to\(\) got an unexpected keyword argument 'power'"),
    (lambda x: ops.raised_to([1.0]), TypeError, "For 'RaisedTo', the argument 'base' must be a Tensor, but got"),
    (lambda x: ops.raised_to(x, "2"), TypeError, "For 'RaisedTo', the argument 'exponent' must be a number, but got '2'"),
    (lambda x: ops.raised_to(x, moved=2), TypeError, "For 'RaisedTo', the argument 'moved' must be a bool, but got 2"),
    (lambda x: ops.RaisedTo(None), TypeError, "For 'RaisedTo', the argument 'exponent' must be a number, but got None"),
])  # type: ignore[attr-defined]
def test_wrong_arguments_of_an_op_with_attributes(call: Any, error: Any, text: str) -> None:
    power()
    with pytest.raises(error, match=text):
        call(Tensor(np.ones(2, np.float32)))


def test_an_op_without_a_docstring_is_refused() -> None:
    with pytest.raises(TypeError, match="op undescribed lacks its docstring"):
        @operation
        class Undescribed(Unary):
            public = Public("undescribed(x)")

    assert "undescribed" not in registry() and not hasattr(ops, "undescribed")


@pytest.mark.parametrize(("signature", "further", "text"), [
    ("sin(x)", {}, r"op taken: the name ops\.sin is taken; choose another one in `public`"),
    ("taken(x)", {"methods": "sum"}, r"op taken: the name Tensor\.sum is taken"),
    ("taken(x)", {"primitives": "ReLU"}, r"op taken: the name ops\.ReLU is taken"),
])
def test_a_name_that_is_taken_is_refused(signature: str, further: dict[str, str], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        @operation
        class Taken(Unary):
            """x."""

            public = Public(signature, **further)  # type: ignore[arg-type]

    assert "taken" not in registry() and not hasattr(Tensor, "taken")


@pytest.mark.parametrize("signature", [
    "scaled(x)", "scaled(x, factor, other)", "scaled(x=1, factor=2.0)", "scaled(x, *factor)", "scaled(x, factor=",
])
def test_a_signature_that_does_not_fit_is_refused(signature: str) -> None:
    with pytest.raises(TypeError, match="op scaled: "):
        @operation
        class Scaled(Unary):
            """x times a factor."""

            factor: float = 2.0
            public = Public(signature)

    assert "scaled" not in registry()


@pytest.mark.parametrize("signature", ["plain", "plain(x", "plain()", "plain(x, y)", "plain(x=1)", "plain(*x)", "(x)"])
def test_a_signature_that_does_not_fit_an_op_without_attributes_is_refused(signature: str) -> None:
    with pytest.raises(TypeError, match=r"op plain: the signature '.*' must have a name, a parameter"):
        @operation
        class Plain(Unary):
            """x."""

            public = Public(signature)

    assert "plain" not in registry()


def test_a_parameter_may_have_the_name_of_what_the_function_is_made_of() -> None:
    @operation
    class Doubled(Unary):
        """x twice.

        op        T[s], T a floating point type
        """

        kind: float = 2.0
        public = Public("doubled(op, apply=2.0)")

        def reference(self, x: Any) -> Any:
            return self.kind * x

        def scalar(self, k: Any, x: Any) -> Any:
            return k.literal(self.kind, x.dtype) * x

    space: Any = ops
    assert space.doubled(Tensor(1.5)).item() == space.Doubled()(Tensor(1.5)).item() == 3.0


def test_a_file_of_the_users(tmp_path: Path) -> None:
    """The first class of docs/adding-an-op.md, outside of the package: in a program, in GRAPH_MODE, and as C."""
    page = (OPS.parents[1] / "docs" / "adding-an-op.md").read_text(encoding="utf-8")
    first = page.partition("## An op as a class")[2].partition("```python\n")[2].partition("```")[0]
    (tmp_path / "cube.py").write_text(first, encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "as_mindspore.py").write_text(AS_MINDSPORE, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(OPS.parents[1])}

    def said(*arguments: str) -> str:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said("program.py").split() == ["8.0", "12.0", "12.0"] * 2
    assert said("-m", "adjoint", "run", "as_mindspore.py").split() == ["8.0", "8.0"]
    c = said("-m", "adjoint", "dump-ir", "cube.py:energy", "--args", "f32[3]", "--stage", "c", "--standalone")
    assert "x[2] * x[2] * x[2]" in c and "int energy(" in c and "int energy_grad(" in c


PROGRAM = """
import adjoint as ms
from cube import energy

for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode)
    x = ms.Tensor(2.0)
    print(energy(x), ms.grad(energy)(x), ms.grad(ms.grad(energy))(x))
"""

AS_MINDSPORE = """
import cube
from mindspore import Tensor, ops
from mindspore.ops import operations as P

print(ops.cube(Tensor(2.0)), P.Cube()(Tensor(2.0)))
"""


def test_what_scripts_set_on_an_operator() -> None:
    """MindSpore's scripts mark operators for graphs and devices: the marks can be read, and the operator computes as before."""
    add = ops.Add().add_prim_attr("own", 1).set_device("GPU").set_stage(2).recompute().set_prim_instance_name("sum")
    add.init_prim_io_names(["x", "y"], ["out"])
    assert add.attrs == {"own": 1, "primitive_target": "GPU", "stage": 2, "recompute": True, "input_names": ["x", "y"],
                         "output_names": ["out"]}
    assert add.del_prim_attr("own") is add.del_prim_attr("own") is add and not hasattr(add, "own") and add.instance_name == "sum"
    assert add(1.0, Tensor([2.0])).tolist() == [3.0] and add.check_elim(1, 2) == (False, None)
    for call, kind in ((lambda: add.place("MS_WORKER", -1), ValueError), (lambda: add.place("MS_SCHED", 0), ValueError),
                       (lambda: add.place("MS_WORKER", "a"), TypeError), (lambda: add.set_device("TPU"), RuntimeError),
                       (lambda: add.recompute(3), TypeError), (lambda: add.set_prim_instance_name(3), TypeError)):
        with pytest.raises(kind, match="For 'Add"):
            call()
