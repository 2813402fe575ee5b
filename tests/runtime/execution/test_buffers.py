"""Buffers in arenas: values that are needed at the same time share no bytes, and nobody outside of a piece sees an arena."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import numpy as np
import pytest
from programs import PROGRAMS

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.ir.parse import parse_module
from adjoint.ir.plan import Plan, Straight
from adjoint.ir.types import TensorType
from adjoint.runtime.execution import buffers
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.memory.machine import ffi
from adjoint.runtime.memory.watching import Observation, observed
from tests.outcomes import compiled
from tests.runtime.graphs_by_hand import T, function, made, same
from tests.seams import plant

CHAIN = "func @f(x: f32[40]) -> f32[40] {{\n{}\n return v{}\n}}".format(
    "\n".join(f" v{i}: f32[40] = sin({f'v{i - 1}' if i else 'x'})" for i in range(9)), 8)
SIZES = """
func @f(x: f32[40], y: f32[3]) -> f32 {
  a: f32[40] = sin(x)
  b: f32[40] = cos(x)
  s: f32 = sum(b, axes=[0])
  c: f32[40] = mul(a, s)
  d: f32[3] = mul(y, s)
  e: f32[3] = sin(d)
  g: f32[40] = add(c, x)
  h: f32 = sum(g, axes=[0])
  i: f32 = sum(e, axes=[0])
  j: f32 = add(h, i)
  k: f32 = neg(j)
  return k
}
"""
RENAMED = """
func @f(x: f32[40]) -> f32[8, 5] {
  a: f32[40] = sin(x)
  r: f32[8, 5] = reshape(a, to=f32[8, 5])
  b: f32[40] = cos(a)
  c: f32[40] = tan(b)
  d: f32[8, 5] = reshape(c, to=f32[8, 5])
  e: f32[8, 5] = mul(r, d)
  g: f32[8, 5] = neg(e)
  return g
}
"""


def plan(text: str) -> Plan:
    return planned(parse_module(text).functions["f"], identities=True)


def size(plan_: Plan, slot: int) -> int:
    type_ = plan_.slots[slot].type
    assert isinstance(type_, TensorType)
    return type_.nbytes


def check_apart(plan_: Plan) -> None:
    """Run the launches on numbers in place of values: a launch finds in its operands' bytes what was last written for them."""
    for piece in plan_.body.pieces:
        assert isinstance(piece, Straight)
        content: dict[int, int] = {}
        written: dict[int, int] = {}
        for number, launch in enumerate(piece.launches):
            for slot in launch.operands:
                offset = plan_.slots[slot].offset
                if offset is not None:
                    assert {content[i] for i in range(offset, offset + size(plan_, slot))} == {written[slot]}, launch.node
            for slot in launch.results:
                offset = plan_.slots[slot].offset
                if offset is None:
                    continue
                if buffers.continues(launch):
                    written[slot] = written[launch.operands[0]]
                    continue
                assert offset + size(plan_, slot) <= piece.arena and offset % buffers.ALIGNMENT == 0
                content.update(dict.fromkeys(range(offset, offset + size(plan_, slot)), number))
                written[slot] = number


@pytest.mark.parametrize("text", [CHAIN, SIZES, RENAMED])
def test_values_needed_at_the_same_time_share_no_bytes(text: str) -> None:
    check_apart(plan(text))


def test_a_buffer_that_is_freed_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above can fail."""

    def forgetting(take: Callable[..., int]) -> Callable[..., int]:
        def forgetful(self: buffers.Arena, nbytes: int) -> int:
            self.give_back(0, buffers.aligned(1))
            return take(self, nbytes)

        return forgetful

    plant(monkeypatch, "part of an arena", forgetting)
    with pytest.raises(AssertionError):
        check_apart(plan(SIZES))


def test_bytes_are_used_again() -> None:
    """A chain of any length needs two buffers: one is read and the other written."""
    (piece,) = plan(CHAIN).body.pieces
    assert isinstance(piece, Straight) and piece.arena == 2 * buffers.aligned(160)


def test_what_is_used_outside_is_in_no_arena() -> None:
    text = """
host @seen = ""
func @f(x: f32[40], c: bool) -> (f32[40], f32[40]) {
  a: f32[40] = sin(x)
  r: f32[8, 5] = reshape(a, to=f32[8, 5])
  b: f32[40] = cos(a)
  d: f32[40] = tan(b)
  e: f32[40] = if c {
    n: f32[40] = reshape(r, to=f32[40])
    m: f32[40] = neg(b)
    apply! @seen()
    yield n
  } else {
    yield x
  }
  return d, e
}
"""
    slots = {slot.name: slot.offset for slot in plan(text).slots}
    # `a` is used outside under the name of its alias, `b` in a region, `d` as a result; what `m` computes is used nowhere.
    assert {name for name, offset in slots.items() if offset is not None} == {"m"}


def test_a_piece_ends_where_a_large_value_from_outside_is_freed() -> None:
    """The memory of an argument that nobody else holds is free for the buffers after its last use."""
    count = buffers._SPLIT // 4
    text = f"func @f(x: f32[{count}]) -> f32[] {{\n a: f32 = sum(x, axes=[0])\n b: f32 = sin(a)\n c: f32 = cos(b)\n return c\n}}"
    first, second = plan(text).body.pieces
    assert isinstance(first, Straight) and isinstance(second, Straight)
    assert [len(piece.launches) for piece in (first, second)] == [1, 2]


def test_results_and_what_hooks_are_given_stay_as_they_are() -> None:
    """A later run of the same function writes to none of the tensors of an earlier one."""
    kept: list[tuple[Tensor, bytes]] = []

    def keep(*tensors: Tensor) -> None:
        kept.extend((x, x.asnumpy().tobytes()) for x in tensors)

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Dense(4, 4)
            self.inner.register_forward_hook(lambda cell, args, output: keep(*args, output))
            self.inner.register_backward_hook(lambda cell, grad_input, grad_output: keep(*grad_input, *grad_output))

        def construct(self, x: Tensor) -> Tensor:
            y = ops.tanh(self.inner(ops.sin(x) * 2.0)) * x
            y.register_hook(keep)
            return (y * y + x).sum()

    net = Net()
    for step in (ms.value_and_grad(net, 0, net.trainable_params()), ms.jit(ms.value_and_grad(net, 0, net.trainable_params()))):
        for turn in range(3):
            loss, (by_x, by_weights) = step(Tensor(np.full((2, 4), 0.1 * turn, np.float32)))
            keep(loss, by_x, *by_weights)
    assert len(kept) >= 2 * 3 * 8
    for x, bytes_ in kept:
        assert x.asnumpy().tobytes() == bytes_


def test_a_launch_without_a_kernel_runs_beside_those_that_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op that cannot be compiled here is computed by its reference, with the others of its piece as before."""
    from adjoint.runtime.execution import tables

    text = "func @f(x: f32[3]) -> f32[3] {\n a: f32[3] = mul(x, 2.0_f32)\n b: f32[3] = tanh(a)\n c: f32[3] = neg(b)\n return c\n}"
    expected = function(made(text))(T(1, 2, 3))
    original = tables.plan_for

    class Without:
        stages = None

    monkeypatch.setattr(tables, "plan_for", lambda op, types: Without if op.name == "tanh" else original(op, types))
    same(function(made(text))(T(1, 2, 3)), expected)


def test_kernels_get_results_apart_from_their_operands() -> None:
    """The C of kernels says `restrict` of all pointers but those that an op computes in place; so nothing else may overlap."""
    wrong: list[str] = []

    def look(launched: Observation) -> None:
        types = [*launched.operand_types, *launched.result_types]
        spans = [(int(ffi.cast("uintptr_t", ffi.cast("char *", launched.buffers[i]))), t.nbytes) for i, t in enumerate(types)]
        count = len(launched.operand_types)
        in_place = getattr(launched.op, "in_place", {})
        for i, (begin, size) in enumerate(spans[count:]):
            for j, (other, length) in enumerate(spans[: count + i]):
                allowed = j < count and in_place.get(i) == j and begin == other
                if begin < other + length and other < begin + size and launched.op is not None and not allowed:
                    wrong.append(f"{launched.op.name}: result {i} and {'operand' if j < count else 'result'} {j % count}")
        launches.append(launched.op)

    launches: list[object] = []
    with observed(look), contextlib.redirect_stdout(io.StringIO()):
        for program in [*PROGRAMS.values()][::150]:
            if program.raises is None and program.refused is None:
                call = compiled(program.make())
                arguments, keywords = program.arguments()
                call(*arguments, **keywords)
                if program.wrt is not None:
                    ms.grad(call, program.wrt)(*arguments, **keywords)
    assert wrong == [] and len(launches) > 30
