"""The classes by which MindSpore names the steps of a pipeline: `isinstance(data.batch(4), dataset.BatchDataset)`.

Here every pipeline is a `Dataset`, and its last step is a node; these classes are asked about, not made.
"""

from __future__ import annotations

from typing import Any, ClassVar

from adjoint.dataset.batching import Batch
from adjoint.dataset.dataset import Dataset
from adjoint.dataset.nodes import Node
from adjoint.dataset.operations import Filter, Map, Project, Rename, Repeat, ShuffleRows, Skip, Take, Zip

__all__ = [
    "BatchDataset", "FilterDataset", "MapDataset", "ProjectDataset", "RenameDataset", "RepeatDataset", "ShuffleDataset", "SkipDataset",
    "TakeDataset", "ZipDataset",
]


class _Step(type):
    """A class whose instances are the datasets with a certain last step."""

    node: ClassVar[type[Node]]

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Dataset) and isinstance(value.node, cls.node)

    def __call__(cls, /, *arguments: Any, **named: Any) -> Any:
        raise TypeError(f"'{cls.__name__}' is made by a method of a dataset, such as `batch`, `map` or `repeat`.")


def _step(name: str, node: type[Node]) -> Any:
    return _Step(name, (), {"node": node, "__module__": __name__, "__doc__": f"The datasets whose last step is `{node.__name__}`."})


BatchDataset, FilterDataset = _step("BatchDataset", Batch), _step("FilterDataset", Filter)
MapDataset, ProjectDataset, RenameDataset = _step("MapDataset", Map), _step("ProjectDataset", Project), _step("RenameDataset", Rename)
RepeatDataset, ShuffleDataset = _step("RepeatDataset", Repeat), _step("ShuffleDataset", ShuffleRows)
SkipDataset, TakeDataset, ZipDataset = _step("SkipDataset", Skip), _step("TakeDataset", Take), _step("ZipDataset", Zip)
