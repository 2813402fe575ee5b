"""One tensor under two names in a graph, where it is written: the result is eager mode's, or E215 names the function.

In a graph an argument, an argument once more, and the same tensor read from outside are three values: a write to one is none to the
others.  Eager mode and its gradients know one tensor.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import CompileError, Parameter, Tensor, nn, ops
from tests.outcomes import bits


def first_written(a: Any, b: Any, outside: Any) -> Any:
    a.mul_(2.0)
    return a * b + outside * 0


def second_written(a: Any, b: Any, outside: Any) -> Any:
    ops.assign_add(b, b)
    return a * b


def outside_written(a: Any, b: Any, outside: Any) -> Any:
    outside.mul_(2.0)
    return a * b * outside


def outside_read(a: Any, b: Any, outside: Any) -> Any:
    a[0] = 7.0
    return a * outside


def none_written(a: Any, b: Any, outside: Any) -> Any:
    return a * b * outside


BODIES = (first_written, second_written, outside_written, outside_read, none_written)


class Body(nn.Cell):
    def __init__(self, body: Any, outside: Any):
        super().__init__()
        self.body, self.held = body, [outside]

    def construct(self, a: Any, b: Any) -> Any:
        return self.body(a, b, self.held[0])


def function(body: Any, p: Any) -> Callable[..., Any]:
    return lambda a, b: body(a, b, p)


FORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "called": lambda made, p, q: made(p, q),
    "jitted": lambda made, p, q: ms.jit(made)(p, q),
    "gradient": lambda made, p, q: ms.value_and_grad(made, (0, 1))(p, q),
    "gradient by one": lambda made, p, q: ms.value_and_grad(made, 0)(p, q),
    "gradient of jitted": lambda made, p, q: ms.value_and_grad(ms.jit(made), (0, 1))(p, q),
    "jitted gradient": lambda made, p, q: ms.jit(lambda a, b: ms.value_and_grad(made, (0, 1))(a, b))(p, q),
    "jitted gradient of one": lambda made, p, q: ms.jit(lambda a: ms.value_and_grad(made, (0, 1))(a, a))(p),
    "within a gradient": lambda made, p, q: ms.value_and_grad(lambda a: ms.jit(made)(a, q).sum())(p),
    "second order": lambda made, p, q: ms.grad(lambda a: ms.grad(ms.jit(made))(a, q).sum())(p),
}
EAGER: dict[str, Callable[[Any, Any, Any], Any]] = {
    **FORMS,
    "jitted": FORMS["called"],
    "gradient of jitted": FORMS["gradient"],
    "jitted gradient": FORMS["gradient"],
    "jitted gradient of one": lambda made, p, q: ms.value_and_grad(made, (0, 1))(p, p),
    "within a gradient": lambda made, p, q: ms.value_and_grad(lambda a: made(a, q).sum())(p),
    "second order": lambda made, p, q: ms.grad(lambda a: ms.grad(made)(a, q).sum())(p),
}


def outcome(form: Callable[..., Any], kind: Any, make: Any, body: Any, same: bool) -> Any:
    p = kind(Tensor(np.array([2.0, 3.0], np.float32)))
    q = p if same else kind(Tensor(np.array([4.0, 5.0], np.float32)))
    found = form(make(body, p), p, q)

    def flat(x: Any) -> list[Any]:
        return [bits(x)] if isinstance(x, Tensor) else [part for item in x for part in flat(item)]

    return flat(found), bits(p), bits(q)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("graph", [False, True], ids=["pynative", "graph"])
def test_as_eager_or_refused(name: str, graph: bool) -> None:
    wrong: list[str] = []
    for kind, make, body, same in itertools.product((Tensor, Parameter), (function, Body), BODIES, (True, False)):
        if name == "second order" and body is outside_read:
            continue  # no second gradient flows
        ms.set_context(mode=ms.PYNATIVE_MODE)
        expected = outcome(EAGER[name], kind, make, body, same)
        ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)
        for _ in range(2):
            try:
                found = outcome(FORMS[name], kind, make, body, same)
            except CompileError as mistake:
                assert mistake.diagnostic.code in ("E215", "E202"), str(mistake)
                assert body is not none_written, str(mistake)
                continue
            if found != expected:
                wrong.append(f"{kind.__name__} {make.__name__} {body.__name__} {'one tensor' if same else 'two tensors'}")
    assert not wrong, "\n".join(wrong)
