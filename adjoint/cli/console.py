"""Output of the commands: colour only on a terminal; a closed pipe is not an error."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console

__all__ = ["Output"]


class Output(Console):
    """Standard output.  A closed pipe raises BrokenPipeError, where rich would end the process."""

    def on_broken_pipe(self) -> NoReturn:
        raise
