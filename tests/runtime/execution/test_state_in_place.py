"""State in straight pieces: read before the launches, written after them, in place where nobody else holds the memory."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, context, nn, ops
from adjoint.ir.core import tensor_type
from adjoint.ir.parse import parse_module
from adjoint.ir.plan import Launch, Plan, Straight
from adjoint.passes.fuse import fused
from adjoint.runtime.execution import in_place, tables
from adjoint.runtime.execution.batches import ByteRange, batches
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.stages import Jump, Stage
from adjoint.runtime.memory.machine import machine
from tests.runtime.graphs_by_hand import T, function, made, same

STEP = """
param @w: f32[3]
param @m: f32[3]
func @f(g: f32[3]) -> f32[3] {
  w: f32[3] = read @w
  m: f32[3] = read @m
  p: f32[3], q: f32[3] = momentum_update(w, m, g, 0.5_f32, 0.5_f32, 0.0_f32, 1.0_f32)
  write! @w(p)
  write! @m(q)
  return g
}
"""
"""With g = (1, 2, 3) and m = 0 the first step takes g / 2 off w, the second 3 g / 4."""


def piece_of(text: str) -> tuple[Plan, Straight]:
    plan = planned(parse_module(text).functions["f"], identities=True, accesses=True)
    (piece,) = plan.body.pieces
    assert isinstance(piece, Straight)
    return plan, piece


def names(plan: Plan, slots: Any) -> set[str]:
    return {plan.slots[slot].name for slot in slots}


def writes(text: str) -> tuple[set[str], set[str]]:
    """The results that become the memory of state, and those of them that may be computed in place."""
    plan, piece = piece_of(text)
    found = in_place.writes_of(piece, plan.slots, {i for i, slot in enumerate(plan.slots) if slot.shown})
    return names(plan, found.handed), names(plan, found.in_place)


def test_reads_launches_and_writes_are_one_piece() -> None:
    plan, piece = piece_of(STEP)
    assert [entry.node.op.name for entry in piece.entries] == ["read", "read", "momentum_update", "write!", "write!"]
    assert not any(slot.shown for slot in plan.slots if slot.state)


def test_what_is_computed_in_place() -> None:
    assert writes(STEP) == ({"p", "q"}, {"p", "q"})


@pytest.mark.parametrize(("was", "becomes", "expected"), [
    ("return g", "d: f32[3] = sub(p, w)\n return d", ({"p", "q"}, {"q"})),  # the old value is used after the step
    ("return g", "r: f32[3, 1] = reshape(w, to=f32[3, 1])\n d: f32[3, 1] = neg(r)\n return g", ({"p", "q"}, {"q"})),  # under an alias
    ("return g", "return p", ({"q"}, {"q"})),  # the new value is returned
    ("return g", "write! @m(w)\n return g", ({"p", "q"}, {"q"})),  # the old value becomes that of another state
    ("write! @m(q)", "write! @m(p)", ({"p"}, {"p"})),  # one result is written twice
    ("m, g,", "m, w,", ({"p", "q"}, {"q"})),  # the step reads the same memory as another operand
    ("write! @w(p)", "write! @w(g)\n write! @w(p)", ({"p", "q"}, {"q"})),  # the state has another value in between
    ("write! @w(p)", "e: f32 = gather(p, 0_i64, axis=0)\n write! @w(p)", ({"p", "q"}, set())),  # what may fail stands before the write
    ("write! @w(p)", "a: f32[3] = for i in range(0, 3, 1) carry (b: f32[3] = g) {\n c: f32[3] = sin(b)\n yield c\n }\n write! @w(p)",
     ({"p", "q"}, set())),  # what may be interrupted does
])
def test_what_is_not_computed_in_place(was: str, becomes: str, expected: tuple[set[str], set[str]]) -> None:
    assert was in STEP
    assert writes(STEP.replace(was, becomes)) == expected


def test_a_fused_step_is_computed_in_place() -> None:
    """Its kernel also reads what it writes over."""
    text = STEP.replace("p: f32[3], q: f32[3] = momentum_update(w, m, g,", """h: f32[3] = add(g, w)
  p: f32[3], q: f32[3] = momentum_update(w, m, h,""")
    function = fused(parse_module(text).functions["f"])
    plan = planned(function, identities=True, accesses=True)
    (piece,) = plan.body.pieces
    assert isinstance(piece, Straight)
    assert [entry.node.op.name for entry in piece.entries] == ["read", "read", "fused", "write!", "write!"]
    found = in_place.writes_of(piece, plan.slots, set())
    assert names(plan, found.in_place) == {"p", "q"}
    assert {plan.slots[result].name: plan.slots[before].name for result, before in found.in_place.items()} == {"p": "w", "q": "m"}


def test_steps_one_after_the_other_share_memory() -> None:
    """The second step is computed where the first one was, which nothing else needs."""
    second = ("write! @m(q)\n w2: f32[3] = read @w\n m2: f32[3] = read @m\n"
              " p2: f32[3], q2: f32[3] = momentum_update(w2, m2, g, 0.5_f32, 0.5_f32, 0.0_f32, 1.0_f32)\n write! @w(p2)\n write! @m(q2)")
    text = STEP.replace("write! @m(q)", second)
    assert writes(text)[1] == {"p", "q", "p2", "q2"}
    state = {"w": T(10, 20, 30), "m": T(0, 0, 0)}
    before = state["w"].memory
    function(made(text, state))(T(1, 2, 3))
    assert state["w"].asnumpy().tolist() == [8.75, 17.5, 26.25] and state["m"].asnumpy().tolist() == [1.5, 3, 4.5]
    assert state["w"].memory is not before  # `before` holds it


# -- memory that others hold -------------------------------------------------------------------------------------------------
def stepped(state: dict[str, Tensor]) -> bool:
    """Take two steps; return whether w kept its memory."""
    f = function(made(STEP, state))
    address = id(state["w"].memory)
    for expected in ([9.5, 19, 28.5], [8.75, 17.5, 26.25]):
        f(T(1, 2, 3))
        assert state["w"].asnumpy().tolist() == expected
    return id(state["w"].memory) == address


def test_memory_of_one_owner_is_written_in_place() -> None:
    assert stepped({"w": T(10, 20, 30), "m": T(0, 0, 0)})


@pytest.mark.parametrize("way", ["reshape", "Parameter", "asnumpy", "dlpack", "memory"])
def test_others_keep_the_old_values(way: str) -> None:
    w = T(10, 20, 30)
    held: Any = {"reshape": lambda: w.reshape(3, 1), "Parameter": lambda: Parameter(w), "asnumpy": w.asnumpy,
                 "dlpack": lambda: np.from_dlpack(w), "memory": lambda: w.memory}[way]()
    assert not stepped({"w": w, "m": T(0, 0, 0)})
    if way != "memory":
        assert np.asarray(held).reshape(-1).tolist() == [10, 20, 30]


def test_a_tensor_under_two_symbols() -> None:
    """Both writes are made, in order: the last one stays."""
    w = T(10, 20, 30)
    function(made(STEP, {"w": w, "m": w}))(T(1, 2, 3))
    assert w.asnumpy().tolist() == [6, 12, 18]  # 0.5 * w + g, which is what @m is given


def test_two_tensors_of_one_memory() -> None:
    w = T(2, 4, 6)
    state = {"w": w, "m": w.reshape(3)}
    assert state["m"].memory is w.memory
    function(made(STEP, state))(T(1, 2, 3))
    assert w.asnumpy().tolist() == [1, 2, 3] and state["m"].asnumpy().tolist() == [2, 4, 6]


def test_over_an_array() -> None:
    """A graph that writes gives the tensor memory of its own: the array keeps its numbers."""
    array = np.array([10, 20, 30], np.float32)
    w = Tensor.from_numpy(array)
    function(made(STEP, {"w": w, "m": T(0, 0, 0)}))(T(1, 2, 3))
    assert array.tolist() == [10, 20, 30] and w.asnumpy().tolist() == [9.5, 19, 28.5]


def test_the_gradient_is_the_parameter_itself() -> None:
    w = T(2, 4, 6)
    given = w.reshape(3)
    function(made(STEP, {"w": w, "m": T(0, 0, 0)}))(given)
    assert w.asnumpy().tolist() == [1, 2, 3] and given.asnumpy().tolist() == [2, 4, 6]


@pytest.mark.usefixtures("without_fusion")
def test_a_value_read_before_a_host_call() -> None:
    """What an earlier piece has read, and nothing needs any more, keeps no step from being in place; what is needed or held does."""
    text = """
param @w: f32[3]
param @m: f32[3]
host @seen = ""
func @f(g: f32[3]) -> f32[3] {{
  old: f32[3] = read @w
  a: f32[3] = neg(old)
  apply! @seen(a)
  b: f32[3] = mul(old, 2.0_f32)
  w: f32[3] = read @w
  m: f32[3] = read @m
  p: f32[3], q: f32[3] = momentum_update(w, m, g, 0.5_f32, 0.5_f32, 0.0_f32, 1.0_f32)
  write! @w(p)
  write! @m(q)
  c: f32[3] = {}
  return c
}}
"""
    for last, expected, held, kept in (
        ("neg(b)", [-20, -40, -60], False, True), ("neg(b)", [-20, -40, -60], True, False), ("add(b, old)", [30, 60, 90], False, False),
    ):
        w = T(10, 20, 30)
        memory = w.memory if held else None
        address = id(w.memory)
        f: Any = function(made(text.format(last), {"w": w, "m": T(0, 0, 0)}, {"seen": lambda x: None}))
        assert f(T(1, 2, 3)).asnumpy().tolist() == expected and w.asnumpy().tolist() == [9.5, 19, 28.5]
        assert (id(w.memory) == address) is kept
        del memory


def test_a_value_that_is_needed_after_a_host_call() -> None:
    """By another piece than that with the step."""
    text = STEP.replace("func", 'host @seen = ""\nfunc').replace("return g", "apply! @seen(g)\n d: f32[3] = neg(w)\n return d")
    w = T(10, 20, 30)
    f: Any = function(made(text, {"w": w, "m": T(0, 0, 0)}, {"seen": lambda x: None}))
    assert f(T(1, 2, 3)).asnumpy().tolist() == [-10, -20, -30] and w.asnumpy().tolist() == [9.5, 19, 28.5]


def test_a_write_in_place_of_memory_that_is_held_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail."""
    monkeypatch.setattr(tables, "OF_ATTRIBUTE", 1000)
    with pytest.raises(AssertionError):
        test_others_keep_the_old_values("reshape")


# -- order and exceptions ----------------------------------------------------------------------------------------------------
def test_a_read_after_a_write_is_the_new_value() -> None:
    text = ("param @w: f32[3]\nfunc @f(x: f32[3]) -> (f32[3], f32[3]) {\n a: f32[3] = read @w\n write! @w(x)\n b: f32[3] = read @w\n"
            " c: f32[3] = sub(b, a)\n d: f32[3] = neg(b)\n write! @w(d)\n e: f32[3] = add(a, b)\n return c, e\n}")
    w, x = T(1, 2, 3), T(10, 20, 30)
    same(function(made(text, {"w": w}))(x), (T(9, 18, 27), T(11, 22, 33)))
    assert w.asnumpy().tolist() == [-10, -20, -30] and x.asnumpy().tolist() == [10, 20, 30]


FAILING = """
param @a: f32[3]
param @b: f32[3]
param @c: f32[3]
func @f(x: f32[3], i: i64[1]) -> f32[1] {
  a: f32[3] = neg(x)
  write! @a(a)
  b: f32[3] = read @b
  m: f32[3] = sin(b)
  p: f32[3], q: f32[3] = momentum_update(b, m, x, 1.0_f32, 0.0_f32, 0.0_f32, 1.0_f32)
  write! @b(p)
  g: f32[1] = gather(x, i, axis=0)
  c: f32[3] = neg(p)
  write! @c(c)
  return g
}
"""


def test_an_exception_in_the_middle_leaves_what_was_written_before() -> None:
    """`gather` refuses the index: @a and @b are written, @c is not, as if every node ran by itself."""
    state = {"a": T(0, 0, 0), "b": T(1, 1, 1), "c": T(7, 7, 7)}
    f: Any = function(made(FAILING, state))
    with pytest.raises(IndexError):
        f(T(1, 2, 3), Tensor(np.array([5])))
    assert [x.asnumpy().tolist() for x in state.values()] == [[-1, -2, -3], [0, -1, -2], [7, 7, 7]]
    assert f(T(1, 2, 3), Tensor(np.array([2]))).asnumpy().tolist() == [3]
    assert state["c"].asnumpy().tolist() == [1, 3, 5]


def test_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece with an op that cannot be compiled here reads and writes the same."""
    original = tables.plan_for

    class Without:
        stages = None

    monkeypatch.setattr(tables, "plan_for", lambda op, types: Without if op.name == "sin" else original(op, types))
    test_an_exception_in_the_middle_leaves_what_was_written_before()
    monkeypatch.setattr(tables, "plan_for", lambda op, types: Without)
    test_a_read_after_a_write_is_the_new_value()
    test_a_tensor_under_two_symbols()


def test_a_hook_that_raises_finds_the_parameters_as_in_eager_mode() -> None:
    """The optimiser's step before the hook is taken, that after it is not."""

    def trained(wrap: Any) -> tuple[list[float], list[float]]:
        class Raises(nn.Cell):
            def construct(self, x: Tensor) -> Tensor:
                return x * 2.0

        first, second, cell = Parameter(T(1, 2), name="first"), Parameter(T(3, 4), name="second"), Raises()
        before, after = nn.SGD([first], 1.0), nn.SGD([second], 1.0)

        def hook(*_: Any) -> None:
            seen.append(first.asnumpy().tolist())
            raise ValueError("stop")

        cell.register_forward_hook(hook)
        seen: list[Any] = []

        def step(g: Tensor) -> Tensor:
            before((g,))
            y = cell(g)
            after((y,))
            return y

        with pytest.raises(ValueError, match="stop"):
            wrap(step)(T(1, 1))
        assert seen == [[0, 1]]
        return first.asnumpy().tolist(), second.asnumpy().tolist()

    assert trained(lambda f: f) == trained(ms.jit) == ([0, 1], [3, 4])


# -- batches -----------------------------------------------------------------------------------------------------------------
def stages_of(text: str) -> tuple[list[Stage], dict[int, int], dict[int, tuple[ByteRange, ...]]]:
    """The launches of the table of a piece, the blocks that may be the same memory, and its own blocks."""
    plan, piece = piece_of(text)
    plans = {launch: tables.plan_for(launch.node.op, [tensor_type(x) for x in launch.node.operands]) for launch in piece.launches}
    table = tables.PieceTable(piece, plan.slots, {i for i, slot in enumerate(plan.slots) if slot.shown}, {}, {})
    table.plans = plans
    for entry in piece.entries:
        if isinstance(entry, Launch):
            table.launch(entry, entry.operands)
        elif entry.results:
            table.read(entry)
        else:
            table.write(entry, entry.operands)
    return table.stages, table.shared, table.own.bytes


@pytest.mark.parametrize(("body", "counts"), [
    ("a: f32[9] = sin(x)\n b: f32[9] = sin(y)\n return a, b", [2, 1]),
    ("a: f32[9] = sin(x)\n b: f32[9] = sin(a)\n return a, b", [1, 1]),  # the second reads what the first writes
    ("a: f32[9] = sin(x)\n b: f32[9] = cos(y)\n return a, b", [1, 1]),  # two kernels
    # The first may fail.
    ("a: f32 = gather(x, 9_i64, axis=0)\n b: f32 = gather(y, 0_i64, axis=0)\n c: f32[9] = add(x, a)\n d: f32[9] = mul(y, b)\n return c, d",
     [1, 1, 1, 1]),
    ("a: f32[9] = sin(x)\n b: f32[9] = sin(y)\n c: f32[9] = sin(a)\n d: f32[9] = sin(b)\n return c, d", [2, 1, 2, 1]),
    # `a` is needed no more, so that `c` is written where it was while `b` reads it.
    ("a: f32[9] = cos(x)\n b: f32[9] = sin(a)\n c: f32[9] = sin(y)\n d: f32[9] = mul(b, c)\n return d, b", [1, 1, 1, 1]),
])
def test_what_runs_as_one_launch(body: str, counts: list[int]) -> None:
    text = f"func @f(x: f32[9], y: f32[9]) -> (f32[9], f32[9]) {{\n {body}\n}}"
    assert batches(*stages_of(text)) == counts


def test_no_branch_leads_into_a_batch() -> None:
    stages, shared, own = stages_of(
        "func @f(x: f32[9], y: f32[9]) -> (f32[9], f32[9]) {\n a: f32[9] = sin(x)\n b: f32[9] = sin(y)\n return a, b\n}")
    for target, counts in ((0, [2, 1, 1]), (1, [1, 1, 1])):
        assert batches([*stages, Jump(stages[0].node, None, target)], shared, own) == counts


def test_the_steps_of_an_optimiser_are_one_launch() -> None:
    steps = STEP.replace(" w:", " v: f32[3] = read @v\n n: f32[3] = read @n\n w:").replace(
        "return g", "r: f32[3], s: f32[3] = momentum_update(v, n, g, 0.5_f32, 0.5_f32, 0.0_f32, 1.0_f32)\n"
                    " write! @v(r)\n write! @n(s)\n return g")
    declared = "param @v: f32[3]\nparam @n: f32[3]\n" + steps
    assert batches(*stages_of(declared)) == [2, 1]
    # The first step reads the parameter that the second one writes in place.
    reads = declared.replace("momentum_update(w, m, g", "momentum_update(w, m, v")
    assert writes(reads)[1] == {"p", "q", "r", "s"} and batches(*stages_of(reads)) == [1, 1]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_threads_share_a_batch(threads: int) -> None:
    """Launches of all sizes, without units and with more than a thread should compute, give the same bits for any number of threads."""
    sizes = [0, 1, 7, 40_000, 300, 0, 70_000, 16_384, 5]
    names_ = [f"v{i}" for i in range(len(sizes))]
    lines = [f" {name}: f32[{size}] = sin(x{i})" for i, (name, size) in enumerate(zip(names_, sizes, strict=True))]
    takes = ", ".join(f"x{i}: f32[{size}]" for i, size in enumerate(sizes))
    text = (f"func @f({takes}) -> ({', '.join(f'f32[{size}]' for size in sizes)}) {{\n" + "\n".join(lines)
            + f"\n return {', '.join(names_)}\n}}")
    random = np.random.default_rng(0)
    inputs = [Tensor(random.standard_normal(size).astype(np.float32)) for size in sizes]
    before = machine().library.adjoint_threads()
    machine().library.adjoint_set_threads(threads)
    try:
        assert batches(*stages_of(text))[0] > 1
        for _ in range(20):
            same(function(made(text))(*inputs), tuple(ops.sin(x) for x in inputs))
    finally:
        machine().library.adjoint_set_threads(before)


# -- training ----------------------------------------------------------------------------------------------------------------
@pytest.fixture(params=["eager", "jit", "graph"])
def mode(request: pytest.FixtureRequest) -> Any:
    if request.param == "graph":
        context.set_context(mode=context.GRAPH_MODE)
    yield request.param
    context.set_context(mode=context.PYNATIVE_MODE)


def test_two_threads_train_their_own_networks(mode: str) -> None:
    """Threads that run at a time, each with its own parameters, compute what one alone computes."""

    def trained() -> list[bytes]:
        weights = [Parameter(Tensor(np.linspace(-1, 1, 600, dtype=np.float32) * (i + 1)), name=f"w{i}") for i in range(4)]
        optimizer = nn.Momentum(weights, 0.1, 0.9)

        def step(scale: Tensor) -> None:
            optimizer(tuple(ops.sin(w) * scale for w in weights))

        run = ms.jit(step) if mode == "jit" else step
        for turn in range(5):
            run(Tensor(np.float32(turn)))
        return [w.asnumpy().tobytes() for w in weights]

    results: list[list[bytes]] = []
    workers = [threading.Thread(target=lambda: results.append(trained())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [trained()] * 4
