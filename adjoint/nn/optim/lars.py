"""An optimiser around another one: gradients are scaled to the lengths of their parameters first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.nn.checks import boolean
from adjoint.nn.optim.optimizer import Optimizer, as_dtype, at_least_zero
from adjoint.ops.arguments import float_only
from adjoint.ops.primitives.optimizers import LARSUpdate
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["LARS"]

_SHARED = (
    "_groups", "_group_of", "global_step", "weight_decay", "decay_flags", "exec_weight_decay", "dynamic_weight_decay", "dynamic_lr",
    "is_group", "is_group_lr", "is_group_params_ordered", "loss_scale", "need_scale", "reciprocal_scale", "param_length",
    "hyper_map", "map_", "assignadd", "global_step_increase_tensor", "use_parallel", "optim_filter", "_target",
)
"""What is the wrapped optimiser's own until it hands weight decay and loss scale over, and this one's from then on."""


class LARS(Optimizer):
    """Layer-wise adaptive rates (You, Gitman and Ginsburg 2017): `optimizer` is called with c * (g + weight_decay * p) in place of g.

    c = coefficient * |p| / (|g| + weight_decay * |p| + epsilon), for each parameter p with its gradient g.  A parameter of zeros stays
    zero: leave it to `optimizer` by `lars_filter`.

    optimizer    takes the step; its weight decay and loss scale become this one's, its learning rate is both's
    epsilon      a float, at least 0
    coefficient  a float, at least 0
    use_clip     divide c by the learning rate, and let it be at most 1.  ValueError where the learning rates are those of groups and
                 change from step to step
    lars_filter  a function of a Parameter that says whether its gradient is scaled; the others do without c and without weight decay.
                 Without a filter those are the ones with LayerNorm or bias in their names

    MindSpore has no kernel of this for a CPU: the formula is that of its manual and of its kernel for Ascend.
    """

    def __init__(
        self, optimizer: Optimizer, epsilon: float = 1e-05, coefficient: float = 0.001, use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = lambda x: "LayerNorm" not in x.name and "bias" not in x.name,
    ):
        Cell.__init__(self, auto_prefix=False)  # parameters, groups and settings are those of `optimizer`
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"For 'LARS', the argument 'optimizer' must be an nn.Optimizer, "
                            f"but got {optimizer!r} of type {type(optimizer).__name__}.")
        if not callable(lars_filter):
            raise TypeError(f"For 'LARS', the argument 'lars_filter' must be a function of a Parameter, "
                            f"but got {lars_filter!r} of type {type(lars_filter).__name__}.")
        epsilon = at_least_zero("LARS", "epsilon", float_only("LARS", "epsilon", epsilon))
        coefficient = at_least_zero("LARS", "coefficient", float_only("LARS", "coefficient", coefficient))
        self.use_clip = boolean(self, "use_clip", use_clip)
        if use_clip and optimizer.is_group_lr and optimizer.dynamic_lr:
            raise ValueError("For 'LARS', the argument 'use_clip' must be False where the learning rates are those of groups and change "
                             "from step to step, but got True.")
        self.lars_flag = tuple(bool(lars_filter(parameter)) for parameter in optimizer.parameters)
        self.lars = LARSUpdate(epsilon, coefficient, use_clip)
        for name in _SHARED:
            setattr(self, name, getattr(optimizer, name))
        if hasattr(optimizer, "learning_rate"):
            self.learning_rate = optimizer.learning_rate
        self.__dict__["parameters"] = self.__dict__["_parameters"] = optimizer.parameters
        optimizer.hand_over()
        self.opt = optimizer

    def get_lr(self) -> Any:
        """Return the learning rate of the coming step; the wrapped optimiser counts the steps."""
        return self._rates()

    def construct(self, gradients: Any) -> Any:
        gradients = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
        self._check(gradients)
        of_parameters = self._of_parameters(self._settings())
        return self.opt(tuple(
            self._scaled(gradient, *settings) if chosen else gradient
            for gradient, settings, chosen in zip(self.scale_grad(gradients), of_parameters, self.lars_flag, strict=True)))

    def _scaled(self, gradient: Tensor, parameter: Parameter, learning_rate: Tensor, weight_decay: Tensor) -> Tensor:
        weight, g = as_dtype(parameter, learning_rate.dtype), as_dtype(gradient, learning_rate.dtype)
        return self.lars(weight, g, (weight * weight).sum(), (g * g).sum(), weight_decay, learning_rate)
