"""The base class of ops: one class per op holds inference, NumPy reference, gradient, C, samples and documentation.

An op's fields are its attributes.  Instances are interned: equal attributes give the same object, so an op is compared
and hashed by identity and may stand in the key of a plan.  `@operation` makes a class an op and registers it under its
snake_case name; a class that lacks a part is an error when it is imported.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, dataclass_transform

from adjoint.foundation.budget import Refillable, budget
from adjoint.foundation.dataclass import HAS_DOCSTRINGS, dataclass, field
from adjoint.foundation.diagnostics import integer_text
from adjoint.ir.interning import Interned
from adjoint.ir.public import Public
from adjoint.ir.registry import Registry
from adjoint.ir.types import Dim, DType, Poly, StackType, TensorType, TraceType, TupleType, Type, substituted

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node, Region
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = [
    "Effect", "NotDifferentiable", "Op", "Sample", "announced", "made", "mistake", "mistyped", "operation", "registry", "sample",
    "with_sizes", "withdraw",
]


class Effect(enum.Enum):
    """The side effects of a node.

    PURE nodes may be merged and dropped; READS nodes may be dropped; WRITES and HOST keep their order and stay.
    """

    PURE = "pure"
    READS = "reads"
    WRITES = "writes"
    HOST = "host"


@dataclass(frozen=True)
class Sample:
    """Describes operands and attributes with which the tests run an op.

    domain   for each operand, the interval from which its numbers are drawn; the last one repeats for further operands
    smooth   False where the gradient is not to be compared with finite differences (a kink, a step); say why in `note`
    values   operands given as they are (such as indices), by position; others are drawn
    """

    operands: tuple[Type, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    domain: tuple[tuple[float, float], ...] = ((-2.0, 2.0),)
    smooth: bool = True
    values: Mapping[int, Any] = field(default_factory=dict)
    note: str = ""


def sample(
    *operands: Type,
    domain: tuple[float, float] | Sequence[tuple[float, float]] = (-2.0, 2.0),
    smooth: bool = True,
    values: Mapping[int, Any] | None = None,
    note: str = "",
    **attributes: Any,
) -> Sample:
    """Return a `Sample`; `domain` is one interval or one for each operand."""
    intervals = (domain,) if isinstance(domain[0], (int, float)) else tuple(domain)
    return Sample(operands, attributes, intervals, smooth, values or {}, note)  # pyright: ignore[reportArgumentType] - the test tells them apart


class NotDifferentiable(Exception):
    """Raised if the gradient of an op without one is requested; the text says why."""


_interned: Interned[Op] = Interned()


def _key(value: Any) -> Any:
    """Return a key for `value` that distinguishes 1, 1.0 and True, and -0.0 and 0.0, and is equal for two NaN."""
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, tuple):
        return tuple(_key(item) for item in value)
    return (type(value), value)


class _OpClass(type):
    """The class of op classes: calling one of them twice with equal attributes returns the same object."""

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        key = (cls, *(_key(getattr(made, name)) for name in made.fields))
        return _interned.one(key, made)


class Op(metaclass=_OpClass):
    """An operation with its attributes; see the module's docstring.

    A subclass defines `infer`, `reference`, `vjp` and `lower` (or says why it has none), and `samples`.
    """

    __slots__ = ("__dict__", "__weakref__")
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    """Declared for type checkers: the decorator `operation` makes every op a dataclass."""

    name: ClassVar[str]
    """The op's name in IR text; `operation` derives it from the name of the class."""
    fields: ClassVar[tuple[str, ...]] = ()
    """The names of all attributes of the op, in order."""
    effect: ClassVar[Effect] = Effect.PURE
    pack: ClassVar[str] = ""
    """The name of the pack (kernels that are compiled together) to which the op's eager kernels belong; "" if they are compiled alone."""
    samples: ClassVar[tuple[Sample, ...]] = ()
    variadic: ClassVar[bool] = False
    """True if the op takes any number of operands."""
    any_size: ClassVar[bool] = True
    """True if one kernel of the op may serve operands of many sizes; False if each text is for one size."""
    cuts: ClassVar[str] = ""
    """The reason why no gradient flows through the op although none is missed, as for comparisons; "" if gradients flow or it is an error.
    Where that depends on the operands, `cut` tells."""
    in_python: ClassVar[bool] = False
    """True if the op is computed by its reference, although there is a compiler."""
    watches: ClassVar[bool] = False
    """True if the op shows its operand to people: in a batch its result is that of all examples together, and is the same for each."""
    by_program: ClassVar[bool] = False
    """True if a program defines the op, by `adjoint.operator`, and may define another one of the same name."""
    public: ClassVar[Public | tuple[Public, ...]] = ()
    """Its names for users, one `Public` for each list of parameters; an op without is not called by users."""
    symbol: str
    """The symbol of the module that an op refers to, such as a parameter's; only some ops have this field."""
    results: tuple[Type, ...]
    """The result types, for those ops that have this field because their operands do not determine them.  In text they
    stand at the binders and nowhere else."""

    def __init__(self, /, *values: Any, **attributes: Any):
        # One for all ops: a generated one each would take a good part of the time of an import.
        cls = type(self)
        if not attributes and len(values) == len(cls.fields):  # a node's op has often all of few attributes by position
            vars(self).update(zip(cls.fields, values, strict=True))
            self.__post_init__()
            return
        if len(values) > len(cls.fields):
            raise TypeError(f"{cls.__name__} has the attributes {cls.fields}, but got {len(values)} values")
        for name, value in zip(cls.fields, values, strict=False):
            if name in attributes:
                raise TypeError(f"{cls.__name__} got the attribute {name!r} twice")
            attributes[name] = value
        for name in cls.fields:
            if name in attributes:
                object.__setattr__(self, name, attributes.pop(name))
            elif not hasattr(cls, name):
                raise TypeError(f"{cls.__name__} needs the attribute {name!r}")
        if attributes:
            raise TypeError(f"{cls.__name__} has no attribute {next(iter(attributes))!r}; it has {cls.fields}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the attributes, and raise if they are invalid.  By default anything is valid; a subclass overrides it."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to attribute {name!r} of an op")

    def infer(self, *operands: Any) -> Type | tuple[Type, ...]:
        """Return the result type or types for operand types; raise a TypeError or ValueError made by `mistake` if they do not fit."""
        raise NotImplementedError(f"{type(self).__name__}.infer")

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        """Return the result types for a Builder; region ops override it to use their regions."""
        inferred = self.infer(*operands)
        return inferred if isinstance(inferred, tuple) else (inferred,)

    def reference(self, *operands: Any) -> Any:
        """Compute the op on NumPy arrays, as its definition; return one array, or a tuple of them."""
        raise NotImplementedError(f"{type(self).__name__}.reference")

    def cut(self, operands: Sequence[Type]) -> str:
        """Return `cuts`, or "" if gradients flow through the op on operands of these types; it has a `vjp` for those then."""
        return self.cuts

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        """Return the cotangent of each operand, or None for one that receives none.

        `cotangents` has one entry a result, None where the result has no cotangent (never all of them None).
        Only differentiable ops may be emitted, so that gradients of any order exist.
        """
        raise NotDifferentiable(f"{self.name} has no gradient")

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        """Describe the computation to a Kernel: operand buffers, then result buffers."""
        raise NotImplementedError(f"{type(self).__name__}.lower")

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        """Emit the nodes that compute the op for a batch of examples; return the results, each with the examples along a new first axis.

        By default None, which lets a loop over the examples do it.  Rules that several ops share are in `ops/batching.py`.

        node      the node for one example, which is copied
        operands  its operands; those that are `mapped` have the examples along their first axis, the others are the same for all
        size      the number of examples
        """
        return None

    def failure(self, status: int) -> Exception:
        """Return the exception to raise when a kernel has returned a non-zero status, for instance for an index out of range."""
        return RuntimeError(f"For '{type(self).__name__}', the kernel stopped with status {status}.")

    @property
    def can_lower(self) -> bool:
        """Return True if the op defines `lower`."""
        return type(self).lower is not Op.lower

    @property
    def may_fail(self) -> bool:
        """Return True if the op's kernel may stop with a status."""
        return type(self).failure is not Op.failure

    @classmethod
    def attributes(cls) -> tuple[str, ...]:
        """Return the names of the attributes, in order, without `symbol` and `results`, which text writes elsewhere."""
        return tuple(name for name in cls.fields if name not in ("symbol", "results"))

    @classmethod
    def publics(cls) -> tuple[Public, ...]:
        """Return the `public` of the class itself, not of one that it derives from, as a tuple."""
        own = cls.__dict__.get("public", ())
        return own if isinstance(own, tuple) else (own,)

    @classmethod
    def documentation(cls) -> str:
        """Return the docstring without its indentation, which Python 3.13 removes itself; "" where Python runs without docstrings."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[Type, ...]]]:
        """Return the (op, operand types) whose kernels are in the op's pack for `dtype`: its samples, in that dtype."""
        for s in cls.samples:
            types = tuple(t.with_dtype(dtype) if isinstance(t, TensorType) and t.dtype.is_float else t for t in s.operands)
            yield cls(**s.attributes), types

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).attributes())
        return f"{self.name}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), tuple((name, getattr(self, name)) for name in self.fields))

    def __deepcopy__(self, memo: object) -> Op:
        return self


def _made(cls: type[Op], fields: tuple[tuple[str, Any], ...]) -> Op:
    return cls(**dict(fields))


_registry: Final = Registry()

announced: list[Callable[[type[Op]], None]] = []
"""Functions that are called with the class of each op of a program before it is registered; one that raises prevents that."""

OpType = TypeVar("OpType", bound=type[Op])


@dataclass_transform(frozen_default=True, eq_default=False)
def family(cls: OpType) -> OpType:
    """Class decorator: make a class the base of several ops; its fields become their first attributes."""
    made = dataclasses.dataclass(init=False, eq=False, repr=False)(cls)
    made.fields = tuple(f.name for f in dataclasses.fields(made))
    return made


@dataclass_transform(frozen_default=True, eq_default=False)
def operation(cls: OpType) -> OpType:
    """Class decorator: make a class an op, which is a frozen dataclass, has a name, is checked and is registered."""
    documented = cls.__doc__ or not HAS_DOCSTRINGS  # `family` gives a class without a docstring one
    made = family(cls)
    made.name = made.__dict__.get("name") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", made.__name__).lower()
    if _registry.has(made.name, made.__module__):
        raise TypeError(f"an op called {made.name} exists already")
    if not documented or (made.infer is Op.infer and made.result_types is Op.result_types):
        raise TypeError(f"op {made.name} lacks its docstring or its inference")
    if made.cuts and made.cut is Op.cut:
        made.vjp = _cut  # pyright: ignore[reportAttributeAccessIssue] - it asks for nothing that `vjp` is not given
    if not _registry.expects(made.name):
        for announce in announced:
            announce(made)
    _registry.add(made)
    return made


def withdraw(kind: type[Op]) -> None:
    """Take an op out of the registry, so that another one may have its name.  Ops of this class that exist keep their meaning."""
    _registry.remove(kind)


AnyOp = TypeVar("AnyOp", bound=Op)


@functools.lru_cache(maxsize=8192)
def made(kind: type[AnyOp], /, *attributes: Any, **named: Any) -> AnyOp:
    """Return `kind(*attributes, **named)`, memoised: an op that exists is found without making another.

    Attributes that compare equal must mean the same op: pass no ints where floats belong, and none where the sign of 0.0 counts.
    """
    budget.charge(_MEMOISED)
    return kind(*attributes, **named)


_MEMOISED = 700
"""Estimated bytes of an op that `made` keeps, with its entry in the cache."""

Refillable("ops", lambda: made.cache_info().currsize * _MEMOISED, made.cache_clear)


def with_sizes(op: Op, sizes: Mapping[str, Dim]) -> Op:
    """Return the op with numbers in place of named sizes in its attributes; the same object if there are none.

    sizes  the number, or another dimension, for each name
    """
    changed = {
        f.name: new
        for f in dataclasses.fields(op)
        if (new := _with_sizes(old := getattr(op, f.name), sizes)) is not old
    }
    return dataclasses.replace(op, **changed) if changed else op


def _with_sizes(value: Any, sizes: Mapping[str, Dim]) -> Any:
    match value:
        case Type():
            return substituted(value, sizes)
        case Poly():
            return value.substituted(sizes)
        case tuple():
            new = tuple(_with_sizes(item, sizes) for item in value)
            return value if all(a is b for a, b in zip(new, value, strict=True)) else new
        case _:
            return value


def _cut(self: Op, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
    return (None,) * len(node.operands)


def registry() -> Registry:
    """Return all ops by name; the module of an op is loaded when the op is looked up."""
    return _registry


def mistake(
    op: Op | str, argument: str, expected: str, got: object, kind: Callable[[str], Exception] = ValueError
) -> Exception:
    """Return the exception for a bad operand or attribute: it names the op, the argument, the expected and the given value."""
    name = op if isinstance(op, str) else type(op).__name__
    return kind(f"For '{name}', the argument '{argument}' must be {expected}, but got {_shown(got)}.")


def mistyped(op: Op | str, argument: str, expected: TensorType, got: object) -> Exception:
    """Return the exception to raise for an operand of the wrong type: TypeError if the dtype differs, ValueError if only the shape does."""
    same = isinstance(got, TensorType) and got.dtype is expected.dtype
    return mistake(op, argument, f"of type {expected}", got, ValueError if same else TypeError)


def _shown(got: object) -> str:
    match got:
        case TensorType():
            return f"Tensor(shape=[{', '.join(map(str, got.shape))}], dtype={got.dtype.long_name})"
        case int() if abs(got) >= 2**128:
            return f"an int {integer_text(got)}"
        case StackType() | TupleType() | TraceType() | str() | int() | float() | tuple() | list() | DType() | None:
            return str(got)
        case _:
            return f"{got} of type {type(got).__name__}"
