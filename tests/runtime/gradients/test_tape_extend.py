"""`Tape.extend`: a piece that is recorded by one call is recorded as its ops are one after the other."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, ops
from adjoint.foundation.budget import budget
from adjoint.ir.core import Node
from adjoint.ir.op import registry
from adjoint.ir.ops.conversion import NoGrad
from adjoint.runtime.execution.recording import RecordedOp, Recording
from adjoint.runtime.gradients import adjoints
from adjoint.runtime.gradients.trie import trie
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import apply, wrap
from tests.runtime.graphs_by_hand import made, nodes_of

TANH, MUL, ADD, SUB = (registry()[name]() for name in ("tanh", "mul", "add", "sub"))
PIECE = [(TANH, 0), (MUL, 2, 1), (MUL, 3, 2), (ADD, 4, 0)]
"""Of x, c: t = tanh(x); u = t * c; v = u * t; v + x."""


def T(*values):
    return Tensor(np.array(values, np.float32))


X, C = T(0.5, -1.25, 2), T(3, 0.75, -0.5)


def recording(ops_, given=2, site=None):
    return Recording([X.type] * given, [RecordedOp(op, tuple(operands), (X.type,), site) for op, *operands in ops_])


def piece(recorded):
    """A function that runs the piece, keeps what the recording says, and records it by one call."""
    def run(*operands):
        memories = recorded.compute([x.memory for x in operands])
        last = len(memories) - 1
        results = [wrap(recorded.types[i], memories[i]) if i in recorded.kept or i == last else None
                   for i in range(len(operands), last + 1)]
        if state.tracer is not None:
            state.tracer.extend(recorded, operands, results)
        return results[-1]

    return run


def stepwise(recorded):
    """The same function, op after op."""
    def run(*operands):
        values = [*operands]
        for each in recorded.ops:
            values.append(apply(each.op, *[values[i] for i in each.operands]))
        return values[-1]

    return run


def bits(gradients):
    return [g.asnumpy().tobytes() for g in (gradients if isinstance(gradients, tuple) else (gradients,))]


@pytest.fixture
def computed(monkeypatch):
    """Counts pieces that are computed anew for an adjoint."""
    count, fill = [], ms.runtime.gradients.extended.Extended.values
    monkeypatch.setattr(ms.runtime.gradients.extended.Extended, "values", lambda self: count.append(1) or fill(self))
    return count


@pytest.mark.parametrize("wanted", [0, 1, (0, 1)])
def test_gradients_have_the_same_bits(wanted, computed):
    whole = recording(PIECE)
    expected = bits(ms.grad(stepwise(whole), wanted)(X, C))
    for _ in range(3):
        assert bits(ms.grad(piece(whole), wanted)(X, C)) == expected
    assert len(computed) == 1, "what the first adjoint read is kept from then on"
    assert whole.kept and max(whole.kept) < len(whole.types)


def test_second_order_and_pieces_in_a_row(computed):
    whole = recording(PIECE)

    def twice(run):
        def f(x, c):
            return (run(run(x, c), x) * c).sum()
        return ms.grad(lambda x, c: (ms.grad(f)(x, c) * c).sum(), (0, 1))

    expected = bits(twice(stepwise(whole))(X, C))
    for _ in range(3):
        assert bits(twice(piece(whole))(X, C)) == expected
    del computed[:]
    assert bits(twice(piece(whole))(X, C)) == expected and not computed


def test_the_steps_are_those_of_the_ops():
    """One after the other or by one call, the tape comes to one step: the adjoint is built once."""
    (node,) = nodes_of(made("func @f(x: f32[3]) -> f32[3] {\n  y: f32[3] = tanh(x)\n  return y\n}").function.body)
    assert isinstance(node, Node)
    whole, ends, built = recording(PIECE, site=node), [], []

    def each(*operands):
        values, tape = [*operands], state.tracer
        for op, *numbers in PIECE:
            tape.site = node
            values.append(apply(op, *[values[i] for i in numbers]))
            tape.site = None
        return values[-1]

    def f(run, x, c):
        y = run(x, c)
        ends.append((state.tracer.at, len(state.tracer.values), state.tracer.slot_of(y)))
        return y

    original = adjoints._built
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(adjoints, "_built", lambda *given: built.append(1) or original(*given))
        for run in (each, piece(whole), piece(whole), each):
            ms.grad(f, 1)(run, X, C)
    assert len({end[0] for end in ends}) == len(set(ends)) == len(built) == 1


def test_constants_of_a_piece():
    """Ops on constants are not recorded; their results are constants to the ops that are, as after `no_grad`."""
    whole = recording([(MUL, 1, 1), (MUL, 0, 2), (NoGrad(), 3), (MUL, 3, 4), (SUB, 5, 1)])
    expected = bits(ms.grad(lambda x, c: ops.sub(x * (c * c) * ops.stop_gradient(x * (c * c)), c))(X, C))
    for _ in range(2):
        assert bits(ms.grad(piece(whole))(X, C)) == expected
    assert bits(ms.grad(lambda x, c: piece(whole)(c, c) * x)(X, C)) == bits(piece(whole)(C, C))


def test_operands_that_are_written_afterwards():
    """What is computed anew is computed from the operands as they were."""
    weight = Parameter(T(1, 2, 3), name="weight")

    def f(run):
        def of(x):
            y = run(x, weight)
            ops.assign(weight, weight * 2)
            return y * run(x, weight)
        return of

    found = []
    for run in (stepwise(recording(PIECE)), piece(recording(PIECE))):
        weight.set_data(T(1, 2, 3))
        found.append(bits(ms.grad(f(run), 0, [weight])(X)[1]))
        found.append(weight.tolist())
    assert found[:2] == found[2:]


def test_a_pullback_is_called_later_and_again():
    whole = recording(PIECE)
    y, pull = ms.vjp(piece(whole), X, C)
    expected, pull_expected = ms.vjp(stepwise(whole), X, C)
    assert bits(y) == bits(expected)
    for sens in (T(1, 1, 1), T(2, 0, 1)):
        assert bits(pull(sens)) == bits(pull_expected(sens))


def test_nothing_is_recorded_without_gradients():
    whole = recording(PIECE)

    def f(x):
        with ms._no_grad():
            y = piece(whole)(x, C)
        return y * x

    assert bits(ms.grad(f)(X)) == bits(piece(whole)(X, C))


def test_evicted_paths_take_their_shortcuts_with_them():
    whole = recording(PIECE)
    gradient = ms.grad(piece(whole))
    expected = bits(gradient(X, C))

    def chains():
        found, todo = 0, [trie.root]
        for step in todo:
            todo += step.children.values()
            found += len(step.chains or ())
        return found

    before = chains()
    assert before
    list(trie.sizes())
    trie.evict(budget.period)
    assert chains() == 0
    gc.collect()
    assert bits(gradient(X, C)) == expected and chains() == 1
