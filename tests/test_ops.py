"""Every op against its class: inference, reference, C and gradient agree with each other on the op's samples.

No op is named here except in the table of stated errors: a new op is tested as soon as it has samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from op_cases import Array, Case, Kernels, cases, lowered_cases, reference, samples_of

from adjoint.codegen.emit import lower
from adjoint.codegen.toolchain import Toolchain
from adjoint.ir.op import Effect, NotDifferentiable, Op, registry
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import F32, F64, DType, TensorType
from adjoint.passes.autodiff import Grad
from adjoint.testing import agreement
from adjoint.testing.agreement import Tolerance
from adjoint.testing.batches import check_batch, choices_of_mapped
from adjoint.testing.cases import gradient_cases as cases_of_gradients
from adjoint.testing.cases import module_of, special_arrays, strided
from adjoint.testing.cases import vector_cases as cases_of_vectors
from adjoint.testing.gradients import check_gradient

ALL = list(registry())
NUMERIC = [name for name, op in registry().items() if op.reference is not Op.reference and op.effect is not Effect.HOST]
"""Ops that compute; checks have no results: `tests/runtime/execution/test_checks.py`."""
LOWERED = [name for name in NUMERIC if registry()[name].lower is not Op.lower]
ELEMENTWISE = [name for name in LOWERED if issubclass(registry()[name], Elementwise)]

ULPS = 2.0
"""Largest error of an elementwise op that stands on our elementary functions, in units in the last place of its dtype; other
elementwise ops have none."""

SPECIAL_ULPS: dict[str, float] = {
    "lgamma": 64.0, "digamma": 64.0, "bessel_i0e": 16.0, "bessel_i1e": 16.0, "bessel_j0": 256.0, "bessel_j1": 256.0, "bessel_y0": 512.0,
    "bessel_y1": 512.0,
}
"""The same for an op that stands on `special.h` or `special_f32.h`, 8 where it is not listed: that of the reference, which is worse near
zeros of the function.  `tests/codegen/test_accuracy.py` compares the kernels with exact values."""

RELATIVE: dict[str, float] = {
    "gelu": 4.0, "gelu_gradient": 8.0, "layer_norm": 16.0, "layer_norm_gradient": 16.0, "batch_norm": 16.0, "batch_norm_gradient": 16.0,
    "batch_norm_inference": 4.0, "max_pool_gradient": 4.0, "avg_pool": 4.0, "avg_pool_gradient": 4.0, "sum": 8.0, "mean": 4.0, "prod": 4.0,
    "sum_of_squares": 8.0, "moments": 8.0, "statistics": 8.0,
    "random_gamma": 32.0, "random_normal": 4.0, "convolution": 32.0, "convolution_input_gradient": 32.0,
    "convolution_weight_gradient": 32.0, "softmax_cross_entropy": 4.0, "softmax_cross_entropy_gradient": 4.0,
    "sparse_softmax_cross_entropy": 4.0,
    "sparse_softmax_cross_entropy_gradient": 4.0, "softmax": 4.0, "softmax_gradient": 4.0, "log_softmax": 4.0, "log_softmax_gradient": 8.0,
    "matmul": 32.0, "outer_product": 0.0, "lstm_cell": 8.0, "lstm_cell_gradient": 8.0, "gru_cell": 8.0, "gru_cell_gradient": 8.0,
    **dict.fromkeys(("lstm_steps", "lstm_steps_gradient", "gru_steps", "gru_steps_gradient", "rnn_steps", "rnn_steps_gradient"), 16.0),
    "recurrent_weight_gradient": 32.0,
    "determinant": 8.0, "log_determinant": 8.0, "eigenvalues": 16.0, "eigen": 16.0, "matrix_inverse": 8.0,
    "matrix_logarithm": 32.0, "matrix_logarithm_derivative": 64.0, "lu_factor": 8.0,
    "cofactor": 8.0, "singular_values": 4.0, "svd": 4.0,
    "ftrl_update": 8.0, "cholesky_factor": 8.0, "solve": 8.0, "qr": 8.0, "reflections": 8.0, "reflections_product": 8.0,
    "triangular_solve": 8.0, "polygamma": 16.0, "zeta": 32.0, "zeta_derivative": 512.0,
    "log_beta": 32.0, "igamma": 32.0, "igammac": 32.0,
    "igamma_derivative": 1024.0, "betainc": 64.0, "betainc_derivative": 1024.0, "power_sign_update": 4.0,
    "fourier_transform": 4.0, "half_spectrum": 4.0, "half_spectrum_inverse": 4.0,
}  # fmt: skip
"""Largest error of an op that sums or composes, in units in the last place of the largest element of the result; 0 where it is
not listed.  The sign of a zero is not compared: it may depend on the processor, as that of a product that underflows and is added to 0."""

SUMS = ("sum", "sum_of_squares", "mean", "avg_pool", "matmul", "convolution", "convolution_input_gradient", "convolution_weight_gradient")
"""Ops that sum products of their operands: where terms cancel, the error is in units of the sum of their sizes."""

needs_compiler = pytest.mark.skipif(Toolchain.find() is None, reason="there is no C compiler")


def cases_of(name: str, *dtypes: DType) -> list[Case]:
    op = registry()[name]
    return [case for case in cases() if type(case.op) is op and (not dtypes or any(t.dtype in dtypes for t in case.types))]


# What an op says of itself.


def test_docstrings_have_their_parts() -> None:
    wrong: list[str] = []
    for name in ALL:
        first, _, parts = registry()[name].documentation().partition("\n\n")
        if not first.strip().endswith((".", "`", ":")):
            wrong.append(f"{name}: the docstring does not begin with a sentence")
        words = re.findall(r"^(\w+)\b", parts, re.MULTILINE)
        wrong += [f"{name}: the docstring lacks `{part}`" for part in ("result", "gradient", "errors") if part not in words]
    assert not wrong, "\n".join(wrong)


BY_INTENT = {"straight_through"}
"""Ops whose gradient is not the derivative: `tests/programs/no_grad.py` says what it is."""

REFUSED = {"reflections": "qr", "reflections_product": "qr", "find_chosen": "gather", "find_distinct": "gather"}
"""Ops whose gradient is an error, and the op that the error names."""


def test_ops_have_samples() -> None:
    assert [name for name in NUMERIC if not registry()[name].samples] == []
    differentiated = {
        name: list(gradient_cases(name)) for name in NUMERIC if not registry()[name].cuts and name not in BY_INTENT | REFUSED.keys()}
    rough = [name for name, found in differentiated.items() if found and not any(case.sample.smooth for case in found)]
    assert not rough, "no sample to compare the gradient on"


@pytest.mark.parametrize("name", NUMERIC)
def test_samples_are_text(name: str) -> None:
    # Each sample as a function: it verifies, and its text reads back as itself.
    for case in cases_of(name):
        module = module_of(case)
        text = print_module(module)
        assert print_module(parse_module(text)) == text
        (node,) = parse_module(text).functions["f"].body.nodes
        assert node.op is case.op


# Inference and reference.


@pytest.mark.parametrize("name", NUMERIC)
def test_inference_agrees_with_reference(name: str) -> None:
    for case in cases_of(name):
        results = reference(case, case.arrays())
        assert len(results) == len(case.results), case.name
        for array, type_ in zip(results, case.results, strict=True):
            assert np.shape(array) == type_.sizes, f"{case.name}: {type_}"
            assert np.asarray(array).dtype == type_.dtype.compute.array, f"{case.name}: {type_}"


@pytest.mark.parametrize("name", NUMERIC)
def test_reference_takes_any_view(name: str) -> None:
    for case in cases_of(name, F32):
        arrays = case.arrays()
        views = [strided(x) for x in arrays]
        for one, two in zip(reference(case, arrays), reference(case, views), strict=True):
            assert_close(case, one, two, max(4.0, 2 * RELATIVE.get(name, 0.0)))


# C and reference.


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    """Kernels of all cases, and of the elementwise ops on vectors, compiled together."""
    found = Kernels()
    vectors = [case for name in ELEMENTWISE for case in vector_cases(name, 17)]
    found.compile(lowered_cases([*cases(), *vectors]))
    return found


@needs_compiler
@pytest.mark.parametrize("name", LOWERED)
def test_kernel_agrees_with_reference(name: str, kernels: Kernels) -> None:
    for case in cases_of(name):
        for seed in range(2):
            arrays = case.arrays(seed)
            for got, expected, type_ in zip(kernels.run(case, arrays), expected_of(case, arrays), case.results, strict=True):
                assert_agree(case, got, expected, type_)


@needs_compiler
@pytest.mark.parametrize("name", LOWERED)
def test_kernel_depends_on_its_operands_alone(name: str, kernels: Kernels) -> None:
    # Neither what is in the memory of the results before, nor how the work is cut into ranges, nor the call before.
    for case in cases_of(name):
        arrays = case.arrays()
        once = kernels.run(case, arrays, fill=0xFF)
        again = kernels.run(case, [strided(x) for x in arrays], fill=0x55)
        pieces = kernels.run(case, arrays, fill=0x00, cuts=range(1, 50, 3))
        for a, b, c in zip(once, again, pieces, strict=True):
            assert a.tobytes() == b.tobytes(), f"{case.name}: a second call gives other bits"
            assert a.tobytes() == c.tobytes(), f"{case.name}: cut into ranges it gives other bits"


def vector_cases(name: str, size: int) -> Iterator[Case]:
    return cases_of_vectors(registry()[name], name, size)


@needs_compiler
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_element_does_not_depend_on_its_place(name: str, kernels: Kernels) -> None:
    # Vectors and their tails: the first elements of a long vector are those of a short one.
    for long in vector_cases(name, 1000):
        arrays = long.arrays()
        (whole,) = kernels.run(long, arrays)
        for size in (1, 7, 17):
            (short,) = (case for case in vector_cases(name, size) if case.name == long.name)
            for start in (0, 5, 983):
                (part,) = kernels.run(short, [x[start : start + size] for x in arrays])
                assert part.tobytes() == whole[start : start + size].tobytes(), f"{long.name}: {size} from {start}"


@needs_compiler
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_special_values(name: str, kernels: Kernels) -> None:
    for vector in vector_cases(name, 17):
        case, arrays = special_arrays(vector)
        (got,), (expected,) = kernels.run(case, arrays), expected_of(case, arrays)
        assert_agree(case, got, expected, case.results[0], arrays)


@needs_compiler
@pytest.mark.parametrize("name", [name for name in LOWERED if name not in ELEMENTWISE])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf], ids=str)
def test_not_a_number_spreads_as_in_the_reference(name: str, special: float, kernels: Kernels) -> None:
    for case in cases_of(name, F32):
        arrays = [x.copy() for x in case.arrays()]
        rng = np.random.default_rng(0)
        for position, (array, type_) in enumerate(zip(arrays, case.types, strict=True)):
            if type_.dtype is F32 and position not in case.sample.values:
                array[rng.random(array.shape) < 0.2] = special
        for got, expected, type_ in zip(kernels.run(case, arrays), expected_of(case, arrays), case.results, strict=True):
            if name in RELATIVE and type_.dtype.is_inexact:  # inf - inf and inf may depend on the order of summands
                both = ~np.isfinite(to_compute(got, type_.dtype)) & ~np.isfinite(expected)
                got, expected = np.where(both, np.zeros_like(got), got), np.where(both, 0.0, expected)
            assert_agree(case, got, expected, type_)


def expected_of(case: Case, arrays: Sequence[Array]) -> list[Array]:
    """Return what the kernel should compute, before rounding to storage: by the reference, in float64 where C may differ."""
    inexact = case.op.name in RELATIVE or stated_ulps(case) > 0
    return reference(case, arrays, wide=inexact and not any(t.dtype.part is F64 for t in case.types))


@cache
def stated_ulps(case: Case) -> float:
    """Return the stated error of the case's op, unless it is one of RELATIVE."""
    if not isinstance(case.op, Elementwise):
        return 0.0
    lowered = lower(case.op, case.types, case.results)
    if any(header.startswith("special") for header in lowered.headers):
        return SPECIAL_ULPS.get(case.op.name, 8.0)
    return ULPS if any(header.startswith("math") for header in lowered.headers) else 0.0


def sizes_of(case: Case, operands: Sequence[Array]) -> list[Array | None]:
    """Return for each result of an op that sums the sums of the absolute values of its terms; None for other ops."""
    if case.op.name not in SUMS:
        return [None] * len(case.results)
    absolute = [from_compute(np.abs(to_compute(x, t.dtype)) * (1 + 1j if t.dtype.is_complex else 1), t.dtype) if t.dtype.is_inexact else x
                for x, t in zip(operands, case.types, strict=True)]
    return list(expected_of(case, absolute))


def tolerance_of(case: Case) -> Tolerance:
    """Return how far the kernel may be from the reference."""
    if case.op.name in RELATIVE:
        return Tolerance(RELATIVE[case.op.name], "largest")
    return Tolerance(stated_ulps(case))


def assert_agree(
    case: Case, stored: Array, expected: Array, type_: TensorType, operands: Sequence[Array] = (), sizes: Array | None = None
) -> None:
    agreement.assert_agree(case, stored, expected, type_, tolerance_of(case), operands, sizes)


def assert_close(case: Case, one: Any, two: Any, units: float) -> None:
    a, b = np.asarray(one), np.asarray(two)
    assert a.dtype == b.dtype and a.shape == b.shape, case.name
    if a.dtype.kind not in "fc":
        assert np.array_equal(a, b), case.name
        return
    scale = np.max(np.abs(a[np.isfinite(a)]), initial=0.0)
    np.testing.assert_allclose(a, b, rtol=0, atol=units * float(scale * np.finfo(a.dtype).eps), err_msg=case.name)


# Gradients.


def gradient_cases(name: str) -> Iterator[Case]:
    return cases_of_gradients(registry()[name], name)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_gradients_that_are_errors(name: str) -> None:
    for case in gradient_cases(name):
        with pytest.raises(NotDifferentiable, match=f"`{REFUSED[name]}` has one"):
            Grad().on_module(module_of(case))


@pytest.mark.parametrize("name", NUMERIC)
def test_gradient_agrees_with_finite_differences(name: str) -> None:
    for case in gradient_cases(name):
        floats = [i for i, type_ in enumerate(case.results) if type_.dtype.part is F64]
        check_gradient(module_of(case), case, orders=2)
        if len(case.results) > 1:
            for i in floats:  # the others have no cotangent
                check_gradient(module_of(case, i), case, orders=1)


def tensor_of(type_: Any) -> TensorType:
    assert isinstance(type_, TensorType)
    return type_


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_operands_are_broadcast_in_square_samples(name: str) -> None:
    """[n, n] with [n]: a gradient summed along the wrong axis has the right shape, and only its numbers are wrong."""
    smooth = [sample for sample in samples_of(registry()[name]) if sample.smooth]
    if not smooth or len(smooth[0].operands) == 1 or not list(gradient_cases(name)):
        return
    shapes = [[(tensor_of(t).dtype, tensor_of(t).shape) for t in sample.operands] for sample in smooth]
    for place, (dtype, _) in enumerate(shapes[0]):
        rows = [operands for operands in shapes if operands[place][1] == (3,)]
        assert not dtype.is_float or any(shape == (3, 3) for operands in rows for _, shape in operands), f"operand {place}"


# Batches.


@pytest.mark.parametrize("name", [name for name in NUMERIC if name != "iota" and not registry()[name].watches])
def test_a_batch_is_the_loop_over_its_examples(name: str) -> None:
    """By the op's rule or a loop: any operands have the examples, or all of them; then each example's gradient, twice where axes matter."""
    units = max(4.0, 2 * RELATIVE.get(name, 0.0))
    with np.errstate(all="ignore"):
        for place, case in enumerate(cases_of(name, F32)):
            for mapped in list(choices_of_mapped(len(case.types)))[: None if place == 0 else 1]:
                check_batch(module_of(case), case, mapped, units)
        case = next((case for case in gradient_cases(name) if case.sample.smooth), None)
        if case is None:
            return
        module = module_of(case)
        for _ in range(1 if name in ELEMENTWISE else 2):
            try:
                module = Grad().on_module(module)
            except NotDifferentiable:
                return
        check_batch(module, case, [True] * len(next(iter(module.functions.values())).params), units)
