"""Test operators and programs: `check_operator(op)`, `check_gradients(fn, *inputs)`."""

from adjoint.ir.op import Sample
from adjoint.ops.own_operators import operands_sample as sample
from adjoint.testing import agreement, cases, check, gradients, kernels
from adjoint.testing.check import OperatorReport, check_operator
from adjoint.testing.gradient_check import GradientKink, GradientMismatch, GradientReport, check_gradients
from adjoint.testing.rules import Culprit, Kink

__all__ = [
    "Culprit", "GradientKink", "GradientMismatch", "GradientReport", "Kink", "OperatorReport", "Sample", "agreement", "cases", "check",
    "check_gradients", "check_operator", "gradients", "kernels", "sample",
]
