"""All ops that act element by element, under one name; each family of them has its module."""

from __future__ import annotations

from adjoint.ir.ops.activation import Gelu, GeluGradient, Relu, ReluGradient, Sigmoid, SigmoidGradient, Softplus
from adjoint.ir.ops.arithmetic import (
    Abs,
    Add,
    Ceil,
    Div,
    Floor,
    FloorDiv,
    Maximum,
    Minimum,
    Mod,
    Mul,
    Neg,
    Pow,
    Round,
    Rsqrt,
    Sign,
    Sqrt,
    Square,
    Sub,
)
from adjoint.ir.ops.comparison import (
    Comparison,
    Equal,
    Greater,
    GreaterEqual,
    Inspection,
    IsFinite,
    IsInf,
    IsNan,
    Less,
    LessEqual,
    NotEqual,
)
from adjoint.ir.ops.conversion import Cast, Identity, Select, StopGradient
from adjoint.ir.ops.logic import (
    Bitwise,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Logical,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    ShiftLeft,
    ShiftRight,
)
from adjoint.ir.ops.pointwise import Binary, Elementwise, Unary
from adjoint.ir.ops.transcendental import (
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atan2,
    Atanh,
    Cos,
    Cosh,
    Erf,
    Erfc,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log1p,
    Log2,
    Log10,
    Sin,
    Sinh,
    Tan,
    Tanh,
    TanhGradient,
)

__all__ = [
    "Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "Binary", "Bitwise", "BitwiseAnd",
    "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "Ceil", "Comparison", "Cos", "Cosh", "Div", "Elementwise",
    "Equal", "Erf", "Erfc", "Exp", "Exp2", "Expm1", "Floor", "FloorDiv", "Gelu", "GeluGradient", "Greater",
    "GreaterEqual", "Identity", "Inspection", "IsFinite", "IsInf", "IsNan", "Less", "LessEqual", "Log", "Log10",
    "Log1p", "Log2", "Logical", "LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "Maximum", "Minimum", "Mod",
    "Mul", "Neg", "NotEqual", "Pow", "Relu", "ReluGradient", "Round", "Rsqrt", "Select", "ShiftLeft", "ShiftRight",
    "Sigmoid", "SigmoidGradient", "Sign", "Sin", "Sinh", "Softplus", "Sqrt", "Square", "StopGradient", "Sub", "Tan",
    "Tanh", "TanhGradient", "Unary",
]
