"""Exported C computes with a few numbers by statements, with the bits of the ops' kernels; equal steps are one function."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.codegen.standalone.entry import ExportedFunction
from adjoint.codegen.standalone.file import standalone_file
from adjoint.ir.build import Builder
from adjoint.ir.core import Function, Value, tensor_type, walk
from adjoint.ir.ops.unrolled import Unrolled
from adjoint.ir.types import tensor
from adjoint.passes.schedule import STANDALONE
from adjoint.passes.unroll import unrolled
from adjoint.runtime.graphs.calls.making import parsed
from tests.codegen.test_export import STRICT, needs_gcc, of_this_processor, ran
from tests.codegen.test_standalone import called, file_of
from tests.test_fused_kernels import bits, computed, inputs, run, special
from tests.test_unrolled_kernels import all_compiled, made_up, op_nodes, steps

Array = Any


def numbers(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(len(shape)).uniform(0.5, 1, shape).astype(np.float32))


def own(text: str) -> str:
    """Return the part of an exported file that is made for its program."""
    return text[text.index('#include "') :]


def functions_in(text: str) -> dict[str, str]:
    """Return the functions of a file that are made for its program, each from its heading to its brace."""
    return {found[2]: found[0] for found in re.finditer(r"^(static )?\w+ (\w+)\([^;{]*\) \{\n.*?^\}", own(text), re.MULTILINE | re.DOTALL)}


# What it looks like -----------------------------------------------------------------------------------------------------------


def controller(gains: Any, state: Any, measured: Any, target: Any) -> Any:
    error = target - measured
    total = state[0] + 0.01 * error
    slope = (error - state[1]) / 0.01
    force = gains[0] * error + gains[1] * total + gains[2] * slope
    return ops.clamp(force, -10.0, 10.0), ops.stack((total, error))


CONTROLLER = """
    (void)context;
    /* test_exported_arithmetic.py:N: error = target - measured */
    const float error = target[0] - measured[0];

    /* test_exported_arithmetic.py:N: total = state[0] + 0.01 * error */
    const float total = state[0] + 0.01f * error;

    /* test_exported_arithmetic.py:N: slope = (error - state[1]) / 0.01 */
    const float slope = (error - state[1]) / 0.01f;

    /* test_exported_arithmetic.py:N: force = gains[0] * error + gains[1] * total + gains[2] * slope */
    const float force = gains[0] * error + gains[1] * total + gains[2] * slope;

    /* test_exported_arithmetic.py:N: return ops.clamp(force, -10.0, 10.0), ops.stack((total, error)) */
    const float raised = force < -10.0f ? -10.0f : force;
    c[0] = raised > 10.0f ? 10.0f : raised;
    c_[0] = total;
    c_[1] = error;
    return 0;
}"""


@needs_gcc
def test_a_step_of_a_controller_is_one_function(tmp_path: Path) -> None:
    """It reads like the Python, and needs no memory; so does its gradient."""
    ms.export(controller, numbers(3), numbers(2), numbers(), numbers(), file_name=str(tmp_path / "pid"))
    text = (tmp_path / "pid.c").read_text()
    (body,) = functions_in(text).values()
    assert re.sub(r"py:\d+", "py:N", body).endswith(CONTROLLER)
    assert "uses 0 bytes of the arena" in text and "for (" not in own(text)
    assert ran(tmp_path, "pid") == "pid: equal\n"

    def miss(*given: Any) -> Any:
        return (controller(*given)[0] - 1) ** 2

    ms.export(miss, numbers(3), numbers(2), numbers(), numbers(), file_name=str(tmp_path / "tune" / "tune"), gradient=True)
    text = (tmp_path / "tune" / "tune.c").read_text()
    assert [*functions_in(text)] == ["tune_miss", "tune_miss_gradient"] and "for (" not in own(text)
    assert "/* gradient of test_exported_arithmetic.py:" in text
    assert ran(tmp_path / "tune", "tune") == "tune: equal\n"


def pendulum(state: Any, torque: Any) -> Any:
    t = 0
    while t < 20:
        state = state + 0.01 * ops.stack((state[1], torque - 9.81 * ops.sin(state[0])))
        t = t + 1
    return (state * state).sum()


@needs_gcc
def test_equal_steps_are_calls_of_one_function(tmp_path: Path) -> None:
    """Twenty steps and their gradient are three functions of a step or two: forwards, forwards with what the gradient needs, backwards."""
    ms.export(pendulum, numbers(2), numbers(), file_name=str(tmp_path / "swing"), gradient=True)
    text = (tmp_path / "swing.c").read_text()
    *steps, value, gradient = functions_in(text).values()
    assert len(steps) == 3 and all(1 <= len(re.findall("adjoint_(?:sin|cos)_f32", step)) <= 2 for step in steps)
    calls = [re.findall(r"^    (compute_\w+)\(", each, re.MULTILINE) for each in (value, gradient)]
    assert len(calls[0]) >= 9 and len(calls[1]) >= 18 and len({*calls[0]}) == 1 and len({*calls[1]}) == 2
    assert ran(tmp_path, "swing") == "swing: equal\n"


def test_steps_that_differ_in_a_number_share_a_function() -> None:
    def decayed(x: Any) -> Any:
        for rate in (0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9):
            x = x + rate * ops.stack((x[1] * 3, ops.sin(x[0])))
        return x

    text = file_of(decayed, [numbers(2)], plain=True)
    shared = re.findall(r"^    (compute_\w+)\([^;]*&\(const float\)\{0\.\df\}", text, re.MULTILINE)
    assert len(shared) >= 12 and len({*shared}) == 3, "forwards, with what the gradient needs, and backwards"
    assert " * 3.0f" in text, "a number that is the same in all of them is written there"


def test_a_variable_that_is_named_like_a_function_of_the_file() -> None:
    def shadowed(x: Any, compute_x: Any) -> Any:
        for _ in (1, 2, 3, 4, 5, 6, 7, 8, 9):
            x = x + compute_x * ops.stack((x[1] * 3, ops.sin(x[0])))
        return x

    entry = ExportedFunction(STANDALONE.run(parsed(shadowed, numbers(2), numbers()).graph.module).functions["shadowed"], {}, ["y"])
    text = standalone_file([entry], plain=True).text
    assert "static void compute_x(" in text and re.search(r"^    compute_x\(\w+, compute_x_, ", text, re.MULTILINE)


def test_a_long_program_is_a_list_of_calls() -> None:
    """No function that computes has more than some hundred lines, though no two parts of the program are equal."""
    kinds = np.random.default_rng(0).integers(0, 4, 300)

    def long(x: Any, y: Any) -> Any:
        total = x * y
        for kind in kinds:
            total = [total * y + x, ops.maximum(total - y, x), total / (y * y + x), ops.minimum(total, y) * x][kind]
        return total

    entry = ExportedFunction(STANDALONE.run(parsed(long, numbers(), numbers()).graph.module).functions["long"], {}, ["total"])
    bodies = re.findall(r"^(?:static )?\w+ \w+\([^;{]*\) \{\n(.*?)^\}", standalone_file([entry], plain=True).text, re.MULTILINE | re.DOTALL)
    assert 4 < len(bodies) < 40 and max(body.count("\n") for body in bodies) < 250


def test_what_needs_loops_keeps_them() -> None:
    """More than four numbers, and a layer of a network, are computed as before."""
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2))
    for target, given in ((net, numbers(1, 4)), (lambda x: ops.sin(x) * x + 1, numbers(5))):
        graph = parsed(target, given).graph
        made = STANDALONE.run(graph.module).functions[graph.symbol]
        assert not [node for node in walk(made.body) if isinstance(node.op, Unrolled)]


def test_a_batch_of_any_size_keeps_its_loops(tmp_path: Path) -> None:
    """Statements serve one size."""
    rows = Tensor(shape=[None], dtype=ms.float32)
    ms.export(lambda x: ops.sin(x) * x + x[0], rows, file_name=str(tmp_path / "rows"), max_batch=3)
    assert "for (int64_t i" in (tmp_path / "rows.c").read_text()


# Its bits ---------------------------------------------------------------------------------------------------------------------


def library(functions: dict[str, Function], folder: Path) -> Path:
    """Compile functions as one exported file."""
    entries = [ExportedFunction(f, {}, [f"out{i}" for i in range(len(f.body.results))], name) for name, f in functions.items()]
    source, made = folder / "file.c", folder / "file.so"
    source.write_text(standalone_file(entries, plain=True).text)
    subprocess.run([*STRICT, *of_this_processor(), "-fwrapv", "-shared", "-fPIC", source, "-o", made], check=True)
    return made


def in_c(made: Path, name: str, function: Function, arrays: Sequence[Array]) -> list[bytes]:
    """Return the bits of the results of an exported function."""
    types = [tensor_type(x) for x in function.body.results]
    results = [np.empty(t.sizes, t.dtype.array) for t in types]
    assert called(made, name, arrays, results) == 0
    return [bits(x, t) for x, t in zip(results, types, strict=True)]


@needs_gcc
def test_each_op_has_the_bits_of_its_kernel(tmp_path: Path) -> None:
    """All ops that unroll, each in a function, with infinities, NaN and both zeros."""
    all_compiled()
    functions: dict[str, Function] = {}
    for place, (_, node) in enumerate(op_nodes().values()):
        params, body = [x for x in node.operands if isinstance(x, Value)], Builder()
        made = body.emit_node(Unrolled(), params, regions=node.regions)
        functions[f"f{place}"] = Function(f"f{place}", body.finish(list(made.results), params))
    made = library(functions, tmp_path)
    for place, (case, _) in enumerate(op_nodes().values()):
        for arrays in (case.arrays(), special(case)):
            expected = [bits(x, t) for x, t in zip(run(case.op, arrays, case.types), case.results, strict=True)]
            assert in_c(made, f"f{place}", functions[f"f{place}"], arrays) == expected, (case.name, arrays)


@functools.cache
def programs() -> dict[str, Function]:
    return {f"made_up_{seed}": made_up(seed) for seed in range(30)} | {"steps": steps(12)}


@needs_gcc
def test_made_up_programs_have_the_bits_of_their_nodes(tmp_path: Path) -> None:
    """Each as exported C makes groups of its nodes, and as one group of all nodes on up to 16 numbers."""
    short = {name: unrolled(function, short=True) for name, function in programs().items()}
    whole = {f"{name}_whole": unrolled(function) for name, function in programs().items()}
    assert sum(any(isinstance(node.op, Unrolled) for node in function.body.nodes) for function in short.values()) > 20
    made = library(short | whole, tmp_path)
    for name, function in programs().items():
        for seed in range(3):
            arrays = [np.abs(x) % 3 if x.dtype == np.int32 else x for x in inputs(function, seed)]
            expected = computed(function, arrays)
            assert in_c(made, name, short[name], arrays) == expected, name
            assert in_c(made, f"{name}_whole", whole[f"{name}_whole"], arrays) == expected, name


def test_narrow_integers_keep_their_own_statements() -> None:
    """C computes int8 as int, where 100 + 100 - 100 would not wrap."""
    b = Builder()
    x = Value(tensor(ms.int8), "x")
    total = b.sub(b.add(x, x), x)
    function = unrolled(Function("f", b.finish([b.mul(total, x), b.add(total, total)], [x])))
    text = standalone_file([ExportedFunction(function, {}, ["p", "q"], "f")], plain=True).text
    assert re.search(r"const int8_t \w+ = \(int8_t\)\(x\[0\] \+ x\[0\]\);", text)
