"""The errors in IR text and in the definitions of operators: one entry each, with a stable code and the page that explains it.

E100 to E119 come from the parser, E120 to E139 from the verifier, E170 to E179 from operators of the user's own.  `adjoint explain E103`
prints `Mistake.page`.
"""

from __future__ import annotations

from typing import Final

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import CompileError, Diagnostic, Loc, Note, SourceText

__all__ = ["MISTAKES", "Mistake"]


@dataclass(frozen=True, slots=True)
class Mistake:
    """Describes a kind of error in IR text.

    code         stable: scripts and documents may refer to it
    title        a few words, the first line of the message
    explanation  the cause and the fix, with an example
    """

    code: str
    title: str
    explanation: str

    @property
    def page(self) -> str:
        """Return the help page as text."""
        return f"{self.code}: {self.title}\n\n{self.explanation.strip()}\n"

    def at(
        self,
        loc: Loc,
        label: str,
        source: SourceText | None = None,
        *,
        notes: tuple[Note, ...] = (),
        help: str = "",
    ) -> CompileError:
        """Return the exception to raise for this error, which shows a location.

        loc     the location
        label   the text to show at the location
        source  the text in which the location is; None to read the file that it names
        notes   further places to show
        help    how to fix the error; "" for none
        """
        return CompileError(Diagnostic(self.code, self.title, label, loc, notes, help, source))


MISTAKES: Final[dict[str, Mistake]] = {}
"""All kinds of errors, by code."""


def _mistake(code: str, title: str, explanation: str) -> Mistake:
    if code in MISTAKES:
        raise ValueError(f"there are two mistakes called {code}")
    MISTAKES[code] = Mistake(code, title, explanation)
    return MISTAKES[code]


SYNTAX = _mistake("E100", "syntax error", """
The text does not follow the grammar of the IR (`docs/ir.md`). The message names what was found and what could stand
there. A function reads

    func @double(x: f32[3]) -> f32[3] {
      y: f32[3] = add(x, x)
      return y
    }

Every result has its type at its name; a function ends with `return`, a region within it with `yield`.
""")

CHARACTER = _mistake("E101", "unexpected character", """
The text has a character that no word of the language begins with. Names consist of letters, digits and `_`, followed by versions
such as `.1` and by `'` for a cotangent; symbols begin with `@`; strings are in double quotes; `#` begins a comment.
""")

UNKNOWN_OP = _mistake("E102", "unknown op", """
No op has this name. The name of an op whose effect must keep its place ends in `!`, which is part of the name:
`callback! @log(x)`, `write! @w(x)`. `docs/ir.md` lists all ops.
""")

UNKNOWN_VALUE = _mistake("E103", "unknown value", """
A name is used that no earlier line defines in this region or in one around it. A region sees the values of the regions around it, but
a value that is defined inside a region is visible only there: yield it.

    y: f32 = if c {
      t: f32 = neg(x)
      yield t
    } else {
      yield x
    }                      # `t` is not visible from here on, `y` is
""")

DUPLICATE_NAME = _mistake("E104", "name defined twice", """
Within a function every name is defined once, in sibling regions too. Versions of one variable are written `h`, `h.1`,
`h.2`.
""")

WRONG_TYPE = _mistake("E105", "type does not match", """
The type written at a name is not the type that the op gives. Types are inferred; what is written is checked.

    y: f32[3] = sum(x, axes=[0], keepdims=true)       # x: f32[2, 3] gives f32[1, 3]
""")

WRONG_ATTRIBUTE = _mistake("E106", "wrong attribute", """
An attribute is not one of the op's, is missing, is given twice, or has a value of another kind. Attributes follow the
operands as `name=value`; a value is a number, `true`, `false`, a string, a type, or a list of these in brackets.
""")

WRONG_COUNT = _mistake("E107", "wrong count", """
The number of operands, results or carried values is not the one that the op or the function takes.
""")

WRONG_OPERANDS = _mistake("E108", "operands do not fit", """
The op does not take operands of these types. Ops never convert: both operands of an `add` must have the same dtype; use `cast`
to convert. Shapes broadcast as in NumPy.
""")

UNKNOWN_SYMBOL = _mistake("E109", "unknown symbol", """
An `@symbol` is used that the module does not declare, or declares as something else. Parameters, hosts and functions are
declared at the top level:

    param @w : f32[4, 3]
    host @clip = "train:clip"
    func @f(x: f32) -> f32 { ... }
""")

DUPLICATE_SYMBOL = _mistake("E110", "symbol declared twice", """
A module declares each `@symbol` once, whether it is a parameter, a host or a function.
""")

BAD_LITERAL = _mistake("E111", "bad literal", """
A constant cannot be a value of the dtype it names, or no dtype has that name. Literals are written with their dtype:
`0.5_f32`, `-3_i64`, `inf_f64`, `nan_bf16`, `true`.
""")

TOO_DEEP = _mistake("E112", "nested too deeply", """
Regions, types or locations are nested more deeply than the parser supports. Move inner regions into functions of their
own, and `call` them.
""")

BAD_DIMENSION = _mistake("E113", "bad dimension", """
A dimension is a number that is not negative, a name, or a sum of products of these: `f32[2*b + 1, 3]`.
""")

UNKNOWN_TYPE = _mistake("E114", "unknown type", """
No type has this name. Tensor types begin with a dtype: bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64;
then follow the dimensions: `f32[b, 3]`; `f32` alone is a scalar. Other types: `tuple<f32, i64>`, `stack<f32[3]>`.
""")

MISSING_SYMBOL = _mistake("E115", "symbol missing or misplaced", """
Some ops refer to a parameter, a host or a function, and take its `@symbol` first: `read @w`, `callback! @log(x)`. Others
take none.
""")

BROKEN_STRUCTURE = _mistake("E120", "malformed structure", """
The verifier found a node that is not built as its op requires: wrong number of operands, results or regions, or an
effect that is not marked by `!`. Texts are checked when they are parsed; this comes from a pass.
""")

NOT_VISIBLE = _mistake("E121", "value not visible", """
A value is used where it is not defined: before its definition, outside the region that defines it, or in a function other than
its own. Functions are closed: they see their parameters, symbols and literals only.
""")

DEFINED_TWICE = _mistake("E122", "value defined twice", """
Two nodes or regions define the same value. A pass that copies a node must make new values for its results.
""")

TYPE_DIFFERS = _mistake("E123", "type differs from inference", """
The type of a value is not the one that its op infers from the operands, or the op does not accept the operands.
""")

STACK_REUSED = _mistake("E124", "stack used twice", """
A value of type `stack<T>` is used at most once on any path, so that it can be updated in place. `push` and `pop` give
the new stack: use that from then on. A loop takes a stack in as a carried value; its body must not use a stack from outside, and the
test of a `while` must not use one at all.
""")

REGION_RESULTS = _mistake("E125", "region results do not match", """
The values that a region yields do not match the op around it: count and types must be the same for both
branches of an `if`, for the carried values of a loop, and for the results of a `cell`; the test of a `while` yields one
bool.
""")

SYMBOL_MISSING = _mistake("E126", "symbol not declared", """
A node or a function refers to an `@symbol` that the module does not declare, or declares as something else: `read` and
`write!` take a parameter, `call` and `vjp` a function, hooks and callbacks a host.
""")

BAD_CONSTANT = _mistake("E127", "bad constant", """
A literal is not a scalar, or its value is not one of its dtype.
""")

TRACE_MISUSED = _mistake("E128", "misused trace", """
Only `record` returns a value of type `trace<..>`, and only `pull!` and `along!` use it, in the same region or inside of it. It cannot be an
argument or result of a function, be yielded by a region, be carried by a loop, or be put into a stack or tuple.

    y: f32, t: trace<f32 -> f32[3]> = record of=1 carry (x: f32[3] = a) { ... }
    x': f32[3] = pull!(t, 1.0_f32)

To use a gradient outside of a branch or a loop, pull inside, and yield the gradient.
""")

FORMULA = _mistake("E170", "mistake in the formula of an operator", """
The argument `c` of `adjoint.operator` is a formula in a small part of C: the names of the operands and attributes, numbers, `+ - * /`,
comparisons, `&& || !`, `condition ? a : b`, and the mathematical functions that the message lists. With `row=True` it consists of
statements: local variables, assignments, `for (int i = 0; i < n; i++)` and `if`.

    @adjoint.operator("sqmul(x, y, *, k=1.0)", c="x * x * y * k")
    def sqmul(x, y, *, k): return x * x * y * k

The caret shows what a formula cannot have, or what does not fit.
""")

BPROP = _mistake("E171", "mistake in the gradient of an operator", """
The `bprop` of an operator takes the operands, the result and its gradient, and returns a gradient for each operand. It is called once for
each combination of dtypes and shapes, on Tensors without numbers: the operators that it calls become the gradient. So it cannot use the
numbers of a Tensor in Python, as in `if x > 0`, `float(x)` or `x.asnumpy()`, read a Tensor from outside, or print. Choose by
`ops.where(x > 0, a, b)`, and pass other Tensors to the operator as operands.
""")
