"""`ops.Custom`: functions of the user's own in Python and in C, as MindSpore 2.10 runs them on the CPU."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_ops import needs_compiler

import adjoint as ms
from adjoint import CompileError, Tensor, ops
from adjoint.ops import CustomRegOp, DataType, custom_info_register

X = Tensor(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
Y = Tensor(np.array([[2, 0, -1], [1, 1, 3]], np.float32))


def like(x: Any, *_: Any) -> Any:
    return x


def product_bprop(x: Tensor, y: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor, Tensor]:
    return dout * y, dout * x


# In Python ----------------------------------------------------------------------------------------------------------------


def test_a_function_on_arrays_runs_in_every_mode() -> None:
    product = ops.Custom(lambda x, y: x * y, like, like, bprop=product_bprop)

    def energy(x: Tensor, y: Tensor) -> Tensor:
        return (product(x * 2, y) + 1).sum()

    graph = ms.jit(energy)
    for _ in range(5):
        assert graph(X, Y).asnumpy() == energy(X, Y).asnumpy()
    for f in (graph, energy):
        dx, dy = ms.grad(f, (0, 1))(X, Y)
        np.testing.assert_array_equal(dx.asnumpy(), 2 * Y.asnumpy())
        np.testing.assert_array_equal(dy.asnumpy(), 2 * X.asnumpy())
    second = ms.grad(lambda x: ms.grad(lambda x: product(x, x).sum())(x).sum())
    assert second(X).asnumpy().tolist() == [[2.0] * 3] * 2
    assert "called in Python: custom" in str(ms.jit_stats(graph))


def test_several_results_and_constant_shapes() -> None:
    both = ops.Custom(lambda x, y: (x * y, x + y), ((2, 3), [2, 3]), (ms.float32, ms.float32),
                      bprop=lambda x, y, out, dout: (dout[0] * y + dout[1], dout[0] * x + dout[1]))
    product, total = both(X, Y)
    np.testing.assert_array_equal(product.asnumpy(), X.asnumpy() * Y.asnumpy())
    np.testing.assert_array_equal(total.asnumpy(), X.asnumpy() + Y.asnumpy())
    np.testing.assert_array_equal(ms.grad(lambda x: both(x, Y)[0].sum())(X).asnumpy(), Y.asnumpy())


@pytest.mark.parametrize(("dtype", "given"), [(ms.float16, "float16"), (ms.bfloat16, "float32"), (ms.int8, "int8"), (ms.bool_, "bool")])
def test_arrays_have_the_dtype_of_tensors(dtype: Any, given: str) -> None:
    seen: list[Any] = []

    def same(x: Any) -> Any:
        seen.append(x)
        return x

    found = ops.Custom(same, like, like)(X.astype(dtype))
    assert seen[0].dtype == given and seen[0].flags.writeable and found.dtype == dtype
    seen[0][...] = 0  # an array of its own: neither the tensor nor the result changes
    assert X.asnumpy()[0, 0] == 1 and found.astype(ms.float32).asnumpy()[0, 1] != 0


def test_a_function_outlives_its_operator() -> None:
    def square(x: Tensor) -> Tensor:
        return ops.Custom(lambda x: x * x, like, like, bprop=lambda x, out, dout: 2 * x * dout)(x)

    y, pull = ms.vjp(square, X)
    gc.collect()
    np.testing.assert_array_equal(pull(ops.ones_like(y))[0].asnumpy(), 2 * X.asnumpy())


# In C ---------------------------------------------------------------------------------------------------------------------

SCALED = """
#include "scale.h"
#include <string.h>

int scaled(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
    if (nparam != 2 || strcmp(dtypes[0], dtypes[1]) != 0)
        return 1;
    if (strcmp(dtypes[0], "float32") != 0)
        return 2;
    int64_t count = 1;
    for (int i = 0; i < ndims[0]; i++)
        count *= shapes[0][i];
    for (int64_t i = 0; i < count; i++)
        ((float *)params[1])[i] = SCALE * ((float *)params[0])[i];
    return stream != 0 || extra != 0;
}
"""


def from_c(path: Path, name: str = "scaled") -> ops.Custom:
    return ops.Custom(f"{path}:{name}", like, like, "aot", bprop=lambda x, out, dout: 2 * dout)


@needs_compiler
def test_a_source_is_compiled_and_again_when_a_header_changes(tmp_path: Path) -> None:
    source, header = tmp_path / "scaled.c", tmp_path / "scale.h"
    source.write_text(SCALED, encoding="utf-8")
    for scale in (2, 3, 2):
        header.write_text(f"#define SCALE {scale}\n", encoding="utf-8")
        scaled = from_c(source)
        np.testing.assert_array_equal(scaled(X).asnumpy(), scale * X.asnumpy())
        np.testing.assert_array_equal(ms.jit(lambda x, scaled=scaled: scaled(x))(X).asnumpy(), scale * X.asnumpy())
    assert ms.grad(lambda x: scaled(x).sum())(X).asnumpy().tolist() == [[2.0] * 3] * 2
    assert scaled(Tensor(np.zeros((0, 3), np.float32))).shape == (0, 3) and scaled(Tensor(1.5)).asnumpy() == 3.0
    with pytest.raises(RuntimeError, match=r"the function 'scaled' of .*scaled.c returned 2: 0 means that all is well"):
        scaled(X.astype(ms.float64))


@needs_compiler
def test_a_source_in_cpp_and_a_library(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no compiler of C++")
    source, library = tmp_path / "scaled.cc", tmp_path / "scaled.so"
    (tmp_path / "scale.h").write_text("#include <stdint.h>\n#define SCALE 2\n", encoding="utf-8")
    source.write_text(SCALED.replace("int scaled(", 'extern "C" int scaled('), encoding="utf-8")
    np.testing.assert_array_equal(from_c(source)(X).asnumpy(), 2 * X.asnumpy())
    for scale in (4, 5):  # the same path, built again
        (tmp_path / "scale.h").write_text(f"#include <stdint.h>\n#define SCALE {scale}\n", encoding="utf-8")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        np.testing.assert_array_equal(from_c(library)(X).asnumpy(), scale * X.asnumpy())
    with pytest.raises(RuntimeError, match="has no function 'other': define `int other\\(int nparam"):
        from_c(library, "other")(X)


@needs_compiler
@pytest.mark.parametrize(("text", "message"), [
    ("int f(int nparam, void **params) { return 0; }", r"Its signature must be `int f\(int nparam, void \*\*params, int(.|\n)*f\.c:1:5"),
    ("int g(void) {\n    return 1 +;\n}", r"the compiler refuses .*f\.c\.\n.*f\.c:2:15: error"),
    ("int g(void) { return 0; }", r"f\.c has no function 'f': define `int f\(int nparam"),
    ('#include "missing.h"', r"f\.c:1:10: fatal error: missing.h"),
    ("int f(int n, void **p, int *d, long **s, const char **t, void *u, void *v) { return 0; }\nint fInit(void) { return 0; }",
     "has a function 'fInit', for attributes of C\\+\\+ classes, which are not called"),
])
def test_mistakes_in_a_source_show_its_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(text, encoding="utf-8")
    with pytest.raises(RuntimeError, match=message):
        from_c(tmp_path / "f.c", "f")(X)


# Mistakes -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda: ops.Custom(3, like, like), TypeError, "'func' must be a function or a str, but got 3"),  # type: ignore[arg-type]
    (lambda: ops.Custom(like), TypeError, "'out_shape' must be a tuple, a list or a function, but got None"),
    (lambda: ops.Custom(like, (1,)), TypeError, "'out_dtype' must be a dtype, a tuple of dtypes or a function"),
    (lambda: ops.Custom(like, like, like, "julia"), ValueError, "'func_type' must be one of 'hybrid', 'akg', 'tbe', 'aicpu', 'aot'"),
    (lambda: ops.Custom(like, func_type="hybrid"), TypeError, "functions of type 'hybrid' do not run on the CPU: .* the compiler AKG"),
    (lambda: ops.Custom(like, like, like, "aot"), TypeError, "'func' must be a str such as 'add.c:add' for the type 'aot'"),
    (lambda: ops.Custom("add.c", like, like, "aot"), RuntimeError, "must be a path and a name, such as 'add.c:add', but got 'add.c'"),
    (lambda: ops.Custom(like, like, like, bprop=3), TypeError, "'bprop' must be a function, but got 3"),  # type: ignore[arg-type]
    (lambda: ops.Custom("nowhere.c:f", like, like, "aot")(X), RuntimeError, "there is no file .*nowhere.c"),
    (lambda: ops.Custom(like, like, like)("x"), TypeError, "input 1 must be a Tensor or a number, but got 'x'"),
    (lambda: ops.Custom(like, (-1,), ms.float32)(X), ValueError, r"'out_shape' must give shapes, .* but got \(-1,\)"),
    (lambda: ops.Custom(like, like, lambda _: "float32")(X), TypeError, "'out_dtype' must be dtypes, or a function that returns them"),
    (lambda: ops.Custom(like, ((2,), (3,)), (ms.float32,))(X), ValueError, "must describe as many results"),
    (lambda: ops.Custom(lambda x: x[:1], like, like)(X), RuntimeError, r"of shape \[2, 3\] .* but it returned one of shape \[1, 3\]"),
    (lambda: ops.Custom(lambda x: x * np.float64(2), like, like)(X), RuntimeError, "float32, .* but it returned one of .* dtype float64"),
    (lambda: ops.Custom(lambda x: (x, x), like, like)(X), RuntimeError, "must return 1 arrays, .* but it returned 2"),
    (lambda: ops.Custom(lambda x: x.nothing, like, like)(X), AttributeError, "nothing"),
])
def test_mistakes(make: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_without_a_bprop_there_is_no_gradient() -> None:
    double = ops.Custom(lambda x: 2 * x, like, like)
    with pytest.raises(CompileError, match=r"`Custom` has no gradient of the function '<lambda>': give it the argument `bprop=`"):
        ms.grad(lambda x: double(x).sum())(X)


def test_what_a_function_takes_may_be_registered() -> None:
    info = CustomRegOp().input(0, "x").output(0, "y").dtype_format(DataType.F32_Default, DataType.F32_Default).target("CPU").get_op_info()
    assert info["dtype_format"] == [(("float32", "DefaultFormat"), ("float32", "DefaultFormat"))] and info["target"] == "CPU"

    @custom_info_register(info)
    def double(x: Any) -> Any:
        return x * 2

    for operator in (ops.Custom(double, like, like), ops.Custom(lambda x: x * 2, like, like, reg_info=json.dumps(info))):
        np.testing.assert_array_equal(operator(X).asnumpy(), 2 * X.asnumpy())
        with pytest.raises(TypeError, match="must be those of 'reg_info', float32, float32, but got float64, float64"):
            operator(X.astype(ms.float64))
    elsewhere = CustomRegOp().input(0, "x").output(0, "y").dtype_format(DataType.F16_5HD, DataType.F16_5HD).target("Ascend").get_op_info()
    assert ops.Custom(lambda x: x, like, like, reg_info=[elsewhere])(X).dtype == ms.float32
    with pytest.raises(TypeError, match="'reg_info' must be a dict, JSON of one, or a list of these, but got 3"):
        ops.Custom(double, like, like, reg_info=3)
    with pytest.raises(ValueError, match="must have no attributes"):
        ops.Custom(double, like, like, reg_info=CustomRegOp().attr("k", "required", "all").target("CPU").get_op_info())
    with pytest.raises(ValueError, match="a pair for each of the 1 inputs and outputs, but got 2"):
        CustomRegOp().input(0, "x").dtype_format(DataType.F32_None, DataType.F32_None)
    with pytest.raises(AttributeError, match="F33_None"):
        _ = DataType.F33_None


def test_relative_paths_are_those_of_the_place_where_the_operator_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    operator = ops.Custom("there.c:f", like, like, "aot")
    monkeypatch.chdir("/")
    with pytest.raises(RuntimeError, match=f"there is no file {os.path.join(tmp_path, 'there.c')}"):
        operator(X)
