"""Mathematical functions, at MindSpore's module path."""

from adjoint.numpy import differences, elementwise, histograms, polynomials, products, reductions, transcendental
from adjoint.numpy.conversion import result_type
from adjoint.numpy.differences import *  # noqa: F403
from adjoint.numpy.dtypes import promote_types
from adjoint.numpy.elementwise import *  # noqa: F403
from adjoint.numpy.histograms import *  # noqa: F403
from adjoint.numpy.picking import ravel_multi_index
from adjoint.numpy.polynomials import *  # noqa: F403
from adjoint.numpy.products import *  # noqa: F403
from adjoint.numpy.reductions import *  # noqa: F403
from adjoint.numpy.transcendental import *  # noqa: F403

__all__ = ["promote_types", "ravel_multi_index", "result_type"]
__all__ += differences.__all__
__all__ += elementwise.__all__
__all__ += histograms.__all__
__all__ += polynomials.__all__
__all__ += products.__all__
__all__ += reductions.__all__
__all__ += transcendental.__all__
