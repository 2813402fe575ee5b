"""Exceptions for a user's function or source that fails, or returns what is not a row."""

from __future__ import annotations

import traceback
from typing import Any

from adjoint.foundation.diagnostics import is_ours, printed_as
from adjoint.foundation.tracebacks import users_frames

__all__ = ["UserError", "user_error"]

_HEAD = "Exception thrown from user defined Python function in dataset."


@printed_as(RuntimeError)
class UserError(RuntimeError):
    """A RuntimeError whose message holds the whole traceback of the user's code, from whatever thread or process it came.

    user_exception  the exception itself; None where it was raised in another process
    """

    user_exception: BaseException | None = None

    def parts(self) -> tuple[str]:
        """What one process sends to another."""
        return (str(self),)

    @classmethod
    def again(cls, message: str) -> UserError:
        """Return the error from the parts of a message."""
        return cls(message)


def user_error(where: str, error: BaseException) -> UserError:
    """Return the exception for `error`, which the user's code raised at `where`.

    where  what was running, as "operation 'crop' of map, row 3 of epoch 0"
    """
    frames = users_frames(error.__traceback__)
    # If no line of the user's ran, as when a function is called with the wrong arguments, `where` gives the location.
    ours = frames is not None and is_ours[frames.tb_frame.f_code.co_filename]
    text = "".join(traceback.format_exception(type(error), error, None if ours else frames)).rstrip()
    failed = UserError(f"{_HEAD}\nIt was raised by {where}:\n\n{text}")
    failed.user_exception = error
    return failed


def wrong_result(where: str, message: str) -> UserError:
    """Return the exception for user's code that returned what is not a row."""
    return UserError(f"{_HEAD}\nInvalid result of {where}: {message}")


def quoted(names: Any) -> str:
    """Format names of columns for messages."""
    return ", ".join(repr(name) for name in names)
