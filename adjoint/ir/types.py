"""Types of values: tensors with dtype and shape, tuples, stacks; and the arithmetic of symbolic dimensions.

Types are interned: two equal types are one object, which lives as long as anything uses it.  So equality and hashing
cost what they cost for an object, and a plan is found by a dictionary lookup on them.  A dimension is an `int` or a
`Poly`, a polynomial over named sizes in normal form (`2*b + 1`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, overload

import numpy as np

from adjoint.foundation.diagnostics import printed_as
from adjoint.ir.interning import Interned

__all__ = [
    "BF16", "BOOL", "C128", "C64", "COMPLEX", "DTYPES", "DType", "Dim", "F16", "F32", "F64", "FLOATS", "I16", "I32", "I64", "I8",
    "INTEGERS", "NamedSizes", "Poly", "StackType", "TensorType", "TraceType", "TupleType", "Type", "U16", "U32", "U64", "U8",
    "broadcast_shapes", "holds_trace", "scalar", "symbol", "tensor", "trace_of",
]


class DType:
    """The type of the elements of a tensor.

    name       in IR text: `f32`
    long_name  as users see it: `Float32`
    size       bytes per element
    kind       `b` bool, `i` signed, `u` unsigned, `f` floating point, `c` complex
    c_name     the C type it is stored in
    array      the NumPy dtype it is stored in (bf16: uint16)
    """

    __slots__ = (
        "array", "c_name", "compute", "is_complex", "is_float", "is_inexact", "is_integer", "kind", "long_name", "name", "part", "size",
    )

    def __init__(self, name: str, long_name: str, size: int, kind: str, c_name: str, array: str, compute: DType | None = None,
                 part: DType | None = None):
        self.name, self.long_name, self.size, self.kind, self.c_name = name, long_name, size, kind, c_name
        self.array: np.dtype[Any] = np.dtype(array)
        self.compute: DType = compute or self
        """The dtype in which kernels compute with such elements: float32 for the two-byte floats, otherwise the dtype itself."""
        self.part: DType = part or self
        """The dtype of the real and the imaginary part of a complex number; of others the dtype itself."""
        self.is_float = kind == "f"
        self.is_complex = kind == "c"
        self.is_inexact = kind in "fc"
        self.is_integer = kind in "iu"

    def __str__(self) -> str:
        return self.long_name

    def __repr__(self) -> str:
        return f"mindspore.{self.long_name.lower()}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _dtype_named, (self.name,)

    def __deepcopy__(self, memo: object) -> DType:
        return self

    __copy__ = lambda self: self  # noqa: E731 - one object per dtype

    @property
    def itemsize(self) -> int:
        return self.size


def _dtype_named(name: str) -> DType:
    return DTYPES[name]


F32: Final = DType("f32", "Float32", 4, "f", "float", "float32")
F64: Final = DType("f64", "Float64", 8, "f", "double", "float64")
F16: Final = DType("f16", "Float16", 2, "f", "uint16_t", "float16", F32)
BF16: Final = DType("bf16", "BFloat16", 2, "f", "uint16_t", "uint16", F32)
BOOL: Final = DType("bool", "Bool", 1, "b", "uint8_t", "bool")
I8: Final = DType("i8", "Int8", 1, "i", "int8_t", "int8")
I16: Final = DType("i16", "Int16", 2, "i", "int16_t", "int16")
I32: Final = DType("i32", "Int32", 4, "i", "int32_t", "int32")
I64: Final = DType("i64", "Int64", 8, "i", "int64_t", "int64")
U8: Final = DType("u8", "UInt8", 1, "u", "uint8_t", "uint8")
U16: Final = DType("u16", "UInt16", 2, "u", "uint16_t", "uint16")
U32: Final = DType("u32", "UInt32", 4, "u", "uint32_t", "uint32")
U64: Final = DType("u64", "UInt64", 8, "u", "uint64_t", "uint64")
C64: Final = DType("c64", "Complex64", 8, "c", "float _Complex", "complex64", part=F32)
C128: Final = DType("c128", "Complex128", 16, "c", "double _Complex", "complex128", part=F64)

DTYPES: Final[dict[str, DType]] = {
    d.name: d for d in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128)
}
INTEGERS: Final = (I8, I16, I32, I64, U8, U16, U32, U64)
FLOATS: Final = (F16, BF16, F32, F64)
COMPLEX: Final = (C64, C128)


Monomial = tuple[str, ...]
"""A product of names, sorted; the empty product is the constant 1."""


class Poly:
    """A dimension that is not a number: a polynomial over named sizes with integer coefficients, in normal form."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]):
        self.terms = terms
        """The terms as pairs (monomial, coefficient), sorted, without terms whose coefficient is 0."""
        self._hash = hash(terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Dim) -> Dim:
        return _poly([*self.terms, *_terms(other)])

    def __sub__(self, other: Dim) -> Dim:
        return _poly([*self.terms, *((m, -c) for m, c in _terms(other))])

    def __rsub__(self, other: Dim) -> Dim:
        return _poly([*_terms(other), *((m, -c) for m, c in self.terms)])

    def __mul__(self, other: Dim) -> Dim:
        return _poly([(tuple(sorted(m + n)), c * d) for m, c in self.terms for n, d in _terms(other)])

    __radd__, __rmul__ = __add__, __mul__

    def plain(self) -> Poly:
        """Return the polynomial as types hold it: an ordinary Poly, also for an object of a subclass."""
        return self

    @property
    def is_name(self) -> bool:
        """Return True if the polynomial is a single name, such as `b`."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1

    def names(self) -> frozenset[str]:
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    def substituted(self, sizes: Mapping[str, Dim]) -> Dim:
        """Return the polynomial with some names replaced; an int if no name is left.

        sizes  the replacement for each name
        """
        total: Dim = 0
        for monomial, coefficient in self.terms:
            product: Dim = coefficient
            for name in monomial:
                product = product * sizes.get(name, symbol(name))
            total = total + product
        return total

    def __repr__(self) -> str:
        def term(monomial: Monomial, coefficient: int) -> str:
            factors = list(monomial)
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            return "*".join(factors)

        return " + ".join(term(m, c) for m, c in sorted(self.terms, key=lambda t: (-len(t[0]), t[0])))


Dim = int | Poly


def symbol(name: str) -> Poly:
    """Return a dimension that is known by its name only."""
    return Poly((((name,), 1),))


def _terms(dim: Dim) -> Iterable[tuple[Monomial, int]]:
    return dim.terms if isinstance(dim, Poly) else (((), dim),)


def _poly(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = tuple(sorted((m, c) for m, c in total.items() if c))
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    return Poly(kept)


class Type:
    """The base class of types of values; equal types are the same object."""

    __slots__ = ("__weakref__",)


@printed_as(ValueError)
class NamedSizes(ValueError):
    """Raised if the shape of a type is needed as numbers, but a dimension has a name."""


class TensorType(Type):
    """The type of an n-dimensional array, such as `f32[b, 3]`; `f32` is an array without dimensions.  Make it with `tensor`."""

    __slots__ = ("count", "dtype", "is_static", "nbytes", "rank", "shape")

    def __init__(self, dtype: DType, shape: tuple[Dim, ...]):
        self.dtype, self.shape, self.rank = dtype, shape, len(shape)
        for size in shape:  # a generator takes a multiple of the time, and some calls make a type each
            if not isinstance(size, int):
                self.is_static, self.count, self.nbytes = False, -1, -1
                return
        self.is_static = True
        self.count: int = math.prod(shape)  # pyright: ignore[reportAttributeAccessIssue] - integers, if static
        """The number of elements; -1 if a dimension has a name instead of a number."""
        self.nbytes = self.count * dtype.size

    def __repr__(self) -> str:
        return self.dtype.name + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")

    def __reduce__(self) -> tuple[Any, ...]:
        return tensor, (self.dtype, self.shape)

    def __deepcopy__(self, memo: object) -> TensorType:
        return self

    def with_dtype(self, dtype: DType) -> TensorType:
        return tensor(dtype, self.shape)

    def with_shape(self, shape: tuple[Dim, ...]) -> TensorType:
        return tensor(self.dtype, shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the shape as ints; NamedSizes if a dimension has a name."""
        if not self.is_static:
            raise NamedSizes(f"{self} has symbolic dimensions")
        return self.shape  # pyright: ignore[reportReturnType] - integers, if static


class TupleType(Type):
    """The type of a tuple of values, such as `tuple<f32, i64>`.  Make it with `tuple_of`."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Type, ...]):
        self.items = items

    def __repr__(self) -> str:
        return f"tuple<{', '.join(map(str, self.items))}>"


class StackType(Type):
    """The type of a stack, such as `stack<f32[3]>`, on which a loop keeps values for its gradient, last in first out.

    A stack value is used at most once on any path.
    """

    __slots__ = ("item",)

    def __init__(self, item: Type):
        self.item = item

    def __repr__(self) -> str:
        return f"stack<{self.item}>"


class TraceType(Type):
    """The type of what `record` keeps of a region that has run, to compute its gradient: `trace<f32 -> (f32[3], f32)>`.

    outputs  the types of the values that are differentiated, and of their cotangents
    leaves   the types of what they are differentiated by, and of the gradients
    """

    __slots__ = ("leaves", "outputs")

    def __init__(self, outputs: tuple[Type, ...], leaves: tuple[Type, ...]):
        self.outputs, self.leaves = outputs, leaves

    def __repr__(self) -> str:
        return f"trace<{_listed(self.outputs)} -> {_listed(self.leaves)}>"


def _listed(types: tuple[Type, ...]) -> str:
    """Return the text of types: one type as it is, several in parentheses."""
    return str(types[0]) if len(types) == 1 else f"({', '.join(map(str, types))})"


_tensors: Interned[TensorType] = Interned()
_tuples: Interned[TupleType] = Interned()
_stacks: Interned[StackType] = Interned()
_traces: Interned[TraceType] = Interned()


def tensor(dtype: DType, shape: Iterable[Dim] = ()) -> TensorType:
    """Return the only TensorType object with this dtype and shape.

    If a size has no hash (it is being recorded, see `kernel.sizes`), the type is new and equal to no other.
    """
    key = (dtype, tuple(shape))
    try:
        known = _tensors.get(key)
    except TypeError:  # a size that tells nobody its hash
        key = (dtype, tuple([d.plain() if isinstance(d, Poly) else d for d in key[1]]))
        try:
            known = _tensors.get(key)
        except TypeError:  # not even what it is
            return TensorType(*key)
    return (known and known()) or _tensors.one(key, TensorType(*key))


def scalar(dtype: DType) -> TensorType:
    """Return the type of a tensor without dimensions."""
    return tensor(dtype, ())


def tuple_of(items: Iterable[Type]) -> TupleType:
    """Return the only TupleType object with these types of items."""
    key = tuple(items)
    return _tuples.one(key, TupleType(key))


def stack_of(item: Type) -> StackType:
    """Return the only StackType object with this type of item."""
    return _stacks.one(item, StackType(item))


def trace_of(outputs: Iterable[Type], leaves: Iterable[Type]) -> TraceType:
    """Return the only TraceType object with these types of outputs and leaves."""
    key = (tuple(outputs), tuple(leaves))
    return _traces.one(key, TraceType(*key))


def holds_trace(type_: Type) -> bool:
    """Return True if a type is a trace type, or a tuple or stack type with one inside."""
    match type_:
        case TupleType():
            return any(map(holds_trace, type_.items))
        case StackType():
            return holds_trace(type_.item)
        case _:
            return isinstance(type_, TraceType)


@overload
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]: ...
@overload
def broadcast_shapes(*shapes: tuple[Dim, ...]) -> tuple[Dim, ...]: ...
def broadcast_shapes(*shapes: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Return the shape that results if shapes are broadcast as in NumPy; ValueError that shows them if they do not fit.

    A symbolic dimension broadcasts with 1 and with itself only.
    """
    rank = max((len(s) for s in shapes), default=0)
    result: list[Dim] = []
    for axis in range(-rank, 0):
        dim: Dim = 1
        for shape in shapes:
            if len(shape) >= -axis and shape[axis] != 1 and shape[axis] != dim:
                if dim != 1:
                    raise ValueError(f"shapes {' and '.join(_shape_text(s) for s in shapes)} cannot be broadcast together")
                dim = shape[axis]
        result.append(dim)
    return tuple(result)


def _shape_text(shape: tuple[Dim, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


@overload
def substituted(type_: TensorType, sizes: Mapping[str, Dim]) -> TensorType: ...
@overload
def substituted(type_: Type, sizes: Mapping[str, Dim]) -> Type: ...
def substituted(type_: Type, sizes: Mapping[str, Dim]) -> Type:
    """Return a type with some named dimensions replaced.

    sizes  the replacement for each name
    """
    match type_:
        case TensorType():
            return type_ if type_.is_static else tensor(
                type_.dtype, (d.substituted(sizes) if isinstance(d, Poly) else d for d in type_.shape))
        case TupleType():
            return tuple_of(substituted(item, sizes) for item in type_.items)
        case StackType():
            return stack_of(substituted(type_.item, sizes))
        case TraceType():
            return trace_of((substituted(t, sizes) for t in type_.outputs), (substituted(t, sizes) for t in type_.leaves))
        case _:
            return type_
