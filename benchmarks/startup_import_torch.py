"""Time a fresh process that imports."""

import torch  # noqa: F401
