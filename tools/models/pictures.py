"""Collections of models of pictures, for both frameworks: `mindspore` is either MindSpore or this package."""

# pyright: reportMissingImports=false

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from task import CLASSES, Task, drawn, own_loss


class MindCV:
    """https://github.com/mindspore-lab/mindcv: classifiers of images, by name."""

    NOTES: ClassVar[dict[str, str]] = {}

    def __init__(self, checkout: Path):
        import mindcv.models
        from mindcv.models import registry

        self._models, self._registry = mindcv.models, registry

    def families(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self._registry.list_models():
            found.setdefault(self._registry._model_to_module[name], []).append(name)
        return found

    def build(self, name: str) -> Any:
        return self._models.create_model(name, num_classes=CLASSES)

    def task(self, name: str) -> Task:
        import mindspore as ms

        network, draw = self.build(name), drawn()
        size = self._size(name)
        images = draw.standard_normal((2, 3, size, size), np.float32)
        if name.startswith("mae") and name.endswith("pretrain"):
            patches = (size // int(name.split("_")[2])) ** 2
            mask = np.argsort(draw.random((2, patches)), axis=1) >= patches // 4
            return Task(network, (images, mask.astype(np.float32)), own_loss)
        labels = ms.Tensor(np.arange(2) + 3, ms.int32)

        def loss(results: Any) -> Any:
            if not isinstance(results, (tuple, list)):
                return ms.ops.cross_entropy(results, labels)
            total = 0.0
            for logits in results:
                total = total + ms.ops.cross_entropy(logits, labels)
            return total

        return Task(network, (images,), loss)

    def _size(self, name: str) -> int:
        given = self._registry._model_pretrained_cfgs.get(name, {}).get("input_size")
        named = re.search(r"_(\d{3})$", name)
        return given[-1] if given else int(named[1]) if named and 96 <= int(named[1]) <= 448 else 299 if name.startswith("inception") else \
            256 if name.startswith("swinv2") else 224


class MindYOLO:
    """https://github.com/mindspore-lab/mindyolo: detectors, by the path of a configuration; trained with the loss that it names."""

    NOTES: ClassVar = {
        "": "The losses take `x.max(axis)` for a tensor. In MindSpore 2.10 it is a tuple of values and places in eager mode, and a tensor "
            "in graphs: so most steps are refused by both in eager mode. In graphs MindSpore refuses most, since it has no second "
            "derivative of a maximum pool on CPUs.",
        "yolov4/yolov4-silu.yaml": "MindSpore's loss is 0.5% from that in Float64, ours 3e-6.",
        "yolov7/yolov7-w6.yaml": "Divides an array of integers in place, which NumPy refuses, as do `yolov7-d6`, `-e6` and `-e6e`.",
    }
    SIZE = 128
    OBJECTS = 8

    def __init__(self, checkout: Path):
        self._folder = checkout / "configs"

    def families(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file in sorted(self._folder.glob("**/yolo*.yaml")):
            if "-base" not in file.stem:
                found.setdefault(file.relative_to(self._folder).parent.as_posix(), []).append(file.relative_to(self._folder).as_posix())
        return found

    def _configuration(self, name: str) -> Any:
        from mindyolo.utils.config import Config, load_config

        return Config(load_config(str(self._folder / name))[0])

    def build(self, name: str) -> Any:
        from mindyolo.models import create_model

        given = self._configuration(name)
        return create_model(model_name=given.network.model_name, model_cfg=given.network, num_classes=CLASSES)

    def task(self, name: str) -> Task:
        import mindspore as ms
        from mindyolo.models import create_loss

        given, network, draw = self._configuration(name), self.build(name), drawn()
        size = given.img_size if given.network.model_name == "yolox" else self.SIZE  # its loss knows the places of this size alone
        images = draw.random((2, 3, size, size), np.float32)
        boxes = np.full((2, self.OBJECTS, 6), -1, np.float32)
        for image in range(2):
            for number in range(3):
                boxes[image, number] = (image, draw.integers(CLASSES), *draw.uniform(0.3, 0.7, 2), *draw.uniform(0.1, 0.5, 2))
        named = dict(given.loss)
        taught = create_loss(**named, anchors=given.network.get("anchors", 1), stride=given.network.stride, nc=CLASSES)
        targets, seen = ms.Tensor(boxes), ms.Tensor(images)

        def loss(results: Any) -> Any:
            return taught(results, targets, seen)[0]

        return Task(network, (images,), loss)


__all__ = ["MindCV", "MindYOLO"]
