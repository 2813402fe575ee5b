"""The protocol of a cell's call, on moves that only write down what they are given.

tests/hooks holds real cells to it, in every mode.
"""

from __future__ import annotations

from typing import Any

import pytest

from adjoint.runtime.cells.calling import call
from adjoint.runtime.graphs.graph import with_nodes
from adjoint.runtime.hooks.firing import AFTER_CONSTRUCT, BEFORE_CONSTRUCT, ForwardKind, GradientKind
from adjoint.runtime.hooks.handles import CellHooks, Slots, register

FILLED = Slots(*(True for _ in Slots._fields))


class Written:
    """Moves that write down their arguments; `construct` raises `error`, if there is one."""

    def __init__(self, error: BaseException | None = None):
        self.done: list[tuple[Any, ...]] = []
        self.error = error

    def before(self, kind: ForwardKind, cell: str, given: str) -> str:
        self.done.append((kind.slot, cell, given))
        return f"{kind.slot}({given})"

    def construct(self, cell: str, given: str) -> str:
        self.done.append(("construct", cell, given))
        if self.error is not None:
            raise self.error
        return "y"

    def failed(self, cell: str, given: str, raised: Exception) -> None:
        self.done.append(("failed", cell, given, raised))

    def after(self, kind: ForwardKind, cell: str, given: str, output: str) -> str:
        self.done.append((kind.slot, cell, given, output))
        return f"{kind.slot}({output})"

    def gradients(self, kind: GradientKind, cell: str, output: str) -> str:
        self.done.append((kind.slot, cell, output))
        return f"{kind.slot}({output})"


def test_each_step_is_given_what_the_one_before_has_left() -> None:
    moves = Written()
    assert call(moves, "cell", FILLED, "x") == "backward_pre(forward(y))"
    assert moves.done == [
        ("forward_pre", "cell", "x"), ("construct", "cell", "forward_pre(x)"), ("forward", "cell", "forward_pre(x)", "y"),
        ("backward_pre", "cell", "forward(y)"),
    ]


def test_turns_are_those_that_graphs_are_made_for() -> None:
    """The order of `call`, of the slots and of the tables of kinds is one."""
    moves = Written()
    call(moves, "cell", FILLED, "x")
    before, after = [kind.slot for kind in BEFORE_CONSTRUCT], [kind.slot for kind in AFTER_CONSTRUCT]
    assert [name for name, *_ in moves.done] == [*before, "construct", *after]
    assert Slots._fields == (*before, *after, "backward")


def test_in_a_graph_gradients_further_out_get_nodes() -> None:
    """A forward hook may register a backward pre hook that takes part in the same call."""
    assert with_nodes(Slots(forward=True)) == Slots(forward=True, backward_pre=True)
    for alone in (Slots(forward_pre=True), Slots(backward_pre=True), Slots(backward=True), Slots()):
        assert with_nodes(alone) == alone


def test_a_slot_without_hooks_is_passed_over() -> None:
    moves = Written()
    assert call(moves, "cell", Slots(), "x") == "y"
    assert moves.done == [("construct", "cell", "x")]


def test_slots_are_read_when_their_turn_comes() -> None:
    hooks = CellHooks()

    class Registers(Written):
        def construct(self, cell: str, given: str) -> str:
            register(hooks.forward, print)
            return super().construct(cell, given)

    assert call(Registers(), "cell", hooks, "x") == "forward(y)"


def test_a_construct_that_raises() -> None:
    error = ValueError("boom")
    moves = Written(error)
    with pytest.raises(ValueError, match="boom"):
        call(moves, "cell", FILLED, "x")
    given = "forward_pre(x)"
    assert moves.done == [("forward_pre", "cell", "x"), ("construct", "cell", given), ("failed", "cell", given, error)]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_an_interrupt_runs_no_hooks(error: BaseException) -> None:
    moves = Written(error)
    with pytest.raises(type(error)):
        call(moves, "cell", FILLED, "x")
    assert [name for name, *_ in moves.done] == ["forward_pre", "construct"]
