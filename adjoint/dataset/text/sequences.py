"""Sequences of words or numbers: truncated, joined, sliding windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_int, check_type
from adjoint.dataset.text.tokenizers import strings_of
from adjoint.dataset.transforms.operation import Operation, as_array
from adjoint.dataset.transforms.transforms import as_dtype

__all__ = ["AddToken", "Ngram", "SlidingWindow", "ToNumber", "Truncate", "TruncateSequencePair"]


class Truncate(Operation):
    """The first entries of the last axis of a vector or matrix."""

    def __init__(self, max_seq_len: int):
        check_int(max_seq_len, 0, 2**31 - 1, "max_seq_len")
        self.max_seq_len = max_seq_len

    def __call__(self, *columns: Any) -> Any:
        array = as_array(columns[0], "Truncate")
        if array.ndim not in (1, 2):
            raise RuntimeError(f"Truncate: the input dimension should be 1-D or 2-D, but got {array.ndim}.")
        return array[..., : self.max_seq_len].copy()


class TruncateSequencePair(Operation):
    """Two vectors; the longer one is truncated until both together have `max_length` entries."""

    def __init__(self, max_length: int):
        check_int(max_length, 0, 2**31 - 1, "max_length")
        self.max_length = max_length

    def __call__(self, *columns: Any) -> Any:
        first, second = (as_array(column, "TruncateSequencePair") for column in columns)
        lengths = [len(first), len(second)]
        while sum(lengths) > self.max_length:
            lengths[0 if lengths[0] > lengths[1] else 1] -= 1
        return first[: lengths[0]].copy(), second[: lengths[1]].copy()


class SlidingWindow(Operation):
    """All runs of `width` entries of a vector, as a matrix."""

    def __init__(self, width: int, axis: int = 0):
        check_int(width, 1, 2**31 - 1, "width")
        if axis not in (0, -1):
            raise RuntimeError(f"SlidingWindow: axis supports 0 or -1 only for now, but got {axis}.")
        self.width = width

    def __call__(self, *columns: Any) -> Any:
        array = as_array(columns[0], "SlidingWindow")
        if array.ndim != 1:
            raise RuntimeError(f"SlidingWindow: SlidingWindow only supports 1D input, but got rank {array.ndim}.")
        if len(array) < self.width:
            return np.empty((0, self.width), array.dtype)
        return np.lib.stride_tricks.sliding_window_view(array, self.width).copy()


class Ngram(Operation):
    """All runs of n words joined by a separator, for one n or several.

    left_pad, right_pad  a word, and how often to add it before or after the others; at most n - 1 times counts
    """

    def __init__(self, n: int | list[int], left_pad: tuple[str, int] = ("", 0), right_pad: tuple[str, int] = ("", 0), separator: str = " "):
        check_type(n, (int, list), "n")
        self.n = [n] if isinstance(n, int) else n
        for index, length in enumerate(self.n):
            check_int(length, 1, 2**31 - 1, f"gram[{index}]")
        for name, pad in (("left_pad", left_pad), ("right_pad", right_pad)):
            if not (isinstance(pad, tuple) and len(pad) == 2 and isinstance(pad[0], str) and isinstance(pad[1], int)):
                raise ValueError(f"{name} needs to be a tuple of (str, int) str is pad token and int is pad_width.")
        check_type(separator, (str,), "separator")
        self.left_pad, self.right_pad, self.separator = left_pad, right_pad, separator

    def __call__(self, *columns: Any) -> Any:
        words = strings_of(columns[0], "Ngram")
        if words.ndim != 1:
            raise RuntimeError(f"Ngram: input is not a 1-D data with string datatype, got rank {words.ndim}.")
        found = []
        for n in self.n:
            line = [*self._pad(self.left_pad, n), *words.tolist(), *self._pad(self.right_pad, n)]
            found += [self.separator.join(line[first : first + n]) for first in range(len(line) - n + 1)] or [""]
        return np.array(found)

    @staticmethod
    def _pad(pad: tuple[str, int], n: int) -> Sequence[str]:
        return [pad[0]] * min(pad[1], n - 1)


class AddToken(Operation):
    """Add a word before or after the words of a vector, or of each row of a matrix."""

    def __init__(self, token: str, begin: bool = True):
        check_type(token, (str,), "token")
        check_type(begin, (bool,), "begin")
        self.token, self.begin = token, begin

    def __call__(self, *columns: Any) -> Any:
        words = strings_of(columns[0], "AddToken")
        if words.ndim not in (1, 2):
            raise RuntimeError(f"AddToken: input tensor rank should be 1 or 2, but got {words.ndim}.")
        added = np.full((*words.shape[:-1], 1), self.token)
        return np.concatenate([added, words] if self.begin else [words, added], -1)


class ToNumber(Operation):
    """Parse strings as numbers; raise RuntimeError for a string that is not a number, or one outside of the dtype's range."""

    def __init__(self, data_type: Any):
        self.data_type = as_dtype(data_type, "data_type")
        if self.data_type.kind not in "iuf":
            raise TypeError(f"data_type: {self.data_type} is not numeric data type.")

    def __call__(self, *columns: Any) -> Any:
        words = strings_of(columns[0], "ToNumber")
        try:
            if self.data_type.kind == "f":
                return words.astype(self.data_type)
            numbers = [int(word) for word in words.ravel().tolist()]
        except ValueError as error:
            raise RuntimeError(f"ToNumber: it is not a valid number of {self.data_type}: {error}.") from None
        ends = np.iinfo(self.data_type)
        for number in numbers:
            if not ends.min <= number <= ends.max:
                raise RuntimeError(f"ToNumber: {number} is out of bounds if converted to {self.data_type}, [{ends.min}, {ends.max}].")
        return np.array(numbers, self.data_type).reshape(words.shape)
