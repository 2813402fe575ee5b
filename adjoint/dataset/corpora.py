"""Corpora of text: directories with files of fixed names, one for each part of the data."""

from __future__ import annotations

import glob
import os
import xml.etree.ElementTree
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_type, check_usage, check_word, existing_file
from adjoint.dataset.blocks import Block
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import Shuffle, select_sampler
from adjoint.dataset.sources import Samples
from adjoint.dataset.texts import FileRows, Lines, file_sampler, table

__all__ = [
    "AGNewsDataset", "AmazonReviewDataset", "CoNLL2000Dataset", "DBpediaDataset", "EnWik9Dataset", "IMDBDataset", "IWSLT2016Dataset",
    "IWSLT2017Dataset", "Multi30kDataset", "PennTreebankDataset", "SST2Dataset", "SogouNewsDataset", "UDPOSDataset", "WikiTextDataset",
    "YahooAnswersDataset", "YelpReviewDataset",
]


def parts_of(directory: str, files: dict[str, str], usage: str | None) -> list[str]:
    """Return the paths of the files of a usage; "all" and None take all of them.

    files  the file of each usage, relative to the directory

    Errors: ValueError for another usage; RuntimeError for a file that does not exist.
    """
    check_usage(usage, [*files, "all"])
    names = files.values() if usage in (None, "all") else [files[usage]]
    return [existing_file(os.path.join(directory, name)) for name in names]


def _text_of(path: str) -> str:
    """Return the text of a file in UTF-8; raise RuntimeError for another encoding."""
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise RuntimeError(f"Invalid file, {path} is not text in UTF-8: {error}.") from None


def lines_of(path: str) -> list[str]:
    """Return the lines of a file in UTF-8, without their ends."""
    return [line.removesuffix("\r") for line in _text_of(path).removesuffix("\n").split("\n")]


class _Corpus(MappableDataset):
    """Base class of corpora with one file for each part.

    files    the file of each usage
    columns  the names of the columns, all of strings
    """

    files: dict[str, str]
    columns: tuple[str, ...] = ("text",)

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        check_directory(dataset_dir)
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        self.dataset_dir, self.usage = dataset_dir, usage
        self._set_rows(self._samples_of(parts_of(dataset_dir, self.files, usage)), num_samples, shuffle, num_shards, shard_id)

    def _set_rows(self, samples: Samples, num_samples: int | None, shuffle: Any, num_shards: int | None, shard_id: int | None) -> None:
        self._set_source(samples, file_sampler(samples, num_samples, shuffle, num_shards, shard_id))

    def _samples_of(self, paths: list[str]) -> Samples:
        """Return the rows of files: by default comma-separated values."""
        return table(paths, ",", self.columns, [str] * len(self.columns), False)


class _WorkersLast(_Corpus):
    """A corpus whose arguments are in another order: the number of workers comes last but one."""

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
                 num_parallel_workers: int | None = None, cache: Any = None):
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)


# -- tables of texts with classes, by Zhang, Zhao and LeCun: Character-level Convolutional Networks for Text Classification, 2015 ----------


_TABLES = {"train": "train.csv", "test": "test.csv"}


class AGNewsDataset(_Corpus):
    """News of four classes: `index`, `title` and `description`, strings.

    dataset_dir  the directory with train.csv and test.csv
    usage        "train", "test" or "all"; None: all

    The other arguments are those of TextFileDataset.

    Errors: ValueError for another usage or what is not a directory; RuntimeError for a file that is missing, or a row with other columns.
    """

    files = _TABLES
    columns = ("index", "title", "description")


class AmazonReviewDataset(_Corpus):
    """Reviews of products: `label`, `title` and `content`, strings.  The arguments and the errors are those of AGNewsDataset."""

    files = _TABLES
    columns = ("label", "title", "content")


class DBpediaDataset(_Corpus):
    """Abstracts of Wikipedia of 14 classes: `class`, `title` and `content`, strings.

    The arguments and the errors are those of AGNewsDataset.
    """

    files = _TABLES
    columns = ("class", "title", "content")


class YahooAnswersDataset(_Corpus):
    """Questions of ten classes with their best answers: `class`, `title`, `content` and `answer`, strings.

    The arguments and the errors are those of AGNewsDataset.
    """

    files = _TABLES
    columns = ("class", "title", "content", "answer")


class SogouNewsDataset(_WorkersLast):
    """Chinese news of five classes, in Pinyin: `index`, `title` and `content`, strings.

    The arguments and the errors are those of AGNewsDataset.
    """

    files = _TABLES
    columns = ("index", "title", "content")


class YelpReviewDataset(_WorkersLast):
    """Reviews of businesses: `label` and `text`, strings.  The arguments and the errors are those of AGNewsDataset."""

    files = _TABLES
    columns = ("label", "text")


# -- lines --------------------------------------------------------------------------------------------------------------------------------


class WikiTextDataset(_Corpus):
    """Lines of articles of Wikipedia that are not empty, WikiText-2 or WikiText-103: `text`, strings.

    dataset_dir  the directory with wiki.train.tokens, wiki.test.tokens and wiki.valid.tokens
    usage        "train", "test", "valid" or "all"; None: all

    The other arguments and the errors are those of AGNewsDataset.
    """

    files = {"train": "wiki.train.tokens", "test": "wiki.test.tokens", "valid": "wiki.valid.tokens"}

    def _samples_of(self, paths: list[str]) -> Samples:
        return Lines(paths)


class PennTreebankDataset(WikiTextDataset):
    """Sentences of the Wall Street Journal: `text`, strings.

    dataset_dir  the directory with ptb.train.txt, ptb.test.txt and ptb.valid.txt

    The other arguments and the errors are those of WikiTextDataset.
    """

    files = {"train": "ptb.train.txt", "test": "ptb.test.txt", "valid": "ptb.valid.txt"}


class EnWik9Dataset(_Corpus):
    """All lines of the first 10**9 bytes of the English Wikipedia: `text`, strings.  An empty line is an empty string.

    dataset_dir  the directory with the file enwik9

    The other arguments and the errors are those of AGNewsDataset.
    """

    files = {"all": "enwik9"}

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = True, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        super().__init__(dataset_dir, "all", num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _samples_of(self, paths: list[str]) -> Samples:
        return Lines(paths, all_=True)


def _tagged(path: str, separator: str, width: int) -> Iterator[list[list[str]]]:
    """Yield the sentences of a file: for each column the words of the sentence, one a line; empty lines are between sentences."""
    rows: list[list[str]] = []
    for number, line in enumerate([*lines_of(path), ""], 1):
        if line.strip():
            row = line.split(separator)
            if len(row) != width:
                raise RuntimeError(f"Invalid file, {path} is damaged: line {number} should have {width} columns, but got {line[:80]!r}.")
            rows.append(row)
        elif rows:
            yield [list(column) for column in zip(*rows)]
            rows = []


def _rows_tagged_by_tabs(path: str) -> Iterator[list[list[str]]]:
    return _tagged(path, "\t", 3)


def _rows_tagged_by_spaces(path: str) -> Iterator[list[list[str]]]:
    return _tagged(path, " ", 3)


class UDPOSDataset(_WorkersLast):
    """English sentences with parts of speech: `word`, `universal` and `stanford`, vectors of strings.

    dataset_dir  the directory with en-ud-tag.v2.train.txt, en-ud-tag.v2.test.txt and en-ud-tag.v2.dev.txt
    usage        "train", "test", "valid" or "all"; None: all

    The other arguments and the errors are those of AGNewsDataset.
    """

    files = {"train": "en-ud-tag.v2.train.txt", "test": "en-ud-tag.v2.test.txt", "valid": "en-ud-tag.v2.dev.txt"}
    columns = ("word", "universal", "stanford")

    def _samples_of(self, paths: list[str]) -> Samples:
        return FileRows(paths, self.columns, [None] * 3, _rows_tagged_by_tabs)


class CoNLL2000Dataset(_WorkersLast):
    """English sentences with parts of speech and chunks: `word`, `pos_tag` and `chunk_tag`, vectors of strings.

    dataset_dir  the directory with train.txt and test.txt
    usage        "train", "test" or "all"; None: all

    The other arguments and the errors are those of AGNewsDataset.
    """

    files = {"train": "train.txt", "test": "test.txt"}
    columns = ("word", "pos_tag", "chunk_tag")

    def _samples_of(self, paths: list[str]) -> Samples:
        return FileRows(paths, self.columns, [None] * 3, _rows_tagged_by_spaces)


def _rows_after_header(path: str) -> Iterator[list[str]]:
    """Yield the rows of a file of values between tabs, without its first line."""
    for number, line in enumerate(lines_of(path)[1:], 2):
        row = line.split("\t")
        if len(row) != 2:
            raise RuntimeError(f"Invalid file, {path} is damaged: line {number} should have two columns, but got {line[:80]!r}.")
        yield row


def _sentences_after_numbers(path: str) -> Iterator[list[str]]:
    return ([sentence] for _, sentence in _rows_after_header(path))


class SST2Dataset(_Corpus):
    """Sentences of film reviews: `sentence`, and unless usage is "test" `label`, "0" or "1"; strings.

    dataset_dir  the directory with train.tsv, test.tsv and dev.tsv
    usage        "train", "test" or "dev"; None: train

    The other arguments and the errors are those of AGNewsDataset.
    """

    files = {"train": "train.tsv", "test": "test.tsv", "dev": "dev.tsv"}
    columns = ("sentence", "label")

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        check_usage(usage, list(self.files))
        super().__init__(dataset_dir, usage or "train", num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _samples_of(self, paths: list[str]) -> Samples:
        if self.usage == "test":
            return FileRows(paths, ("sentence",), (None,), _sentences_after_numbers)
        return FileRows(paths, self.columns, (None, None), _rows_after_header)


# -- one file for each text ---------------------------------------------------------------------------------------------------------------


class _Reviews(Samples):
    """Texts in a file each, with a class each; a file is read when its sample is used."""

    columns = ("text", "label")

    def __init__(self, paths: list[str], labels: list[int]):
        self._paths, self._labels = paths, np.array(labels, np.int32)

    def __len__(self) -> int:
        return len(self._paths)

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        texts = [np.array(_text_of(self._paths[index]).rstrip("\r\n")) for index in indices.tolist()]
        return Block([texts, self._labels[indices]], len(indices))

    def labels(self) -> np.ndarray[Any, Any]:
        return self._labels.astype(np.int64)

    def classes(self) -> int:
        return 2

    def class_indexing(self) -> dict[str, int]:
        return {"neg": 0, "pos": 1}


class IMDBDataset(MappableDataset):
    """Reviews of films: `text`, strings, and `label`, int32, 0 for negative and 1 for positive ones.

    dataset_dir  the directory with the folders train and test, each with the folders pos and neg of text files
    usage        "train", "test" or "all"; None: all
    shuffle, sampler, num_samples, num_shards, shard_id
                 which samples an epoch has, in which order; shuffled unless something else is said

    Errors: ValueError for another usage or what is not a directory; RuntimeError if no text is found, or for one that is not UTF-8.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        check_directory(dataset_dir)
        check_usage(usage, ["train", "test", "all"])
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.usage = dataset_dir, usage or "all"
        paths, labels = [], []
        for part in ("train", "test") if self.usage == "all" else (self.usage,):
            for name, label in (("pos", 1), ("neg", 0)):
                found = sorted(glob.glob(os.path.join(glob.escape(dataset_dir), part, name, "*.txt")))
                paths += found
                labels += [label] * len(found)
        if not paths:
            raise RuntimeError(f"Invalid data, no text is found in {dataset_dir}: expected text files in train/pos, train/neg, test/pos "
                               "and test/neg.")
        self._set_source(_Reviews(paths, labels), select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


# -- translations: a file for each language, line by line ---------------------------------------------------------------------------------


def _spoken_lines(path: str) -> list[str]:
    """Return the sentences of talks: the lines of a text that are not elements, or the segments of an XML file."""
    if not path.endswith(".xml"):
        return [line.strip() for line in lines_of(path) if line.strip() and not line.startswith("<")]
    try:
        tree = xml.etree.ElementTree.parse(path)
    except xml.etree.ElementTree.ParseError as error:
        raise RuntimeError(f"Invalid file, failed to load xml file: {path}: {error}.") from None
    return [(segment.text or "").strip() for segment in tree.iter("seg")]


class _Pairs(FileRows):
    """Lines of pairs of files in two languages; both files of a pair have the same number of lines.

    read  returns the lines of a file

    RuntimeError for a file that does not exist.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]], read: Callable[[str], list[str]]):
        for path in (path for pair in pairs for path in pair):
            existing_file(path)
        self._other, self._lines = dict(pairs), read
        super().__init__([first for first, _ in pairs], ("text", "translation"), (None, None), self._pairs)

    def _pairs(self, path: str) -> Iterator[tuple[str, str]]:
        first, second = self._lines(path), self._lines(self._other[path])
        if len(first) != len(second):
            raise RuntimeError(f"Invalid file, {path} has {len(first)} sentences, but {self._other[path]} has {len(second)}.")
        return zip(first, second)


class Multi30kDataset(_Corpus):
    """Descriptions of images in English and German: `text` and `translation`, strings.

    dataset_dir    the directory with the folders training, validation and mmt16_task1_test
    usage          "train", "test", "valid" or "all"; None: all
    language_pair  ("en", "de") or ("de", "en"); None: the first

    The other arguments are those of TextFileDataset.

    Errors: ValueError for another usage or pair of languages; RuntimeError for a file that is missing, or two of different lengths.
    """

    files = {"train": os.path.join("training", "train"), "valid": os.path.join("validation", "val"),
             "test": os.path.join("mmt16_task1_test", "test")}

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Sequence[str] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | Shuffle | None = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        check_directory(dataset_dir)
        check_usage(usage, ["train", "test", "valid", "all"])
        pair = ("en", "de") if language_pair is None else language_pair
        check_type(pair, (list, tuple), "language_pair")
        if tuple(pair) not in (("en", "de"), ("de", "en")):
            raise ValueError(f"language_pair can only be ['en', 'de'] or ['de', 'en'], but got {language_pair}")
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        self.dataset_dir, self.usage = dataset_dir, usage
        names = self.files.values() if usage in (None, "all") else [self.files[usage]]
        first, second = pair
        pairs = [(os.path.join(dataset_dir, f"{name}.{first}"), os.path.join(dataset_dir, f"{name}.{second}")) for name in names]
        self._set_rows(_Pairs(pairs, lines_of), num_samples, shuffle, num_shards, shard_id)


class _Talks(_Corpus):
    """Base class of translations of talks: a text for training, and XML files for validation and testing."""

    year: str
    pairs: tuple[tuple[str, str], ...]

    def _set_talks(self, usage: str | None, language_pair: Any, valid_set: str, test_set: str, num_samples: int | None, shuffle: Any,
                   num_shards: int | None, shard_id: int | None) -> None:
        check_usage(usage, ["train", "valid", "test", "all"])
        pair = ("de", "en") if language_pair is None else language_pair
        check_type(pair, (list, tuple), "language_pair")
        if tuple(pair) not in self.pairs:
            raise ValueError(f"Input language_pair{tuple(pair)} is not within the valid set of {self.pairs}.")
        both = "-".join(pair)
        place = self._place(*pair)
        wanted = ("train", "valid", "test") if usage in (None, "all") else (usage,)
        names = {"train": f"train.tags.{both}.{{}}", "valid": f"IWSLT{self.year}.TED.{valid_set}.{both}.{{}}.xml",
                 "test": f"IWSLT{self.year}.TED.{test_set}.{both}.{{}}.xml"}
        found = [(os.path.join(place, names[part].format(pair[0])), os.path.join(place, names[part].format(pair[1]))) for part in wanted]
        self._set_rows(_Pairs(found, _spoken_lines), num_samples, shuffle, num_shards, shard_id)

    def _place(self, first: str, second: str) -> str:
        """Return the directory of the files of two languages."""
        raise NotImplementedError


class IWSLT2016Dataset(_Talks):
    """Talks in two languages: `text` and `translation`, strings.

    dataset_dir    the directory with the folder texts, and in it files as texts/de/en/de-en/train.tags.de-en.de
    usage          "train", "valid", "test" or "all"; None: all
    language_pair  English and one of Arabic, Czech, German and French, in any order: ("en", "fr"), ...; None: ("de", "en")
    valid_set      the talks for validation: "dev2010", "tst2010", ..., "tst2014"; None: "tst2013"
    test_set       the talks for testing, one of the same; None: "tst2014"

    The other arguments are those of TextFileDataset.

    Errors: ValueError for another usage, set or pair of languages; RuntimeError for a file that is missing or damaged, or two of different
    lengths.
    """

    year = "16"
    pairs = tuple(pair for other in ("ar", "de", "fr", "cs") for pair in (("en", other), (other, "en")))

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Sequence[str] | None = None, valid_set: str | None = None,
                 test_set: str | None = None, num_samples: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None, num_parallel_workers: int | None = None, cache: Any = None):
        check_directory(dataset_dir)
        for name, value in (("valid_set", valid_set), ("test_set", test_set)):
            if value is not None:
                check_word(value, ["dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"], name)
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        self.dataset_dir, self.usage = dataset_dir, usage
        self._set_talks(usage, language_pair, valid_set or "tst2013", test_set or "tst2014", num_samples, shuffle, num_shards, shard_id)

    def _place(self, first: str, second: str) -> str:
        return os.path.join(self.dataset_dir, "texts", first, second, f"{first}-{second}")


class IWSLT2017Dataset(_Talks):
    """Talks in two languages: `text` and `translation`, strings.

    dataset_dir    the directory with the folder DeEnItNlRo, or with texts/DeEnItNlRo
    usage          "train", "valid", "test" or "all"; None: all
    language_pair  two of German, English, Italian, Dutch and Romanian: ("en", "nl"), ...; None: ("de", "en")

    The other arguments and the errors are those of IWSLT2016Dataset.
    """

    year = "17"
    pairs = tuple((first, second) for first in ("en", "nl", "de", "it", "ro") for second in ("en", "nl", "de", "it", "ro")
                  if first != second)

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Sequence[str] | None = None,
                 num_samples: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None,
                 shard_id: int | None = None, num_parallel_workers: int | None = None, cache: Any = None):
        check_directory(dataset_dir)
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        self.dataset_dir, self.usage = dataset_dir, usage
        self._set_talks(usage, language_pair, "dev2010", "tst2010", num_samples, shuffle, num_shards, shard_id)

    def _place(self, first: str, second: str) -> str:
        inner = os.path.join("DeEnItNlRo", "DeEnItNlRo", "DeEnItNlRo-DeEnItNlRo")
        place = os.path.join(self.dataset_dir, "texts", inner)
        return place if os.path.isdir(place) else os.path.join(self.dataset_dir, inner)
