"""Primitives that MindSpore 2.10 has on the CPU: steps for some rows of a parameter, patches of volumes, and aliases; its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, ops
from adjoint.testing import check_gradients


def kept(factor: float, name: str) -> Parameter:
    return Parameter(Tensor(np.array([[1, 2], [3, 4]], np.float32) * np.float32(factor)), name=name)


ROWS = [[1.0, 1.0], [2.0, 2.0]]
ADAM = (0.9, 0.999, 0.1, 0.9, 0.999, 1e-8)

# Each with the numbers of its operands, what it is called with, and what MindSpore 2.10 leaves in the operands.
STEPS: list[tuple[Any, tuple[float, ...], tuple[Any, ...], list[int], list[Any]]] = [
    (ops.FusedSparseAdam(), (1, 0.1, 0.2), ADAM, [0, 0],
     [[[0.9730104, 1.9762541], [2.988972, 3.9872658]], [[0.39, 0.48], [0.27, 0.36]], [[0.2088, 0.4086], [0.5994, 0.7992]]]),
    (ops.FusedSparseAdam(False, True), (1, 0.1, 0.2), ADAM, [1, 1],
     [[[1, 2], [2.9670396, 3.9685533]], [[0.09, 0.18], [0.57, 0.66]], [[0.1998, 0.3996], [0.6084, 0.8082]]]),
    (ops.FusedSparseLazyAdam(), (1, 0.1, 0.2), ADAM, [1, 1],
     [[[1, 2], [2.9768913, 3.9767842]], [[0.1, 0.2], [0.57, 0.66]], [[0.2, 0.4], [0.6084, 0.8082]]]),
    (ops.FusedSparseLazyAdam(False, True), (1, 0.1, 0.2), ADAM, [1, 1],
     [[[1, 2], [2.9670396, 3.9685533]], [[0.1, 0.2], [0.57, 0.66]], [[0.2, 0.4], [0.6084, 0.8082]]]),
    (ops.FusedSparseFtrl(0.1, 0.1, 0.2, -0.5), (1, 1, 0.1), (), [1, 1],
     [[[1, 2], [1.385848, 1.6656479]], [[1, 2], [12, 13]], [[0.1, 0.2], [-48.661522, -60.822044]]]),
    (ops.FusedSparseProximalAdagrad(), (1, 1), (0.1, 0.2, 0.3), [1, 1], [[[1, 2], [2.8826597, 3.8789732]], [[1, 2], [12, 13]]]),
    (ops.SparseApplyAdagrad(0.1), (1, 1), (), [1, 0], [[[0.9105573, 1.9183503], [2.95, 3.9552786]], [[5, 6], [4, 5]]]),
    (ops.SparseApplyAdagrad(0.1, False), (1, 1), (), [1, 0], [[[0.8, 1.8585786], [2.9422650, 3.95]], [[1, 2], [3, 4]]]),
    (ops.SparseApplyRMSProp(0.9, 0.1, 1e-6), (1, 1, 0.1), (0.1,), [1, 0],
     [[[0.8145884, 1.84516], [2.9102385, 3.9080124]], [[1.3, 2.2], [2.8, 3.7]], [[0.1854115, 0.1548399], [0.0897614, 0.0919875]]]),
]


@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("position", range(len(STEPS)))
def test_steps_for_some_rows(position: int, run: Any) -> None:
    step, factors, numbers, indices, wanted = STEPS[position]
    written = [kept(factor, f"p{i}") for i, factor in enumerate(factors)]
    places, rows = Tensor(np.array(indices, np.int32)), Tensor(np.array(ROWS, np.float32))
    found = run(lambda rows, places: step(*written, *numbers, rows, places))(rows, places)
    for x, value in zip(written, wanted, strict=True):
        np.testing.assert_allclose(x.asnumpy(), value, rtol=2e-6)
    assert found[0].tolist() == written[0].tolist()
    if type(step).__name__.startswith("Fused"):
        assert not any(np.any(state.asnumpy()) for state in found[1:]), "zeros, as MindSpore's"


def test_moments_without_a_parameter() -> None:
    for nesterov, wanted in ((False, [[-0.0134082, -0.0139894]]), (True, [[-0.0191243, -0.0175867]])):
        m, v = Parameter(Tensor([[0.1, 0.2]]), name="m"), Parameter(Tensor([[0.2, 0.4]]), name="v")
        step = ops.AdamNoUpdateParam(False, nesterov)(m, v, *ADAM, Tensor([[1.0, 1.0]]))
        np.testing.assert_allclose(step.asnumpy(), wanted, rtol=5e-6)
        np.testing.assert_allclose([m.tolist()[0], v.tolist()[0]], [[0.19, 0.28], [0.2008, 0.4006]], rtol=1e-6)


def test_patches_of_volumes() -> None:
    """The channels of the first element of the window come first."""
    x = Tensor(np.arange(6, dtype=np.float32).reshape(1, 2, 1, 1, 3))
    pairs = ops.ExtractVolumePatches([1, 1, 1, 1, 2], [1, 1, 1, 1, 1], "VALID")
    assert pairs(x).reshape(4, 2).tolist() == [[0, 1], [3, 4], [1, 2], [4, 5]]
    assert ms.jit(lambda x: pairs(x))(x).tolist() == pairs(x).tolist()
    cube = Tensor(np.arange(27, dtype=np.float64).reshape(1, 1, 3, 3, 3))
    padded = ops.ExtractVolumePatches(2, 2, "same")
    assert padded(cube).reshape(8, 8)[1].tolist() == [1, 0, 7, 0, 19, 0, 25, 0]
    check_gradients(lambda x: padded(x) * 2, cube)
    with pytest.raises(ValueError, match="at least as large as the window"):
        ops.ExtractVolumePatches(4, 1, "VALID")(cube)


def test_transposed_convolution_of_volumes() -> None:
    ones = Tensor(np.ones((1, 1, 2, 2, 2)))
    line = np.array([1.0, 2.0, 1.0])
    assert ops.conv3d_transpose(ones, ones)[0, 0].tolist() == np.einsum("i,j,k->ijk", line, line, line).tolist()
    assert ops.conv3d_transpose(ones, ones, "pad", 1, 2, 1, 1, 1).tolist() == np.ones((1, 1, 3, 3, 3)).tolist()
    assert ops.conv3d_transpose(ones, Tensor(np.ones((1, 1, 3, 3, 3))), "same", 0, 2).shape == (1, 1, 4, 4, 4)
    check_gradients(lambda x, w: ops.conv3d_transpose(x, w) ** 2, ones, ones)
    # As the gradient of `conv3d`, also where `output_padding` reaches what the padding cuts off.
    y, kernel = Tensor(np.arange(8.0).reshape(1, 1, 2, 2, 2)), Tensor(np.arange(1.0, 9.0).reshape(1, 1, 2, 2, 2))
    made = ops.conv3d_transpose(y, kernel, "pad", 1, (1, 2, 1), (2, 4, 3), 1, (1, 3, 2))
    forth = ms.grad(lambda x: (ops.conv3d(x, kernel, None, (1, 2, 1), "pad", 1, (2, 4, 3))[..., :2, :2, :2] * y).sum())
    assert made.tolist() == forth(made).tolist()
    with pytest.raises(ValueError, match="'output_padding' must be 0 unless"):
        ops.conv3d_transpose(ones, ones, stride=2, output_padding=1)


A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
X = np.array([[1.0, 2.0], [3.0, np.nan]], np.float32)
CALLS: list[tuple[Any, Any]] = [
    (lambda: ops.Imag()(Tensor([1, 2])), [0, 0]), (lambda: ops.Conj()(Tensor([1, 2])), [1, 2]),
    (lambda: ops.AccumulateNV2()([Tensor([1]), Tensor([2])]), [3]), (lambda: ops.accumulate_n([Tensor([1]), Tensor([2])]), [3]),
    (lambda: ops.NanToNum(1.0, 2.0, 3.0)(Tensor([np.nan, np.inf, -np.inf])), [1, 2, 3]),
    (lambda: ops.NanToNum(nan=1.0)(Tensor(np.array([np.nan, np.inf], np.float16))), [1, 65504]),
    (lambda: ops.FillDiagonal(9.0, True)(Tensor(A)), [[9, 2], [3, 9], [5, 7]]), (lambda: ops.Real()(Tensor([1, 2])), [1, 2]),
    (lambda: ops.UniqueWithPad()(Tensor([1, 5, 1]), 9)[0], [1, 5, 9]),
    (lambda: ops.MaskedScatter()(Tensor([1.0, 2.0]), Tensor([False, True]), Tensor([7.0])), [1, 7]),
    (lambda: ops.Pack(1)((Tensor([1]), Tensor([2]))), [[1, 2]]), (lambda: ops.Unpack(1)(Tensor([[1, 2]]))[1], [2]),
    (lambda: ops.Expand()(Tensor([[1], [2]]), Tensor([2, -1], ms.int32)), [[1], [2]]),
    (lambda: ops.FastGelu()(Tensor([1.0, 2.0])), [0.8457958, 1.9356586]), (lambda: ops.Dense()(Tensor(A[:1]), Tensor(A[:1])), [[5]]),
    (lambda: ops.Dense()(Tensor(A[:1]), Tensor(A[:1]), Tensor([1.0], ms.float64)), [[6]]),
    (lambda: ops.NuclearNorm()(Tensor(A[:2])), 5.8309519), (lambda: ops.NuclearNorm((0, 1), True)(Tensor(A[:2])), [[5.8309519]]),
    (lambda: ops.CountNonZero()(Tensor(A - 1)), 5), (lambda: ops.CountNonZero([0])(Tensor(A - 1)), [2, 3]),
    (lambda: ops.Quantile()(Tensor(A), Tensor(0.5, ms.float64)), 3.5), (lambda: ops.Quantile(1, True, True)(Tensor(X), 1.0), [[2], [3]]),
    (lambda: ops.MatrixSolveLs()(Tensor(A), Tensor(np.array([[1.0], [2.0], [3.0]])), Tensor(0.5, ms.float64)), [[0.1509434], [0.3396226]]),
    (lambda: ops.MatrixSolveLs(False)(Tensor(A), Tensor(np.array([[1.0], [2.0], [3.0]])), Tensor(9.0, ms.float64)), [[-1 / 14], [0.5]]),
    (lambda: ops.Ormqr()(*Tensor(A[:2]).geqrf(), Tensor(A[:2]).qr()[1]), A[:2]),
    (lambda: ops.LogNormalReverse(1.0, 0.0)(Tensor([1.0, 2.0])), [np.e, np.e]),
    (lambda: ops.RandpermV2()(5).sort()[0], [0, 1, 2, 3, 4]), (lambda: ops.RandpermV2(3, 4, ms.int32)(Tensor([3])).sum(), 3),
    (lambda: ops.tensor_exp(Tensor([0.0])), [1]), (lambda: ops.tensor_expm1(Tensor([0.0])), [0]),
    (lambda: ops.floordiv(Tensor([5.0]), 2), [2]), (lambda: ops.floormod(Tensor([-5]), 3), [1]),
    (lambda: (ops.list_len([1, 2]), ops.make_list(1, 2), ops.tuple_reversed((1, 2)), ops.shape_mul((2, 3)), ops.shape_mul(()),
              ops.is_(ops, ops), ops.is_not(ops, ops)), (2, [1, 2], (2, 1), 6, 1, True, False)),
]


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_calls(position: int) -> None:
    call, wanted = CALLS[position]
    found = call()
    if isinstance(found, tuple):
        assert found == wanted
    else:
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5)


def test_truncated_draws() -> None:
    """The deviations are those of the normal distribution between the bounds; MindSpore's draws have them too."""
    drawn = ops.TruncatedNormal(ms.float16, 3)((100, 100))
    assert drawn.dtype is ms.float16 and ops.TruncatedNormal()(Tensor([2, 3])).shape == (2, 3)
    values = drawn.asnumpy().astype(np.float64)
    assert abs(values).max() <= 2 and abs(values.mean()) < 0.03 and abs(values.std() - 0.8796) < 0.02
    two = ops.ParameterizedTruncatedNormal(5)((2, 20000), Tensor([0.0, 5.0]), Tensor([1.0, 2.0]), Tensor([-1.0, 4.0]), Tensor([1.0, 6.0]))
    rows = two.asnumpy()
    assert two.dtype is ms.float32 and (rows.min(1) >= [-1, 4]).all() and (rows.max(1) <= [1, 6]).all()
    np.testing.assert_allclose(rows.mean(1), [0, 5], atol=0.02)
    np.testing.assert_allclose(rows.std(1), [0.5396, 0.5685], atol=0.01)
    for bounds, text in (((1.0, -1.0), "'max' must be above 'min'"), ((-1.0, 1.0), "'stdevs' must be above 0")):
        with pytest.raises(RuntimeError, match=text):
            ops.ParameterizedTruncatedNormal()((2, 2), Tensor(0.0), Tensor(bounds[1]) * 0 if "stdevs" in text else Tensor(1.0),
                                               *map(Tensor, bounds))


def test_boxes_without_those_that_overlap_better_ones() -> None:
    """MindSpore's answers: equal scores in their order, and an overlap of the threshold is too much."""
    table = np.array([[1, 0.5, 0.2], [0.5, 1, 0.1], [0.2, 0.1, 1]], np.float32)

    def taken(scores: list[float], most: int, near: float = 0.5, least: float = 0.2) -> Any:
        return ops.NonMaxSuppressionWithOverlaps()(Tensor(table), Tensor(scores), Tensor(most, ms.int32), Tensor(near), Tensor(least))

    assert taken([0.6, 0.7, 0.3], 3).tolist() == [1, 2] and taken([0.6, 0.7, 0.3], 1).tolist() == [1]
    assert taken([0.6, 0.6, 0.6], 3).tolist() == [0, 2] and taken([0.6, 0.6, 0.6], 3, 0.6, 0.6).tolist() == []
    assert taken([0.6, 0.7, 0.3], 0).dtype is ms.int32
    with pytest.raises(ValueError, match="at least 0"):
        taken([0.6, 0.7, 0.3], -1)
    with pytest.raises(RuntimeError, match="depends on values"):
        ms.jit(lambda x: taken([0.6, 0.7, 0.3], 3) + x)(Tensor(1))


def test_mistakes() -> None:
    var, rows, places = kept(1, "p"), Tensor(np.array(ROWS, np.float32)), Tensor([0, 1], ms.int32)
    for call, error, text in (
        (lambda: ops.FusedSparseAdam()(var, var, var, *ADAM, rows, Tensor([0, 2], ms.int32)), IndexError, "'indices'"),
        (lambda: ops.FusedSparseAdam()(var, var, var, *ADAM, rows[:1], places), ValueError, r"'gradient' must be of shape \(2, 2\)"),
        (lambda: ops.FusedSparseFtrl(0.1, 0.0, 0.0, -0.5)(var, var, var, rows.double(), places), TypeError, "'grad' must be of a dtype"),
        (lambda: ops.FusedSparseLazyAdam()(var, var, var, *ADAM, rows, rows), TypeError, "'indices' must be of type Int32 or Int64"),
        (lambda: ops.SparseApplyAdagrad(0.1)(var, var, rows, Tensor([0, 0], ms.int32)), ValueError, "different from each other"),
        (lambda: ops.SparseApplyRMSProp(2.0, 0.1, 1e-6), ValueError, "'rho' must be from 0 to 1"),
        (lambda: ops.AdamNoUpdateParam()(var, var, *ADAM, rows.double()), TypeError, "'gradient' must be of dtype Float32"),
        (lambda: ops.MatrixSolveLs()(Tensor(A), Tensor(A), Tensor(0.0)), TypeError, "'l2_regularizer' must be a Tensor of Float64"),
        (lambda: ops.NuclearNorm((0,)), ValueError, "two axes"), (lambda: ops.FillDiagonal(1), TypeError, "'fill_value'"),
        (lambda: ops.shape_mul([2]), TypeError, "a tuple of ints"), (lambda: ops.tuple_reversed([1]), TypeError, "a tuple"),
    ):
        with pytest.raises(error, match=text):
            call()
