"""Calls with arguments that nobody means: kernels and the interpreter agree, errors are ours, and the next call is right.

A call is a right one of `good_calls` with an argument replaced: by a tensor of any dtype and shape, of NaN, infinities, limits of
integers, or by a value of `test_wrong_arguments`.  Every operator that runs meanwhile, in gradients too, runs twice, by its kernel
and by its NumPy reference, which must agree within the operator's stated error, or both refuse.

    ADJOINT_FUZZ=5000 pytest tests/test_hostile_calls.py     other calls each time, as many as wanted: `make fuzz N=5000`
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import good_calls
import numpy as np
import pytest
from op_cases import Case
from test_ops import assert_agree, expected_of, needs_compiler, sizes_of
from test_wrong_arguments import PROTOCOLS, VALUES, Call, _settings, calls, evaluated, fault, right

import adjoint as ms
from adjoint import Tensor
from adjoint.foundation.budget import budget
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.op import Op
from adjoint.ir.ops.fourier import Fourier
from adjoint.ir.types import DTYPES, DType, TensorType
from adjoint.runtime.memory import op_plans
from adjoint.runtime.memory.machine import array_of
from adjoint.runtime.process.tracer import state

assert _settings  # the fixture: settings and warnings are as they were

FUZZ = int(os.environ.get("ADJOINT_FUZZ", "0"))
"""How many calls are tried; 0: the same thousand each time."""
COUNT, TOGETHER = FUZZ or 1000, 50
START = random.SystemRandom().randrange(2**40) if FUZZ else 0

SECONDS = 120 if "-fsanitize" in os.environ.get("CC", "") else 30
"""After which a call counts as one that does not end.  What sanitizers check takes long to compile."""

TEXTS = [
    text for area in ("functions", "primitives", "layers", "methods") for text in good_calls.CALLS[area]
    if "rint" not in text and not any(f".{method}(" in text for method in PROTOCOLS)
]

MINDSPORES = "Type implicit conversion between "
"""How MindSpore's own message about dtypes begins; it names the dtypes, and no operator."""

SHAPES = [(), (0,), (1,), (3,), (2, 3), (1, 3), (2, 1), (7, 5), (2, 2, 2), (1, 1, 4, 4), (0, 3), (1,) * 8, (2, 1, 3, 3)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.0, 1e4, 1e-40, np.nan, np.inf, -np.inf]


def hostile_tensor(rng: random.Random, like: Any) -> Tensor:
    """Return a tensor of any dtype; half of the time with the shape of the argument that it replaces."""
    dtype: DType = rng.choice(list(DTYPES.values()))
    shape = like.shape if isinstance(like, Tensor) and rng.random() < 0.5 else rng.choice(SHAPES)
    count = int(np.prod(shape))
    if dtype.is_float:
        numbers: list[Any] = [rng.choice(FLOATS) for _ in range(count)]
        return Tensor(np.array(numbers, np.float64).reshape(shape)).astype(dtype)
    if dtype.kind == "b":
        return Tensor(np.array([rng.random() < 0.5 for _ in range(count)], bool).reshape(shape))
    if dtype.is_complex:
        pairs = [complex(rng.choice(FLOATS), rng.choice(FLOATS)) for _ in range(int(np.prod(shape)))]
        return Tensor(np.array(pairs, dtype.array).reshape(shape))
    limits = np.iinfo(dtype.array)
    numbers = [rng.choice([0, 1, 2, 5, limits.max, limits.max - 1, limits.min, limits.min // 2]) for _ in range(count)]
    return Tensor(np.array(numbers, dtype.array).reshape(shape))


# Every operator twice --------------------------------------------------------------------------------------------------------


def compared(op: Op, types: Sequence[TensorType]) -> op_plans.OpPlan:
    """Return a plan that runs the op by its kernel, and complains if the reference computes something else."""
    plan = made(op, types)
    if getattr(op, "aliases", False) or not op.can_lower:
        return plan
    case = Case(op, None, tuple(types), plan.types, op.name)  # type: ignore[arg-type]

    def checked(run: Callable[..., Any], memories: Sequence[Any], results: Callable[[Any], Sequence[Any]]) -> Any:
        operands = [array_of(memory, type_).copy() for memory, type_ in zip(memories, types, strict=True)]
        try:
            answer = run()
        except Exception as failure:
            try:
                expected_of(case, operands)
            except Exception:
                raise failure from None
            raise AssertionError(f"{op} {types}: the kernel fails with {failure!r}, the reference does not") from None
        sizes = sizes_of(case, operands)
        for memory, expected, type_, size in zip(results(answer), expected_of(case, operands), plan.types, sizes, strict=True):
            found = array_of(memory, type_)
            if isinstance(op, Fourier):  # sums with an infinity: which of them are NaN depends on how they are taken apart
                found, expected = (np.where(np.isfinite(x), x, x.dtype.type(complex(np.nan, np.nan) if x.dtype.kind == "c" else np.nan))
                                   for x in (found, np.asarray(expected)))
            assert_agree(case, found, expected, type_, sizes=size)
        return answer

    def run(*memories: Any) -> Any:
        return checked(lambda: plan.run(*memories), memories, lambda answer: answer if len(plan.types) > 1 else (answer,))

    def into(memories: Sequence[Any], results: Sequence[Any]) -> None:
        checked(lambda: plan.into(memories, results), memories, lambda _: results)

    return op_plans.OpPlan(plan.types, run, into)


made = op_plans._made


def forget() -> None:
    """Evict everything: all plans are made again, with or without comparing."""
    for cache in budget.caches:
        cache.begin_period()
        list(cache.sizes())
        cache.evict(budget.period)


@pytest.fixture
def comparing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run every operator twice."""
    forget()
    monkeypatch.setattr(op_plans, "_made", compared)
    yield
    monkeypatch.undo()
    forget()


# Making calls ----------------------------------------------------------------------------------------------------------------


class Stuck(BaseException):
    """A call that does not end."""


def mistake_of(number: int) -> str | None:
    """Make the call of this number; return what is wrong with its result, or None."""
    rng = random.Random(START + number)
    call: Call = rng.choice(list(calls(rng.choice(TEXTS))))
    places = call.places()
    if not places:
        return None
    place = rng.choice(places)
    space = good_calls.Values()
    given = evaluated(call.node.args[place], space) if isinstance(place, int) else None
    if isinstance(given, Tensor) or rng.random() < 0.3:
        value: Any = hostile_tensor(rng, given)
        label = f"{value.dtype} {value.shape} {value.tolist()!r}"
    else:
        label = rng.choice(list(VALUES))
        value = VALUES[label]()
    derived = isinstance(value, Tensor) and rng.random() < 0.5
    try:
        if derived:
            ms.grad(lambda x: call.made(place, x))(value)
        else:
            call.made(place, value)
    except Stuck:
        wrong: str | None = f"does not end in {SECONDS} s"
    except AssertionError as disagreement:
        wrong = str(disagreement)
    except CompileError:
        wrong = None
    except BaseException as error:
        wrong = None if str(error).startswith(MINDSPORES) else fault(error, call.name)
        wrong = wrong and f"{wrong}: {type(error).__name__}: {error}"
    else:
        wrong = None
    if state.tracer is not None:
        wrong, state.tracer = "leaves a tape", None
    return wrong and f"call {START + number}{' (gradient)' if derived else ''}: {call.text}, {call.named(place)} = {label}: {wrong}"[:1000]


@needs_compiler
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_kernels_and_interpreter_agree(first: int, comparing: None, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a text may name a file that is written

    def stop(*_: Any) -> None:
        raise Stuck

    before = signal.signal(signal.SIGALRM, stop)
    mistakes: list[str] = []
    try:
        for number in range(first, min(first + TOGETHER, COUNT)):
            signal.alarm(SECONDS)
            if (wrong := mistake_of(number)) is not None:
                mistakes.append(wrong)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert not mistakes, "\n".join(mistakes)
    assert right("ops.add(x, y)")[2] == (good_calls.Values()["x"].asnumpy() + good_calls.Values()["y"].asnumpy()).tobytes()
