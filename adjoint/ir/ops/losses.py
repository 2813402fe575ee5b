"""Cross entropy of softmax, with labels given as distributions or as classes, and its gradients.

    p = softmax(logits)            along the classes
    loss = -sum_k labels_k log p_k

Rows are examples, columns are classes.  There is one loss per row; other ops average them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.groups import SHORT, Rows, reference_sum
from adjoint.ir.types import F32, I32, I64, DType, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any

__all__ = [
    "SoftmaxCrossEntropy", "SoftmaxCrossEntropyGradient", "SparseSoftmaxCrossEntropy", "SparseSoftmaxCrossEntropyGradient",
]


class _CrossEntropy(Op):
    """Checks of logits and of the cotangent of the losses."""

    batch = batching.of_items
    pack = "loss"

    def check_logits(self, logits: TensorType) -> None:
        if not isinstance(logits, TensorType) or not logits.dtype.is_float:
            raise mistake(self, "logits", "a tensor of floating point numbers", logits, TypeError)
        if logits.rank != 2:
            raise mistake(self, "logits", "of shape [examples, classes]", logits)

    def losses(self, logits: TensorType) -> TensorType:
        """Return the type of the losses."""
        return logits.with_shape(logits.shape[:1])

    def check_cotangent(self, logits: TensorType, ct: TensorType) -> None:
        if ct is not self.losses(logits):
            raise mistake(self, "ct", f"of type {self.losses(logits)}", ct)


WORK = 4096
"""The elements that a thread must get to be worth waking."""


@contextmanager
def _rows(k: Kernel, logits: Buffer) -> Iterator[tuple[Expr, Rows]]:
    """Begin a stage over rows: yield the number of one, and its elements."""
    examples, classes = logits.shape
    n = k.size(classes, "n")
    k.describe(logits, "rows, n")
    with k.stage(examples, max(1, WORK // max(1, classes)), "row") as row:
        group = Rows(k, k.let(row * n, "first"), n, classes)
        group.fetch_next(logits)
        yield row, group


def _powers(k: Kernel, group: Rows, logits: Buffer) -> tuple[Expr, Expr]:
    """Return the largest logit of a row, and the sum of exponentials of logits less that."""
    dtype = logits.dtype.compute
    largest = group.largest(dtype, lambda i: logits[i])()
    return largest, group.sum(dtype, lambda i: k.call("exp", logits[i] - largest), "total", lanes=SHORT)()


def _shifted(logits: Array) -> tuple[Array, Array]:
    """Return logits less their largest, and the sum of their exponentials."""
    shifted = logits - logits.max(axis=1, keepdims=True, initial=-np.inf)
    return shifted, reference_sum(np.exp(shifted), 1, keepdims=True)


def _column(b: Builder, ct: Atom) -> Atom:
    """Return [n] as [n, 1]."""
    have = ct.type
    assert isinstance(have, TensorType)
    return b.reshape(ct, to=have.with_shape((*have.shape, 1)))


@operation
class SoftmaxCrossEntropy(_CrossEntropy):
    """Cross entropy between softmax of `logits` and the distributions `labels`, row by row.

    operands logits  T[n, k], T a floating point type
             labels  T[n, k]
    result   T[n]: -sum over k of labels * log_softmax(logits)
    gradient softmax_cross_entropy_gradient(logits, labels, ct); labels receive -ct * log_softmax(logits)
    errors   ValueError: logits not of rank 2, labels of another type; TypeError: logits not floating point
    """

    samples = (
        sample(tensor(F32, (3, 5)), tensor(F32, (3, 5)), domain=((-2.0, 2.0), (0.0, 1.0))),
        sample(tensor(F32, (2, 100)), tensor(F32, (2, 100)), domain=((-30.0, 30.0), (0.0, 1.0))),
        sample(tensor(F32, (0, 4)), tensor(F32, (0, 4))),
    )

    def infer(self, logits: TensorType, labels: TensorType) -> TensorType:
        self.check_logits(logits)
        if labels is not logits:
            raise mistake(self, "labels", f"of type {logits}", labels)
        return self.losses(logits)

    def reference(self, logits: Array, labels: Array) -> Array:
        shifted, total = _shifted(logits)
        return reference_sum(labels * (np.log(total) - shifted), 1)

    def lower(self, k: Kernel, logits: Buffer, labels: Buffer, out: Buffer) -> None:
        dtype = logits.dtype.compute
        with _rows(k, logits) as (row, group):
            largest, total = _powers(k, group, logits)
            logarithm = k.let(k.call("log", total), "logarithm")
            loss = group.sum(dtype, lambda i: labels[i] * (logarithm - (logits[i] - largest)), "loss")
            k.store(out, row, loss())

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        (logits, labels), (ct,) = node.operands, cotangents
        logits_ct = b.emit(SoftmaxCrossEntropyGradient(), logits, labels, ct)
        return logits_ct, b.neg(b.mul(b.log_softmax(logits, axis=1), _column(b, ct)))


@operation
class SoftmaxCrossEntropyGradient(_CrossEntropy):
    """The gradient of softmax_cross_entropy by its logits.

    operands logits  T[n, k]
             labels  T[n, k]
             ct      T[n], the cotangent of the losses
    result   T[n, k]: (softmax(logits) * sum(labels) - labels) * ct; the sum, over k, is one for distributions
    gradient unfused, to all operands
    errors   ValueError: operands of shapes that do not fit; TypeError: logits not floating point
    """

    samples = (
        sample(tensor(F32, (3, 5)), tensor(F32, (3, 5)), tensor(F32, (3,)), domain=((-2.0, 2.0), (0.0, 1.0), (-1.0, 1.0))),
        sample(tensor(F32, (0, 4)), tensor(F32, (0, 4)), tensor(F32, (0,))),
    )

    def infer(self, logits: TensorType, labels: TensorType, ct: TensorType) -> TensorType:
        self.check_logits(logits)
        if labels is not logits:
            raise mistake(self, "labels", f"of type {logits}", labels)
        self.check_cotangent(logits, ct)
        return logits

    def reference(self, logits: Array, labels: Array, ct: Array) -> Array:
        shifted, total = _shifted(logits)
        p = np.exp(shifted) / total
        return (p * reference_sum(labels, 1, keepdims=True) - labels) * ct[:, None]

    def lower(self, k: Kernel, logits: Buffer, labels: Buffer, ct: Buffer, out: Buffer) -> None:
        dtype = logits.dtype.compute
        with _rows(k, logits) as (row, group):
            largest, total = _powers(k, group, logits)
            scale = k.let(group.sum(dtype, lambda i: labels[i], "labelled")() / total, "scale")
            given = k.let(ct[row], "given")
            group.each(lambda i: k.store(out, i, (k.call("exp", logits[i] - largest) * scale - labels[i]) * given))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        (logits, labels, ct), (v,) = node.operands, cotangents
        p, column = b.softmax(logits, axis=1), _column(b, ct)
        total = b.sum(labels, axes=(1,), keepdims=True)
        error = b.sub(b.mul(p, total), labels)
        logits_ct = b.softmax_gradient(p, b.mul(v, b.mul(column, total)), axis=1)
        labels_ct = b.mul(column, b.sub(b.sum(b.mul(v, p), axes=(1,), keepdims=True), v))
        return logits_ct, labels_ct, b.sum(b.mul(v, error), axes=(1,), keepdims=False)


class _SparseCrossEntropy(_CrossEntropy):
    ignored: tuple[int, ...]

    def check_labels(self, logits: TensorType, labels: TensorType) -> None:
        if not isinstance(labels, TensorType) or not labels.dtype.is_integer:
            raise mistake(self, "labels", "a tensor of integers", labels, TypeError)
        if labels.shape != logits.shape[:1]:
            raise mistake(self, "labels", f"of shape [{logits.shape[0]}]", labels)
        if len(self.ignored) > 1:
            raise mistake(self, "ignored", "at most one label", self.ignored)

    def failure(self, status: int) -> Exception:
        """Return the error for a kernel's non-zero status; the reference, run on the same operands, names the label."""
        return mistake(self, "labels", "in 0..classes-1", "a label out of range")

    def rows(self, logits: Array, labels: Array) -> tuple[Array, Array]:
        """Return labels as indices, with 0 for ignored ones, and which rows count; raise ValueError for a label out of range."""
        counts = ~np.isin(labels, self.ignored) if self.ignored else np.ones(labels.shape, bool)
        index = np.where(counts, labels, 0).astype(np.int64)
        outside = ((index < 0) | (index >= logits.shape[1])) & counts
        if outside.any():
            raise mistake(self, "labels", f"in 0..{logits.shape[1] - 1}", int(labels[outside][0]))
        return index, counts

    @contextmanager
    def each_label(self, k: Kernel, row: Expr, labels: Buffer, group: Rows) -> Iterator[Expr]:
        """Emit what is done in a row whose label counts; yield the label, as an index."""
        with self.counting(k, row, labels):
            label = k.let(k.cast(labels[row], I64), "label")
            with k.when(k.either(k.less(label, 0), k.greater_equal(label, group.n))):
                k.fail(1)
            yield label

    @contextmanager
    def counting(self, k: Kernel, row: Expr, labels: Buffer) -> Iterator[None]:
        """Emit what is done in a row unless its label is the ignored one."""
        if not self.ignored:
            yield
            return
        with k.when(k.not_equal(k.cast(labels[row], I64), k.size(self.ignored[0], "ignored"))):
            yield

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[Type, ...]]]:
        for ignored, kind in (((), I32), ((-100,), I32), ((), I64)):
            operands: tuple[Type, ...] = (tensor(dtype, (2, 3)), tensor(kind, (2,)))
            if cls is SparseSoftmaxCrossEntropyGradient:
                operands = (*operands, tensor(dtype, (2,)))
            yield cls(ignored=ignored), operands


@operation
class SparseSoftmaxCrossEntropy(_SparseCrossEntropy):
    """Cross entropy between softmax of `logits` and the classes `labels`, row by row.

    operands logits  T[n, k], T a floating point type
             labels  I[n], I an integer type: the class of each row
    result   T[n]: -log_softmax(logits) at the label; 0 where the label is the `ignored` one
    gradient sparse_softmax_cross_entropy_gradient(logits, labels, ct)
    errors   ValueError: logits not of rank 2, labels not of shape [n], a label not in 0..k-1; TypeError: logits not
             floating point, labels not integers
    """

    ignored: tuple[int, ...] = ()
    samples = (
        sample(tensor(F32, (3, 5)), tensor(I32, (3,)), values={1: np.array([0, 4, 2])}),
        sample(tensor(F32, (4, 10)), tensor(I64, (4,)), values={1: np.array([9, -1, 0, -1])}, ignored=(-1,)),
        sample(tensor(F32, (2, 100)), tensor(I32, (2,)), values={1: np.array([99, 3])}, domain=(-30.0, 30.0)),
        sample(tensor(F32, (0, 4)), tensor(I32, (0,)), values={1: np.zeros(0, np.int32)}),
    )

    def infer(self, logits: TensorType, labels: TensorType) -> TensorType:
        self.check_logits(logits)
        self.check_labels(logits, labels)
        return self.losses(logits)

    def reference(self, logits: Array, labels: Array) -> Array:
        index, counts = self.rows(logits, labels)
        shifted, total = _shifted(logits)
        losses = np.log(total[:, 0]) - shifted[np.arange(len(index)), index]
        return np.where(counts, losses, 0)

    def lower(self, k: Kernel, logits: Buffer, labels: Buffer, out: Buffer) -> None:
        with _rows(k, logits) as (row, group):
            if self.ignored:
                k.store(out, row, 0.0)
            with self.each_label(k, row, labels, group) as label:
                largest, total = _powers(k, group, logits)
                k.store(out, row, k.call("log", total) - (logits[group.first + label] - largest))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        logits, labels = node.operands
        return b.emit(SparseSoftmaxCrossEntropyGradient(self.ignored), logits, labels, cotangents[0]), None


@operation
class SparseSoftmaxCrossEntropyGradient(_SparseCrossEntropy):
    """The gradient of sparse_softmax_cross_entropy by its logits.

    operands logits  T[n, k]
             labels  I[n], I an integer type
             ct      T[n], the cotangent of the losses
    result   T[n, k]: (softmax(logits) - onehot(labels)) * ct; 0 in rows whose label is the `ignored` one
    gradient unfused, to logits and ct
    errors   as sparse_softmax_cross_entropy; ValueError: ct not of shape [n]
    """

    ignored: tuple[int, ...] = ()
    samples = (
        sample(tensor(F32, (3, 5)), tensor(I32, (3,)), tensor(F32, (3,)), values={1: np.array([0, 4, 2])}),
        sample(tensor(F32, (4, 10)), tensor(I64, (4,)), tensor(F32, (4,)), values={1: np.array([9, -1, 0, -1])}, ignored=(-1,)),
        sample(tensor(F32, (0, 4)), tensor(I32, (0,)), tensor(F32, (0,)), values={1: np.zeros(0, np.int32)}),
    )

    def infer(self, logits: TensorType, labels: TensorType, ct: TensorType) -> TensorType:
        self.check_logits(logits)
        self.check_labels(logits, labels)
        self.check_cotangent(logits, ct)
        return logits

    def reference(self, logits: Array, labels: Array, ct: Array) -> Array:
        index, counts = self.rows(logits, labels)
        shifted, total = _shifted(logits)
        error = np.exp(shifted) / total
        error[np.arange(len(index)), index] -= 1
        return np.where(counts[:, None], error * ct[:, None], 0)

    def lower(self, k: Kernel, logits: Buffer, labels: Buffer, ct: Buffer, out: Buffer) -> None:
        with _rows(k, logits) as (row, group):
            if self.ignored:
                group.each(lambda i: k.store(out, i, 0.0))
            with self.each_label(k, row, labels, group) as label:
                largest, total = _powers(k, group, logits)
                scale, given = k.let(1.0 / total, "scale"), k.let(ct[row], "given")
                group.each(lambda i: k.store(out, i, k.call("exp", logits[i] - largest) * scale * given))
                i = k.let(group.first + label, "at_label")
                k.store(out, i, (k.call("exp", logits[i] - largest) * scale - 1.0) * given)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        (logits, labels, ct), (v,) = node.operands, cotangents
        have, weights = tensor_type(logits), ct
        if self.ignored:
            counts = b.not_equal(labels, b.constant(self.ignored[0], tensor_type(labels).dtype))
            weights = b.mul(ct, b.cast(counts, to=have.dtype))
        error = b.emit(self, logits, labels, b.constant(1.0, self.losses(have)))
        logits_ct = b.softmax_gradient(b.softmax(logits, axis=1), b.mul(v, _column(b, weights)), axis=1)
        return logits_ct, None, b.sum(b.mul(v, error), axes=(1,), keepdims=False)
