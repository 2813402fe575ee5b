"""Scikit-learn's 1,797 scanned digits, 8 x 8 pixels each, as pipelines: the data of the other examples in this directory."""

import mindspore.dataset as ds
import numpy as np
from mindspore import dtype as mstype
from mindspore.dataset import transforms, vision
from sklearn.datasets import load_digits


class Digits:
    """A source of random access: an image uint8 [8, 8, 1] and its label, of a fixed split into 1,437 for training and 360 for testing."""

    def __init__(self, usage):
        data = load_digits()
        order = np.random.RandomState(0).permutation(len(data.target))
        chosen = order[:1437] if usage == "train" else order[1437:]
        self.images = data.images[chosen].astype(np.uint8)[..., None]
        self.labels = data.target[chosen]

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


def digits(usage, size=8, batch_size=32, keep=lambda label: True):
    """Return batches of images Float32 [n, 1, size, size] in 0..1 and labels Int32 [n], of those labels that `keep` is true of."""
    train = usage == "train"
    data = ds.GeneratorDataset(Digits(usage), ["image", "label"], shuffle=train)
    data = data.filter(keep, "label")
    resize = [vision.Resize((size, size))] if size != 8 else []
    data = data.map([*resize, vision.Rescale(1 / 16, 0.0), vision.HWC2CHW()], "image")
    data = data.map(transforms.TypeCast(mstype.int32), "label")
    return data.batch(batch_size, drop_remainder=train)
