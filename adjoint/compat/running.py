"""Run scripts written for `mindspore` as Python runs them."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from adjoint.compat.modules import install

__all__ = ["own_frames", "run"]


def run(script: str, arguments: Sequence[str]) -> None:
    """Run a script as `__main__`, with `mindspore` imported as adjoint; the arguments become its `sys.argv[1:]`.

    When it has ended, its variables are those of `__main__`, as where Python itself runs it: what holds tensors can be found.
    """
    install()
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    sys.excepthook = _without_runner(script, sys.excepthook)
    variables = runpy.run_path(script, run_name="__main__")
    main = sys.modules["__main__"] = ModuleType("__main__")
    vars(main).update(variables)


def own_frames(raised: BaseException, script: str) -> BaseException:
    """Return the exception with the frames of the script and what it called, without those that started the script."""
    frames = raised.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != script:
        frames = frames.tb_next
    return raised.with_traceback(frames)


def _without_runner(script: str, shown: Callable[..., Any]) -> Callable[..., None]:
    """Act as `sys.excepthook` of a script, as if Python itself ran it."""

    def hook(kind: type[BaseException], raised: BaseException, _: TracebackType | None) -> None:
        own_frames(raised, script)
        shown(kind, raised, raised.__traceback__)

    return hook
