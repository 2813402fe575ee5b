"""Operators that MindSpore computes on other devices alone: on a CPU they can be made, and raise RuntimeError when they are called.

Programs make them in `__init__`, and call them only on the device that has them.
"""

from __future__ import annotations

from typing import Any, NoReturn

from adjoint.ops.arguments import flag, float_only, integer
from adjoint.ops.primitive import Plain, Primitive
from adjoint.ops.sampling import word

__all__ = ["DynamicGRUV2", "DynamicRNN", "NPUAllocFloatStatus", "NPUClearFloatStatus", "NPUGetFloatStatus"]


def _refused(op: str, instead: str) -> NoReturn:
    raise RuntimeError(f"For '{op}', there is no kernel for the CPU: MindSpore has it on Ascend alone. Instead: {instead}.")


_FINITE = "`ops.isfinite(x).all()`, or `amp.all_finite`"


class NPUAllocFloatStatus(Plain):
    """The flag for overflows of an Ascend; calls raise RuntimeError."""

    def __call__(self) -> NoReturn:
        _refused("NPUAllocFloatStatus", _FINITE)


class NPUGetFloatStatus(Plain):
    """Reads the flag for overflows of an Ascend; calls raise RuntimeError."""

    def __call__(self, input_x: Any) -> NoReturn:
        _refused("NPUGetFloatStatus", _FINITE)


class NPUClearFloatStatus(Plain):
    """Clears the flag for overflows of an Ascend; calls raise RuntimeError."""

    def __call__(self, input_x: Any) -> NoReturn:
        _refused("NPUClearFloatStatus", _FINITE)


def _settings(op: str, direction: Any, cell_depth: Any, keep_prob: Any, cell_clip: Any, num_proj: Any, time_major: Any, activation: Any,
              is_training: Any) -> dict[str, Any]:
    """Return the checked attributes that both operators have."""
    return {
        "direction": word(op, "direction", direction, ("UNIDIRECTIONAL",)), "cell_depth": integer(op, "cell_depth", cell_depth),
        "keep_prob": float_only(op, "keep_prob", keep_prob), "cell_clip": float_only(op, "cell_clip", cell_clip),
        "num_proj": integer(op, "num_proj", num_proj), "time_major": flag(op, "time_major", time_major),
        "activation": word(op, "activation", activation, ("tanh",)), "is_training": flag(op, "is_training", is_training),
    }


class DynamicRNN(Primitive):
    """An LSTM over all steps of a sequence, on an Ascend; calls raise RuntimeError."""

    def __init__(self, cell_type: str = "LSTM", direction: str = "UNIDIRECTIONAL", cell_depth: int = 1, use_peephole: bool = False,
                 keep_prob: float = 1.0, cell_clip: float = -1.0, num_proj: int = 0, time_major: bool = True, activation: str = "tanh",
                 forget_bias: float = 0.0, is_training: bool = True):
        op = "DynamicRNN"
        super().__init__(cell_type=word(op, "cell_type", cell_type, ("LSTM",)), use_peephole=flag(op, "use_peephole", use_peephole),
                         forget_bias=float_only(op, "forget_bias", forget_bias),
                         **_settings(op, direction, cell_depth, keep_prob, cell_clip, num_proj, time_major, activation, is_training))

    def __call__(self, x: Any, w: Any, b: Any, seq_length: Any, init_h: Any, init_c: Any) -> NoReturn:
        _refused("DynamicRNN", "`nn.LSTM`")


class DynamicGRUV2(Primitive):
    """A GRU over all steps of a sequence, on an Ascend; calls raise RuntimeError."""

    def __init__(self, direction: str = "UNIDIRECTIONAL", cell_depth: int = 1, keep_prob: float = 1.0, cell_clip: float = -1.0,
                 num_proj: int = 0, time_major: bool = True, activation: str = "tanh", gate_order: str = "rzh", reset_after: bool = True,
                 is_training: bool = True):
        op = "DynamicGRUV2"
        super().__init__(gate_order=word(op, "gate_order", gate_order, ("zrh", "rzh")), reset_after=flag(op, "reset_after", reset_after),
                         **_settings(op, direction, cell_depth, keep_prob, cell_clip, num_proj, time_major, activation, is_training))

    def __call__(self, x: Any, weight_input: Any, weight_hidden: Any, bias_input: Any, bias_hidden: Any, seq_length: Any,
                 init_h: Any) -> NoReturn:
        _refused("DynamicGRUV2", "`nn.GRU`")
