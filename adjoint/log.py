"""`mindspore.log`: messages on stderr, from the level in the environment variable GLOG_v upwards (by default 2, WARNING).

    from mindspore import log as logger
    logger.warning("%s steps are left out", 3)
"""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any

__all__ = ["critical", "debug", "error", "get_level", "get_log_config", "info", "warning"]

_LEVELS = {"0": logging.DEBUG, "1": logging.INFO, "2": logging.WARNING, "3": logging.ERROR, "4": logging.CRITICAL}
"""MindSpore's numbers of levels."""


class _Lines(logging.Formatter):
    """Format records as MindSpore does: `[WARNING] ME(process:thread,MainProcess):2026-01-31-23:59:59.123.000 [file:line] message`."""

    def __init__(self) -> None:
        super().__init__("[%(levelname)s] ME(%(process)d:%(thread)d,%(processName)s):%(asctime)s [%(pathname)s:%(lineno)d] %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return f"{time.strftime('%Y-%m-%d-%H:%M:%S', self.converter(record.created))}.{int(record.msecs):03d}.000"


class _Stderr(logging.StreamHandler[Any]):
    """Write to the current `sys.stderr`."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _made() -> logging.Logger:
    logger = logging.getLogger("mindspore")
    handler = _Stderr()
    handler.setFormatter(_Lines())
    logger.handlers, logger.propagate = [handler], False
    return logger


_logger = _made()


def _write(level: int, message: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    _logger.setLevel(_LEVELS[get_level()])
    _logger.log(level, message, *arguments, stacklevel=3, **options)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level 0; `args` are put into it by `%`, `kwargs` are those of Python's loggers."""
    _write(logging.DEBUG, msg, args, kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level 1."""
    _write(logging.INFO, msg, args, kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level 2."""
    _write(logging.WARNING, msg, args, kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level 3."""
    _write(logging.ERROR, msg, args, kwargs)


def critical(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level 4."""
    _write(logging.CRITICAL, msg, args, kwargs)


def get_level() -> str:
    """Return the lowest level that is written, "0" to "4"; raise ValueError if GLOG_v is none of them."""
    level = os.environ.get("GLOG_v", "").strip() or "2"  # noqa: SIM112 - MindSpore's spelling
    if level not in _LEVELS:
        raise ValueError(f"The environment variable GLOG_v must be one of {', '.join(_LEVELS)}, but it is {level!r}.")
    return level


def get_log_config() -> dict[str, str]:
    """Return the settings of the log by the names of their environment variables; messages always go to stderr here."""
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
