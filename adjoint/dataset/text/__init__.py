"""Transforms of strings: `mindspore.dataset.text`."""

from typing import Any

from adjoint.dataset.text.sequences import AddToken, Ngram, SlidingWindow, ToNumber, Truncate, TruncateSequencePair
from adjoint.dataset.text.tokenizers import (
    BasicTokenizer,
    BertTokenizer,
    CaseFold,
    FilterWikipediaXML,
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
from adjoint.dataset.text.vectors import CharNGram, FastText, GloVe, ToVectors, Vectors
from adjoint.dataset.text.vocabulary import Lookup, Vocab
from adjoint.foundation.diagnostics import missing_name

__all__ = [
    "AddToken", "BasicTokenizer", "BertTokenizer", "CaseFold", "CharNGram", "FastText", "FilterWikipediaXML", "GloVe", "Lookup", "Ngram",
    "NormalizeForm", "NormalizeUTF8", "PythonTokenizer", "RegexReplace", "RegexTokenizer", "SlidingWindow", "ToNumber", "ToVectors",
    "Truncate", "TruncateSequencePair", "UnicodeCharTokenizer", "UnicodeScriptTokenizer", "Vectors", "Vocab", "WhitespaceTokenizer",
    "WordpieceTokenizer", "to_bytes", "to_str",
]

_PACKAGE = "`PythonTokenizer` with a function of the package that you use for it"
INSTEAD = dict.fromkeys(("JiebaMode", "JiebaTokenizer", "SPieceTokenizerLoadType", "SPieceTokenizerOutType", "SentencePieceModel",
                         "SentencePieceTokenizer", "SentencePieceVocab"), _PACKAGE)
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
