"""The four hooks of a Cell: when they run, in which order, their arguments, valid results.

The logs are written by hand from docs/hooks.md, not recorded from a run.
"""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from tests.hooks.events import Log, Square, T, Times, TwoOut, Weighted, plain


class Chain(nn.Cell):
    """(x * 2 -> relu -> * 3)"""

    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(x * 2) * 3


def hang_all(cell, log, number=""):
    cell.register_forward_pre_hook(log.forward_pre(f"fpre{number}"))
    cell.register_forward_hook(log.forward(f"fwd{number}"))
    cell.register_backward_pre_hook(log.backward_pre(f"bpre{number}"))
    cell.register_backward_hook(log.backward(f"bwd{number}"))


def test_order_and_arguments():
    """Two hooks of each kind: registration order, forward and backward, tuples even for one tensor."""
    net, log = Chain(), Log()
    hang_all(net.relu, log, 1)
    hang_all(net.relu, log, 2)
    gradient = ms.grad(net)(T(1, 2))
    assert plain(gradient) == [6, 6]
    x, y, g = ([2, 4],), [2, 4], ([3, 3],)
    assert log == [
        ("fpre1", x), ("fpre2", x), ("fwd1", x, y), ("fwd2", x, y),
        ("bpre1", g), ("bpre2", g), ("bwd1", g, g), ("bwd2", g, g),
    ]


def test_prepend_puts_a_hook_first():
    net, log = Chain(), Log()
    net.relu.register_forward_pre_hook(log.forward_pre("second"))
    net.relu.register_forward_pre_hook(log.forward_pre("first"), prepend=True)
    net.relu.register_forward_hook(log.forward("fourth"))
    net.relu.register_forward_hook(log.forward("third"), prepend=True)
    net(T(1))
    assert [event[0] for event in log] == ["first", "second", "third", "fourth"]


def test_without_a_gradient_only_forward_hooks_run():
    net, log = Chain(), Log()
    hang_all(net.relu, log)
    net(T(1))
    assert [event[0] for event in log] == ["fpre", "fwd"]


def test_nested_cells():
    """Forward hooks from the outer cell to the inner ones and back; backward hooks likewise, last cell first."""
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b = Times(2.0), Times(3.0)

        def construct(self, x):
            return self.b(self.a(x))

    net, log = Outer(), Log()
    for cell, name in ((net, "O"), (net.a, "a"), (net.b, "b")):
        hang_all(cell, log, name)
    ms.grad(net)(T(1))
    assert [event[0] for event in log] == [
        "fpreO", "fprea", "fwda", "fpreb", "fwdb", "fwdO", "bpreO", "bpreb", "bwdb", "bprea", "bwda", "bwdO"]


def test_a_cell_called_twice_sees_each_call_alone():
    """c(x) * 2 + c(x * 3) at 1: the last call comes first, with its own gradients only."""
    cell, log = Square(), Log()
    cell.register_backward_pre_hook(log.backward_pre("bpre"))
    cell.register_backward_hook(log.backward("bwd"))
    gradient = ms.grad(lambda x: cell(x) * 2 + cell(x * 3))(T(1))
    assert log == [
        ("bpre", ([1],)), ("bwd", ([6],), ([1],)),
        ("bpre", ([2],)), ("bwd", ([4],), ([2],)),
    ]
    assert plain(gradient) == [22]


def test_a_cell_called_on_its_own_result():
    cell, log = Square(), Log()
    cell.register_backward_hook(log.backward("bwd"))
    assert plain(ms.grad(lambda x: cell(cell(x)))(T(2))) == [32]
    assert log == [("bwd", ([8],), ([1],)), ("bwd", ([32],), ([8],))]


def test_missing_gradients_are_none():
    """The entry of an unused output, or of an input that is not differentiated, is None."""
    cell, log = TwoOut(), Log()
    cell.register_backward_pre_hook(log.backward_pre("bpre"))
    cell.register_backward_hook(log.backward("bwd"))
    ms.grad(lambda a, b: cell(a, b)[0], grad_position=(0, 1))(T(1), T(1))
    assert log.take() == [("bpre", ([1], None)), ("bwd", ([2], None), ([1], None))]
    ms.grad(lambda a: cell(a, T(5)))(T(1))
    assert log.take() == [("bpre", ([1], None)), ("bwd", ([2], None), ([1], None))]


def test_weights_only_gives_none_for_the_input():
    cell, log = Weighted(), Log()
    cell.register_backward_hook(log.backward("bwd"))
    gradient = ms.grad(cell, None, cell.trainable_params())(T(3))
    assert plain(gradient) == ([3],)
    assert log == [("bwd", (None,), ([1],))]


def test_no_weights_asked_for_and_a_constant_input_no_call():
    cell, log = Weighted(), Log()
    cell.register_backward_hook(log.backward("bwd"))
    ms.grad(lambda x: x + cell(T(3)))(T(1))
    assert log == []


def test_a_real_zero_is_a_zero_tensor():
    cell, log = Square(), Log()
    cell.register_backward_hook(log.backward("bwd"))
    ms.grad(lambda x: cell(x) * 0)(T(3))
    assert log == [("bwd", ([0],), ([0],))]


def test_numbers_and_keyword_arguments_have_no_entry():
    class Scaled(nn.Cell):
        def construct(self, x, factor, y=None):
            return x * factor if y is None else x * factor + y

    cell, log = Scaled(), Log()
    cell.register_forward_pre_hook(log.forward_pre("fpre"))
    cell.register_backward_hook(log.backward("bwd"))
    ms.grad(lambda x: cell(x, 3))(T(1))
    assert log.take() == [("fpre", ([1], 3)), ("bwd", ([3],), ([1],))]
    ms.grad(lambda x: cell(x, 3, y=x))(T(1))
    assert log.take() == [("fpre", ([1], 3)), ("bwd", ([3],), ([1],))]


def test_nested_outputs_have_no_entry_and_still_their_gradient():
    class Nested(nn.Cell):
        def construct(self, x, y, z):
            return x * 2, (y * 3, z * 4)

    cell, log = Nested(), Log()
    cell.register_backward_hook(log.backward("bwd"))

    def f(x, y, z):
        a, (b, c) = cell(x, y, z)
        return a + b + c

    assert plain(ms.grad(f, (0, 1, 2))(T(1), T(1), T(1))) == ([2], [3], [4])
    assert log == [("bwd", ([2], [3], [4]), ([1],))]


def test_dictionary_outputs_have_entries():
    class Named(nn.Cell):
        def construct(self, x):
            return {"twice": x * 2, "thrice": x * 3}

    cell, log = Named(), Log()
    cell.register_backward_hook(log.backward("bwd"))
    assert plain(ms.grad(lambda x: cell(x)["thrice"])(T(1))) == [3]
    assert log == [("bwd", ([3],), (None, [1]))]


def test_what_backward_hooks_return_replaces_the_gradients():
    """bpre * 10, bwd * 100: each hook sees the result of the one before."""
    cell, log = Square(), Log()
    cell.register_backward_pre_hook(log.backward_pre("bpre1", lambda go: (go[0] * 10,)))
    cell.register_backward_pre_hook(log.backward_pre("bpre2"))
    cell.register_backward_hook(log.backward("bwd1", lambda gi: gi[0] * 100))
    cell.register_backward_hook(log.backward("bwd2"))
    gradient = ms.grad(cell)(T(1.5))
    assert log == [
        ("bpre1", ([1],)), ("bpre2", ([10],)), ("bwd1", ([30],), ([10],)), ("bwd2", ([3000],), ([10],))]
    assert plain(gradient) == [3000]


def test_forward_pre_hook_replaces_the_arguments():
    cell, log = Square(), Log()
    handle = cell.register_forward_pre_hook(log.forward_pre("fpre", lambda args: args[0] + 1))
    assert plain(cell(T(2))) == [9]
    assert plain(ms.grad(cell)(T(2))) == [6]
    handle.remove()
    assert plain(cell(T(2))) == [4]
    cell.register_forward_pre_hook(lambda cell, args: (args[0], args[0]))
    with pytest.raises(TypeError, match="construct"):
        cell(T(2))


def test_forward_pre_hook_with_kwargs():
    class Plus(nn.Cell):
        def construct(self, x, y):
            return x + y

    cell, seen = Plus(), []
    handle = cell.register_forward_pre_hook(lambda cell, args, kwargs: seen.append((plain(args), plain(kwargs))), with_kwargs=True)
    cell(T(1), y=T(2))
    assert seen == [(([1],), {"y": [2]})]
    handle.remove()
    handle = cell.register_forward_pre_hook(lambda c, args, kwargs: (args, {"y": kwargs["y"] * 10}), with_kwargs=True)
    assert plain(cell(T(1), y=T(2))) == [21]
    handle.remove()
    cell.register_forward_pre_hook(lambda c, args, kwargs: T(5), with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"forward pre hook with kwargs must return None or a tuple of \(new_args, new_kwargs\)"):
        cell(T(1), y=T(2))


def test_forward_hook_replaces_the_output_and_takes_part_in_the_gradient():
    cell, log = Square(), Log()
    cell.register_forward_hook(log.forward("fwd", lambda y: y + y))
    assert plain(ms.grad(cell)(T(3))) == [12]
    cell.register_forward_hook(lambda cell, args, output: "anything")
    assert cell(T(3)) == "anything"


def test_a_forward_hook_may_keep_a_tensor_for_a_skip_connection():
    """A tensor kept by one hook is used by another, with its gradient."""
    first, second, kept = Times(2.0), Times(3.0), []
    first.register_forward_hook(lambda cell, args, output: kept.append(args[0]))
    second.register_forward_hook(lambda cell, args, output: output + kept[-1])
    assert plain(ms.grad(lambda x: second(first(x)))(T(1))) == [7]


def test_new_data_from_a_hook_cuts_the_gradient():
    cell = Square()
    cell.register_forward_pre_hook(lambda cell, args: T(1))
    assert plain(ms.grad(cell)(T(3))) == [0]


def test_what_each_hook_captures():
    """The last example of the tutorial: forward hooks are outside of what the backward hook sees, and inside of the pre hooks."""
    net, log = Chain(), Log()
    net.relu.register_forward_pre_hook(log.forward_pre("fpre", lambda args: args[0]))
    net.relu.register_forward_hook(log.forward("fwd", lambda y: y + y))
    net.relu.register_backward_pre_hook(log.backward_pre("bpre"))
    net.relu.register_backward_hook(log.backward("bwd"))
    gradient = ms.grad(lambda x, y: net.relu(x + y), (0, 1))(T(1), T(1))
    assert log == [
        ("fpre", ([2],)), ("fwd", ([2],), [2]), ("bpre", ([1],)), ("bwd", ([2],), ([2],))]
    assert plain(gradient) == ([2], [2])


def test_registered_and_removed_at_any_time():
    cell, log = Square(), Log()
    gradient = ms.grad(cell)
    gradient(T(1))
    handle = cell.register_backward_hook(log.backward("bwd"))
    gradient(T(1))
    assert log.take() == [("bwd", ([2],), ([1],))]
    handle.remove()
    handle.remove()
    gradient(T(1))
    assert log.take() == []
    cell.register_backward_hook(log.backward("again"))
    gradient(T(1))
    assert [event[0] for event in log.take()] == ["again"]


def test_removed_between_forward_and_backward():
    """Removal takes effect at once; a hook registered during the pass takes part from the next call on."""
    cell, log = Square(), Log()
    handle = cell.register_backward_hook(log.backward("bwd"))

    def f(x):
        y = cell(x)
        handle.remove()
        cell.register_backward_hook(log.backward("late"))
        return y

    ms.grad(f)(T(1))
    assert [event[0] for event in log.take()] in ([], ["late"])
    ms.grad(cell)(T(1))
    assert [event[0] for event in log.take()] == ["late"]


def test_the_same_function_twice_runs_twice():
    cell, log = Square(), Log()
    hook = log.backward("bwd")
    first, second = cell.register_backward_hook(hook), cell.register_backward_hook(hook)
    assert second.handle_id > first.handle_id
    ms.grad(cell)(T(1))
    assert len(log.take()) == 2
    first.remove()
    ms.grad(cell)(T(1))
    assert len(log.take()) == 1


def test_a_list_changed_while_it_fires():
    """The current pass uses the list as it was, except that a removed hook does not run any more."""
    cell, log = Square(), Log()
    handles = {}

    def first(cell, grad_input, grad_output):
        log.append("first")
        handles["first"].remove()
        handles["second"].remove()
        handles["new"] = cell.register_backward_hook(lambda *a: log.append("new"))

    handles["first"] = cell.register_backward_hook(first)
    handles["second"] = cell.register_backward_hook(lambda *a: log.append("second"))
    cell.register_backward_hook(lambda *a: log.append("third"))
    ms.grad(cell)(T(1))
    assert log.take() == ["first", "third"]
    ms.grad(cell)(T(1))
    assert log.take() == ["third", "new"]


def test_any_callable_is_a_hook_and_nothing_else():
    class Recorder:
        def __init__(self):
            self.count = 0

        def __call__(self, cell, grad_input, grad_output):
            self.count += 1

        def method(self, cell, grad_input, grad_output):
            self.count += 10

    cell, recorder = Square(), Recorder()
    cell.register_backward_hook(recorder)
    cell.register_backward_hook(recorder.method)
    ms.grad(cell)(T(1))
    assert recorder.count == 11
    for register in (cell.register_forward_pre_hook, cell.register_forward_hook, cell.register_backward_pre_hook,
                     cell.register_backward_hook, T(1).register_hook):
        for wrong, name in ((1, "int"), (None, "NoneType"), ("hook", "str")):
            with pytest.raises(TypeError, match=f"Expected a callable hook function, but got {name}."):
                register(wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'prepend'"):
        cell.register_backward_hook(print, prepend=True)
    with pytest.raises(TypeError):
        cell.register_forward_hook(print, True)


def test_registered_before_the_cell_is_made():
    class Early(nn.Cell):
        def __init__(self):
            self.register_backward_hook(print)
            super().__init__()

    with pytest.raises(AttributeError):
        Early()


BAD_RETURNS = [
    ((T(1), T(1)), TypeError, "return value size is 2 not equal to expect {noun} size 1"),
    ([T(1)], TypeError, "The output type of function: {role} should be a tensor but got list"),
    (1, TypeError, "should be a tensor but got int"),
    ("text", TypeError, "should be a tensor but got str"),
    (np.ones(1, np.float32), TypeError, "should be a tensor but got ndarray"),
    ((None,), TypeError, "should be a tensor but got NoneType"),
    (T(1, 2), ValueError, r"is not consistent with the expected, it should be Tensor shape:\[\[const vector\]\{{1\}}\]Float32, but got"),
    (Tensor([1]), ValueError, "is not consistent with the expected"),
]


@pytest.mark.parametrize("kind", ["bpre", "bwd"])
@pytest.mark.parametrize("case", range(len(BAD_RETURNS)))
def test_a_wrong_return_value_is_an_error_that_names_hook_cell_and_line(kind, case):
    returned, error, text = BAD_RETURNS[case]
    cell = Square()

    def wrong_hook(*arguments):
        return returned

    if kind == "bpre":
        handle = cell.register_backward_pre_hook(wrong_hook)
        words = {"noun": "output", "role": "hook_backward_pre_grad"}
    else:
        handle = cell.register_backward_hook(wrong_hook)
        words = {"noun": "grad input", "role": "hook_backward_grad"}
    with pytest.raises(error, match=text.format(**words)) as raised:
        ms.grad(cell)(T(1))
    message = str(raised.value)
    assert "wrong_hook" in message and "test_cell_hooks.py" in message and "cell 'Square'" in message
    handle.remove()
    assert plain(ms.grad(cell)(T(1))) == [2]


def test_two_entries_need_a_tuple_of_two():
    cell = TwoOut()
    handle = cell.register_backward_hook(lambda cell, gi, go: gi[0])
    with pytest.raises(TypeError, match="size is 1 not equal to expect grad input size 2"):
        ms.grad(cell, (0, 1))(T(1), T(1))
    handle.remove()
    cell.register_backward_hook(lambda cell, gi, go: (gi[0] * 10, gi[1] * 100))
    assert plain(ms.grad(cell, (0, 1))(T(1), T(1))) == ([20], [300])


@pytest.mark.parametrize("register", ["register_forward_pre_hook", "register_forward_hook", "register_backward_pre_hook",
                                      "register_backward_hook"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_hook_that_raises(register, error):
    """The same exception object comes out, with a note; the next call is unaffected."""
    cell, boom = Square(), error("boom")

    def raising(*arguments):
        raise boom

    handle = getattr(cell, register)(raising)
    with pytest.raises(error) as raised:
        ms.grad(cell)(T(3))
    assert raised.value is boom
    (note,) = boom.__notes__
    assert "raising" in note and "test_cell_hooks.py" in note and "cell 'Square' (Square)" in note and "forward at" in note
    handle.remove()
    assert plain(ms.grad(cell)(T(3))) == [6]


def test_always_call():
    class Failing(nn.Cell):
        def construct(self, x):
            raise ValueError("construct failed")

    cell, seen = Failing(), []
    cell.register_forward_hook(lambda cell, args, output: seen.append("plain"))
    cell.register_forward_hook(lambda cell, args, output: seen.append(output), always_call=True)
    with pytest.raises(ValueError, match="construct failed"):
        cell(T(1))
    assert seen == [None]

    def worse(cell, args, output):
        raise RuntimeError("boom")

    cell.register_forward_hook(worse, always_call=True)
    with pytest.raises(ValueError, match="construct failed"), pytest.warns(UserWarning, match="silenced because another error"):
        cell(T(1))


def test_second_order():
    """f = Sq(x) * x with a backward hook * 10 at 2: first order 84, second order 480, as in eager mode."""
    cell, log = Square(), Log()
    cell.register_backward_pre_hook(log.backward_pre("bpre"))
    cell.register_backward_hook(log.backward("bwd", lambda gi: gi[0] * 10))
    first = ms.grad(lambda x: cell(x) * x)
    assert plain(first(T(2))) == [84]
    assert log.take() == [("bpre", ([2],)), ("bwd", ([8],), ([2],))]
    assert plain(ms.grad(first)(T(2))) == [480]
    assert log.take() == [("bpre", ([2],)), ("bwd", ([8],), ([2],)), ("bpre", ([1],)), ("bwd", ([44],), ([1],))]


@pytest.mark.parametrize("order", [1, 2])
def test_an_identity_hook_changes_no_bit(order):
    """A hook of any kind, on any cell, gives the same bits as none."""
    generator = np.random.default_rng(3)
    x = Tensor(generator.standard_normal((3, 4)).astype(np.float32))

    def build():
        ms.set_seed(5)
        return nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 4), Square())

    def run(net):
        f = ms.grad(lambda x: net(x) * x + net(x + 1))
        return (f if order == 1 else ms.grad(f))(x).asnumpy().tobytes()

    expected = run(build())
    hooked = build()
    for cell in hooked:
        cell.register_forward_pre_hook(lambda cell, args: args)
        cell.register_forward_hook(lambda cell, args, output: output)
        cell.register_backward_pre_hook(lambda cell, go: go)
        cell.register_backward_hook(lambda cell, gi, go: gi)
    hooked.register_backward_hook(lambda cell, gi, go: None)
    assert run(hooked) == expected


def test_a_tensor_given_to_a_hook_stays_as_it_is():
    cell, kept = Square(), []
    cell.register_backward_hook(lambda cell, gi, go: kept.append((gi[0], go[0])))
    gradient = ms.grad(cell)
    for value in (1, 2, 3):
        gradient(T(value))
    assert plain(kept) == (([2], [1]), ([4], [1]), ([6], [1]))


def test_a_gradient_inside_a_hook():
    """A hook may take gradients itself, also of the same cell."""
    cell, seen = Square(), []

    def hook(cell, grad_input, grad_output):
        if len(seen) < 3:
            seen.append(None)
            seen[-1 if len(seen) else 0] = plain(ms.grad(lambda x: x * x * x)(T(2)))

    cell.register_backward_hook(hook)
    assert plain(ms.grad(cell)(T(1))) == [2]
    assert seen == [[12]]


def test_deepcopy_keeps_hooks_and_parts_them():
    cell, log = Square(), Log()
    handle = cell.register_backward_hook(log.backward("bwd"))
    copied = copy.deepcopy(cell)
    handle.remove()
    ms.grad(cell)(T(1))
    assert log.take() == []
    ms.grad(copied)(T(1))
    assert log.take() == [("bwd", ([2],), ([1],))]


def _module_level_hook(cell, grad_input, grad_output):
    return None


def test_pickling_says_which_hook_cannot_be_pickled():
    cell = nn.Dense(2, 1)
    cell.register_backward_hook(_module_level_hook)
    assert pickle.loads(pickle.dumps(cell)).weight.shape == (1, 2)
    cell.register_backward_hook(lambda cell, gi, go: None)
    with pytest.raises(pickle.PicklingError, match=r"cell 'Dense' .* its backward hook <lambda> at .*test_cell_hooks\.py"):
        pickle.dumps(cell)


def test_a_cell_with_hooks_is_freed_by_reference_counting():
    gc.disable()
    try:
        net = Chain()
        log = Log()
        hang_all(net.relu, log)
        handle = net.relu.register_backward_hook(log.backward("x"))
        ms.grad(net)(T(1))
        gone = weakref.ref(net.relu)
        del net
        assert gone() is None
        handle.remove()
    finally:
        gc.enable()


def test_hooks_on_a_cell_list_never_run_those_of_its_items_do():
    cells, log = nn.CellList([Square(), Times(2.0)]), Log()
    hang_all(cells, log, "list")
    hang_all(cells[0], log, "item")
    ms.grad(lambda x: cells[1](cells[0](x)))(T(1))
    assert {event[0] for event in log} == {"fpreitem", "fwditem", "bpreitem", "bwditem"}


def test_the_differentiated_cell_itself_and_sens():
    cell, log = Square(), Log()
    cell.register_backward_hook(log.backward("bwd"))
    ms.ops.GradOperation(sens_param=True)(cell)(T(3), T(7))
    assert log == [("bwd", ([42],), ([7],))]


def test_behind_stop_gradient_hooks_are_silent():
    cell, log = Square(), Log()
    cell.register_backward_hook(log.backward("bwd"))
    ms.grad(lambda x: ops.stop_gradient(cell(x)) + x)(T(3))
    assert log == []


class Bprop(nn.Cell):
    """x * y * y with its own bprop: (x + y, x * y)."""

    def construct(self, x, y):
        return x * y * y

    def bprop(self, x, y, out, dout):
        return x + y, x * y


def test_hooks_together_with_bprop():
    """All four kinds work on a cell with its own bprop: bpre before it, bwd with its result."""
    cell, log = Bprop(), Log()
    hang_all(cell, log)
    gradient = ms.grad(cell, (0, 1))(T(1), T(2))
    assert plain(gradient) == ([3], [2])
    assert log == [
        ("fpre", ([1], [2])), ("fwd", ([1], [2]), [4]), ("bpre", ([1],)), ("bwd", ([3], [2]), ([1],))]


def test_hooked_cells_inside_a_cell_with_bprop():
    """Their forward hooks run; their backward hooks do not, since nothing is differentiated there."""
    class Holder(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Square()

        def construct(self, x):
            return self.inner(x)

        def bprop(self, x, out, dout):
            return dout * 5

    cell, log = Holder(), Log()
    hang_all(cell.inner, log)
    assert plain(ms.grad(cell)(T(3))) == [5]
    assert [event[0] for event in log] == ["fpre", "fwd"]


def test_what_bprop_may_return():
    class Any1(nn.Cell):
        def __init__(self, returned):
            super().__init__()
            self.returned = returned

        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return self.returned

    assert plain(ms.grad(Any1(T(5)))(T(3))) == [5]
    assert plain(ms.grad(Any1((T(5), T(6))))(T(3))) == [5]
    assert plain(ms.grad(Any1((None,)))(T(3))) == [0]
    assert plain(ms.grad(Any1((Tensor([7]),)))(T(3))) == [7]
    with pytest.raises(TypeError, match="The python function output is none"):
        ms.grad(Any1(None))(T(3))
    with pytest.raises(RuntimeError, match="Hook fn grad output is empty"):
        ms.grad(Any1(()))(T(3))
    with pytest.raises(RuntimeError, match="should be broadcast to expected shape"):
        ms.grad(Any1(T(1, 2, 3)))(T(3, 4))


def test_second_order_through_bprop():
    """The computation of bprop is itself differentiated: d(x + y)/dx + d(x y)/dx."""
    first = ms.grad(Bprop())
    assert plain(ms.grad(first, (0, 1))(T(1), T(2))) == ([1], [1])


def test_the_older_signature():
    """hook_signature="cell_id": a string for the cell, and the gradients in the other order."""
    cell, seen = Square(), []
    cell.register_backward_hook(lambda cell_id, grad_input, grad_output: seen.append((cell_id, plain(grad_input), plain(grad_output))))
    cell.register_forward_pre_hook(lambda cell_id, inputs: seen.append(cell_id))
    ms.set_context(hook_signature="cell_id")
    try:
        ms.grad(cell)(T(3))
    finally:
        ms.set_context(hook_signature="cell")
    name, (again, grad_input, grad_output) = seen
    assert isinstance(name, str) and "Square" in name and again == name
    assert (grad_input, grad_output) == (([1],), ([6],))


def test_training_step_with_hooks():
    """A Dense whose input needs no gradient: its hook gets None for it, and the step is the same."""
    dense, log = nn.Dense(1, 1, weight_init="ones", bias_init="zeros"), Log()
    dense.register_backward_hook(log.backward("bwd"))
    step = nn.TrainOneStepCell(nn.WithLossCell(dense, nn.MSELoss()), nn.SGD(dense.trainable_params(), 0.5))
    loss = step(Tensor([[2.0]]), Tensor([[1.0]]))
    assert plain(loss) == 1
    assert log == [("bwd", (None,), ([[2]],))]
    assert plain(dense.weight) == [[-1]]


def test_recompute_runs_hooks_once():
    cell, log = Square(), Log()
    hang_all(cell, log)
    assert cell.recompute() is None
    assert plain(ms.grad(lambda x: cell(x * 2) * 3)(T(2))) == [48]
    assert log == [("fpre", ([4],)), ("fwd", ([4],), [16]), ("bpre", ([3],)), ("bwd", ([24],), ([3],))]
    cell.recompute(mp_comm_recompute=False)
    with pytest.raises(ValueError, match="keyword 'often' is not recognized"):
        cell.recompute(often=True)


def test_a_compiled_hook_is_called_by_its_name():
    @ms.jit
    def compiled(cell, grad_input, grad_output):
        return None

    for register in (Square().register_backward_hook, T(1).register_hook, ops.HookBackward):
        with pytest.raises(TypeError, match=r"^Decorating hook function compiled with '@jit' is not supported\.$"):
            register(compiled)


KINDS = ("forward_pre", "forward", "backward_pre", "backward")


def registering(first: str, second: str, before: bool, wrapped: Callable[..., Any]) -> list[Any]:
    """Return the calls of hooks, where one of a kind registers one of another on its own cell, in the second of four gradients."""
    calls, cell, handles = list[Any](), nn.ReLU(), list[Any]()
    if before:
        cell.register_backward_hook(lambda *given: None)

    def register(*given: Any) -> None:
        calls.append(first)
        if calls.count(first) == 2:
            handles.append(getattr(cell, f"register_{second}_hook")(lambda *given: calls.append(f"late {second}")))

    getattr(cell, f"register_{first}_hook")(register)
    gradient = wrapped(cell)
    for _ in range(4):
        calls.append(gradient(Tensor([1.0, -2.0])).asnumpy().tolist())
    return calls


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_a_hook_that_registers_another_on_its_own_cell(first: str, second: str, before: bool) -> None:
    """It runs in the same call if the turn of its kind is still to come, in every mode; so does MindSpore."""
    expected = registering(first, second, before, lambda cell: ms.grad(lambda x: cell(x).sum()))
    at_once = first == "forward_pre" != second or (first, second) == ("forward", "backward_pre")
    assert expected.count(f"late {second}") == 2 + at_once
    assert registering(first, second, before, lambda cell: ms.grad(ms.jit(lambda x: cell(x).sum()))) == expected
    assert registering(first, second, before, lambda cell: ms.jit(lambda x: ms.grad(lambda x: cell(x).sum())(x))) == expected
