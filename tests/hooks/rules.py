"""Scenarios for single rules of docs/hooks.md, each with the log that the rule requires, written by hand."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import adjoint as ms
from adjoint import Parameter, nn, ops
from tests.hooks import programs
from tests.hooks.events import Square, T, Times, TwoOut, Weighted
from tests.hooks.kinds import hang_four
from tests.hooks.log import Boom, Event, F, Starts, Trace
from tests.hooks.modes import Mode
from tests.hooks.scenarios import add, ran

Scenario = Callable[[Mode, Trace], None]


def rule(*expected: Event) -> Callable[[Scenario], Scenario]:
    """A scenario with its log; without a log it is compared with eager mode."""
    def register(run: Scenario) -> Scenario:
        add(f"rule-{run.__name__}", run, list(expected) or None)
        return run

    return register


def got(value: Any, gradient: Any, label: str = "run") -> Event:
    """Return the event of a value with its gradient."""
    return (label, (value, gradient))


# -- order and arguments ----------------------------------------------------------------------------------------------
@rule(
    ("fpre1", (F(3),)), ("fpre2", (F(3),)), ("fwd1", (F(3),), F(9)), ("fwd2", (F(3),), F(9)),
    ("bpre1", (F(2),)), ("bpre2", (F(2),)), ("bwd1", (F(12),), (F(2),)), ("bwd2", (F(12),), (F(2),)), ran(18, 24, 9))
def two_of_each(mode, trace):
    net = programs.Line(mode.inner(Square()))
    hang_four(net.cell, trace, "1")
    hang_four(net.cell, trace, "2")
    trace.call("run", mode.gradient(net, [net.w]), T(1.5))


@rule(("fpre", (F(3),)), ("fwd", (F(3),), F(9)), ("run", F(18)), ("fpre", (F(-1),)), ("fwd", (F(-1),), F(1)), ("run", F(2)))
def forward_alone(mode, trace):
    """Without a gradient, backward hooks are not called."""
    net = programs.Line(mode.inner(Square()))
    hang_four(net.cell, trace)
    net.w.register_hook(trace.gradient("w"))
    net.mark = ops.HookBackward(trace.gradient("mark"))
    forward = mode.program(net)
    trace.call("run", forward, T(1.5))
    trace.call("run", forward, T(-0.5))


class Chain(nn.Cell):
    """c(b(x)) with cells b = 2 x, c = 3 x"""

    def __init__(self, mode: Mode):
        super().__init__()
        self.b = mode.inner(Times(2.0))
        self.c = mode.inner(Times(3.0))

    def construct(self, x):
        return self.c(self.b(x))


@rule(
    ("fpreO", (F(1),)), ("fpreb", (F(1),)), ("fwdb", (F(1),), F(2)), ("fprec", (F(2),)), ("fwdc", (F(2),), F(6)),
    ("fwdO", (F(1),), F(6)), ("bpreO", (F(1),)), ("bprec", (F(1),)), ("bwdc", (F(3),), (F(1),)), ("bpreb", (F(3),)),
    ("bwdb", (F(6),), (F(3),)), ("bwdO", (F(6),), (F(1),)), got(F(6), F(6)))
def nested(mode, trace):
    """The program itself is hooked too."""
    net = Chain(mode)
    for cell, name in ((net, "O"), (net.b, "b"), (net.c, "c")):
        hang_four(cell, trace, name)
    trace.call("run", mode.gradient(net), T(1))


@rule(("bpre", (F(1),)), ("bwd", (F(6),), (F(1),)), ("bpre", (F(2),)), ("bwd", (F(4),), (F(2),)), got(F(11), F(22)))
def called_twice(mode, trace):
    """c(x) * 2 + c(x * 3): the last call comes first, and each sees its own gradients."""
    cell = mode.inner(Square())
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(x):
        return cell(x) * 2 + cell(x * 3)

    trace.call("run", mode.gradient(program), T(1))


@rule(("bwd", (F(8),), (F(1),)), ("bwd", (F(32),), (F(8),)), got(F(16), F(32)))
def called_on_its_own_result(mode, trace):
    cell = mode.inner(Square())
    cell.register_backward_hook(trace.backward("bwd"))

    def program(x):
        return cell(cell(x))

    trace.call("run", mode.gradient(program), T(2))


@rule(("first", (F(3),), F(9)), ("second", (F(3),), F(9)), ("third", (F(3),), F(9)), ("run", F(18)))
def prepended(mode, trace):
    net = programs.Line(mode.inner(Square()))
    net.cell.register_forward_hook(trace.forward("second"))
    net.cell.register_forward_hook(trace.forward("third"))
    net.cell.register_forward_hook(trace.forward("first"), prepend=True)
    trace.call("run", mode.program(net), T(1.5))


@rule(("y", F(1)), ("bpre", (F(1),)), ("bwd", (F(4),), (F(1),)), ("a", F(4)), got(F(4), F(8)))
def together_with_values(mode, trace):
    """The hook of the output, the cell's, the hook of its input."""
    cell, hook_a, hook_y = mode.inner(Square()), trace.gradient("a"), trace.gradient("y")
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(x):
        a = x * 2
        a.register_hook(hook_a)
        y = cell(a)
        y.register_hook(hook_y)
        return y

    trace.call("run", mode.gradient(program), T(1))


@rule(("c", F(1)), ("b", F(4)), ("a", F(12)), got(F(24), F(24)))
def values_in_reverse(mode, trace):
    hooks = [trace.gradient(name) for name in "abc"]

    def program(x):
        a = x * 2
        a.register_hook(hooks[0])
        b = a * 3
        b.register_hook(hooks[1])
        c = b * 4
        c.register_hook(hooks[2])
        return c

    trace.call("run", mode.gradient(program), T(1))


# -- entries ----------------------------------------------------------------------------------------------------------
@rule(("bpre", (F(1), None)), ("bwd", (F(2), None), (F(1), None)), got(F(2), F(2)))
def an_output_not_used(mode, trace):
    cell = mode.inner(TwoOut())
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(a, b):
        return cell(a, b)[0]

    trace.call("run", mode.gradient(program), T(1), T(1))


@rule(("bpre", (F(1), None)), ("bwd", (F(2), None), (F(1), None)), got(F(2), F(2)))
def a_constant_argument(mode, trace):
    cell, constant = mode.inner(TwoOut()), T(5)
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(a):
        return cell(a, constant)[0]

    trace.call("run", mode.gradient(program), T(1))


@rule(("bpre", (F(1),)), ("bwd", (None,), (F(1),)), ("w", F(3)), got(F(4), (F(1), (F(3),))))
def weights_only(mode, trace):
    """No gradient flows to the argument: its entry is None."""
    cell, constant = mode.inner(Weighted()), T(3)
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))
    cell.w.register_hook(trace.gradient("w"))

    def program(x):
        return x + cell(constant) - 3

    trace.call("run", mode.gradient(program, [cell.w]), T(1))


@rule(got(F(7), F(1)))
def a_constant_and_no_weights_asked_for(mode, trace):
    cell, constant = mode.inner(Weighted()), T(3)
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))
    cell.w.register_hook(trace.gradient("w"))

    def program(x):
        return x + cell(constant)

    trace.call("run", mode.gradient(program), T(1))


@rule(("y", F(0)), ("mark", (F(0),)), ("bpre", (F(0),)), ("bwd", (F(0),), (F(0),)), got(F(0), F(0)))
def a_zero_is_a_gradient(mode, trace):
    cell, hook, mark = mode.inner(Square()), trace.gradient("y"), ops.HookBackward(trace.gradient("mark"))
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(x):
        y = mark(cell(x))
        y.register_hook(hook)
        return y * 0

    trace.call("run", mode.gradient(program), T(3))


@rule(("fpre", (F(3),)), ("fwd", (F(3),), F(9)), got(F(12), F(1)))
def behind_stop_gradient(mode, trace):
    cell = mode.inner(Square())
    hang_four(cell, trace)

    def program(x):
        return ops.stop_gradient(cell(x)) + x

    trace.call("run", mode.gradient(program), T(3))


class Scaled(nn.Cell):
    """x * factor + y"""

    def construct(self, x, factor, y=None):
        return x * factor if y is None else x * factor + y


@rule(
    ("fpre", (F(2), 3)), ("kwargs", (F(2), 3), {}), ("fwd", (F(2), 3), F(6)), ("bwd", (F(3),), (F(1),)), got(F(6), F(3)),
    ("fpre", (F(2), 3)), ("kwargs", (F(2), 3), {"y": F(4)}), ("fwd", (F(2), 3), F(10)), ("bwd", (F(3),), (F(1),)), got(F(10), F(5)))
def numbers_and_keywords(mode, trace):
    """Neither has an entry; keyword arguments are passed only with with_kwargs."""
    cell = mode.inner(Scaled())
    cell.register_forward_pre_hook(trace.forward_pre("fpre"))
    cell.register_forward_pre_hook(trace.forward_pre_kwargs("kwargs"), with_kwargs=True)
    cell.register_forward_hook(trace.forward("fwd"))
    cell.register_backward_hook(trace.backward("bwd"))

    def plain(x):
        return cell(x, 3)

    def keyword(x):
        return cell(x, 3, y=x * 2)

    trace.call("run", mode.gradient(plain), T(2))
    trace.call("run", mode.gradient(keyword), T(2))


@rule(("kwargs", (F(2), 3), {"y": F(4)}), ("fwd", (F(2), 5), {"y": F(8)}, F(18)), got(F(18), F(9)))
def keywords_replaced(mode, trace):
    cell = mode.inner(Scaled())

    def change(cell, args, kwargs):
        trace.add("kwargs", args, kwargs)
        return (args[0], 5), {"y": kwargs["y"] * 2}

    cell.register_forward_pre_hook(change, with_kwargs=True)
    cell.register_forward_hook(trace.forward_kwargs("fwd"), with_kwargs=True)

    def program(x):
        return cell(x, 3, y=x * 2)

    trace.call("run", mode.gradient(program), T(2))


@rule(("run", "raised", "RuntimeError", Starts(
    "forward pre hook with kwargs must return None or a tuple of (new_args, new_kwargs), but got ")), got(F(10), F(5)))
def keywords_replaced_by_something_else(mode, trace):
    cell = mode.inner(Scaled())

    def change(cell, args, kwargs):
        return args[0]

    handle = cell.register_forward_pre_hook(change, with_kwargs=True)

    def program(x):
        return cell(x, 3, y=x * 2)

    gradient = mode.gradient(program)
    trace.call("run", gradient, T(2))
    handle.remove()
    trace.call("run", gradient, T(2))


class NestedOut(nn.Cell):
    """2 x, (3 y, 4 z)"""

    def construct(self, x, y, z):
        return x * 2, (y * 3, z * 4)


@rule(("fwd", (F(1), F(1), F(1)), (F(2), (F(3), F(4)))), ("bpre", (F(1),)), ("bwd", (F(2), F(3), F(4)), (F(1),)), got(F(9), F(9)))
def nested_outputs(mode, trace):
    """They have no entry, but do have a gradient."""
    cell = mode.inner(NestedOut())
    cell.register_forward_hook(trace.forward("fwd"))
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(x):
        a, (b, c) = cell(x, x * 1, x * 1)
        return a + b + c

    trace.call("run", mode.gradient(program), T(1))


class NamedOut(nn.Cell):
    """2 x and 3 x by name"""

    def construct(self, x):
        return {"twice": x * 2, "thrice": x * 3}


@rule(("fwd", (F(1),), {"twice": F(2), "thrice": F(3)}), ("bpre", (None, F(1))), ("bwd", (F(3),), (None, F(1))), got(F(3), F(3)))
def named_outputs(mode, trace):
    cell = mode.inner(NamedOut())
    cell.register_forward_hook(trace.forward("fwd"))
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(x):
        return cell(x)["thrice"]

    trace.call("run", mode.gradient(program), T(1))


class Paired(nn.Cell):
    """The product of a pair"""

    def construct(self, pair):
        return pair[0] * pair[1]


@rule(("fpre", ((F(2), F(3)),)), ("fwd", ((F(2), F(3)),), F(6)), ("bwd", (None,), (F(1),)), got(F(6), F(3)))
def a_tuple_as_argument(mode, trace):
    """It is one item for the forward hooks, and has no entry."""
    cell, other = mode.inner(Paired()), T(3)
    cell.register_forward_pre_hook(trace.forward_pre("fpre"))
    cell.register_forward_hook(trace.forward("fwd"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(x):
        return cell((x, other))

    trace.call("run", mode.gradient(program), T(2))


# -- what is returned -------------------------------------------------------------------------------------------------
@rule(
    ("bpre1", (F(2),)), ("bpre2", (F(20),)), ("bwd1", (F(120),), (F(20),)), ("bwd2", (F(12000),), (F(20),)), ran(18, 24000, 9))
def each_sees_what_the_one_before_made(mode, trace):
    net = programs.Line(mode.inner(Square()))
    net.cell.register_backward_pre_hook(trace.backward_pre("bpre1", lambda g: (g[0] * 10,)))
    net.cell.register_backward_pre_hook(trace.backward_pre("bpre2"))
    net.cell.register_backward_hook(trace.backward("bwd1", lambda g: g[0] * 100))
    net.cell.register_backward_hook(trace.backward("bwd2"))
    trace.call("run", mode.gradient(net, [net.w]), T(1.5))


@rule(("bwd", (F(2), F(3)), (F(1), F(1))), ("run", "raised", "TypeError", Starts(
    "The backward hook return value size is 1 not equal to expect grad input size 2")),
    ("bwd", (F(2), F(3)), (F(1), F(1))), got(F(5), F(5)))
def two_entries_need_two(mode, trace):
    cell = mode.inner(TwoOut())
    handle = cell.register_backward_hook(trace.backward("bwd", lambda g: g[0]))

    def program(x):
        a, b = cell(x, x)
        return a + b

    gradient = mode.gradient(program)
    trace.call("run", gradient, T(1))
    handle.remove()
    cell.register_backward_hook(trace.backward("bwd"))
    trace.call("run", gradient, T(1))


@rule(("fwd", (F(2),), F(2)), ("bpre", (F(1),)), ("bwd", (F(2),), (F(2),)), got(F(4), (F(2), F(2))))
def what_each_kind_captures(mode, trace):
    """The tutorial's last example: what forward hooks add is outside of the backward hook, and inside of the pre hook."""
    cell = mode.inner(nn.ReLU())
    cell.register_forward_pre_hook(lambda cell, args: args[0])
    cell.register_forward_hook(trace.forward("fwd", lambda y: y + y))
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd"))

    def program(pair):
        return cell(pair[0] + pair[1])

    trace.call("run", mode.gradient(program), (T(1), T(1)))


@rule(("fpre", (F(3),)), ("bwd", (F(16),), (F(2),)), ran(32, 320, 16))
def pre_hooks_lie_outside(mode, trace):
    """The result of forward pre hooks, 10 y - 26, is outside of what the backward hook sees; the gradient flows through it."""
    net = programs.Line(mode.inner(Square()))
    net.cell.register_forward_pre_hook(trace.forward_pre("fpre", lambda args: args[0] * 10))
    net.cell.register_forward_pre_hook(lambda cell, args: (args[0] - 26,))
    net.cell.register_backward_hook(trace.backward("bwd"))
    trace.call("run", mode.gradient(net, [net.w]), T(1.5))


@rule(*[("seen", F(112)), ran(18, 24, 9)] * 2)
def changed_in_place(mode, trace):
    """Only the value that a hook returns counts."""
    net = programs.Line(mode.inner(Square()))

    def change(cell, grad_input, grad_output):
        grad_input[0].add_(100.0)
        trace.add("seen", grad_input[0])

    net.cell.register_backward_hook(change)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    trace.call("run", gradient, T(1.5))


@rule(ran(18, 24, 9), ran(50, 40, 25), ("kept", [F(12), F(20)], [F(2), F(2)]))
def kept_for_later(mode, trace):
    """A tensor passed to a hook may be kept."""
    net, inputs, outputs = programs.Line(mode.inner(Square())), [], []

    def keep(cell, grad_input, grad_output):
        inputs.append(grad_input[0])
        outputs.append(grad_output[0])

    net.cell.register_backward_hook(keep)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    trace.call("run", gradient, T(2.5))
    trace.add("kept", inputs, outputs)


@rule(ran(18, 24, 9), ran(50, 40, 25), ("kept", [F(3), F(5)], [F(9), F(25)]))
def kept_from_the_forward(mode, trace):
    net, inputs, outputs = programs.Line(mode.inner(Square())), [], []

    def keep(cell, args, output):
        inputs.append(args[0])
        outputs.append(output)

    net.cell.register_forward_hook(keep)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    trace.call("run", gradient, T(2.5))
    trace.add("kept", inputs, outputs)


# -- value hooks ------------------------------------------------------------------------------------------------------
@rule(("y", F(8)), got(F(16), F(160)))
def the_total_gradient(mode, trace):
    """A hook registered between two uses."""
    hook = trace.gradient("y", lambda g: g * 10)

    def program(x):
        y = x * 2
        z = y * 3
        y.register_hook(hook)
        return z + y * 5

    trace.call("run", mode.gradient(program), T(1))


@rule(("first", F(3)), ("second", F(4)), got(F(6), F(80)))
def several_on_one_value(mode, trace):
    hook, again = trace.gradient("first", lambda g: g + 1), trace.gradient("second", lambda g: g * 10)

    def program(x):
        y = x * 2
        y.register_hook(hook)
        y.register_hook(again)
        return y * 3

    trace.call("run", mode.gradient(program), T(1))


class OnItsArgument(nn.Cell):
    """12 x - 6, with an optional hook on x."""

    def __init__(self) -> None:
        super().__init__()
        self.hook: Any = None

    def construct(self, x):
        if self.hook is not None:
            x.register_hook(self.hook)
        return x * 12 - 6


@rule(("inside", F(12)), got(F(6), F(12)), got(F(6), F(12)))
def on_an_argument_inside(mode, trace):
    """A hook that the program registers on its own argument applies to this run."""
    net, x = OnItsArgument(), T(1)
    gradient = mode.gradient(net)
    net.hook = trace.gradient("inside")
    trace.call("run", gradient, x)
    net.hook = None
    trace.call("run", gradient, x)


@rule(("inside", F(12)), ("outside", F(12)), got(F(6), F(12)), ("outside", F(12)), got(F(6), F(12)), got(F(6), F(12)))
def on_an_argument_inside_and_outside(mode, trace):
    """A cell's arguments are new tensors, so its hook comes first, and applies only to its run."""
    net, x = OnItsArgument(), T(1)
    gradient = mode.gradient(net)
    handle = x.register_hook(trace.gradient("outside"))
    net.hook = trace.gradient("inside")
    trace.call("run", gradient, x)
    net.hook = None
    trace.call("run", gradient, x)
    handle.remove()
    trace.call("run", gradient, x)


@rule(("fired", ["inside", "outside"]), ("fired", ["outside"]), ("fired", []))
def on_an_argument_inside_a_function(mode, trace):
    """A hook that a run registers on its argument does not stay on the caller's tensor."""
    fired: list[str] = []

    def inside(grad):
        fired.append("inside")

    def outside(grad):
        fired.append("outside")

    hooks, x = [inside], T(1)

    def program(x):
        for hook in hooks:
            x.register_hook(hook)
        return x * 12 - 6

    gradient = mode.gradient(program)
    handle = x.register_hook(outside)
    for leave in (hooks.clear, handle.remove, fired.clear):
        fired.clear()
        gradient(x)
        trace.add("fired", sorted(fired))
        leave()


@rule(("a", F(3, 3)), got(F(3, 6), F(3, 3)))
def one_of_two_results(mode, trace):
    """The hook of the unused result is not called."""
    hook_a, hook_b = trace.gradient("a"), trace.gradient("b")

    def program(x):
        a, b = ops.split(ops.concat((x, x * 2)), 2)
        a.register_hook(hook_a)
        b.register_hook(hook_b)
        return a * 3

    trace.call("run", mode.gradient(program), T(1, 2))


@rule(("w", F(3)), got(F(6), (F(6), (F(300),))), got(F(6), F(6)), got(F(6), (F(6), (F(0),))))
def on_a_parameter(mode, trace):
    """Once, with the sum over all uses; not if its gradient is not requested, and not if it is frozen."""
    cell = mode.inner(Weighted())
    cell.w.register_hook(trace.gradient("w", lambda g: g * 100))

    def program(x):
        return cell(x) + cell(x * 2)

    trace.call("run", mode.gradient(program, [cell.w]), T(1))
    trace.call("run", mode.gradient(program), T(1))
    cell.w.requires_grad = False
    trace.call("run", mode.gradient(program, [cell.w]), T(1))


@rule(("a", F(3)), ("b", F(2)), got(F(6), (F(6), (F(3), F(2)))), ("b", F(2)), ("a", F(3)), got(F(6), (F(6), (F(3), F(2)))))
def among_parameters(mode, trace):
    """In reverse order of first use."""
    a, b = Parameter(T(2), name="a"), Parameter(T(3), name="b")
    a.register_hook(trace.gradient("a"))
    b.register_hook(trace.gradient("b"))

    def b_first(x):
        return x * b * a

    def a_first(x):
        return x * a * b

    trace.call("run", mode.gradient(b_first, [a, b]), T(1))
    trace.call("run", mode.gradient(a_first, [a, b]), T(1))


@rule(("mark", (F(3), F(0))), got(F(3), F(30)))
def mark_on_several(mode, trace):
    """HookBackward on two values: zeros for the unused one."""
    mark = ops.HookBackward(trace.gradient("mark", lambda g: (g[0] * 10, g[1] * 100)))

    def program(x):
        a, _ = mark(x, x * 2)
        return a * 3

    trace.call("run", mode.gradient(program), T(1))


@rule(("mark", (F(3),)), got(F(16), F(16)))
def mark_sees_its_own_results(mode, trace):
    mark = ops.HookBackward(trace.gradient("mark"))

    def program(x):
        y = x * 2
        return mark(y) * 3 + y * 5

    trace.call("run", mode.gradient(program), T(1))


@rule(("mark", (F(3),)), ("mark", (F(2),)), got(F(17), F(17)))
def mark_once_a_use(mode, trace):
    mark = ops.HookBackward(trace.gradient("mark"))

    def program(x):
        return mark(x) * 2 + mark(x * 5) * 3

    trace.call("run", mode.gradient(program), T(1))


@rule(got(F(6), F(1)), got(F(6), F(1)))
def mark_where_nothing_flows(mode, trace):
    mark, constant = ops.HookBackward(trace.gradient("mark")), T(3)

    def on_a_constant(x):
        return x + mark(constant)

    def behind(x):
        return x + ops.stop_gradient(mark(x))

    trace.call("run", mode.gradient(on_a_constant), T(3))
    trace.call("run", mode.gradient(behind), T(3))


@rule(("run", "raised", "ValueError", Starts("The tuple size of output gradient should be 2, but it is 3")),
      ("run", "raised", "TypeError", Starts("The output gradient should be a tuple!")), got(F(3), F(3)))
def mark_on_several_wrong(mode, trace):
    returned: list[Any] = [(T(1), T(1), T(1)), T(1), None]

    def hook(grads):
        return returned.pop(0)

    mark = ops.HookBackward(hook)

    def program(x):
        a, b = mark(x, x * 2)
        return a + b

    gradient = mode.gradient(program)
    for _ in range(3):
        trace.call("run", gradient, T(1))


# -- custom bprop -----------------------------------------------------------------------------------------------------
class Invented(nn.Cell):
    """x * y * y with its own bprop: (x + y, x * y)."""

    def construct(self, x, y):
        return x * y * y

    def bprop(self, x, y, out, dout):
        return x + y, x * y


@rule(
    ("fpre", (F(1), F(2))), ("fwd", (F(1), F(2)), F(4)), ("bpre", (F(1),)), ("bwd", (F(3), F(2)), (F(1),)), got(F(4), F(7)),
    got(F(4), F(7)))
def four_kinds_and_bprop(mode, trace):
    """d/dx of c(x, 2 x) is 3 + 2 * 2."""
    cell = mode.inner(Invented())
    handles = hang_four(cell, trace)

    def program(x):
        return cell(x, x * 2)

    gradient = mode.gradient(program)
    trace.call("run", gradient, T(1))
    for handle in handles:
        handle.remove()
    trace.call("run", gradient, T(1))


class Holder(nn.Cell):
    """A cell inside of one with its own bprop."""

    def __init__(self, inner: nn.Cell):
        super().__init__()
        self.inner = inner

    def construct(self, x):
        return self.inner(x)

    def bprop(self, x, out, dout):
        return dout * 5


@rule(("fpre", (F(3),)), ("fwd", (F(3),), F(9)), got(F(9), F(5)))
def inside_of_bprop(mode, trace):
    """Forward hooks run, backward hooks do not, since nothing is differentiated there."""
    cell = Holder(mode.inner(Square()))
    hang_four(cell.inner, trace)

    def program(x):
        return cell(x)

    trace.call("run", mode.gradient(program), T(3))


# -- forward hooks that compute ---------------------------------------------------------------------------------------
@rule(("bwd", (F(36),), (F(2),)), ("bwd before", (F(228),), (F(38),)), ran(180, 456, 90))
def a_skip_from_an_output(mode, trace):
    """An output kept by one hook is added by another: b * b + b at b = 9."""
    net, kept = programs.Two(mode.inner(Square()), mode.inner(Square())), []

    def keep(cell, args, output):
        kept.append(output)

    def use(cell, args, output):
        return output + kept[-1]

    net.before.register_forward_hook(keep)
    net.cell.register_forward_hook(use)
    net.before.register_backward_hook(trace.backward("bwd before"))
    net.cell.register_backward_hook(trace.backward("bwd"))
    trace.call("run", mode.gradient(net, [net.w]), T(1.5))


@rule(("bwd before", (F(216),), (F(36),)), ran(168, 436, 84), ("count", 1))
def a_skip_from_an_argument(mode, trace):
    """b * b + y at y = 3: the part that bypasses the cell is not in what its backward hook sees."""
    net, kept = programs.Two(mode.inner(Square()), mode.inner(Square())), []

    def keep(cell, args, output):
        kept.append(args[0])

    def use(cell, args, output):
        return output + kept[-1]

    net.before.register_forward_hook(keep)
    net.cell.register_forward_hook(use)
    net.before.register_backward_hook(trace.backward("bwd before"))
    trace.call("run", mode.gradient(net, [net.w]), T(1.5))
    trace.add("count", len(kept))


@rule(("extra", F(18)), ("run", (F(54), (F(72), (F(27), F(18))))), ("extra", F(18)), ("run", (F(72), (F(96), (F(36), F(18))))))
def a_parameter_in_a_hook(mode, trace):
    """output * extra with a parameter unknown to the program, also after it was assigned."""
    net, extra = programs.Line(mode.inner(Square())), Parameter(T(3), name="extra")
    extra.register_hook(trace.gradient("extra"))

    def use(cell, args, output):
        return output * extra

    net.cell.register_forward_hook(use)
    gradient = mode.gradient(net, [net.w, extra])
    trace.call("run", gradient, T(1.5))
    extra.set_data(T(4))
    trace.call("run", gradient, T(1.5))


@rule(("run", (F(54), (F(72), (F(27),)))), ("run", (F(18), (F(24), (F(9),)))))
def the_cells_weight_in_a_hook(mode, trace):
    """A hook computes with attributes of its cell: y * y + y * y * 2."""
    cell = mode.inner(Square())
    cell.factor = 2.0
    net = programs.Line(cell)

    def use(cell, args, output):
        return output + args[0] * args[0] * cell.factor

    net.cell.register_forward_hook(use)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    cell.factor = 0.0
    trace.call("run", gradient, T(1.5))


@rule(("count", 1), ("run", (F(18, 18), (F(48), (F(18),)))), ("count", 2), ("run", (F(50, 50), (F(80), (F(50),)))))
def another_shape(mode, trace):
    net, count = programs.Line(mode.inner(Square())), []

    def twice(cell, args, output):
        count.append(1)
        trace.add("count", len(count))
        return ops.concat((output, output))

    net.cell.register_forward_hook(twice)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    trace.call("run", gradient, T(2.5))


class Unpacked(programs.Program):
    """The sum of the two values that a hook makes from the cell's one result."""

    def construct(self, x):
        a, b = self.cell(x * 2)
        return a * self.w + b


@rule(("count", 1), ran(45, 60, 9), ("count", 2), ran(125, 100, 25), ("count", 3), ("run", F(45)))
def a_pair_instead_of_a_tensor(mode, trace):
    """z, 3 z: 2 z + 3 z"""
    net, count = Unpacked(mode.inner(Square())), []

    def pair(cell, args, output):
        count.append(1)
        trace.add("count", len(count))
        return output, output * 3

    net.cell.register_forward_hook(pair)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    trace.call("run", gradient, T(2.5))
    trace.call("run", mode.program(net), T(1.5))


@rule(("run", F(18)), ("run", F(180)), ("run", F(2, 4)), ("run", F(10)), ("run", F(18)), ("count", 5))
def another_kind_of_result_each_time(mode, trace):
    """Nothing, a tensor, another shape, a number, nothing."""
    net, count = programs.Line(mode.inner(Square())), []

    def fickle(cell, args, output):
        count.append(1)
        return [None, output * 10, T(1, 2), 5, None][len(count) - 1]

    net.cell.register_forward_hook(fickle)
    forward = mode.program(net)
    for _ in range(5):
        trace.call("run", forward, T(1.5))
    trace.add("count", len(count))


@rule(ran(18, 24, 9), ran(50, 40, 25), ran(2, 0, 1), ran(18, 24, 9))
def a_decision_in_a_hook(mode, trace):
    """A hook that depends on the numbers: above 30 it returns ones."""
    net = programs.Line(mode.inner(Square()))

    def decide(cell, args, output):
        if output.asnumpy()[0] > 30:
            return ops.ones_like(output)
        return None

    net.cell.register_forward_hook(decide)
    gradient = mode.gradient(net, [net.w])
    for value in (1.5, 2.5, 3.5, 1.5):
        trace.call("run", gradient, T(value))


@rule(("pre", 1), ("run", F(32)), ("pre", 2), ("run", F(8, 32)), ("pre", 3), ("run", F(32)))
def another_shape_of_arguments(mode, trace):
    net, count = programs.Line(mode.inner(Square())), []

    def pre(cell, args):
        count.append(1)
        trace.add("pre", len(count))
        return T(4) if len(count) != 2 else (T(2, 4),)

    net.cell.register_forward_pre_hook(pre)
    forward = mode.program(net)
    for _ in range(3):
        trace.call("run", forward, T(1.5))


@rule(("run", (F(73.5), (F(97), (F(36),)))))
def another_shape_in_a_branch(mode, trace):
    """One hook makes two elements of one, the next 2 * their sum: z' = 4 z."""
    net = programs.Branch(mode.inner(Square()))

    def twice(cell, args, output):
        return ops.concat((output, output))

    def summed(cell, args, output):
        return ops.sum(output, 0, True) * 2

    net.cell.register_forward_hook(twice)
    net.cell.register_forward_hook(summed)
    trace.call("run", mode.gradient(net, [net.w]), T(1.5))


# -- hooks are Python -------------------------------------------------------------------------------------------------
_seen_globally: list[str] = []
_total = 0


@rule(
    ("text", "before [3.]\nafter [9.]\nmark [12.]\nbefore [5.]\nafter [25.]\nmark [20.]\n"),
    ("list", ["before", "after", "mark"] * 2), ("total", 32))
def printing_appending_counting(mode, trace):
    """The print, append and change of a global of each call are seen, in order."""
    global _total
    net = programs.Line(mode.inner(Square()))
    _seen_globally.clear()
    _total = 0

    def before(cell, args):
        print("before", args[0])
        _seen_globally.append("before")

    def after(cell, args, output):
        print("after", output)
        _seen_globally.append("after")

    def mark(grads):
        global _total
        print("mark", grads[0])
        _seen_globally.append("mark")
        _total += int(grads[0].asnumpy()[0])

    net.cell.register_forward_pre_hook(before)
    net.cell.register_forward_hook(after)
    net.mark = ops.HookBackward(mark)
    gradient = mode.gradient(net, [net.w])
    with contextlib.redirect_stdout(io.StringIO()) as out:
        gradient(T(1.5))
        gradient(T(2.5))
    trace.add("text", out.getvalue())
    trace.add("list", list(_seen_globally))
    trace.add("total", _total)


@rule(("inner", F(12)), ran(18, 24, 9), ("inner", F(12)), ran(18, 24, 9))
def a_gradient_in_a_hook(mode, trace):
    """A backward hook that takes a gradient."""
    net = programs.Line(mode.inner(Square()))

    def cube(x):
        return x * x * x

    def hook(cell, grad_input, grad_output):
        trace.add("inner", ms.grad(cube)(T(2)))

    net.cell.register_backward_hook(hook)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    trace.call("run", gradient, T(1.5))


@rule(("inner", F(16)), ran(18, 24, 9), ("inner", F(16)), ran(18, 24, 9))
def the_cell_in_its_own_forward_hook(mode, trace):
    """A forward hook calls its own cell; a flag prevents infinite recursion."""
    net, busy = programs.Line(mode.inner(Square())), []

    def hook(cell, args, output):
        if not busy:
            busy.append(True)
            trace.add("inner", cell(T(4)))
            busy.clear()

    net.cell.register_forward_hook(hook)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    trace.call("run", gradient, T(1.5))


class Method:
    """An object whose call and whose method are hooks"""

    def __init__(self, trace: Trace):
        self.trace = trace

    def __call__(self, cell, grad_input, grad_output):
        self.trace.add("called", grad_input)

    def method(self, cell, grad_input, grad_output):
        self.trace.add("method", grad_input)


@rule(
    ("called", (F(12),)), ("method", (F(12),)), ("called", (F(12),)), ran(18, 24, 9),
    ("called", (F(12),)), ("method", (F(12),)), ran(18, 24, 9))
def callables(mode, trace):
    """Objects and bound methods; one registered twice runs twice, and each handle removes its own."""
    net, method = programs.Line(mode.inner(Square())), Method(trace)
    net.cell.register_backward_hook(method)
    net.cell.register_backward_hook(method.method)
    handle = net.cell.register_backward_hook(method)
    gradient = mode.gradient(net, [net.w])
    trace.call("run", gradient, T(1.5))
    handle.remove()
    trace.call("run", gradient, T(1.5))


@rule(("fwd", (F(3),), F(9)), ran(18, 24, 9), ran(18, 24, 9))
def a_handle_in_a_with_statement(mode, trace):
    net = programs.Line(mode.inner(Square()))
    gradient = mode.gradient(net, [net.w])
    with net.cell.register_forward_hook(trace.forward("fwd")):
        trace.call("run", gradient, T(1.5))
    trace.call("run", gradient, T(1.5))


# -- exceptions -------------------------------------------------------------------------------------------------------
class Failing(nn.Cell):
    """Raises where `fails` says so"""

    def __init__(self) -> None:
        super().__init__()
        self.fails = True

    def construct(self, x):
        if self.fails:
            raise ValueError("construct failed")
        return x * x


@rule(("fpre", (F(3),)), ("always", (F(3),), None), ("run", "raised", "ValueError", "construct failed"),
      ("fpre", (F(3),)), ("plain", (F(3),), F(9)), ("always", (F(3),), F(9)), ("run", F(18)))
def always_called(mode, trace):
    """With always_call, a forward hook runs if construct raises, with None as output."""
    net = programs.Line(mode.inner(Failing()))
    net.cell.register_forward_pre_hook(trace.forward_pre("fpre"))
    net.cell.register_forward_hook(trace.forward("plain"))
    net.cell.register_forward_hook(trace.forward("always"), always_call=True)
    forward = mode.program(net)
    trace.call("run", forward, T(1.5))
    net.cell.fails = False
    trace.call("run", forward, T(1.5))


def in_the_middle(which: str) -> Scenario:
    """The hook of one kind on the inner cell of three raises once; later calls are unaffected."""
    def run(mode, trace):
        net = Chain(mode)
        for cell, name in ((net, "O"), (net.b, "b"), (net.c, "c")):
            hang_four(cell, trace, name)
        armed = [True]

        def hook(*args):
            if armed:
                armed.clear()
                raise Boom("boom")

        handle = getattr(net.b, f"register_{which}_hook")(hook)
        gradient, forward = mode.gradient(net), mode.program(net)
        trace.call("run", gradient, T(1))
        trace.call("run", gradient, T(1))
        armed.append(True)
        trace.call("forward", forward, T(1))
        trace.call("run", gradient, T(1))
        handle.remove()
        trace.call("forward", forward, T(2))
        trace.call("run", gradient, T(2))

    return run


for _which in ("forward_pre", "forward", "backward_pre", "backward"):
    add(f"rule-raises-in-the-middle-{_which}", in_the_middle(_which))


@rule(("same", True), ("same", True), ran(18, 24, 9))
def the_very_exception(mode, trace):
    """The caller gets the same exception object that the hook raised."""
    net, boom = programs.Line(mode.inner(Square())), Boom("boom")

    def hook(*args):
        raise boom

    gradient = mode.gradient(net, [net.w])
    for register in (net.cell.register_forward_hook, net.cell.register_backward_hook):
        handle = register(hook)
        try:
            gradient(T(1.5))
        except Boom as raised:
            trace.add("same", raised is boom)
        handle.remove()
    trace.call("run", gradient, T(1.5))


# -- two orders -------------------------------------------------------------------------------------------------------
@rule(
    ("bpre", (F(2),)), ("bwd", (F(8),), (F(2),)), ("bpre", (F(1),)), ("bwd", (F(44),), (F(1),)), got(F(84), F(480)))
def second_order_of_a_cell(mode, trace):
    """Sq(x) * x at 2 with a backward hook * 10, which multiplies in both passes."""
    cell = mode.inner(Square())
    cell.register_backward_pre_hook(trace.backward_pre("bpre"))
    cell.register_backward_hook(trace.backward("bwd", lambda g: g[0] * 10))

    def program(x):
        return cell(x) * x

    trace.call("run", mode.gradient(program, order=2), T(2))


@rule(("y", F(2)), ("y", F(1)), got(F(84), F(120)))
def second_order_of_a_value(mode, trace):
    hook = trace.gradient("y", lambda g: g * 10)

    def program(x):
        y = x * x
        y.register_hook(hook)
        return y * x

    trace.call("run", mode.gradient(program, order=2), T(2))


@rule(("mark", (F(2),)), ("mark", (F(1),)), got(F(84), F(120)))
def second_order_of_a_mark(mode, trace):
    mark = ops.HookBackward(trace.gradient("mark", lambda g: g[0] * 10))

    def program(x):
        return mark(x * x) * x

    trace.call("run", mode.gradient(program, order=2), T(2))


@rule(got(F(7), F(5)))
def second_order_of_bprop(mode, trace):
    """What bprop computes is differentiated: x + y gives 1, 4 x gives 4."""
    cell = mode.inner(Invented())

    def program(x):
        return cell(x, ops.stop_gradient(x * 2)) + x * x * 2

    trace.call("run", mode.gradient(program, order=2), T(1))


# -- cells in lists, loops and branches -------------------------------------------------------------------------------
class Listed(nn.Cell):
    """The cells of a list, one after the other"""

    def __init__(self, cells: list[nn.Cell]):
        super().__init__()
        self.blocks = nn.CellList(cells)

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return x


@rule(
    ("fpre0", (F(1),)), ("fwd0", (F(1),), F(2)), ("fpre1", (F(2),)), ("fwd1", (F(2),), F(4)), ("fpre2", (F(4),)), ("fwd2", (F(4),), F(12)),
    ("bpre2", (F(1),)), ("bwd2", (F(3),), (F(1),)), ("bpre1", (F(3),)), ("bwd1", (F(12),), (F(3),)),
    ("bpre0", (F(12),)), ("bwd0", (F(24),), (F(12),)), got(F(12), F(24)))
def cells_of_a_list(mode, trace):
    """The hooks of the list itself never run."""
    net = Listed([mode.inner(Times(2.0)), mode.inner(Square()), mode.inner(Times(3.0))])
    hang_four(net.blocks, trace, "list")
    for i, block in enumerate(net.blocks):
        hang_four(block, trace, str(i))
    trace.call("run", mode.gradient(net), T(1))


class Chosen(nn.Cell):
    """One of two cells, depending on the sum of x; then a cell that both paths share."""

    def __init__(self, mode: Mode):
        super().__init__()
        self.a, self.b, self.shared = mode.inner(Times(2.0)), mode.inner(Times(3.0)), mode.inner(Square())

    def construct(self, x):
        if ops.sum(x) > 0:
            y = self.a(x)
        else:
            y = self.shared(self.b(x))
        return self.shared(y)


@rule(
    ("fprea", (F(1),)), ("fwda", (F(1),), F(2)), ("fpres", (F(2),)), ("fwds", (F(2),), F(4)),
    ("bpres", (F(1),)), ("bwds", (F(4),), (F(1),)), ("bprea", (F(4),)), ("bwda", (F(8),), (F(4),)), got(F(4), F(8)),
    ("fpreb", (F(-1),)), ("fwdb", (F(-1),), F(-3)), ("fpres", (F(-3),)), ("fwds", (F(-3),), F(9)),
    ("fpres", (F(9),)), ("fwds", (F(9),), F(81)),
    ("bpres", (F(1),)), ("bwds", (F(18),), (F(1),)), ("bpres", (F(18),)), ("bwds", (F(-108),), (F(18),)),
    ("bpreb", (F(-108),)), ("bwdb", (F(-324),), (F(-108),)), got(F(81), F(-324)))
def one_of_two_cells(mode, trace):
    net = Chosen(mode)
    for cell, name in ((net.a, "a"), (net.b, "b"), (net.shared, "s")):
        hang_four(cell, trace, name)
    gradient = mode.gradient(net)
    trace.call("run", gradient, T(1))
    trace.call("run", gradient, T(-1))


class ManySums(nn.Cell):
    """A tensor hook in each iteration, on a value that the next iteration reads."""

    def __init__(self, hooks: list[Any]):
        super().__init__()
        self.hooks_of_rounds = hooks

    def construct(self, x):
        y = x * 1
        for hook in self.hooks_of_rounds:
            y = y * 3
            y.register_hook(hook)
        return y


@rule(("round 2", F(1)), ("round 1", F(3)), ("round 0", F(9)), got(F(27), F(27)), got(F(1), F(1)))
def another_hook_each_round(mode, trace):
    net = ManySums([trace.gradient(f"round {i}") for i in range(3)])
    gradient = mode.gradient(net)
    trace.call("run", gradient, T(1))
    net.hooks_of_rounds = []
    trace.call("run", gradient, T(1))


@rule(("inner", F(2)), ("lambda", F(72)), got(F(18), F(144)))
def hooks_made_in_the_program(mode, trace):
    """A function and a lambda that the program itself defines are hooks like any other."""
    def program(x):
        def inner(grad):
            trace.add("inner", grad)
            return grad * 6

        y = x * 2
        y.register_hook(lambda grad: trace.add("lambda", grad))
        z = y * y
        z.register_hook(inner)
        return z * 2

    trace.call("run", mode.gradient(program), T(1.5))
