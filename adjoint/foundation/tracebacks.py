"""Show uncaught exceptions with the frames of the user's program only, without those of this package and of the standard library that it
calls.

Only the display changes: exceptions keep their tracebacks, so code that catches an exception, `sys.last_traceback` and a post-mortem
debugger see every frame.  `ADJOINT_FULL_TRACEBACK=1` shows all frames, and so do an `InternalError` and a failing assertion of the package.
"""

from __future__ import annotations

import contextlib
import dis
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from adjoint.foundation.diagnostics import InternalError, is_of_python, is_ours

__all__ = ["install", "users_frames"]

_RAISE = dis.opmap["RAISE_VARARGS"]
_SOME_LEFT_OUT = "raised within adjoint: ADJOINT_FULL_TRACEBACK=1 shows its frames"


def install() -> None:
    """Make Python, threads and IPython show only the user's frames of uncaught exceptions, from now on."""
    sys.excepthook = _for_python(sys.excepthook)
    threading.excepthook = _for_threads(threading.excepthook)
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _in_ipython)


def users_frames(frames: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package, and of the standard library where this package calls it.

    If no frame would be left, the traceback is returned unchanged.
    """
    kept: list[TracebackType] = []
    at, called_by_us = frames, False
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if is_ours[file]:
            called_by_us = called_by_us or not file.startswith("<frozen ")  # Python's import system serves both
        elif not (called_by_us and is_of_python(file)):
            called_by_us = False
            kept.append(at)
        at = at.tb_next
    shown = None
    for at in reversed(kept):
        shown = TracebackType(shown, at.tb_frame, at.tb_lasti, at.tb_lineno)
    return shown if kept else frames


@contextlib.contextmanager
def _shortened(raised: BaseException) -> Iterator[None]:
    """Reduce an exception, and the exceptions that led to it, to the user's frames while the body of the `with` shows it.

    A cause that was raised and caught within this package, such as a failed table lookup, is left out.
    """
    whole: dict[int, tuple[BaseException, TracebackType | None, bool]] = {}
    left: list[BaseException | None] = [raised]
    while left:
        error = left.pop()
        if error is not None and id(error) not in whole:
            whole[id(error)] = error, error.__traceback__, error.__suppress_context__
            left += [error.__cause__, error.__context__]
    if not _is_shown_whole(raised):
        for error, frames, suppressed in whole.values():
            before = error.__context__
            error.__suppress_context__ = suppressed or (before is not None and _is_inner(before))
            error.__traceback__ = users_frames(frames)
    try:
        yield
    finally:
        for error, frames, suppressed in whole.values():
            error.__traceback__, error.__suppress_context__ = frames, suppressed


def _is_inner(error: BaseException) -> bool:
    """Return True if an exception was raised and caught within this package."""
    at = error.__traceback__
    while at is not None:
        if not is_ours[at.tb_frame.f_code.co_filename]:
            return False
        at = at.tb_next
    return error.__traceback__ is not None


def _is_shown_whole(raised: BaseException) -> bool:
    if os.environ.get("ADJOINT_FULL_TRACEBACK", "") not in ("", "0") or isinstance(raised, InternalError):
        return True
    last = _innermost(raised)
    return isinstance(raised, AssertionError) and last is not None and is_ours[last.tb_frame.f_code.co_filename]


def _innermost(raised: BaseException) -> TracebackType | None:
    at = raised.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at


def _hint(raised: BaseException) -> str:
    """Return the note, shown below an exception, that frames were left out; "" if it needs none: nothing was left out where it was raised,
    or this package raised it deliberately.
    """
    last, shown = _innermost(raised), users_frames(raised.__traceback__)
    if last is None or _is_shown_whole(raised) or shown is raised.__traceback__:
        return ""
    while shown is not None and shown.tb_next is not None:
        shown = shown.tb_next
    code = last.tb_frame.f_code
    on_purpose = is_ours[code.co_filename] and code.co_code[last.tb_lasti] == _RAISE
    return "" if on_purpose or (shown is not None and shown.tb_frame is last.tb_frame) else _SOME_LEFT_OUT


def _for_python(shown: Callable[..., Any]) -> Callable[..., None]:
    def hook(kind: type[BaseException], raised: BaseException, frames: TracebackType | None) -> None:
        hint = _hint(raised)
        with _shortened(raised):
            shown(kind, raised, raised.__traceback__)
        if hint:
            print(hint, file=sys.stderr)

    return hook


def _for_threads(shown: Callable[..., Any]) -> Callable[..., None]:
    def hook(args: Any) -> None:
        raised = args.exc_value
        if raised is None:
            shown(args)
            return
        with _shortened(raised):
            shown(threading.ExceptHookArgs((args.exc_type, raised, raised.__traceback__, args.thread)))

    return hook


def _in_ipython(shell: Any, kind: type[BaseException], raised: BaseException, frames: TracebackType, tb_offset: int | None = None) -> None:
    """Show an exception in IPython in place of its `showtraceback`; `%debug` still finds all frames."""
    with _shortened(raised):
        shell.showtraceback((kind, raised, raised.__traceback__), tb_offset=tb_offset)
    sys.last_traceback = frames
