"""Exceptions of `mindspore.mindrecord`, with MindSpore's names: none is a built-in one."""

from __future__ import annotations

__all__ = ["MRMDefineIndexError", "MRMGetMetaError", "MRMInvalidSchemaError", "MindRecordException", "ParamTypeError", "ParamValueError"]


class MindRecordException(Exception):
    """The base class; the message begins with the name of the class."""

    def __init__(self, message: str):
        super().__init__(f"[{type(self).__name__}]: {message}")


class ParamTypeError(MindRecordException):
    """An argument of the wrong type."""


class ParamValueError(MindRecordException):
    """An argument with a wrong value."""


class MRMInvalidSchemaError(MindRecordException):
    """A schema that is not one."""


class MRMDefineIndexError(MindRecordException):
    """An index over a field that cannot be searched."""


class MRMGetMetaError(MindRecordException):
    """An index before there is a schema."""
