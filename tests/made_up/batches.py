"""Programs of one example, and the comparison of their batch with the loop over the examples.

A program is one of `control_flow`, whose Net may have a part with hooks of all kinds, and a hook on a gradient. It is asked for values,
for the gradients of each example, and for the gradient of a batch. The loop runs in eager mode. The batch gives the same bits, and calls
each hook with the same tensors in the same order. One example is also asked about in a graph: values, gradients, rows and columns of
a Jacobian and of a Hessian, which are taken in eager mode one after the other.  Without hooks on gradients, a Jacobian by its columns is
that by its rows but for rounding: two ways to the same numbers, where all modes could be wrong alike.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor, ops
from adjoint.runtime.tensor.structure import leaves
from tests.made_up import observing
from tests.made_up.choices import Choices
from tests.made_up.control_flow import VECTOR, Writer
from tests.made_up.program import HEAD, loaded
from tests.made_up.smaller import smaller_alike
from tests.outcomes import same

__all__ = ["QUESTIONS", "BatchTally", "checked", "written"]

NET = HEAD + '''
class Part(nn.Cell):
    def construct(self, x):
        return ops.tanh(x) * 1.5


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([0.5, -0.25, 1.5]), name="w")
        self.b = Parameter(Tensor(0.75), name="b")
        self.part = Part()
{hooks}
    def construct(self, x, y, n):
        x, y = x * 1, y * 1
'''

HOOKS = (
    ("register_forward_pre_hook", "forward_pre"), ("register_forward_hook", "forward"), ("register_backward_pre_hook", "backward_pre"),
    ("register_backward_hook", "backward"),
)


class OfOneExample(Writer):
    """Writes statements that also call the part with hooks, and hooks on gradients."""

    hooks = False
    kept = ()

    def vector(self, depth: int = 0) -> str:
        if depth and self.chance(12):
            return f"self.part({self.name(VECTOR) or 'x'})"
        if depth and self.hooks and self.chance(8):
            return f"self.seen({self.name(VECTOR) or 'x'})"
        return super().vector(depth)


def written(choices: Choices) -> str:
    """Return the text of a program."""
    writer = OfOneExample(choices)
    writer.hooks = choices.chance(50)
    hooks = []
    if writer.hooks:
        hooks.append(f'        self.seen = ops.HookBackward(gradient("seen", {choices.one_of(None, 2.0, "same")!r}))')
        for name, kind in choices.some(HOOKS, choices.between(0, 3)):
            hooks.append(f'        self.part.{name}({kind}("{kind}", {choices.one_of(None, None, "same", 0.5)!r}))')
    writer.block(2, 0, False)
    writer.line(2, f"return {writer.vector()}, {writer.scalar()}")
    return NET.format(hooks="".join(line + "\n" for line in hooks)) + "\n".join(writer.lines) + "\n"


# Questions ------------------------------------------------------------------------------------------------------------------


def operands() -> tuple[Tensor, Tensor, int]:
    """Return the examples: of x, of y, and n, which is the same for all."""
    x = np.array([[1.0, -2.0, 0.5], [-0.5, 0.75, 0.125], [0.25, 0.5, -1.0], [2.0, 1.0, 3.0]], np.float32)
    return Tensor(x), Tensor(np.array([0.25, -1.5, 2.0, -0.125], np.float32)), 2


def of_loop(net: Any, question: str) -> Any:
    x, y, n = operands()
    if question == "gradient of a batch":
        return leaves(adjoint.grad(lambda x, y: [_now(net(x[i], y[i], n)) for i in range(4)], (0, 1))(x, y), object)
    if question in IN_GRAPHS:
        return [IN_GRAPHS[question][0](_of_x(net), x[0])]
    if question == FORWARD_AND_REVERSE:
        return [adjoint.jacrev(_of_x(net))(x[0])]
    function = _asked(net, question)
    found = [_now(function(x[i], y[i], n)) for i in range(len(x))]
    return [_stacked(values) for values in zip(*found, strict=True)]


def of_batch(net: Any, question: str) -> Any:
    x, y, n = operands()
    if question == "gradient of a batch":
        return leaves(adjoint.grad(lambda x, y: adjoint.vmap(net, (0, 0, None))(x, y, n), (0, 1))(x, y), object)
    if question in IN_GRAPHS:
        return [adjoint.jit(lambda x: IN_GRAPHS[question][1](_of_x(net), x))(x[0])]
    if question == FORWARD_AND_REVERSE:
        return [adjoint.jacfwd(_of_x(net))(x[0])]
    return leaves(adjoint.vmap(_asked(net, question), (0, 0, None))(x, y, n), object)


def _of_x(net: Any) -> Callable[[Tensor], Tensor]:
    """Return the first result of the network, of the first example, as a function of x alone."""
    _, y, n = operands()
    return lambda x: net(x, y[0], n)[0]


def _each(derivative: Callable[..., Any], axis: int) -> Tensor:
    """Return the derivatives for each direction, one after the other, along an axis."""
    found = [derivative(direction) for direction in ops.eye(3, 3, adjoint.float32)]
    return ops.stack([x[0] if isinstance(x, tuple) else x for x in found], axis)


def _pulled(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return the sum of two gradients by one trace."""
    y, pull = adjoint.vjp(f, x)
    return leaves(pull(y), Tensor)[0] + leaves(pull(y * 0.5), Tensor)[0]


def _gradient(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return adjoint.grad(lambda x: f(x).sum())


IN_GRAPHS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "value in a graph": (lambda f, x: f(x), lambda f, x: f(x)),
    "gradient in a graph": (lambda f, x: _gradient(f)(x), lambda f, x: _gradient(f)(x)),
    "derivative in a graph": (lambda f, x: adjoint.jvp(f, x, x)[1], lambda f, x: adjoint.jvp(f, x, x)[1]),
    "pulled twice in a graph": (lambda f, x: _pulled(f, x),) * 2,
    "columns of a Jacobian": (
        lambda f, x: _each(adjoint.linearize(f, x)[1], 1), lambda f, x: adjoint.jacfwd(f)(x)),
    "rows of a Jacobian": (lambda f, x: _each(adjoint.vjp(f, x)[1], 0), lambda f, x: adjoint.jacrev(f)(x)),
    "rows of a Hessian": (lambda f, x: _each(adjoint.vjp(_gradient(f), x)[1], 0), lambda f, x: adjoint.jacrev(_gradient(f))(x)),
    "columns of a Hessian": (
        lambda f, x: _each(adjoint.linearize(_gradient(f), x)[1], 1), lambda f, x: adjoint.hessian(lambda x: f(x).sum())(x)),
}
"""Questions about the first result for the first example: what is asked in eager mode, and what in a graph."""


def _now(result: Any) -> list[Any]:
    """Return the values of a result; a Parameter in it has the value that it has before the next example."""
    return [value * 1 for value in leaves(result, object)]


def _asked(net: Any, question: str) -> Callable[..., Any]:
    return net if question == "value" else adjoint.value_and_grad(net, (0, 1), net.trainable_params())


def _stacked(values: Sequence[Any]) -> Tensor:
    return ops.stack([value if isinstance(value, Tensor) else Tensor(value) for value in values])


FORWARD_AND_REVERSE = "forward and reverse"
_HOOK_OF_VALUE = re.compile(r"^( *)\w+\.register_hook\(.*$", re.MULTILINE)
_HOOK = re.compile(r"""\b(gradient|backward|backward_pre)\(['"]""")
QUESTIONS = ("value", "gradients", "gradient of a batch", *IN_GRAPHS, FORWARD_AND_REVERSE)


# Comparing ------------------------------------------------------------------------------------------------------------------


@dataclass
class BatchTally:
    """What was compared; `failures` are reports for people."""

    programs: int = 0
    compared: Counter[str] = field(default_factory=Counter[str])
    failures: list[str] = field(default_factory=list)


def _played(make: Callable[[Any, str], Any], text: str, question: str) -> tuple[Any, dict[str, list[str]], Exception | None]:
    """Return the result, the calls of each hook, and what was raised."""
    adjoint.set_seed(7)
    observing.let_go()
    net, printed = loaded(text).Net(), io.StringIO()
    result, raised = None, None
    with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
        try:
            result = make(net, question)
        except Exception as error:  # programs may raise anything
            raised = error
    calls: dict[str, list[str]] = {}
    for line in printed.getvalue().splitlines():
        calls.setdefault(line.split()[0], []).append(line)
    return result, calls, raised


def difference(text: str, question: str) -> str | None:
    """Return what differs between the batch and the loop: "" if nothing does, None if the loop does not end well."""
    approximate = question == FORWARD_AND_REVERSE
    if approximate:
        text = _HOOK_OF_VALUE.sub(r"\1pass", text)  # a hook on gradients may change them, and tangents pass it by
        if _HOOK.search(text):
            return None
    expected, calls, raised = _played(of_loop, text, question)
    if raised is not None:
        return None
    found, batch_calls, batch_raised = _played(of_batch, text, question)
    if isinstance(batch_raised, adjoint.CompileError) and "E148" in str(batch_raised):  # a parameter would get a value of each example
        return None
    if question in IN_GRAPHS and isinstance(batch_raised, adjoint.CompileError) and "error[E2" in str(batch_raised):  # no graph by itself
        return None
    if batch_raised is not None:
        return f"raised {type(batch_raised).__name__}: {batch_raised}"
    try:
        assert len(found) == len(expected), f"{len(found)} results, not {len(expected)}"
        for at, (one, other) in enumerate(zip(expected, found, strict=True)):
            if question == "gradient of a batch":  # the zeros of other examples are added, which the sign of a zero shows
                one, other = one + 0.0, other + 0.0
            if approximate:
                largest = np.max(np.abs(one.asnumpy()), initial=1.0, where=np.isfinite(one.asnumpy()))
                np.testing.assert_allclose(other.asnumpy(), one.asnumpy(), rtol=1e-4, atol=1e-5 * largest, err_msg=f"result {at}")
            else:
                same(one, other, f"result {at}")
        for name in () if approximate else {**calls, **batch_calls}:
            there, here = batch_calls.get(name, []), calls.get(name, [])
            if question == "gradient of a batch":  # the backward pass may take the last example first
                there, here = sorted(there), sorted(here)
            assert there == here, f"hook {name}: called\n{there}\nnot\n{here}"
    except AssertionError as differs:
        return str(differs)
    return ""


def checked(seeds: Sequence[int], *, seconds: float = 20.0) -> BatchTally:
    """Compare the batches of the programs of these seeds with the loop; `seconds` are for making one failing program smaller."""
    tally = BatchTally(len(seeds))
    for seed in seeds:
        text = written(Choices("batch", seed))
        for question in QUESTIONS:
            said = difference(text, question)
            tally.compared[question] += said == ""
            if said:
                small = smaller_alike(text, said, lambda text, question=question: difference(text, question), seconds)
                tally.failures.append(f"seed {seed}, {question}: {said}\n\n{small}\nthere: {difference(small, question)}")
                break
    return tally
