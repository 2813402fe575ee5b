"""`mindspore.dataset`: pipelines of data (docs/data.md)."""

from typing import Any

from adjoint.dataset import config, text, transforms, vision
from adjoint.dataset.absent import OBSMindDataset, TFRecordDataset
from adjoint.dataset.batching import BatchInfo
from adjoint.dataset.cifar import Cifar10Dataset, Cifar100Dataset
from adjoint.dataset.dataset import Dataset
from adjoint.dataset.dataset import zip_datasets as zip
from adjoint.dataset.digits import FashionMnistDataset, KMnistDataset, MnistDataset
from adjoint.dataset.folders import CelebADataset, ImageFolderDataset
from adjoint.dataset.generator import GeneratorDataset, NumpySlicesDataset, PaddedDataset
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.records import MindDataset
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
from adjoint.dataset.texts import CSVDataset, TextFileDataset
from adjoint.foundation.diagnostics import missing_name

__all__ = [
    "BatchInfo", "CSVDataset", "CelebADataset", "Cifar100Dataset", "Cifar10Dataset", "Dataset", "DistributedSampler",
    "FashionMnistDataset", "GeneratorDataset", "ImageFolderDataset", "KMnistDataset", "MappableDataset", "MindDataset", "MnistDataset",
    "NumpySlicesDataset", "OBSMindDataset", "PKSampler", "PaddedDataset", "RandomSampler", "Sampler", "SequentialSampler", "Shuffle",
    "SubsetRandomSampler", "SubsetSampler", "TFRecordDataset", "TextFileDataset", "WeightedRandomSampler", "config", "text", "transforms",
    "vision", "zip",
]

_FILES = "a `GeneratorDataset` whose source reads the files"
INSTEAD = {
    "DSCallback": "a loop over `create_dict_iterator`", "WaitedDSCallback": "a loop over `create_dict_iterator`",
    "DatasetCache": "a `NumpySlicesDataset` over what was computed once", "Schema": "`column_names`",
    "serialize": "the program that makes the pipeline", "deserialize": "the program that makes the pipeline",
    **dict.fromkeys(("CocoDataset", "VOCDataset", "Flowers102Dataset", "IMDBDataset", "ManifestDataset", "EMnistDataset", "QMnistDataset",
                     "SVHNDataset", "STL10Dataset", "CLUEDataset", "WikiTextDataset", "Multi30kDataset", "Caltech101Dataset",
                     "CityscapesDataset", "USPSDataset", "PennTreebankDataset", "AGNewsDataset"), _FILES),
}
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
