"""Operators under further names, and with their attributes set."""

from adjoint.ops import arithmetic, blocks
from adjoint.ops.composite import partial
from adjoint.ops.primitive import plain
from adjoint.ops.primitives.elementwise import Identity
from adjoint.ops.primitives.reductions import ReduceMax, ReduceMean, ReduceMin, ReduceSum
from adjoint.ops.primitives.shaping import TypeOf

__all__ = ["DType", "MoveTo", "Partial", "dtype", "identity", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "tensor_div"]

tensor_div = arithmetic.div
DType = TypeOf
dtype = TypeOf()
reduce_max, reduce_mean, reduce_min, reduce_sum = ReduceMax(), ReduceMean(), ReduceMin(), ReduceSum()
identity = Identity
Partial = plain("Partial", partial)
MoveTo = plain("MoveTo", blocks.move_to)
