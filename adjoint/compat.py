"""Runs scripts written for `mindspore`: its modules stand for ours, and nothing else changes.

`mindspore.x` is `adjoint.x`, but for the names in `MODULES`.  A module that we lack is an ImportError that says so.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.abc
import importlib.machinery
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import adjoint

__all__ = ["MODULES", "install", "own_frames", "run"]

MODULES = {
    "mindspore.common.api": "adjoint",
    "mindspore.common.seed": "adjoint.runtime.random",
    "mindspore.nn.cell": "adjoint.nn",
    "mindspore.nn.layer": "adjoint.nn",
    "mindspore.nn.loss": "adjoint.nn",
    "mindspore.nn.optim": "adjoint.nn",
    "mindspore.nn.wrap": "adjoint.nn",
    "mindspore.ops.primitive": "adjoint.ops",
    "mindspore.nn.metrics": "adjoint.train.metrics",
    "mindspore.nn.wrap.loss_scale": "adjoint.nn.loss_scale",
    "mindspore.train.serialization": "adjoint",
}
"""Modules whose place in MindSpore is not the one of what answers for them here."""


PUBLIC = (
    "mindspore.amp", "mindspore.common", "mindspore.common.dtype", "mindspore.common.initializer", "mindspore.common.parameter",
    "mindspore.common.tensor", "mindspore.context", "mindspore.dataset", "mindspore.dtype", "mindspore.nn", "mindspore.ops",
    "mindspore.ops.composite", "mindspore.ops.functional", "mindspore.ops.operations", "mindspore.train",
)
"""Modules that stand here under the same name.  All others at the top, `adjoint.ir` and its like, are none of MindSpore's."""


def target_of(name: str) -> str:
    """Our module that stands for a module of MindSpore's."""
    return MODULES.get(name, "adjoint" + name.removeprefix("mindspore"))


class _StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `mindspore` and its modules among ours."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname.partition(".")[0] != "mindspore":
            return None
        ours = target_of(fullname)
        if fullname not in MODULES and fullname.count(".") == 1 and fullname not in PUBLIC:
            raise _unknown(fullname)
        try:
            importlib.import_module(ours)
        except ModuleNotFoundError as missing:
            if missing.name is None or not ours.startswith(missing.name):
                raise
            raise _unknown(fullname) from None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(target_of(spec.name))
        # The import system is about to write its own spec on the module: keep ours, to put it back.
        self._kept = module.__spec__, getattr(module, "__loader__", None), getattr(module, "__path__", None)
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec, loader, path = self._kept
        module.__spec__, module.__loader__ = spec, loader
        if path is not None:
            module.__path__ = path


def _unknown(name: str) -> ModuleNotFoundError:
    """The exception for a module of MindSpore's that we lack, with what to write instead or what is close."""
    close = difflib.get_close_matches(name, [*PUBLIC, *MODULES], 1)
    way_out = adjoint.INSTEAD.get(name.split(".")[1])
    hint = f" Instead: {way_out}." if way_out else f" Close to it is {close[0]!r}." if close else ""
    return ModuleNotFoundError(f"adjoint has no module that stands for {name!r}.{hint}", name=name)


def install() -> None:
    """From now on `import mindspore` gives this package."""
    if not any(isinstance(finder, _StandIn) for finder in sys.meta_path):
        sys.meta_path.insert(0, _StandIn())


def run(script: str, arguments: Sequence[str]) -> None:
    """Run a script as `__main__`, with `mindspore` standing for adjoint; the arguments are its `sys.argv[1:]`."""
    install()
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    sys.excepthook = _without_runner(script, sys.excepthook)
    runpy.run_path(script, run_name="__main__")


def own_frames(raised: BaseException, script: str) -> BaseException:
    """The exception with the frames of the script and of what it called: not those of what ran the script."""
    frames = raised.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != script:
        frames = frames.tb_next
    return raised.with_traceback(frames)


def _without_runner(script: str, shown: Callable[..., Any]) -> Callable[..., None]:
    """A `sys.excepthook` for a script: as if Python itself ran it."""

    def hook(kind: type[BaseException], raised: BaseException, _: TracebackType | None) -> None:
        own_frames(raised, script)
        shown(kind, raised, raised.__traceback__)

    return hook
