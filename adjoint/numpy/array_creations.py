"""Functions that create arrays, at MindSpore's module path."""

from adjoint.numpy import creation, frames, grids, spacing, triangles, windows
from adjoint.numpy.creation import *  # noqa: F403
from adjoint.numpy.frames import *  # noqa: F403
from adjoint.numpy.grids import *  # noqa: F403
from adjoint.numpy.histograms import histogram_bin_edges
from adjoint.numpy.spacing import *  # noqa: F403
from adjoint.numpy.triangles import *  # noqa: F403
from adjoint.numpy.windows import *  # noqa: F403

__all__ = ["histogram_bin_edges"]
__all__ += creation.__all__
__all__ += frames.__all__
__all__ += grids.__all__
__all__ += spacing.__all__
__all__ += triangles.__all__
__all__ += windows.__all__
