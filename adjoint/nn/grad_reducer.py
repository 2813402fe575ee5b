"""Data parallel training: each process has the whole network and a share of the data; gradients are combined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adjoint.communication.management import members
from adjoint.ir.op import made
from adjoint.ir.ops.collective import WORLD, AllReduce, CollectiveBroadcast
from adjoint.nn.checks import boolean
from adjoint.ops.arguments import integer, single, tensors_argument, wrong
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.process.parallel_context import get_auto_parallel_context
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["DistributedGradReducer", "broadcast_parameters"]


class DistributedGradReducer(Cell):
    """Called with gradients, a tuple or one, it returns their sums over the processes of a group, or the means.

    parameters   those of the gradients, in their order; what is not `layerwise_parallel` is reduced
    mean         whether sums are divided by `degree`; default `gradients_mean` of `set_auto_parallel_context`
    degree       what they are divided by; default the number of processes
    fusion_type  accepted: gradients of one dtype are always sent together, up to 32 MB at once
    group        the group's name

    The sums are taken in the order of the ranks, in Float32 for two-byte floats; the result has the dtype of the gradient.  Hooks see a
    gradient before it comes here: that of this process.  Raise ValueError for a degree that is no positive int, TypeError for
    other parameters and gradients.
    """

    def __init__(
        self, parameters: Iterable[Parameter], mean: bool | None = None, degree: int | None = None, fusion_type: int = 1,
        group: str = WORLD,
    ):
        super().__init__(auto_prefix=False)
        self.mean = boolean(self, "mean", get_auto_parallel_context("gradients_mean") if mean is None else mean)
        if not isinstance(group, str):
            raise wrong("DistributedGradReducer", "group", "a str", group, TypeError)
        integer("DistributedGradReducer", "fusion_type", fusion_type)
        if not isinstance(parameters, (tuple, list)) or not all(isinstance(p, Parameter) for p in parameters):
            raise wrong("DistributedGradReducer", "parameters", "a tuple or list of Parameters", type(parameters).__name__, TypeError)
        self.processes = len(members("DistributedGradReducer", group))
        if degree is None:
            degree = self.processes
        if isinstance(degree, bool) or not isinstance(degree, int) or degree <= 0:
            raise ValueError("For 'DistributedGradReducer', parameter 'degree' in DistributedGradReducer should large than 0 and be int, "
                             f"degree: {degree}.")
        self.degree, self.group = degree, group
        self.allreduce_filter = tuple([not p.layerwise_parallel for p in parameters])

    def construct(self, grads: Any) -> Any:
        given = (grads,) if isinstance(grads, Tensor) else tensors_argument("DistributedGradReducer", "grads", grads)
        if self.processes == 1 and (self.degree == 1 or not self.mean):
            return grads
        reduced = self._reduced(given)
        return reduced[0] if isinstance(grads, Tensor) else reduced

    def _reduced(self, grads: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        chosen = self.allreduce_filter if len(grads) == len(self.allreduce_filter) else (True,) * len(grads)
        sums = summed(tuple([g for g, wanted in zip(grads, chosen, strict=True) if wanted]), self.group)
        left = iter(sums)
        wide = [next(left) if wanted else single(g) for g, wanted in zip(grads, chosen, strict=True)]
        if self.mean:
            wide = [x * (1.0 / self.degree) for x in wide]
        return tuple([x.astype(g.dtype) for x, g in zip(wide, grads, strict=True)])


def summed(tensors: tuple[Tensor, ...], group: str = WORLD) -> tuple[Tensor, ...]:
    """Return the sums of tensors over the processes of a group, two-byte floats in Float32."""
    if not tensors:
        return ()
    found = apply(made(AllReduce, "sum", group), *[single(x) for x in tensors])
    return (found,) if isinstance(found, Tensor) else found


def broadcast_parameters(parameters: Iterable[Parameter]) -> None:
    """Broadcast the parameters of the first process to all; they have the same names, shapes and dtypes in all."""
    given = list(parameters)
    if not given or len(members("parameter_broadcast", WORLD)) == 1:
        return
    found = apply(made(CollectiveBroadcast, 0, WORLD), *given)
    for parameter, value in zip(given, (found,) if isinstance(found, Tensor) else found, strict=True):
        parameter.set_data(value)
