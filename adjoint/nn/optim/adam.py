"""Adam and its variant for BERT."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.arithmetic import Mul
from adjoint.ir.ops.optimizers import AdamUpdate, AdamWeightDecayUpdate, AmsgradUpdate
from adjoint.ir.types import F32
from adjoint.nn.checks import boolean, positive_number
from adjoint.nn.optim.optimizer import Optimizer, as_dtype, fraction
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, constant, update

__all__ = ["Adam", "AdamOffload", "AdamWeightDecay", "LazyAdam"]

_MUL = Mul()


class Adam(Optimizer):
    """Adam (Kingma and Ba 2014): moments of the gradient and of its square, corrected for beginning at zero.

    use_nesterov  look one step of the first moment ahead
    use_amsgrad   divide by the largest second moment there was (Reddi, Kale and Kumar 2018); `use_nesterov` has no meaning then
    use_locking   has no meaning: one step runs at a time
    use_lazy      must be False: gradients are never sparse; nor is anything offloaded, `use_offload`
    """

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: float | Cell = 0.0, loss_scale: float = 1.0,
        use_amsgrad: bool = False, *, use_lazy: bool = False, use_offload: bool = False,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if boolean(self, "use_lazy", use_lazy):
            raise ValueError("For 'Adam', 'use_lazy' is not supported, since gradients of rows are not sparse here: leave it out, "
                             "all rows are updated then.")
        if boolean(self, "use_offload", use_offload):
            raise ValueError("For 'Adam', 'use_offload' is not supported, since all parameters are on the CPU: leave it out, "
                             "the numbers are the same.")
        self.beta1, self.beta2 = fraction("Adam", "beta1", beta1), fraction("Adam", "beta2", beta2)
        self.eps = positive_number(self, "eps", eps)
        self.use_nesterov = boolean(self, "use_nesterov", use_nesterov)
        self.use_amsgrad = boolean(self, "use_amsgrad", use_amsgrad)
        self.use_locking = boolean(self, "use_locking", use_locking)
        self.use_lazy = self.use_offload = False
        self.scalar("beta1_power", 1.0)
        self.scalar("beta2_power", 1.0)
        self.__dict__["moment1"], self.__dict__["moment2"] = self.states("moment1"), self.states("moment2")
        if use_amsgrad:
            self.__dict__["vhat"] = self.states("vhat")

    def begin(self) -> None:
        update(_MUL, (self.beta1_power,), self.beta1_power, constant(self.beta1, F32))
        update(_MUL, (self.beta2_power,), self.beta2_power, constant(self.beta2, F32))

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        states = (parameter, self.moment1[index], self.moment2[index])
        self._updated(index, states, gradient, learning_rate, self.beta1_power, self.beta2_power, weight_decay, self._scale(dtype))

    def _apply_adam(
        self, params: Sequence[Parameter], beta1_power: Tensor, beta2_power: Tensor, moment1: Sequence[Parameter],
        moment2: Sequence[Parameter], lr: Any, gradients: Sequence[Tensor],
    ) -> tuple[bool, ...]:
        """Take a step: the end of a subclass's own `construct`, which has decayed and scaled the gradients and counted the step itself.

        lr  a tensor, or one for each parameter, as `get_lr` returns them
        """
        rates = lr if isinstance(lr, (tuple, list)) else (lr,) * len(params)
        for index, (parameter, rate, gradient) in enumerate(zip(params, rates, gradients, strict=True)):
            dtype = parameter.dtype.compute
            self._updated(index, (parameter, moment1[index], moment2[index]), gradient, as_dtype(rate, dtype), beta1_power, beta2_power,
                          constant(0.0, dtype), constant(1.0, dtype))
        return (True,) * len(params)

    def _updated(
        self, index: int, states: tuple[Parameter, ...], gradient: Tensor, learning_rate: Tensor, beta1_power: Tensor, beta2_power: Tensor,
        weight_decay: Tensor, scale: Tensor,
    ) -> None:
        """Update a parameter and its moments, which follow it in `states`.

        index  that of the parameter among all, by which `vhat` is found
        """
        dtype = states[0].dtype.compute
        op = made(AdamUpdate, self.use_nesterov)
        if self.use_amsgrad:
            op, states = made(AmsgradUpdate), (*states, self.vhat[index])
        update(op, states, *states, gradient, learning_rate,
               constant(self.beta1, dtype), constant(self.beta2, dtype), constant(self.eps, dtype), as_dtype(beta1_power, dtype),
               as_dtype(beta2_power, dtype), weight_decay, scale)


class _PlainAdam(Adam):
    """Adam without its variants of later versions."""

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: float | Cell = 0.0, loss_scale: float = 1.0,
    ):
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)


class LazyAdam(_PlainAdam):
    """Adam; MindSpore updates only the rows of which a sparse gradient has any, and no gradient is sparse here."""


class AdamOffload(_PlainAdam):
    """Adam; MindSpore computes its step on the CPU, where all is computed here."""


class AdamWeightDecay(Optimizer):
    """Adam whose weight decay does not pass through the moments (Loshchilov and Hutter 2017), and without correction of the moments.

    p = p - lr * (m / (sqrt(v) + eps) + weight_decay * p)
    """

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        if any(group.centralized for group in self._groups):
            raise ValueError("For 'AdamWeightDecay', 'grad_centralization' of a parameter group must be False, since it takes no means, in "
                             "MindSpore either: take them from the gradients before, g - g.mean(axis, keep_dims=True) for all axes but 0.")
        self.beta1, self.beta2 = fraction("AdamWeightDecay", "beta1", beta1), fraction("AdamWeightDecay", "beta2", beta2)
        self.eps = positive_number(self, "eps", eps)
        self.__dict__["moments1"], self.__dict__["moments2"] = self.states("adam_m"), self.states("adam_v")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        states = parameter, self.moments1[index], self.moments2[index]
        update(made(AdamWeightDecayUpdate), states, *states, gradient, learning_rate, constant(self.beta1, dtype),
               constant(self.beta2, dtype), constant(self.eps, dtype), weight_decay, self._scale(dtype))
