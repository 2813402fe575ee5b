"""The Primitives that apply one op: made from the classes of the ops, by `publish`.  `generated.pyi` shows them."""

from adjoint.ops.generated import PRIMITIVES

globals().update(PRIMITIVES)

__all__ = [*PRIMITIVES]  # pyright: ignore[reportUnsupportedDunderAll] - the stub lists them
