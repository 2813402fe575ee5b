"""Pipelines of data: `mindspore.dataset`.  docs/data.md shows them."""

from typing import Any

from adjoint.dataset import config, text, transforms, vision
from adjoint.dataset.batching import BatchInfo
from adjoint.dataset.dataset import Dataset
from adjoint.dataset.dataset import zip_datasets as zip
from adjoint.dataset.digits import FashionMnistDataset, KMnistDataset, MnistDataset
from adjoint.dataset.generator import GeneratorDataset, NumpySlicesDataset, PaddedDataset
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import (
    DistributedSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Shuffle,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from adjoint.diagnostics import missing_name

__all__ = [
    "BatchInfo", "Dataset", "DistributedSampler", "FashionMnistDataset", "GeneratorDataset", "KMnistDataset", "MappableDataset",
    "MnistDataset", "NumpySlicesDataset", "PKSampler", "PaddedDataset", "RandomSampler", "Sampler", "SequentialSampler", "Shuffle",
    "SubsetRandomSampler", "SubsetSampler", "WeightedRandomSampler", "config", "text", "transforms", "vision", "zip",
]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
