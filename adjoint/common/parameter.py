"""Parameters; see `adjoint.runtime.tensor.parameter`."""

from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple

__all__ = ["Parameter", "ParameterTuple"]
