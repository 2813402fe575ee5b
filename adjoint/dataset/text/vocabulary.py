"""Vocab: a mapping between words and numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_type
from adjoint.dataset.transforms.operation import Operation
from adjoint.dataset.transforms.transforms import as_dtype
from adjoint.ir.types import I32

__all__ = ["Lookup", "Vocab"]


class Vocab:
    """Words and their ids.  It is made by `from_list`, `from_dict`, `from_file` or `from_dataset`."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._words: dict[int, str] = {}

    @classmethod
    def _of(cls, ids: dict[str, int]) -> Vocab:
        made = cls()
        made._ids = ids
        made._words = {number: word for word, number in ids.items()}
        return made

    @classmethod
    def from_list(cls, word_list: list[str], special_tokens: Sequence[str] | None = None, special_first: bool = True) -> Vocab:
        """Make a vocabulary of words in order, with special ones before or after them.  Raise ValueError for a word that occurs twice."""
        check_type(word_list, (list,), "word_list")
        for index, word in enumerate(word_list):
            check_type(word, (str,), f"word_list[{index}]")
        return cls._of(_numbered(word_list, special_tokens, special_first, "word_list"))

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """Make a vocabulary with the ids of a dict.  Raise ValueError for a negative id, or one of two words."""
        check_type(word_dict, (dict,), "word_dict")
        for word, number in word_dict.items():
            check_type(word, (str,), "word")
            check_type(number, (int,), f"id of {word!r}")
            if number < 0:
                raise ValueError(f"The id of {word!r} must be 0 or more, but got {number}.")
        if len(set(word_dict.values())) != len(word_dict):
            raise ValueError("Each word needs an id of its own, but two of word_dict have the same.")
        return cls._of(dict(word_dict))

    @classmethod
    def from_file(cls, file_path: str, delimiter: str = "", vocab_size: int | None = None, special_tokens: Sequence[str] | None = None,
                  special_first: bool = True) -> Vocab:
        """Make a vocabulary of the words of a file, one a line, up to the delimiter; at most `vocab_size` words.

        Raise RuntimeError for a file that does not exist, is not UTF-8, or has a word twice.
        """
        check_type(file_path, (str,), "file_path")
        check_type(delimiter, (str,), "delimiter")
        if vocab_size is not None:
            check_type(vocab_size, (int,), "vocab_size")
            if vocab_size <= 0:
                raise ValueError(f"Input vocab_size must be greater than 0, but got {vocab_size}.")
        if not os.path.isfile(file_path):
            raise RuntimeError(f"Invalid file, {file_path} does not exist: a text file with one word a line is expected there.")
        with open(file_path, encoding="utf-8") as file:
            try:
                lines = file.read().splitlines()
            except UnicodeDecodeError as error:
                raise RuntimeError(f"Invalid file, {file_path} is no text in UTF-8: {error}.") from None
        words = [line.split(delimiter)[0] if delimiter else line for line in lines][:vocab_size]
        try:
            return cls._of(_numbered(words, special_tokens, special_first, file_path))
        except ValueError as error:
            raise RuntimeError(str(error)) from None

    @classmethod
    def from_dataset(cls, dataset: Any, columns: Any = None, freq_range: tuple[int | None, int | None] | None = None,
                     top_k: int | None = None, special_tokens: Sequence[str] | None = None, special_first: bool = True) -> Vocab:
        """Make a vocabulary of the words of some columns of an epoch, the most frequent first, equally frequent ones in alphabetical order.

        freq_range  how often a word must occur, and may; None for no bound
        top_k       so many words at most
        """
        names = [columns] if isinstance(columns, str) else columns
        counts: Counter[str] = Counter()
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True):
            for name in names or row:
                value = np.asarray(row[name])
                if value.dtype.kind not in "US":
                    raise RuntimeError(f"A vocabulary is made of strings, but column {name!r} holds {value.dtype}.")
                counts.update(map(str, np.atleast_1d(value).ravel().tolist()))
        low, high = freq_range or (None, None)
        kept = [word for word, count in counts.items() if (low is None or count >= low) and (high is None or count <= high)]
        kept.sort(key=lambda word: (-counts[word], word))
        return cls._of(_numbered(kept[:top_k], special_tokens, special_first, "the dataset"))

    def vocab(self) -> dict[str, int]:
        """Return the id of each word."""
        return dict(self._ids)

    def tokens_to_ids(self, tokens: str | Sequence[str]) -> int | list[int]:
        """Return the id of a word, or of several; -1 for one that is unknown."""
        if isinstance(tokens, str):
            return self._ids.get(tokens, -1)
        check_type(tokens, (list, tuple, np.ndarray), "tokens")
        return [self._ids.get(str(token), -1) for token in tokens]

    def ids_to_tokens(self, ids: int | Sequence[int]) -> str | list[str]:
        """Return the word of an id, or of several; "" for an unknown id."""
        if isinstance(ids, (int, np.integer)):
            if ids < 0:
                raise ValueError(f"Input ids must be 0 or more, but got {ids}.")
            return self._words.get(int(ids), "")
        check_type(ids, (list, tuple, np.ndarray), "ids")
        return [self._words.get(int(number), "") for number in ids]

    def __len__(self) -> int:
        return len(self._ids)


def _numbered(words: Sequence[str], special: Sequence[str] | None, first: bool, where: str) -> dict[str, int]:
    check_type(first, (bool,), "special_first")
    extra = list(special or ())
    order = [*extra, *words] if first else [*words, *extra]
    ids: dict[str, int] = {}
    for word in order:
        if word in ids:
            raise ValueError(f"{where} contains duplicate word: {word!r}.")
        ids[word] = len(ids)
    return ids


class Lookup(Operation):
    """The ids of words.

    unknown_token  replaces words that the vocabulary lacks; without one they raise RuntimeError
    data_type      dtype of the ids
    """

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = I32):
        check_type(vocab, (Vocab,), "vocab")
        if unknown_token is not None:
            check_type(unknown_token, (str,), "unknown_token")
        self.vocab, self.unknown_token, self.data_type = vocab, unknown_token, as_dtype(data_type, "data_type")

    def __call__(self, *columns: Any) -> Any:
        (value,) = columns
        words = np.asarray(value)
        if words.dtype.kind not in "US":
            raise RuntimeError(f"Lookup: input is not string datatype, but got {words.dtype}.")
        ids = self.vocab._ids
        default = -1
        if self.unknown_token is not None:
            if self.unknown_token not in ids:
                raise RuntimeError(f"Lookup: unknown_token: {self.unknown_token!r}, does not exist in vocab.")
            default = ids[self.unknown_token]
        found = [ids.get(word, default) for word in map(_text, words.ravel().tolist())]
        if -1 in found:
            raise RuntimeError(f"Lookup: word: {words.ravel()[found.index(-1)]!r} doesn't exist in vocab, and no unknown_token is given.")
        return np.array(found, self.data_type).reshape(words.shape)


def _text(word: Any) -> str:
    return word.decode("utf-8") if isinstance(word, bytes) else word
