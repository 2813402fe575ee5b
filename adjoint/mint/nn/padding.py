"""Layers that pad the last axes."""

from __future__ import annotations

from typing import Any

from adjoint.nn.padding import (
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad2d,
)

__all__ = [
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]


class ZeroPad1d(ConstantPad1d):
    """Zeros before and after the last axis: one int, or (before, after)."""

    def __init__(self, padding: Any):
        super().__init__(padding, 0.0)


class ZeroPad3d(ConstantPad3d):
    """Zeros around the last three axes: one int, or three pairs (before, after) that begin with the last axis."""

    def __init__(self, padding: Any):
        super().__init__(padding, 0.0)
