"""The mistakes that passes find: E140 to E159."""

from __future__ import annotations

from adjoint.diagnostics import CompileError, Loc, printed_as
from adjoint.ir.errors import MISTAKES, Mistake
from adjoint.ir.op import NotDifferentiable

__all__ = [
    "ATTACHED_IN_TEST",
    "LEAF_WRITTEN",
    "NOT_A_PIPELINE",
    "NO_GRADIENT",
    "NO_LEAF",
    "PULLED_IN_LOOP",
    "STATE_UNDER_PULLBACK",
    "TEST_WRITES",
    "NoGradient",
]


@printed_as(CompileError)
class NoGradient(CompileError, NotDifferentiable):
    """A gradient was asked for where there is none: the diagnostic says where and why."""

    kinds = (NotDifferentiable,)

    @staticmethod
    def of(mistake: Mistake, loc: Loc, why: str) -> NoGradient:
        return NoGradient(mistake.at(loc, why).diagnostic)


def _mistake(code: str, title: str, explanation: str) -> Mistake:
    if code in MISTAKES:
        raise ValueError(f"there are two mistakes called {code}")
    MISTAKES[code] = Mistake(code, title, explanation)
    return MISTAKES[code]


NOT_A_PIPELINE = _mistake(
    "E140",
    "not a pipeline",
    """
A pipeline is written as passes with commas between them, options in braces:

    inline,grad{wrt=[x, @w]},simplify,cse,dce

Names of passes and options are listed in the help of the message. A list stands in brackets; a symbol may bear its `@`;
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
    "state under a pullback of its own",
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
The test of a `while` runs once more than its body, and a parameter that it writes cannot be carried from round to round.
Move the write into the body.
""",
)

NO_GRADIENT = _mistake(
    "E144",
    "no gradient",
    """
A gradient was asked for through an op that has none; the message says why. Either the value does not matter for the
gradient (then `stop_gradient` says so), or the op can be written with others that have gradients, or it gets a pullback of
its own: a cell with a `bprop`, a function with `vjp`. Where sizes have names, `f32[b, 3]`, some gradients need `specialize`
before: the pass that puts numbers in their place.
""",
)

LEAF_WRITTEN = _mistake(
    "E145",
    "a parameter is written where its gradient is asked for",
    """
A gradient with respect to a parameter of the module is one sum over its reads, and a write in between would make them reads
of different values. Put `lift-state` before `grad`: it makes the parameter an argument, by which you differentiate.

    lift-state,grad{wrt=[x, w]}
""",
)

ATTACHED_IN_TEST = _mistake(
    "E146",
    "a callback attached in the test of a loop",
    """
`attach!` in the test of a `while` hangs a callback on a value once more than the loop runs, which is nowhere given a meaning.
Attach it in the body.
""",
)

PULLED_IN_LOOP = _mistake(
    "E147",
    "a trace pulled in a loop",
    """
A `pull!` in a loop, of a `record` outside of it, takes apart what the loops of the recorded region have kept, once in every round.
For that they are run again, and one of these has effects: it writes, draws random numbers or calls the host. Record inside of the
loop, or pull outside of it.
""",
)
