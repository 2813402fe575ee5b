"""`mindspore.mint.nn`: layers with PyTorch's arguments."""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.mint.nn import activation, convolution, functional, linear, losses, normalization, padding, patches, pooling
from adjoint.mint.nn.activation import *  # noqa: F403
from adjoint.mint.nn.convolution import *  # noqa: F403
from adjoint.mint.nn.linear import *  # noqa: F403
from adjoint.mint.nn.losses import *  # noqa: F403
from adjoint.mint.nn.normalization import *  # noqa: F403
from adjoint.mint.nn.padding import *  # noqa: F403
from adjoint.mint.nn.patches import *  # noqa: F403
from adjoint.mint.nn.pooling import *  # noqa: F403
from adjoint.runtime.cells.cell import Cell

__all__ = ["Cell", "functional"]
__all__ += activation.__all__
__all__ += convolution.__all__
__all__ += linear.__all__
__all__ += losses.__all__
__all__ += normalization.__all__
__all__ += padding.__all__
__all__ += patches.__all__
__all__ += pooling.__all__

INSTEAD = {
    "SyncBatchNorm": "`mindspore.nn.SyncBatchNorm`, with its arguments",
    "MaxUnpool2d": "write it with functions of `ops` that are here",
}
"""What to write instead of layers of MindSpore that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
