"""Time a fresh process that imports."""

import adjoint  # noqa: F401
