"""The operators as functions: `from adjoint.ops import functional as F; F.relu(x)`."""

from typing import TYPE_CHECKING, Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.ops.index import FUNCTIONS

if TYPE_CHECKING:
    from adjoint.ops import (
        activations,
        arithmetic,
        bands,
        blocks,
        boxes,
        convolution,
        counts,
        creation,
        ctc,
        deformable,
        derivatives,
        diagonals,
        distances,
        floats,
        fourier,
        fractional,
        frames,
        generated,
        integers,
        linear,
        linear_systems,
        logsums,
        losses,
        margin_losses,
        matrices,
        normalization,
        norms,
        ordering,
        parts,
        patches,
        picking,
        pooling,
        random_laws,
        random_numbers,
        reduction,
        resizing,
        running,
        sampling,
        scalars,
        scattering,
        segments,
        shapes,
        sparse,
        sparse_elementwise,
        special,
        window_functions,
    )
    from adjoint.ops.activations import *  # noqa: F403
    from adjoint.ops.arithmetic import *  # noqa: F403
    from adjoint.ops.bands import *  # noqa: F403
    from adjoint.ops.blocks import *  # noqa: F403
    from adjoint.ops.boxes import *  # noqa: F403
    from adjoint.ops.composite import partial
    from adjoint.ops.convolution import *  # noqa: F403
    from adjoint.ops.counts import *  # noqa: F403
    from adjoint.ops.creation import *  # noqa: F403
    from adjoint.ops.ctc import *  # noqa: F403
    from adjoint.ops.deformable import *  # noqa: F403
    from adjoint.ops.derivatives import *  # noqa: F403
    from adjoint.ops.diagonals import *  # noqa: F403
    from adjoint.ops.distances import *  # noqa: F403
    from adjoint.ops.floats import *  # noqa: F403
    from adjoint.ops.fourier import *  # noqa: F403
    from adjoint.ops.fractional import *  # noqa: F403
    from adjoint.ops.frames import *  # noqa: F403
    from adjoint.ops.further_names import dtype, reduce_max, reduce_mean, reduce_min, reduce_sum, tensor_div
    from adjoint.ops.generated import *  # noqa: F403
    from adjoint.ops.integers import *  # noqa: F403
    from adjoint.ops.linear import *  # noqa: F403
    from adjoint.ops.linear_systems import *  # noqa: F403
    from adjoint.ops.logsums import *  # noqa: F403
    from adjoint.ops.losses import *  # noqa: F403
    from adjoint.ops.margin_losses import *  # noqa: F403
    from adjoint.ops.matrices import *  # noqa: F403
    from adjoint.ops.normalization import *  # noqa: F403
    from adjoint.ops.norms import *  # noqa: F403
    from adjoint.ops.ordering import *  # noqa: F403
    from adjoint.ops.parts import *  # noqa: F403
    from adjoint.ops.patches import *  # noqa: F403
    from adjoint.ops.picking import *  # noqa: F403
    from adjoint.ops.pooling import *  # noqa: F403
    from adjoint.ops.random_laws import *  # noqa: F403
    from adjoint.ops.random_numbers import *  # noqa: F403
    from adjoint.ops.reduction import *  # noqa: F403
    from adjoint.ops.resizing import *  # noqa: F403
    from adjoint.ops.running import *  # noqa: F403
    from adjoint.ops.sampling import *  # noqa: F403
    from adjoint.ops.scalars import *  # noqa: F403
    from adjoint.ops.scattering import *  # noqa: F403
    from adjoint.ops.segments import *  # noqa: F403
    from adjoint.ops.shapes import *  # noqa: F403
    from adjoint.ops.sparse import *  # noqa: F403
    from adjoint.ops.sparse_elementwise import *  # noqa: F403
    from adjoint.ops.special import *  # noqa: F403
    from adjoint.ops.state import assign, assign_add, assign_sub, print_
    from adjoint.ops.window_functions import *  # noqa: F403
    from adjoint.runtime.gradients.grad import get_grad, grad, value_and_grad
    from adjoint.runtime.gradients.products import jvp, linearize, vjp

__all__ = [
    "assign", "assign_add", "assign_sub", "dtype", "get_grad", "grad", "jvp", "linearize", "partial", "print_", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_sum", "tensor_div", "value_and_grad", "vjp",
]
if TYPE_CHECKING:
    __all__ += activations.__all__
    __all__ += arithmetic.__all__
    __all__ += boxes.__all__
    __all__ += convolution.__all__
    __all__ += creation.__all__
    __all__ += linear.__all__
    __all__ += linear_systems.__all__
    __all__ += logsums.__all__
    __all__ += losses.__all__
    __all__ += margin_losses.__all__
    __all__ += matrices.__all__
    __all__ += normalization.__all__
    __all__ += norms.__all__
    __all__ += ordering.__all__
    __all__ += random_laws.__all__
    __all__ += random_numbers.__all__
    __all__ += reduction.__all__
    __all__ += resizing.__all__
    __all__ += scalars.__all__
    __all__ += scattering.__all__
    __all__ += shapes.__all__
    __all__ += sparse.__all__
    __all__ += sparse_elementwise.__all__
    __all__ += special.__all__
    __all__ += ctc.__all__
    __all__ += deformable.__all__
    __all__ += derivatives.__all__
    __all__ += diagonals.__all__
    __all__ += generated.__all__
    __all__ += parts.__all__
    __all__ += patches.__all__
    __all__ += picking.__all__
    __all__ += pooling.__all__
    __all__ += floats.__all__
    __all__ += fourier.__all__
    __all__ += fractional.__all__
    __all__ += frames.__all__
    __all__ += integers.__all__
    __all__ += counts.__all__
    __all__ += running.__all__
    __all__ += bands.__all__
    __all__ += blocks.__all__
    __all__ += distances.__all__
    __all__ += sampling.__all__
    __all__ += segments.__all__
    __all__ += window_functions.__all__
else:
    __all__ += " ".join(FUNCTIONS.values()).split()

LOADED_WHEN_USED = {
    **lazy.homes("adjoint.ops", FUNCTIONS), "partial": "adjoint.ops.composite",
    **dict.fromkeys(("dtype", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "tensor_div"), "adjoint.ops.further_names"),
    **dict.fromkeys(("assign", "assign_add", "assign_sub", "print_"), "adjoint.ops.state"),
    **dict.fromkeys(("get_grad", "grad", "value_and_grad"), "adjoint.runtime.gradients.grad"),
    **dict.fromkeys(("jvp", "linearize", "vjp"), "adjoint.runtime.gradients.products"),
}
"""The modules of all names."""


def __getattr__(name: str) -> Any:
    if name in LOADED_WHEN_USED:
        return lazy.load(globals(), name)
    raise missing_name(__name__, name, globals())


def __dir__() -> list[str]:
    return lazy.listed(globals())
