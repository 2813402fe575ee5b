"""The matrix product: an element has the same bits for any shape, layout and number of threads."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, jit, ops
from adjoint.codegen import headers
from adjoint.codegen.emit import unit_text
from adjoint.codegen.toolchain import Toolchain, machine_flags
from adjoint.ir.ops.linalg import DEPTH, MatMul, OuterProduct
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.tensor.tensor import apply

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(Toolchain.find() is None, reason="there is no C compiler")

LAYOUTS = [(False, False), (True, False), (False, True), (True, True)]


def product(a: Array, b: Array, ta: bool = False, tb: bool = False) -> Array:
    operands = (np.ascontiguousarray(x.swapaxes(-1, -2) if turned else x) for x, turned in ((a, ta), (b, tb)))
    return apply(MatMul(ta=ta, tb=tb), *map(Tensor, operands)).asnumpy()


def factors(m: int, n: int, k: int, dtype: type = np.float32) -> tuple[Array, Array]:
    rng = np.random.default_rng([m, n, k])
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


@pytest.mark.parametrize(("ta", "tb"), LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_element_does_not_depend_on_the_shape_around_it(dtype: type, ta: bool, tb: bool) -> None:
    # Large products copy their operands in blocks, small ones read them where they lie, edges are narrower tiles.
    a, b = factors(523, 611, 900, dtype)
    whole = product(a, b, ta, tb)
    for rows, columns in ((1, 611), (523, 1), (2, 611), (3, 611), (4, 611), (3, 5), (4, 37), (14, 32), (17, 33), (200, 40), (40, 300)):
        assert np.array_equal(product(a[:rows], b[:, :columns], ta, tb), whole[:rows, :columns])
        assert np.array_equal(product(a[-rows:], b[:, -columns:], ta, tb), whole[-rows:, -columns:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_product_of_vectors_has_the_bits_of_an_element(dtype: type) -> None:
    # Few blocks are chains apart, more are vectors of chains, and those of very long vectors are for all threads.
    for k in (1, 31, DEPTH, DEPTH + 1, 2 * DEPTH + 7, 3 * DEPTH, 4 * DEPTH, 4 * DEPTH + 1, 128 * DEPTH, 128 * DEPTH + 5):
        a, b = factors(2, 2, k, dtype)
        assert np.array_equal(product(a[:1], b[:, :1]), product(a, b)[:1, :1]), k


@pytest.mark.parametrize(("ta", "tb"), LAYOUTS)
def test_layouts_give_the_same_bits(ta: bool, tb: bool) -> None:
    for m, n, k in ((7, 9, 30), (64, 64, 1024), (300, 520, 1024)):
        a, b = factors(m, n, k)
        assert np.array_equal(product(a, b, ta, tb), product(a, b))


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ops.matmul(ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * 0.25, -1), v)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_graphs_that_transpose_nothing_give_the_same_bits(dtype: type) -> None:
    # The optimised graph reads k where it lies, and writes its gradient as it lies.
    rng = np.random.default_rng(4)
    q, k, v, ct = (Tensor(rng.standard_normal((2, 37, 16)).astype(dtype)) for _ in range(4))
    gradients = ops.GradOperation(get_all=True, sens_param=True)(attention)
    for found, expected in zip(jit(gradients)(q, k, v, ct), gradients(q, k, v, ct), strict=True):
        assert np.array_equal(found.asnumpy(), expected.asnumpy())


def test_threads_give_the_same_bits() -> None:
    library = machine().library
    before = library.adjoint_threads()
    try:
        for m, n, k in ((130, 130, 400), (400, 20, 500), (20, 400, 500), (400, 300, 700)):
            a, b = factors(m, n, k)
            found = []
            for threads in (1, 2, 3, 7):
                library.adjoint_set_threads(threads)
                found.append(product(a, b, tb=True))
            assert all(np.array_equal(found[0], other) for other in found)
    finally:
        library.adjoint_set_threads(before)


def test_batches_are_products_of_their_matrices() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 1, 2, 37, 50), (4, 1, 50, 61)))
    found = product(a, b)
    assert found.shape == (3, 4, 2, 37, 61)
    for i in np.ndindex(3, 4, 2):
        assert np.array_equal(found[i], product(a[i[0], 0, i[2]], b[i[1], 0]))


@pytest.mark.parametrize(("ta", "tb"), LAYOUTS)
def test_batches_of_large_matrices_are_products_of_their_matrices(ta: bool, tb: bool) -> None:
    # All of b is copied before: each of its matrices has a place among the panels.
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 1, 200, 600), (3, 600, 130)))
    found = product(a, b, ta, tb)
    for i in np.ndindex(2, 3):
        assert np.array_equal(found[i], product(a[i[0], 0, :, :], b[i[1]])), i


def test_blocks_are_added_in_order() -> None:
    # 1 and -1 cancel in one block; 2^-30 is lost beside them in a chain, but not when added to the block's sum of 0.
    a = np.zeros((1, 3 * DEPTH), np.float32)
    b = np.ones((3 * DEPTH, 1), np.float32)
    a[0, 0], a[0, DEPTH - 1], a[0, DEPTH], a[0, 2 * DEPTH] = 1.0, -1.0, 2.0**-30, 2.0**-30
    assert product(a, b)[0, 0] == np.float32(2.0**-29)
    a[0, 1] = 2.0**-30
    assert product(a, b)[0, 0] == np.float32(2.0**-29)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
def test_an_outer_product_has_the_bits_of_a_product_of_one_term(dtype: type) -> None:
    # A chain begins with 0, so -0 becomes 0; but a product that underflows keeps its sign where it is rounded once.
    numbers = [0.0, -0.0, 1.5, -3.0, 1e-160, -1e-160, 1e-30, -1e-30, 5e-324, -1e-45, 6e-8, -6e-8, 3e38, -1e308, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        kinds = np.array([0, 1, -7, 2**31 - 1] if dtype is np.int32 else numbers).astype(dtype)
    x, y = np.tile(kinds, 3)[None, :], kinds[None, :]
    found = apply(OuterProduct(), Tensor(x.T.copy()), Tensor(y)).asnumpy()
    expected = product(x.T, y, ta=True)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(expected)[~np.isnan(expected)])


def test_empty_products() -> None:
    assert product(np.zeros((0, 5), np.float32), np.zeros((5, 3), np.float32)).shape == (0, 3)
    assert np.array_equal(product(np.zeros((4, 0), np.float32), np.zeros((0, 3), np.float32)), np.zeros((4, 3), np.float32))


WIDTHS = {"baseline": [], "avx": ["-mavx"], "avx2": ["-mavx2", "-mfma"]}


def products(folder: Path, compiler: str, width: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Compile `matmul_of_any_width.c` with vectors of a width and run it; skip if there is no compiler or the processor lacks the width."""
    if shutil.which(compiler) is None or not {*WIDTHS[width]} <= {*machine_flags()}:
        pytest.skip("not there")
    program = Path(__file__).with_name("matmul_of_any_width.c").read_text()
    source, built = folder / "products.c", folder / "products"
    source.write_text(unit_text("matrix products", headers.needed({"adjoint_matmul_f32", "adjoint_matmul_f64"}), [program]))
    subprocess.run([compiler, "-ffp-contract=off", *WIDTHS[width], *flags, source, "-o", built, "-lm"], check=True)
    alone = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # the sanitizer of another compiler, perhaps
    return subprocess.run([built], capture_output=True, text=True, check=False, env=alone)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("width", WIDTHS)
def test_vectors_of_any_width_give_the_numbers_of_the_definition(width: str, compiler: str, tmp_path: Path) -> None:
    """Also for vectors narrower than this processor's."""
    done = products(tmp_path, compiler, width, "-O1")
    assert (done.returncode, done.stdout) == (0, "432 products\n"), done.stdout + done.stderr


SANITIZED = ["-O0", "-fsanitize=address,bounds,alignment,signed-integer-overflow,shift", "-fno-sanitize-recover=all"]
"""What is needed to see an access beside the arrays, and an index that overflows: all of "undefined" takes twice the time to compile."""


@functools.cache
def sanitizing_compiler() -> str | None:
    """Return the first compiler that has the sanitizers: memory accesses are the same with each."""
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler) is not None:
            command = [compiler, *SANITIZED, "-x", "c", "-", "-o", os.devnull]
            if subprocess.run(command, input=b"int main(void) { return 0; }", capture_output=True, check=False).returncode == 0:
                return compiler
    return None


@pytest.mark.parametrize("width", WIDTHS)
def test_vectors_of_any_width_stay_within_the_arrays(width: str, tmp_path: Path) -> None:
    compiler = sanitizing_compiler()
    if compiler is None:
        pytest.skip("no compiler has the sanitizers")
    done = products(tmp_path, compiler, width, *SANITIZED)
    assert (done.returncode, done.stdout) == (0, "432 products\n"), done.stdout + done.stderr
