"""Transforms of any data: numbers, labels, strings."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_interval, check_number, check_type
from adjoint.dataset.batching import filled
from adjoint.dataset.streams import Draws, draws, here
from adjoint.dataset.transforms.operation import Keys, Operation, StackOperation, as_array
from adjoint.ir.types import BOOL, DType

__all__ = [
    "Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "RandomApply", "RandomChoice", "RandomOrder", "Relational",
    "Slice", "TypeCast", "Unique", "not_random",
]


def not_random(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as deterministic; has no effect here."""
    function.random = False  # pyright: ignore[reportFunctionMemberAccess] - MindSpore's mark
    return function


def check_operations(operations: Any) -> None:
    check_type(operations, (list,), "transforms list")
    if not operations:
        raise ValueError("transforms list can not be empty.")
    for index, operation in enumerate(operations):
        if not callable(operation):
            raise TypeError(f"transforms[{index}] is neither a transforms op (TensorOperation) nor a callable pyfunc.")
        if isinstance(operation, type):
            raise ValueError(f"op_list[{index}] should be a dataset processing operation instance, but got: {operation}. It may be missing "
                             "parentheses for instantiation.")


def called(operations: list[Any], columns: tuple[Any, ...], random: Draws) -> Any:
    """Call operations one after the other; each draws numbers of its own."""
    before = here.draws
    try:
        for operation in operations:
            here.draws = Draws(random.word())
            result = operation(*columns)
            columns = result if isinstance(result, tuple) else (result,)
    finally:
        here.draws = before
    return columns if len(columns) != 1 else columns[0]


class Compose(Operation):
    """Applies operations one after the other.

    Errors: TypeError for what is not a list or cannot be called, ValueError for an empty list or a class.
    """

    def __init__(self, transforms: list[Any]):
        check_operations(transforms)
        self.transforms = flattened(transforms)

    def __call__(self, *columns: Any) -> Any:
        if not columns:
            raise TypeError("Compose was called without an image. Fix invocation (avoid it being invoked as Compose([...])()).")
        return called(self.transforms, columns, draws())


def flattened(operations: list[Any] | tuple[Any, ...]) -> list[Any]:
    """Return operations, with each Compose replaced by its own."""
    return [inner for operation in operations for inner in (operation.transforms if isinstance(operation, Compose) else [operation])]


class RandomApply(Operation):
    """Applies operations one after the other with a probability; otherwise the row is unchanged."""

    random = True

    def __init__(self, transforms: list[Any], prob: float = 0.5):
        check_operations(transforms)
        check_number(prob, 0, 1, "prob")
        self.transforms, self.prob = list(transforms), prob

    def __call__(self, *columns: Any) -> Any:
        random = draws()
        if random.uniform() < self.prob:
            return called(self.transforms, columns, random)
        return columns if len(columns) != 1 else columns[0]


class RandomChoice(Operation):
    """Applies one of several operations, each with the same probability."""

    random = True

    def __init__(self, transforms: list[Any]):
        check_operations(transforms)
        self.transforms = list(transforms)

    def __call__(self, *columns: Any) -> Any:
        random = draws()
        return called([self.transforms[random.integer(0, len(self.transforms) - 1)]], columns, random)


class RandomOrder(Operation):
    """Applies operations in random order."""

    random = True

    def __init__(self, transforms: list[Any]):
        check_operations(transforms)
        self.transforms = list(transforms)

    def __call__(self, *columns: Any) -> Any:
        random = draws()
        return called([self.transforms[index] for index in random.order(len(self.transforms))], columns, random)


class TypeCast(StackOperation):
    """Converts elements to another dtype; floats are truncated toward zero for integers.

    data_type  a dtype of this package, or what NumPy takes for one
    """

    pixelwise = True

    def __init__(self, data_type: Any):
        self.data_type = as_dtype(data_type, "data_type")

    def on_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if array.dtype.kind in "US" and self.data_type.kind not in "US":
            raise RuntimeError(f"TypeCast: TypeCast does not support cast from string to {self.data_type}. 'text.ToNumber' reads numbers.")
        if self.data_type.kind in "iu" and array.dtype.kind == "f":
            # Via int64, so that values that a small integer cannot hold wrap on every processor.
            return array.astype(np.int64).astype(self.data_type)
        return array.astype(self.data_type)

    def on_stack(self, stack: np.ndarray[Any, Any], keys: Keys) -> np.ndarray[Any, Any]:
        return self.on_array(stack)


def as_dtype(value: Any, name: str) -> np.dtype[Any]:
    """Return a dtype as NumPy's; raise TypeError for what is none."""
    if isinstance(value, DType):
        return np.dtype(value.array)
    try:
        if value is None:
            raise TypeError
        return np.dtype(value)
    except (TypeError, ValueError):
        raise TypeError(f"Argument {name} with value {value} is not of type [<class 'mindspore.dtype'>, <class 'numpy.dtype'>], "
                        f"but got {type(value)}.") from None


class OneHot(StackOperation):
    """Encodes a label as a vector with 1 at its index, or a vector of labels as a matrix; of the label's dtype.

    smoothing_rate  spread evenly over all classes, in float64: (1 - rate) * onehot + rate / num_classes

    RuntimeError for labels below 0 or of num_classes or more, for floats, and for matrices with more than one column.
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0):
        check_type(smoothing_rate, (int, float), "smoothing_rate")
        check_type(num_classes, (int,), "num_classes")
        if num_classes <= 0:
            raise ValueError("Input num_classes must be greater than 0.")
        check_interval(smoothing_rate, 0.0, 1.0, "smoothing_rate")
        self.num_classes, self.smoothing_rate = num_classes, smoothing_rate

    def on_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if array.dtype.kind not in "iu":
            raise RuntimeError(f"OneHot: Only support input of int type, but got: {array.dtype}")
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim > 1:
            raise RuntimeError(f"OneHot: Only support scalar or 1D input, got rank: {array.ndim}")
        if array.size and array.max() >= self.num_classes:
            raise RuntimeError(f"OneHot: index values should not bigger than num classes: {self.num_classes}, but got: {array.max()}")
        if array.size and array.min() < 0:
            raise RuntimeError(f"OneHot: index values should not be smaller than 0, but got: {array.min()}")
        hot = array[..., None] == np.arange(self.num_classes)
        if not self.smoothing_rate:
            return hot.astype(array.dtype)
        return (1 - self.smoothing_rate) * hot + self.smoothing_rate / self.num_classes

    def on_stack(self, stack: np.ndarray[Any, Any], keys: Keys) -> np.ndarray[Any, Any] | None:
        return self.on_array(stack) if stack.ndim == 1 else None


class PadEnd(Operation):
    """Pads an array at its end, or cuts it, to a shape.

    pad_shape  None in it leaves the size as it is
    pad_value  of the kind of the array's elements; None: 0 or the empty string

    Raise RuntimeError for a shape of another rank, and if only one of array and value is a string.
    """

    def __init__(self, pad_shape: list[int | None], pad_value: Any = None):
        if pad_value is not None:
            check_type(pad_value, (str, float, bool, int, bytes), "pad_value")
        check_type(pad_shape, (list,), "pad_shape")
        for size in pad_shape:
            if size is not None:
                if not isinstance(size, int):
                    raise TypeError("a value in the list is not an integer.")
                check_interval(size, 1, 2**63 - 1, "pad_shape")
        self.pad_shape, self.pad_value = pad_shape, pad_value

    def __call__(self, *columns: Any) -> Any:
        (value,) = columns
        array = as_array(value, "PadEnd")
        if array.ndim != len(self.pad_shape):
            raise RuntimeError(f"PadEnd: invalid pad shape, as rank of input is: {array.ndim}, and rank of pad value: "
                               f"{len(self.pad_shape)}")
        if self.pad_value is not None and isinstance(self.pad_value, (str, bytes)) != (array.dtype.kind in "US"):
            what = "string" if isinstance(self.pad_value, (str, bytes)) else type(self.pad_value).__name__
            raise RuntimeError(f"PadEnd: can not pad numeric and string tensors together, but got: {what} and {array.dtype}.")
        return filled(array, tuple(size or old for size, old in zip(self.pad_shape, array.shape)), self.pad_value)


class Fill(Operation):
    """An array of the same shape and dtype that holds one value."""

    def __init__(self, fill_value: Any):
        check_type(fill_value, (str, float, bool, int, bytes), "fill_value")
        self.fill_value = fill_value

    def __call__(self, *columns: Any) -> Any:
        (value,) = columns
        array = as_array(value, "Fill")
        text = array.dtype.kind in "US"
        if text != isinstance(self.fill_value, (str, bytes)):
            raise RuntimeError(f"Fill: fill value and input must both be strings or both be numbers, but got {self.fill_value!r} and "
                               f"{array.dtype}.")
        return np.full(array.shape, self.fill_value, None if text else array.dtype)


class Relational(IntEnum):
    """How `Mask` compares: equal, not equal, greater, ..."""

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


_COMPARISONS = {
    Relational.EQ: np.equal, Relational.NE: np.not_equal, Relational.GT: np.greater, Relational.GE: np.greater_equal,
    Relational.LT: np.less, Relational.LE: np.less_equal,
}


class Mask(StackOperation):
    """Compares elements with a constant; returns bools or another dtype."""

    def __init__(self, operator: Relational, constant: Any, dtype: Any = BOOL):
        check_type(operator, (Relational,), "operator")
        check_type(constant, (str, float, bool, int, bytes), "constant")
        self.operator, self.constant, self.dtype = operator, constant, as_dtype(dtype, "dtype")

    def on_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return _COMPARISONS[self.operator](array, self.constant).astype(self.dtype)

    def on_stack(self, stack: np.ndarray[Any, Any], keys: Keys) -> np.ndarray[Any, Any]:
        return self.on_array(stack)


class Slice(Operation):
    """Parts of an array: for each axis an index, which keeps the axis, a list of indices, a slice, or None or `...` for all."""

    def __init__(self, *slices: Any):
        for part in slices:
            if part is not None:
                check_type(part, (int, list, slice, bool, type(Ellipsis)), "slice")
        self.slices = slices

    def __call__(self, *columns: Any) -> Any:
        (value,) = columns
        array = as_array(value, "Slice")
        if len(self.slices) > array.ndim:
            raise RuntimeError(f"Slice: there are {len(self.slices)} slices for an array of {array.ndim} dimensions.")
        for axis, part in enumerate(self.slices):
            if part is None or part is Ellipsis or part is True:
                continue
            if isinstance(part, slice):
                array = array[(slice(None),) * axis + (part,)]
                continue
            indices = part if isinstance(part, list) else [part]
            for index in indices:
                if not -array.shape[axis] <= index < array.shape[axis]:
                    raise RuntimeError(f"Slice: index {index} is out of bounds for axis {axis} with size {array.shape[axis]}.")
            array = np.take(array, indices, axis)
        return array.copy()


class Concatenate(Operation):
    """Concatenates a vector with others before and after it."""

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None):
        check_type(axis, (int,), "axis")
        if axis not in (0, -1):
            raise ValueError("only 1D concatenation supported.")
        for name, part in (("prepend", prepend), ("append", append)):
            if part is not None:
                check_type(part, (np.ndarray,), name)
                if part.ndim != 1:
                    raise ValueError(f"can only {name} 1D arrays.")
        self.prepend, self.append = prepend, append

    def __call__(self, *columns: Any) -> Any:
        arrays = [as_array(column, "Concatenate") for column in columns]
        if any(array.ndim != 1 for array in arrays):
            raise RuntimeError("Concatenate: only 1D arrays can be concatenated.")
        parts = [part for part in (self.prepend, *arrays, self.append) if part is not None]
        if any(part.dtype != parts[0].dtype and part.dtype.kind not in "US" for part in parts):
            raise RuntimeError(f"Concatenate: the data types of the arrays must be the same, but got "
                               f"{[str(part.dtype) for part in parts]}.")
        return np.concatenate(parts)


class Duplicate(Operation):
    """A column twice."""

    def __call__(self, *columns: Any) -> Any:
        (value,) = columns
        return np.asarray(value), np.array(value)


class Unique(Operation):
    """Finds the different elements, the index of each among them, and how often each occurs; of an array with two dimensions or more."""

    def __call__(self, *columns: Any) -> Any:
        (value,) = columns
        array = as_array(value, "Unique")
        if array.ndim < 2:
            raise RuntimeError(f"Unique: input must be at least 2-D in order to do unique op, got rank:{array.ndim}")
        elements, first, places, counts = np.unique(array, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        rank = np.argsort(order)
        return elements[order], rank[places.ravel()].astype(np.int32), counts[order].astype(np.int32)
