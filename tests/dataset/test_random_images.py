"""Random transforms of images: their choices, equal for single rows and batches, and for any number of workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

import adjoint as ms
import adjoint.dataset as ds
from adjoint.dataset import transforms, vision
from adjoint.dataset.transforms.operation import Operation
from adjoint.dataset.vision import Inter, c_transforms, py_transforms

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 8, 10, 3), dtype=np.uint8)

OPERATIONS: dict[str, Any] = {
    "RandomCrop": vision.RandomCrop(5), "RandomCrop with a rim": vision.RandomCrop((8, 10), 2), "flip": vision.RandomHorizontalFlip(),
    "flip rows": vision.RandomVerticalFlip(0.3), "RandomResizedCrop": vision.RandomResizedCrop((6, 7)),
    "RandomRotation": vision.RandomRotation(30),
    "RandomColorAdjust": vision.RandomColorAdjust(0.4, 0.4, 0.4, 0.1), "RandomErasing": vision.RandomErasing(0.7, value="random"),
    "RandomAffine": vision.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 5), "RandomLighting": vision.RandomLighting(0.5),
    "CutOut": vision.CutOut(3, 2), "RandomPosterize": vision.RandomPosterize((2, 7)), "RandomSolarize": vision.RandomSolarize(),
    "RandomSharpness": vision.RandomSharpness(), "RandomColor": vision.RandomColor(), "RandomInvert": vision.RandomInvert(),
    "RandomResize": vision.RandomResize(6), "RandomEqualize": vision.RandomEqualize(), "RandomAutoContrast": vision.RandomAutoContrast(),
    "RandomAdjustSharpness": vision.RandomAdjustSharpness(2.0), "RandomApply": transforms.RandomApply([vision.RandomCrop(8),
                                                                                                       vision.Resize((8, 10))]),
    "RandomChoice": transforms.RandomChoice([vision.RandomRotation(90), vision.HorizontalFlip()]),
    "RandomOrder": transforms.RandomOrder([vision.RandomRotation(90), vision.VerticalFlip()]),
    "RandomSelectSubpolicy": vision.RandomSelectSubpolicy([[(vision.RandomRotation(90), 1.0), (vision.HorizontalFlip(), 0.5)]]),
    "UniformAugment": vision.UniformAugment([vision.RandomRotation(90), vision.RandomSolarize(), vision.RandomSharpness()], 3),
    "Compose": transforms.Compose([vision.RandomHorizontalFlip(), vision.RandomCrop(5)]),
}


def images(operation: Any, size: int = 12, **named: Any) -> list[Any]:
    dataset = ds.NumpySlicesDataset(IMAGES, ["image"], shuffle=False).map(operation, "image", **named).batch(size)
    return [image for (batch,) in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True) for image in batch]


@pytest.mark.parametrize("name", OPERATIONS)
def test_choices_belong_to_the_row(name: str) -> None:
    """They do not depend on the batch size, workers, or a function around the transform."""
    operation = OPERATIONS[name]
    ds.config.set_seed(3)
    together = images(operation)
    assert len({image.tobytes() for image in together}) == 12
    for other in (images(operation, 1), images(operation, 5, num_parallel_workers=2), images(operation, 5, num_parallel_workers=2,
                                                                                             python_multiprocessing=True)):
        assert all((one == another).all() for one, another in zip(together, other))
    if not isinstance(operation, transforms.Compose):
        around = images(lambda image: operation(image), 4)
        assert all((one == another).all() for one, another in zip(together, around))
    ds.config.set_seed(4)
    assert any(one.shape != another.shape or (one != another).any() for one, another in zip(together, images(operation)))
    assert operation.random or isinstance(operation, transforms.Compose)


@pytest.mark.parametrize("operation", [
    vision.Rescale(0.1, 1.0), vision.Normalize([1.0, 2, 3], [4.0, 5, 6]), vision.HWC2CHW(), vision.ToTensor(), vision.Resize((5, 6)),
    vision.Resize(16, Inter.CUBIC), vision.Resize((4, 5), Inter.AREA), vision.Resize((3, 7), Inter.AREA), vision.Resize(5, Inter.NEAREST),
    vision.CenterCrop(6), vision.Pad(2, (1, 2, 3)), vision.HorizontalFlip(), vision.VerticalFlip(), transforms.TypeCast(np.float32),
    transforms.Mask(transforms.Relational.GT, 7), vision.RandomCrop(5, 1), vision.RandomHorizontalFlip(),
], ids=lambda operation: type(operation).__name__)
@pytest.mark.parametrize("plain", [False, True])
def test_many_rows_at_once_have_the_bits_of_each(operation: Operation, plain: bool) -> None:
    if plain and isinstance(operation, vision.Normalize):
        operation = vision.Normalize([1.0], [4.0])
    stack = IMAGES[..., 0] if plain else IMAGES
    if plain and isinstance(operation, vision.ToTensor):
        stack = stack.astype(np.float32)
    ds.config.set_seed(1)
    together = operation.on_blocks([stack], lambda: np.arange(12, dtype=np.uint64))
    assert together is not None
    single = [next(iter(ds.NumpySlicesDataset(row[None]).map(operation)))[0].asnumpy() for row in stack]
    if not operation.random:
        assert all(one.dtype == another.dtype and (one == another).all() for one, another in zip(together[0], single))
    assert together[0][0].shape == single[0].shape


CHAINS: dict[str, list[Operation]] = {
    "scaled": [vision.Rescale(1 / 255, -0.5), vision.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4]), vision.HWC2CHW()],
    "tensor": [vision.ToTensor(), vision.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4], is_hwc=False), transforms.TypeCast(np.float16)],
    "channels last": [vision.Rescale(2.0, 1.0), vision.Normalize([1.0], [3.0])],
    "integers": [transforms.TypeCast(np.int8), vision.HWC2CHW()],
    "in between": [vision.Normalize([1.0], [3.0]), vision.HWC2CHW(), vision.Invert(), vision.Rescale(0.5, 0.0), vision.ToType(np.float64)],
    "twice": [vision.HWC2CHW(), vision.HWC2CHW()],
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("shape", [(12, 8, 10, 3), (3, 150, 180, 3), (12, 8, 10, 1), (12, 8, 10)], ids=str)
def test_operations_done_as_one_table_have_the_bits_of_each(name: str, shape: tuple[int, ...]) -> None:
    stack = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    chain = [vision.Normalize([0.4], [0.2]) if isinstance(operation, vision.Normalize) and shape[3:] != (3,) else operation
             for operation in CHAINS[name]]
    one_by_one = []
    for image in stack:
        try:
            for operation in chain:
                image = operation(image)
        except RuntimeError as error:  # the pipeline has to raise the same
            with pytest.raises(RuntimeError, match=str(error).splitlines()[0][:30]):
                list(ds.NumpySlicesDataset(stack).map(chain))
            return
        one_by_one.append(image)
    for wrapped in (chain, [lambda image: image, *chain]):  # a function leaves a list of rows
        piped = ds.NumpySlicesDataset(stack, shuffle=False).map(wrapped).batch(5)
        result = np.concatenate([row[0] for row in piped.create_tuple_iterator(num_epochs=1, output_numpy=True)])
        assert result.dtype == one_by_one[0].dtype and (result == np.stack(one_by_one)).all()


def test_images_resized_in_groups_have_the_bits_of_each() -> None:
    stack = np.random.default_rng(1).integers(0, 256, (9, 70, 60, 3), np.uint8)
    together = vision.Resize((120, 110)).on_stack(stack, lambda: np.arange(0))
    assert together is not None and together.size > 2**16
    assert all((one == vision.Resize((120, 110))(image)).all() for one, image in zip(together, stack))


def test_what_random_transforms_choose_from() -> None:
    ds.config.set_seed(0)
    flips = [(vision.RandomHorizontalFlip(0.3)(IMAGES[0]) == IMAGES[0, :, ::-1]).all() for _ in range(400)]
    assert 90 < sum(flips) < 150
    places = {tuple(vision.RandomCrop((7, 9))(np.arange(80).reshape(8, 10))[0, :1].tolist()) for _ in range(100)}
    assert places == {(0,), (1,), (10,), (11,)}
    assert all(vision.RandomResizedCrop((4, 4))(image).shape == (4, 4, 3) for image in IMAGES)
    erased = vision.RandomErasing(1.0, value=(1, 2, 3))(np.full((3, 20, 20), 9, np.uint8))
    changed = erased != 9
    assert 0.01 < changed[0].mean() < 0.35 and [set(channel[channel != 9].tolist()) for channel in erased] == [{1}, {2}, {3}]
    mixed, labels = vision.MixUpBatch(1.0)(IMAGES, np.eye(12))
    assert mixed.shape == IMAGES.shape and mixed.dtype == np.uint8 and np.allclose(labels.sum(1), 1)


@pytest.mark.parametrize(("policy", "count"), [
    (vision.AutoAugment(), 3), (vision.AutoAugment(vision.AutoAugmentPolicy.CIFAR10, Inter.CUBIC, (9, 8, 7)), 3),
    (vision.AutoAugment(vision.AutoAugmentPolicy.SVHN), 3), (vision.RandAugment(1, 30), 20), (vision.TrivialAugmentWide(2), 20),
])
def test_policies_reach_all_their_transforms(policy: Any, count: int) -> None:
    """Each transform of a policy is applied, those with a sign in both directions; at the strongest level there are 20 or more results."""
    ds.config.set_seed(0)
    results = {policy(IMAGES[0]).tobytes() for _ in range(250)}
    assert len(results) >= count
    assert policy(Image.fromarray(IMAGES[0])).shape == IMAGES[0].shape, "a picture becomes an array"


def test_a_policys_shifts_are_in_pixels() -> None:
    """A third of 331 pixels was 150 in the paper; the other half of the image stays visible."""
    ds.config.set_seed(0)
    results = [vision.RandAugment(1, 30)(IMAGES[0]) for _ in range(200)]
    assert any((result[:, 4:] == IMAGES[0, :, :-4]).all() and not result[:, :4].any() for result in results)
    assert any((result[:-3] == IMAGES[0, 3:]).all() and not result[-3:].any() for result in results)


def test_batches_with_rectangles_of_other_images() -> None:
    ds.config.set_seed(0)
    images = np.broadcast_to(np.arange(6, dtype=np.uint8)[:, None, None, None], (6, 3, 20, 30))
    cut = vision.CutMixBatch(vision.ImageBatchFormat.NCHW, 2.0, 0.5)
    changed = 0
    for _ in range(40):
        mixed, labels = cut(images, np.eye(6))
        assert mixed.dtype == np.uint8 and labels.dtype == np.float32
        shares = np.stack([np.bincount(image[0].ravel(), minlength=6) / 600 for image in mixed])
        np.testing.assert_allclose(labels, shares, rtol=0, atol=1e-6)
        changed += int((labels.max(1) < 1).sum())
    assert 0.3 < changed / 240 < 0.5, "half of the images, but not those that meet themselves"


def test_boxes_follow_their_images() -> None:
    """A pixel with a number of its own is at the corner of its box, before and after; boxes outside of a part are dropped."""
    ds.config.set_seed(0)
    image = np.zeros((12, 14, 1), np.uint8)
    corners = np.array([[1, 2], [9, 3], [5, 8]])
    image[corners[:, 1], corners[:, 0], 0] = [1, 2, 3]
    boxes = np.concatenate([corners, np.full((3, 2), 1), [[1], [2], [3]]], 1).astype(np.float32)
    for operation in (vision.RandomCropWithBBox((8, 9)), vision.RandomCropWithBBox((13, 15), (1, 2, 0, 3), True),
                      vision.RandomHorizontalFlipWithBBox(0.5), vision.RandomVerticalFlipWithBBox(0.5)):
        for _ in range(20):
            part, left = operation(image, boxes)
            inside = [box for box in left.tolist() if box[2] and box[3]]
            assert {int(part[int(y), int(x), 0]) for x, y, *_ in inside} == set(np.unique(part)) - {0} == {int(box[4]) for box in inside}
    part, left = vision.RandomResizedCropWithBBox((24, 28), (1.0, 1.0), (14 / 12, 14 / 12))(image, boxes)
    assert part.shape == (24, 28, 1) and (left[:, :4] == boxes[:, :4] * 2).all()
    assert vision.RandomResizeWithBBox((6, 7))(image, boxes)[1][0].tolist() == [0.5, 1, 0.5, 0.5, 1]
    chosen = [(vision.BoundingBoxAugment(vision.Invert(), 0.3)(image.repeat(3, 2), boxes)[0] > 200).any() for _ in range(200)]
    assert 100 < sum(chosen) < 160, "1 - 0.7 ** 3 of all"


def test_pictures_seen_from_elsewhere() -> None:
    ds.config.set_seed(0)
    picture = Image.fromarray(IMAGES[0])
    corners = [[0, 0], [9, 0], [9, 7], [0, 7]]
    assert (np.asarray(vision.Perspective(corners, corners)(picture)) == IMAGES[0]).all()
    seen = [np.asarray(vision.RandomPerspective(0.6, 0.5)(picture)) for _ in range(60)]
    assert 15 < sum((image != IMAGES[0]).any() for image in seen) < 45


def test_one_choice_for_several_columns() -> None:
    """An image and its mask are cut at the same place."""
    ds.config.set_seed(0)
    pairs = ds.NumpySlicesDataset((IMAGES, IMAGES[..., 0]), ["image", "mask"], shuffle=False)
    for image, mask in pairs.map(vision.RandomCrop(5), ["image", "mask"]).create_tuple_iterator(num_epochs=1, output_numpy=True):
        assert image.shape == (5, 5, 3) and (image[..., 0] == mask).all()


def test_pictures_stay_pictures() -> None:
    ds.config.set_seed(0)
    picture = Image.fromarray(IMAGES[0])
    for operation in (vision.Resize(5), vision.CenterCrop(4), vision.RandomHorizontalFlip(1.0), vision.RandomCrop(4), vision.Pad(1),
                      vision.RandomRotation(5), vision.RandomColorAdjust(0.5), vision.RandomResizedCrop(4), vision.Grayscale(3)):
        assert isinstance(operation(picture), Image.Image), operation
    for array in (vision.ToTensor()(picture), vision.HWC2CHW()(picture), vision.ToNumpy()(picture)):
        assert isinstance(array, np.ndarray)
    assert (np.asarray(vision.RandomHorizontalFlip(1.0)(picture)) == IMAGES[0, :, ::-1]).all()
    assert [part.size for part in vision.TenCrop(3)(picture)] == [(3, 3)] * 10


def test_files_of_images(tmp_path: Any) -> None:
    path = str(tmp_path / "a.png")
    vision.write_png(path, IMAGES[0])
    assert (vision.read_image(path) == IMAGES[0]).all() and vision.read_image(path, vision.ImageReadMode.GRAYSCALE).shape == (8, 10, 1)
    encoded = vision.read_file(path)
    assert (vision.Decode()(encoded) == IMAGES[0]).all() and (np.asarray(vision.Decode(to_pil=True)(encoded)) == IMAGES[0]).all()
    ds.config.set_seed(0)
    assert vision.RandomCropDecodeResize(5)(encoded).shape == (5, 5, 3)
    assert (vision.Decode()(vision.encode_png(IMAGES[0], 0)) == IMAGES[0]).all()
    plain = ms.Tensor(np.full((16, 9), 77, np.uint8))
    assert (vision.Decode()(vision.encode_jpeg(plain, 100)) == 77).all()
    assert vision.get_image_size(IMAGES[0]) == [8, 10] and vision.get_image_num_channels(Image.fromarray(IMAGES[0])) == 3


def test_without_pillow_arrays_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    assert vision.Resize(5)(IMAGES[0]).shape == (5, 6, 3)
    with pytest.raises(ImportError, match=r"pip install 'adjoint\[data\]'"):
        vision.ToPIL()(IMAGES[0])


def test_old_paths_have_their_old_meaning() -> None:
    channels_first = IMAGES[0].transpose(2, 0, 1)
    assert py_transforms.Normalize([1.0, 2, 3], [4.0, 5, 6])(channels_first).shape == (3, 8, 10)
    assert py_transforms.Decode().to_pil and not c_transforms.Decode().to_pil and c_transforms.Resize is vision.Resize
