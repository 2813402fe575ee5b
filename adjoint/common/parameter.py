"""Parameters; see `adjoint.runtime.parameter`."""

from adjoint.runtime.parameter import Parameter, ParameterTuple

__all__ = ["Parameter", "ParameterTuple"]
