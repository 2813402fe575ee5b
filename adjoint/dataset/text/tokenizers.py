"""Tokenizers: split strings into words or characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_int, check_type
from adjoint.dataset.blocks import as_item
from adjoint.dataset.text.vocabulary import Vocab
from adjoint.dataset.transforms.operation import Operation

__all__ = [
    "BasicTokenizer", "BertTokenizer", "CaseFold", "FilterWikipediaXML", "NormalizeForm", "NormalizeUTF8", "PythonTokenizer",
    "RegexReplace", "RegexTokenizer", "UnicodeCharTokenizer", "UnicodeScriptTokenizer", "WhitespaceTokenizer", "WordpieceTokenizer",
    "to_bytes", "to_str",
]

Span = tuple[int, int]
"""A token's start, and its end (exclusive), in characters."""


class NormalizeForm(IntEnum):
    """The normal forms of Unicode."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


def string_of(value: Any, name: str) -> str:
    """Return the one string of an array without dimensions; raise RuntimeError for anything else."""
    array = np.asarray(value)
    if array.dtype.kind not in "US" or array.ndim:
        raise RuntimeError(f"{name}: the input shape should be scalar and the input datatype should be string, but got {array.dtype} of "
                           f"shape {array.shape}.")
    item = array.item()
    return item.decode("utf-8") if isinstance(item, bytes) else item


def strings_of(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return an array of strings; raise RuntimeError for anything else."""
    array = np.asarray(value)
    if array.dtype.kind not in "US":
        raise RuntimeError(f"{name}: the input datatype should be string, but got {array.dtype}.")
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array


class _Tokenizer(Operation):
    """Splits a string into tokens; with offsets also the bytes, in UTF-8, where each token starts and ends."""

    def __init__(self, with_offsets: bool):
        check_type(with_offsets, (bool,), "with_offsets")
        self.with_offsets = with_offsets

    def spans(self, text: str) -> list[Span]:
        """Where the tokens are."""
        raise NotImplementedError

    def __call__(self, *columns: Any) -> Any:
        text = string_of(columns[0], type(self).__name__)
        spans = [span for span in self.spans(text) if span[0] < span[1]] or [(0, 0)]
        tokens = np.array([text[first:end] for first, end in spans])
        if not self.with_offsets:
            return tokens
        ends = np.cumsum([0, *(len(character.encode("utf-8")) for character in text)])
        return tokens, *(ends[[span[side] for span in spans]].astype(np.uint32) for side in (0, 1))


class WhitespaceTokenizer(_Tokenizer):
    """Words between white space."""

    def __init__(self, with_offsets: bool = False):
        super().__init__(with_offsets)

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in re.finditer(r"\S+", text)]


class UnicodeCharTokenizer(_Tokenizer):
    """Characters."""

    def __init__(self, with_offsets: bool = False):
        super().__init__(with_offsets)

    def spans(self, text: str) -> list[Span]:
        return [(place, place + 1) for place in range(len(text))]


class UnicodeScriptTokenizer(_Tokenizer):
    """Runs of characters of one script; each digit and sign is a run of its own; white space is dropped unless requested."""

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False):
        super().__init__(with_offsets)
        check_type(keep_whitespace, (bool,), "keep_whitespace")
        self.keep_whitespace = keep_whitespace

    def spans(self, text: str) -> list[Span]:
        kinds = [_script(character) for character in text]
        starts = [place for place in range(len(text)) if place == 0 or kinds[place] != kinds[place - 1]]
        return [(first, end) for first, end in zip(starts, [*starts[1:], len(text)]) if self.keep_whitespace or kinds[first] != " "]


def _script(character: str) -> str:
    """Return the first word of a letter's Unicode name, or the category of another character."""
    if character.isspace():
        return " "
    if character.isdigit() or not character.isalpha():
        return "common"
    return unicodedata.name(character, "").split(" ")[0].split("-")[0]


class RegexTokenizer(_Tokenizer):
    """The text between matches of a pattern; a match is a token too if `keep_delim_pattern` matches all of it."""

    def __init__(self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False):
        super().__init__(with_offsets)
        check_type(delim_pattern, (str,), "delim_pattern")
        check_type(keep_delim_pattern, (str,), "keep_delim_pattern")
        self._delimiter, self._kept = _pattern(delim_pattern), _pattern(keep_delim_pattern) if keep_delim_pattern else None

    def spans(self, text: str) -> list[Span]:
        found, first = [], 0
        for match in self._delimiter.finditer(text):
            found.append((first, match.start()))
            if self._kept is not None and self._kept.fullmatch(match.group()):
                found.append(match.span())
            first = match.end()
        return [*found, (first, len(text))]


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise RuntimeError(f"Invalid regular expression {text!r}: {error}. Patterns are those of Python's `re`.") from None


class BasicTokenizer(_Tokenizer):
    """Words, punctuation marks and Chinese characters, as BERT's first step cuts a text.

    lower_case             letters in lower case, without accents
    keep_whitespace        white space is a token too
    normalization_form     the text is brought to it before
    preserve_unused_token  [CLS], [SEP], [UNK], [PAD] and [MASK] stay whole
    """

    _SPECIAL = r"\[CLS\]|\[SEP\]|\[UNK\]|\[PAD\]|\[MASK\]|\[unused\d+\]|"

    def __init__(self, lower_case: bool = False, keep_whitespace: bool = False, normalization_form: NormalizeForm = NormalizeForm.NONE,
                 preserve_unused_token: bool = True, with_offsets: bool = False):
        super().__init__(with_offsets)
        for name, value in (("lower_case", lower_case), ("keep_whitespace", keep_whitespace), ("preserve_unused_token",
                                                                                               preserve_unused_token)):
            check_type(value, (bool,), name)
        check_type(normalization_form, (NormalizeForm,), "normalization_form")
        self.lower_case, self.keep_whitespace, self.form = lower_case, keep_whitespace, normalization_form
        self._special = re.compile(self._SPECIAL.rstrip("|")) if preserve_unused_token else None

    def __call__(self, *columns: Any) -> Any:
        return super().__call__(np.array(self._cleaned(string_of(columns[0], "BasicTokenizer"))))

    def _cleaned(self, text: str) -> str:
        pieces, first = [], 0
        for match in self._special.finditer(text) if self._special else ():
            pieces += [self._plain(text[first : match.start()]), match.group()]
            first = match.end()
        return "".join([*pieces, self._plain(text[first:])])

    def _plain(self, text: str) -> str:
        if self.lower_case:
            text = "".join(letter for letter in unicodedata.normalize("NFD", text.casefold()) if unicodedata.category(letter) != "Mn")
        elif self.form is not NormalizeForm.NONE:
            text = unicodedata.normalize(self.form.name, text)
        return "".join(letter for letter in text if letter.isspace() or unicodedata.category(letter) not in ("Cc", "Cf"))

    def spans(self, text: str) -> list[Span]:
        found, place = [], 0
        while place < len(text):
            special = self._special.match(text, place) if self._special else None
            end = special.end() if special else place + 1
            if special is None and not _alone(text[place]):
                space = text[place].isspace()
                while end < len(text) and text[end].isspace() == space and not _alone(text[end]) and not (
                        self._special and self._special.match(text, end)):
                    end += 1
            if self.keep_whitespace or not text[place].isspace():
                found.append((place, end))
            place = end
        return found


def _alone(character: str) -> bool:
    """Return whether a character is a token by itself: punctuation, or a Chinese one."""
    code = ord(character)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126 or unicodedata.category(character).startswith("P"):
        return True
    return any(low <= code <= high for low, high in ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF),
                                                     (0x2F800, 0x2FA1F)))


class WordpieceTokenizer(Operation):
    """Splits words into the longest pieces in a vocabulary; pieces that do not start a word begin with `suffix_indicator`.

    A word of more than `max_bytes_per_token` bytes, or one that cannot be split, becomes `unknown_token`; with "" it is kept.
    with_offsets  return also where each piece starts and ends in its word, in bytes of UTF-8
    """

    def __init__(self, vocab: Vocab, suffix_indicator: str = "##", max_bytes_per_token: int = 100, unknown_token: str = "[UNK]",
                 with_offsets: bool = False):
        check_type(vocab, (Vocab,), "vocab")
        check_type(suffix_indicator, (str,), "suffix_indicator")
        check_int(max_bytes_per_token, 0, 2**31 - 1, "max_bytes_per_token")
        check_type(unknown_token, (str,), "unknown_token")
        check_type(with_offsets, (bool,), "with_offsets")
        self.with_offsets = with_offsets
        self.ids, self.suffix, self.most, self.unknown = vocab.vocab(), suffix_indicator, max_bytes_per_token, unknown_token

    def __call__(self, *columns: Any) -> Any:
        words = np.atleast_1d(strings_of(columns[0], "WordpieceTokenizer")).tolist()
        return self.split(words, [0] * len(words))

    def split(self, words: list[str], starts: list[int]) -> Any:
        """Return the pieces of words; with offsets also where they start and end, counted on from where their words start."""
        rows = [(piece, start + first, start + end)
                for word, start in zip(words, starts, strict=True) for piece, first, end in self.pieces(word)]
        rows = rows or [("", 0, 0)]
        tokens = np.array([row[0] for row in rows])
        return (tokens, *(np.array([row[side] for row in rows], np.uint32) for side in (1, 2))) if self.with_offsets else tokens

    def pieces(self, word: str) -> list[tuple[str, int, int]]:
        """Return the pieces of one word, each with the bytes of the word where it starts and ends."""
        found, first = [], 0
        while first < len(word) and len(word.encode("utf-8")) <= self.most:
            mark = self.suffix if first else ""
            end = next((end for end in range(len(word), first, -1) if mark + word[first:end] in self.ids), None)
            if end is None:
                break
            found.append((mark + word[first:end], *(len(word[:place].encode("utf-8")) for place in (first, end))))
            first = end
        return found if first == len(word) and found else [(self.unknown or word if word else "", 0, len(word.encode("utf-8")))]


class BertTokenizer(Operation):
    """BasicTokenizer followed by WordpieceTokenizer; offsets are those in the text."""

    def __init__(self, vocab: Vocab, suffix_indicator: str = "##", max_bytes_per_token: int = 100, unknown_token: str = "[UNK]",
                 lower_case: bool = False, keep_whitespace: bool = False, normalization_form: NormalizeForm = NormalizeForm.NONE,
                 preserve_unused_token: bool = True, with_offsets: bool = False):
        self._words = BasicTokenizer(lower_case, keep_whitespace, normalization_form, preserve_unused_token, with_offsets)
        self._pieces = WordpieceTokenizer(vocab, suffix_indicator, max_bytes_per_token, unknown_token, with_offsets)

    def __call__(self, *columns: Any) -> Any:
        words = self._words(*columns)
        return self._pieces.split(words[0].tolist(), words[1].tolist()) if self._pieces.with_offsets else self._pieces(words)


class PythonTokenizer(Operation):
    """Calls a function on a string; it returns a list of strings."""

    def __init__(self, tokenizer: Callable[[str], Iterable[str]]):
        if not callable(tokenizer):
            raise TypeError("The tokenizer argument should be a callable.")
        self.tokenizer = tokenizer

    def __call__(self, *columns: Any) -> Any:
        return as_item(list(self.tokenizer(string_of(columns[0], "PythonTokenizer"))))


class CaseFold(Operation):
    """Strings in lower case, as Unicode folds it."""

    def __call__(self, *columns: Any) -> Any:
        return _each(columns[0], "CaseFold", str.casefold)


class NormalizeUTF8(Operation):
    """Strings in a normal form of Unicode."""

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC):
        check_type(normalize_form, (NormalizeForm,), "normalize_form")
        self.form = normalize_form

    def __call__(self, *columns: Any) -> Any:
        form = self.form.name
        return _each(columns[0], "NormalizeUTF8", lambda text: text if form == "NONE" else unicodedata.normalize(form, text))


class RegexReplace(Operation):
    """Strings with all matches of a pattern replaced, or with the first one."""

    def __init__(self, pattern: str, replace: str, replace_all: bool = True):
        check_type(pattern, (str,), "pattern")
        check_type(replace, (str,), "replace")
        check_type(replace_all, (bool,), "replace_all")
        self._compiled, self.replace, self.count = _pattern(pattern), replace, 0 if replace_all else 1

    def __call__(self, *columns: Any) -> Any:
        return _each(columns[0], "RegexReplace", lambda text: self._compiled.sub(self.replace, text, count=self.count))


_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMERALS = str.maketrans({str(digit): f" {name} " for digit, name in enumerate(_DIGITS)})
_LETTERS = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})


class FilterWikipediaXML(Operation):
    """The words of lines of a Wikipedia dump, in lower case, as `a` to `z` and single spaces.

    Elements and entities are removed, digits become words, other characters spaces; a text with #redirect becomes empty.

    source  Mahoney, http://mattmahoney.net/dc/textdata.html
    """

    def __call__(self, *columns: Any) -> Any:
        return _each(columns[0], "FilterWikipediaXML", self._words)

    @staticmethod
    def _words(text: str) -> str:
        if "#redirect" in text or "#REDIRECT" in text:
            return ""
        text = re.sub(r"<[^>]*>", "", re.sub(r"<.*>", "", text))
        text = re.sub(r"&[^;]*;", " ", text).translate(_LETTERS).translate(_NUMERALS)
        text = re.sub(r"\n ", "", re.sub(r"[^a-z\n]+", " ", text))
        return re.sub(r"\s+", " ", text).strip()


def _each(value: Any, name: str, function: Callable[[str], str]) -> np.ndarray[Any, Any]:
    array = strings_of(value, name)
    return np.array([function(text) for text in array.ravel().tolist()] if array.size else array).reshape(array.shape)


def to_str(array: Any, encoding: str = "utf8") -> np.ndarray[Any, Any]:
    """Decode bytes to strings; raise TypeError for what is not an array."""
    check_type(array, (np.ndarray,), "array")
    return np.char.decode(array, encoding)


def to_bytes(array: Any, encoding: str = "utf8") -> np.ndarray[Any, Any]:
    """Encode strings to bytes; raise TypeError for what is not an array."""
    check_type(array, (np.ndarray,), "array")
    return np.char.encode(array, encoding)
