"""Tensor: dtype, shape and memory; and `apply` and `update`, which run an op at once, and record it when a gradient is being taken.

A tensor's memory is contiguous and row-major.  It belongs to the tensor, or is shared with tensors that hold the same numbers (`reshape`
shares).  A write never changes memory that another holder can see: see `overwrite`.

`asnumpy()` returns a view of the memory, without a copy, if this tensor is its only owner; shared memory (with a reshaped tensor, a
gradient that is returned twice, a recording that is under way) is copied.  A later assignment to the tensor does not change the view.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.foundation.budget import Refillable, budget
from adjoint.foundation.diagnostics import check_flag
from adjoint.foundation.ownership import OF_ATTRIBUTE
from adjoint.ir.op import Op
from adjoint.ir.op import made as op_made
from adjoint.ir.ops.conversion import Cast, Identity, NoGrad, StraightThrough
from adjoint.ir.storage import to_compute
from adjoint.ir.types import BF16, DTYPES, F32, DType, TensorType, tensor
from adjoint.runtime.hooks.handles import TensorHookHandle, TensorHooks
from adjoint.runtime.memory.machine import Memory, array_of, ffi, machine, memory_of, number_of
from adjoint.runtime.memory.op_plans import check_fits, plan_for, plans
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.tracer import emitter, state, tracing
from adjoint.runtime.tensor.conversion import array_from, dtype_argument, dtype_of_array, number_array, numpy_dtype
from adjoint.runtime.tensor.display import represented, written
from adjoint.runtime.tensor.initializer import checked_initializer
from adjoint.runtime.tensor.numpy_functions import called_function, called_ufunc
from adjoint.runtime.tensor.placement import Placement, memory_from
from adjoint.runtime.tensor.random import next_generator

if TYPE_CHECKING:
    from adjoint.runtime.tensor.methods import Methods  # pyright: ignore[reportMissingModuleSource] - it is a stub alone
else:
    Methods = object

__all__ = ["Tensor", "apply", "as_tensor", "constant", "initializer", "unshared", "update", "wrap"]

class Tensor(Placement, Methods):
    """An n-dimensional array of one dtype, at most 8 dimensions.

    input_data  number, nested list or tuple, NumPy array (copied) or Tensor; or None with `shape`, `dtype`, `init`
    dtype       element type; default: that of the data (Python floats are Float32, ints Int64)
    shape, init an initialiser (`initializer.One()`, ...) that fills a tensor of this shape; without one the tensor holds zeros.  With a
                size of None it describes an input for `Cell.set_inputs` or `enable_dynamic`; with a shape of None an input of any rank

    If `input_data` is a Tensor, gradients flow to it, unless it is a Parameter: `Tensor(p)` is a constant, and so is a tensor made from a
    list of Tensors.  Gradients flow through `p.value()`, `x.copy()` and `ops.stack`.

    TypeError for data that is not a number, list, array or tensor; ValueError for ragged lists or more than 8 dimensions.
    """

    __slots__ = ("__dict__", "__weakref__", "memory", "type")
    __array_priority__ = 1000
    _hooks: TensorHooks | None = None
    """Backward hooks on this value; made when the first is registered."""

    _is_parameter: ClassVar[bool] = False
    """True for a Parameter.  It is asked here instead of the class, since the module of Parameter imports this one."""

    described_by: ClassVar[Any]
    """The class of tensors with a size of None, `description.Description`, which has the same layout; its module sets this."""

    type: TensorType
    memory: Memory

    def __init__(
        self,
        input_data: Any = None,
        dtype: DType | None = None,
        shape: Sequence[Any] | int | None = None,
        init: Any = None,
        const_arg: bool = False,
        device: str | None = None,
    ):
        if dtype is not None and not isinstance(dtype, DType):
            dtype = dtype_argument(dtype)
        if init is not None:
            if input_data is not None:
                raise ValueError("For 'Tensor', 'input_data' and 'init' are two ways of saying what it holds: give one of them.")
            if shape is None or dtype is None:
                raise ValueError("For 'Tensor', 'shape' and 'dtype' must be given together with 'init'.")
            input_data = initializer(init, shape, dtype)
        elif input_data is None:
            if dtype is None:
                raise ValueError("For 'Tensor', 'input_data' or 'init' with 'shape' and 'dtype' must be given.")
            sizes: list[Any] = list(shape) if isinstance(shape, (tuple, list)) else [shape]
            if any(size is None or size == -1 for size in sizes):
                self.__class__ = self.described_by
                self.described_by.__init__(self, dtype, None if shape is None else sizes)
                return
            wanted = tensor(dtype, _sizes(sizes))
            check_fits("Tensor", wanted)
            input_data = np.zeros(wanted.sizes, dtype.compute.array)
        if isinstance(input_data, Tensor):
            source = input_data if dtype is None else input_data.astype(dtype, copy=False)
            self.type, self.memory = source.type, unshared(source)
            if tracing and (tracer := state.tracer) is not None:
                if tracer.emits is True:
                    tracer.made(self)
                elif not source._is_parameter:
                    tracer.record(_IDENTITY, (source,), (self,))
            return
        if tracing and (tracer := state.tracer) is not None and tracer.emits is True:
            tracer.made(self)
        array, found = array_from(input_data, dtype)
        if array.ndim > 8:
            raise ValueError(f"For 'Tensor', at most 8 dimensions are supported, but got {array.ndim}.")
        if shape is not None and init is None and _sizes(shape) != array.shape:
            raise ValueError(f"For 'Tensor', the data has shape {array.shape}, but 'shape' is {shape}.")
        self.type = tensor(found, array.shape)
        self.memory = memory_of(array)

    @staticmethod
    def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
        """Return a tensor that shares the memory of an array: what is written to one, by an index or by `assign`, is seen in the other.

        The tensor gets memory of its own when an operator that works in place (`add_`) or a graph writes it, and when another tensor holds
        its numbers too.  `Tensor(x)` and `Parameter(x)` copy; `x.reshape(...)` shares the array's memory, too.  An array that is not
        contiguous, not aligned, empty or read-only is copied.  A write to the array between a call and its gradient changes the numbers
        that the gradient is computed with.

        TypeError for an object that is not an array, and for a dtype that tensors do not have.
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(f"For 'Tensor.from_numpy', the argument 'array' must be a NumPy array, but got {array!r} "
                            f"of type {type(array).__name__}.")
        flags = array.flags
        if not (array.size and flags.c_contiguous and flags.aligned and flags.writeable and array.dtype.isnative):
            return Tensor(array)
        type_ = tensor(dtype_of_array(array), array.shape)
        check_fits("Tensor.from_numpy", type_)
        made = wrap(type_, ffi.from_buffer("char[]", array, True))
        # A second reference, so that no write takes the memory for one that only a tensor holds.
        made.__dict__["_shared"] = made.memory
        if tracing and (tracer := state.tracer) is not None and tracer.emits is True:
            tracer.made(made)
        return made

    @staticmethod
    def convert_bytes_to_tensor(bytes_data: bytes, shape: Sequence[int], dtype: DType) -> Tensor:
        """Return a tensor of the numbers that `get_bytes` returned.

        TypeError for data that is not bytes and for an unknown dtype; ValueError if there are more or fewer bytes than the numbers have.
        """
        if not isinstance(bytes_data, bytes):
            raise TypeError(f"For 'Tensor.convert_bytes_to_tensor', the argument 'bytes_data' must be bytes, but got {bytes_data!r} "
                            f"of type {type(bytes_data).__name__}.")
        type_ = tensor(dtype_argument(dtype), _sizes(shape))
        check_fits("Tensor.convert_bytes_to_tensor", type_)
        if len(bytes_data) != type_.nbytes:
            raise ValueError(f"For 'Tensor.convert_bytes_to_tensor', the argument 'bytes_data' must have {type_.nbytes} bytes for "
                             f"{type_.dtype} of shape {type_.shape}, but got {len(bytes_data)}.")
        return wrap(type_, memory_from(bytes_data, type_.count, type_.dtype))

    # -- properties -------------------------------------------------------------------------------------------------
    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape  # pyright: ignore[reportReturnType] - integers: it has numbers

    @property
    def ndim(self) -> int:
        return self.type.rank

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return self.type.count

    @property
    def device(self) -> str:
        """Return where the numbers are: in the memory of the CPU."""
        return "CPU"

    @property
    def itemsize(self) -> int:
        return self.type.dtype.size

    @property
    def nbytes(self) -> int:
        return self.type.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Return, for each axis, the number of bytes from one element to the next."""
        return np.empty(self.shape, np.int8).strides if self.itemsize == 1 else tuple(
            s * self.itemsize for s in np.empty(self.shape, np.int8).strides)

    def dim(self) -> int:
        return self.type.rank

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def _read(self) -> None:
        """Report that Python reads the numbers."""
        _seen(self)

    # -- to Python and NumPy ----------------------------------------------------------------------------------------
    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return the values as a NumPy array (bfloat16 as float32): a view if no other tensor shares the memory, else a copy.

        In functions under `jit` the array is a copy, which cannot be written while a function is made into a graph.
        """
        _seen(self)
        array = array_of(self.memory, self.type)
        if self.type.dtype is BF16:
            return to_compute(array, BF16)
        # The tensor and the buffer of the view hold the memory. A running tape needs the present values.
        tracer = state.tracer
        if tracer is None and not state.eager and sys.getrefcount(self.memory) <= OF_ATTRIBUTE + 1:
            return array
        array = array.copy()
        if tracer is not None and tracer.emits is True:
            array.flags.writeable = False  # a write to it while parsing would not reach the tensor in each run
        return array

    numpy = asnumpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.asnumpy()
        if copy is not None:
            check_flag("Tensor.__array__", "copy", copy)
        wanted = array.dtype if dtype is None else numpy_dtype(dtype)
        if array.dtype != wanted:
            if copy is False:
                raise ValueError(f"a copy is needed to give {self.dtype} as {wanted}")
            return array.astype(wanted)
        return array.copy() if copy else array

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        return called_ufunc(Tensor, ufunc, method, operands, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return called_function(Tensor, function, operands, options)

    def __dlpack__(self, /, **options: Any) -> Any:
        return self.asnumpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def item(self, index: int | tuple[int, ...] | None = None) -> bool | int | float:
        """Return an element as a Python number.

        index  the position of the element; None for the only element of the tensor

        ValueError if there are several and no index is given.
        """
        if index is None and self.size != 1:
            raise ValueError(f"only a tensor of one element has an item without an index, but this one has {self.size}.")
        _seen(self)
        if index is None:
            return number_of(self.memory, self.type)
        array = to_compute(array_of(self.memory, self.type), self.dtype)
        places = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(place, (int, np.integer)) and not isinstance(place, bool) for place in places):
            raise TypeError(f"For 'Tensor.item', the argument 'index' must be an int or a tuple of ints, but got {index!r} "
                            f"of type {type(index).__name__}.")
        try:
            return array.item(*places)
        except (IndexError, ValueError, OverflowError):
            raise IndexError(f"For 'Tensor.item', the argument 'index' must name an element of a tensor of shape {self.shape}, "
                             f"but got {index!r}.") from None

    def tolist(self) -> Any:
        """Return the values as nested lists, or one number for a 0-d tensor."""
        _seen(self)
        return to_compute(array_of(self.memory, self.type), self.dtype).tolist()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "The truth value of a tensor with several elements is ambiguous. Please use 'all()' or 'any()'."
                if self.size else "The truth value of an empty tensor is ambiguous.")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if self.dtype.is_float:
            raise TypeError(f"only an integer tensor of one element can be an index, but got {self.dtype}.")
        return int(self.item())

    def __repr__(self) -> str:
        return represented(self.type, to_compute(array_of(self.memory, self.type), self.dtype))

    def __str__(self) -> str:
        return written(self.type, to_compute(array_of(self.memory, self.type), self.dtype))

    def __format__(self, spec: str) -> str:
        if not isinstance(spec, str):
            raise TypeError(f"For 'Tensor', a format must be a str, but got {spec!r} of type {type(spec).__name__}.")
        if spec and self.size != 1:
            raise TypeError(f"For 'Tensor', a format such as {spec!r} is for a tensor of one element, but got shape {self.shape}.")
        try:
            return format(self.item(), spec) if spec else str(self)
        except ValueError as unfit:
            raise ValueError(f"For 'Tensor', the format {spec!r} is none for a number of {self.dtype}: {unfit}.") from None

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> tuple[Any, ...]:
        _seen(self)
        return _rebuilt, (self.dtype.name, array_of(self.memory, self.type).copy())

    def __copy__(self) -> Tensor:
        """Return a copy that is a constant: no gradient flows through `copy.copy(x)`, but gradients flow through `x.copy()`."""
        tracer = state.tracer
        if tracer is not None and tracer.emits is True:
            return tracer.emit(_NO_GRAD, (self.copy() if "_shared" in self.__dict__ else self,))
        return wrap(self.type, unshared(self))

    def __deepcopy__(self, memodict: Any) -> Tensor:
        return self.copy()

    @property
    def has_init(self) -> bool:
        """Return False: the values of an initialiser are computed at once."""
        return False

    def copy(self) -> Tensor:
        """Return a copy; gradients flow through it."""
        # The array that owns the memory may be written later, so the numbers are copied now.
        return apply(_ANEW, self, self) if "_shared" in self.__dict__ else apply(_IDENTITY, self)

    def astype(self, dtype: DType | str, copy: bool = True) -> Tensor:
        """Return the values cast to another dtype.

        copy  False: return the tensor itself if it has the dtype already
        """
        dtype = dtype_argument(dtype)
        return self if dtype is self.dtype and not copy else self.copy() if dtype is self.dtype else apply(op_made(Cast, dtype), self)

    # -- writing ----------------------------------------------------------------------------------------------------
    def overwrite(self, value: Tensor) -> None:
        """Replace the numbers of this tensor by those of `value`, which must have the same dtype and shape.

        The memory is written in place only if it has no other owner (another tensor, a recording for a gradient, a NumPy view).

        TypeError if `value` is not a Tensor, ValueError if it has another dtype or shape.
        """
        if not isinstance(value, Tensor):
            raise TypeError(f"For 'Tensor.overwrite', the argument 'value' must be a Tensor, but got {value!r} "
                            f"of type {type(value).__name__}.")
        if value.type is not self.type and value.type != self.type:
            raise ValueError(f"For 'Tensor.overwrite', the argument 'value' must be of shape {self.shape} and dtype {self.dtype}, "
                             f"but got shape {value.shape} and dtype {value.dtype}.")
        tracer = state.tracer
        if tracer is not None:
            if tracer.emits is True:
                tracer.write(self, value)
                return
            tracer.overwritten(self, value)
        holders = sys.getrefcount(self.memory)
        # A tensor that shares the memory of an array refers to it twice.
        if holders <= OF_ATTRIBUTE or (holders == OF_ATTRIBUTE + 1 and self.__dict__.get("_shared") is self.memory):
            ffi.memmove(self.memory, value.memory, self.type.nbytes)
        else:
            self.memory = memory_of(array_of(value.memory, value.type))

    def set_data(self, data: Tensor, slice_shape: bool = False) -> Tensor:
        """Take over dtype, shape and numbers of `data`, and return this tensor.

        TypeError if `data` is not a Tensor; ValueError in a graph if its dtype or shape differs.
        """
        if not isinstance(data, Tensor):
            raise TypeError(f"For 'Tensor.set_data', the argument 'data' must be a Tensor, but got {data!r} of type {type(data).__name__}.")
        tracer = state.tracer
        if tracer is not None:
            if tracer.emits is True:
                if data.type != self.type:
                    raise ValueError(f"For 'Tensor.set_data' in a graph, a tensor from outside keeps its shape {self.shape} and dtype "
                                     f"{self.dtype}, but got shape {data.shape} and dtype {data.dtype}: call it outside of 'jit'.")
                tracer.write(self, data)
                return self
            tracer.overwritten(self, data)
        changed = data.type is not self.type
        self.type, self.memory = data.type, memory_of(array_of(data.memory, data.type))
        if changed:
            epoch.move(self)
        return self

    def assign_value(self, value: Tensor) -> Tensor:
        """Do the same as `set_data`."""
        return self.set_data(value)

    assign_value_cpp = assign_value

    def set_dtype(self, dtype: DType) -> DType:
        """Convert the numbers to another dtype, in this tensor, and return that dtype."""
        Tensor.set_data(self, self.astype(dtype))
        return self.dtype

    def init_data(self, slice_index: int | None = None, shape: Any = None, opt_shard_group: Any = None) -> Tensor:
        """Return the tensor itself: an initialiser's values are computed at once."""
        return self

    # -- hooks ------------------------------------------------------------------------------------------------------
    def register_hook(self, hook: Callable[[Tensor], Any]) -> TensorHookHandle:
        """Call `hook(gradient)` with the total gradient of this value; see docs/hooks.md.

        Return a handle with `remove()`.  TypeError if `hook` is not callable; RuntimeError if this tensor takes no gradient.
        """
        self._check_takes_gradient()
        tracer = state.tracer
        if tracer is not None and tracer.emits is True:
            return tracer.attach(self, hook)
        if self._hooks is None:
            self._hooks = TensorHooks()
        handle = self._hooks.register(hook)
        if tracer is not None:
            tracer.attach(self)
        return handle

    def _check_takes_gradient(self) -> None:
        if not self._takes_gradient:
            raise RuntimeError("The tensor requires grad is false, which can not register tensor hook")

    def hooks(self) -> list[Callable[[Tensor], Any]]:
        """Return the hook functions registered on this value, in order."""
        return [getattr(hook, "__watched_hook__", hook) for hook in self._hooks.firing()] if self._hooks else []

    _takes_gradient: bool = True
    """True if a gradient can reach the tensor: not for results of `stop_gradient`, nor for Parameters with `requires_grad=False`."""

    def requires_grad_(self, requires_grad: bool = True) -> None:
        """Check the argument, and change nothing: the arguments and weights given to `grad` select the gradients, not marks on tensors.

        TypeError for a value that is not a bool.  RuntimeError for False if a gradient is being taken through the tensor, or if it belongs
        to a graph, where its gradient may be taken later.
        """
        if not isinstance(requires_grad, bool):
            raise TypeError(f"For 'Tensor.requires_grad_', the argument 'requires_grad' must be a bool, "
                            f"but got {requires_grad!r} of type {type(requires_grad).__name__}.")
        if not requires_grad and self._takes_gradient and self._may_be_differentiated():
            raise RuntimeError("For 'Tensor.requires_grad_', False cannot switch off a gradient that is taken through the tensor. Use "
                               "'ops.stop_gradient(x)' for the value without its gradient, or leave an argument out of 'grad_position' "
                               "and a Parameter out of 'weights'.")

    def _may_be_differentiated(self) -> bool:
        """Return True if a gradient is being taken of something that this tensor was computed from or is an input of."""
        tracer = state.tracer
        return tracer is not None and tracer.emits is False and tracer.slot_of(self) is not None

    # -- set by other modules ---------------------------------------------------------------------------------------------
    if TYPE_CHECKING:
        # `operators` sets Python's operators.
        def __add__(self, other: Any) -> Tensor: ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __add__
        __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __iadd__ = __isub__ = __imul__ = __itruediv__ = __add__

        def __neg__(self) -> Tensor: ...

        __pos__ = __abs__ = __invert__ = __neg__

        def __eq__(self, other: object) -> Any: ...
        def __ne__(self, other: object) -> Any: ...

        # `adjoint.ops` sets indexing, `@` and methods for operators; `methods.pyi` has the methods that are one op each.
        def __getitem__(self, key: Any) -> Tensor: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        @staticmethod
        def from_dlpack(dlpack_: Any, /) -> Tensor: ...
        def __getattr__(self, name: str) -> Any: ...

def _sizes(shape: Any) -> tuple[int, ...]:
    """Return the argument `shape` of Tensor as a tuple; TypeError if it holds anything but ints, ValueError for negative sizes."""
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(size, (int, np.integer)) and not isinstance(size, bool) for size in sizes):
        raise TypeError(f"For 'Tensor', the argument 'shape' must be an int or a tuple of ints, but got {shape!r} "
                        f"of type {type(shape).__name__}.")
    if any(size < 0 for size in sizes):
        raise ValueError(f"For 'Tensor', the argument 'shape' must have no negative sizes, but got {shape!r}.")
    return sizes


def unshared(x: Tensor) -> Memory:
    """Return memory for a new tensor with the numbers of `x`.

    That is the memory of `x`, which both then share, or a copy if a NumPy array owns it and may write it.
    """
    _seen(x)
    return memory_of(array_of(x.memory, x.type)) if "_shared" in x.__dict__ else x.memory


_IDENTITY, _NO_GRAD, _ANEW = Identity(), NoGrad(), StraightThrough()
_new = object.__new__


def wrap(type_: TensorType, memory: Memory) -> Tensor:
    """Return a tensor of this type that holds its numbers in this memory; nothing is copied."""
    result = _new(Tensor)
    result.type, result.memory = type_, memory
    return result


def apply(op: Op, *operands: Tensor) -> Any:
    """Run an op on tensors, and return its result: a Tensor, or a tuple of Tensors.

    The op is computed at once, and recorded if a gradient is being taken.  While a function is made into a graph, it becomes a node of the
    graph instead, here as in `binary`, `update` and `overwrite`.
    """
    tracer = state.tracer if tracing else None
    if tracer is not None and tracer.emits is True:
        return tracer.emit(op, operands)
    # One and two operands by themselves: a comprehension takes as long as a look-up.
    if len(operands) == 1:
        (x,) = operands
        made = (plan := plans.get((op, x.type)) or plan_for(op, (x.type,))).run(x.memory)
    elif len(operands) == 2:
        x, y = operands
        made = (plan := plans.get((op, x.type, y.type)) or plan_for(op, (x.type, y.type))).run(x.memory, y.memory)
    else:
        plan = plans.get((op, *[x.type for x in operands])) or plan_for(op, [x.type for x in operands])
        made = plan.run(*[x.memory for x in operands])
    if plan.type is not None:
        result = _new(Tensor)
        result.type, result.memory = plan.type, made
        if tracer is not None:
            tracer.record(op, operands, (result,))
        return result
    results = tuple(wrap(t, m) for t, m in zip(plan.types, made, strict=True))
    if tracer is not None:
        tracer.record(op, operands, results)
    return results


def update(op: Op, targets: Sequence[Tensor], *operands: Tensor) -> None:
    """Run an op whose results are the new numbers of `targets`, and write them there.

    It computes in the memory of a target if no other object holds that memory.
    """
    tracer = state.tracer
    if tracer is not None and tracer.emits is True:
        made_ = tracer.emit(op, operands)
        for target, value in zip(targets, made_ if isinstance(made_, tuple) else (made_,), strict=True):
            target.overwrite(value)
        return
    plan = plan_for(op, [x.type for x in operands])
    given = [x.memory for x in operands]
    made: list[Memory] = []
    for target in targets:
        # `given` holds one more reference to each target that is also an operand.
        alone = tracer is None and sys.getrefcount(target.memory) <= OF_ATTRIBUTE + sum(m is target.memory for m in given)
        made.append(target.memory if alone else machine().allocate(target.type.nbytes))
    plan.into(given, made)
    for target, type_, memory in zip(targets, plan.types, made, strict=True):
        if memory is not target.memory:
            if tracer is not None:
                tracer.overwritten(target, wrap(type_, memory))
            target.memory = memory


_constants: dict[tuple[Any, ...], Tensor] = {}
_CONSTANT = 500
"""Estimated bytes of a constant."""

Refillable("constants", lambda: len(_constants) * _CONSTANT, _constants.clear)


def constant(value: bool | int | float | complex, dtype: DType) -> Tensor:
    """Return a 0-d tensor with a Python number.  Equal constants are one tensor, so that those of a loop are made once."""
    key = (value, value.__class__, dtype, str(value) if value == 0 or value.__class__ is complex else "")
    found = _constants.get(key)
    if found is None:
        if len(_constants) > 512:
            _constants.clear()
        array = number_array(value, dtype)
        found = wrap(tensor(dtype), memory_of(array))
        found.literal = array.item() if dtype.is_integer else value  # pyright: ignore[reportAttributeAccessIssue] - of constants alone
        _constants[key] = found
        budget.charge(_CONSTANT)
    return found


def _seen(x: Tensor) -> None:
    """Tell the graph that this thread is making, if any, that Python reads the numbers of a tensor: the graph then depends on them."""
    tracer = state.tracer
    if tracer is not None and tracer.emits is True:
        tracer.read_numbers(x)


def initializer(init: Any, shape: Sequence[int] | int | None = None, dtype: DType = F32) -> Tensor:
    """Return a tensor of initial values.

    init   an Initializer, a name ("normal", "zeros", "xavier_uniform", ...), a number, or a Tensor of this shape
    shape  a positive int or several

    In a graph each run draws new values.  ValueError for an unknown name or a Tensor of another shape; TypeError for another kind of
    `init`.
    """
    if not isinstance(init, Tensor):
        dtype = dtype_argument(dtype)
        init, sizes = checked_initializer(init, shape)
        graph = emitter()
        if graph is not None and init.draws:
            return graph.drawn(init, sizes, dtype)
        return Tensor(init.array(sizes, dtype, next_generator()), dtype)
    if shape is not None and init.shape != ((shape,) if isinstance(shape, int) else tuple(shape)):
        raise ValueError(f"For 'initializer', the shape of the Tensor 'init' is {init.shape}, but {shape} is needed.")
    return init if init.dtype is dtype or shape is None else init.astype(dtype)


def as_tensor(value: Any, dtype: DType | None = None) -> Tensor:
    """Return `value` as a tensor.  A tensor that has the wanted dtype already is returned itself.

    dtype  the wanted dtype; None for any
    """
    if isinstance(value, Tensor):
        return value if dtype is None or value.dtype is dtype else value.astype(dtype)
    return Tensor(value, dtype)


def _rebuilt(name: str, array: np.ndarray[Any, Any]) -> Tensor:
    return wrap(tensor(DTYPES[name], array.shape), memory_of(array))

