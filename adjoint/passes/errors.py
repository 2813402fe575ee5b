"""The mistakes that passes find: E140 to E159."""

from __future__ import annotations

from adjoint.foundation.diagnostics import CompileError, Loc, printed_as
from adjoint.ir.errors import MISTAKES, Mistake
from adjoint.ir.op import NotDifferentiable

__all__ = [
    "ATTACHED_IN_TEST",
    "DRAWN_IN_BATCH",
    "LEAF_WRITTEN",
    "NOT_A_PIPELINE",
    "NO_DERIVATIVE",
    "NO_GRADIENT",
    "NO_LEAF",
    "PULLED_IN_LOOP",
    "RAGGED_BATCH",
    "STATE_UNDER_PULLBACK",
    "TEST_WRITES",
    "WRITTEN_IN_BATCH",
    "NoGradient",
]


@printed_as(CompileError)
class NoGradient(CompileError, NotDifferentiable):
    """Raised if a wanted gradient does not exist.  The diagnostic tells where and why."""

    kinds = (NotDifferentiable,)

    @staticmethod
    def of(mistake: Mistake, loc: Loc, why: str, help: str = "") -> NoGradient:
        return NoGradient(mistake.at(loc, why, help=help).diagnostic)


def _mistake(code: str, title: str, explanation: str) -> Mistake:
    if code in MISTAKES:
        raise ValueError(f"there are two mistakes called {code}")
    MISTAKES[code] = Mistake(code, title, explanation)
    return MISTAKES[code]


NOT_A_PIPELINE = _mistake(
    "E140",
    "not a pipeline",
    """
A pipeline is a list of passes separated by commas, with options in braces:

    inline,grad{wrt=[x, @w]},simplify,cse,dce

The help of the message lists the names of passes or options. A list is in brackets; a symbol may be written with its `@`;
a size is written `b:4`.
""",
)

NO_LEAF = _mistake(
    "E141",
    "no such parameter",
    """
`wrt` names what a gradient is taken with respect to: parameters of the function by name, parameters of the module by
symbol, as in `grad{wrt=[x, @w]}`. The function has no such parameter and the module no such symbol.
""",
)

STATE_UNDER_PULLBACK = _mistake(
    "E142",
    "state in a function with its own pullback",
    """
The function names its pullback (`vjp @f.bprop`), and it reads or writes parameters of the module. `lift-state` would turn
these into arguments and results, for which the given pullback has no cotangents. Pass the parameters as arguments
yourself, or leave the pullback to `grad`.
""",
)

TEST_WRITES = _mistake(
    "E143",
    "the test of a loop writes state",
    """
The test of a `while` runs once more than its body, and a parameter that it writes cannot be carried from one iteration to the next.
Move the write into the body.
""",
)

NO_GRADIENT = _mistake(
    "E144",
    "no gradient",
    """
A gradient was asked for through an op that has none; the message says why. Either the value does not matter for the
gradient (then mark it with `stop_gradient`), or the op can be replaced by others that have gradients, or you write its pullback:
a cell with a `bprop`, a function with `vjp`. If sizes have names, `f32[b, 3]`, some gradients need the pass `specialize`
first, which replaces the names by numbers.
""",
)

LEAF_WRITTEN = _mistake(
    "E145",
    "a parameter is written where its gradient is asked for",
    """
A gradient with respect to a parameter of the module is one sum over its reads, and a write in between would make them reads
of different values. Put `lift-state` before `grad`: it turns the parameter into an argument, and you differentiate with respect to that.

    lift-state,grad{wrt=[x, w]}

A gradient through a parameter, which is written with a value that depends on the input and then read, is an error too. Keep the value
in a variable, use that, and assign it to the parameter besides.
""",
)

ATTACHED_IN_TEST = _mistake(
    "E146",
    "a callback attached in the test of a loop",
    """
The test of a `while` runs once more than its body, so `attach!` in it would attach a callback once more than the loop runs.
That has no defined meaning. Attach the callback in the body.
""",
)

PULLED_IN_LOOP = _mistake(
    "E147",
    "a trace pulled in a loop",
    """
A `pull!` is in a loop, and its `record` is outside. In every iteration the `pull!` needs the values that the loops of the recorded region
have kept, so these loops are run again. One of them has effects that must not be repeated: it writes, draws random numbers or calls
Python. Record inside of the loop, or pull outside of it.
""",
)

WRITTEN_IN_BATCH = _mistake(
    "E148",
    "a parameter is written in a batch",
    """
A function that runs for each example of a batch writes a Parameter, and what it writes differs from example to example: one Parameter
cannot have the values of all of them. Return the value, and write it after `vmap`: its mean, or that of the last example.
""",
)

RAGGED_BATCH = _mistake(
    "E149",
    "a size that depends on the example",
    """
In a function that runs for each example of a batch, an operation gives as many elements as the example asks for, as `nonzero`, `unique`
and `x[mask]` do. The results of all examples then have no common shape. Keep the size of the example, with `where(mask, x, 0)`, or call the
function for one example after the other.
""",
)

DRAWN_IN_BATCH = _mistake(
    "E152",
    "random numbers in a branch or loop of a batch",
    """
A function that runs for each example of a batch draws random numbers in a branch or a loop that also calls hooks or another function of
Python. So the examples run one after the other, and each would draw other numbers, where `randomness="same"` asks for the same ones. Draw
the numbers before the branch, ask for `randomness="different"`, or call `vmap` outside of a graph: there the numbers begin again for each
example.
""",
)

NO_DERIVATIVE = _mistake(
    "E151",
    "no derivative in forward mode",
    """
A derivative along a direction (`jvp`, `jacfwd`, a `tangent` of the IR) was asked for through an op that has none; the message says why.
The derivative of an op is its gradient rule, transposed: so the op needs a gradient, and one that is made of nodes. A `bprop` of your own
runs in Python. In a program `jvp` transposes what the `bprop` computes, along the path of the run; IR that runs without Python, such as an
export, cannot. Give the rule as nodes then: operators with gradients in the place of the Cell, in the IR a function with `vjp`; or take the
derivative in reverse mode (`jacrev`, `vjp`). Where a value does not matter for the derivative, mark it with `stop_gradient`.
""",
)
