"""A collection of models of written text, for both frameworks: `mindspore` is either MindSpore or this package."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import MagicMock

import numpy as np
from task import Task, drawn


class MindOCR:
    """https://github.com/mindspore-lab/mindocr: models that find and read text, by the path of a configuration; trained with the loss that
    it names, on smaller pictures where the network allows that.
    """

    NOTES: ClassVar = {
        "": "MindSpore 2.10 lacks `mindspore.parallel._transformer`, which the whole collection imports for ABINet: both frameworks import "
            "a replacement that does nothing, and ABINet is left out. So are the models of documents (`kie`, `layout/layoutlmv3`), which "
            "have more than 200 million parameters.",
    }
    LENGTH = 10

    def __init__(self, checkout: Path):
        self._folder = checkout / "configs"
        for name in ("", ".layers", ".moe", ".op_parallel_config", ".transformer"):
            sys.modules[f"mindspore.parallel._transformer{name}"] = MagicMock()

    def families(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file in sorted(self._folder.glob("**/*.yaml")):
            folder, name = (file.relative_to(self._folder).parent.as_posix(), file.relative_to(self._folder).as_posix())
            if not folder.startswith("kie") and folder not in ("layout/layoutlmv3", "rec/abinet"):
                found.setdefault(folder, []).append(name)
        return found

    def _configuration(self, name: str) -> dict[str, Any]:
        import yaml

        return yaml.safe_load((self._folder / name).read_text(encoding="utf-8"))

    def build(self, name: str) -> Any:
        from mindocr.models.builder import build_model

        model = self._configuration(name)["model"]
        model["backbone"]["pretrained"] = False
        if model["head"]["name"] == "TableMasterHead":
            model["head"]["max_text_length"] = self.LENGTH
        return build_model(model)

    def task(self, name: str) -> Task:
        import mindspore as ms
        from mindocr.losses.builder import build_loss

        given = self._configuration(name)
        named = dict(given["loss"])
        kind, common = named["name"], given.get("common", {})
        if kind == "CTCLoss":
            named["batch_size"] = 2
        inputs, labels = self._data(kind, given, common.get("max_text_len", self.LENGTH), common.get("num_classes", 5))
        taught, targets = build_loss(**named), [ms.Tensor(each) for each in labels]

        def loss(results: Any) -> Any:
            return taught(results, *targets)

        return Task(self.build(name), inputs, loss)

    def _data(self, kind: str, given: dict[str, Any], length: int, classes: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the inputs of a network that is trained with a kind of loss, and its labels."""
        draw, model = drawn(), given["model"]

        def picture(height: int, width: int) -> np.ndarray[Any, Any]:
            return draw.standard_normal((2, 3, height, width), np.float32)

        def read(count: int, first: int = 1, last: int = classes) -> np.ndarray[Any, Any]:
            steps = np.cumsum(draw.integers(1, last - first - 1, (2, count)), axis=1)  # no character follows itself: CTC needs a place more
            return (first + steps % (last - first)).astype(np.int32)

        def mask(*shape: int) -> np.ndarray[Any, Any]:
            return (draw.random(shape) < 0.3).astype(np.float32)

        side = 64
        if kind == "DBLoss":
            return (picture(side, side),), (mask(2, 1, side, side), np.ones((2, side, side), np.float32),
                                            draw.random((2, side, side), np.float32), mask(2, side, side))
        if kind == "EASTLoss":
            shape, part = (2, 1, side // 4, side // 4), (2, 5, side // 4, side // 4)
            return (picture(side, side),), (mask(*shape), 10 * draw.random(part, np.float32), np.zeros(shape, np.float32))
        if kind == "PSEDiceLoss":
            return (picture(side, side),), (mask(2, side, side), mask(2, 6, side, side), np.ones((2, side, side), np.float32))
        if kind == "CrossEntropySmooth":
            return (picture(48, 192),), (np.array([0, 1], np.int32),)
        if kind == "CTCLoss":
            size = (64, 256) if model["transform"] else (32, 4 * given["loss"]["pred_seq_len"] + 4)
            return (picture(*(model["backbone"].get("img_size", size) if not model["transform"] else size)),), (read(length),)
        if kind == "AttentionLoss":
            text = read(length + 2)
            return (picture(*((48, 160) if "Master" in model["head"]["name"] else (32, 100))), text), (text,)
        if kind == "SARLoss":
            text = read(length, last=90)
            places = np.tile(np.arange(length, dtype=np.int32), (2, 1))
            return (picture(48, 160), text, np.ones((2, 1, 40), np.float32), places), (text,)
        if kind == "MultiLoss":
            text, count, ratio = read(length), np.full(2, length, np.int32), np.ones(2, np.float32)
            return (picture(48, 320), text, text, count, ratio, np.ones((2, 1, 40), np.float32)), (text, text, count, ratio)
        if kind == "VisionLANLoss":
            text, count = read(length + 1), np.array([5, 7], np.int32)
            return (picture(64, 256), np.array([1, 2], np.int32)), (text, text, text, count)
        if kind == "TableMasterLoss":
            text, size = read(self.LENGTH + 2, last=40), (2, self.LENGTH + 2, 4)
            return (picture(96, 96), text), (text, draw.random(size, np.float32), np.ones((2, self.LENGTH + 2, 1), np.float32))
        if kind == "YOLOv8Loss":
            boxes = np.full((2, 4, 6), -1, np.float32)
            for image in range(2):
                boxes[image, 0] = (image, 1, 0.5, 0.5, 0.3, 0.4)
            return (picture(128, 128),), (boxes,)
        raise ValueError(f"There is no data for the loss {kind}.")


__all__ = ["MindOCR"]
