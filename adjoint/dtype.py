"""`mindspore.dtype`: element types; see `adjoint.common.dtype`."""

from adjoint.common.dtype import *  # noqa: F403
