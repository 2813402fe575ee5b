"""`CustomRegOp`, `DataType`, `custom_info_register`: the dtypes that a function of `ops.Custom` takes, as MindSpore's programs say it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["CustomRegOp", "DataType", "accepted_dtypes", "custom_info_register"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_registered: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()
"""For each function what `custom_info_register` has given it."""

_DTYPES = {
    "None": "", "BOOL": "bool", "I8": "int8", "U8": "uint8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32",
    "I64": "int64", "U64": "uint64", "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16",
    "C64": "complex64", "C128": "complex128",
}
_FORMATS = {
    "None": "", "Default": "DefaultFormat", "5HD": "NC1HWC0", "FracZ": "FRACTAL_Z", "FracNZ": "FRACTAL_NZ", "C1HWNCoC0": "C1HWNCoC0",
    "NCHW": "NCHW", "NHWC": "NHWC", "HWCN": "HWCN", "NDHWC": "NDHWC", "ChannelLast": "ChannelLast", "NDC1HWC0": "NDC1HWC0",
    "NC1HWC0": "NC1HWC0", "NCDHW": "NCDHW", "DHWCN": "DHWCN", "FRACTAL_Z_3D": "FRACTAL_Z_3D", "FracZNLSTM": "FRACTAL_ZN_LSTM",
    "FracZNRNN": "FRACTAL_ZN_RNN", "ND_RNNBIAS": "ND_RNN_BIAS",
}
_CONTAINERS = ("List", "Tuple")


class _Pairs(type):
    """Gives `DataType` its attributes, `F32_Default` and so on."""

    def __getattr__(cls, name: str) -> tuple[str, ...]:
        dtype, _, layout = name.partition("_")
        if dtype in _DTYPES and layout in _FORMATS:
            return _DTYPES[dtype], _FORMATS[layout]
        layout, _, container = layout.rpartition("_")
        if dtype in _DTYPES and layout == "Default" and container in _CONTAINERS:
            return _DTYPES[dtype], _FORMATS[layout], container.lower()
        raise AttributeError(f"type object 'DataType' has no attribute {name!r}")

    def __dir__(cls) -> list[str]:
        layouts = (*_FORMATS, *(f"Default_{container}" for container in _CONTAINERS))
        return [f"{dtype}_{layout}" for dtype in _DTYPES for layout in layouts]


class DataType(metaclass=_Pairs):
    """Pairs of a dtype and a format: `DataType.F32_Default` is ("float32", "DefaultFormat").  On the CPU the format has no effect.

    `DataType.F32_Default_List` and `DataType.F32_Default_Tuple` say that the operand is a list or tuple of such tensors.
    """


class CustomRegOp:
    """Collects what a function of `ops.Custom` takes: `CustomRegOp().input(0, "x").dtype_format(DataType.F32_None).target("CPU")`.

    `get_op_info` returns it as a dict, for `Custom(reg_info=)` and `custom_info_register`.  TypeError for an argument of another type.
    """

    def __init__(self, op_name: str = "Custom"):
        self._info: dict[str, Any] = {
            "op_name": _text("op_name", op_name), "inputs": [], "outputs": [], "attr": [], "fusion_type": "", "dtype_format": [],
            "target": "",
        }

    def input(self, index: int | None = None, name: str | None = None, param_type: str = "required", **kwargs: Any) -> CustomRegOp:
        """Add an input; return the object."""
        self._info["inputs"].append(_parameter(index, name, param_type, kwargs))
        return self

    def output(self, index: int | None = None, name: str | None = None, param_type: str = "required", **kwargs: Any) -> CustomRegOp:
        """Add a result; return the object."""
        self._info["outputs"].append(_parameter(index, name, param_type, kwargs))
        return self

    def attr(self, name: str | None = None, param_type: str | None = None, value_type: str | None = None, default_value: Any = None,
             **kwargs: Any) -> CustomRegOp:
        """Add an attribute, which functions on the CPU are not given; return the object."""
        given = {"name": name, "paramType": param_type, "type": value_type, "defaultValue": default_value, **kwargs}
        self._info["attr"].append({key: value for key, value in given.items() if value is not None})
        return self

    def dtype_format(self, *args: tuple[str, str]) -> CustomRegOp:
        """Allow dtypes: a pair of `DataType` for each input, then for each result; return the object."""
        count = len(self._info["inputs"]) + len(self._info["outputs"])
        if len(args) != count:
            raise ValueError(f"For 'CustomRegOp.dtype_format', there must be a pair for each of the {count} inputs and outputs, but got "
                             f"{len(args)}.")
        self._info["dtype_format"].append(tuple(args))
        return self

    def target(self, target: str | None = None) -> CustomRegOp:
        """Set the device, such as "CPU"; return the object."""
        self._info["target"] = _text("target", target)
        return self

    def get_op_info(self) -> dict[str, Any]:
        """Return all of it as a dict."""
        return {key: list(value) if isinstance(value, list) else value for key, value in self._info.items()}


def custom_info_register(*reg_info: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that gives a function what `CustomRegOp` has made; `Custom` then takes it from the function.

    TypeError for another thing than a dict or JSON.
    """
    infos = tuple(_infos(reg_info))

    def registered(func: _Function) -> _Function:
        _registered[func] = infos
        return func

    return registered


def accepted_dtypes(func: Any, reg_info: Any) -> list[tuple[str, ...]] | None:
    """Return the dtypes of inputs and results that are allowed on the CPU, each combination a tuple; None for any.

    TypeError for a `reg_info` of another form; ValueError if it has attributes.
    """
    infos = list(_infos(reg_info)) if reg_info is not None else [] if isinstance(func, str) else [*_registered.get(func, ())]
    here = [info for info in infos if info.get("target", "") in ("", "CPU")]
    if any(info.get("attr") for info in here):
        raise ValueError("For 'Custom', the argument 'reg_info' must have no attributes: functions on the CPU are not given them; let the "
                         "function know the numbers, or pass them as inputs.")
    found = [tuple([dtype for dtype, *_ in pairs]) for info in here for pairs in info.get("dtype_format", ())]
    return found if found and all(all(dtypes) for dtypes in found) else None


def _infos(given: Any) -> Iterator[Mapping[str, Any]]:
    """Yield what is given as dicts: a dict, JSON, or a list of these."""
    import json  # few programs need it

    for each in given if isinstance(given, (list, tuple)) else (given,):
        try:
            info = json.loads(each) if isinstance(each, str) else each
        except ValueError:
            info = None
        if not isinstance(info, Mapping):
            raise TypeError(f"For 'Custom', the argument 'reg_info' must be a dict, JSON of one, or a list of these, but got {each!r} of "
                            f"type {type(each).__name__}.")
        yield info


def _parameter(index: int | None, name: str | None, param_type: str, more: dict[str, Any]) -> dict[str, Any]:
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise TypeError(f"For 'CustomRegOp', the argument 'index' must be an int, but got {index!r} of type {type(index).__name__}.")
    given = {"index": index, "name": None if name is None else _text("name", name), "paramType": _text("param_type", param_type), **more}
    return {key: value for key, value in given.items() if value is not None}


def _text(argument: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"For 'CustomRegOp', the argument '{argument}' must be a str, but got {value!r} of type {type(value).__name__}.")
    return value
