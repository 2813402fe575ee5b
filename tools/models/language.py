"""A collection of models of language, for both frameworks: `mindspore` is either MindSpore or this package."""

# pyright: reportMissingImports=false

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from task import Task, drawn

WORDS, LENGTH, WIDE = 50, 9, 32
SMALL = {
    "vocab_size": WORDS, "hidden_size": WIDE, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 2 * WIDE,
    "max_position_embeddings": 40, "embedding_size": 16, "n_positions": 40, "n_embd": WIDE, "n_layer": 2, "n_head": 4, "num_layers": 2,
    "num_heads": 4, "d_model": WIDE, "d_kv": 8, "d_ff": 2 * WIDE, "emb_dim": WIDE, "n_layers": 2, "n_heads": 4, "entity_vocab_size": 20,
    "entity_emb_size": 16, "intra_bottleneck_size": 16,
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "vocab_size_or_config_json_file": WORDS,
}
"""Sizes that replace those of a configuration, where it has them."""


class MindNLP:
    """https://github.com/mindspore-lab/mindnlp 0.1.1: its encoders and decoders of text, small, and the layers they are built of."""

    NOTES: ClassVar = {
        "": "Version 0.1.1: 0.2.4 and the newest need parts of MindSpore that 2.10 lacks or that are its own. The data pipelines of 0.1.1, "
            "which use private parts of MindSpore's in C++, are not imported.",
        "albert": "Reads an attribute of the model that it never sets.",
        "layers/crf": "Calls `ops.logsumexp` with `axis`; it was written for an earlier MindSpore.",
    }
    MODELS: ClassVar = {
        "albert": ("albert", "AlbertModel", "AlbertConfig"), "bert": ("bert", "BertModel", "BertConfig"),
        "gpt": ("gpt", "GPTModel", "GPTConfig"), "gpt2": ("gpt2", "GPT2Model", "GPT2Config"),
        "luke": ("luke", "LukeModel", "LukeConfig"),
        "mobilebert": ("mobilebert", "MobileBertModel", "MobileBertConfig"),
        "t5": ("t5", "T5EncoderModel", "T5Config"), "tinybert": ("tinybert", "TinyBertModel", "BertConfig"),
    }

    def __init__(self, checkout: Path):
        package = ModuleType("mindnlp")
        package.__path__ = [str(checkout / "mindnlp")]
        sys.modules["mindnlp"] = package  # the real one imports the data pipelines
        from mindnlp._legacy.nn import Dropout

        Dropout.construct = kept
        self._layers: dict[str, Callable[[], Task]] = {
            "layers/attention": self._attention, "layers/crf": self._crf, "layers/gru": self._gru, "layers/lstm": self._lstm,
            "layers/cnn_encoder": self._cnn_encoder}

    def families(self) -> dict[str, list[str]]:
        return {name: [name] for name in (*self.MODELS, *self._layers)}

    def build(self, name: str) -> Any:
        return self.task(name).network

    def task(self, name: str) -> Task:
        return self._layers[name]() if name in self._layers else self._model(*self.MODELS[name])

    def _model(self, folder: str, model: str, configuration: str) -> Task:
        package = ModuleType(f"mindnlp.models.{folder}")
        known = importlib.import_module(package.__name__)
        for file in sorted(Path(known.__path__[0]).glob("*.py")):
            if file.stem != "__init__":
                vars(package).update(vars(importlib.import_module(f"{known.__name__}.{file.stem}")))
        kind = getattr(package, configuration)
        sizes = {name: size for name, size in SMALL.items() if name in inspect.signature(kind.__init__).parameters}
        return Task(getattr(package, model)(kind(**sizes)), (self._text(),), first_cubed)

    def _text(self) -> np.ndarray[Any, Any]:
        return drawn().integers(3, WORDS, (2, LENGTH)).astype(np.int32)

    def _vectors(self, *shape: int) -> np.ndarray[Any, Any]:
        return drawn().standard_normal(shape, np.float32)

    def _attention(self) -> Task:
        from mindnlp.modules import attentions

        query = self._vectors(2, LENGTH, WIDE)
        return Task(attentions.SelfAttention(WIDE), (query, query, query), first_cubed)

    def _crf(self) -> Task:
        from mindnlp.modules.crf import CRF

        tags = drawn().integers(0, 5, (2, LENGTH)).astype(np.int32)
        return Task(CRF(5, batch_first=True), (self._vectors(2, LENGTH, 5), tags, np.array([LENGTH, LENGTH - 2], np.int32)), first_cubed)

    def _gru(self) -> Task:
        from mindnlp.modules.rnns import StaticGRU

        return Task(StaticGRU(WIDE, 16, 2, batch_first=True, bidirectional=True), (self._vectors(2, LENGTH, WIDE),), first_cubed)

    def _lstm(self) -> Task:
        from mindnlp.modules.rnns import StaticLSTM

        return Task(StaticLSTM(WIDE, 16, 2, batch_first=True, bidirectional=True), (self._vectors(2, LENGTH, WIDE),), first_cubed)

    def _cnn_encoder(self) -> Task:
        import mindspore as ms
        from mindnlp.modules.encoder.cnn_encoder import CNNEncoder

        windows = [ms.nn.Conv2d(1, 8, (size, WIDE), pad_mode="pad") for size in (2, 3)]
        return Task(CNNEncoder(ms.nn.Embedding(WORDS, WIDE), windows), (self._text(),), first_cubed)


def kept(self: Any, x: Any) -> Any:
    """Return what a dropout is given: the two frameworks draw different numbers."""
    return x


def first_cubed(results: Any) -> Any:
    """Return the mean of the cubes of the first result: that of squares is constant behind a layer norm."""
    first = results
    while isinstance(first, (tuple, list)):
        first = first[0]
    return (first * first * first).mean()


__all__ = ["MindNLP"]
