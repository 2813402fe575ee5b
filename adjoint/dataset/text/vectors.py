"""Vectors of words that were trained elsewhere, and the transform that looks words up in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, check_int, check_type
from adjoint.dataset.text.tokenizers import strings_of
from adjoint.dataset.transforms.operation import Operation

__all__ = ["CharNGram", "FastText", "GloVe", "ToVectors", "Vectors"]

Array = np.ndarray[Any, Any]


class Vectors:
    """Words and their vectors, float32.  They are made by `from_file`."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._vectors: Array = np.empty((0, 0), np.float32)

    @classmethod
    def from_file(cls, file_path: str, max_vectors: int | None = None) -> Self:
        """Read a text file with a word and the numbers of its vector in each line, between single spaces.

        A first line of two parts, such as the number of words and of dimensions, is left out.  Of a word that occurs twice the first
        vector counts.

        max_vectors  how many to read; None or 0: all

        Errors: TypeError and ValueError for arguments; RuntimeError for a file that is missing, empty or damaged, with its line.
        """
        check_type(file_path, (str,), "file_path")
        if max_vectors is not None:
            check_int(max_vectors, 0, INT32_MAX, "max_vectors")
        cls._check_name(file_path)
        if not os.path.isfile(file_path):
            raise RuntimeError(f"{cls.__name__}: get real path failed, path: {file_path} is not a file.")
        made, rows = cls(), list[Array]()
        with open(file_path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                word, *values = line.rstrip("\r\n").rstrip(" ").split(" ")
                if number == 1 and len(values) == 1:
                    continue
                if max_vectors and number - 1 >= max_vectors:
                    break
                row = cls._row(values, len(rows[0]) if rows else None, f"{file_path}, line {number}")
                if word not in made._places:
                    made._places[word] = len(rows)
                    rows.append(row)
        if not rows:
            raise RuntimeError(f"{cls.__name__}: invalid file, file is empty: {file_path} has no vector.")
        made._vectors = np.stack(rows)
        return made

    @classmethod
    def _check_name(cls, file_path: str) -> None:
        """Raise RuntimeError for a file whose name says that it holds other vectors."""

    @classmethod
    def _row(cls, values: list[str], size: int | None, where: str) -> Array:
        """Return the vector of a line; `size` is that of the ones before."""
        if len(values) < 2:
            raise RuntimeError(f"{cls.__name__}: token with {len(values)}-dimensional vector in {where}: expected a word and two numbers "
                               "or more.")
        if size is not None and len(values) != size:
            raise RuntimeError(f"{cls.__name__}: all vectors must have the same number of dimensions, but got dim {len(values)} while "
                               f"expecting {size} in {where}.")
        try:
            return np.array([float(value) for value in values], np.float32)
        except ValueError as error:
            raise RuntimeError(f"{cls.__name__}: invalid file, {error} in {where}.") from None

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._vectors.shape[1]

    def vector(self, word: str) -> Array | None:
        """Return the vector of a word; None for one that has none."""
        place = self._places.get(word)
        return None if place is None else self._vectors[place]


class GloVe(Vectors):
    """Vectors of GloVe (Pennington, Socher, Manning, 2014), from a file glove.6B.*.txt."""

    @classmethod
    def _check_name(cls, file_path: str) -> None:
        name = os.path.basename(file_path)
        if not (name.startswith("glove.6B.") and name.endswith(".txt")):
            raise RuntimeError(f"GloVe: invalid file, can not find file 'glove.6B.*.txt', but got: {file_path}")


class FastText(Vectors):
    """Vectors of fastText (Bojanowski, Grave, Joulin, Mikolov, 2016), from a file *.vec."""

    @classmethod
    def _check_name(cls, file_path: str) -> None:
        if not file_path.endswith(".vec"):
            raise RuntimeError(f"FastText: invalid file, can not find file '*.vec', but got: {file_path}")


class CharNGram(Vectors):
    """Vectors of runs of two to four characters (Hashimoto, Xiong, Tsuruoka, Socher, 2016); a word's is the mean of those of its runs.

    In the file the run `ab` is called 2gram-ab; a word's beginning and end, #BEGIN# and #END#, count as a character each.
    """

    def vector(self, word: str) -> Array | None:
        marked = ["#BEGIN#", *word, "#END#"]
        runs = (f"{length}gram-{''.join(marked[first : first + length])}"
                for length in (2, 3, 4) for first in range(len(marked) - length + 1))
        found = [self._vectors[self._places[run]] for run in runs if run in self._places]
        return np.mean(found, 0, dtype=np.float32) if found else None


class ToVectors(Operation):
    """The vector of a word, float32[dimensions], or those of several words, float32[words, dimensions].

    vectors            the result of a `from_file`
    unk_init           the vector of words that have none; default: zeros
    lower_case_backup  whether words are looked up in lower case
    """

    def __init__(self, vectors: Vectors, unk_init: Sequence[float] | None = None, lower_case_backup: bool = False):
        check_type(vectors, (Vectors,), "vectors")
        if unk_init is not None:
            check_type(unk_init, (list, tuple), "unk_init")
            for index, value in enumerate(unk_init):
                check_type(value, (int, float), f"unk_init[{index}]")
        check_type(lower_case_backup, (bool,), "lower_case_backup")
        self.vectors, self.lower_case_backup = vectors, lower_case_backup
        self.unknown = np.array(unk_init or np.zeros(vectors.dimensions), np.float32)

    def __call__(self, *columns: Any) -> Any:
        words = strings_of(columns[0], "ToVectors")
        if len(self.unknown) != self.vectors.dimensions:
            raise RuntimeError("ToVectors: unk_init must be the same length as vectors, but got unk_init: "
                               f"{len(self.unknown)} and vectors: {self.vectors.dimensions}")
        found = [self._vector(word) for word in words.ravel().tolist()]
        return found[0].copy() if len(found) == 1 else np.array(found, np.float32).reshape(-1, self.vectors.dimensions)

    def _vector(self, word: str) -> Array:
        found = self.vectors.vector(word.lower() if self.lower_case_backup else word)
        return self.unknown if found is None else found
