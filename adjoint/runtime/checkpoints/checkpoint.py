"""Write and read files of parameters: `save_checkpoint`, `load_checkpoint`, `load_param_into_net`.

Both of MindSpore's formats are supported, "ckpt" and "safetensors"; files can be exchanged with MindSpore in both directions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import warn
from adjoint.foundation.files import write_file
from adjoint.ir.storage import to_compute
from adjoint.ir.types import BOOL, DTYPES, F32, I64, DType
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.checkpoints import ckpt_format as checkpoint_format
from adjoint.runtime.checkpoints import safetensors_format
from adjoint.runtime.checkpoints.ckpt_format import SavedEntry, elements
from adjoint.runtime.memory.machine import array_of
from adjoint.runtime.tensor.parameter import Parameter, by_name
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["FORMATS", "load_checkpoint", "load_param_into_net", "require_fitting", "save_checkpoint"]

FORMATS = ("ckpt", "safetensors")
"""The file formats, which are also the extensions of file names."""

_Chooser = Callable[[str], bool]
_TEXT = "utf-32-le"
_ENCRYPTIONS = ("AES-GCM", "AES-CBC", "SM4-CBC")
_DTYPES = {dtype.long_name: dtype for dtype in DTYPES.values()}


def save_checkpoint(
    save_obj: Any, ckpt_file_name: str, integrated_save: bool = True, async_save: bool = False, append_dict: dict[str, Any] | None = None,
    enc_key: None = None, enc_mode: str = "AES-GCM", choice_func: _Chooser | None = None, crc_check: bool = False, format: str = "ckpt",
) -> None:
    """Write Parameters to a file, atomically.

    save_obj        a Cell (also an optimiser), a dict of Tensors by name, or a list of Parameters or of dicts {"name": ..., "data": Tensor}
    ckpt_file_name  the file's name; the extension `.ckpt` or `.safetensors` is added unless it ends with `format`
    append_dict     further entries: numbers, bools, texts and Tensors by name; one replaces a Parameter of its name
    choice_func     called with each name; returns True if its entry is to be written
    crc_check       add a checksum; ValueError with "safetensors", which has none
    format          "ckpt" or "safetensors"

    `integrated_save` and `async_save` have no effect: the file is always complete when the call returns.  Encryption is not supported.
    ValueError for an `enc_key` other than None and for a name that occurs twice in a list.  RuntimeError if two Parameters of a Cell
    share a name.  OSError, with the name of the file, if it cannot be written, as on a full disk: an older file of that name is unchanged
    then.
    """
    owner = "save_checkpoint"
    name = _file_name(owner, ckpt_file_name, format, enc_key, enc_mode)
    for argument, value in (("integrated_save", integrated_save), ("async_save", async_save), ("crc_check", crc_check)):
        _bool(owner, argument, value)
    chosen = _chooser(owner, choice_func)
    items = {key: value for key, value in _items(save_obj).items() if chosen(key)}
    more = _appended(append_dict)
    for key in (*items, *more):
        try:
            key.encode()
        except UnicodeEncodeError:
            raise ValueError(f"For '{owner}', a name must be a text that UTF-8 can write, but got {key!r}.") from None
    entries = [_entry(key, value) for key, value in {**items, **more}.items()]
    if format == "ckpt":
        parts = checkpoint_format.encoded(entries, crc_check)
    elif crc_check:
        raise ValueError(f"For '{owner}', 'crc_check' must be False with the format 'safetensors', which has no checksum.")
    else:
        parts = safetensors_format.encoded(entries)
    try:
        _written(name if name.endswith(format) else f"{name}.{format}", parts)
    except ValueError as refused:
        raise ValueError(f"For '{owner}', the file {name!r} is not written: {refused}.") from None


def load_checkpoint(
    ckpt_file_name: str, net: Cell | None = None, strict_load: bool = False, filter_prefix: Any = None, dec_key: None = None,
    dec_mode: str = "AES-GCM", specify_prefix: Any = None, choice_func: _Chooser | None = None, crc_check: bool = False,
    remove_redundancy: bool = False, format: str = "ckpt",
) -> dict[str, Any]:
    """Return the Parameters (and texts) of a file by name.

    net             also load them into this network, as `load_param_into_net` does with `strict_load`
    filter_prefix   a str or several: skip names that begin with one
    specify_prefix  a str or several: load only names that begin with one
    choice_func     called with each name; returns True if its entry is to be loaded; ignored if a prefix is given
    format          "ckpt" or "safetensors": what the name ends with

    A checksum in the file is always verified.  ValueError for a file that is missing or damaged, and if the filters leave nothing.
    """
    owner = "load_checkpoint"
    name = _file_name(owner, ckpt_file_name, format, dec_key, dec_mode)
    for argument, value in (("strict_load", strict_load), ("crc_check", crc_check), ("remove_redundancy", remove_redundancy)):
        _bool(owner, argument, value)
    without, only = _prefixes(owner, "filter_prefix", filter_prefix), _prefixes(owner, "specify_prefix", specify_prefix)
    chosen = _chooser(owner, choice_func if without is None and only is None else None)
    if net is not None and not isinstance(net, Cell):
        raise _wrong(owner, "net", "a Cell or None", net)
    entries = _read(name, format)
    found = {
        entry.name: _loaded(name, entry) for entry in entries
        if chosen(entry.name) and not entry.name.startswith(without or ()) and (only is None or entry.name.startswith(only))
    }
    if not found:
        raise ValueError(f"For '{owner}', nothing in {name!r} is asked for: it holds {[entry.name for entry in entries]}; "
                         f"see 'filter_prefix', 'specify_prefix' and 'choice_func'.")
    if net is not None:
        load_param_into_net(net, {key: value for key, value in found.items() if isinstance(value, Parameter)}, strict_load)
    return found


def load_param_into_net(
    net: Cell, parameter_dict: dict[str, Any], strict_load: bool = False, remove_redundancy: bool = False,
) -> tuple[list[str], list[str]]:
    """Copy values into the Parameters of a network by name.

    strict_load  False: values are cast to the dtype of the network's Parameter, floats to floats and integers to integers; and if names of
                 the network are suffixes of names in the dict, their common prefix in the dict is ignored

    Return the names in the network without a counterpart in the dict, and the reverse; a warning lists the former.  RuntimeError if shapes
    or dtypes differ or two Parameters of the network share a name; TypeError if `net` is not a Cell or the dict does not hold Parameters.
    """
    owner = "load_param_into_net"
    if not isinstance(net, Cell):
        raise _wrong(owner, "net", "a Cell", net)
    if not isinstance(parameter_dict, dict):
        raise _wrong(owner, "parameter_dict", "a dict", parameter_dict)
    for key, value in parameter_dict.items():
        if not isinstance(key, str) or not isinstance(value, (Parameter, str)):
            raise _wrong(owner, "parameter_dict", "a dict of Parameters by name", {key: value})
    _bool(owner, "strict_load", strict_load)
    _bool(owner, "remove_redundancy", remove_redundancy)
    given = {key: value for key, value in parameter_dict.items() if isinstance(value, Parameter)}
    targets = by_name(owner, dict(net.parameters_and_names()))
    pairs = {name: name for name in targets if name in given}
    if not strict_load:
        pairs |= _by_ends([name for name in targets if name not in pairs], list(given))
    for name, source in pairs.items():
        require_fitting(targets[name], given[source], strict_load)
    for name, source in pairs.items():
        targets[name].set_data(given[source])
    missing = [name for name in targets if name not in pairs]
    if missing:
        warn(f"For '{owner}', the parameters {missing} of 'net' stay as they are: 'parameter_dict' has {list(parameter_dict)}.")
    return missing, [key for key in parameter_dict if key not in pairs.values()]


def _by_ends(missing: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Match names of a network with names of a dict that only have one more prefix, common to all; warn if there are such names.

    missing  the names of the network that the dict does not have
    names    the names in the dict

    Return, for each name of the network that is matched, the name in the dict; empty if there are none.
    """
    beginnings = (name[: -len(end)] for end in missing for name in names if name.endswith(end))
    beginning = next(beginnings, None)
    if beginning is None:
        return {}
    warn(f"For 'load_param_into_net', names in 'parameter_dict' are taken without {beginning!r} at their beginning.")
    return {end: beginning + end for end in missing if beginning + end in names}


def require_fitting(target: Parameter, source: Parameter, strict: bool) -> None:
    """Raise RuntimeError unless the values of `source` can be set on `target`.

    strict  True if the dtypes must be equal; False if both may be floats, or both integers
    """
    if target.shape != source.shape:
        raise RuntimeError(f"For 'load_param_into_net', {target.name} in the argument 'net' should have the same shape as in the argument "
                           f"'parameter_dict', but got {target.shape} in 'net' and {source.shape} in 'parameter_dict'.")
    to, came = target.dtype, source.dtype
    alike = (to.is_float and came.is_float) or (to.is_integer and came.is_integer) or (to.is_complex and came.is_complex)
    if to is not came and (strict or not alike):
        way = "`strict_load=False` converts" if alike else "`set_dtype` converts"
        raise RuntimeError(f"For 'load_param_into_net', {target.name} in the argument 'net' should have the same type as in the argument "
                           f"'parameter_dict', but got {to} in 'net' and {came} in 'parameter_dict'; {way}.")


# -- writing ---------------------------------------------------------------------------------------------------------------
def _items(save_obj: Any) -> dict[str, Tensor]:
    """Return the tensors of what is saved, by their names.  TypeError for an object that cannot be saved, ValueError for a name used twice.
    """
    owner = "save_checkpoint"
    if isinstance(save_obj, Cell):
        return dict(by_name(owner, dict(save_obj.parameters_and_names())))
    if isinstance(save_obj, dict):
        items: Iterable[tuple[Any, Any]] = save_obj.items()
    elif isinstance(save_obj, list) and save_obj and all(isinstance(item, Parameter) for item in save_obj):
        items = [(parameter.name, parameter) for parameter in save_obj]
    elif isinstance(save_obj, list) and all(isinstance(item, dict) and {"name", "data"} <= set(item) for item in save_obj):
        items = [(item["name"], item["data"]) for item in save_obj]
    else:
        raise _wrong(owner, "save_obj", "a Cell, a dict of Tensors, or a list of Parameters or of dicts with the keys 'name' and 'data'",
                     save_obj)
    found: dict[str, Tensor] = {}
    for key, value in items:
        if not isinstance(key, str) or not isinstance(value, Tensor):
            raise _wrong(owner, "save_obj", "of Tensors by name", {key: value})
        if found.setdefault(key, value) is not value:
            raise ValueError(f"For '{owner}', the argument 'save_obj' has two Tensors of the name {key!r}: a file holds one of them.")
    return found


def _appended(append_dict: Any) -> dict[str, Any]:
    if append_dict is None:
        return {}
    if not isinstance(append_dict, dict):
        raise _wrong("save_checkpoint", "append_dict", "a dict or None", append_dict)
    for key, value in append_dict.items():
        if not isinstance(key, str) or not isinstance(value, (bool, int, float, str, Tensor)):
            raise _wrong("save_checkpoint", "append_dict", "a dict of numbers, bools, texts and Tensors by name", {key: value})
    return append_dict


def _entry(name: str, value: Any) -> SavedEntry:
    if isinstance(value, str):
        return SavedEntry(name, (0,), "str", value.encode(_TEXT))
    if not isinstance(value, Tensor):
        dtype: DType | None = I64 if isinstance(value, int) and not isinstance(value, bool) else F32 if isinstance(value, float) else None
        value = Tensor(value, dtype)
    return SavedEntry(name, value.shape, value.dtype.long_name, array_of(value.memory, value.type).tobytes())


def _written(name: str, parts: Iterable[bytes]) -> None:
    """Write a file completely or not at all, even if the process is killed: to a temporary file first, which is then renamed.

    name   the name of the file
    parts  its bytes, in parts
    """
    folder = os.path.dirname(name) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"For 'save_checkpoint', there is no directory {folder!r}: make it with os.makedirs.")
    _delete_leftovers(folder, os.path.basename(name))
    write_file(name, parts, durable=True)


def _delete_leftovers(folder: str, name: str) -> None:
    """Delete temporary files of processes that were killed while they wrote a file of this name."""
    pattern = re.compile(re.escape(name) + r"\.(\d+)\.\d+\.tmp")
    for found in os.listdir(folder):
        match = pattern.fullmatch(found)
        if match and not _runs(int(match[1])):
            with suppress(FileNotFoundError):
                os.remove(os.path.join(folder, found))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


# -- reading ---------------------------------------------------------------------------------------------------------------
def _read(name: str, format: str) -> list[SavedEntry]:
    if not name.endswith(format):
        other = next((known for known in FORMATS if name.endswith(known)), None)
        way = f"; give format={other!r}" if other else ""
        raise ValueError(f"For 'load_checkpoint', the argument 'ckpt_file_name' must end with '{format}', but got {name!r}{way}.")
    if not os.path.isfile(name):
        raise ValueError(f"For 'load_checkpoint', the checkpoint file {name!r} does not exist.")
    with open(name, "rb") as stream:
        data = stream.read()
    try:
        return checkpoint_format.decoded(data) if format == "ckpt" else safetensors_format.decoded(data)
    except ValueError as damaged:
        raise ValueError(f"For 'load_checkpoint', the file {name!r} is no checkpoint, or it is damaged: {damaged}.") from None


def _loaded(file: str, entry: SavedEntry) -> Parameter | str:
    """Return the Parameter or the text that an entry of a file holds.

    file  the name of the file, for messages
    """
    try:
        if entry.kind == "str":
            return entry.content.decode(_TEXT)
        dtype = _DTYPES.get(entry.kind)
        if dtype is None:
            raise ValueError(f"{entry.name!r} is of the type {entry.kind!r}, and known are {sorted(_DTYPES)}")
        if dtype is BOOL and entry.content.strip(b"\0\1"):
            raise ValueError(f"{entry.name!r} is of the type 'Bool', and has bytes other than 0 and 1")
        stored = np.frombuffer(entry.content, dtype.array).reshape(elements(entry, dtype.size))
        if stored.ndim > 8:
            raise ValueError(f"{entry.name!r} has {stored.ndim} dimensions, and tensors have at most 8")
    except ValueError as damaged:
        raise ValueError(f"For 'load_checkpoint', the file {file!r} cannot be read: {damaged}.") from None
    return Parameter(Tensor(to_compute(stored, dtype), dtype), name=entry.name)


# -- arguments -------------------------------------------------------------------------------------------------------------
def _wrong(owner: str, argument: str, expected: str, got: object) -> TypeError:
    return TypeError(f"For '{owner}', the argument '{argument}' must be {expected}, but got {got!r} of type {type(got).__name__}.")


def _bool(owner: str, argument: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise _wrong(owner, argument, "a bool", value)


def _file_name(owner: str, name: Any, format: Any, key: Any, mode: Any) -> str:
    if not isinstance(name, (str, os.PathLike)) or not isinstance(text := os.fspath(name), str):
        raise _wrong(owner, "ckpt_file_name", "a str", name)
    if not text or "\0" in text:
        raise ValueError(f"For '{owner}', the argument 'ckpt_file_name' must be the name of a file, but got {text!r}.")
    if not isinstance(format, str) or format not in FORMATS:
        raise ValueError(f"For '{owner}', the argument 'format' must be one of {list(FORMATS)}, but got {format!r}.")
    if not isinstance(mode, str) or mode not in _ENCRYPTIONS:
        raise ValueError(f"For '{owner}', the encryption must be one of {list(_ENCRYPTIONS)}, but got {mode!r}.")
    if key is not None:
        raise ValueError(f"For '{owner}', files are not encrypted here: the key must be None, but got {key!r}.")
    return text


def _chooser(owner: str, choice_func: _Chooser | None) -> _Chooser:
    if choice_func is None:
        return lambda name: True
    if not callable(choice_func):
        raise _wrong(owner, "choice_func", "a function or None", choice_func)
    return choice_func


def _prefixes(owner: str, argument: str, given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    found = (given,) if isinstance(given, str) else given
    if not isinstance(found, (tuple, list)) or not all(isinstance(item, str) and item for item in found):
        raise _wrong(owner, argument, "a str, or several in a list", given)
    return tuple(found)
