"""Operators as objects: each is made with its attributes and then called on tensors.

Unless its docstring says otherwise, a class computes what the function of the same name does.
"""

from typing import TYPE_CHECKING, Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.ops.index import PRIMITIVES

if TYPE_CHECKING:
    from adjoint.ops.primitives import (
        boxes,
        colours,
        convolution,
        criteria,
        custom,
        devices,
        effects,
        elementwise,
        fourier,
        fractional,
        fused_steps,
        generated,
        indices,
        linear_systems,
        loops,
        matrices,
        network,
        optimizers,
        patches,
        pooling,
        reductions,
        resizing,
        row_steps,
        scattering,
        sequences,
        shaping,
        sparse,
        special,
        summaries,
    )
    from adjoint.ops.primitives.boxes import *  # noqa: F403
    from adjoint.ops.primitives.colours import *  # noqa: F403
    from adjoint.ops.primitives.convolution import *  # noqa: F403
    from adjoint.ops.primitives.criteria import *  # noqa: F403
    from adjoint.ops.primitives.custom import *  # noqa: F403
    from adjoint.ops.primitives.devices import *  # noqa: F403
    from adjoint.ops.primitives.effects import *  # noqa: F403
    from adjoint.ops.primitives.elementwise import *  # noqa: F403
    from adjoint.ops.primitives.fourier import *  # noqa: F403
    from adjoint.ops.primitives.fractional import *  # noqa: F403
    from adjoint.ops.primitives.fused_steps import *  # noqa: F403
    from adjoint.ops.primitives.generated import *  # noqa: F403
    from adjoint.ops.primitives.indices import *  # noqa: F403
    from adjoint.ops.primitives.linear_systems import *  # noqa: F403
    from adjoint.ops.primitives.loops import *  # noqa: F403
    from adjoint.ops.primitives.matrices import *  # noqa: F403
    from adjoint.ops.primitives.network import *  # noqa: F403
    from adjoint.ops.primitives.optimizers import *  # noqa: F403
    from adjoint.ops.primitives.patches import *  # noqa: F403
    from adjoint.ops.primitives.pooling import *  # noqa: F403
    from adjoint.ops.primitives.reductions import *  # noqa: F403
    from adjoint.ops.primitives.resizing import *  # noqa: F403
    from adjoint.ops.primitives.row_steps import *  # noqa: F403
    from adjoint.ops.primitives.scattering import *  # noqa: F403
    from adjoint.ops.primitives.sequences import *  # noqa: F403
    from adjoint.ops.primitives.shaping import *  # noqa: F403
    from adjoint.ops.primitives.sparse import *  # noqa: F403
    from adjoint.ops.primitives.special import *  # noqa: F403
    from adjoint.ops.primitives.summaries import *  # noqa: F403

__all__: list[str] = []
if TYPE_CHECKING:
    __all__ += boxes.__all__
    __all__ += colours.__all__
    __all__ += convolution.__all__
    __all__ += criteria.__all__
    __all__ += custom.__all__
    __all__ += devices.__all__
    __all__ += effects.__all__
    __all__ += elementwise.__all__
    __all__ += fourier.__all__
    __all__ += fractional.__all__
    __all__ += fused_steps.__all__
    __all__ += generated.__all__
    __all__ += indices.__all__
    __all__ += linear_systems.__all__
    __all__ += loops.__all__
    __all__ += matrices.__all__
    __all__ += network.__all__
    __all__ += optimizers.__all__
    __all__ += patches.__all__
    __all__ += pooling.__all__
    __all__ += reductions.__all__
    __all__ += resizing.__all__
    __all__ += row_steps.__all__
    __all__ += scattering.__all__
    __all__ += sequences.__all__
    __all__ += shaping.__all__
    __all__ += sparse.__all__
    __all__ += special.__all__
    __all__ += summaries.__all__
else:
    __all__ += " ".join(PRIMITIVES.values()).split()

LOADED_WHEN_USED = lazy.homes(__name__, PRIMITIVES)


def __getattr__(name: str) -> Any:
    found = lazy.found(globals(), name)
    if found is None:
        raise missing_name(__name__, name, globals())
    return found


def __dir__() -> list[str]:
    return lazy.listed(globals())
