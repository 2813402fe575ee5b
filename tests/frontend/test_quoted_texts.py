"""Errors that MindSpore's manuals and tests quote, for code that graphs reject here too: its exception type and message.

Recorded from MindSpore 2.10.0 in GRAPH_MODE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops

X = Tensor([1.0, 2.0])


@pytest.fixture(autouse=True)
def graph_mode() -> Iterator[None]:
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


class HookOnParameter(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")

    def construct(self, x: Tensor) -> Tensor:
        self.w.register_hook(lambda gradient: gradient * 2)
        return x * self.w


class Undefined(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x + a  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


class Divided(nn.Cell):
    def construct(self, x: Tensor, n: Any) -> Tensor:
        return x + 5 / n


class DividedToFloor(nn.Cell):
    def construct(self, x: Tensor, n: Any) -> Tensor:
        n //= n
        return x + n


class Remainder(nn.Cell):
    def construct(self, x: Tensor, n: Any) -> Tensor:
        return x + 5 % n


class Choice(nn.Cell):
    def __init__(self, **choice: Any) -> None:
        super().__init__()
        self.gradient = ops.GradOperation(**choice)

    def construct(self, x: Tensor) -> Any:
        return self.gradient(ops.sin)(x)


class OutputAlone(nn.Cell):
    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y

    def bprop(self, out: Tensor) -> Any:
        return out, out


class WithoutInputs(nn.Cell):
    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y

    def bprop(self, out: Tensor, dout: Tensor) -> Any:
        return dout, dout


ZERO = "The divisor could not be zero. But the divisor is zero now."
MODULO = "Cannot perform modulo operation on zero."
CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "hook on a Parameter": (lambda: HookOnParameter()(X), ValueError, "Register hook for Parameter inside graph is not supported."),
    "name": (lambda: Undefined()(X), NameError, "The name 'a' is not defined"),
    "get_all": (lambda: Choice(get_all=2)(X), TypeError, "For 'GradOperation', the 'get_all' should be bool, but got"),
    "get_by_list": (lambda: Choice(get_by_list=2)(X), TypeError, "For 'GradOperation', the 'get_by_list' should be bool, but got"),
    "sens_param": (lambda: Choice(sens_param="a")(X), TypeError, "For 'GradOperation', the 'sens_param' should be bool, but got"),
    "bprop of the output alone": (lambda: ms.grad(OutputAlone())(X, X), RuntimeError, "The function 'bprop' of Primitive or Cell requires "
                                  "at least 2 params 'out' and 'dout', but got only 1."),
    "bprop without inputs": (lambda: ms.grad(WithoutInputs())(X, X), TypeError, "The params of function 'bprop' of Primitive or Cell "
                             "requires the forward inputs as well as the 'out' and 'dout'"),
    **{f"{cell.__name__} by {n!r}": (lambda cell=cell, n=n: cell()(X, n), ValueError, text)
       for cell, text in ((Divided, ZERO), (DividedToFloor, ZERO), (Remainder, MODULO)) for n in (0, 0.0)},
    **{f"{cell.__name__} at run time": (lambda cell=cell: cell()(X, ms.mutable(0)), ValueError, text)
       for cell, text in ((Divided, ZERO), (DividedToFloor, ZERO), (Remainder, MODULO))},
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_quoted(name: str) -> None:
    call, kind, text = CASES[name]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
    if kind is not TypeError:  # of the user's line; the operation is made outside of the graph
        assert "test_quoted_texts.py" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_a_zero_divisor_is_still_pythons() -> None:
    with pytest.raises(ZeroDivisionError, match=r"^division by zero: The divisor"):
        Divided()(X, 0)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_a_bprop_with_too_few_parameters_is_a_type_error_in_every_mode(mode: int) -> None:
    ms.set_context(mode=mode)
    for cell, count in ((OutputAlone(), "only 1"), (WithoutInputs(), "4 here, but it takes 2")):
        with pytest.raises(TypeError, match=rf"{count}.*bprop of cell"):
            ms.grad(cell)(X, X)


def test_a_type_error_inside_of_bprop_is_its_own() -> None:
    class Wrong(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * 2

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Any:
            return dout + None

    with pytest.raises(TypeError) as caught:
        ms.grad(Wrong())(X)
    assert "requires" not in str(caught.value)


def test_what_works_is_not_refused() -> None:
    """MindSpore rejects these, or computes other values."""
    assert Divided()(X, Tensor(0.0)).tolist() == [float("inf")] * 2
