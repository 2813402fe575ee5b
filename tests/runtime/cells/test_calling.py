"""The protocol of a cell's call, on moves that only write down what they are given.

tests/hooks holds real cells to it, in every mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from adjoint.runtime.cells.calling import call


class Slots(NamedTuple):
    forward_pre: bool = True
    forward: bool = True
    backward_pre: bool = True


class Written:
    """Moves that write down their arguments; `construct` raises `error`, if there is one."""

    def __init__(self, error: BaseException | None = None):
        self.done: list[tuple[Any, ...]] = []
        self.error = error

    def forward_pre(self, cell: str, given: str) -> str:
        self.done.append(("forward_pre", cell, given))
        return f"pre({given})"

    def construct(self, cell: str, given: str) -> str:
        self.done.append(("construct", cell, given))
        if self.error is not None:
            raise self.error
        return "y"

    def failed(self, cell: str, given: str, raised: Exception) -> None:
        self.done.append(("failed", cell, given, raised))

    def forward(self, cell: str, given: str, output: str) -> str:
        self.done.append(("forward", cell, given, output))
        return f"forward({output})"

    def backward_pre(self, cell: str, output: str) -> str:
        self.done.append(("backward_pre", cell, output))
        return f"behind({output})"


def test_each_step_is_given_what_the_one_before_has_left() -> None:
    moves = Written()
    assert call(moves, "cell", Slots(), "x") == "behind(forward(y))"
    assert moves.done == [
        ("forward_pre", "cell", "x"), ("construct", "cell", "pre(x)"), ("forward", "cell", "pre(x)", "y"),
        ("backward_pre", "cell", "forward(y)"),
    ]


def test_a_slot_without_hooks_is_passed_over() -> None:
    moves = Written()
    assert call(moves, "cell", Slots(False, False, False), "x") == "y"
    assert moves.done == [("construct", "cell", "x")]


def test_slots_are_read_when_their_turn_comes() -> None:
    class Late:
        forward_pre = forward = backward_pre = False

    class Registers(Written):
        def construct(self, cell: str, given: str) -> str:
            Late.forward = True
            return super().construct(cell, given)

    assert call(Registers(), "cell", Late(), "x") == "forward(y)"


def test_a_construct_that_raises() -> None:
    error = ValueError("boom")
    moves = Written(error)
    with pytest.raises(ValueError, match="boom"):
        call(moves, "cell", Slots(), "x")
    assert moves.done == [("forward_pre", "cell", "x"), ("construct", "cell", "pre(x)"), ("failed", "cell", "pre(x)", error)]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_an_interrupt_runs_no_hooks(error: BaseException) -> None:
    moves = Written(error)
    with pytest.raises(type(error)):
        call(moves, "cell", Slots(), "x")
    assert [name for name, *_ in moves.done] == ["forward_pre", "construct"]
