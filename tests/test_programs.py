"""The programs of tests/programs, run in every way there is: all must agree, to the bit.

Op by op is what the others are held against: there a program is plain Python.  Values are compared by dtype, shape and bytes,
so that a NaN equals itself and -0.0 is not 0.0; what is printed, the parameters afterwards, and exceptions are compared too.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hook_events import Event, recorded
from programs import PROGRAMS, Program

import adjoint
from adjoint import Parameter, Tensor, nn
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.core import walk
from adjoint.ir.ops.state import Write
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.passes.autodiff import Grad
from adjoint.passes.inline import Inline
from adjoint.passes.lift_state import LiftState
from adjoint.passes.manager import Pass
from adjoint.runtime.execution.bound_plan import BoundPlan
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.run import Run
from adjoint.runtime.execution.text import load_ir
from adjoint.runtime.gradients.adjoints import adjoint_makers
from adjoint.runtime.graphs.inputs.outline import filled, slots_of
from adjoint.runtime.graphs.running.cells import cell_makers
from adjoint.runtime.graphs.running.gradient_hosts import hosts_of_runs
from adjoint.runtime.graphs.running.hosts import host_makers
from adjoint.runtime.tensor.structure import leaves
from tests.outcomes import Outcome, compiled, kept, mode, same

every_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
differentiated = pytest.mark.parametrize(
    "program", [p for p in PROGRAMS.values() if p.wrt is not None], ids=[p.name for p in PROGRAMS.values() if p.wrt is not None])
smooth = pytest.mark.parametrize(
    "program", [p for p in PROGRAMS.values() if p.differences], ids=[p.name for p in PROGRAMS.values() if p.differences])


# Running --------------------------------------------------------------------------------------------------------------------

events: list[Event] = []
"""The hooks called since `outcome` began."""


@pytest.fixture(autouse=True, scope="module")
def record_events() -> Iterator[None]:
    global events
    with recorded() as events:
        yield


def parameters_of(fn: Any) -> dict[str, Parameter]:
    return dict(fn.parameters_and_names()) if isinstance(fn, nn.Cell) else {}


def outcome(fn: Any, call: Callable[..., Any], program: Program, wide: bool = False) -> Outcome:
    """Call `call`, which replaces `fn`, on new arguments."""
    arguments, keywords = program.arguments(wide)
    adjoint.set_seed(7)
    printed = io.StringIO()
    result, raised = None, None
    events.clear()
    with contextlib.redirect_stdout(printed):
        try:
            result = kept(call(*arguments, **keywords))
        except Exception as error:  # programs may raise anything
            raised = error
    given = kept(leaves([*arguments, *keywords.values()], Tensor))
    return Outcome(result, printed.getvalue(), raised, kept(parameters_of(fn)), given, events=[*events])


def gradient_of(program: Program, fn: Any, called: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return value and gradients of `fn`, by its arguments and its trainable parameters; `called` replaces it."""
    weights = fn.trainable_params() if isinstance(fn, nn.Cell) else []
    return adjoint.value_and_grad(called or fn, program.wrt or None, weights or None)


@functools.cache
def eager(name: str, gradient: bool) -> tuple[Outcome, Outcome]:
    """Return two calls of one callable in eager mode."""
    program = PROGRAMS[name]
    fn = program.make()
    call = gradient_of(program, fn) if gradient else fn
    with mode(adjoint.PYNATIVE_MODE):  # whoever asks first may be in graph mode
        return outcome(fn, call, program), outcome(fn, call, program)


def agrees(program: Program, fn: Any, call: Callable[..., Any], gradient: bool, parsed: bool = True) -> None:
    """Check that the first and the second call equal eager mode; or that a function that is `parsed` is rejected."""
    for expected in eager(program.name, gradient):
        found = outcome(fn, call, program)
        if parsed and program.refused:
            assert isinstance(found.raised, CompileError), f"{found.raised!r}, {found.result!r}"
            assert program.refused in str(found.raised)
            continue
        expected.compare(found)
        assert program.raises is None or program.raises[1] in str(found.raised)


# Op by op -------------------------------------------------------------------------------------------------------------------


@every_program
def test_runs_op_by_op(program: Program) -> None:
    first, _ = eager(program.name, False)
    fn = program.make()
    first.compare(outcome(fn, fn, program))
    if program.raises is None:
        assert first.raised is None, repr(first.raised)
        return
    kind, message = program.raises
    assert isinstance(first.raised, kind), repr(first.raised)
    assert message in str(first.raised)


@differentiated
def test_gradient_op_by_op(program: Program) -> None:
    first, _ = eager(program.name, True)
    if first.raised is not None:
        raise first.raised
    value, _ = eager(program.name, False)
    same(value.result, first.result[0], "value")
    same(value.parameters, first.parameters, "parameters")
    fn = program.make()
    first.compare(outcome(fn, gradient_of(program, fn), program))


@smooth
def test_gradient_is_that_of_finite_differences(program: Program) -> None:
    """Along a random direction of all arguments and parameters, in float64."""

    def widened() -> tuple[Any, tuple[Any, ...], dict[str, Any], list[Tensor]]:
        fn = program.make()
        weights = fn.trainable_params() if isinstance(fn, nn.Cell) else []
        for parameter in parameters_of(fn).values():
            if parameter.dtype.is_float:
                parameter.set_dtype(adjoint.float64)
        arguments, keywords = program.arguments(wide=True)
        given = [x for place in program.wrt or () for x in leaves(arguments[place], Tensor)] + weights
        return fn, arguments, keywords, given

    def moved(step: float) -> float:
        fn, arguments, keywords, given = widened()
        for leaf, direction in zip(given, directions, strict=True):
            leaf.set_data(Tensor(leaf.asnumpy() + step * direction))
        adjoint.set_seed(7)
        with contextlib.redirect_stdout(io.StringIO()):
            result = fn(*arguments, **keywords)
        return sum(float(x.asnumpy().sum()) for x in leaves(result, Tensor) if x.dtype.is_float)

    fn, arguments, keywords, given = widened()
    rng = np.random.default_rng(3)
    directions = [rng.standard_normal(leaf.shape) for leaf in given]
    adjoint.set_seed(7)
    with contextlib.redirect_stdout(io.StringIO()):
        _, gradients = gradient_of(program, fn)(*arguments, **keywords)
    found = sum(float((g.asnumpy() * d).sum()) for g, d in zip(leaves(gradients, Tensor), directions, strict=True))
    step = 1e-6
    expected = (moved(step) - moved(-step)) / (2 * step)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)


# As graphs ------------------------------------------------------------------------------------------------------------------


@every_program
def test_as_a_graph(program: Program) -> None:
    fn = program.make()
    agrees(program, fn, compiled(fn), gradient=False)


@differentiated
def test_gradient_of_a_graph(program: Program) -> None:
    fn = program.make()
    agrees(program, fn, gradient_of(program, fn, compiled(fn)), gradient=True)


@differentiated
def test_gradient_within_a_graph(program: Program) -> None:
    fn = program.make()
    gradient = gradient_of(program, fn)

    def called(*arguments: Any, **keywords: Any) -> Any:
        return gradient(*arguments, **keywords)

    agrees(program, fn, adjoint.jit(called), gradient=True)


@every_program
def test_in_graph_mode(program: Program) -> None:
    with mode(adjoint.GRAPH_MODE):
        fn = program.make()
        agrees(program, fn, fn, gradient=False, parsed=isinstance(fn, nn.Cell))


@differentiated
def test_gradient_in_graph_mode(program: Program) -> None:
    with mode(adjoint.GRAPH_MODE):
        fn = program.make()
        agrees(program, fn, gradient_of(program, fn), gradient=True)


@pytest.fixture
def fused_at_once() -> Iterator[None]:
    """Elementwise nodes are fused before the first run of a graph or a gradient."""
    before = adjoint.get_context("background_compile")
    adjoint.set_context(background_compile="wait")
    yield
    adjoint.set_context(background_compile=before)


@pytest.mark.usefixtures("fused_at_once")
@pytest.mark.parametrize("program", [p for p in PROGRAMS.values() if p.wrt is not None][::12], ids=lambda program: program.name)
def test_with_fused_kernels(program: Program) -> None:
    """A part of the corpus; ADJOINT_BACKGROUND_COMPILE=wait runs all tests so."""
    fn = program.make()
    agrees(program, fn, compiled(fn), gradient=False)
    fn = program.make()
    agrees(program, fn, gradient_of(program, fn, compiled(fn)), gradient=True)


@every_program
def test_text_of_the_graph(program: Program) -> None:
    """The graph is printed, parsed, and run by the executor, which knows nothing about Python."""
    if program.raises is not None or program.refused is not None:
        pytest.skip("gives no result")
    fn = program.make()
    arguments, keywords = program.arguments()
    lowered = compiled(fn).graph_of(*arguments, **keywords)
    graph = lowered.graph
    text = print_module(graph.module)
    assert print_module(parse_module(text)) == text
    if graph.module.hosts:
        pytest.skip("calls Python")
    adjoint.set_seed(7)
    loaded = load_ir(text, state={symbol: Tensor(x.asnumpy().copy()) for symbol, x in graph.state.items()})
    results = loaded[graph.symbol](*leaves([*arguments, *keywords.values()], Tensor))
    expected, _ = eager(program.name, False)
    given = results if isinstance(results, tuple) else (results,)
    same(expected.result, filled(lowered.outline, given[: len(slots_of(lowered.outline))]), "result")


SUMMED_OTHERWISE = {"vjp_pulled_in_loops"}
"""Programs of which the static adjoint adds up a cotangent in another order than the tape: the loop of a recorded function begins with a
value that its rounds use by another name too, and it is run anew where the function is pulled in a loop: each name and each run has a
sum of its own."""

PYTHON_ON_THE_WAY = {
    "HookedCellInLoop", "HooksUnderVjp", "HookedCells", "HookedBranches", "HookedInside", "custom_second_order", "SecondOrderOfBprop",
    "SecondOrderOfBpropWithStructures"}
"""Programs that Python computes a part of: forward hooks, and a `bprop` that is differentiated.  There is no gradient in IR."""

REMOVES = {"removed_hook"}
"""Programs that remove a hook after it was registered, which `attach!` knows nothing of: it is called."""

PRINTS_A_PARAMETER = {"EffectsUnderVjp", "VjpByWeights"}
"""Programs that print a parameter.  Where it is written its value is an argument of the differentiated function, printed as a tensor."""


def compare_gradient_of_the_text(program: Program, *before: Pass) -> None:
    """Print the graph, parse it, differentiate it as a whole after the passes `before`, run that, and compare with eager mode."""
    if program.raises is not None or program.refused is not None:
        pytest.skip("gives no result")
    fn = program.make()
    arguments, keywords = program.arguments()
    graph = compiled(fn).graph_of(*arguments, **keywords).graph
    module = parse_module(print_module(graph.module))
    for each in before:
        module = each.on_module(module)
    function = module.functions[graph.symbol]
    given = leaves([*arguments, *keywords.values()], Tensor)
    chosen = [x for position in program.wrt or () for x in leaves(arguments[position], Tensor)]
    names = [next(p.hint for p, g in zip(function.params, given, strict=True) if g is x) for x in chosen]
    state = {symbol: Tensor(x.asnumpy().copy()) for symbol, x in graph.state.items()}
    symbols = {id(x): symbol for symbol, x in graph.state.items()}
    weights = fn.trainable_params() if isinstance(fn, nn.Cell) else []
    trained = [symbols.get(id(w)) for w in weights]
    outputs = len(function.body.results)
    lifted = any(isinstance(node.op, Write) for node in walk(function.body))
    if lifted:
        module = LiftState().on_module(module)
        function = module.functions[graph.symbol]
        given += [state[p.hint] for p in function.params[len(given) :]]
    wanted = [*names, *(symbol if lifted else f"@{symbol}" for symbol in trained if symbol is not None)]
    if program.name in PYTHON_ON_THE_WAY:
        with pytest.raises(CompileError, match="calls Python, which has no gradient in IR"):
            Grad(wrt=tuple(wanted), of=graph.symbol).on_module(module)
        return
    differentiated_ = Grad(wrt=tuple(wanted), of=graph.symbol).on_module(module)
    symbol = next(name for name in differentiated_.functions if name not in module.functions)
    # Results that hold floats have a cotangent; those that hold integers too, where an integer is differentiated by.
    count = len(differentiated_.functions[symbol].params) - len(given)
    floats = [i for i, type_ in enumerate(function.result_types) if type_.dtype.is_float]
    seeded = floats if len(floats) == count else [i for i, type_ in enumerate(function.result_types) if type_.dtype is not adjoint.bool_]
    cotangents = [(ones if i < outputs else zeros)(example(function.result_types[i])) for i in seeded]
    first = eager(program.name, True)[0]
    adjoint.set_seed(7)
    positions, hosts = hosts_of_runs(graph)
    whole = replace(graph, module=differentiated_, symbol=symbol, state=state)
    makers = {**host_makers(whole), **cell_makers(whole), **adjoint_makers(positions)}
    events.clear()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        found = iter(BoundPlan(planned(whole.function, identities=True), makers).run([*given, *cotangents], Run(None, hosts and hosts())))
    if program.name in REMOVES:
        assert len(events) == len(first.events) + 1
        return
    assert events == first.events
    assert program.name in PRINTS_A_PARAMETER or printed.getvalue() == first.printed
    expected = leaves(first.result[1], Tensor)
    for reference, name in zip(expected, [*names, *trained], strict=True):
        gradient = zeros(reference) if name is None else next(found)
        if program.name in SUMMED_OTHERWISE:
            np.testing.assert_allclose(gradient.asnumpy(), reference.asnumpy(), rtol=1e-14)
        else:
            same(reference, gradient, f"gradient by {name}")


@differentiated
def test_gradient_of_the_text(program: Program) -> None:
    """The whole graph is differentiated, with loops, branches and hooks, whereas the tape knows only one path."""
    compare_gradient_of_the_text(program)


@pytest.mark.parametrize("name", ["ObservedCells", "HookedCellInAHookedCell"])
def test_cells_that_are_inlined_before_the_gradient_lose_their_hooks(name: str) -> None:
    """A planted mistake: the comparison must see it."""
    with pytest.raises(AssertionError):
        compare_gradient_of_the_text(PROGRAMS[name], Inline(cells=True))


def example(type_: Any) -> Tensor:
    return Tensor(np.zeros(type_.sizes, np.float32), type_.dtype)


def ones(x: Tensor) -> Tensor:
    return adjoint.ops.ones_like(x) if x.dtype is not adjoint.bool_ else Tensor(np.ones(x.shape, bool))


def zeros(x: Tensor) -> Tensor:
    return adjoint.ops.zeros_like(x) if x.dtype is not adjoint.bool_ else Tensor(np.zeros(x.shape, bool))


# The corpus -----------------------------------------------------------------------------------------------------------------


def shown(program: Program) -> set[str]:
    """Return what a program covers: the features that it names, and its syntax: node types, `len()`, `.astype`."""
    found = set(program.features)
    tree = ast.parse(program.text).body[0]
    assert isinstance(tree, (ast.FunctionDef, ast.ClassDef))
    tree.decorator_list = []
    for node in ast.walk(tree):
        found.add(type(node).__name__)
        match node:
            case ast.Call(func=ast.Name(id=name)):
                found.add(f"{name}()")
            case ast.Attribute(attr=name):
                found.add(f".{name}")
            case ast.For(iter=ast.Call(func=ast.Name(id=name))):
                found.add(f"for {name}")
            case ast.AugAssign(op=op):
                found.add(f"augmented {type(op).__name__}")
            case ast.arguments(vararg=rest, kwarg=named, defaults=defaults, kwonlyargs=only):
                kinds = {"*args": rest, "**kwargs": named, "defaults": defaults, "keyword only": only}
                found |= {kind for kind, there in kinds.items() if there}
            case _:
                pass
    return found


REQUIRED = """
    *args, **kwargs, defaults, keyword only, keyword, Starred, starred, Assign, AugAssign, AnnAssign, NamedExpr, Delete, Nonlocal,
    Add, Sub, Mult, Div, FloorDiv, Mod, Pow, MatMult, USub, UAdd, Invert, Not, And, Or, BitAnd, BitOr, BitXor, LShift, RShift,
    Lt, LtE, Gt, GtE, Eq, NotEq, In, NotIn, Is, IsNot, chained comparison, tensor logic, in, is None,
    ops functions, primitives, cells, functions, nested functions, closures, Lambda, methods, partial, recursion, globals,
    constants from self, higher-order functions, grad, value_and_grad, GradOperation, vjp, jvp, cotangents, second order, has_aux,
    If, IfExp, For, While, Break, Continue, Return, tensor if, tensor elif, nested tensor if, tensor conditional expression,
    tensor early return, tensor while, tensor break, tensor continue, for tensor rows, nested loops, zero rounds, for else, while else,
    for range, for enumerate, for zip, CellList, dicts, tuples, named tuples, list methods, ListComp, DictComp, SetComp, GeneratorExp,
    JoinedStr, Slice, f-strings, range of a tensor, number computed in loop, results of dtype int, Python number in tensor branch,
    len(), range(), min(), max(), abs(), sum(), isinstance(), int(), float(), bool(), zip(), map(), filter(), all(), any(), round(), type(),
    getattr(), hasattr(), sorted(), reversed(), tuple(), list(), enumerate(), print(), any and all,
    .append, .extend, .insert, .pop, .index, .reverse, .sort, .items, .values, .keys, .get, .update,
    reads: int, reads: slice, reads: negative step, reads: ellipsis, reads: new axis, reads: tensor index, reads: loop variable,
    writes: int, writes: slice, writes: ellipsis, writes: negative step, writes: tensor index, writes: mask, writes: loop variable,
    .shape, .dtype, .ndim, .size, .T, .astype, .reshape, .sum, .mean, .max, .transpose, .view, .tanh, .item,
    parameters read, parameters written, parameters written: assign, moving average, random numbers, training, printing, aliases,
    Assert, Raise, tensor assert, tensor raise, promotion, broadcasting, empty, register_hook, HookBackward, InsertGradientOf, cell hooks,
    stop_gradient, bprop, MLP, conv net, RNN, attention, residual network, gated unit, optimiser, Newton iteration, fixed-point iteration,
    bisection, power iteration, simulation, cumulative products, piecewise functions, early stopping,
    number becomes tensor, attributes written
"""


def test_the_corpus_shows_everything_twice() -> None:
    counts = Counter(feature for program in PROGRAMS.values() for feature in shown(program))
    required = [feature.strip() for feature in REQUIRED.replace("\n", " ").split(",")]
    assert len(PROGRAMS) >= 170
    assert {feature: counts[feature] for feature in required if counts[feature] < 2} == {}
