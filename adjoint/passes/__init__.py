"""Transforms of the IR.  Importing this package makes every pass known to `Pipeline.parse`."""

from adjoint.passes import autodiff, cse, dce, differentiate, inline, lift_state, simplify, specialize

__all__ = ["autodiff", "cse", "dce", "differentiate", "inline", "lift_state", "simplify", "specialize"]
