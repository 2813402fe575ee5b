"""Standalone C files compile without warnings under every compiler, and compute the results of eager mode."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cffi import FFI

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.cli import main
from adjoint.codegen.toolchain import Toolchain
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.parse import parse_module
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.inspection.stages import adjoint_of, standalone, wanted

Array = np.ndarray[Any, Any]
needs_compiler = pytest.mark.skipif(Toolchain.find() is None, reason="there is no C compiler")


def file_of(function: Callable[..., Any], inputs: Sequence[Any], *, plain: bool = False) -> str:
    graph = parsed(function, *inputs).graph
    names = wanted(graph.module, graph.symbol)
    return standalone(graph.module, graph.symbol, adjoint_of(graph.module, graph.symbol, names).module if names else None, names,
                      plain=plain).text


def called(library: Any, name: str, operands: Sequence[Array], results: Sequence[Array]) -> int:
    """Return the status of a function called with arrays; it writes the results."""
    ffi = FFI()
    ffi.cdef(f"int {name}({', '.join(['void *'] * (len(operands) + len(results)))});")
    function = getattr(ffi.dlopen(str(library)), name)
    return function(*(ffi.from_buffer(np.ascontiguousarray(x)) for x in operands), *(ffi.from_buffer(x) for x in results))


def library_of(text: str, folder: Path) -> Path:
    toolchain = Toolchain.find()
    assert toolchain is not None
    source, library = folder / "file.c", folder / "file.so"
    source.write_text(text)
    here = {"-mfma": "-DADJOINT_FMA=1", "-mavx512f": "-DADJOINT_LANE_BYTES=64"}  # as kernels of this processor are
    fused = [macro for flag, macro in here.items() if flag in toolchain.machine]
    toolchain.compile(source, library, (*fused, "-Wall", "-Wextra", "-pedantic", "-Werror"))
    return library


def loss(x: Any, w: Any, b: Any) -> Any:
    h = ops.tanh(ops.matmul(x, w) + b) - 0.5
    return (h * h).mean()


def estimate(a: Any) -> Any:
    return ops.logdet(a) + (ops.inverse(a) ** 2).sum() + ops.norm(a, "nuc")


class Small(nn.Cell):
    """Two kernels with the same name (add with and without broadcasting), a convolution, pooling, and the shapes of a custom gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.pool = nn.Conv2d(1, 2, 3, pad_mode="valid", has_bias=True), nn.MaxPool2d(2, 2)
        self.flatten, self.dense = nn.Flatten(), nn.Dense(8, 3)

    def construct(self, x: Any) -> Any:
        h = self.flatten(self.pool(ops.relu(self.conv(x))))
        return ops.softmax(self.dense(h + h))


@needs_compiler
def test_values_and_gradients_are_those_of_eager_mode(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((4, 3), (3, 2), (2,))]
    tensors = [Tensor(x) for x in arrays]
    library = library_of(file_of(loss, tensors), tmp_path)
    value, gradients = np.empty((), np.float32), [np.empty_like(x) for x in arrays]
    assert called(library, "loss", arrays, [value]) == 0
    assert called(library, "loss_grad", [*arrays, np.ones((), np.float32)], gradients) == 0
    assert value == loss(*tensors).asnumpy()
    for ours, theirs in zip(gradients, ms.grad(loss, (0, 1, 2))(*tensors), strict=True):
        assert np.array_equal(ours, theirs.asnumpy())


def waves(z: Any, w: Any) -> Any:
    return ops.real(ops.exp(z) * w.conj() + (1 - 2j)).sum() + ops.imag(ops.matmul(z, w) / ops.sqrt(w))


@needs_compiler
def test_complex_arguments_and_gradients(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = [(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))).astype(np.complex64) for _ in range(2)]
    tensors = [Tensor(x) for x in arrays]
    library = library_of(file_of(waves, tensors), tmp_path)
    value, gradients = np.empty((3, 3), np.float32), [np.empty_like(x) for x in arrays]
    assert called(library, "waves", arrays, [value]) == 0
    assert called(library, "waves_grad", [*arrays, np.ones((3, 3), np.float32)], gradients) == 0
    assert np.array_equal(value, waves(*tensors).asnumpy())
    for ours, theirs in zip(gradients, ms.grad(waves, (0, 1))(*tensors), strict=True):
        assert np.array_equal(ours, theirs.asnumpy())


@needs_compiler
def test_matrices_are_inverted_and_singular_ones_are_a_status(tmp_path: Path) -> None:
    x = np.array([[2.0, -1.0, 0.5], [0.5, 1.5, -1.0], [-1.0, 0.25, 1.0]], np.float32)
    library = library_of(file_of(estimate, [Tensor(x)]), tmp_path)
    value, gradient = np.empty((), np.float32), np.empty_like(x)
    assert called(library, "estimate", [x], [value]) == 0
    assert called(library, "estimate_grad", [x, np.ones((), np.float32)], [gradient]) == 0
    assert value == estimate(Tensor(x)).asnumpy()
    np.testing.assert_array_equal(gradient, ms.grad(estimate)(Tensor(x)).asnumpy())
    assert called(library, "estimate", [np.ones_like(x)], [value]) != 0


@needs_compiler
@pytest.mark.parametrize("plain", [False, True])
def test_parameters_are_arguments_called_as_they_are(tmp_path: Path, plain: bool) -> None:
    net, x = Small(), Tensor(np.random.default_rng(1).standard_normal((2, 1, 6, 6)).astype(np.float32))
    text = file_of(net, [x], plain=plain)
    assert ("---- convolution.h" in text, "adjoint_plain_convolve_f32(" in text) == (not plain, plain)
    for name in ("conv_weight", "conv_bias", "dense_weight", "dense_bias"):
        assert f"    const float *restrict {name},\n" in text
        assert f"    float *restrict {name}_bar" in text
    assert " add_f32_v2(" in text, "kernels of one name are told apart"
    library = library_of(text, tmp_path)
    parameters = [p.asnumpy() for p in net.trainable_params()]
    result = np.empty((2, 3), np.float32)
    assert called(library, "Small", [x.asnumpy(), *parameters], [result]) == 0
    assert np.array_equal(result, net(x).asnumpy())
    weights = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    gradients = [np.empty_like(x.asnumpy()), *(np.empty_like(p) for p in parameters)]
    known = {"x": x.asnumpy(), "small_bar": weights, **{p.name.replace(".", "_"): p.asnumpy() for p in net.trainable_params()}}
    operands = [known[name] for name in re.findall(r"const float \*restrict (\w+)", text.partition("int Small_grad(")[2])]
    assert called(library, "Small_grad", operands, gradients) == 0
    expected = ms.grad(lambda x: (net(x) * Tensor(weights)).sum(), 0, net.trainable_params())(x)
    for ours, theirs in zip(gradients, [expected[0], *expected[1]], strict=True):
        assert np.array_equal(ours, theirs.asnumpy())


EXAMPLES = Path(__file__).parents[2] / "examples"


@needs_compiler
def test_the_controller_of_the_examples(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A C program, built as the example says, reduces the cost by following the gradient."""
    target = f"{EXAMPLES / 'steering.py'}:cost"
    assert main(["dump-ir", target, "--args", "f32[20], f32[20], f32[20, 20]", "--stage", "c", "--standalone"]) == 0
    source, program = tmp_path / "cost.c", tmp_path / "steering"
    source.write_text(capsys.readouterr().out)
    toolchain = Toolchain.find()
    assert toolchain is not None
    strict = ["-std=c11", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run([*toolchain.command, *strict, "-o", program, EXAMPLES / "steering.c", source, "-lm"], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    costs = [float(line.split()[1]) for line in said.splitlines()]
    assert len(costs) == 5 and costs[0] == 1.235 and costs == sorted(costs, reverse=True) and costs[-1] < 0.002


TEXT = """
func @f(x: f16[3], i: i32[2], t: f64) -> (f16[2], f16[2], f16[3], f64, f32) {
  y: f16[3] = mul(x, 0.1_f16)
  z: f16[2] = gather(y, i, axis=0)
  u: f64 = add(t, -1.5_f64)
  return z, z, x, u, 2.5_f32
}
"""


@needs_compiler
def test_any_results_and_a_failing_kernel(tmp_path: Path) -> None:
    """Results may be a repeated value, an argument, a number, or two-byte floats; an index out of range gives a status."""
    library = library_of(standalone(parse_module(TEXT), "f", None, ()).text, tmp_path)
    x, t = np.array([1.0, 2.0, 3.0], np.float16), np.array(2.0)
    results = [np.empty(2, np.float16), np.empty(2, np.float16), np.empty(3, np.float16), np.empty(()), np.empty((), np.float32)]
    assert called(library, "f", [x, np.array([2, 0], np.int32), t], results) == 0
    scaled = (x.astype(np.float32) * np.float32(np.float16(0.1))).astype(np.float16)
    for ours, theirs in zip(results, [scaled[[2, 0]], scaled[[2, 0]], x, 0.5, 2.5], strict=True):
        assert np.array_equal(ours, theirs)
    assert called(library, "f", [x, np.array([2, 7], np.int32), t], results) != 0


def pow(x: Any, y0: Any, status: Any, double: Any) -> Any:
    """Names that have another meaning in C."""
    add_f32 = (x + y0).reshape(2)
    return ops.tanh(ops.matmul(add_f32 * double, status))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", [[], ["-O0"], ["-mavx2", "-mfma"]], ids=["baseline", "unoptimised", "avx2"])
def test_no_compiler_warns(flags: list[str], compiler: str, tmp_path: Path) -> None:
    """No warnings, for any processor and any names."""
    if shutil.which(compiler) is None:
        pytest.skip("not there")
    row, matrix = Tensor(np.zeros(2, np.float32)), Tensor(np.zeros((2, 2), np.float32))
    image = Tensor(np.zeros((1, 1, 6, 6), np.float32))
    for function, inputs, plain in ((Small(), [image], False), (pow, [row, row, matrix, row], False), (Small(), [image], True)):
        source = tmp_path / "file.c"
        source.write_text(file_of(function, inputs, plain=plain))
        standard = ["-std=c99", "-Wconversion"] if plain else ["-std=c11"]
        strict = [*standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", *flags, "-c", str(source), "-o", str(tmp_path / "file.o")]
        done = subprocess.run([compiler, *strict], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, done.stderr


def gamma(x: Any) -> Any:
    return x * 2.0


def isnan(x: Any) -> Any:
    return x * 2.0


def mul_f32(x: Any) -> Any:
    return x * 2.0


def mul_f32_units(x: Any) -> Any:
    return x * 2.0


def adjoint_exp_f32(NAN: Any, M_PI: Any, unix: Any) -> Any:
    return ops.exp(NAN) * M_PI * unix


@needs_compiler
@pytest.mark.parametrize(("function", "name"), [
    (gamma, "gamma_"), (isnan, "isnan_"), (mul_f32, "mul_f32"), (mul_f32_units, "mul_f32_units"), (adjoint_exp_f32, "adjoint_exp_f32_"),
])
def test_names_of_headers_and_kernels(function: Callable[..., Any], name: str, tmp_path: Path) -> None:
    """Also with a compiler whose own dialect declares more in its headers; the first line names the functions."""
    arrays = [np.array([0.5, -1.0, 2.0], np.float32)] * function.__code__.co_argcount
    tensors = [Tensor(x) for x in arrays]
    text, result = file_of(function, tensors), np.empty(3, np.float32)
    assert text.startswith(f"/* {name}, ")
    source, library = tmp_path / "file.c", tmp_path / "file.so"
    source.write_text(text)
    toolchain = Toolchain.find()
    assert toolchain is not None
    flags = ["-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-ffp-contract=off"]
    subprocess.run([*toolchain.command, *flags, *toolchain.machine, "-o", library, source, "-lm"], check=True)
    assert called(library, name, arrays, [result]) == 0
    assert np.array_equal(result, function(*tensors).asnumpy())


def hooked(x: Any) -> Any:
    y = ops.tanh(x)
    y.register_hook(lambda grad: grad)
    return y.sum()


def test_what_needs_python_is_refused() -> None:
    with pytest.raises(CompileError, match=r"E160(.|\n)*`<lambda>[^`]*` is called here, in Python"):
        file_of(hooked, [Tensor(np.ones(3, np.float32))])
