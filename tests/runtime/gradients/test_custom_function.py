"""`_Function` used wrongly; tests/programs/custom_functions.py shows correct use, in every mode."""

from __future__ import annotations

import pytest

from adjoint import Tensor, _Function, grad, jit


def function(forward, backward=lambda ctx, gradient: gradient):
    """Return a class with these passes."""
    return type("Own", (_Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def squared(ctx, x):
    return x * x


@pytest.mark.parametrize(("backward", "text"), [
    (lambda ctx, gradient: [gradient], "Gradient should be none or tensor, position: 0 type: <class 'list'>"),
    (lambda ctx, gradient: 3.0, "Gradient should be none or tensor, position: 0 type: <class 'float'>"),
    (lambda ctx, gradient: (), "wrong number of gradients, expect: 1 but: 0"),
    (lambda ctx, gradient: Tensor([1.0, 2.0, 3.0]), "should be broadcast to expected shape"),
])
def test_what_backward_must_not_return(backward, text: str) -> None:
    own = function(squared, backward)
    with pytest.raises(RuntimeError, match=text):
        grad(lambda x: own.apply(x).sum())(Tensor([1.0, 2.0]))


def test_a_gradient_of_what_is_no_tensor() -> None:
    own = function(lambda ctx, x, n: x * n, lambda ctx, gradient: (gradient, gradient))
    with pytest.raises(RuntimeError, match="Input is not tensor, but gradient is not none, position: 1"):
        grad(lambda x: own.apply(x, 2))(Tensor(3.0))


def write(ctx, x):
    x.add_(1)
    return x


def leave_dirty(ctx, x):
    ctx.mark_dirty(x)
    return x * 2


@pytest.mark.parametrize("around", [lambda f: f, grad, jit], ids=["eager", "grad", "jit"])
@pytest.mark.parametrize(("forward", "kind", "text"), [
    (write, RuntimeError, "writes its argument 0 in place: mark it with 'ctx.mark_dirty'"),
    (leave_dirty, RuntimeError, "The dirty tensors must all be outputs of the forward function."),
    (lambda ctx, x: ctx.save_for_backward(3), RuntimeError, "only support None and tensor"),
    (lambda ctx, x: ctx.mark_dirty(3), RuntimeError, "should be a tensor, but get a int"),
    (lambda ctx, x: [x * 2], TypeError, "must return a Tensor, or a tuple of Tensors, but it returned one inside of list"),
])
def test_what_forward_must_not_do(around, forward, kind, text: str) -> None:
    own = function(forward)
    with pytest.raises(kind, match=text):
        around(lambda x: own.apply(x))(Tensor(2.0))


def test_tensors_whose_gradient_would_be_lost() -> None:
    own = function(lambda ctx, pair: pair[0] * pair[1])
    assert own.apply((Tensor(2.0), Tensor(3.0))).asnumpy() == 6
    with pytest.raises(TypeError, match="would take no gradient"):
        grad(lambda x: own.apply((x, x)))(Tensor(2.0))


def test_a_pass_that_is_missing() -> None:
    with pytest.raises(NotImplementedError, match="forward function should be customized"):
        _Function.apply(Tensor(1.0))
    own = type("Own", (_Function,), {"forward": staticmethod(squared)})
    with pytest.raises(NotImplementedError, match="backward function should be customized"):
        grad(own.apply)(Tensor(1.0))
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        own.apply(x=Tensor(1.0))


def test_backward_raises() -> None:
    def fail(ctx, gradient):
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        grad(function(squared, fail).apply)(Tensor(1.0))
    assert grad(lambda x: x * x)(Tensor(2.0)).asnumpy() == 4


def test_another_forward_makes_another_graph() -> None:
    own = function(squared)
    compiled = jit(lambda x: own.apply(x))
    assert compiled(Tensor(3.0)).asnumpy() == 9
    own.forward = staticmethod(lambda ctx, x: x + 1)
    assert compiled(Tensor(3.0)).asnumpy() == 4


def test_an_error_names_the_line_of_its_own_call() -> None:
    """Two calls in one function are two steps of the trie, also where they are given the same."""
    fails = False

    def backward(ctx, gradient):
        if fails:
            raise ValueError("mine")
        return gradient

    own = function(squared, backward)

    def either(x, first):
        if first:
            return own.apply(x)
        return own.apply(x)

    gradient = grad(either)
    gradient(Tensor(3.0), True), gradient(Tensor(3.0), False)
    fails = True
    lines: list[str] = []
    for first in (True, False):
        with pytest.raises(ValueError, match="mine") as raised:
            gradient(Tensor(3.0), first)
        lines.append(raised.value.__notes__[0].rpartition(":")[2])
    assert int(lines[1]) - int(lines[0]) == 1
