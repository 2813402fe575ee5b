"""Datasets of formats that are not supported: they can be imported, and raise with the way out when they are made."""

from __future__ import annotations

from typing import Any

__all__ = ["OBSMindDataset", "TFRecordDataset"]


class _Absent:
    """Base class of datasets that cannot be made."""

    what = ""

    def __init__(self, /, *arguments: Any, **named: Any):
        raise NotImplementedError(f"adjoint reads no {self.what} files. Read them with what wrote them, once, into arrays: `np.savez` "
                                  f"keeps them, and "
                                  "`dataset.NumpySlicesDataset` or `dataset.GeneratorDataset` gives them to a network.")


class OBSMindDataset(_Absent):
    """MindRecord files in Huawei's storage: NotImplementedError."""

    what = "remote MindRecord"


class TFRecordDataset(_Absent):
    """TFRecord files: NotImplementedError."""

    what = "TFRecord"
