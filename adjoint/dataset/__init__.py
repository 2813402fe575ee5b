"""`mindspore.dataset`: pipelines of data (docs/data.md)."""

from typing import Any

from adjoint.dataset import audio, config, text, transforms, vision
from adjoint.dataset.absent import OBSMindDataset, TFRecordDataset
from adjoint.dataset.annotated import CocoDataset, ManifestDataset, VOCDataset
from adjoint.dataset.batching import BatchInfo
from adjoint.dataset.cache import DatasetCache
from adjoint.dataset.callbacks import DSCallback
from adjoint.dataset.cifar import Cifar10Dataset, Cifar100Dataset
from adjoint.dataset.corpora import (
    AGNewsDataset,
    AmazonReviewDataset,
    CoNLL2000Dataset,
    DBpediaDataset,
    EnWik9Dataset,
    IMDBDataset,
    IWSLT2016Dataset,
    IWSLT2017Dataset,
    Multi30kDataset,
    PennTreebankDataset,
    SogouNewsDataset,
    SST2Dataset,
    UDPOSDataset,
    WikiTextDataset,
    YahooAnswersDataset,
    YelpReviewDataset,
)
from adjoint.dataset.dataset import ConcatDataset, Dataset
from adjoint.dataset.dataset import zip_datasets as zip
from adjoint.dataset.digits import EMnistDataset, FashionMnistDataset, KMnistDataset, MnistDataset, QMnistDataset
from adjoint.dataset.folders import CelebADataset, ImageFolderDataset
from adjoint.dataset.generator import GeneratorDataset, NumpySlicesDataset, PaddedDataset
from adjoint.dataset.labelled import (
    Caltech256Dataset,
    DIV2KDataset,
    FlickrDataset,
    Food101Dataset,
    LSUNDataset,
    OmniglotDataset,
    Places365Dataset,
    RenderedSST2Dataset,
    SBUDataset,
    SUN397Dataset,
)
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.pictures import SemeionDataset, STL10Dataset, SVHNDataset, USPSDataset
from adjoint.dataset.questions import CLUEDataset, SQuADDataset
from adjoint.dataset.random_data import FakeImageDataset, RandomDataset
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
from adjoint.dataset.schema import Schema
from adjoint.dataset.steps import (
    BatchDataset,
    FilterDataset,
    MapDataset,
    ProjectDataset,
    RenameDataset,
    RepeatDataset,
    ShuffleDataset,
    SkipDataset,
    TakeDataset,
    ZipDataset,
)
from adjoint.dataset.texts import CSVDataset, TextFileDataset
from adjoint.foundation.diagnostics import missing_name

__all__ = [
    "AGNewsDataset", "AmazonReviewDataset", "BatchDataset", "BatchInfo", "CLUEDataset", "CSVDataset", "Caltech256Dataset", "CelebADataset",
    "Cifar100Dataset", "Cifar10Dataset", "CoNLL2000Dataset", "CocoDataset", "ConcatDataset", "DBpediaDataset", "DIV2KDataset", "DSCallback",
    "Dataset", "DatasetCache", "DistributedSampler", "EMnistDataset", "EnWik9Dataset", "FakeImageDataset", "FashionMnistDataset",
    "FilterDataset", "FlickrDataset", "Food101Dataset", "GeneratorDataset", "IMDBDataset", "IWSLT2016Dataset", "IWSLT2017Dataset",
    "ImageFolderDataset", "KMnistDataset", "LSUNDataset", "ManifestDataset", "MapDataset", "MappableDataset", "MindDataset", "MnistDataset",
    "Multi30kDataset", "NumpySlicesDataset", "OBSMindDataset", "OmniglotDataset", "PKSampler", "PaddedDataset", "PennTreebankDataset",
    "Places365Dataset", "ProjectDataset", "QMnistDataset", "RandomDataset", "RandomSampler", "RenameDataset", "RenderedSST2Dataset",
    "RepeatDataset", "SBUDataset", "SQuADDataset", "SST2Dataset", "STL10Dataset", "SUN397Dataset", "SVHNDataset", "Sampler", "Schema",
    "SemeionDataset", "SequentialSampler", "Shuffle", "ShuffleDataset", "SkipDataset", "SogouNewsDataset", "SubsetRandomSampler",
    "SubsetSampler", "TFRecordDataset", "TakeDataset", "TextFileDataset", "UDPOSDataset", "USPSDataset", "VOCDataset",
    "WeightedRandomSampler", "WikiTextDataset", "YahooAnswersDataset", "YelpReviewDataset", "ZipDataset", "audio", "config", "text",
    "transforms", "vision", "zip",
]

_FILES = "a `GeneratorDataset` whose source reads the files"
INSTEAD = {
    "WaitedDSCallback": "`DSCallback`: rows are made on demand, so its steps begin after the training step before",
    "serialize": "the program that makes the pipeline", "deserialize": "the program that makes the pipeline",
    **dict.fromkeys(("Flowers102Dataset", "Caltech101Dataset", "CityscapesDataset", "KITTIDataset", "LFWDataset", "PhotoTourDataset",
                     "SBDataset", "WIDERFaceDataset"), _FILES),
}
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
