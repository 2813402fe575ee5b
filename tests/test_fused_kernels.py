"""Fused kernels have the bits of the kernels of their nodes: every op, every dtype, NaN and -0.0, empty and broadcast shapes, threads."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import op_cases
import pytest
from cffi import FFI
from op_cases import Case

import adjoint as ms
from adjoint.codegen.c_print import INDEPENDENT
from adjoint.codegen.emit import KernelText, lower, shown
from adjoint.codegen.recipes import form_of, recorded, resized
from adjoint.foundation.budget import Budget, Table
from adjoint.ir.build import Builder
from adjoint.ir.core import Function, Node, Value, tensor_type, walk
from adjoint.ir.interpret import interpret
from adjoint.ir.kernel.names import KEYWORDS
from adjoint.ir.op import Op
from adjoint.ir.ops import fused_rows
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.ops.fused import Fused, FusedKernel, is_map, is_reduction, kernel_op
from adjoint.ir.ops.optimizers import Update
from adjoint.ir.ops.reduce import Reduction
from adjoint.ir.ops.shape import Reshape, Reverse, Slice, Transpose
from adjoint.ir.ops.views import ViewOp
from adjoint.ir.print import print_function
from adjoint.ir.storage import to_compute
from adjoint.ir.types import BF16, F16, F32, F64, I32, DType, TensorType, tensor
from adjoint.ir.verify import verify_function
from adjoint.passes import fuse
from adjoint.passes.fuse import fused
from adjoint.runtime.memory.machine import array_of, machine, memory_of
from adjoint.runtime.memory.op_plans import plan_for
from tests.seams import plant

Array = Any


def compiled(texts: Sequence[KernelText]) -> None:
    """Compile many kernels together, so that each test finds its own."""
    kernels = machine().kernels
    assert kernels is not None
    op_cases.compile_together(kernels, texts)


def compile_nodes(functions: Iterable[Function]) -> None:
    """Compile the kernels of all nodes of functions together."""
    compiled([text_of(node) for function in functions for node in function.body.nodes if kernel_op(node).can_lower])


@functools.cache
def with_kernels(make: Callable[[], dict[str, tuple[Function, Function]]]) -> dict[str, tuple[Function, Function]]:
    """What `make` returns; the kernels of all of it are compiled together, by the first test that needs one."""
    found = make()
    compile_nodes(function for pair in found.values() for function in pair)
    return found


def text_of(node: Node) -> KernelText:
    return lower(kernel_op(node), [x.type for x in node.operands], [x.type for x in node.results])


def run(op: Any, arrays: Sequence[Array], types: Sequence[TensorType]) -> list[Array]:
    plan = plan_for(op, types)
    made = plan.run(*[memory_of(np.ascontiguousarray(x)) for x in arrays])
    return [array_of(m, t) for m, t in zip(made if len(plan.types) > 1 else (made,), plan.types, strict=True)]


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    before = ms.get_context("num_threads")
    ms.set_context(num_threads=count)
    try:
        yield
    finally:
        ms.set_context(num_threads=before)


# Each op by itself ------------------------------------------------------------------------------------------------------------


def alone(case: Case) -> Node:
    """A fused node that holds just this op; before a reduction `x if x == x else x`, which is x, NaN included."""
    inner = Builder()
    params = [Value(t, "x") for t in case.types]
    given: list[Any] = list(params)
    if isinstance(case.op, Reduction):
        (x,) = params
        given = [inner.select(inner.equal(x, x), x, x)]
    region = inner.finish([inner.emit(case.op, *given)], params)
    return Builder().emit_node(Fused(), [Value(t, "a") for t in case.types], regions=[region])


@functools.cache
def op_nodes() -> dict[str, tuple[Case, Node]]:
    found: dict[str, tuple[Case, Node]] = {}
    for case in op_cases.cases():
        node = Builder().emit_node(case.op, [Value(t, "x") for t in case.types])
        samples = op_cases.samples_of(type(case.op))
        if case.sample is not samples[0] and case.sample is not samples[-1] and isinstance(case.op, Elementwise):
            continue  # the first, and one with broadcast operands: `special` draws the numbers
        maps = is_map(node) and not getattr(case.op, "aliases", False)
        if maps or (is_reduction(node) and case.types[0].count):
            found[case.name] = case, alone(case)
    return found


@functools.cache
def all_compiled() -> None:
    single = [lower(case.op, case.types, case.results) for case, _ in op_nodes().values() if case.op.can_lower]
    compiled([*single, *(text_of(node) for _, node in op_nodes().values())])


def special(case: Case) -> list[Array]:
    """Operands of the case with infinities, NaN and both zeros among them, in all combinations of two."""
    rng = np.random.default_rng(7)
    found = case.arrays()
    for array, type_ in zip(found, case.types, strict=True):
        if type_.dtype.is_float and array.size:
            some = op_cases.stored(rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.5], type_.sizes), type_)
            array[...] = np.where(rng.random(type_.sizes) < 0.7, some, array)
    return found


def test_each_elementwise_op_and_each_reduction_is_tried() -> None:
    tried = {type(case.op) for case, _ in op_nodes().values()}
    every = {type(case.op) for case in op_cases.cases() if isinstance(case.op, (Elementwise, Reduction))}
    assert {cls.name for cls in every - tried} == {"identity", "examples", "stop_gradient", "no_grad"}


@pytest.mark.parametrize("name", op_nodes())
def test_an_op_alone(name: str) -> None:
    all_compiled()
    case, node = op_nodes()[name]
    for arrays in (case.arrays(), special(case)) if case.sample.smooth else (case.arrays(),):
        (expected,) = run(case.op, arrays, case.types)
        (found,) = run(kernel_op(node), arrays, case.types)
        assert bits(found, case.results[0]) == bits(expected, case.results[0])


# Made-up functions ------------------------------------------------------------------------------------------------------------


UNARY = ("tanh", "sigmoid", "exp", "neg", "abs", "square", "sqrt", "relu", "sin")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")
ON_INTEGERS = (("neg", "abs", "square", "sign"), ("add", "sub", "mul", "maximum", "floor_div", "mod"))
SHAPES: tuple[tuple[int, ...], ...] = ((5,), (64,), (4100,), (3, 7), (6, 300), (2, 3, 5), (3, 2, 4, 4), (0, 3), (1, 6))
DTYPES = (F32, F32, F32, F64, F16, BF16, I32)


def smaller(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`: a number, a row, a column, one for each channel."""
    kept = [dim if rng.random() < 0.5 else 1 for dim in shape]
    return tuple(kept[int(rng.integers(0, len(shape) + 1)) :])


def moved(rng: np.random.Generator, b: Builder, type_: TensorType) -> tuple[Value, Value]:
    """A parameter, and a value of the given type: slices, reversals, transposes and reshapes of the parameter, one after the other."""
    moves: list[Op] = []
    sizes = type_.sizes
    for _ in range(int(rng.integers(1, 4))):
        match int(rng.integers(0, 5)):
            case 0:
                moves.append(Reverse(tuple(axis for axis in range(len(sizes)) if rng.random() < 0.5)))
            case 1:
                order = rng.permutation(len(sizes)).tolist()
                moves.append(Transpose(tuple(order)))
                sizes = tuple(sizes[order.index(axis)] for axis in range(len(sizes)))
            case 2:
                place, lead = int(rng.integers(0, 3)), (0,) * len(sizes)
                moves += [Reshape(tensor(type_.dtype, sizes)), Slice((place, *lead), (place + 1, *sizes), (1,) * (1 + len(sizes)))]
                sizes = (3, *sizes)
            case _:
                steps = [int(rng.choice((1, 1, 1, 2, -1, -2, 3))) for _ in sizes]
                firsts = [int(rng.integers(0, 3)) for _ in sizes]
                starts = [first - (step < 0) * (size - 1) * step for first, step, size in zip(firsts, steps, sizes, strict=True)]
                stops = [max(-1, start + size * step) for start, step, size in zip(starts, steps, sizes, strict=True)]
                moves.append(Slice(tuple(starts), tuple(stops), tuple(steps)))
                sizes = tuple(first + abs(step) * size + 1 for first, step, size in zip(firsts, steps, sizes, strict=True))
    param = Value(tensor(type_.dtype, sizes), "p")
    value = param
    for move in reversed(moves):
        value = b.emit_node(move, [value]).result
    assert value.type is type_
    return param, value


def made_up(seed: int) -> Function:
    """A function of elementwise ops over a few shapes, with broadcasts, reductions, comparisons, casts and numbers; every third one reads
    parts of its parameters.
    """
    rng = np.random.default_rng([12, seed])
    dtype = DTYPES[seed % len(DTYPES)]
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    params = [Value(tensor(dtype, shape), "x"), Value(tensor(dtype, shape), "y"), Value(tensor(dtype, smaller(rng, shape)), "z"),
              Value(tensor(dtype), "s"), Value(tensor(dtype, smaller(rng, shape)), "w")]
    b = Builder()
    atoms: list[Any] = list(params)
    if seed % 3 == 1 and 0 not in shape:
        for i in range(3):
            params[i], atoms[i] = moved(rng, b, tensor_type(params[i]))

    def pick() -> Any:
        return atoms[max(0, len(atoms) - int(rng.geometric(0.3)))]

    unary, binary = (UNARY, BINARY) if dtype.is_float else ON_INTEGERS
    for _ in range(int(rng.integers(4, 26))):
        x, y = pick(), pick()
        match int(rng.integers(0, 14)):
            case 0 | 1 | 2 | 3:
                made = getattr(b, str(rng.choice(unary)))(x)
            case 4:
                made = b.mul(x, b.constant(float(rng.choice([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0])) if dtype.is_float else 3, dtype))
            case 5:
                made = b.select(b.less(x, y), x, y)
            case 6 if dtype.is_float:
                made = b.cast(b.cast(x, to=F16 if dtype is not F16 else F32), to=dtype)
            case 7:
                made = b.broadcast(x, to=tensor(dtype, shape))
            case 8 | 9 if x.type.rank:
                axes = tuple(sorted(rng.permutation(x.type.rank)[: int(rng.integers(1, x.type.rank + 1))].tolist()))
                made = (b.sum if rng.random() < 0.7 else b.prod)(x, axes=axes, keepdims=True)
            case 10:
                made = b.identity(x)
            case _:
                made = getattr(b, str(rng.choice(binary)))(x, y)
        atoms.append(made)
    results = [atoms[-1], *(x for x in atoms[5:-1] if rng.random() < 0.15)]
    return Function("f", b.finish(results, params))


def inputs(function: Function, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    found = []
    for param in function.params:
        type_ = param.type
        assert isinstance(type_, TensorType)
        if not type_.dtype.is_float:
            found.append(rng.integers(-9, 9, type_.sizes).astype(type_.dtype.array))
            continue
        array = op_cases.stored(rng.standard_normal(type_.sizes), type_)
        if seed % 2:
            some = op_cases.stored(rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], type_.sizes), type_)
            array = np.where(rng.random(type_.sizes) < 0.2, some, array)
        found.append(np.ascontiguousarray(array).reshape(type_.sizes))
    return found


def computed(function: Function, arrays: Sequence[Array]) -> list[bytes]:
    """The results of a function, one kernel for each of its nodes."""
    values: dict[Any, Array] = dict(zip(function.params, arrays, strict=True))

    def value(atom: Any) -> Array:
        return values[atom] if isinstance(atom, Value) else op_cases.stored(atom.value, atom.type)

    for node in function.body.nodes:
        made = run(kernel_op(node), [value(x) for x in node.operands], [tensor_type(x) for x in node.operands])
        values.update(zip(node.results, made, strict=True))
    return [bits(value(x), x.type) for x in function.body.results]


def bits(array: Array, type_: Any) -> bytes:
    """The bits of an array, with one NaN for all: which of two NaNs an addition gives is up to the compiler."""
    wide = to_compute(array, type_.dtype)
    return np.where(wide != wide, np.float32(np.nan).astype(wide.dtype), wide).tobytes() if wide.dtype.kind == "f" else wide.tobytes()


COUNT = 70


@functools.cache
def functions() -> list[tuple[Function, Function]]:
    """Made-up functions, each also with fused nodes, whose kernels are compiled together."""
    made = [(function, fused(function)) for function in map(made_up, range(COUNT))]
    compile_nodes(function for pair in made for function in pair)
    return made


def test_made_up_functions_are_fused() -> None:
    """Otherwise the tests below would compare nothing."""
    counts = [sum(isinstance(node.op, Fused) for node in function.body.nodes) for _, function in functions()]
    held = [node for _, function in functions() for node in walk(function.body)]
    assert sum(count > 0 for count in counts) > COUNT * 2 // 3
    assert sum(isinstance(node.op, Fused) and is_reduction(node.regions[0].nodes[-1]) for node in held) > COUNT // 10
    assert any(len(node.results) > 1 for node in held if isinstance(node.op, Fused))
    assert sum(isinstance(each.op, ViewOp) for node in held for region in node.regions for each in region.nodes) > COUNT // 3


@pytest.mark.parametrize("seed", range(COUNT))
def test_made_up_function(seed: int) -> None:
    plain, together = functions()[seed]
    for count in (1, 2):
        with threads(count):
            for draw in (0, 1):
                arrays = inputs(plain, draw)
                assert computed(together, arrays) == computed(plain, arrays), print_function(together)


@pytest.mark.parametrize("seed", range(0, COUNT, 6))
def test_the_meaning_is_the_same(seed: int) -> None:
    plain, together = functions()[seed]
    arrays = inputs(plain, 0)
    for expected, found in zip(interpret(plain, arrays), interpret(together, arrays), strict=True):
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


# Reductions of what is broadcast ----------------------------------------------------------------------------------------------


FORMS = (
    ((3, 7), (1,)), ((40, 300), (1,)), ((3, 2500), (1,)), ((5, 300), (0,)), ((200, 37), (0,)), ((70, 2100), (0,)), ((9, 700), (0, 1)),
    ((3, 4, 5, 6), (0, 2, 3)), ((2, 3, 50, 50), (0, 2, 3)), ((2, 3, 50, 50), (1,)), ((4, 1, 300), (2,)),
    ((40, 3), (1,)), ((7, 30, 4), (2,)), ((3, 5, 4, 2), (3,)), ((2, 2), (0, 1)), ((7, 40, 3), (1,)), ((1, 3), (1,)),
    ((70, 20, 4), (0,)), ((3, 700, 4), (1, 2)), ((2, 1500, 3), (1, 2)), ((5, 1100, 2), (0,)), ((6, 5, 7, 3), (1,)),
)
"""Shapes and axes on both sides of the lengths at which a reduction changes its loops."""
OPERANDS = (("row", (-1,)), ("column", (0,)), ("channel", (1,)), ("middle", (0, -1)), ("number", ()))


def of_broadcast(shape: tuple[int, ...], axes: tuple[int, ...], kept: tuple[int, ...], dtype: DType, reduction: str) -> Function:
    """`sum(x * y + x, axes)`, where y has the size of x along the axes `kept` only; the product is a result too."""
    rank = len(shape)
    small = tuple(dim if axis in {at % rank for at in kept if -rank <= at < rank} else 1 for axis, dim in enumerate(shape))
    b, x, y = Builder(), Value(tensor(dtype, shape), "x"), Value(tensor(dtype, small), "y")
    product = b.mul(x, y)
    total = getattr(b, reduction)(b.add(product, x), axes=axes, keepdims=False)
    return Function("f", b.finish([total, product], [x, y]))


@functools.cache
def broadcasts() -> dict[str, tuple[Function, Function]]:
    found: dict[str, tuple[Function, Function]] = {}
    for number, (shape, axes) in enumerate(FORMS):
        for at, (name, kept) in enumerate(OPERANDS):
            dtype = (F32, F16, I32, F64)[(number + at) % 4]
            reduction = ("sum", "prod", "reduce_max", "sum")[(number + 2 * at) % 4]
            plain = of_broadcast(shape, axes, kept, dtype, reduction)
            found[f"{reduction} {dtype.name}{list(shape)} over {list(axes)}, {name}"] = plain, fused(plain)
    return found


@pytest.mark.parametrize("name", broadcasts())
def test_a_reduction_of_what_is_broadcast(name: str) -> None:
    plain, together = with_kernels(broadcasts)[name]
    (node,) = together.body.nodes
    assert isinstance(node.op, Fused) and len(node.regions[0].nodes) == 3
    for count in (1, 2):
        with threads(count):
            for draw in (0, 1):
                arrays = inputs(plain, draw)
                assert computed(together, arrays) == computed(plain, arrays)


def test_their_kernels_do_not_depend_on_sizes() -> None:
    def text(rows: int, columns: int) -> str:
        (node,) = fused(of_broadcast((rows, columns), (1,), (1,), F32, "sum")).body.nodes
        return text_of(node).text

    assert len({text(3, 100), text(40, 300), text(200, 37)}) == 1


def test_columns_of_rows_that_are_stored_too_can_be_vector_code() -> None:
    """A round stores elements in several rows: a compiler that is not told otherwise must assume that the next one overwrites them."""
    (node,) = fused(of_broadcast((200, 37), (0,), (0, 1), F32, "sum")).body.nodes
    assert text_of(node).text.count(INDEPENDENT) == 1


# Steps of optimisers ----------------------------------------------------------------------------------------------------------


@functools.cache
def steps() -> dict[str, tuple[Function, Function]]:
    """Each step on a gradient that is computed: of operands of its shape, of a column and a row, and of the parameter's rows reversed."""
    found: dict[str, tuple[Function, Function]] = {}
    for case in op_cases.cases():
        if not isinstance(case.op, Update):
            continue
        for kind in ("flat", "outer", "reversed"):
            params = [Value(t, "x") for t in case.types]
            rows, columns = case.types[0].sizes
            small = [(rows, 1), (columns,)] if kind == "outer" else [(rows, columns)] * 2
            factors = [Value(tensor(case.types[0].dtype, shape), "f") for shape in small]
            b = Builder()
            parameter = b.reverse(params[0], axes=(0,)) if kind == "reversed" else params[0]
            gradient = b.add(b.mul(*factors), parameter)
            given = [gradient if i == case.op.streams else x for i, x in enumerate(params)]
            made = b.emit_node(case.op, given).results
            plain = Function("f", b.finish([*made, gradient], [*params, *factors]))
            found[f"{case.name}, {kind}"] = plain, fused(plain)
    return found


@pytest.mark.parametrize("name", steps())
def test_a_step_of_an_optimiser(name: str) -> None:
    plain, together = with_kernels(steps)[name]
    (node,) = together.body.nodes
    assert isinstance(node.op, Fused) and len(node.regions[0].nodes) == 3 + ("reversed" in name)
    for draw in (0, 1):
        arrays = inputs(plain, draw)
        assert computed(together, arrays) == computed(plain, arrays)


@pytest.mark.parametrize("name", steps())
def test_a_step_in_the_memory_of_what_it_replaces(name: str) -> None:
    """Of the new parameter and states each is written over the one before, which the gradient reads too, unless it reads it elsewhere."""
    plain, together = with_kernels(steps)[name]
    (node,) = together.body.nodes
    op, step = kernel_op(node), node.regions[0].nodes[-1].op
    assert isinstance(op, FusedKernel) and isinstance(step, Update)
    assert len(op.in_place) == len(step.in_place) - ("reversed" in name and 0 in step.in_place.values())
    types = [tensor_type(x) for x in node.operands]
    arrays = inputs(plain, 0)
    values = dict(zip(plain.params, arrays, strict=True))
    given = [np.ascontiguousarray(values[x] if isinstance(x, Value) else op_cases.stored(x.value, x.type)) for x in node.operands]
    expected = run(op, given, types)
    outs = [given[op.in_place[i]] if i in op.in_place else np.empty_like(array) for i, array in enumerate(expected)]
    text, kernels = text_of(node), machine().kernels
    assert kernels is not None
    ffi: Any = FFI()
    pointers = ffi.new("void *[]", [ffi.cast("void *", ffi.from_buffer(array)) for array in (*given, *outs)])
    (function,), (stage,) = kernels.get(text), text.stages
    middle = min(40, stage.units)  # the units are rows where each row has numbers of its own
    for begin, end in ((middle, stage.units), (0, middle)):
        assert function(pointers, ffi.new("int64_t[]", stage.sizes), begin, end) == 0
    assert [x.tobytes() for x in outs] == [x.tobytes() for x in expected]


# Row by row -------------------------------------------------------------------------------------------------------------------


ROWS: tuple[tuple[int, ...], ...] = ((3, 7), (40, 300), (5, 1024), (2, 3, 50), (1, 64), (9,), (6, 32), (300, 33))


def of_rows(seed: int) -> Function:
    """A function of rows, of reductions of them, and of what both are combined to, some of it cast or stored; every third one
    reads parts of its parameters.
    """
    rng = np.random.default_rng([31, seed])
    dtype, shape = (F32, F16, F64, F32, BF16)[seed % 5], ROWS[seed % len(ROWS)]
    column = (*shape[:-1], 1)
    b = Builder()
    params = [Value(tensor(dtype, t), "x") for t in (shape, shape, column, shape[-1:], ())]
    atoms: list[Any] = list(params)
    if seed % 3 == 1:
        for i in (0, 1, 3):
            params[i], atoms[i] = moved(rng, b, tensor_type(params[i]))
    whole: list[Any] = atoms[:2]
    single: list[Any] = [params[2]]
    unary, binary = UNARY, BINARY

    def pick(atoms: list[Any]) -> Any:
        return atoms[max(0, len(atoms) - int(rng.geometric(0.4)))]

    for _ in range(int(rng.integers(6, 20))):
        match int(rng.integers(0, 9)):
            case 0 | 1:
                reduction = str(rng.choice(("sum", "mean", "reduce_max", "prod")))
                single.append(getattr(b, reduction)(pick(whole), axes=(len(shape) - 1,), keepdims=True))
            case 2:
                single.append(getattr(b, str(rng.choice(unary)))(pick(single)))
            case 3:
                single.append(getattr(b, str(rng.choice(binary)))(pick(single), pick([params[4], *single])))
            case 4:
                whole.append(getattr(b, str(rng.choice(unary)))(pick(whole)))
            case 5:
                whole.append(b.select(b.less(pick(whole), pick(single)), pick(whole), atoms[3]))
            case 6:
                whole.append(b.broadcast(pick(single), to=tensor(dtype, shape)))
            case 7:
                whole.append(b.cast(b.less(pick(whole), pick(single)), to=dtype))
            case _:
                whole.append(getattr(b, str(rng.choice(binary)))(pick(whole), pick([atoms[3], params[4], *whole, *single, *single])))
    stored = [x for x in (*whole[2:-1], *single[1:]) if rng.random() < 0.2]
    return Function("f", b.finish([whole[-1], *stored], params))


@functools.cache
def rows() -> list[tuple[Function, Function]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fuse, "_LARGE", 0)
        made = [(function, fused(function)) for function in map(of_rows, range(40))]
    for _, function in made:
        verify_function(function)
    compile_nodes(function for pair in made for function in pair)
    return made


def by_rows(node: Node) -> bool:
    return isinstance(node.op, Fused) and any(map(is_reduction, node.regions[0].nodes[:-1]))


def test_functions_of_rows_are_fused() -> None:
    held = [node for _, function in rows() for node in function.body.nodes if by_rows(node)]
    assert len(held) > 20
    assert max(sum(map(is_reduction, node.regions[0].nodes)) for node in held) > 2
    assert sum(isinstance(each.op, ViewOp) for node in held for each in node.regions[0].nodes) > 5


@pytest.mark.parametrize("seed", range(40))
def test_function_of_rows(seed: int) -> None:
    plain, together = rows()[seed]
    for count in (1, 2):
        with threads(count):
            for draw in (0, 1):
                arrays = inputs(plain, draw)
                assert computed(together, arrays) == computed(plain, arrays), print_function(together)


def test_a_wrong_row_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above finds a kernel that reads the first row instead of each."""
    x, b = Value(tensor(F32, (19, 23)), "x"), Builder()
    total = b.sum(x, axes=(1,), keepdims=True)
    plain = Function("f", b.finish([b.div(x, total)], [x]))
    monkeypatch.setattr(fuse, "_LARGE", 0)
    together = fused(plain)
    assert by_rows(*together.body.nodes)
    arrays = inputs(plain, 0)
    with monkeypatch.context() as patch:
        plant(patch, "recipes", lambda families: Table("recipes of this test", Budget()))
        patch.setattr(fused_rows, "collapsed", lambda shape, strides: ([19], [[0]]))
        wrong = computed(together, arrays)
    assert wrong != computed(plain, arrays)


# Their recipes ----------------------------------------------------------------------------------------------------------------


def resized_node(node: Node, change: Callable[[int], int]) -> tuple[Any, list[Any], list[Any]]:
    """The op of a fused node, with its operand and result types, in which all sizes from 5 on are others; smaller ones may be axes."""
    op, operands, results = kernel_op(node), [tensor_type(x) for x in node.operands], [tensor_type(x) for x in node.results]
    sizes = iter([change(size) if size > 4 else size for size in form_of(op, operands, results)[1]])
    return resized(op, sizes), [resized(type_, sizes) for type_ in operands], [resized(type_, sizes) for type_ in results]


def test_recipes_make_the_same_kernels() -> None:
    """Of all but steps of optimisers: these compare their types, and are lowered for each size."""
    pairs = [*functions(), *broadcasts().values(), *rows()]
    nodes = [node for _, function in pairs for node in function.body.nodes if isinstance(node.op, Fused)]
    made = 0
    for node in nodes:
        recipe = recorded(*resized_node(node, lambda size: size))
        assert recipe.kernel == text_of(node)
        for change in (lambda size: size + 1, lambda size: 2 * size, lambda size: size + 3000):
            op, operands, results = resized_node(node, change)
            found = recipe.for_sizes(form_of(op, operands, results)[1])
            assert found is None or found == lower(op, operands, results)
            made += found is not None
    assert made > len(nodes)


# Their names ------------------------------------------------------------------------------------------------------------------


HARD = ("x'", "for", "size", "operand", "exp", "tanh", "NAN", "INT64_MAX", "adjoint_tanh_f32", "größe", "m", "n", "row", "lane", "value",
        "x_value", "out", "unit", "main", "j", "", "float", "int64_t", "fused_f32", "2x", "*/", "isnan", "full", "computed", "y.1'")
"""Hints that are no names in C, or that mean something else there or in a kernel."""


def renamed(node: Node, hints: Sequence[str]) -> Node:
    """Return a fused node whose values have other names."""
    names, inner, (region,) = itertools.cycle(hints), Builder(), node.regions
    known: dict[Any, Any] = {param: Value(param.type, next(names)) for param in region.params}
    for each in region.nodes:
        made = inner.emit_node(each.op, [known.get(x, x) for x in each.operands])
        known.update(zip(each.results, made.results, strict=True))
        for value in made.results:
            value.hint = next(names)
    body = inner.finish([known[x] for x in region.results], [known[x] for x in region.params])
    return Builder().emit_node(node.op, node.operands, regions=[body])


def without_names(text: KernelText) -> str:
    """Return the text without comments and spaces, with one name for all but those of C and of our functions."""
    code = re.sub(r"/\*.*?\*/|\s+", " ", text.text, flags=re.DOTALL).replace("( ", "(")
    return re.sub(r"\b(?!adjoint_)(?!0x)[A-Za-z_]\w*", lambda found: found[0] if found[0] in KEYWORDS else "name", code)


def launched(text: KernelText, arrays: Sequence[Array], types: Sequence[TensorType]) -> list[Array]:
    """Return what a kernel computes of these arrays."""
    kernels, ffi = machine().kernels, FFI()
    assert kernels is not None
    scratch = [np.empty(size, np.uint8) for size in text.scratch]
    outs = [np.empty(type_.sizes, type_.dtype.array) for type_ in types]
    given = [np.ascontiguousarray(array) for array in arrays]
    pointers: Any = ffi.new("void *[]", [ffi.cast("void *", array.ctypes.data) for array in (*given, *outs, *scratch)])
    for function, stage in zip(kernels.get(text), text.stages, strict=True):
        assert function(pointers, ffi.new("int64_t[]", stage.sizes), 0, stage.units) == 0
    return outs


def test_a_kernel_is_shown_with_the_names_of_its_values() -> None:
    b, x, bias = Builder(), Value(tensor(F32, (3, 7)), "x"), Value(tensor(F32, (7,)), "bias")
    shifted = b.add(x, bias, hint="shifted")
    (node,) = fused(Function("f", b.finish([b.mul(shifted, shifted, hint="y'"), shifted], [x, bias]))).body.nodes
    text = shown(node)
    assert "const float *restrict bias, " in text.text and "float *restrict y_bar_out" in text.text
    shifted_at = text.text[: text.text.index("const float shifted = ")].count("\n")
    assert (shifted_at + 1, 0) in text.places and "const float y_bar = shifted * shifted;" in text.text
    assert "shifted_out[row * m + j] = shifted;" in text.text


def test_names_are_no_part_of_a_kernel() -> None:
    """Programs that differ in names share a kernel; what is shown of it differs in names alone, whatever these are."""
    nodes = [node for _, function in (*functions(), *broadcasts().values(), *rows(), *steps().values())
             for node in function.body.nodes if isinstance(node.op, Fused)]
    for at, node in enumerate(nodes):
        other = renamed(node, (*HARD[at % len(HARD) :], *HARD[: at % len(HARD)]))
        compiled_as, seen = text_of(node), shown(other)
        assert text_of(other) == compiled_as
        assert without_names(seen) == without_names(compiled_as)
        assert (seen.stages, seen.scratch, seen.headers) == (compiled_as.stages, compiled_as.scratch, compiled_as.headers)


@functools.cache
def with_hard_names() -> list[tuple[Node, KernelText]]:
    pairs = [*functions()[:COUNT:9], *[*broadcasts().values()][::11], *rows()[::8], *[*steps().values()][::5]]
    nodes = [node for _, function in pairs for node in function.body.nodes if isinstance(node.op, Fused)]
    found = [(node, shown(renamed(node, HARD))) for node in nodes]
    compiled([text for _, text in found])
    return found


def test_what_is_shown_is_c_with_the_same_bits() -> None:
    for node, text in with_hard_names():
        arrays = inputs(Function("f", node.regions[0]), 0)
        expected = run(kernel_op(node), arrays, [tensor_type(x) for x in node.operands])
        found = launched(text, arrays, [tensor_type(x) for x in node.results])
        assert [bits(x, y.type) for x, y in zip(found, node.results, strict=True)] == \
            [bits(x, y.type) for x, y in zip(expected, node.results, strict=True)]
