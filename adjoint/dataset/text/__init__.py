"""Transforms of strings: `mindspore.dataset.text`."""

from typing import Any

from adjoint.dataset.text.sequences import AddToken, Ngram, SlidingWindow, ToNumber, Truncate, TruncateSequencePair
from adjoint.dataset.text.tokenizers import (
    BasicTokenizer,
    BertTokenizer,
    CaseFold,
    NormalizeForm,
    NormalizeUTF8,
    PythonTokenizer,
    RegexReplace,
    RegexTokenizer,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
    WordpieceTokenizer,
    to_bytes,
    to_str,
)
from adjoint.dataset.text.vocabulary import Lookup, Vocab
from adjoint.foundation.diagnostics import missing_name

__all__ = [
    "AddToken", "BasicTokenizer", "BertTokenizer", "CaseFold", "Lookup", "Ngram", "NormalizeForm", "NormalizeUTF8", "PythonTokenizer",
    "RegexReplace", "RegexTokenizer", "SlidingWindow", "ToNumber", "Truncate", "TruncateSequencePair", "UnicodeCharTokenizer",
    "UnicodeScriptTokenizer", "Vocab", "WhitespaceTokenizer", "WordpieceTokenizer", "to_bytes", "to_str",
]

_PACKAGE = "`PythonTokenizer` with a function of the package that you use for it"
_VECTORS = "a function that looks words up in an array, among the operations of `map`"
INSTEAD = {
    "JiebaTokenizer": _PACKAGE, "SentencePieceTokenizer": _PACKAGE, "SentencePieceVocab": _PACKAGE, "FilterWikipediaXML": "`RegexReplace`",
    "Vectors": _VECTORS, "GloVe": _VECTORS, "FastText": _VECTORS, "CharNGram": _VECTORS, "ToVectors": _VECTORS,
}
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
