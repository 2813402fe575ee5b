"""Element types by MindSpore's names; see `adjoint.common.dtype`."""

from adjoint.common.dtype import *  # noqa: F403
