"""The options of `jit`, as MindSpore names them: checked, with a report for those that have no effect."""

from __future__ import annotations

import difflib
import sys
from typing import Any, TypeVar

from adjoint.runtime.cells.cell import Cell

__all__ = ["JitConfig", "checked_options", "jit_class"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "exec_order": ("bfs", "dfs"), "infer_boost": ("on", "off"), "auto_offload": ("weight", "activation", "all"),
    "exc_mode": ("auto", "sink", "no_sink"),
}
"""Options for MindSpore's backends that `jit` accepts and ignores, each with its allowed values."""

_OLDER = ("mode", "input_signature", "hash_args", "jit_config", "compile_once")
"""Options of older versions of `jit`; None, False and the following values request nothing."""
_SAYS_NOTHING: dict[str, tuple[Any, ...]] = {"mode": ("PSJit",), "backend": ("", "ms_backend", "GE")}

_warned: set[str] = set()


def checked_options(capture_mode: Any, jit_level: Any, dynamic: Any, fullgraph: Any, backend: Any, options: dict[str, Any]) -> None:
    """Check the options of `jit`: ValueError for an unknown value, TypeError for one of the wrong type.

    Each option that has no effect is reported once, on the standard error stream.

    capture_mode, jit_level, dynamic, fullgraph, backend  the options that `jit` names
    options                                               the others, by name
    """
    _check_string("capture_mode", capture_mode, ("ast", "bytecode", "trace"))
    _check_string("jit_level", jit_level, ("O0", "O1"))
    if isinstance(dynamic, bool) or not isinstance(dynamic, int):
        raise TypeError(f"For 'jit', the 'dynamic' must be 'int', but got '{type(dynamic).__name__}'.")
    if dynamic not in (0, 1):
        raise ValueError(f"For 'jit', the 'dynamic' must be in range of [0, 1], but got {dynamic} with type 'int'.")
    if not isinstance(fullgraph, bool):
        raise TypeError(f"For 'jit', the 'fullgraph' must be a bool, but got {type(fullgraph).__name__}.")
    if capture_mode != "ast":
        _tell("capture_mode", capture_mode, "the source is parsed")
    if not isinstance(backend, str):
        raise TypeError(f"For 'jit', the 'backend' must be a str, but got {type(backend).__name__}.")
    if backend not in _SAYS_NOTHING["backend"]:
        _tell("backend", backend, "kernels are compiled from C here")
    for name, value in options.items():
        if name in _OLDER:
            if value is not None and value is not False and value not in _SAYS_NOTHING.get(name, ()) and not isinstance(value, JitConfig):
                _tell(name, value, "it has no effect")
        elif name == "disable_format_transform":
            if not isinstance(value, bool):
                raise TypeError(f"For 'jit(options)', the type of 'disable_format_transform' must be bool, but got {type(value)}.")
        elif name in _CHOICES:
            if value not in _CHOICES[name]:
                raise ValueError(f"For '{name}', the value of '{name}' must be one of {list(_CHOICES[name])}, but got {value!r}.")
        else:
            known = ["capture_mode", "jit_level", "dynamic", "fullgraph", "backend", *_OLDER, *_CHOICES, "disable_format_transform"]
            close = difflib.get_close_matches(name, known, 1)
            _tell(name, value, f"there is no such option{f'; did you mean {close[0]!r}?' if close else ''}")


def _check_string(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"For 'jit', the '{name}' must be str and must be in '{list(choices)}', but got '{value}'.")


def _tell(name: str, value: Any, why: str) -> None:
    if name not in _warned:
        _warned.add(name)
        print(f"adjoint: jit({name}={value!r}) means nothing here: {why}.", file=sys.stderr)


class JitConfig:
    """MindSpore's configuration of a compilation.  It is checked and stored, but has no effect, since graphs run in one way only.

    jit_level         "", "O0", "O1" or "O2"
    exc_mode          "auto", "sink" or "no_sink"
    jit_syntax_level  "", "STRICT", "COMPATIBLE" or "LAX"
    debug_level       "RELEASE" or "DEBUG"
    infer_boost       "on" or "off"
    options           anything else, kept in `jit_config_dict` with the rest

    ValueError for another value.
    """

    def __init__(self, jit_level: str = "", exc_mode: str = "auto", jit_syntax_level: str = "", debug_level: str = "RELEASE",
                 infer_boost: str = "off", **options: Any):
        for name, value, choices, shown in (
            ("jit_level", jit_level, ("", "O0", "O1", "O2"), "['O0', 'O1', 'O2']"),
            ("exc_mode", exc_mode, ("auto", "sink", "no_sink"), "'['auto', 'sink', 'no_sink']'"),
            ("jit_syntax_level", jit_syntax_level, ("", "STRICT", "COMPATIBLE", "LAX"), "'['STRICT', 'LAX']'"),
            ("debug_level", debug_level, ("RELEASE", "DEBUG"), "'['RELEASE', 'DEBUG']'"),
            ("infer_boost", infer_boost, ("", "on", "off"), "'['on', 'off']'"),
        ):
            if not isinstance(value, str) or value not in choices:
                raise ValueError(f"For 'JitConfig', the argument '{name}' must be one of {shown}, but got {value!r}.")
        self.jit_config_dict: dict[str, Any] = {
            **options, "jit_level": jit_level, "exc_mode": exc_mode, "jit_syntax_level": jit_syntax_level, "debug_level": debug_level,
            "infer_boost": infer_boost,
        }
        if jit_level:
            self.jit_config_dict.setdefault("backend", "GE" if jit_level == "O2" else "ms_backend")

    def __repr__(self) -> str:
        return f"JitConfig({', '.join(f'{name}={value!r}' for name, value in self.jit_config_dict.items())})"


_Class = TypeVar("_Class", bound=type)


def jit_class(cls: _Class) -> _Class:
    """Mark a class whose objects are used in graphs; this has no effect, since methods of any class are parsed.

    TypeError if `cls` is not a class, or is a Cell.
    """
    if not isinstance(cls, type):
        raise TypeError(f"For 'jit_class', the decorator can only be used for class type, but got {cls!r}.")
    if issubclass(cls, Cell):
        raise TypeError(f"For 'jit_class', the decorator is used for user-defined classes and cannot be used for nn.Cell: {cls}.")
    cls.__ms_class__ = True
    return cls  # pyright: ignore[reportReturnType] - it is what was given
