"""`mindspore.dtype`: element types; see `adjoint.common.dtype`."""

from adjoint.common.dtype import *  # noqa: F403
from adjoint.common.dtype import bool as bool
