"""`mindspore.mint`: functions, layers and optimisers with PyTorch's arguments.

    import adjoint.mint as mint
    mint.max(mint.cat((x, y), dim=1), 1)
"""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.mint import arithmetic, creation, distributed, linalg, nn, optim, picking, products, reductions, shapes, special
from adjoint.mint.arithmetic import *  # noqa: F403
from adjoint.mint.creation import *  # noqa: F403
from adjoint.mint.linalg import inv, vector_norm
from adjoint.mint.nn.functional import conv2d
from adjoint.mint.nn.functional import softmax as softmax_ext
from adjoint.mint.picking import *  # noqa: F403
from adjoint.mint.products import *  # noqa: F403
from adjoint.mint.reductions import *  # noqa: F403
from adjoint.mint.shapes import *  # noqa: F403
from adjoint.ops.arguments import operand, wrong
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["conv2d", "distributed", "flatten_ext", "inverse", "item", "linalg", "nn", "norm", "optim", "softmax_ext", "special"]
__all__ += arithmetic.__all__
__all__ += creation.__all__
__all__ += picking.__all__
__all__ += products.__all__
__all__ += reductions.__all__
__all__ += shapes.__all__

_DEVICES = "it is for other devices: `mint.nn` has the layers"
INSTEAD = {
    "npu_gelu": "`mint.nn.functional.gelu`", "conv_tbc": "`mint.nn.functional.conv1d` of the transposed tensor",
    "addr_": "`x.copy_(beta * x + alpha * mint.outer(a, b))`",
    "batch_norm_stats": _DEVICES, "batch_norm_elemt": _DEVICES, "batch_norm_gather_stats_with_counts": _DEVICES,
}
"""What to write instead of functions of MindSpore that are missing here."""

inverse, flatten_ext = inv, shapes.flatten


def item(input: Any) -> bool | int | float:
    """Return the only element of a tensor as a Python number; in a graph a run-time one.

    TypeError if it is not a Tensor, RuntimeError if it has several elements or none.
    """
    x = operand("Item", input)
    if x.size != 1:
        raise wrong("Item", "input", "of one element", x, RuntimeError)
    return x.item()


@fusible
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the norm of order `p` ("fro" is 2) over axes; without `dim`, of all elements as one vector; with "nuc", of matrices."""
    if isinstance(p, str) and p == "nuc":
        return linalg.matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if isinstance(p, str) and p == "fro" else p, dim, keepdim, dtype=dtype)


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
