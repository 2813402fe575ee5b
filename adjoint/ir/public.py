"""What users call an op: the names and the parameters from which `ops` makes its function, its Primitive and its methods."""

from __future__ import annotations

from typing import Literal

from adjoint.foundation.dataclass import dataclass

__all__ = ["Public"]


@dataclass(frozen=True)
class Public:
    """The public names of an op that have one list of parameters; it stands in the class of the op:

        public = Public("sin(input)")                   ops.sin(x), ops.Sin()(x), x.sin()
        public = Public("power(x, exponent=2.0)")       ops.power(x, 3.0), ops.Power(3.0)(x), x.power(3.0)

    signature   the function: its name in `ops`, then a parameter for each operand and for each attribute of the op, in their order.
                A parameter may have another name than the attribute.  Parameters after `*` are given by name only.
    functions   further names of the function in `ops`, separated by spaces
    methods     the names under which the function is a method of Tensor, separated by spaces; one that ends in `_` writes the result
                into the tensor.  None: the name of the function
    primitives  names of the Primitive in `ops`, which is made with the attributes and called on the operands.  None: the name of the
                op's class
    operands    what an operand may be:
                "tensors"    a Tensor of a dtype that the op takes
                "floats"     a Tensor of a floating point type; TypeError for another one
                "to floats"  a Tensor; integers and bools become Float32
                "to bools"   a Tensor or a number; those other than 0 are true
                "promoted"   a Tensor or a number, one of two; they are brought to one dtype (`runtime/tensor/promotion.py`)
                None: "promoted" for an elementwise op of two operands, else "tensors"

    An op whose function has other parameters than its Primitive has two of these.  A function that does more than to apply one op is
    written by hand, in `ops`.
    """

    signature: str
    functions: str = ""
    methods: str | None = None
    primitives: str | None = None
    operands: Literal["tensors", "floats", "to floats", "to bools", "promoted"] | None = None

    @property
    def name(self) -> str:
        """The name of the function in `ops`, as the signature gives it."""
        return self.signature.partition("(")[0]

    @property
    def function_names(self) -> tuple[str, ...]:
        """All names of the function in `ops`; the first is the one in the signature."""
        return (self.name, *self.functions.split())

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names under which the function is a method of Tensor; empty if it is none."""
        return (self.name,) if self.methods is None else tuple(self.methods.split())

    def primitive_names(self, kind: type) -> tuple[str, ...]:
        """Return the names of the Primitive in `ops`, for the class of the op."""
        return (kind.__name__,) if self.primitives is None else tuple(self.primitives.split())
