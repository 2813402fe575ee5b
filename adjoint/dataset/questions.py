"""Questions and answers in JSON files: SQuAD, and the tasks of CLUE."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_type, check_usage
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import Shuffle
from adjoint.dataset.texts import FileRows, file_sampler, find_files

__all__ = ["CLUEDataset", "SQuADDataset"]

_NO_ANSWER = 2**32 - 1
"""Where an answer starts that a text does not have, as in MindSpore."""


def json_of(path: str) -> Any:
    """Return the content of a JSON file; raise RuntimeError for one that is damaged."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except ValueError as error:
        raise RuntimeError(f"Invalid json, failed to parse json: {path}: {error}.") from None


def entry_of(found: Any, key: str, path: str) -> Any:
    """Return an entry of a JSON object; raise RuntimeError if it is missing."""
    if not isinstance(found, dict) or key not in found:
        raise RuntimeError(f"Invalid json file, in given JSON file, failed to find key: {key} in {path}.")
    return found[key]


def objects_of(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON objects in the lines of a file, each with its place for messages; raise RuntimeError for a damaged line."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            where = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                yield where, json.loads(line)
            except ValueError as error:
                raise RuntimeError(f"Invalid json, failed to parse json in {where}: {error}.") from None


def _questions(path: str) -> Iterator[tuple[Any, ...]]:
    """Yield the questions of a file of SQuAD, each with its text and its answers."""
    for article in entry_of(json_of(path), "data", path):
        for paragraph in entry_of(article, "paragraphs", path):
            context = entry_of(paragraph, "context", path)
            for question in entry_of(paragraph, "qas", path):
                answers = entry_of(question, "answers", path) or [{"text": "", "answer_start": _NO_ANSWER}]
                yield (context, entry_of(question, "question", path), [entry_of(answer, "text", path) for answer in answers],
                       np.array([entry_of(answer, "answer_start", path) for answer in answers], np.uint32))


class SQuADDataset(MappableDataset):
    """Questions about texts: `context` and `question`, strings; `text`, the answers, a vector of strings; `answer_start`, uint32[answers].

    A question without an answer has one empty answer, which starts at 2**32 - 1.

    dataset_dir  the directory with train-v1.1.json and dev-v1.1.json, or those of version 2.0
    usage        "train", "dev" or "all"; None: all

    The other arguments are those of TextFileDataset.

    Errors: ValueError for another usage or what is not a directory; RuntimeError for a file that is missing or damaged.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        check_directory(dataset_dir)
        check_usage(usage, ["train", "dev", "all"])
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        self.dataset_dir, self.usage = dataset_dir, usage
        parts = ("train", "dev") if usage in (None, "all") else (usage,)
        paths = []
        for part in parts:
            found = sorted(glob.glob(os.path.join(glob.escape(dataset_dir), f"{part}-v*.json")))
            if not found:
                raise RuntimeError(f"Invalid path, failed to find SQuAD {part} data file in {dataset_dir}: expected {part}-v1.1.json or "
                                   f"{part}-v2.0.json.")
            paths += found
        samples = FileRows(paths, ("context", "question", "text", "answer_start"), (None,) * 4, _questions)
        self._set_source(samples, file_sampler(samples, num_samples, shuffle, num_shards, shard_id))


_NUMBERS = {"id", "idx", "span1_index", "span2_index"}
"""The keys of CLUE whose values are numbers; others are strings."""

_TRAINED = {
    "AFQMC": ("label", "sentence1", "sentence2"), "TNEWS": ("keywords", "label", "label_desc", "sentence"),
    "IFLYTEK": ("label", "label_des", "sentence"), "CMNLI": ("label", "sentence1", "sentence2"),
    "WSC": ("idx", "label", "span1_index", "span1_text", "span2_index", "span2_text", "text"), "CSL": ("abst", "id", "keyword", "label"),
}
"""The columns for training and evaluation of each task of CLUE."""

_TESTED = {
    "AFQMC": ("id", "sentence1", "sentence2"), "TNEWS": ("id", "keywords", "sentence"), "IFLYTEK": ("id", "sentence"),
    "CMNLI": ("id", "sentence1", "sentence2"), "WSC": ("idx", "span1_index", "span1_text", "span2_index", "span2_text", "text"),
    "CSL": ("abst", "id", "keyword"),
}


class _Exercises:
    """Reads the lines of a file of CLUE, each a JSON object, as rows of some of its entries."""

    def __init__(self, columns: tuple[str, ...]):
        self._columns = columns

    def __call__(self, path: str) -> Iterator[list[Any]]:
        for where, found in objects_of(path):
            yield [self._value(found, name, where) for name in self._columns]

    @staticmethod
    def _value(found: Any, name: str, where: str) -> Any:
        if name.startswith("span"):
            found = entry_of(found, "target", where)
        value = entry_of(found, name, where)
        if name in _NUMBERS:
            return int(value)
        return [str(part) for part in value] if isinstance(value, list) else str(value)


class CLUEDataset(MappableDataset):
    """Exercises of a task of CLUE, the Chinese Language Understanding Evaluation: strings, and numbers as uint32.

    dataset_files  a path, a pattern, or a list of such: files with a JSON object in each line
    task           "AFQMC", "TNEWS", "IFLYTEK", "CMNLI", "WSC" or "CSL"
    usage          "train", "eval" or "test"; tests have no label

    The columns have the names of the entries in the files, in alphabetical order; the other arguments are those of TextFileDataset.

    Errors: ValueError for another task or usage, or if a pattern matches no file; RuntimeError for a line without one of the entries.

    source  Xu et al.: CLUE, A Chinese Language Understanding Evaluation Benchmark, 2020
    """

    def __init__(self, dataset_files: Any, task: str = "AFQMC", usage: str = "train", num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        paths = find_files(dataset_files)
        check_type(task, (str,), "task")
        if task not in _TRAINED:
            raise ValueError("task should be 'AFQMC', 'TNEWS', 'IFLYTEK', 'CMNLI', 'WSC' or 'CSL'.")
        check_type(usage, (str,), "usage")
        if usage not in ("train", "test", "eval"):
            raise ValueError("usage should be 'train', 'test' or 'eval'.")
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        columns = _TESTED[task] if usage == "test" else _TRAINED[task]
        samples = FileRows(paths, columns, [np.uint32 if name in _NUMBERS else None for name in columns], _Exercises(columns))
        self._set_source(samples, file_sampler(samples, num_samples, shuffle, num_shards, shard_id))
