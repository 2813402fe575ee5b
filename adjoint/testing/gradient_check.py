"""`check_gradients`: compare the gradients of a function with differences, and name the rule that is wrong.

The function is run once on a tape.  Its gradient is the one that every program gets: in its own dtype, with its kernels, hooks and bprops.
The differences are of the nodes that the tape has recorded, computed by NumPy in float64 (`in_float64`, `slopes`).  Where both do not
agree, each node is compared with its own differences (`rules`).  The second order is the first order of the function that computes the
gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import user_place
from adjoint.ir.core import Region, walk
from adjoint.ir.op import NotDifferentiable
from adjoint.ir.types import BF16, F16, F32, F64, DType
from adjoint.runtime.gradients.grad import differentiate
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.structure import RESULTS, leaves
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.testing.calls import Repeated, name_of, names_of
from adjoint.testing.in_float64 import Execution, InFloat64
from adjoint.testing.recording import Recorded, numbers, record
from adjoint.testing.rules import Culprit, Kink, changing_hooks, kink_between, ratio_text, wrong_bprops, wrong_operators
from adjoint.testing.slopes import Finding, Projection, Tolerance, compared

__all__ = ["GradientKink", "GradientMismatch", "GradientReport", "check_gradients"]

_RELATIVE: dict[DType, float] = {F64: 1e-6, F32: 1e-3, F16: 3e-2, BF16: 1e-1}
"""By how much a gradient that is computed in a dtype may differ from differences, as a fraction."""
_EPSILON: dict[DType, float] = {F64: 2.0**-52, F32: 2.0**-23, F16: 2.0**-10, BF16: 2.0**-7}
_ROUNDING = 8.0
"""The rounding error that is allowed of a gradient, in units in the last place of the largest result."""
_ROUNDS = 3
"""How often Parameters are looked for: one that is only combined with others is found when these are known.  A function that makes new
Parameters in each call is not differentiated by them."""
_SHOWN = 6
"""Limit of the mismatches and of the kinks that the text of a report shows."""
_MISMATCHES = 20
"""Comparing stops after so many wrong gradients of one order: a mistake near the end of a network makes all before it wrong."""
_ABSOLUTE = 1e-3
"""The error that is allowed of each element, as a fraction of the relative one times the size of the largest gradient."""


@dataclass(frozen=True)
class GradientMismatch:
    """A gradient that differences contradict.

    order       1, or 2 for the gradient of the gradient
    name        the input or the Parameter, such as `x`, `params['w']` or `fc.weight`
    element     the index of the first wrong element; None if only the slope along a random direction is wrong
    gradient    the gradient there
    difference  what differences give
    ratio       gradient / difference if it is the same for all wrong elements that were looked at; otherwise nan
    """

    order: int
    name: str
    element: tuple[int, ...] | None
    gradient: float
    difference: float
    ratio: float

    def __str__(self) -> str:
        where = "along a random direction" if self.element is None else f"at {list(self.element)}" if self.element else "it"
        how = ratio_text(self.ratio)
        of = "gradient" if self.order == 1 else "gradient of the gradient"
        return (f"'{self.name}', order {self.order}: {where}, the {of} is {self.gradient:.7g}, but differences give "
                f"{self.difference:.7g}{f': {how}' if how else ''}").replace(": it, the", ": the")


@dataclass(frozen=True)
class GradientKink:
    """A point where a function has another slope on each side, so that differences cannot tell its gradient, which is between the two.

    order        1 or 2
    name         the input or the Parameter
    element      the index of the first such element
    count        how many such elements were found
    left, right  the slopes on both sides
    gradient     the gradient
    cause        the operator that has the kink; None if it was not found
    """

    order: int
    name: str
    element: tuple[int, ...]
    count: int
    left: float
    right: float
    gradient: float
    cause: Kink | None

    def __str__(self) -> str:
        more = f", and at {self.count - 1} more" if self.count > 1 else ""
        at = f" at {list(self.element)}{more}" if self.element else more
        cause = "" if self.cause is None else f", from {self.cause}"
        return (f"'{self.name}'{at}, order {self.order}: the slopes on both sides are {self.left:.7g} and {self.right:.7g}, the gradient "
                f"is {self.gradient:.7g}{cause}")


@dataclass(frozen=True)
class GradientReport:
    """What `check_gradients` has found; `print` shows it, and it is true if nothing is wrong.

    subject     the function
    checks      what was compared, each as a line
    mismatches  the gradients that are wrong
    causes      the rules that are wrong, and the hooks that change gradients; found only if there are mismatches
    kinks       where the function has two slopes
    left_out    what was not compared, and why
    """

    subject: str
    checks: tuple[str, ...]
    mismatches: tuple[GradientMismatch, ...]
    causes: tuple[Culprit, ...]
    kinks: tuple[GradientKink, ...]
    left_out: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if no gradient is wrong."""
        return not self.mismatches

    def __bool__(self) -> bool:
        return self.ok

    def raise_if_wrong(self) -> None:
        """Raise AssertionError with the text of the report if a gradient is wrong."""
        if not self.ok:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        verdict = "no gradient is wrong" if self.left_out or self.kinks else "the gradients are right"
        if self.mismatches:
            verdict = _counted(len(self.mismatches), "wrong gradient")
        lines = [f"{self.subject}: {verdict}", *(f"    {line}" for line in self.checks)]
        for title, found in (("wrong", self.mismatches), ("kink", self.kinks)):
            lines += [f"    {title}: {x}" for x in found[:_SHOWN]]
            lines += [f"    and {len(found) - _SHOWN} more"] * (len(found) > _SHOWN)
        lines += [f"    not checked: {x}" for x in self.left_out]
        lines += [f"cause: {cause}" for cause in self.causes]
        if self.mismatches and not self.causes:
            lines.append("cause: not found. Each operator and bprop has the right gradient at these numbers: the error is rounding, or "
                         "the gradient is not finite (`watch.check_finite` names where). Try float64 inputs, or a larger `rtol`.")
        return "\n".join(lines)


def check_gradients(fn: Any, *inputs: Any, order: int = 2, rtol: float | None = None, atol: float | None = None) -> GradientReport:
    """Compare the gradients of a function with differences, and find the rule that makes one wrong.

    fn      a function or a Cell, eager or under `jit`, which returns at least one floating-point Tensor of any shape, also nested
    inputs  its arguments: Tensors of any shape and nested containers of them; other values are passed on.  Gradients are taken by all
            floating-point Tensors among them, and by all Parameters that the function uses and that have `requires_grad`
    order   1: the gradient; 2: that of the gradient as well
    rtol    the fraction by which a gradient may differ from differences; by default 1e-6 for float64, 1e-3 for float32, 3e-2 for float16
            and 1e-1 for bfloat16, of the least precise input or Parameter
    atol    the error that each element may have besides; by default `rtol` times a thousandth of the largest gradient.  A mistake that is
            smaller than `rtol` times the largest gradient is not found

    The gradient is computed as the program computes it, with its dtypes, hooks and bprops; the differences are those of the recorded
    operators in float64, along a random direction of each input, then element by element where that fails.  Then each operator, bprop and
    hook is compared alone, and the report names those which are wrong, with their lines.  A point where the function has two slopes is
    reported as a kink or a tie, not as an error.  Random draws give the same numbers each time, and Parameters that the function writes are
    restored.  The function is called about ten times.

    TypeError if `fn` is not callable, if it returns no floating-point Tensor, or if there is nothing to differentiate by.
    ValueError for another order or a negative tolerance, for a result that is not finite, and for a function that gives different results
    for the same inputs.  RuntimeError inside of a gradient or of a function under `jit`.
    """
    _check_arguments(fn, order, rtol, atol)
    check = _Check(fn, inputs, rtol, atol)
    for each in range(1, order + 1):
        if not check.run(each):
            break
    return check.report()


def _check_arguments(fn: Any, order: object, rtol: object, atol: object) -> None:
    if not callable(fn):
        raise TypeError(f"For 'check_gradients', the argument 'fn' must be a function or a Cell, but got {fn!r} of type "
                        f"{type(fn).__name__}.")
    if isinstance(order, bool) or not isinstance(order, int):
        raise TypeError(f"For 'check_gradients', the argument 'order' must be an int, but got {order!r} of type {type(order).__name__}.")
    if order not in (1, 2):
        raise ValueError(f"For 'check_gradients', the argument 'order' must be 1 or 2, but got {order}.")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"For 'check_gradients', the argument '{name}' must be a float, but got {value!r} of type "
                            f"{type(value).__name__}.")
        if not value >= 0:
            raise ValueError(f"For 'check_gradients', the argument '{name}' must be 0 or more, but got {value}.")
    if state.tracer is not None:
        raise RuntimeError("'check_gradients' takes gradients of its own: call it outside of gradients and of functions under `jit`.")


class _Check:
    """One call of `check_gradients`; collects what the report shows."""

    def __init__(self, fn: Any, inputs: tuple[Any, ...], rtol: float | None, atol: float | None):
        self.fn, self.rtol, self.atol = fn, rtol, atol
        self.calls = Repeated(fn, inputs)
        self.tensors = self.calls.tensors
        self.chosen = [i for i, x in enumerate(self.tensors) if x.dtype.is_float]
        self.rng = np.random.default_rng(len(self.tensors))
        self.checks: list[str] = []
        self.mismatches: list[GradientMismatch] = []
        self.causes: list[Culprit] = []
        self.kinks: list[GradientKink] = []
        self.left_out: list[str] = []
        self.subject = name_of(fn)
        names = names_of(fn, inputs)
        self.parameters = [p for p in self.calls.written if p.requires_grad and p.dtype.is_float]
        """Parameters by which gradients are taken."""
        given = [self.tensors[i] for i in self.chosen]
        # At other numbers first: what a program keeps from its first call is then not what it would keep now.
        moved = [_moved(x, self.rng) for x in given]
        first = self.recorded(self.result, moved, moving=True)
        for _ in range(_ROUNDS):
            more = [p for p in first.found if p.requires_grad and p.dtype.is_float and not any(p is q for q in self.parameters)]
            if not more:
                break
            self.parameters += dict.fromkeys(more)
            self.calls.written += dict.fromkeys(more)
            first = self.recorded(self.result, moved, moving=True)
        self.parameters = [p for p in self.parameters if any(p is q for q in first.found)]
        if not self.chosen and not self.parameters:
            got = ", ".join(str(x.dtype) for x in self.tensors) or "no Tensor"
            raise TypeError("For 'check_gradients', there must be a floating-point Tensor among the inputs, or the function must use a "
                            f"Parameter that has `requires_grad`, but got {got}.")
        self.given = given
        self.names = [names[i] for i in self.chosen] + [p.name for p in self.parameters]
        self.first = first
        self.cotangents = [self.random(x) for x in first.outputs]
        self.pulled(first, self.cotangents)
        self.moved = moved
        self.steady()

    # -- the function --------------------------------------------------------------------------------------------------
    def result(self, *given: Tensor) -> list[Tensor]:
        """Call the function, and return the floating-point tensors in its result."""
        tensors = list(self.tensors)
        for i, x in zip(self.chosen, given, strict=True):
            tensors[i] = x
        returned = self.fn(*self.calls.arguments(tensors))
        found = [x for x in leaves(returned, Tensor, RESULTS) if x.dtype.is_float]
        if not found:
            raise TypeError(f"For 'check_gradients', the function must return at least one floating-point Tensor, but it returned "
                            f"{_described(returned)}.")
        return found

    def gradient(self, *given: Tensor) -> list[Tensor]:
        """Return the gradients of the function: the function whose gradient is checked as order two."""
        positions = range(len(given))
        _, by_input, by_weight = differentiate(lambda *xs: tuple(self.result(*xs)), given, {}, positions, self.parameters,
                                               sens=tuple(self.cotangents))
        return [*by_input, *by_weight]

    def recorded(self, fn: Callable[..., Sequence[Tensor]], given: Sequence[Tensor], moving: bool = False) -> Recorded:
        """Record a function.

        moving  True: with other numbers in the Parameters
        """
        with self.calls.repeatable():
            if moving:
                for parameter in self.parameters:
                    parameter.set_data(_moved(parameter, self.rng))
            return record(fn, given, self.parameters)

    def pulled(self, recorded: Recorded, cotangents: Sequence[Tensor]) -> Any:
        with self.calls.repeatable():
            return recorded.pull(cotangents)

    # -- what must be so before anything can be compared ---------------------------------------------------------------
    def steady(self) -> None:
        """Raise ValueError if two calls differ, or if a result is not finite."""
        with self.calls.repeatable():
            once = [numbers(x) for x in self.result(*self.given)]
        with self.calls.repeatable():
            again = [numbers(x) for x in self.result(*self.given)]
        for i, (one, other) in enumerate(zip(once, again, strict=False)):
            if one.shape != other.shape or not np.array_equal(one, other, equal_nan=True):
                raise ValueError(
                    f"For 'check_gradients', the function must give the same result for the same inputs, but result {i + 1} of two calls "
                    "differs: it depends on something that the calls change, or draws random numbers of NumPy's or Python's.")
            if not np.isfinite(one).all():
                bad = np.unravel_index(int(np.argmax(~np.isfinite(one))), one.shape)
                raise ValueError(f"For 'check_gradients', the results must be finite, but result {i + 1} is {one[bad]} at "
                                 f"{[int(k) for k in bad]}: `watch.check_finite` names the operator that gives it.")

    def unseen(self, order: int, moved: Recorded, recorded: Recorded) -> None:
        """Note a constant of the recording that depends on the inputs: no gradient flows to it, and differences do not move it.

        moved  the function recorded at other numbers
        """
        if moved.path is not recorded.path:
            return
        before, now = moved.outside, recorded.outside
        changed = {value for value in {*now} - {*recorded.leaves} if value in before
                   and not np.array_equal(before[value], now[value], equal_nan=now[value].dtype.kind == "f")}
        for node in walk(Region((), recorded.nodes, ())):
            for i, value in enumerate(node.operands):
                if value in changed:
                    place = user_place(node.loc)
                    self.not_seen(order, f"operand {i + 1} of `{node.op.name}`{'' if place is None else f' at {place.file}:{place.line}'}")
                    return
        for i, value in enumerate(recorded.results):
            if value in changed:
                self.not_seen(order, f"result {i + 1}" if order == 1 else f"the gradient of '{self.names[i]}'")
                return

    def not_seen(self, order: int, what: str) -> None:
        self.left_out.append(f"order {order}: {what} depends on the inputs, but was not computed by operators that are recorded (NumPy, "
                             "`_no_grad`): no gradient flows through it")

    # -- the comparison ------------------------------------------------------------------------------------------------
    def run(self, order: int) -> bool:
        """Compare the gradients of one order; return True if the next order can be compared."""
        function = self.result if order == 1 else self.gradient
        try:
            moved = self.first if order == 1 else self.recorded(function, self.moved, moving=True)
            recorded = self.recorded(function, self.given)
            cotangents = self.cotangents if order == 1 else [self.random(x) for x in recorded.outputs]
            gradients, calls = self.pulled(recorded, cotangents)
        except NotDifferentiable as reason:
            self.left_out.append(f"order {order}: {reason}")
            return False
        self.unseen(order, moved, recorded)
        program = InFloat64(recorded, self.names)
        start = [program.outside[x] for x in program.leaves]
        projection = Projection(program.at, start, [numbers(c).astype(np.float64) for c in cotangents])
        arrays = [numbers(g).astype(np.float64) for g in gradients]
        tolerance = self.tolerance(arrays, recorded.outputs)
        wrong = 0
        for i, gradient in enumerate(arrays):
            if wrong == _MISMATCHES:
                self.left_out.append(f"order {order}: {len(arrays) - i} gradients, after {wrong} wrong ones")
                break
            finding = compared(projection, i, gradient, tolerance, self.rng)
            if finding is None:
                continue
            if finding.kinks and not self.has_kink(self.names[i]):  # a kink of order one is a step of order two
                self.kinks.append(self.kink(program, order, i, finding))
            if finding.wrong:
                wrong += 1
                self.mismatches.append(GradientMismatch(order, self.names[i], finding.element, finding.gradient, finding.difference,
                                                        finding.ratio))
        count, through = sum(x.size for x in arrays), sum(1 for node in walk(Region((), recorded.nodes, ())) if not node.regions)
        self.checks.append(f"order {order}: {_counted(len(arrays), 'gradient')} of {_counted(count, 'element')}, "
                           f"through {_counted(through, 'operator')}")
        if wrong:
            log: list[Execution] = []
            program.at({}, log=log)
            for cause in (*changing_hooks(calls), *wrong_bprops(program, log, calls, self.tolerance([]), self.rng),
                          *wrong_operators(log, self.rng)):
                if cause not in self.causes:
                    self.causes.append(cause)
            if order == 1:
                self.left_out.append("order 2, since order 1 is wrong")
        return not wrong

    def tolerance(self, gradients: Sequence[Any], outputs: Sequence[Tensor] = ()) -> Tolerance:
        """Return how far gradients may be from differences.

        gradients  those of one order, whose size counts; empty for a tolerance that is relative to the size
        outputs    what they are the gradients of: a gradient that is zero may have the rounding errors of numbers of their size
        """
        dtypes = [x.dtype for x in (*self.given, *self.parameters)]
        relative = max(_RELATIVE[d] for d in dtypes) if self.rtol is None else self.rtol
        sizes = [float(np.sqrt(np.mean(np.square(g)))) for g in gradients if g.size and np.isfinite(g).all()]
        largest = max([float(np.abs(numbers(x)).max()) for x in outputs if x.size], default=0.0)
        rounding = _ROUNDING * max(_EPSILON[d] for d in dtypes) * largest
        absolute = max(relative * _ABSOLUTE * max(sizes, default=1.0), rounding) if self.atol is None else self.atol
        return Tolerance(relative, absolute)

    def has_kink(self, name: str) -> bool:
        return any(kink.name == name for kink in self.kinks)

    def kink(self, program: InFloat64, order: int, index: int, finding: Finding) -> GradientKink:
        element, (left, right, gradient) = next(iter(finding.kinks.items()))
        where = np.unravel_index(element, program.leaves[index].type.sizes)
        return GradientKink(order, self.names[index], tuple(map(int, where)), len(finding.kinks), left, right, gradient,
                            kink_between(program, index, element))

    def random(self, x: Tensor) -> Tensor:
        """Return a random cotangent for a result."""
        drawn = self.rng.uniform(0.5, 1.5, x.shape) * self.rng.choice((-1.0, 1.0), x.shape)
        return Tensor(drawn, F64).astype(x.dtype)

    def report(self) -> GradientReport:
        return GradientReport(self.subject, tuple(self.checks), tuple(self.mismatches), tuple(self.causes), tuple(self.kinks),
                              tuple(self.left_out))


def _moved(x: Tensor, rng: np.random.Generator) -> Tensor:
    """Return a tensor with other numbers of the same signs and similar sizes, in the dtype of `x`."""
    return Tensor(numbers(x).astype(np.float64) * rng.uniform(0.7, 1.3, x.shape), F64).astype(x.dtype)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _described(value: Any) -> str:
    kinds = [f"a Tensor of {x.dtype}" for x in leaves(value, Tensor)]
    return ", ".join(kinds) or f"{value!r} of type {type(value).__name__}"
