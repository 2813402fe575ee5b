"""`HookBackward` and `InsertGradientOf`: identities that show gradients to Python.  More is in tests/hooks."""

from __future__ import annotations

from typing import Any

import pytest

from adjoint import Tensor, ops

X, Y = Tensor([2.0]), Tensor([3.0])


def gradients(function: Any, *arguments: Tensor) -> list[Any]:
    return [g.tolist() for g in ops.GradOperation(get_all=True)(function)(*arguments)]


def test_outside_of_a_gradient_they_give_the_numbers_that_they_are_given() -> None:
    seen: list[Any] = []
    hook = ops.HookBackward(seen.append)
    assert hook(X) is not X and hook(X).tolist() == [2.0]
    assert [y.tolist() for y in hook(X, Y)] == [[2.0], [3.0]]
    assert ops.InsertGradientOf(seen.append)(X).tolist() == [2.0]
    assert not seen


def test_a_hook_sees_a_tuple_and_may_replace_the_gradient() -> None:
    seen: list[Any] = []

    def hook_fn(gradient: tuple[Tensor, ...]) -> Tensor:
        seen.append([g.tolist() for g in gradient])
        return gradient[0] * 10

    hook = ops.HookBackward(hook_fn)
    assert gradients(lambda x, y: hook(x * y) * y, X, Y) == [[90.0], [66.0]]
    assert seen == [[[3.0]]]


def test_several_inputs_share_a_call_and_the_unused_have_zeros() -> None:
    seen: list[Any] = []

    def hook_fn(gradient: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        seen.append([g.tolist() for g in gradient])
        return gradient[0] * 2, gradient[1] + 5

    hook = ops.HookBackward(hook_fn)

    def function(x: Tensor, y: Tensor) -> Tensor:
        a, _ = hook(x, y)
        return a * 3

    assert gradients(function, X, Y) == [[6.0], [5.0]]
    assert seen == [[[3.0], [0.0]]]


def test_none_leaves_the_gradient_as_it_is() -> None:
    assert gradients(lambda x: ops.HookBackward(lambda g: None)(x) * x, X) == [[4.0]]
    assert gradients(lambda x: ops.InsertGradientOf(lambda g: None)(x) * x, X) == [[4.0]]


def test_the_gradient_that_is_inserted_is_a_bare_tensor() -> None:
    def clip(gradient: Tensor) -> Tensor:
        return ops.clip_by_value(gradient, -1.0, 1.0)

    assert gradients(lambda x: ops.InsertGradientOf(clip)(x) * 7, X) == [[1.0]]


def test_a_hook_runs_once_a_use_the_last_use_first_and_not_without_a_gradient() -> None:
    seen: list[float] = []
    hook = ops.HookBackward(lambda g: seen.append(g[0].item()))
    assert gradients(lambda x: hook(hook(x) * 2) * 3, X) == [[6.0]]
    assert seen == [3.0, 6.0]
    seen.clear()
    gradients(lambda x: x * 2 + hook(Tensor([1.0])), X)
    gradients(lambda x: x * 2 + ops.stop_gradient(hook(x)), X)
    assert not seen


@pytest.mark.parametrize("make", [ops.HookBackward, ops.InsertGradientOf])
def test_what_cannot_be_called_is_no_hook(make: Any) -> None:
    with pytest.raises(TypeError, match="Expected a callable hook function, but got int"):
        make(3)


def test_inputs_must_be_tensors() -> None:
    hook = ops.HookBackward(print)
    for inputs, said in ((("text",), "'text'"), ((3,), "3"), (((X, Y),), "tuple"), ((X, None), "None"), ((), "at least one")):
        with pytest.raises(TypeError, match=f"HookBackward.*{said}"):
            hook(*inputs)
    with pytest.raises(TypeError, match=r"InsertGradientOf.*2\.0"):
        ops.InsertGradientOf(print)(2.0)


def test_a_wrong_return_value_names_the_hook() -> None:
    def shrink(gradient: Any) -> Any:
        return (gradient[0], gradient[0])

    with pytest.raises(TypeError, match=r"shrink should be a tensor but got tuple.*hook shrink at .*HookBackward"):
        gradients(lambda x: ops.HookBackward(shrink)(x) * 2, X)
    with pytest.raises(ValueError, match="not consistent with the expected"):
        gradients(lambda x: ops.InsertGradientOf(lambda g: Tensor([1.0, 2.0]))(x) * 2, X)


def test_a_cell_id_is_kept() -> None:
    with pytest.warns(UserWarning, match="cell_id"):
        hook = ops.HookBackward(print, "conv1")
    assert hook.cell_id == "conv1"
    assert repr(hook) == "Prim[HookBackward]<cell_id=conv1>"
    assert repr(ops.HookBackward(print)) == "Prim[HookBackward]<cell_id=>"


def test_primitives_are_equal_by_their_attributes() -> None:
    assert ops.Conv2D(4, 3) == ops.Conv2D(4, 3) != ops.Conv2D(4, 3, stride=2)
    assert ops.Add() == ops.Add() != ops.Sub()
    assert len({ops.ReduceSum(True), ops.ReduceSum(True), ops.ReduceSum()}) == 2
    labelled = ops.Add().add_prim_attr("primitive_target", "CPU")
    assert (labelled.primitive_target, repr(labelled)) == ("CPU", "Prim[Add]<primitive_target=CPU>")
    assert labelled.name == "Add"
    with pytest.raises(AttributeError, match="'Add' has no attribute 'wrong'"):
        labelled.wrong  # noqa: B018 - asking is the test
    with pytest.raises(NotImplementedError, match="'Mine'"):
        ops.Primitive("Mine")(X)


def test_every_operator_says_what_it_does() -> None:
    for name in ops.__all__:
        assert getattr(ops, name).__doc__, name


def test_an_operator_of_ones_own() -> None:
    class Scale(ops.Primitive):
        """Multiplies by a factor."""

        @ops.prim_attr_register
        def __init__(self, factor: float, offset: float = 0.0):
            self.double = 2 * factor

        def __call__(self, x: Tensor) -> Tensor:
            return x * self.factor + self.offset

    scale = Scale(3.0)
    assert repr(scale) == "Prim[Scale]<factor=3.0, offset=0.0>"
    assert scale.double == 6
    assert gradients(scale, X) == [[3.0]]
    assert ops.constexpr(max) is max
    assert ops.constexpr(get_instance=False)(max) is max
