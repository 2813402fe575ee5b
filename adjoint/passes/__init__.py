"""Transforms of the IR.  Importing this package makes every pass known to `Pipeline.parse`."""

from adjoint.passes import autodiff, dce, inline

__all__ = ["autodiff", "dce", "inline"]
