"""Where commands write: colour on a terminal alone, and a reader who has read enough is no mistake."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console

__all__ = ["Output"]


class Output(Console):
    """Standard output.  A closed pipe is the BrokenPipeError that it is, where rich would end the process."""

    def on_broken_pipe(self) -> NoReturn:
        raise
