"""`mindspore._c_expression.op_enum`: MindSpore's numbers of what arguments name by strings."""

from __future__ import annotations

__all__ = ["str_to_enum"]

ENUMERATED = {
    **dict.fromkeys(("sum", "pad", "constant", "zeros", "bilinear", "NCHW", "asymmetric", "backward", "ij", "right"), 0),
    **dict.fromkeys(("mean", "same", "reflect", "border", "nearest", "NHWC", "align_corners", "forward", "trunc", "xy", "left"), 1),
    **dict.fromkeys(("none", "valid", "reflection", "symmetric", "half_pixel", "ortho", "floor"), 2),
    "NCDHW": 14, "linear": 15,
}
"""MindSpore's numbers of what arguments name by strings."""


def str_to_enum(op_name: str, arg_name: str, arg_value: str | None) -> int | None:
    """Return MindSpore's number of a choice that is named by a string, such as a reduction; None of None.

    TypeError for what is not a str, ValueError for an unknown name.
    """
    if arg_value is None:
        return None
    if not isinstance(arg_value, str):
        raise TypeError(f"For '{op_name}', the argument '{arg_name}' must be a str, "
                        f"but got {arg_value!r} of type {type(arg_value).__name__}.")
    known = ENUMERATED.get(arg_value, ENUMERATED.get(arg_value.lower()))
    if known is None:
        raise ValueError(f"For '{op_name}', the argument '{arg_name}' must be one of {', '.join(ENUMERATED)}, but got {arg_value!r}.")
    return known
