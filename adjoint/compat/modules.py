"""`mindspore` and its modules: made from the table of paths when they are imported."""

from __future__ import annotations

import difflib
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from adjoint.compat import out_of_scope, paths
from adjoint.foundation.diagnostics import missing_text, name_error

__all__ = ["install"]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import finder for `mindspore` and its modules, by the table."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        top, _, rest = fullname.partition(".")
        if top != "mindspore":
            return None
        if not _is_here(rest or top):
            raise _unknown(rest)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Yield the package that `importlib.metadata.version("mindspore")` asks for: programs choose by its version what they call."""
        if context.name in (None, "mindspore"):
            from importlib.metadata import Distribution  # slow to load, and few programs ask

            class MindSpore(Distribution):
                """The package by its name and version: it has no files."""

                def read_text(self, filename: str) -> str | None:
                    return f"Metadata-Version: 2.1\nName: mindspore\nVersion: {paths.VERSION}\n" if filename == "METADATA" else None

                def locate_file(self, path: Any) -> Any:
                    return path

            yield MindSpore()

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Return a module as Python makes them."""

    def exec_module(self, module: ModuleType) -> None:
        path = _path(module.__name__)
        module.__doc__ = f"MindSpore's `{module.__name__}`: its names, by the table of paths."
        vars(module).update(__getattr__=_getter(module, path), __dir__=lambda: sorted({*vars(module), *paths.names_here(path)}))
        if path == "mindspore":
            vars(module)["__version__"] = paths.VERSION
        # Importing a submodule later would overwrite the function of the same name, so it is imported first.
        for name in paths.row_of(path).names:
            child = _child(path, name)
            if paths.is_theirs(child) and _is_here(child):
                importlib.import_module(paths.full(child))
                vars(module).pop(name, None)  # absent if it was imported before


def install() -> None:
    """From now on `import mindspore` imports this package."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _path(module: str) -> str:
    return module if module == "mindspore" else module.removeprefix("mindspore.")


def _child(path: str, name: str) -> str:
    return name if path == "mindspore" else f"{path}.{name}"


def _is_here(path: str) -> bool:
    """Return whether a MindSpore module has a name that exists here, or is out of scope as a whole."""
    if not paths.is_theirs(path):
        return False
    row = paths.row_of(path)
    below = any(name.startswith(f"{path}.") for name in paths.module_paths())
    return below or bool(row.modules) or path in paths.UNLISTED or out_of_scope.reason(path) is not None \
        or any(paths.is_here(path, name) for name in row.names)


def _getter(module: ModuleType, path: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: what it finds becomes an attribute."""

    def get(name: str) -> Any:
        if name == "__all__":
            return [found for found in paths.names_here(path) if found not in paths.row_of(path).unlisted]
        if name.startswith("__") and name not in paths.row_of(path).names:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name)
        value = paths.look_up(path, name)
        if value is paths.ABSENT:
            row = paths.row_of(path)
            child, named, why = row.modules.get(name, _child(path, name)), name in row.names, out_of_scope.reason(path, name)
            if named and why is not None:
                value = out_of_scope.OutOfScope(f"{module.__name__}.{name}", paths.way_out(path, name) or why)
            elif not named and paths.is_theirs(child) and _is_here(child):
                value = importlib.import_module(paths.full(child))
            else:
                raise name_error(_missing(path, name), name, sys._getframe(1))
        setattr(module, name, value)
        return value

    return get


def _missing(path: str, name: str) -> str:
    return missing_text(paths.full(path), name, paths.names_here(path), paths.way_out(path, name))


def _unknown(path: str) -> ModuleNotFoundError:
    """Return the exception for a MindSpore module that is missing here, with what to write instead or similar names."""
    near = difflib.get_close_matches(paths.full(path), map(paths.full, paths.module_paths()), 10)
    close = [other for other in near if _is_here(_path(other))]
    instead = paths.way_out("mindspore", path.partition(".")[0])
    hint = f" Instead: {instead}." if instead else f" Close to it is {close[0]!r}." if close else ""
    name = paths.full(path)
    return ModuleNotFoundError(f"adjoint has no module {name!r}.{hint}", name=name)
