"""The kernel that an op's `lower` describes, and the C emitted for it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from toy_ops import Add, Scale, Sum, lowered, toy, vector

from adjoint.codegen import headers
from adjoint.codegen.c_print import function_text
from adjoint.codegen.emit import lower, unit_text
from adjoint.ir.kernel import Buffer, Kernel
from adjoint.ir.kernel.c_ast import equal, less, negation
from adjoint.ir.kernel.conversion import cast
from adjoint.ir.op import Op
from adjoint.ir.ops.optimizers import SgdUpdate
from adjoint.ir.ops.softmax import Softmax, SoftmaxGradient
from adjoint.ir.types import BF16, BOOL, DTYPES, F16, F32, F64, I32, I64, U8, scalar, symbol, tensor


def test_one_stage() -> None:
    kernel = lowered(Add(), vector(F32, 5), vector(F32, 5))
    assert kernel.name == "toy_add_f32"
    assert kernel.text == (
        "/* toy_add(x: f32[...], y: f32[...]) -> out: f32[...] */\n"
        "static int toy_add_f32_units(\n"
        "    const float *restrict x, const float *restrict y, float *restrict out, int64_t begin, int64_t end) {\n"
        "    for (int64_t i = begin; i < end; i++) {\n"
        "        out[i] = x[i] + y[i];\n"
        "    }\n"
        "    return 0;\n"
        "}\n"
        "\n"
        "int toy_add_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {\n"
        "    (void)size;\n"
        "    return toy_add_f32_units(operand[0], operand[1], operand[2], begin, end);\n"
        "}\n"
    )
    assert [stage.sizes for stage in kernel.stages] == [(5, 32768, 5)]


def test_two_stages_share_scratch_and_sizes() -> None:
    kernel = lowered(Sum(), vector(F16, 100))
    assert kernel.text == (
        "/* toy_sum(x: f16[...]) -> out: f16[...] */\n"
        "static int toy_sum_f16_1_units(\n"
        "    const uint16_t *restrict x, float *restrict partial, const int64_t *size, int64_t begin, int64_t end) {\n"
        "    const int64_t n = size[2];\n"
        "\n"
        "    for (int64_t block = begin; block < end; block++) {\n"
        "        float total = 0.0f;\n"
        "        const int64_t stop = (block + 1) * 64;\n"
        "        for (int64_t j = block * 64; j < stop; j++) {\n"
        "            if (j < n) {\n"
        "                total += adjoint_f32_of_f16(x[j]);\n"
        "            }\n"
        "        }\n"
        "        partial[block] = total;\n"
        "    }\n"
        "    return 0;\n"
        "}\n"
        "\n"
        "int toy_sum_f16_1(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {\n"
        "    return toy_sum_f16_1_units(operand[0], operand[2], size, begin, end);\n"
        "}\n"
        "\n"
        "static int toy_sum_f16_2_units(uint16_t *restrict out, float *restrict partial, const int64_t *size) {\n"
        "    const int64_t blocks = size[3];\n"
        "\n"
        "    float total = 0.0f;\n"
        "    for (int64_t block = 0; block < blocks; block++) {\n"
        "        total += partial[block];\n"
        "    }\n"
        "    if (total < 0.0f) {\n"
        "        return 3;\n"
        "    }\n"
        "    out[0] = adjoint_f16_of_f32(total);\n"
        "    return 0;\n"
        "}\n"
        "\n"
        "int toy_sum_f16_2(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {\n"
        "    (void)begin;\n"
        "    (void)end;\n"
        "    return toy_sum_f16_2_units(operand[1], operand[2], size);\n"
        "}\n"
    )
    assert [(stage.function, stage.sizes) for stage in kernel.stages] == [
        ("toy_sum_f16_1", (2, 8, 100, 2)),
        ("toy_sum_f16_2", (1, 1, 100, 2)),
    ]
    assert kernel.scratch == (2 * F32.size,)
    assert kernel.headers == ("bits.h", "convert.h")


def test_memory_that_may_be_the_same_is_not_restricted() -> None:
    """For an op computed in place, C must not assume that a store to the result leaves the operand unchanged."""

    @toy("toy")
    class Step(Op):
        in_place: ClassVar = {0: 0}

        def lower(self, k: Kernel, x: Buffer, y: Buffer, out: Buffer) -> None:
            with k.stage(4, 1) as i:
                k.store(out, i, x[i] + y[i])

    text = lower(Step(), [vector(F32, 4)] * 2, [vector(F32, 4)]).text
    assert "(const float *x, const float *restrict y, float *out, " in text


def test_a_loop_whose_rounds_are_independent_is_marked_for_the_compiler() -> None:
    def describe(self: Op, k: Kernel, x: Buffer, out: Buffer) -> None:
        with k.stage_range(x.count, 1) as (begin, end), k.loop(begin, end, "i", independent=True) as i:
            k.store(out, i, x[i] + 1)

    text = described(describe, F32, F32)
    assert "    ADJOINT_INDEPENDENT\n    for (int64_t i = begin; i < end; i++) {\n" in text
    assert unit_text("marked", (), [text]).count("#define ADJOINT_INDEPENDENT") == 3  # for clang, for gcc, for others
    assert "ADJOINT_INDEPENDENT" not in unit_text("plain", (), [lowered(Add(), vector(F32, 3), vector(F32, 3)).text])


def test_the_text_holds_no_shapes() -> None:
    """A new shape therefore finds the kernel of the old one, and nothing is compiled."""
    assert lowered(Sum(), vector(F32, 100)).text == lowered(Sum(), vector(F32, 7)).text
    square = tensor(F32, (3, 3))
    assert lowered(Add(), square, square).text == lowered(Add(), vector(F32, 9), vector(F32, 9)).text


def test_attributes_that_are_literals_are_in_the_text() -> None:
    assert lowered(Scale(), vector(F32, 3)).text != lowered(Scale(by=3.0), vector(F32, 3)).text


def test_specialized_kernels_hold_their_sizes() -> None:
    general, special = (lower(Sum(), (vector(F32, 100),), (tensor(F32),), specialized=s) for s in (False, True))
    assert "size[2]" in general.text
    assert "size[" not in special.text
    assert "if (j < 100)" in special.text
    assert special.stages[0].sizes == (2, 8)


def described(describe: Callable[..., None], *dtypes, count: int = 4) -> str:
    """Return the C of an op on vectors whose `lower` is `describe`; the last dtype is that of the result."""

    @toy("toy")
    class Described(Op):
        lower = describe

    operands = [vector(dtype, count) for dtype in dtypes]
    return lower(Described(), operands[:-1], operands[-1:]).text


def test_names_do_not_clash() -> None:
    """Names clash neither with C, nor with the kernel's parameters, nor with each other in the same scope."""

    def describe(op: Op, k: Kernel, size: Buffer, default: Buffer) -> None:
        with k.stage(1, 1, "x'") as i:
            n = k.local(0, "n", I64)
            with k.loop(0, 2, "j") as a:
                with k.loop(0, 2, "j") as b:
                    k.increment(n, a + b)
                k.increment(n, k.size(5, "n"))
            with k.loop(0, 2, "j") as c:
                k.increment(n, c)
            k.store(default, i, size[i] + cast(n, F32))

    assert described(describe, F32, F32) == (
        "/* toy(size_1: f32[...]) -> default_: f32[...] */\n"
        "static int toy_f32_units(\n"
        "    const float *restrict size_1, float *restrict default_, const int64_t *size, int64_t begin, int64_t end) {\n"
        "    const int64_t n_1 = size[2];\n"
        "\n"
        "    for (int64_t x_bar = begin; x_bar < end; x_bar++) {\n"
        "        int64_t n = 0;\n"
        "        for (int64_t j = 0; j < 2; j++) {\n"
        "            for (int64_t j_1 = 0; j_1 < 2; j_1++) {\n"
        "                n += j + j_1;\n"
        "            }\n"
        "            n += n_1;\n"
        "        }\n"
        "        for (int64_t j = 0; j < 2; j++) {\n"
        "            n += j;\n"
        "        }\n"
        "        default_[x_bar] = size_1[x_bar] + (float)n;\n"
        "    }\n"
        "    return 0;\n"
        "}\n"
        "\n"
        "int toy_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {\n"
        "    return toy_f32_units(operand[0], operand[1], size, begin, end);\n"
        "}\n"
    )


@pytest.mark.parametrize("op", [Softmax(axis=1), SoftmaxGradient(axis=1)], ids=["one matrix", "two"])
def test_the_next_row_is_fetched_where_memory_would_wait(op: Op) -> None:
    """Fetching costs time where a matrix is in the cache, and where rows are short or long."""

    def ahead(*shape: int) -> int:
        x = tensor(F32, shape)
        kernel = lower(op, (x,) * len(op.samples[0].operands), (x,))
        assert kernel.text.count("adjoint_fetch(") == len(op.samples[0].operands)
        return kernel.stages[0].sizes[3]

    assert [ahead(4096, 1024), ahead(256, 1024), ahead(4096, 512), ahead(4096, 4096)] == [4096, 0, 0, 0]


def test_branches_loops_arrays_and_narrow_elements() -> None:
    def describe(op: Op, k: Kernel, x: Buffer, flag: Buffer) -> None:
        k.describe(x, "n")
        with k.stage(4, 1) as i:
            lane = k.array(BF16, 4, "lane", zeroed=True)
            k.increment(lane[i % 4], x[i])
            steps = k.local(0, "steps", I32)
            with k.loop_while(less(steps, 3)):
                k.increment(steps, 1)
            with k.when(equal(steps, 3)):
                k.set(x[i], x[i] * 2)
            with k.otherwise():
                k.increment(x[i], 1)
            k.store(flag, i, negation(flag[i]))

    text = described(describe, BF16, BOOL)
    assert "toy(x: bf16[n])" in text
    assert "toy_bf16_bool_units(uint16_t *restrict x, uint8_t *restrict flag, " in text  # x is written, so not const
    assert "float lane[4] = {0};\n        lane[i % 4] += adjoint_f32_of_bf16(x[i]);" in text
    assert "while (steps < 3) {\n            steps++;" in text
    assert "x[i] = adjoint_bf16_of_f32(adjoint_f32_of_bf16(x[i]) * 2.0f);\n        } else {" in text
    assert "x[i] = adjoint_bf16_of_f32(adjoint_f32_of_bf16(x[i]) + 1.0f);" in text
    assert "flag[i] = !(flag[i] != 0);" in text


def test_calls() -> None:
    def describe(op: Op, k: Kernel, x: Buffer, out: Buffer) -> None:
        with k.stage(4, 1) as i:
            k.store(out, i, k.call("fma", k.call("sqrt", x[i]), 2, k.call("fabs", x[i])))
            with k.when(k.call("isnan", x[i])):
                k.run("adjoint_anything", x, out.at(0), out.at(i), 4)

    @toy("toy")
    class Calls(Op):
        lower = describe

    for dtype, root in ((F32, "fmaf(sqrtf(x[i]), 2.0f, fabsf(x[i]))"), (F64, "fma(sqrt(x[i]), 2.0, fabs(x[i]))")):
        kernel = Kernel()
        buffers = [kernel.operand(vector(dtype, 4), name, written=name == "out") for name in ("x", "out")]
        Calls().lower(kernel, *buffers)
        (function,) = kernel.functions("calls")
        text = function_text(function).text
        assert f"out[i] = {root};" in text
        assert "if (isnan(x[i]) != 0) {" in text
        assert "adjoint_anything(x, out, &out[i], 4);" in text


def outside_of_a_stage(op: Op, k: Kernel, x: Buffer) -> None:
    k.store(x, 0, 1)


def stage_in_stage(op: Op, k: Kernel, x: Buffer) -> None:
    with k.stage(1, 1), k.stage(1, 1):
        pass


def otherwise_alone(op: Op, k: Kernel, x: Buffer) -> None:
    with k.stage(1, 1) as i:
        k.store(x, i, 1)
        with k.otherwise():
            k.fail(1)


def wrong_dtype(op: Op, k: Kernel, x: Buffer) -> None:
    with k.stage(1, 1) as i:
        k.store(x, i, cast(x[i], F64))


def no_stage(op: Op, k: Kernel, x: Buffer) -> None:
    pass


def no_header(op: Op, k: Kernel, x: Buffer) -> None:
    with k.stage(1, 1) as i:
        k.store(x, i, k.call("nonsense", x[i]))


def units_of_elements(op: Op, k: Kernel, x: Buffer) -> None:
    with k.stage(cast(x[0], I64), 1):
        pass


@pytest.mark.parametrize(
    ("describe", "part"),
    [
        (outside_of_a_stage, "inside `with k.stage"),
        (stage_in_stage, "inside another"),
        (otherwise_alone, "right after `when`"),
        (wrong_dtype, "f64 cannot be stored in f32"),
        (no_stage, "no stage"),
        (no_header, "adjoint_nonsense_f32"),
        (units_of_elements, "units are computed from sizes"),
    ],
)
def test_mistakes_are_reported(describe: Callable[..., None], part: str) -> None:
    with pytest.raises((TypeError, LookupError), match=part):
        described(describe, F32)


def test_symbolic_types_are_refused() -> None:
    open_type = tensor(F32, (symbol("b"),))
    with pytest.raises(TypeError, match="known size"):
        lower(Add(), (open_type, open_type), (open_type,))


def test_variadic_names() -> None:
    def describe(op: Op, k: Kernel, *buffers: Buffer) -> None:
        *parts, out = buffers
        with k.stage(1, 1) as i:
            for part in parts:
                k.store(out, i, part[i])

    assert "toy(x_0: u8[...], x_1: u8[...]) -> out: u8[...]" in described(describe, U8, U8, U8)


STRICT = ["-std=c11", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off", "-c"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma"]


COMPILERS = pytest.mark.parametrize(
    "compiler", [pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason="not there")) for name in ("gcc", "clang")])
PROCESSORS = pytest.mark.parametrize("flags", [[], AVX512], ids=["baseline", "avx512"])


def compile_strictly(compiler: str, flags: list[str], text: str, folder: Path) -> None:
    source = folder / "unit.c"
    source.write_text(text)
    command = [compiler, *STRICT, *flags, "-o", str(folder / "unit.o"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@COMPILERS
@PROCESSORS
@pytest.mark.parametrize("file", headers.FILES)
def test_headers_compile_without_a_warning(file: str, flags: list[str], compiler: str, tmp_path: Path) -> None:
    """A unit with a header compiles, even if nothing in it uses the header."""
    if not (headers.DIRECTORY / file).is_file():
        pytest.skip("not there")
    compile_strictly(compiler, flags, unit_text(file, headers.needed(headers.defined(file)), []), tmp_path)


@COMPILERS
@PROCESSORS
def test_kernels_of_every_dtype_compile_without_a_warning(flags: list[str], compiler: str, tmp_path: Path) -> None:
    dtypes = [dtype for dtype in DTYPES.values() if dtype is not BOOL]
    kernels = [lowered(Add(), vector(dtype, 3), vector(dtype, 3)) for dtype in dtypes]
    kernels += [lowered(Sum(), vector(dtype, 3)) for dtype in dtypes if dtype.kind not in "uc"]
    kernels += [lowered(SgdUpdate(), *(vector(dtype, 3),) * 2, *(scalar(dtype.compute),) * 3) for dtype in dtypes if dtype.is_float]
    pasted = headers.in_order({header for kernel in kernels for header in kernel.headers})
    compile_strictly(compiler, flags, unit_text("kernels", pasted, [kernel.text for kernel in kernels]), tmp_path)


@pytest.mark.parametrize("file", headers.FILES)
def test_headers_name_the_headers_they_build_on(file: str) -> None:
    """The functions that a file calls but does not define must be in the table, or units that use it would not compile."""
    if not (headers.DIRECTORY / file).is_file():
        pytest.skip("not there")
    code = re.sub(r"/\*.*?\*/", "", headers.text(file), flags=re.DOTALL)
    used = set(re.findall(r"\badjoint_\w+(?=\()", code))
    used |= {f"{name}_{next(iter(headers.elements_of(file)))}" for name in re.findall(r"TYPED\((adjoint_\w+)\)\(", code)}
    elsewhere = used.difference(headers.defined(file))
    assert {headers.header_of(name).partition("(")[0] for name in elsewhere} <= set(headers.INCLUDES[file])
