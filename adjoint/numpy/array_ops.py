"""Functions that rearrange arrays and select elements, at MindSpore's module path."""

from adjoint.numpy import joining, picking, shapes
from adjoint.numpy.joining import *  # noqa: F403
from adjoint.numpy.picking import *  # noqa: F403
from adjoint.numpy.sets import argwhere, intersect1d, unique
from adjoint.numpy.shapes import *  # noqa: F403

__all__ = ["argwhere", "intersect1d", "unique"]
__all__ += joining.__all__
__all__ += picking.__all__
__all__ += shapes.__all__
