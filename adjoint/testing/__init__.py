"""Test operators, those of the library and the user's own: `check_operator(op)`."""

from adjoint.ir.op import Sample
from adjoint.ops.own_operators import operands_sample as sample
from adjoint.testing import agreement, cases, check, gradients, kernels
from adjoint.testing.check import OperatorReport, check_operator

__all__ = ["OperatorReport", "Sample", "agreement", "cases", "check", "check_operator", "gradients", "kernels", "sample"]
