"""The collections of models that `tools/compare_models.py` knows: which models each has, and how one is built, called and trained.

Loaded by both frameworks, with the collection's checkout on `sys.path`.  A collection is a class with

    NOTES             what a reader of the results must know: text by model, or by "" for the whole collection
    families()        the names of its models, by family
    build(name)       the Cell
    task(name)        the Cell with its inputs and its loss
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from language import MindNLP
from pictures import MindCV, MindYOLO
from sound import MindAudio
from texts import MindOCR

COLLECTIONS = {"mindaudio": MindAudio, "mindcv": MindCV, "mindnlp": MindNLP, "mindocr": MindOCR, "mindyolo": MindYOLO}
"""The collections, by the name that the user gives."""

__all__ = ["COLLECTIONS"]
