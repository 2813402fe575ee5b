"""`mindspore.numpy`: the operators under NumPy's names, for Tensors, with gradients and in graphs.

    import adjoint.numpy as mnp
    mnp.stack((mnp.arange(3.0), mnp.ones(3)))

Python numbers and nested lists become Tensors of Bool, Int32 or Float32.
"""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.numpy import array_creations, array_ops, dtypes, fft, logic_ops, math_ops
from adjoint.numpy.array_creations import *  # noqa: F403
from adjoint.numpy.array_ops import *  # noqa: F403
from adjoint.numpy.dtypes import *  # noqa: F403
from adjoint.numpy.logic_ops import *  # noqa: F403
from adjoint.numpy.math_ops import *  # noqa: F403

__all__ = ["array_creations", "array_ops", "dtypes", "fft", "logic_ops", "math_ops"]
__all__ += array_creations.__all__
__all__ += array_ops.__all__
__all__ += dtypes.__all__
__all__ += logic_ops.__all__
__all__ += math_ops.__all__

INSTEAD = {
    "sort": "`ops.sort`, which gives the elements and their places", "argsort": "`ops.argsort`",
    "prod": "`ops.prod`", "all": "`ops.all`", "any": "`ops.any`", "median": "`ops.median`", "einsum": "`ops.einsum`",
    "ndarray": "`mindspore.Tensor`", "random": "`rand`, `randn` and `randint` of this module",
    "linalg": "`norm`, `multi_dot` and `matrix_power` of this module",
}
"""What to write instead of names of NumPy that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
