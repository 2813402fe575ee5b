"""Test operators and programs: `check_operator(op)`, `check_gradients(fn, *inputs)`, `compare(fn, *inputs)`."""

from adjoint.ir.op import Sample
from adjoint.ops.own_operators import operands_sample as sample
from adjoint.testing import agreement, cases, check, gradients, kernels
from adjoint.testing.check import OperatorReport, check_operator
from adjoint.testing.gradient_check import GradientKink, GradientMismatch, GradientReport, check_gradients
from adjoint.testing.mode_comparison import ModeDifference, ModeReport, compare
from adjoint.testing.rules import Culprit, Kink

__all__ = [
    "Culprit", "GradientKink", "GradientMismatch", "GradientReport", "Kink", "ModeDifference", "ModeReport", "OperatorReport", "Sample",
    "agreement", "cases", "check", "check_gradients", "check_operator", "compare", "gradients", "kernels", "sample",
]
