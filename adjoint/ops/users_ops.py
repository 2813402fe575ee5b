"""Ops that users add outside of this package: the class of one gives it its public names, here as in the package."""

from __future__ import annotations

import sys

from adjoint.ir.op import Op, announced
from adjoint.ops import functional, operations, publish
from adjoint.ops.tensor_methods import add_method
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["give_names", "wait"]


def give_names(kind: type[Op]) -> None:
    """Put the functions and Primitives of an op into `adjoint.ops`, and give Tensor its methods; raise TypeError if a name is taken."""
    names, ops = publish.published(kind), sys.modules["adjoint.ops"]
    taken = [f"ops.{name}" for name in (*names.functions, *names.primitives) if name in vars(ops) or name in ops.LOADED_WHEN_USED]
    taken += [f"Tensor.{name}" for name in names.methods if hasattr(Tensor, name)]
    if taken:
        raise TypeError(f"op {kind.name}: the name {taken[0]} is taken; choose another one in `public`")
    for own, given in ((functional, names.functions), (operations, names.primitives)):
        for place in (ops, own):
            vars(place).update(given)
            place.__all__.extend(given)
    for name, function in names.methods.items():
        add_method(name, function)


def wait() -> None:
    """Let each op that is defined from now on have its names."""
    announced.append(give_names)
