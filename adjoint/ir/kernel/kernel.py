"""Kernel: records the loops and statements that an op's `lower` describes, as a tree of C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Final

from adjoint.ir.kernel.c_ast import (
    Assign,
    Binary,
    Block,
    Call,
    Comment,
    Declare,
    DeclareArray,
    DeclarePointer,
    Expr,
    Expression,
    For,
    Function,
    If,
    Increment,
    Index,
    Integer,
    Name,
    Operand,
    Return,
    Statement,
    While,
    both,
    complex_of,
    either,
    equal,
    expression,
    greater,
    greater_equal,
    less,
    less_equal,
    literal,
    maximum_of,
    minimum_of,
    negation,
    not_equal,
    select,
)
from adjoint.ir.kernel.conversion import cast, lvalue_of, part_of, stored
from adjoint.ir.kernel.names import KEYWORDS, identifier
from adjoint.ir.kernel.operands import Buffer, LocalArray
from adjoint.ir.kernel.sizes import Size
from adjoint.ir.types import BOOL, I32, I64, DType, TensorType, tensor

__all__ = ["LAUNCH_SIZES", "Kernel"]

LAUNCH_SIZES: Final = 2
"""The number of entries at the front of a size array that are for the launcher: the units of work, and how many of them a thread must get
to be worth waking.
"""

MATHEMATICS: Final = frozenset(
    {"sqrt", "fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "fmin", "fmax", "copysign", "fma", "nextafter"}
)
"""Functions of C11's <math.h> that compilers inline, or that are exact: `sqrtf` for float, `sqrt` for double."""

TESTS: Final = frozenset({"isnan", "isinf", "isfinite", "signbit"})
"""Macros of C11's <math.h> that return an int: zero for false."""

PARAMETERS: Final = (
    ("void *const *", "operand"),
    ("const int64_t *", "size"),
    ("int64_t", "begin"),
    ("int64_t", "end"),
)
"""The parameters of every kernel in C, as pairs (type, name)."""

RESERVED: Final = (
    KEYWORDS
    | {name for _, name in PARAMETERS}
    | MATHEMATICS
    | {name + "f" for name in MATHEMATICS}
    | TESTS
    | {"NAN", "INFINITY", "main"}
)
"""Names that no local, buffer or size may have."""


class _Scope:
    """Collects the statements that are written inside of a `with` block, and the names that are declared there."""

    __slots__ = ("body", "kernel", "names", "outer")

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def _open(self) -> None:
        kernel = self.kernel
        self.outer, self.body, self.names = kernel._scope, list[Statement](), list[str]()
        kernel._scope = self

    def _close(self) -> None:
        kernel = self.kernel
        kernel._scope = self.outer
        kernel._active.difference_update(self.names)


class _Loop(_Scope):
    __slots__ = ("independent", "name", "start", "step", "stop")

    def __init__(self, kernel: Kernel, start: Expr, stop: Expr, step: int, name: str, independent: bool):
        self.kernel, self.start, self.stop, self.step, self.name, self.independent = kernel, start, stop, step, name, independent

    def __enter__(self) -> Expr:
        self._open()
        self.name = self.kernel._local_name(self.name)
        return Name(self.name, I64)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()
        if kind is None:
            self.kernel._add(For(self.name, self.start, self.stop, self.step, tuple(self.body), self.independent))


class _Body(_Scope):
    """A `with` block whose statements become the body of one statement of C, such as an `if`; `statement` makes it from them."""

    __slots__ = ("statement",)

    def __init__(self, kernel: Kernel, statement: Callable[[tuple[Statement, ...]], Statement]):
        self.kernel, self.statement = kernel, statement

    def __enter__(self) -> None:
        self._open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()
        if kind is None:
            self.kernel._add(self.statement(tuple(self.body)))


class _Otherwise(_Scope):
    __slots__ = ()

    def __enter__(self) -> None:
        self._open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()
        if kind is not None:
            return
        written = self.kernel._body
        if not written or not isinstance(last := written[-1], If) or last.otherwise:
            raise TypeError("`otherwise` comes right after `when`")
        written[-1] = If(last.condition, last.body, tuple(self.body))


class _Stage(_Scope):
    """A `with` block that becomes one C function of the kernel; the stages of a kernel run one after the other."""

    __slots__ = ("grain", "units")

    def __init__(self, kernel: Kernel, units: Operand, grain: int):
        self.kernel, self.grain = kernel, grain
        self.units = kernel._value(units)

    def _finish(self, kind: type[BaseException] | None, body: tuple[Statement, ...]) -> None:
        self._close()
        if kind is None:
            done = (*body, Return(Integer(0, I32)))
            self.kernel._stages.append((self.units, max(1, self.grain // self.kernel.work), done))


class _LoopStage(_Stage):
    __slots__ = ("name",)

    def __init__(self, kernel: Kernel, units: Operand, grain: int, name: str):
        super().__init__(kernel, units, grain)
        self.name = name

    def __enter__(self) -> Expr:
        self.kernel._begin_stage()
        self._open()
        self.name = self.kernel._local_name(self.name)
        return Name(self.name, I64)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._finish(kind, (For(self.name, BEGIN, END, 1, tuple(self.body)),))


class _RangeStage(_Stage):
    __slots__ = ()

    def __enter__(self) -> tuple[Expr, Expr]:
        self.kernel._begin_stage()
        self._open()
        return BEGIN, END

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._finish(kind, tuple(self.body))


BEGIN: Final = Name("begin", I64)
END: Final = Name("end", I64)
_OPERAND: Final = Name("operand", I64)
_SIZE: Final = Name("size", I64)


class Kernel:
    """Records the loops and statements that an op's `lower` describes.  `codegen.emit.lower` creates it and makes C from what it has
    recorded.
    """

    def __init__(self, *, specialized: bool = False, plain_work: float = 0, values: Sequence[str] = (), unrolls: bool = False):
        self.specialized = specialized or unrolls
        self.unrolls = unrolls
        """True if the kernel will be unrolled, for operands of a few numbers: no loop may then be in a function on memory that it calls."""
        self.values = values
        """Names for the values of a fused kernel, by their numbers; none for a kernel that is compiled: see `emit.shown`."""
        self.plain_work = plain_work
        """The number of multiply-adds up to which the kernel should be plain (quick to compile) instead of tuned (quick to run)."""
        self.plain = plain_work > 0
        """True if the kernel is plain (quick to compile); an op that has a plain and a tuned form sets it in `takes_plain_form`."""
        self.two_forms = False
        """True if the op has two forms, one for a plain and one for a tuned kernel."""
        self.work = 1
        """How many times longer a unit takes than its stage assumes, since an operand's elements may be computed as they are read."""
        self.step: int | None = None
        """The number of the node of a fused kernel whose code is being written; None outside of any.  `steps` has it for each statement."""
        self.steps: dict[Statement, int] = {}
        self.titles: dict[str, str] = {}
        """For each described buffer, by name: its shape as text, for the comment above the C function."""
        self._buffers: list[Buffer] = []
        self._scratch: list[Buffer] = []
        self._sizes: dict[str, int] = {}
        self._stages: list[tuple[int, int, tuple[Statement, ...]]] = []
        self._scope: _Scope | None = None
        self._active: set[str] = set()
        """The names of the local variables that are in scope at present."""
        self._ever: set[str] = set()
        """The names of all local variables so far.  No size may have one of them, since sizes are declared above all locals."""
        self._fixed: set[str] = set()
        """The names of the buffers and sizes, which are visible everywhere in the kernel."""

    # Operands and sizes.

    def operand(self, type_: TensorType, name: str, *, written: bool) -> Buffer:
        """Add an operand to the kernel, after the others, and return its buffer.

        name     its name in C
        written  True for an output
        """
        buffer = Buffer(type_, self._fixed_name(name), len(self._buffers), written=written)
        self._buffers.append(buffer)
        return buffer

    def scratch(self, dtype: DType, count: int, name: str = "scratch") -> Buffer:
        """Add temporary memory for `count` elements, and return it as a buffer that all stages can use.  Its contents are undefined at
        first.
        """
        buffer = self.operand(tensor(dtype, (count,)), name, written=True)
        self._scratch.append(buffer)
        return buffer

    def size(self, value: int, name: str = "n") -> Expr:
        """Make an integer such as a dimension a parameter of the kernel, so that one text serves all its values; return its C expression.

        In a specialised kernel it becomes a constant of the text.
        """
        if self.specialized:
            return Integer(value, I64)
        name = self._fixed_name(name)
        self._sizes[name] = value if type(value) is Size else int(value)
        return Name(name, I64)

    def takes_plain_form(self, work: int) -> bool:
        """Return True if the op is to describe its plain form (C that is quick to compile) instead of its tuned form.  Both compute the
        same bits.

        work  the number of multiply-adds that the kernel does; less if its plain form does several at once
        """
        self.two_forms = True
        self.plain = 0 < self.plain_work >= work
        return self.plain

    def value_name(self, number: int, general: str) -> str:
        """Return a C name for a value of a fused kernel: the name that it has in the program where it is only shown, otherwise `general`.

        number  the number of the value
        """
        return self.values[number] if self.values else general

    def element_name(self, number: int) -> str:
        """Return a C name for an element that is read of a value of a fused kernel.

        number  the number of the value
        """
        return f"{self.values[number]}_value" if self.values else "value"

    def describe(self, buffer: Buffer, shape: str) -> None:
        """Set how the comment over the function shows a buffer's shape, such as `m, k`.  It is part of the kernel's text."""
        self.titles[buffer.name] = shape

    # Expressions other than arithmetic, so that an op need not import them.

    less = staticmethod(less)
    less_equal = staticmethod(less_equal)
    greater = staticmethod(greater)
    greater_equal = staticmethod(greater_equal)
    equal = staticmethod(equal)
    not_equal = staticmethod(not_equal)
    both = staticmethod(both)
    either = staticmethod(either)
    negation = staticmethod(negation)
    select = staticmethod(select)
    cast = staticmethod(cast)
    complex_of = staticmethod(complex_of)
    part_of = staticmethod(part_of)
    literal = staticmethod(literal)
    minimum_of = staticmethod(minimum_of)
    maximum_of = staticmethod(maximum_of)

    # Structure.

    def stage(self, units: Operand, grain: int, name: str = "i") -> _LoopStage:
        """Open a stage (a C function of the kernel) that loops over units of work, which threads share; `as` gives the number of the unit.

        grain  the units that a thread must get to be worth waking
        """
        return _LoopStage(self, units, grain, name)

    def stage_range(self, units: Operand, grain: int) -> _RangeStage:
        """Open a stage (a C function of the kernel) that writes its own loop over units of work; `as` gives the range `(begin, end)` of a
        thread.

        grain  the units that a thread must get to be worth waking
        """
        return _RangeStage(self, units, grain)

    def loop(self, start: Operand, stop: Operand, name: str = "j", step: int = 1, *, independent: bool = False) -> _Loop:
        """Open a loop over `start, start + step, ...` while less than `stop`; `as` gives the index.

        independent  no round reads or writes what another one writes: the compiler need not rule out that buffers share memory
        """
        if step < 1:
            raise ValueError("a loop's step is at least 1")
        return _Loop(self, expression(start, I64), expression(stop, I64), step, name, independent)

    def loop_while(self, condition: Expr) -> _Body:
        """Open a loop that runs while `condition` holds; it is evaluated before each round."""
        return _Body(self, partial(While, condition))

    def when(self, condition: Expr) -> _Body:
        """Open the body of an `if`."""
        if condition.dtype is not BOOL:
            raise TypeError(f"a condition is bool, not {condition.dtype.name}")
        return _Body(self, partial(If, condition))

    def otherwise(self) -> _Otherwise:
        """Open the `else` of the `when` just before."""
        return _Otherwise(self)

    def block(self) -> _Body:
        """Open a scope of its own for locals."""
        return _Body(self, Block)

    # Statements.

    def local(self, value: Operand, name: str = "t", dtype: DType | None = None) -> Expr:
        """Declare a variable of C with its first value, and return it as an expression; `dtype` is needed if the value is a Python number.
        """
        return self._declare(value, name, dtype, constant=False)

    def let(self, value: Operand, name: str = "t", dtype: DType | None = None) -> Expr:
        """Declare a constant of C for a value, and return it as an expression."""
        return self._declare(value, name, dtype, constant=True)

    def array(self, dtype: DType, length: int, name: str = "lane", *, zeroed: bool = False) -> LocalArray:
        """Declare an array on the stack, of the dtype that `dtype` is computed in."""
        name = self._local_name(name)
        self._add(DeclareArray(name, dtype.compute, length, zeroed))
        return LocalArray(dtype.compute, length, name)

    def set(self, target: Expr, value: Operand) -> None:
        """Write `target = value`; the target is a local or an element."""
        lvalue = lvalue_of(target)
        self._written(lvalue)
        self._add(Assign(lvalue, stored(expression(value, lvalue.dtype.compute), lvalue.dtype)))

    def increment(self, target: Expr, value: Operand) -> None:
        """Write `target += value`; the target is a local or an element."""
        lvalue = lvalue_of(target)
        value = expression(value, lvalue.dtype.compute)
        if lvalue.dtype.compute is not lvalue.dtype or lvalue.dtype is BOOL:
            self.set(target, target + value)
            return
        if value.dtype is not lvalue.dtype:
            raise TypeError(f"a value of {value.dtype.name} cannot be added to {lvalue.dtype.name}: cast it")
        self._written(lvalue)
        self._add(Increment(lvalue, value))

    def store(self, out: Buffer, index: Operand, value: Operand) -> None:
        """Write `out[index] = value`, rounded to the dtype of `out` where that is narrower than the one it is computed in."""
        out.written = True
        element = Index(out.pointer, expression(index, I64), out.dtype)
        self._add(Assign(element, stored(expression(value, out.dtype.compute), out.dtype)))

    def call(self, function: str, *arguments: Operand | Buffer | LocalArray, dtype: DType | None = None) -> Expr:
        """Return a call of a function, of `dtype` or, by default, of the dtype of its first argument.

        `sqrt`, `fabs`, `isnan` and their like are C's; `exp` and all others are our own `adjoint_exp_f32`, or `_f64`; a name
        that begins with `adjoint_` is taken as it stands.
        """
        first = next((a for a in arguments if isinstance(a, Expr)), None)
        values = self._arguments(arguments, first.dtype if first is not None else I64)
        if first is None and dtype is None:
            raise TypeError(f"{function}: the dtype of the value is not known")
        kind = first.dtype if first is not None else I64
        if kind.is_complex and not function.startswith("adjoint_"):
            return self._of_complex(function, values, kind, dtype)
        if function in TESTS:
            return Binary("!=", Call(function, values, I32), Integer(0, I32), BOOL)
        if function.startswith("adjoint_"):
            return Call(function, values, dtype or kind)
        if kind.compute is not kind:
            raise TypeError(f"{function} cannot compute in {kind.name}")
        if function in MATHEMATICS:
            if not kind.is_float:
                raise TypeError(f"{function} needs floats, not {kind.name}")
            return Call(function + "f" if kind.size == 4 else function, values, dtype or kind)
        return Call(f"adjoint_{function}_{kind.name}", values, dtype or kind)

    def _of_complex(self, function: str, values: tuple[Expr, ...], kind: DType, dtype: DType | None) -> Expr:
        call = Call(f"adjoint_{function}_{kind.name}", values, I32 if function in TESTS else dtype or kind)
        return Binary("!=", call, Integer(0, I32), BOOL) if function in TESTS else call

    def run(self, function: str, *arguments: Operand | Buffer | LocalArray) -> None:
        """Call a function for its effect.  Its name begins with `adjoint_`; buffers and `buffer.at(i)` are passed as pointers."""
        self._add(Expression(Call(function, self._arguments(arguments, I64), I32)))

    def fail(self, code: int) -> None:
        """Append a statement that ends the kernel with a status other than 0; `Op.failure` turns it into an exception."""
        self._add(Return(Integer(code, I32)))

    def fail_at(self, unit: Expr) -> None:
        """End the kernel with a status that tells which unit failed: its number plus 1, as far as an Int32 has that."""
        self._add(Return(cast(minimum_of(unit, literal(2**31 - 2, I64)) + 1, I32)))

    def comment(self, text: str) -> None:
        """Write a comment; it is part of the kernel's text."""
        self._add(Comment(text))

    # Results, for `emit`.

    def functions(self, name: str) -> list[Function]:
        """Return the stages as C functions, named `name`, or `name_1`, `name_2`, ... if there are several."""
        if not self._stages:
            raise TypeError(f"{name}: lower described no stage")
        prologue = tuple(
            DeclarePointer(b.name, b.dtype, Index(_OPERAND, Integer(b.position), I64), not b.written, b.alone) for b in self._buffers
        ) + tuple(
            Declare(size, I64, Index(_SIZE, Integer(LAUNCH_SIZES + position), I64), True)
            for position, size in enumerate(self._sizes)
        )
        single = len(self._stages) == 1
        return [
            Function(name if single else f"{name}_{number}", PARAMETERS, prologue, body)
            for number, (_, _, body) in enumerate(self._stages, 1)
        ]

    def launches(self) -> list[tuple[int, ...]]:
        """Return the size array of each stage: units, grain, then the sizes in order."""
        sizes = tuple(self._sizes.values())
        return [(units, grain, *sizes) for units, grain, _ in self._stages]

    def stages(self) -> list[tuple[int, tuple[Statement, ...]]]:
        """Return the units and the statements of each stage."""
        return [(units, body) for units, _, body in self._stages]

    def scratch_buffers(self) -> tuple[Buffer, ...]:
        """Return the scratch buffers."""
        return tuple(self._scratch)

    def scratch_bytes(self) -> tuple[int, ...]:
        """Return the bytes of each scratch buffer."""
        return tuple(buffer.type.nbytes for buffer in self._scratch)

    def scratch_dtypes(self) -> tuple[DType, ...]:
        """Return the dtype of each scratch buffer."""
        return tuple(buffer.dtype for buffer in self._scratch)

    # Inside.

    @property
    def _body(self) -> list[Statement]:
        if self._scope is None:
            raise TypeError("statements belong inside `with k.stage(...)`")
        return self._scope.body

    def _add(self, statement: Statement) -> None:
        if self._scope is None:
            raise TypeError("statements belong inside `with k.stage(...)`")
        self._scope.body.append(statement)
        if self.step is not None:
            self.steps[statement] = self.step

    def _begin_stage(self) -> None:
        if self._scope is not None:
            raise TypeError("a stage cannot stand inside another")

    def _declare(self, value: Operand, name: str, dtype: DType | None, *, constant: bool) -> Expr:
        if not isinstance(value, Expr):
            if dtype is None:
                raise TypeError(f"{name}: a Python number needs a dtype")
            value = literal(value, dtype)
        elif dtype is not None and value.dtype is not dtype.compute:
            raise TypeError(f"{name}: a value of {value.dtype.name} for a local of {dtype.name}: cast it")
        name = self._local_name(name)
        self._add(Declare(name, value.dtype, value, constant))
        return Name(name, value.dtype)

    def _arguments(self, arguments: Sequence[Operand | Buffer | LocalArray], dtype: DType) -> tuple[Expr, ...]:
        return tuple(a.pointer if isinstance(a, Buffer | LocalArray) else expression(a, dtype) for a in arguments)

    def _written(self, lvalue: Expr) -> None:
        """Record that the kernel writes to the operand of this element, so that its pointer is not `const`."""
        if isinstance(lvalue, Index):
            for buffer in self._buffers:
                if buffer.pointer is lvalue.base:
                    buffer.written = True

    def _local_name(self, name: str) -> str:
        if self._scope is None:
            raise TypeError("locals belong inside `with k.stage(...)`")
        name = base = identifier(name)
        number = 0
        while name in self._active or name in self._fixed or name in RESERVED:
            number += 1
            name = f"{base}_{number}"
        self._active.add(name)
        self._ever.add(name)
        self._scope.names.append(name)
        return name

    def _fixed_name(self, name: str) -> str:
        name = base = identifier(name)
        number = 0
        while name in self._fixed or name in self._ever or name in RESERVED:
            number += 1
            name = f"{base}_{number}"
        self._fixed.add(name)
        return name

    def _value(self, units: Operand) -> int:
        """Return a number of units as an int: the expression evaluated with the present sizes."""
        if not isinstance(units, Expr):
            return units if type(units) is Size else int(units)
        match units:
            case Integer(value=value):
                return value
            case Name(name=name) if name in self._sizes:
                return self._sizes[name]
            case Binary(operator=operator, left=left, right=right) if operator in "+-*/%":
                a, b = self._value(left), self._value(right)
                match operator:
                    case "+":
                        return a + b
                    case "-":
                        return a - b
                    case "*":
                        return a * b
                    case "/":
                        return a // b
                    case _:
                        return a % b
            case _:
                raise TypeError("units are computed from sizes and numbers alone")
