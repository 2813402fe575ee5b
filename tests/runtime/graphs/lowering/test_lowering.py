"""A lowering is composed of parts; what it leaves behind when it has ended says so."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adjoint
from adjoint import Parameter, Tensor, grad, jit, nn, ops, value_and_grad, vjp
from adjoint.foundation.diagnostics import UNKNOWN, CompileError
from adjoint.frontend.world import Kind
from adjoint.ir.core import Value, walk
from adjoint.ir.ops.state import Read
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.types import F32, F64, tensor
from adjoint.runtime.gradients.trace import trace
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.inputs.templates import flatten
from adjoint.runtime.graphs.lowering.assumptions import Assumptions
from adjoint.runtime.graphs.lowering.lowering import Lowering, Subject

PARTS = Path(adjoint.__file__).parent / "runtime/graphs/lowering"


@pytest.fixture
def left_over() -> tuple[Any, Any]:
    """A tensor and a number of a graph that has been made."""
    subject = Subject(lambda *_: None, flatten(((), {}))[0], "f", UNKNOWN)
    lowering = Lowering(subject, Assumptions({}, asks=False), restless=False)
    wrapped = lowering.frontend.world.wrapped
    values = wrapped(Kind("tensor", tensor(F32, (1,))), Value(tensor(F32, (1,)))), wrapped(Kind("int", tensor(F64)), Value(tensor(F64)))
    lowering.end()
    return values


@pytest.mark.parametrize("use", [
    lambda x, n: x + 1, lambda x, n: x.asnumpy(), lambda x, n: x.item(), lambda x, n: bool(x), lambda x, n: x.copy(),
    lambda x, n: x.add_(1), lambda x, n: x.set_data(Tensor([1.0])), lambda x, n: x.register_hook(print), lambda x, n: x.hooks(),
    lambda x, n: n + 1, lambda x, n: n / 2, lambda x, n: n < 2, lambda x, n: int(n), lambda x, n: x * n, lambda x, n: Tensor([1.0]) * n,
])
def test_a_value_of_a_graph_that_is_made_cannot_be_used(left_over: tuple[Any, Any], use: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(CompileError, match=r"E212(.|\n)*test_lowering.py(.|\n)*this value belongs to a graph that is made already"):
        use(*left_over)


@pytest.mark.parametrize("path", sorted(PARTS.glob("*.py")), ids=lambda path: path.stem)
def test_no_part_uses_private_names_of_another(path: Path) -> None:
    wrong = [f"line {node.lineno}: {ast.unparse(node)}" for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
             if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
             and isinstance(node.value, ast.Attribute) and ast.unparse(node.value).startswith("self._")]
    assert not wrong, "\n".join(wrong)


def test_no_hook_and_no_parameter_has_the_symbol_of_the_function() -> None:
    class scale(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = Parameter(Tensor([2.0]), name="scale")

        def construct(self, x: Any) -> Any:
            def scale(gradient: Any) -> Any:
                return gradient

            y = x * self.scale
            y.register_hook(scale)
            return y

    net, x = scale(), Tensor([3.0])
    for module in (parsed(net, x).graph.module, trace(net, [x]).module, parsed(lambda x: net(x), x).graph.module):
        assert print_module(parse_module(print_module(module))) == print_module(module)


def test_a_parameter_of_a_cell_keeps_its_dtype_when_a_number_or_tensor_is_assigned() -> None:
    class Holding(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.held = Parameter(Tensor(0.5), name="held")

        @jit
        def construct(self, x: Any) -> Any:
            self.held = x
            return self.held * 2

    cell = Holding()
    for given in (1, 2, 3, 4.5, True, Tensor(5.5), Tensor(6), Tensor(7.5, F64)):
        assert cell(given).item() == 2 * float(given) and cell.held.item() == float(given) and cell.held.dtype is F32
    with pytest.raises(ValueError, match=r"'held' is Float32 of shape \(\): it cannot become Float32 of shape \(1,\) in a graph"):
        cell(Tensor([1]))


def test_a_tensor_is_read_again_once_it_is_written() -> None:
    """An optimiser reads its learning rate once, not for each Parameter that it writes."""
    rate, a, b = (Parameter(Tensor([number]), name=name) for number, name in ((0.5, "rate"), (1.0, "a"), (2.0, "b")))

    @jit
    def step(x: Tensor) -> Tensor:
        ops.assign(a, a - rate * x)
        ops.assign(b, b - rate * x)
        return a + b

    (function,) = parsed(step, Tensor([1.0])).graph.module.functions.values()
    assert [node.op.symbol for node in walk(function.body) if isinstance(node.op, Read)] == ["rate", "a", "b", "a", "b"]
    assert [step(Tensor([1.0])).item() for _ in range(2)] == [2.0, 1.0]


def test_what_is_differentiated_by_a_parameter_reads_it_itself() -> None:
    """A value that the graph has read before is not the Parameter: there would be no gradient."""
    weight, other = Parameter(Tensor([0.5, 2.0]), name="weight"), Parameter(Tensor([3.0, 1.0]), name="other")

    def loss(x: Tensor) -> Tensor:
        return (weight * weight * other * x).sum()

    def before(x: Tensor) -> Tensor:
        return weight * other * x + grad(loss, None, weight)(x)

    def of_both(x: Tensor) -> Tensor:
        shown = (weight * other).sum()
        value, (by_x, (by_weight, by_other)) = value_and_grad(loss, 0, [weight, other])(x)
        return shown * value + by_x + by_weight * by_other

    def pulled(x: Tensor) -> Tensor:
        shown = weight * x
        _, pull = vjp(loss, x, weights=weight)
        return shown + pull(Tensor(1.0))[1]

    def in_a_branch(x: Tensor) -> Tensor:
        y = weight * x
        if y.sum() > 0:
            y = y + grad(loss, None, weight)(x)
        return y

    def nested(x: Tensor) -> Tensor:
        return grad(lambda z: (weight * grad(loss, None, weight)(z)).sum(), None, weight)(x)

    def steps(x: Tensor) -> Tensor:
        for _ in range(2):
            ops.assign_sub(weight, grad(loss, None, weight)(x) * 0.125)
            x = x * weight
        return x

    x = Tensor([1.0, 2.0])
    for program in (before, of_both, pulled, in_a_branch, nested, steps):
        found: list[list[float]] = []
        for way in (program, jit(program), grad(program), grad(jit(program)), jit(grad(program))):
            weight.set_data(Tensor([0.5, 2.0]))
            found += [way(x).tolist()]
        assert found[0] == found[1] and found[2] == found[3] == found[4], program
