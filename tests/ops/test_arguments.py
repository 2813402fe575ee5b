"""A bad argument is an exception of the documented type that names operator, argument, what was expected and what was got."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, mint, nn, ops
from adjoint.ops import operations as P

X = Tensor(np.ones((2, 3), np.float32))
EMPTY = Tensor(np.zeros((0, 3), np.float32))

WRONG: list[tuple[Any, tuple[Any, ...], type[Exception], str]] = [
    # what is no tensor
    (ops.relu, ("text",), TypeError, "For 'ReLU', the argument 'input' must be a Tensor, but got 'text'"),
    (ops.relu, (None,), TypeError, "ReLU.*Tensor.*None"),
    (ops.relu, (np.ones(3),), TypeError, "ReLU.*ndarray"),
    (ops.relu, (object(),), TypeError, "ReLU.*of type object"),
    (ops.relu, (), TypeError, "relu.*missing 1 required positional argument"),
    (ops.exp, (X, X), TypeError, "exp.*takes 1 positional argument but 2 were given"),
    (ops.add, (X,), TypeError, "missing 1 required"),
    (ops.add, (X, "a"), TypeError, "For 'Add'.*'a' of type str"),
    (ops.add, ([1.0], [2.0]), TypeError, "For 'Add'"),
    (ops.concat, (X,), TypeError, "Concat.*tuple or list of Tensors"),
    (ops.concat, ((X, 3),), TypeError, "Concat.*int"),
    (ops.stop_gradient, (), TypeError, "missing"),
    (P.MatMul(), (X, 2.0), TypeError, "MatMul.*mat2.*2.0"),
    (P.Conv2D(2, 3), (X, "w"), TypeError, "Conv2D.*weight.*'w'"),
    # dtypes
    (ops.exp, (Tensor([1]),), TypeError, "Exp.*floating.*Int64"),
    (ops.softmax, (Tensor([1]),), TypeError, "Softmax.*floating.*Int64"),
    (ops.sigmoid, (Tensor([True]),), TypeError, "Sigmoid.*Bool"),
    (ops.where, (X, X, X), TypeError, "Select.*condition.*Bool.*Float32"),
    (ops.gather, (X, X, 0), TypeError, "Gather.*integers.*Float32"),
    (ops.one_hot, (X, 3), TypeError, "OneHot.*indices.*integers"),
    (ops.cast, (X, "float32"), TypeError, "Cast.*dtype.*'float32'"),
    (P.MatMul(), (X, Tensor(np.ones((3, 2)))), TypeError, "MatMul.*mat2.*Float32.*Float64"),
    (ops.zeros, ((2,), "text"), TypeError, "Zeros.*dtype.*'text'"),
    (ops.randn, (2, 3, 1.5), TypeError, "RandN.*size.*1.5"),
    # axes
    (ops.sum, (X, 2), ValueError, r"Sum.*dim.*in \[-2, 2\), but got 2"),
    (ops.sum, (X, True), TypeError, "Sum.*dim.*an int.*True of type bool"),
    (ops.sum, (X, 1.0), TypeError, "Sum.*dim.*an int.*1.0"),
    (ops.sum, (X, "a"), TypeError, "Sum.*dim.*'a'"),
    (ops.sum, (X, (0, -2)), ValueError, "Sum.*repetition"),
    (ops.mean, (X, None, 1), TypeError, "ReduceMean.*keep_dims.*a bool.*1"),
    (P.ReduceSum(), (X, 5), ValueError, "ReduceSum.*axis.*5"),
    (ops.softmax, (X, 2), ValueError, "Softmax.*axis"),
    (ops.transpose, (X, (0,)), ValueError, "Transpose.*2 axes"),
    (ops.transpose, (X, (0, 0)), ValueError, "Transpose.*repetition"),
    (ops.expand_dims, (X, 4), ValueError, r"ExpandDims.*\[-3, 3\)"),
    (ops.squeeze, (X, 2), ValueError, "Squeeze.*axis"),
    (ops.stack, ((X, X), 3), ValueError, r"Stack.*in \[-3, 3\)"),
    (ops.unstack, (Tensor(1.0),), ValueError, "Unstack.*at least 1 dimension"),
    (ops.cumsum, (X, 2), ValueError, "CumSum.*axis"),
    (ops.diagonal, (X, 0, 1, 1), ValueError, "Diagonal.*another axis"),
    # shapes
    (ops.add, (X, Tensor(np.ones(4, np.float32))), ValueError, r"Add.*broadcasts with \[2, 3\].*\[4\]"),
    (ops.reshape, (X, (4,)), ValueError, r"Reshape.*6 elements.*\(4,\)"),
    (ops.reshape, (X, (-1, -1)), ValueError, "Reshape.*one of which may be -1"),
    (ops.reshape, (X, (1.5,)), TypeError, "Reshape.*an int.*1.5"),
    (ops.reshape, (X, 6), TypeError, "Reshape.*a tuple of ints.*6"),
    (ops.broadcast_to, (X, (2,)), ValueError, "BroadcastTo.*broadcasts to"),
    (ops.concat, ((X, EMPTY), 1), ValueError, "Concat.*agree but for axis 1"),
    (ops.stack, ((X, EMPTY),), ValueError, "Stack.*one shape"),
    (ops.split, (X, [1, 1], 1), ValueError, "Split.*add up to 3"),
    (P.Split(1, 2), (X,), ValueError, "Split.*divisor of the 3"),
    (ops.matmul, (X, X), ValueError, "MatMul.*matrices of 3 rows"),
    (ops.matmul, (X, Tensor(1.0)), ValueError, "MatMul.*at least 1 dimension"),
    (ops.bmm, (X, X[0]), ValueError, "BatchMatMul.*mat2.*at least 2 dimensions"),
    (ops.dense, (X, X.T), ValueError, "Dense.*last size 2"),
    (ops.bias_add, (X, Tensor([1.0])), ValueError, r"BiasAdd.*shape \(3,\)"),
    (ops.conv2d, (X, X), ValueError, "Conv2D.*4 dimensions"),
    (ops.conv2d, (ops.ones((1, 1, 2, 2)), ops.ones((1, 1, 3, 3))), ValueError, "Conv2D.*at least as large as the kernel"),
    (ops.conv2d, (ops.ones((1, 3, 4, 4)), ops.ones((2, 1, 3, 3))), ValueError, "Conv2D.*channels"),
    (P.Conv2D(3, 3), (ops.ones((1, 1, 4, 4)), ops.ones((2, 1, 3, 3))), ValueError, "Conv2D.*3 outputs"),
    (P.MaxPool(3, 1), (ops.ones((1, 1, 2, 2)),), ValueError, "MaxPool.*window"),
    (ops.layer_norm, (X, (4,)), ValueError, "LayerNorm.*trailing sizes"),
    (ops.batch_norm, (X, *[ops.ones((2,))] * 4), ValueError, r"BatchNorm.*shape \(3,\)"),
    (ops.mse_loss, (X, ops.ones((4,))), ValueError, "broadcasts"),
    (ops.cross_entropy, (X, Tensor([0])), ValueError, r"CrossEntropy.*shape \(2,\)"),
    (ops.expand_dims, (ops.ones((1,) * 8), 0), ValueError, "at most 8 dimensions.*9"),
    (ops.zeros, ((1,) * 9,), ValueError, "at most 8 dimensions"),
    (ops.reshape, (X, (1,) * 9 + (6,)), ValueError, "at most 8 dimensions.*10"),
    # numbers
    (ops.one_hot, (Tensor([1]), -1), ValueError, "OneHot.*depth.*-1"),
    (ops.dropout, (X, 1.5), ValueError, r"Dropout.*p.*in \[0, 1\], but got 1.5"),
    (ops.dropout, (X, float("nan")), ValueError, "Dropout.*nan"),
    (ops.clamp, (X,), ValueError, "Clamp.*at least one"),
    (mint.nn.functional.avg_pool2d, (ops.ones((1, 1, 2, 2)), 2, 1, 0, False, True, 0), ValueError, "AvgPool2D.*divisor_override.*above 0"),
    (mint.nn.functional.avg_pool3d, (ops.ones((1, 1, 2, 2, 2)), 2, 1, 0, False, True, 0), ValueError, "AvgPool3D.*divisor_override"),
    (ops.arange, (3, 0), ValueError, "Arange.*reached from 3"),
    (ops.arange, (0, 3, 0), ValueError, "Arange.*other than 0"),
    (ops.arange, (0, float("inf")), ValueError, "Arange.*inf"),
    (ops.eye, (-1,), ValueError, "Eye.*at least 0"),
    (ops.full, ((-2,), 1), ValueError, "Full.*size.*-2"),
    (ops.full, ((2,), "a"), TypeError, "Full.*fill_value.*'a'"),
    (ops.linspace, (0, 1, 0), ValueError, "LinSpace.*at least 1"),
    (ops.randint, (3, 1, (2,)), ValueError, "RandInt.*more than low, 3"),
    (ops.bernoulli, (X, 2.0), ValueError, r"Bernoulli.*in \[0, 1\]"),
    (ops.topk, (X, 9), ValueError, "TopK.*in 0..3"),
    (ops.mse_loss, (X, X, "median"), ValueError, "MSELoss.*reduction.*'median'"),
    (ops.gelu, (X, "fast"), ValueError, "GeLU.*approximate.*'fast'"),
    (ops.norm, (X, "l1"), ValueError, "Norm.*ord.*'l1'"),
    (ops.norm, (Tensor(np.ones((0, 3), np.float32)), 2), ValueError, r"Norm.*A.*with elements where 'ord' is 2.*\[0, 3\]"),
    (ops.det, (Tensor([[1, 2], [3, 4]]),), TypeError, "MatrixDeterminant.*input.*Float16, Float32, Float64, Complex64 or.*Int64"),
    (ops.logdet, (Tensor([[1, 2], [3, 4]]),), TypeError, "LogMatrixDeterminant.*input.*Int64"),
    (ops.inverse, (Tensor([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 4.0]]]),), ValueError, "MatrixInverse.*singular.*index 1"),
    (ops.einsum, ("i.j", X), ValueError, "Einsum.*equation"), (ops.einsum, ("...i...", X), ValueError, "Einsum.*equation"),
    (ops.einsum, ("ij->...", X), ValueError, "Einsum.*equation"), (ops.einsum, ("...ijk", X), ValueError, "Einsum.*letters for an operand"),
    # indices
    (ops.gather, (X, Tensor([5]), 0), IndexError, r"Gather.*in \[-2, 2\), but got 5"),
    (ops.gather, (X, Tensor([-3]), 0), IndexError, "Gather.*-3"),
    (ops.gather_elements, (X, 1, Tensor([[3], [0]])), IndexError, "GatherD.*3"),
    (ops.gather_nd, (X, Tensor([[0, 3]])), IndexError, "GatherNd.*axis 1.*3"),
    (ops.embedding, (Tensor([2]), X), IndexError, "Embedding.*2"),
    (ops.cross_entropy, (X, Tensor([0, 3])), IndexError, "CrossEntropy.*classes in 0..2, but got 3"),
    (ops.nll_loss, (X, Tensor([0, -1])), IndexError, "NLLLoss.*-1"),
    (P.SparseSoftmaxCrossEntropyWithLogits(), (X, Tensor([0, 7])), IndexError, "Sparse.*7"),
    (ops.take, (X, Tensor([6])), IndexError, "Take.*6"),
    # attributes of primitives
    (P.Conv2D, (0, 3), ValueError, "Conv2D.*out_channel"),
    (P.Conv2D, ("a", 3), TypeError, "Conv2D.*out_channel.*'a'"),
    (P.Conv2D, (1, 3, 1, "wrong"), ValueError, "Conv2D.*pad_mode.*'wrong'"),
    (P.Conv2D, (1, 3, 1, "valid", 1), ValueError, "Conv2D.*0 where pad_mode is 'valid'"),
    (P.Conv2D, (1, 3, 1, "pad", 1, 0), ValueError, "Conv2D.*stride.*at least 1"),
    (P.MaxPool, (0,), ValueError, "MaxPool.*kernel_size"),
    (P.MaxPool, (2, 2, "wrong"), ValueError, "MaxPool.*pad_mode"),
    (P.Softmax, ((0, 1),), ValueError, "Softmax.*one axis"),
    (P.Dropout, (0.0,), ValueError, r"Dropout.*keep_prob.*\(0, 1\]"),
    (P.Add, (1,), TypeError, "there is no argument to make the operator with"),
    (P.StandardNormal, (-1,), ValueError, "StandardNormal.*seed"),
]


@pytest.mark.parametrize(("function", "arguments", "kind", "said"), WRONG)
def test_a_bad_argument(function: Any, arguments: tuple[Any, ...], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        function(*arguments)
    assert ops.relu(X).tolist() == [[1, 1, 1], [1, 1, 1]]


ENORMOUS = [
    ("zeros", lambda: ops.zeros((2**45,))),
    ("more elements than a 64-bit number counts", lambda: ops.zeros((2**40, 2**40))),
    ("broadcast_to", lambda: ops.broadcast_to(X, (2**45, 2, 3))),
    ("tile", lambda: ops.tile(X, (2**45, 1))),
    ("one_hot", lambda: ops.one_hot(Tensor([1]), 2**45)),
    ("outer sum", lambda: ops.zeros((2**22, 1)) + ops.zeros((2**22,))),
]


@pytest.mark.parametrize("make", [make for _, make in ENORMOUS], ids=[name for name, _ in ENORMOUS])
def test_a_tensor_too_large_for_the_machine(make: Any) -> None:
    with pytest.raises(MemoryError, match=r"would take \d+ bytes, but this machine has \d+"):
        make()
    assert ops.zeros((2,)).tolist() == [0, 0]


def test_tensors_without_elements() -> None:
    """No elements: every op that has a meaning then gives it."""
    assert ops.relu(EMPTY).shape == ops.softmax(EMPTY).shape == (0, 3)
    assert ops.matmul(EMPTY, ops.ones((3, 4))).shape == (0, 4)
    assert ops.concat((EMPTY, X)).shape == (2, 3)
    assert ops.gather(X, Tensor(np.zeros(0, np.int32)), 1).shape == (2, 0)
    assert ops.conv2d(ops.zeros((0, 1, 4, 4)), ops.ones((2, 1, 3, 3))).shape == (0, 2, 2, 2)
    assert P.MaxPool(2, 2)(ops.zeros((0, 1, 4, 4))).shape == (0, 1, 2, 2)
    assert ops.sort(EMPTY)[0].shape == (0, 3)
    assert ops.split(EMPTY, 2)[0].shape == (0, 3)


def test_a_tensor_without_dimensions_has_axis_0_and_minus_1() -> None:
    x = Tensor(2.0)
    assert ops.sum(x, 0).item() == ops.sum(x, -1).item() == ops.softmax(x, 0).item() * 2 == 2
    assert ops.argmax(x, 0).item() == 0
    assert ops.max(x, 0)[0].item() == ops.cumsum(x, 0).item() == 2
    with pytest.raises(ValueError, match=r"in \[-1, 1\)"):
        ops.sum(x, 1)


def test_an_integer_may_be_of_numpy_or_a_tensor() -> None:
    assert ops.sum(X, np.int64(1)).tolist() == ops.sum(X, Tensor(1)).tolist() == [3, 3]
    assert ops.reshape(X, Tensor([3, 2])).shape == ops.zeros(Tensor([3, 2])).shape == (3, 2)
    assert ops.arange(Tensor(3)).dtype is adjoint.int64


@pytest.mark.parametrize("call", [
    lambda: nn.BatchNorm1d(3)(X.astype(adjoint.float64)), lambda: nn.GRUCell(3, 3, dtype=adjoint.float64)(X, X),
    lambda: ops.addn([X, X.astype(adjoint.int32)]),
])
def test_another_dtype_is_a_type_error(call: Any) -> None:
    """As in MindSpore; another shape is a ValueError."""
    with pytest.raises(TypeError, match="For '"):
        call()
