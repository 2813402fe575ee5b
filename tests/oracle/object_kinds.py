"""The kinds that `kinds.json` tells apart: used when they are recorded, and when they are tested."""

from types import ModuleType

__all__ = ["kind"]


def kind(value: object) -> str:
    """Return `module`, `class`, `function` for what can be called, or `value`."""
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) else "value"
