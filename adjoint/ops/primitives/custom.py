"""`Custom` and `PyFunc`: functions of the user's own, in Python or in C, as operators."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ir.ops import custom as foreign
from adjoint.ir.types import BF16, F32, I32, DType, Poly, TensorType, tensor
from adjoint.ops.arguments import ArgumentMistake, flag, sizes_argument
from adjoint.ops.own_gradients import pulled_by
from adjoint.ops.primitive import Primitive
from adjoint.ops.registrations import accepted_dtypes
from adjoint.runtime.tensor.run_time_checks import effect
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, constant

__all__ = ["Custom", "PyFunc"]

KINDS = ("hybrid", "akg", "tbe", "aicpu", "aot", "pyfunc")
"""MindSpore's kinds of functions."""


class Custom(Primitive):
    """A function of the user's own as an operator: in Python on NumPy arrays, or in C or C++.

        add = ops.Custom(lambda x, y: x + y, out_shape=lambda x, y: x, out_dtype=lambda x, y: x)
        add = ops.Custom("add.c:add", out_shape=lambda x, y: x, out_dtype=lambda x, y: x, func_type="aot")

    func       "pyfunc": a function that takes an array for each input (bfloat16 as float32), and returns an array, or a tuple of several.
               "aot": a path and the name of a function, with a colon between: a source in C or C++, which is compiled when it is first
               called, and again when it or a file that it includes has changed, or a shared library.  The function is
               `int f(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra)`; the inputs
               come before the results.  It returns 0, or another number if it has failed; `stream` and `extra` are NULL
    out_shape  the shape of the result, a tuple of shapes for several results, or a function that takes the shapes of the inputs as lists
    out_dtype  the dtype of the result, a tuple of dtypes, or a function that takes the dtypes of the inputs
    func_type  "pyfunc" or "aot"
    bprop      the gradient: takes the inputs, the result and its gradient (tuples for several results) as Tensors, and returns a gradient
               for each input.  It calls operators, may be differentiated again, and may not use the numbers of Tensors in Python
    reg_info   what `CustomRegOp` gives, as a dict, JSON or a list of these, for the dtypes that are allowed on the CPU; by default what
               `custom_info_register` has given `func`, or else any dtypes

    Calls take Tensors and numbers.  In a graph, equal calls may become one, and a call whose result is not used is left out.

    TypeError for a `func`, `out_shape` or `out_dtype` of another kind; ValueError for another `func_type`.  Calls raise what a function in
    Python raises; RuntimeError for a file or function that is missing, that the compiler refuses, or that returns another number than 0,
    and for results of other shapes or dtypes.
    """

    def __init__(self, func: Callable[..., Any] | str, out_shape: Any = None, out_dtype: Any = None, func_type: str = "pyfunc",
                 bprop: Callable[..., Any] | None = None, reg_info: Any = None):
        if not callable(func) and not isinstance(func, str):
            raise _wrong("func", "a function or a str", func)
        if not isinstance(func_type, str) or func_type not in KINDS:
            raise _wrong("func_type", f"one of {', '.join(map(repr, KINDS))}", func_type, ValueError)
        if func_type not in ("aot", "pyfunc"):
            raise TypeError(f"For 'Custom', functions of type {func_type!r} do not run on the CPU: 'hybrid' and 'akg' need the compiler "
                            "AKG, 'tbe' and 'aicpu' an Ascend. Use 'pyfunc' for NumPy, 'aot' for C, or `adjoint.operator`.")
        if func_type == "aot" and not isinstance(func, str):
            raise _wrong("func", "a str such as 'add.c:add' for the type 'aot'", func)
        if func_type == "pyfunc" and not callable(func):
            raise _wrong("func", "a function for the type 'pyfunc'", func)
        for argument, given, kinds, words in (
            ("out_shape", out_shape, (tuple, list), "a tuple, a list or a function"),
            ("out_dtype", out_dtype, (tuple, list, DType), "a dtype, a tuple of dtypes or a function"),
        ):
            if not callable(given) and not isinstance(given, kinds):
                raise _wrong(argument, words, given)
        if bprop is not None and not callable(bprop):
            raise _wrong("bprop", "a function", bprop)
        name = func if isinstance(func, str) else getattr(func, "__name__", type(func).__name__)
        super().__init__("Custom", func_name=name, func_type=func_type)
        self._out_shape, self._out_dtype = out_shape, out_dtype
        self._accepted = accepted_dtypes(func, reg_info)
        compute = _of_python(func) if callable(func) else _of_c(func)
        self._foreign = foreign.ForeignFunction(
            f"the function '{name}'", compute, None if bprop is None else pulled_by(bprop), raw=func_type == "aot")

    def __call__(self, *inputs: Any) -> Any:
        tensors = [as_tensor(x) if isinstance(x, (bool, int, float, np.generic)) else x for x in inputs]
        for i, x in enumerate(tensors, 1):
            if not isinstance(x, Tensor):
                raise TypeError(f"For 'Custom', input {i} must be a Tensor or a number, but got {x!r} of type {type(x).__name__}.")
        results = self._results([x.type for x in tensors])
        dtypes = tuple([type_.dtype.long_name.lower() for type_ in (*[x.type for x in tensors], *results)])
        if self._accepted is not None and dtypes not in self._accepted:
            known = "; ".join(", ".join(each) for each in self._accepted)
            raise TypeError(f"For 'Custom', the dtypes of inputs and results must be those of 'reg_info', {known}, but got "
                            f"{', '.join(dtypes)}.")
        return apply(foreign.Custom(self._foreign.number, tuple([x.type for x in tensors]), results), *tensors)

    def _results(self, operands: Sequence[TensorType]) -> tuple[TensorType, ...]:
        """Return the types of the results, as `out_shape` and `out_dtype` say."""
        shapes: Any = self._out_shape
        dtypes: Any = self._out_dtype
        if callable(shapes):
            shapes = shapes(*[list(type_.shape) for type_ in operands])
        if callable(dtypes) and not isinstance(dtypes, DType):
            dtypes = dtypes(*[type_.dtype for type_ in operands])
        several = isinstance(dtypes, (tuple, list))
        if not several:
            shapes, dtypes = (shapes,), (dtypes,)
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(dtypes):
            raise ValueError(f"For 'Custom', the arguments 'out_shape' and 'out_dtype' must describe as many results, but got the shapes "
                             f"{shapes!r} and the dtypes {dtypes!r}.")
        for shape in shapes:
            if not isinstance(shape, (tuple, list)) or not all(
                    isinstance(n, Poly) or (isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0) for n in shape):
                raise ValueError(f"For 'Custom', the argument 'out_shape' must give shapes, tuples or lists of ints of at least 0, but got "
                                 f"{shape!r}.")
        for dtype in dtypes:
            if not isinstance(dtype, DType):
                raise _wrong("out_dtype", "dtypes, or a function that returns them", dtype)
        return tuple([tensor(dtype, tuple(n if isinstance(n, Poly) else int(n) for n in shape))
                      for shape, dtype in zip(shapes, dtypes, strict=True)])


class PyFunc(Primitive):
    """A function of the user's own on NumPy arrays, with the dtypes and shapes of all operands and results given.

        double = ops.PyFunc(lambda x: 2 * x, [ms.float32], [(2, 3)], [ms.float32], [(2, 3)])

    fn         takes an array for each operand, and returns an array or a Tensor, or a tuple of several
    in_types   dtypes of the operands; in_shapes their shapes
    out_types  dtypes of the results; out_shapes their shapes. Without results `fn` is called for its effects, and a zero [1] is returned
    stateful   has no effect

    A call returns a tuple of the results. There is no gradient. In a graph, equal calls may become one, and a call whose result is not used
    is left out, unless it has no results.

    TypeError for an `fn` that cannot be called and for operands of other dtypes, ValueError for lists of different lengths and for other
    numbers of elements than `in_shapes` says, RuntimeError for results of other dtypes and numbers of elements. Calls raise what the
    function raises.
    """

    def __init__(self, fn: Callable[..., Any], in_types: Any, in_shapes: Any, out_types: Any, out_shapes: Any, stateful: bool = True):
        if not callable(fn):
            raise _wrong("fn", "a function", fn, owner="PyFunc")
        for side, types, sizes in (("in", in_types, in_shapes), ("out", out_types, out_shapes)):
            for argument, given in ((f"{side}_types", types), (f"{side}_shapes", sizes)):
                if not isinstance(given, (tuple, list)):
                    raise _wrong(argument, "a tuple or list", given, owner="PyFunc")
            if len(types) != len(sizes):
                raise ValueError(f"For 'PyFunc', the argument '{side}_types' must be as long as '{side}_shapes', {len(sizes)}, "
                                 f"but got {len(types)}.")
            for dtype in types:
                if not isinstance(dtype, DType):
                    raise _wrong(f"{side}_types", "dtypes", dtype, owner="PyFunc")
        flag("PyFunc", "stateful", stateful)
        shapes = {side: [sizes_argument("PyFunc", f"{side}_shapes", shape) for shape in given]
                  for side, given in (("in", in_shapes), ("out", out_shapes))}
        super().__init__("PyFunc", in_types=list(in_types), in_shapes=shapes["in"], out_types=list(out_types), out_shapes=shapes["out"])
        self._function = fn
        self._computed = Custom(lambda *arrays: self._results(fn(*arrays)), tuple(shapes["out"]), tuple(out_types))

    def __call__(self, *input_x: Any) -> tuple[Tensor, ...]:
        if len(input_x) != len(self.in_types):
            raise ArgumentMistake(f"For 'PyFunc', there must be as many operands as 'in_types' says, {len(self.in_types)}, "
                                  f"but got {len(input_x)}.")
        operands: list[Tensor] = []
        for i, (x, dtype, shape) in enumerate(zip(input_x, self.in_types, self.in_shapes, strict=True), 1):
            if not isinstance(x, Tensor) or x.dtype is not dtype:
                raise TypeError(f"For 'PyFunc', operand {i} must be a Tensor of {dtype.long_name}, but got {x!r}.")
            if x.size != math.prod(shape):
                raise ArgumentMistake(f"For 'PyFunc', operand {i} must be of shape {shape}, but got {x.shape}.")
            operands.append(x.reshape(shape))
        if not self.out_types:
            effect("pyfunc", lambda *operands: self._function(*[x.asnumpy() for x in operands]), operands)
            return (constant(0, I32).reshape((1,)),)
        found = self._computed(*operands)
        return found if isinstance(found, tuple) else (found,)

    def _results(self, found: Any) -> tuple[Any, ...]:
        """Return what the function has returned as arrays of the given shapes."""
        several = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(several) != len(self.out_types):
            raise RuntimeError(f"For 'PyFunc', the function must return {len(self.out_types)} arrays, as 'out_types' says, "
                               f"but it returned {len(several)}.")
        arrays: list[Any] = []
        for i, (result, dtype, shape) in enumerate(zip(several, self.out_types, self.out_shapes, strict=True), 1):
            expected = F32.array if dtype is BF16 else dtype.array
            is_number = isinstance(result, (bool, int, float))
            array = result.asnumpy() if isinstance(result, Tensor) else np.asarray(result, expected if is_number else None)
            if array.dtype != expected or array.size != math.prod(shape):
                raise RuntimeError(f"For 'PyFunc', result {i} of the function must be of shape {shape} and {dtype.long_name}, "
                                   f"but it is of shape {array.shape} and {array.dtype}.")
            arrays.append(array.reshape(shape))
        return tuple(arrays)


def _wrong(argument: str, expected: str, got: object, kind: type[Exception] = TypeError, owner: str = "Custom") -> Exception:
    return kind(f"For '{owner}', the argument '{argument}' must be {expected}, but got {got!r} of type {type(got).__name__}.")


def _of_python(func: Callable[..., Any]) -> Callable[..., Any]:
    return lambda arrays, _operands, _results: func(*arrays)


def _of_c(func: str) -> Callable[..., Any]:
    """Return what calls a function of C; the file is compiled and loaded at the first call."""
    path, _, name = func.rpartition(":")
    if not path:
        raise RuntimeError(f"For 'Custom', the argument 'func' must be a path and a name, such as 'add.c:add', but got {func!r}.")
    path = os.path.abspath(path)  # the program may change its directory before the first call
    found: list[Callable[..., Any]] = []

    def compute(*given: Any) -> Any:
        if not found:
            # The compiler's side is loaded when it is needed.
            from adjoint.ops.foreign_code import foreign_function

            found.append(foreign_function(path, name))
        return found[0](*given)

    return compute
