"""A cell's own bprop: its arguments, valid results, tensors in containers; the same in every mode.

The expected behaviour is that of MindSpore's graph mode, where it accepts such a cell.
"""

from __future__ import annotations

import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.tensor.structure import leaves, mapped
from tests.hooks.events import T


def numbers(value):
    """Return a structure with numbers and lists of numbers instead of tensors."""
    return mapped(value, lambda leaf: leaf.tolist() if isinstance(leaf, Tensor) else leaf)


@pytest.mark.parametrize(("returned", "given", "expected"), [
    ((3, 3), (3,), [3, 3, 3]), ((2, 4), (4,), [2, 2, 2, 2]), ((2, 4), (2, 1), [[4], [4]]), ((2, 4), (1, 4), [[2, 2, 2, 2]]),
    ((4,), (), 4), ((4,), (1,), [4]), ((1,), (), 1), ((4, 1, 3), (3,), [4, 4, 4]), ((0, 2), (2,), [0, 0]), ((1,), (2,), None),
    ((), (2,), None), ((1, 1, 2), (2,), [1, 1]), ((4, 1, 3), (2, 3), None), ((2, 1), (1, 2), None), ((3,), (2,), None),
])
def test_a_gradient_that_broadcasting_made_is_summed(returned, given, expected):
    """As in MindSpore, which rejects a smaller one, too: it has been summed too often."""

    class Square(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return ops.ones(returned, ms.float32)

    x = ops.ones(given, ms.float32)
    for f in (Square(), ms.jit(Square())):
        if expected is None:
            with pytest.raises(RuntimeError, match="should be broadcast to expected shape"):
                ms.grad(f)(x)
        else:
            found = ms.grad(f)(x)
            assert found.shape == given and numbers(found) == expected


class Structured(nn.Cell):
    """Takes and returns structures; `told` is called with bprop's arguments, `answers` is what it returns."""

    def __init__(self, result, answers, told=lambda *arguments: None):
        super().__init__()
        self.result, self.answers, self.told = result, answers, told

    def construct(self, t, y, scale=3, *, shift=None):
        return self.result(t, y)

    def bprop(self, t, y, scale, shift, out, dout):
        self.told(t, y, scale, shift, out, dout)
        return self.answers(t, y, dout)


def in_modes(f, *given):
    """Return the result of a gradient function, which must be the same in every mode."""
    found = [numbers(ms.grad(f, (0, 1))(*given)), numbers(ms.grad(ms.jit(f), (0, 1))(*given)),
             numbers(ms.jit(lambda *x: ms.grad(f, (0, 1))(*x))(*given))]
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        found.append(numbers(ms.grad(f, (0, 1))(*given)))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert all(other == found[0] for other in found)
    return found[0]


@pytest.mark.parametrize(("structure", "take", "answers"), [
    # One entry for each argument, in its structure.
    (lambda x, y: (x, y), lambda t: t, lambda g, h, own: ((g, h), own)),
    (lambda x, y: [x, y], lambda t: t, lambda g, h, own: [[g, h], own]),
    (lambda x, y: [x, y], lambda t: t, lambda g, h, own: ((g, h, g), own, None, None)),
    (lambda x, y: {"u": x, "v": y}, lambda t: (t["u"], t["v"]), lambda g, h, own: ({"v": h, "u": g}, own)),
    (lambda x, y: (x, {"w": [y]}), lambda t: (t[0], t[1]["w"][0]), lambda g, h, own: ((g, {"w": (h,)}), own)),
    (lambda x, y: (x, 3, None, y), lambda t: (t[0], t[3]), lambda g, h, own: ((g, None, "anything", h), own)),
    # One entry for each tensor, as MindSpore's eager mode has it.
    (lambda x, y: (x, y), lambda t: t, lambda g, h, own: (g, h, own)),
    (lambda x, y: (x, {"w": [y]}), lambda t: (t[0], t[1]["w"][0]), lambda g, h, own: (g, h, own)),
])
def test_bprop_with_structures_for_arguments(structure, take, answers):
    calls = []
    cell = Structured(lambda t, y: take(t)[0] * take(t)[1] * y, lambda t, y, dout: answers(dout * 100, dout * 200, dout * 300),
                      lambda *given: calls.append(numbers(given[2:])))
    assert in_modes(lambda x, y: cell(structure(x, y), x) * 2, T(2), T(3)) == ([800], [400])
    assert calls == [(3, None, [12], [2])] * 4


def test_bprop_gives_none_for_a_structure():
    cell = Structured(lambda t, y: t[0] * y, lambda t, y, dout: (None, dout * 300))
    assert in_modes(lambda x, y: cell((x, y), x), T(2), T(3)) == ([300], [0])
    cell = Structured(lambda t, y: t[0] * y, lambda t, y, dout: ((None, dout * 5), None))
    assert in_modes(lambda x, y: cell((x, y), x), T(2), T(3)) == ([0], [5])


@pytest.mark.parametrize(("answers", "error", "message"), [
    (lambda g: (g, g), TypeError, "a tuple of 2 gradients is needed, but got Tensor"),
    (lambda g: ((g,), g), TypeError, "a tuple of 2 gradients is needed, but got (Tensor"),
    (lambda g: ({"u": g}, g), TypeError, "a tuple of 2 gradients is needed, but got {'u'"),
    (lambda g: ((g, (g,)), g), TypeError, "a Tensor is needed, but got (Tensor"),
    (lambda g: g, ValueError, "must return a gradient for each of its 4 inputs, but got 1"),
])
def test_a_bprop_that_does_not_fit_its_arguments(answers, error, message):
    cell = Structured(lambda t, y: t[0] * t[1] * y, lambda t, y, dout: answers(dout))
    f = lambda x: cell((x, x), x)  # noqa: E731
    for g in (f, ms.jit(f)):
        with pytest.raises(error) as raised:
            ms.grad(g)(T(2))
        assert message in str(raised.value) and "bprop of cell 'Structured'" in str(raised.value)


@pytest.mark.parametrize(("result", "read", "expected", "seen"), [
    (lambda x, y: (x * y, (x + 0, y)), lambda r: r[0] + r[1][0] * 2 + r[1][1] * 4, ([170], [340]), ([1], ([2], [4]))),
    (lambda x, y: (x * y, (x + 0, y)), lambda r: r[0], ([10], [20]), ([1], ([0], [0]))),
    (lambda x, y: (x * y, (x + 0, y)), lambda r: r[1][0] * 2, ([40], [80]), ([0], ([2], [0]))),
    (lambda x, y: {"p": [x * y], "q": y}, lambda r: r["p"][0] + r["q"] * 2, ([50], [100]), {"p": [[1]], "q": [2]}),
    (lambda x, y: [x * y, 7, (None, 2.5, y)], lambda r: r[0] + r[2][2], ([30], [60]), [[1], 0, (None, 0.0, [1])]),
])
def test_bprop_with_structures_for_results(result, read, expected, seen):
    """The cotangent has the structure of the result: zeros for unused values, 0 for a number."""
    douts = []
    weights = lambda dout: sum(x * f for x, f in zip(leaves(dout, Tensor), (10, 20, 30), strict=False))  # noqa: E731
    cell = Structured(result, lambda t, y, dout: (weights(dout), weights(dout) * 2), lambda *given: douts.append(numbers(given[-1])))
    assert in_modes(lambda x, y: read(cell(x, y)), T(2), T(3)) == expected
    assert all(dout == seen for dout in douts) and len(douts) == 4


def test_bprop_is_called_by_the_parameters_of_construct():
    """Keyword arguments are passed by position, omitted ones as their defaults, as in MindSpore."""
    seen = []
    cell = Structured(lambda t, y: t * y, lambda t, y, dout: (dout * 100, dout * 200, None, dout * 300),
                      lambda *given: seen.append(numbers(given[:4])))
    assert in_modes(lambda x, y: cell(y=y, t=x), T(2), T(3)) == ([100], [200])
    assert in_modes(lambda x, y: cell(x, y, 4, shift=y), T(2), T(3)) == ([100], [500])
    assert seen == [([2], [3], 3, None)] * 4 + [([2], [3], 4, [3])] * 4


def test_hooks_of_a_bprop_with_structures():
    """Hooks see tensors at the top level; bprop's gradients of nested ones bypass them."""
    log = []
    cell = Structured(lambda t, y: (t[0] * t[1] * y, (t[0] + 1,)), lambda t, y, dout: ((dout[0] * 100, dout[0] * 200), dout[0] * 300))
    cell.register_backward_pre_hook(lambda cell, go: log.append(("bpre", numbers(go))) or (go[0] * 2,))
    cell.register_backward_hook(lambda cell, gi, go: log.append(("bwd", numbers(gi), numbers(go))) or (gi[0] * 10,))

    def f(x, y):
        p, (q,) = cell((x, y), x)
        return p + q

    assert in_modes(f, T(2), T(3)) == ([6200], [400])
    assert log == [("bpre", ([1],)), ("bwd", ([600],), ([2],))] * 4


def test_a_list_that_is_changed_after_the_call():
    """bprop gets the arguments and results as they were in the call, even if the lists change later."""
    cell = Structured(lambda t, y: [t[1] * t[0] * y, y], lambda t, y, dout: ([dout[0] * 100, dout[0] * 200], dout[1] * 7))

    def f(x, y):
        given = [x, y]
        out = cell(given, y)
        given.clear()
        total = out[0] + out.pop()
        out.clear()
        return total

    assert numbers(ms.grad(f, (0, 1))(T(2), T(3))) == ([100], [207])


@pytest.mark.parametrize("change", [lambda t: t.append(t[0]), lambda t: t.reverse(), lambda t: t.pop()])
def test_bprop_and_a_list_that_construct_changes(change):
    cell = Structured(lambda t, y: change(t) or t[0] * y, lambda t, y, dout: None)
    f = lambda x: cell([x, x + 1], x)  # noqa: E731
    with pytest.raises(RuntimeError, match="an argument of construct is written in place"):
        ms.grad(f)(T(2))
    with pytest.raises(CompileError, match="writes its argument in place"):
        ms.grad(ms.jit(f))(T(2))


def test_cells_around_and_inside_of_a_bprop_with_structures():
    """A nested tensor in the result of a cell passes through the cells around it."""
    inner = Structured(lambda t, y: {"a": (t[0] * y, t[1])}, lambda t, y, dout: ((dout["a"][0] * 10, dout["a"][1] * 20), None))

    class Middle(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def construct(self, x, y):
            return [self.inner((x, y), x), x]

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.middle, self.tail = Middle(), nn.ReLU()

        def construct(self, x, y):
            found = self.middle(x, y)
            return self.tail(found[0]["a"][0]) + found[0]["a"][1] * found[1]

    assert in_modes(Outer(), T(2), T(3)) == ([13], [40])

    class Ruled(Outer):
        def bprop(self, x, y, out, dout):
            return dout * 7, dout * 9

    assert in_modes(Ruled(), T(2), T(3)) == ([7], [9])


def test_second_order_through_a_bprop_with_structures():
    cell = Structured(lambda t, y: (t["u"] * y, [t["u"]]),
                      lambda t, y, dout: ({"u": dout[0] * y * t["u"] + dout[1][0]}, dout[0] * t["u"] * t["u"]))

    def f(x, y):
        p, (q,) = cell({"u": x}, y)
        return p * q

    # The cotangent of the result is (q, [p]): q y x + p, and by y q x x, at q = x and p = x y.
    assert in_modes(f, T(2), T(3)) == ([18], [8])
    # Of q y x + p: by x directly q y, through the cell, with (1, [y x]), y x + y x; by y directly q x, through the cell x x.
    assert in_modes(lambda x, y: ms.grad(f)(x, y), T(2), T(3)) == ([18], [8])


def test_numbers_that_are_known_when_the_graph_runs():
    """bprop gets what Python would compute there, and returns no gradient for them."""
    seen = []
    cell = Structured(lambda t, y: (t[0] * t[1], {"n": t[1] + 1}), lambda t, y, dout: (((dout[0] * t[1]), None), None),
                      lambda *given: seen.append(numbers((given[0], given[1], given[4], given[5]))))

    def f(x, y):
        out = cell((x, int(y.sum())), bool(x.sum() > 5))
        return out[0] * out[1]["n"]

    assert in_modes(f, T(2), T(3)) == ([12], [0])
    assert seen == [(([2], 3), False, ([6], {"n": 4}), ([4], {"n": 0}))] * 4
    hooked = []
    g = ms.jit(f)
    ms.grad(g)(T(2), T(3))
    cell.register_forward_hook(lambda cell, args, output: hooked.append(numbers((args, output))))
    ms.grad(g)(T(2), T(3))
    assert hooked == [((([2], 3), False), ([6], {"n": 4}))]
