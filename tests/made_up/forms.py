"""The forms in which a program is run, and the comparison with eager mode.

A program is asked several *questions*: its values, its gradients, gradients of its gradients, steps of training.  Each is asked in each
*form*: as a graph of the whole question, with a graph inside of an eager question, with graphs of its cells, in graph mode; and on each
*tier*: by the kernels of its nodes, by fused kernels, and by the former until the latter are ready, in the middle of a run.  The answer is
that of eager mode on one thread: results, what is printed (by hooks too), exceptions, parameters, arguments, and the tensors that earlier
calls returned and hooks were given.
"""

from __future__ import annotations

import contextlib
import io
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor, nn
from adjoint.codegen.emit import KernelText, lower
from adjoint.foundation.budget import budget
from adjoint.foundation.diagnostics import CompileError, InternalError
from adjoint.ir.core import Node
from adjoint.ir.ops.fused import kernel_op
from adjoint.passes.schedule import FUSED
from adjoint.runtime.execution import bound_plan, tiers
from adjoint.runtime.gradients.trie import trie
from adjoint.runtime.graphs.calls import making
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.structure import leaves
from tests.hooks.modes import compiled_construct
from tests.made_up import observing
from tests.made_up.choices import Choices
from tests.made_up.other_thread import using
from tests.made_up.program import loaded
from tests.outcomes import Outcome, compiled, kept, mode

__all__ = ["FORMS", "TIERS", "Comparison", "Differs", "Way", "compile_fused", "forget"]

SECONDS = 120
"""After which a call counts as one that does not end: it may wait for the compiler."""

Function = Callable[..., Any]
Ask = Callable[[Function], Function]


# Questions ------------------------------------------------------------------------------------------------------------------


def asked(question: str, program: Any, net: nn.Cell, function: Function, *, op_by_op: bool) -> Function:
    """Return what is called to ask a question about `function`, which calls the net; `op_by_op`: an optimiser's step is no one sequence."""
    weights = net.trainable_params() or None
    if question == "value":
        return function
    if question == "gradient":
        return adjoint.value_and_grad(function, program.WRT, weights)
    if question == "second":
        inner = adjoint.grad(function, program.WRT, weights)

        def total(*arguments: Any) -> Any:
            found = inner(*arguments)
            first, rest = found if weights else (found, ())
            return sum([(part * part).sum() for part in (*(first if isinstance(first, tuple) else (first,)), *rest)])

        return adjoint.value_and_grad(total, program.WRT, weights)
    assert question == "training"
    gradient, optimizer = adjoint.value_and_grad(function, program.WRT, weights), program.optimizer(net)
    if op_by_op:
        optimizer._whole = None

    def step(*arguments: Any) -> Any:
        loss, (by_arguments, by_weights) = gradient(*arguments)
        optimizer(by_weights)
        return loss, by_arguments

    return step


# Forms ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """A form: `make(ask, net)` returns what is called instead of `ask(net)`."""

    name: str
    make: Callable[[Ask, nn.Cell], Function]
    graph_mode: bool = False


def jitted(function: Function) -> Function:
    def called(*arguments: Any) -> Any:
        return function(*arguments)

    return adjoint.jit(called)


def with_jitted_cells(ask: Ask, net: nn.Cell) -> Function:
    for cell in net.cells():
        if type(cell).construct is not nn.Cell.construct:
            compiled_construct(cell)
    return ask(net)


REFERENCE = Form("eager, op by op", lambda ask, net: ask(net))
EAGER = Form("eager", lambda ask, net: ask(net))
FORMS = (
    EAGER,
    Form("jit of all", lambda ask, net: jitted(ask(net))),
    Form("jit inside", lambda ask, net: ask(compiled(net))),
    Form("jit of cells", with_jitted_cells),
    Form("graph mode", lambda ask, net: ask(net), graph_mode=True),
)

TIERS = ("tables", "fused", "swapped")
"""The kernels of nodes; fused kernels before the first run; fused kernels that become ready in the middle of a run."""


@dataclass(frozen=True)
class Way:
    """One way to run a program.

    busy  True if another thread uses its cells meanwhile
    """

    question: str
    form: Form
    tier: str
    busy: bool = False

    def __str__(self) -> str:
        return f"{self.question}, {self.form.name}, {self.tier}{', another thread' if self.busy else ''}"


# Running --------------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Stop a program that does not end."""

    def stop(*_: Any) -> None:
        raise TimeoutError("this program does not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def played(program: Any, question: str, form: Form, busy: bool = False) -> list[Outcome]:
    """Return the outcomes of the calls of a program's session; `busy` is that of a Way."""
    outcomes: list[Outcome] = []
    observing.let_go()
    with mode(adjoint.GRAPH_MODE if form.graph_mode else adjoint.PYNATIVE_MODE):
        adjoint.set_seed(7)
        net = program.Net()
        function = form.make(lambda function: asked(question, program, net, function, op_by_op=form is REFERENCE), net)

        def call(*arguments: Any) -> None:
            printed = io.StringIO()
            result, raised = None, None
            with contextlib.redirect_stdout(printed), ending(), np.errstate(all="ignore"):
                try:
                    result = function(*arguments)
                except Exception as error:  # programs may raise anything
                    raised = error
            assert state.tracer is None
            observing.hold(result)
            outcomes.append(Outcome(
                kept(result), printed.getvalue(), raised, kept(dict(net.parameters_and_names())), kept(leaves(arguments, Tensor)),
                kept(observing.held)))
            if program.STILL and (overwritten := observing.overwritten()):
                raise AssertionError(f"a tensor that Python was given has become {overwritten[0]!r}")

        with using(net) if busy else contextlib.nullcontext():
            program.session(net, call)
    observing.let_go()
    return outcomes


def forget() -> None:
    """Forget recorded gradients: one that was taken before would run on the tier that it ran on."""
    trie.evict(budget.period)


@contextlib.contextmanager
def running(tier: str, threads: int, texts: dict[str, KernelText]) -> Iterator[None]:
    """Return the context in which programs run on a tier, or on the first one only: "".

    "tables" runs as "" and collects in `texts` the kernels that "fused" will need.  From the second run on a tape on, a graph runs by one
    call if it can.
    """
    several, bound_plan._SEVERAL = bound_plan._SEVERAL, 1
    before = adjoint.get_context("background_compile"), adjoint.get_context("num_threads")
    forget()
    adjoint.set_context(background_compile={"tables": "wait", "fused": "wait", "swapped": True, "": False}[tier], num_threads=threads)
    try:
        with {"tables": lambda: collecting(texts), "swapped": swapping}.get(tier, contextlib.nullcontext)():
            yield
    finally:
        bound_plan._SEVERAL = several
        adjoint.set_context(background_compile=before[0], num_threads=before[1])


@contextlib.contextmanager
def collecting(texts: dict[str, KernelText]) -> Iterator[None]:
    """Return the context in which fused kernels are written, and not compiled."""
    original = tiers.fused_plan

    def wanted(node: Node) -> bool:
        kernel = lower(kernel_op(node), [x.type for x in node.operands], [x.type for x in node.results])
        texts[kernel.text] = kernel
        return True

    def collected(plan: Any, **_: Any) -> None:
        FUSED.on(plan.function, accept=wanted)

    tiers.fused_plan = collected
    try:
        yield
    finally:
        tiers.fused_plan = original


@contextlib.contextmanager
def swapping() -> Iterator[None]:
    """Return the context in which fused kernels are asked for by the first run, and ready when the next hook is called."""
    kernels, runs, tasks = machine().kernels, tiers._RUNS, []

    def ready() -> None:
        background = threading.Thread(target=lambda: [tasks.pop(0)() for _ in range(len(tasks))])
        background.start()
        background.join()

    tiers._RUNS = 0
    kernels.later = tasks.append
    try:
        with observing.acting(ready):
            yield
    finally:
        tiers._RUNS = runs
        del kernels.later


def compile_fused(texts: dict[str, KernelText]) -> None:
    """Compile kernels, many to a library."""
    kernels = machine().kernels
    if kernels is not None:
        kernels.prepare(texts.values(), waited_for=True)


# Comparing ------------------------------------------------------------------------------------------------------------------


class Differs(AssertionError):
    """A program does something else than in eager mode.

    what  what differs: the result, the parameters, a kind of exception
    """

    def __init__(self, way: Way, said: str, what: str):
        super().__init__(f"{way}: {said}")
        self.way, self.what = way, what


SHOWN = re.compile(r"^error\[E2\d\d\]: .*\n +--> .*:\d+:\d+\n.*\^", re.DOTALL)
"""A refusal: a code, a place, a caret."""


@contextlib.contextmanager
def lowering(failed: list[BaseException]) -> Iterator[None]:
    """Return the context in which exceptions that are raised while a graph is made are listed."""
    original = making.make

    def make(*arguments: Any) -> Any:
        try:
            return original(*arguments)
        except BaseException as error:
            failed.append(error)
            raise

    making.make = make
    try:
        yield
    finally:
        making.make = original


class Comparison:
    """The comparison of one program.

    texts    the fused kernels that it needs, known after "tables" have run
    graphs   in how many ways it ran to the end as graphs
    refused  in how many ways a graph was refused, by a diagnostic or by the exception that eager mode raises when it comes there
    """

    def __init__(self, text: str):
        self.program = loaded(text)
        self.texts: dict[str, KernelText] = {}
        self.graphs, self.refused = 0, 0
        self._expected: dict[str, list[Outcome]] = {}

    def ways(self, tier: str, choices: Choices | None = None, most: int = len(FORMS)) -> list[Way]:
        """Return the ways to run the program on a tier; with `choices` at most so many of them for each question."""
        questions = ["value", "gradient", *self.program.ASKED] + ["training"] * (self.program.optimizer is not None)
        found = []
        for question in questions:
            forms = [form for form in FORMS if not (question == "value" and form.name == "jit inside")]
            found += [Way(question, form, tier) for form in (choices.some(forms, most) if choices else forms)]
        return found

    def check(self, way: Way) -> None:
        """Run the program in a way.  Differs if it does something else than in eager mode."""
        try:
            if way.question not in self._expected:
                with running("", 1, {}):
                    self._expected[way.question] = played(self.program, way.question, REFERENCE)
            failed: list[BaseException] = []
            with running(way.tier, 2, self.texts), lowering(failed), warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                found = played(self.program, way.question, way.form, way.busy)
        except AssertionError as difference:
            raise Differs(way, str(difference), "overwritten") from difference
        if faults := [str(each.message) for each in warned if "please report" in str(each.message)]:
            raise Differs(way, faults[0], "warning")
        for number, (expected, outcome) in enumerate(zip(self._expected[way.question], found, strict=True)):
            if isinstance(expected.raised, (InternalError, TimeoutError)):
                raise Differs(way, f"call {number} in eager mode raised {expected.raised!r}", "eager mode") from expected.raised
            raised = outcome.raised
            refused = isinstance(raised, CompileError) and not isinstance(raised, AssertionError) and way.form is not EAGER
            if refused and not isinstance(expected.raised, CompileError):
                if not SHOWN.match(str(raised)) or "help" not in str(raised):
                    raise Differs(way, str(raised), "diagnostic")
                self.refused += 1
                return
            if any(raised is each for each in failed) and (type(raised) is type(expected.raised) or "outside of the graph" in str(raised)):
                self.refused += 1
                return
            try:
                expected.compare(outcome)
            except Exception as difference:
                said = str(difference) if isinstance(difference, AssertionError) else repr(difference)
                what = re.split(r"[\[:(]", said)[0]
                raise Differs(way, f"call {number}: {said}", what) from raised
        self.graphs += 1


