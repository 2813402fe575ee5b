"""Sparse matrices: their elements that are not 0, with their places.

    COOTensor(indices, values, shape)           values[k] is at the place indices[k], a row and a column
    CSRTensor(indptr, indices, values, shape)   values[indptr[i]:indptr[i + 1]] are in row i, in the columns indices[...]

Both are tuples of Tensors for everything that takes values apart: graphs, gradients, `vmap`.  Their operators are composed of gathers, sums
by segment and scatters.  Places are not checked when a matrix is made, as in MindSpore; one out of range is an error of the operator that
uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.types import I16, I32, I64, DType
from adjoint.ops.arguments import flag, integer, operand, real, sizes_argument, wrong
from adjoint.ops.counts import searchsorted
from adjoint.ops.creation import arange
from adjoint.ops.generated import absolute, exp
from adjoint.ops.ordering import argsort
from adjoint.ops.parts import concat, stack
from adjoint.ops.picking import gather, gather_nd, nonzero, unique, unsorted_segment_sum
from adjoint.ops.scattering import scatter_nd, tensor_scatter_add
from adjoint.ops.segments import unsorted_segment_max
from adjoint.ops.shapes import broadcast_to, permute, reshape
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "coalesce", "coo2csr", "coo_add", "coo_concat", "coo_tensor_get_dense_shape", "coo_tensor_get_indices",
    "coo_tensor_get_values", "csr2coo", "csr_add", "csr_div", "csr_gather", "csr_mm", "csr_mul", "csr_mv", "csr_reduce_sum", "csr_softmax",
    "csr_tensor_get_dense_shape", "csr_tensor_get_indices", "csr_tensor_get_indptr", "csr_tensor_get_values", "csr_to_coo", "csr_to_dense",
    "dense_to_sparse_coo", "dense_to_sparse_csr", "make_coo_tensor", "make_csr_tensor", "make_sparse_tensor",
]

_PLACES = (I16, I32, I64)


class _Sparse(tuple):
    """A matrix as a tuple of its Tensors and its shape; unlike a tuple it equals only itself."""

    @classmethod
    def _make(cls, parts: Any) -> Any:
        """Return a matrix with these parts.

        The gradient of a tuple has 0 for each number, so also for the sizes: of that matrix the values are returned, as in MindSpore.
        """
        *tensors, shape = parts
        is_gradient = type(shape) is tuple and all(type(size) is int and size == 0 for size in shape)
        return tensors[-1] if is_gradient else tuple.__new__(cls, (*tensors, shape))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        return self[-1]

    @property
    def values(self) -> Any:
        return self[-2]

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def size(self) -> int:
        """Return the number of elements that are kept."""
        return self.values.size

    @property
    def itemsize(self) -> int:
        return self.values.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self)

    def astype(self, dtype: DType) -> Any:
        return self.with_values(self.values.astype(dtype))

    def abs(self) -> Any:
        return self.with_values(absolute(self.values))

    def __neg__(self) -> Any:
        return self.with_values(-self.values)

    def with_values(self, values: Any) -> Any:
        """Return a matrix with the same places, and other values."""
        return self._make((*self[:-2], values, self.shape))

    def __repr__(self) -> str:
        names = ("indptr", "indices", "values")[-(len(self) - 1) :]
        parts = ", ".join(f"{name}={_text(x)}" for name, x in zip(names, self, strict=False))
        return f"{type(self).__name__}(shape={list(self.shape)}, dtype={self.dtype}, {parts})"


def _text(x: Any) -> str:
    """Return the text of a Tensor without commas between numbers, as MindSpore writes it here."""
    head, _, numbers = repr(x).partition("value=")
    return f"{head}value={numbers.removeprefix(' ').replace(',', '')}"


class COOTensor(_Sparse):
    """A sparse matrix by coordinates.

    indices     the rows and columns, a Tensor [n, 2] of Int16, Int32 or Int64
    values      the elements, a Tensor [n]; those of one place are added up
    shape       (rows, columns)
    coo_tensor  another COOTensor, in the place of all three

    TypeError and ValueError for other arguments.
    """

    def __new__(
        cls, indices: Any = None, values: Any = None, shape: tuple[int, ...] | None = None, coo_tensor: COOTensor | None = None
    ) -> COOTensor:
        if coo_tensor is not None:
            if not isinstance(coo_tensor, COOTensor) or not indices is values is shape is None:
                raise wrong(cls.__name__, "coo_tensor", "a COOTensor, in the place of all other arguments", coo_tensor, TypeError)
            return coo_tensor
        return cls._make(_by_coordinates(cls.__name__, indices, values, shape))

    @property
    def indices(self) -> Any:
        return self[0]

    def to_dense(self) -> Tensor:
        return scatter_nd(self.indices, self.values, self.shape)

    def to_csr(self) -> CSRTensor:
        """Return the same matrix by rows; the order of elements within a row stays."""
        rows = self.indices[:, 0]
        order = argsort(rows)
        indptr = coo2csr(gather(rows, order, 0), self.shape[0])
        return CSRTensor(indptr, gather(self.indices[:, 1], order, 0), gather(self.values, order, 0), self.shape)

    def coalesce(self) -> COOTensor:
        """Return the same matrix in the order of rows and columns, each place once."""
        return _added(self.indices, self.values, self.shape)

    def add(self, other: COOTensor, thresh: Any) -> COOTensor:
        return coo_add(self, other, thresh)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, COOTensor):
            return coo_add(self, other, 0)
        return tensor_scatter_add(_dense("+", self, other), self.indices, self.values)

    def __radd__(self, other: Any) -> Any:
        return self + other if isinstance(other, Tensor) else NotImplemented  # `list += x` adds the parts of a tuple

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, COOTensor):
            return coo_add(self, -other, 0)
        return tensor_scatter_add(-_dense("-", self, other), self.indices, self.values)

    def __mul__(self, other: Any) -> COOTensor:
        return self.with_values(self.values * gather_nd(_dense("*", self, other), self.indices))

    def __truediv__(self, other: Any) -> COOTensor:
        return self.with_values(self.values / gather_nd(_dense("/", self, other), self.indices))


class CSRTensor(_Sparse):
    """A sparse matrix by rows.

    indptr      where rows begin and end, a Tensor [rows + 1] of Int16, Int32 or Int64
    indices     the columns, a Tensor [n] of the same
    values      the elements, a Tensor [n, ...]
    shape       (rows, columns, ...)
    csr_tensor  another CSRTensor, in the place of all four

    TypeError and ValueError for other arguments.
    """

    def __new__(
        cls, indptr: Any = None, indices: Any = None, values: Any = None, shape: tuple[int, ...] | None = None,
        csr_tensor: CSRTensor | None = None,
    ) -> CSRTensor:
        if csr_tensor is not None:
            if not isinstance(csr_tensor, CSRTensor) or not indptr is indices is values is shape is None:
                raise wrong(cls.__name__, "csr_tensor", "a CSRTensor, in the place of all other arguments", csr_tensor, TypeError)
            return csr_tensor
        return cls._make(_by_rows(cls.__name__, indptr, indices, values, shape))

    @property
    def indptr(self) -> Any:
        return self[0]

    @property
    def indices(self) -> Any:
        return self[1]

    def to_coo(self) -> COOTensor:
        return csr_to_coo(self)

    def to_dense(self) -> Tensor:
        return csr_to_dense(self)

    def mv(self, dense_vector: Any) -> Tensor:
        return csr_mv(self, dense_vector)

    def mm(self, matrix: Any) -> Tensor:
        return csr_mm(self, matrix)

    def sum(self, axis: int) -> Tensor:
        return csr_reduce_sum(self, axis)

    def add(self, b: CSRTensor, alpha: Any, beta: Any) -> CSRTensor:
        return csr_add(self, b, alpha, beta)

    def __add__(self, other: Any) -> CSRTensor:
        check_matrix("CSRTensor add", "other", other, CSRTensor)
        return csr_add(self, other, 1, 1)

    def __sub__(self, other: Any) -> CSRTensor:
        check_matrix("CSRTensor subtract", "other", other, CSRTensor)
        return csr_add(self, other, 1, -1)

    def __mul__(self, other: Any) -> Any:
        return csr_mul(self, other)

    def __truediv__(self, other: Any) -> Any:
        return csr_div(self, other)


# -- checks -------------------------------------------------------------------------------------------------------------------
def _by_coordinates(op: str, indices: Any, values: Any, shape: Any, name: str = "shape") -> tuple[Any, Any, tuple[int, ...]]:
    """Return the parts of a COOTensor; TypeError and ValueError for what is none.

    op    the class or function, for messages
    name  its argument `shape`
    """
    _check_places(op, "indices", indices)
    operand(op, values, "values")
    sizes = _checked_shape(op, name, shape)
    if indices.ndim != 2 or indices.shape[1] != 2:
        raise wrong(op, "indices", "of shape (n, 2)", indices)
    if tuple(values.shape) != (indices.shape[0],):
        raise wrong(op, "values", f"of shape ({indices.shape[0]},), as there are 'indices'", values)
    if len(sizes) != 2:
        raise wrong(op, name, "two sizes", sizes)
    return indices, values, sizes


def _by_rows(op: str, indptr: Any, indices: Any, values: Any, shape: Any) -> tuple[Any, Any, Any, tuple[int, ...]]:
    """Return the parts of a CSRTensor; TypeError and ValueError for what is none."""
    _check_places(op, "indptr", indptr)
    _check_places(op, "indices", indices)
    operand(op, values, "values")
    sizes = _checked_shape(op, "shape", shape)
    if len(sizes) < 2:
        raise wrong(op, "shape", "at least two sizes", sizes)
    if tuple(indptr.shape) != (sizes[0] + 1,):
        raise wrong(op, "indptr", f"of shape ({sizes[0] + 1},), one more than rows", indptr)
    if indices.ndim != 1:
        raise wrong(op, "indices", "of one dimension", indices)
    if tuple(values.shape) != (indices.shape[0], *sizes[2:]):
        raise wrong(op, "values", f"of shape {(indices.shape[0], *sizes[2:])}, as there are 'indices'", values)
    return indptr, indices, values, sizes


def _checked_shape(op: str, name: str, shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, tuple):
        raise wrong(op, name, "a tuple of ints", shape, TypeError)
    return sizes_argument(op, name, shape, least=1)


def _check_places(op: str, name: str, x: Any) -> None:
    if not isinstance(x, Tensor) or x.dtype not in _PLACES:
        raise wrong(op, name, "a Tensor of Int16, Int32 or Int64", x, TypeError)


def check_matrix(op: str, argument: str, x: Any, kind: type) -> None:
    """Raise TypeError for an argument that is no matrix of this class."""
    if not isinstance(x, kind):
        raise TypeError(f"For '{op}', the argument '{argument}' must be a {kind.__name__}, but got {x!r} of type {type(x).__name__}.")


def _check_broadcasts(op: str, argument: str, x: Tensor, shape: tuple[int, ...]) -> None:
    if x.ndim > len(shape) or any(a not in (1, b) for a, b in zip(x.shape[::-1], shape[::-1], strict=False)):
        raise wrong(op, argument, f"of a shape that broadcasts to {shape}", x)


def _dense(sign: str, x: COOTensor, other: Any) -> Tensor:
    """Return the dense operand of an operator, which has the shape of the sparse one."""
    if not isinstance(other, Tensor):
        allowed, help_ = (" or a COOTensor", "") if sign in "+-" else ("", f": write `COOTensor(x.indices, x.values {sign} y, x.shape)`")
        raise TypeError(f"For COOTensor, the operand of '{sign}' must be a Tensor{allowed}, but got {other!r} of type "
                        f"{type(other).__name__}{help_}.")
    if tuple(other.shape) != x.shape:
        raise ValueError(f"For COOTensor, the operand of '{sign}' must be of the shape {x.shape}, but got {other.shape}.")
    return other


# -- by coordinates -----------------------------------------------------------------------------------------------------------
def _flat(indices: Any, columns: int) -> Tensor:
    """Return one number for each place, in the order of rows and columns."""
    return indices[:, 0].astype(I64) * columns + indices[:, 1].astype(I64)


def _added(indices: Any, values: Any, shape: tuple[int, ...]) -> COOTensor:
    """Return the matrix of these elements, in the order of rows and columns, with the sum of those of each place."""
    columns = shape[1]
    places, number = unique(_flat(indices, columns))
    order = argsort(places)
    rank = argsort(order)
    sums = unsorted_segment_sum(values, gather(rank, number, 0), len(places))
    ascending = gather(places, order, 0)
    found = stack((ascending // columns, ascending % columns), 1).astype(indices.dtype)
    return COOTensor._make((found, sums, shape))


def coalesce(x_indices: Any, x_values: Any, x_shape: Any) -> tuple[Tensor, Tensor, Any]:
    """Return the elements of a sparse matrix in the order of rows and columns, each place once, with the sum of its elements.

    x_indices  the places, [2, n]
    x_values   [n]
    x_shape    the shape, a Tensor of two integers, or a tuple

    TypeError and ValueError for other arguments.
    """
    shape = sizes_argument("coalesce", "x_shape", x_shape, least=1)
    _check_places("coalesce", "x_indices", x_indices)
    if x_indices.ndim != 2 or x_indices.shape[0] != 2:
        raise wrong("coalesce", "x_indices", "of shape (2, n)", x_indices)
    if tuple(operand("coalesce", x_values, "x_values").shape) != (x_indices.shape[1],):
        raise wrong("coalesce", "x_values", f"of shape ({x_indices.shape[1]},)", x_values)
    if len(shape) != 2:
        raise wrong("coalesce", "x_shape", "two sizes", shape)
    made = _added(permute(x_indices, (1, 0)), x_values, shape)
    return permute(made.indices, (1, 0)), made.values, x_shape


def coo_add(x1: COOTensor, x2: COOTensor, thresh: Any) -> COOTensor:
    """Return the sum of two matrices, without the elements whose absolute value is below `thresh`.

    TypeError for anything but two COOTensors; ValueError if their shapes differ.
    """
    check_matrix("coo_add", "x1", x1, COOTensor)
    check_matrix("coo_add", "x2", x2, COOTensor)
    if x1.shape != x2.shape:
        raise ValueError(f"For 'coo_add', the argument 'x2' must be of the shape of 'x1', {x1.shape}, but got {x2.shape}.")
    made = _added(concat((x1.indices, x2.indices)), concat((x1.values, x2.values)), x1.shape)
    if isinstance(thresh, Tensor):
        if thresh.ndim or thresh.dtype.kind == "b":
            raise wrong("coo_add", "thresh", "a number, or a Tensor without dimensions", thresh)
    elif real("coo_add", "thresh", thresh) == 0:
        return made
    (kept,) = nonzero(absolute(made.values) >= thresh, as_tuple=True)
    return COOTensor._make((gather(made.indices, kept, 0), gather(made.values, kept, 0), made.shape))


def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """Return COOTensors joined along an axis, with elements in the order of rows and columns.

    TypeError for anything but a tuple or list of COOTensors; ValueError if it is empty, their other sizes differ, or for another axis.
    """
    if not isinstance(sp_input, (tuple, list)) or isinstance(sp_input, COOTensor) or not all(isinstance(x, COOTensor) for x in sp_input):
        raise TypeError(f"For 'coo_concat', the argument 'sp_input' must be a tuple or list of COOTensors, but got {sp_input!r}.")
    if not sp_input:
        raise wrong("coo_concat", "sp_input", "at least one COOTensor", sp_input)
    if not -2 <= (axis := integer("coo_concat", "concat_dim", concat_dim)) < 2:
        raise wrong("coo_concat", "concat_dim", "in [-2, 2)", axis)
    axis, moved, total = axis % 2, [], 0
    for x in sp_input:
        if x.shape[1 - axis] != sp_input[0].shape[1 - axis]:
            raise ValueError("For 'coo_concat', the argument 'sp_input' must be of one size along the other axis, but got "
                             f"{[each.shape for each in sp_input]}.")
        columns = [x.indices[:, 0], x.indices[:, 1]]
        columns[axis] = columns[axis] + total
        moved.append(stack(columns, 1))
        total += x.shape[axis]
    shape = tuple(total if place == axis else sp_input[0].shape[place] for place in range(2))
    indices, values = concat(moved), concat([x.values for x in sp_input])
    order = argsort(_flat(indices, shape[1]))
    return COOTensor._make((gather(indices, order, 0), gather(values, order, 0), shape))


def dense_to_sparse_coo(tensor: Any) -> COOTensor:
    """Return the elements of a matrix that are not 0.

    TypeError for anything but a Tensor; ValueError if it does not have two dimensions.
    """
    return _of_dense("dense_to_sparse_coo", tensor)


def _of_dense(op: str, tensor: Any) -> COOTensor:
    if operand(op, tensor, "tensor").ndim != 2 or not all(tensor.shape):
        raise wrong(op, "tensor", "of two dimensions, none of them 0", tensor)
    places = nonzero(tensor).astype(I32)
    return COOTensor._make((places, gather_nd(tensor, places), tuple(tensor.shape)))


# -- by rows ------------------------------------------------------------------------------------------------------------------
def coo2csr(row_indices: Any, height: int) -> Tensor:
    """Return where rows begin and end, [height + 1], for ascending numbers of rows; TypeError and ValueError for other arguments."""
    _check_places("coo2csr", "row_indices", row_indices)
    if row_indices.ndim != 1:
        raise wrong("coo2csr", "row_indices", "of one dimension", row_indices)
    (height,) = sizes_argument("coo2csr", "height", integer("coo2csr", "height", height), least=1)
    return searchsorted(row_indices, arange(height + 1).astype(row_indices.dtype)).astype(row_indices.dtype)


def csr2coo(indptr: Any, nnz: int) -> Tensor:
    """Return the numbers of the rows of `nnz` elements, from where rows begin and end; TypeError and ValueError for other arguments."""
    _check_places("csr2coo", "indptr", indptr)
    if indptr.ndim != 1:
        raise wrong("csr2coo", "indptr", "of one dimension", indptr)
    (nnz,) = sizes_argument("csr2coo", "nnz", integer("csr2coo", "nnz", nnz))
    return (searchsorted(indptr, arange(nnz).astype(indptr.dtype), right=True) - 1).astype(indptr.dtype)


def _rows(x: CSRTensor) -> Tensor:
    return csr2coo(x.indptr, x.values.shape[0])


def _coordinates(indptr: Any, indices: Any) -> Tensor:
    """Return the rows and columns of the elements of a matrix by rows, [n, 2]."""
    return stack((csr2coo(indptr, indices.shape[0]), indices), 1)


def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """Return the same matrix by coordinates.

    TypeError for anything but a CSRTensor; ValueError if it does not have two dimensions.
    """
    check_matrix("csr_to_coo", "tensor", tensor, CSRTensor)
    if tensor.ndim != 2:
        raise ValueError(f"For 'csr_to_coo', the argument 'tensor' must have 2 dimensions, but got the shape {tensor.shape}.")
    return COOTensor._make((_coordinates(tensor.indptr, tensor.indices), tensor.values, tensor.shape))


def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """Return the matrix with its zeros."""
    check_matrix("csr_to_dense", "csr_tensor", csr_tensor, CSRTensor)
    return scatter_nd(_coordinates(csr_tensor.indptr, csr_tensor.indices), csr_tensor.values, csr_tensor.shape)


def dense_to_sparse_csr(tensor: Any) -> CSRTensor:
    """Return the elements of a matrix that are not 0, by rows; exceptions are those of `dense_to_sparse_coo`."""
    return _of_dense("dense_to_sparse_csr", tensor).to_csr()


def csr_mv(csr_tensor: CSRTensor, dense: Any) -> Tensor:
    """Return the product of a matrix of two dimensions and a column, [columns, 1]."""
    return _product("csr_mv", "csr_tensor", csr_tensor, dense)


def csr_mm(
    a: CSRTensor, b: Any, trans_a: bool = False, trans_b: bool = False, adjoint_a: bool = False, adjoint_b: bool = False
) -> Tensor:
    """Return the product of a sparse matrix and a dense one, [columns, n].

    TypeError for two sparse ones, and transposed ones, which MindSpore's CPU version does not have either.
    """
    named = {"trans_a": trans_a, "trans_b": trans_b, "adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
    options = [flag("csr_mm", name, value) for name, value in named.items()]
    if not isinstance(b, Tensor) or any(options):
        raise TypeError("For 'csr_mm', the argument 'b' must be a Tensor, and no matrix transposed, but got "
                        f"{type(b).__name__}: write `ops.matmul(a.to_dense(), b.to_dense())`, transposed as needed.")
    return _product("csr_mm", "a", a, b)


def _product(op: str, name: str, x: CSRTensor, dense: Any) -> Tensor:
    check_matrix(op, name, x, CSRTensor)
    if not isinstance(dense, Tensor):
        raise wrong(op, "dense", "a Tensor", dense, TypeError)
    if x.ndim != 2 or dense.ndim != 2 or dense.shape[0] != x.shape[1]:
        raise ValueError(f"For '{op}', the dense operand must be of the shape ({x.shape[1]}, n), beside a CSRTensor of two dimensions, "
                         f"but got {dense.shape} beside {x.shape}.")
    terms = reshape(x.values, (-1, 1)) * gather(dense, x.indices, 0)
    return unsorted_segment_sum(terms, _rows(x), x.shape[0])


def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Tensor:
    """Return the sums of rows, [rows, 1, ...]; ValueError for another axis than 1."""
    check_matrix("csr_reduce_sum", "csr_tensor", csr_tensor, CSRTensor)
    if integer("csr_reduce_sum", "axis", axis) not in (1, 1 - csr_tensor.ndim):
        raise ValueError(f"For 'csr_reduce_sum', the argument 'axis' must be 1 or {1 - csr_tensor.ndim}, but got {axis}.")
    sums = unsorted_segment_sum(csr_tensor.values, _rows(csr_tensor), csr_tensor.shape[0])
    return reshape(sums, (csr_tensor.shape[0], 1, *csr_tensor.shape[2:]))


def csr_gather(indptr: Any, indices: Any, dense: Any, sparse_shape: tuple[int, ...]) -> Tensor:
    """Return the elements of `dense`, which broadcasts to `sparse_shape`, at the places of a sparse matrix."""
    _check_places("csr_gather", "indptr", indptr)
    _check_places("csr_gather", "indices", indices)
    sizes = sizes_argument("csr_gather", "sparse_shape", sparse_shape, least=1)
    if len(sizes) < 2:
        raise wrong("csr_gather", "sparse_shape", "at least two sizes", sizes)
    if indices.ndim != 1:
        raise wrong("csr_gather", "indices", "of one dimension", indices)
    _check_broadcasts("csr_gather", "dense", operand("csr_gather", dense, "dense"), sizes)
    wide = broadcast_to(dense, sizes)
    return gather_nd(wide, _coordinates(indptr, indices))


def csr_mul(x: CSRTensor, y: Any) -> Any:
    """Return x * y: a CSRTensor for a Tensor that broadcasts to the shape of x; for a number a Tensor of the values, as in MindSpore."""
    return _with_dense("csr_mul", x, y, lambda a, b: a * b)


def csr_div(x: CSRTensor, y: Any) -> Any:
    """Return x / y, in the same way as `csr_mul`."""
    return _with_dense("csr_div", x, y, lambda a, b: a / b)


def _with_dense(op: str, x: CSRTensor, y: Any, compute: Callable[[Any, Any], Any]) -> Any:
    check_matrix(op, "x", x, CSRTensor)
    if isinstance(y, _Sparse):
        raise TypeError(f"For '{op}', the argument 'y' must be a Tensor or a number, but got a {type(y).__name__}.")
    if not isinstance(y, Tensor) or not y.ndim:
        return compute(x.values, y)
    _check_broadcasts(op, "y", y, x.shape)
    return x.with_values(compute(x.values, csr_gather(x.indptr, x.indices, y, x.shape)))


def csr_add(a: CSRTensor, b: CSRTensor, alpha: Any, beta: Any) -> CSRTensor:
    """Return alpha * a + beta * b; places where the sum is 0 stay.

    TypeError for anything but two CSRTensors; ValueError if their shapes differ or they do not have two dimensions.
    """
    check_matrix("csr_add", "a", a, CSRTensor)
    check_matrix("csr_add", "b", b, CSRTensor)
    if a.shape != b.shape:
        raise ValueError(f"For 'csr_add', the argument 'b' must be of the shape of 'a', {a.shape}, but got {b.shape}.")
    one, other = csr_to_coo(a), csr_to_coo(b)
    return _added(concat((one.indices, other.indices)), concat((one.values * alpha, other.values * beta)), a.shape).to_csr()


def csr_softmax(logits: CSRTensor, dtype: DType) -> CSRTensor:
    """Return the softmax of the elements of each row, in `dtype`; elements that are not kept take no part."""
    check_matrix("csr_softmax", "logits", logits, CSRTensor)
    rows, count, values = _rows(logits), logits.shape[0], logits.values.astype(dtype)
    largest = gather(unsorted_segment_max(values, rows, count), rows, 0)
    powers = exp(values - largest)
    return logits.with_values(powers / gather(unsorted_segment_sum(powers, rows, count), rows, 0))


# -- parts --------------------------------------------------------------------------------------------------------------------
def make_coo_tensor(indices: Any, values: Any, dense_shape: tuple[int, ...]) -> COOTensor:
    """Return `COOTensor(indices, values, dense_shape)`."""
    return COOTensor._make(_by_coordinates("make_coo_tensor", indices, values, dense_shape, "dense_shape"))


def make_sparse_tensor(indices: Any, values: Any, dense_shape: tuple[int, ...]) -> COOTensor:
    """Return `COOTensor(indices, values, dense_shape)`, by the older name."""
    return COOTensor._make(_by_coordinates("make_sparse_tensor", indices, values, dense_shape, "dense_shape"))


def make_csr_tensor(indptr: Any, indices: Any, values: Any, shape: tuple[int, ...]) -> CSRTensor:
    """Return `CSRTensor(indptr, indices, values, shape)`."""
    return CSRTensor._make(_by_rows("make_csr_tensor", indptr, indices, values, shape))


def _reader(prefix: str, kind: type, part: str) -> Callable[[Any], Any]:
    """Return the function `PREFIX_tensor_get_PART`, which returns a part of a matrix."""
    name, attribute = f"{prefix}_tensor_get_{part}", part.removeprefix("dense_")

    def read(x: Any) -> Any:
        check_matrix(name, "x", x, kind)
        return getattr(x, attribute)

    read.__name__ = read.__qualname__ = name
    read.__doc__ = f"Return `x.{attribute}`; TypeError for anything but a {kind.__name__}."
    return read


coo_tensor_get_indices, coo_tensor_get_values, coo_tensor_get_dense_shape = (
    _reader("coo", COOTensor, part) for part in ("indices", "values", "dense_shape"))
csr_tensor_get_indptr, csr_tensor_get_indices, csr_tensor_get_values, csr_tensor_get_dense_shape = (
    _reader("csr", CSRTensor, part) for part in ("indptr", "indices", "values", "dense_shape"))
