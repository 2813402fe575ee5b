"""The comparison of made-up programs finds mistakes: each is planted in the product, and a small program then differs from eager mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from test_ops import needs_compiler

from adjoint.ir.ops.fused import FusedKernel
from adjoint.runtime.execution import bound_plan, tiers
from tests.made_up.forms import TIERS, Comparison, Differs, compile_fused, forget
from tests.made_up.program import HEAD
from tests.seams import SEAMS, plant

pytestmark = needs_compiler

CHAIN = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(numbers(1, 40), name="w")

    def construct(self, a, b):
        h = ops.tanh(a * self.w) - b
        g = ops.exp(h * 0.5) * ops.sin(b)
        return (h - g) * a, ops.softmax(h * g - a)
"""
"""Many values that are needed at the same time."""

HOOKED = """
class Inner(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(numbers(1, 40), name="w")

    def construct(self, x):
        return ops.tanh(x * self.w - 0.5) - x


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def construct(self, a, b):
        return self.inner(a * b) * ops.exp(b) - a
"""
"""A cell for hooks, with nodes to fuse before and after it."""

WATCHED = """
class Net(nn.Cell):
    def construct(self, a, b):
        h = ops.tanh(a * b)
        h.register_hook(gradient("h", 2))
        return h * a - b
"""
"""A hook on a value of parsed code."""

PRINTED = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(numbers(1, 40), name="w")

    def construct(self, a, b):
        print("w", self.w * 1)
        return a * self.w - b
"""
"""A print of a new tensor that is equal to a Parameter."""

RETURNED = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(numbers(1, 40), name="w")

    def construct(self, a, b):
        return a * self.w - b, self.w.reshape(4, 10)
"""
"""A result in the memory of a parameter."""

LOOP = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(numbers(1, 40), name="w")

    def construct(self, a, b):
        h, i = a, 0
        while i < 3 and h.sum() < 1000:
            h, i = h * a + ops.sin(h) * b, i + 1
        return h * a + h * self.w
"""
"""A value that a loop begins with, and that its rounds use by another name too."""

FAILS = """
class Net(nn.Cell):
    def construct(self, a, b):
        unused = ops.gather(a, (ops.abs(b).max() * 100).astype(adjoint.int32), 0)
        return a * b
"""

CALLS = """

def session(net, call):
    for seed in range(3):
        call(numbers(10 + seed, 40), numbers(20 + seed, 40))
"""

LATE = """

def session(net, call):
    call(numbers(10, 40), numbers(20, 40))
    handle = net.inner.register_backward_hook(backward("late", 0.5))
    call(numbers(11, 40), numbers(21, 40))
    net.inner.register_forward_hook(forward("later", 2.0))
    call(numbers(12, 40), numbers(22, 40))
    handle.remove()
    call(numbers(13, 40), numbers(23, 40))
"""

EARLY = """

def session(net, call):
    net.inner.register_backward_hook(backward("early", 0.5))
    for seed in range(3):
        call(numbers(10 + seed, 40), numbers(20 + seed, 40))
"""

MOMENTUM = """

def optimizer(net):
    return nn.Momentum(net.trainable_params(), 0.1, 0.9)
"""

Patch = pytest.MonkeyPatch


def wrong_fusion(patch: Patch) -> None:
    """A fused kernel computes the results of its nodes in another order."""

    def reversing(of: Callable[[Any], FusedKernel]) -> Callable[[Any], FusedKernel]:
        def reversed_results(region: Any) -> FusedKernel:
            made = of(region)
            return FusedKernel(made.operands, made.steps, made.results[::-1])

        return reversed_results

    plant(patch, "fused kernel", reversing)


def group_that_a_path_leaves(patch: Patch) -> None:
    """A group may reach over a node that uses what it computes and that it uses."""
    plant(patch, "levels of nodes", lambda levels: lambda self: [0] * len(self.nodes))


def freed_too_early(patch: Patch) -> None:
    """Bytes of an arena are given back while a value in them is needed."""

    def forgetting(take: Callable[..., int]) -> Callable[..., int]:
        def forgetful(self: Any, nbytes: int) -> int:
            self.give_back(0, self.nbytes)
            return take(self, nbytes)

        return forgetful

    plant(patch, "part of an arena", forgetting)


def memory_twice(patch: Patch) -> None:
    """Each run of a table is given the memory that an earlier one was given."""
    given: dict[int, Any] = {}

    def reusing(allocator: Callable[..., Any]) -> Callable[..., Any]:
        def reused(self: Any, nbytes: int) -> Any:
            allocate, size = allocator(self, nbytes)
            return lambda size: given.setdefault(nbytes, allocate(size)), size

        return reused

    plant(patch, "allocator", reusing)


def held_memory_in_place(patch: Patch) -> None:
    """A parameter is written in place though a result shares its memory."""
    plant(patch, "holders", lambda holders: lambda memory: 0)


def late_hooks_ignored(patch: Patch) -> None:
    """A graph does not look at which cells have hooks."""
    plant(patch, "guard on hooks", lambda read: lambda self: ())


def with_passes(patch: Patch, passes: str) -> None:
    """Graphs are optimised by other passes."""
    plant(patch, "passes of a graph", lambda attempts: (replace(attempts[0], passes=passes), *attempts[1:]))


def hooks_inlined(patch: Patch) -> None:
    """Cells are inlined before their gradient is taken, whatever hooks they have."""
    with_passes(patch, "inline{cells=true},differentiate,unhook,simplify,cse,dce{failing=true}")


def hooks_on_values_dropped(patch: Patch) -> None:
    """Hooks on values go before their gradient is taken."""
    with_passes(patch, "inline,unhook,differentiate,inline{cells=true},simplify,cse,dce{failing=true}")


def given_as_a_parameter(patch: Patch) -> None:
    """Python is given a Parameter in place of a new tensor that is equal to it."""
    plant(patch, "condition on arguments", lambda condition: condition._replace(holds=lambda flat, made: True))


def swapped_while_it_runs(patch: Patch) -> None:
    """A run goes on with the fused form's steps where it had come to in its own."""

    def swapping(use: Callable[..., None]) -> Callable[..., None]:
        def replacing(self: Any, name: str, form: Any) -> None:
            old = getattr(self, name)
            old = old._form if isinstance(old, tiers.FirstForm) else old
            if isinstance(old, bound_plan.Form) and isinstance(form, bound_plan.Form):
                old.block.steps[:] = form.block.steps
            use(self, name, form)

        return replacing

    plant(patch, "form of a plan", swapping)


def any_order_of_sums(patch: Patch) -> None:
    """The gradient of a loop is taken as a whole."""
    plant(patch, "condition on sums", lambda condition: condition._replace(holds=lambda flat: True))


def check_dropped(patch: Patch) -> None:
    """A check goes if nothing uses what it has checked."""
    plant(patch, "nodes that must stay", lambda must_stay: lambda node, module: False)
    with_passes(patch, "inline,differentiate,inline{cells=true},unhook,simplify,cse,dce")


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What was made of a planted mistake is used by no other test."""
    yield
    forget()


def differences(text: str) -> list[str]:
    """Return in which ways a program differs from eager mode; its fused kernels are compiled together."""
    comparison, found = Comparison(HEAD + "WRT = (0, 1)\nSTILL = True\n" + text), []
    for tier in TIERS:
        for way in comparison.ways(tier):
            try:
                comparison.check(way)
            except Differs as differs:
                found.append(str(differs))
        if tier == "tables":
            compile_fused(comparison.texts)
    return found


PLANTED: list[tuple[Callable[[Patch], None], str]] = [
    (wrong_fusion, CHAIN + CALLS), (group_that_a_path_leaves, CHAIN + CALLS), (freed_too_early, CHAIN + CALLS),
    (memory_twice, CHAIN + CALLS),
    (held_memory_in_place, RETURNED + CALLS + MOMENTUM), (late_hooks_ignored, HOOKED + LATE), (hooks_inlined, HOOKED + EARLY),
    (hooks_on_values_dropped, WATCHED + CALLS), (given_as_a_parameter, PRINTED + CALLS),
    (swapped_while_it_runs, HOOKED + EARLY), (any_order_of_sums, LOOP + CALLS), (check_dropped, FAILS + CALLS),
]


@pytest.mark.parametrize("text", dict.fromkeys(text for _, text in PLANTED))
def test_without_a_mistake_nothing_differs(text: str) -> None:
    assert not differences(text)


@pytest.mark.parametrize(("mistake", "text"), PLANTED, ids=[mistake.__name__ for mistake, _ in PLANTED])
def test_a_mistake_is_found(mistake: Callable[[Patch], None], text: str, monkeypatch: Patch) -> None:
    mistake(monkeypatch)
    found = differences(text)
    print(*found, sep="\n")
    assert found


def test_seams_are_public() -> None:
    assert [seam for seam, (_, name) in SEAMS.items() if name.startswith("_")] == []
