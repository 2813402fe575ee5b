"""The text of a function is not what it was loaded from."""

import linecache

import adjoint
from adjoint import Tensor

space = {}
exec(compile("def doubled(x):\n    return x * 2\n", "<loaded>", "exec"), space)
linecache.cache["<loaded>"] = (0, None, ["def doubled(x):\n", "    return x * 3\n"], "<loaded>")
adjoint.jit(space["doubled"])(Tensor([1.0, 2.0]))
