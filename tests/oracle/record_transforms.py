"""Asks MindSpore what its deterministic transforms of data make of small arrays. Needs mindspore; writes transforms.json beside this file.

    python tests/oracle/record_transforms.py

Expressions name transforms of images by V, others by T, those of strings by text, and the arrays of `arrays()`.
"""

# pyright: reportMissingImports=false

import json
from pathlib import Path
from typing import Any

import numpy as np

EXPRESSIONS = r"""
T.OneHot(5)(np.array(3)) | T.OneHot(5)(np.array([1, 2])) | T.OneHot(5)(np.array([[1], [2]], np.int32)) | T.OneHot(5, 0.1)(np.array(3))
T.OneHot(5)(np.array(3, np.uint8)) | T.OneHot(3)(np.array(3)) | T.OneHot(3)(np.array(1.0)) | T.TypeCast(np.float16)(floats)
T.TypeCast(np.int32)(floats) | T.TypeCast(np.uint8)(floats) | T.TypeCast(np.bool_)(floats) | T.TypeCast('int8')(floats)
T.TypeCast(np.float32)(np.array(3)) | T.TypeCast(np.int32)(np.array('3')) | T.TypeCast('zz') | T.PadEnd([4])(np.array([1, 2]))
T.PadEnd([4], -1)(np.array([1, 2])) | T.PadEnd([1])(np.array([1, 2])) | T.PadEnd([3], 1.5)(np.array([1, 2]))
T.PadEnd([3], 'x')(np.array(['a', 'bc'])) | T.PadEnd([3, 3])(np.array([1, 2])) | T.PadEnd([3], 1)(np.array(['a'])) | T.PadEnd(3)
T.Fill(3)(floats) | T.Mask(T.Relational.GT, 0)(floats) | T.Mask(T.Relational.EQ, 2, ms.int32)(np.array([1, 2]))
T.Slice(slice(1, 3))(floats) | T.Slice([0, 2])(floats) | T.Slice(2)(floats) | T.Slice(None, slice(0, 2))(np.arange(6).reshape(2, 3))
T.Duplicate()(floats) | T.Concatenate(0, np.array([9]), np.array([8, 7]))(np.array([1, 2])) | T.Compose([]) | T.RandomApply([len], 2)
T.Unique()(floats) | T.Unique()(np.array([[3, 1, 3], [2, 1, 1]]))
V.Rescale(1 / 255, 0.0)(image) | V.Rescale(1 / 255, -1.0)(image) | V.Rescale(2.0, 1)(real) | V.Rescale(0.1, 1)(image.astype(np.int32))
V.Normalize([121.0, 115.0, 100.0], [70.0, 68.0, 71.0])(image) | V.Normalize([0.1, 0.2, 0.3], [0.5, 0.6, 0.7])(real)
V.Normalize([0.1, 0.2, 0.3], [0.5, 0.6, 0.7], is_hwc=False)(real.transpose(2, 0, 1).copy()) | V.Normalize([0.1307], [0.3081])(plain)
V.Normalize([0.1, 0.2], [0.5, 0.6])(image) | V.Normalize([0.1], [0.5])(image) | V.Normalize([1], [0]) | V.Normalize([1, 2], [1])
V.HWC2CHW()(image) | V.HWC2CHW()(plain) | V.HWC2CHW()(image[None]) | V.ToTensor()(image) | V.ToTensor()(plain) | V.ToTensor()(real)
V.ToTensor(np.float64)(image) | V.ToTensor('zz') | V.ToType(np.float32)(image) | V.Resize((3, 4), Inter.NEAREST)(image)
V.Resize((3, 4))(image) | V.Resize((12, 13))(image) | V.Resize((4, 20))(real) | V.Resize(5)(image)
V.Resize((12, 13), Inter.CUBIC)(image) | V.Resize((3, 4), Inter.CUBIC)(image) | V.Resize((3, 4), Inter.AREA)(image) | V.Resize(9)(plain)
V.Resize((12, 13), Inter.AREA)(image) | V.Resize((3, 5), Inter.AREA)(image[:6, :5]) | V.Resize((3, 3))(image[:6, :6]) | V.Resize(0)
V.Resize((12, 13), Inter.NEAREST)(image) | V.Resize((12, 13), Inter.PILCUBIC)(image) | V.Resize(3, Inter.PILCUBIC)(plain) | V.Resize('a')
V.Resize(3, 2) | V.Resize(3)(np.zeros(5)) | V.Resize(3)(image.astype(np.int32)) | V.Resize(3, Inter.ANTIALIAS)(image)
V.CenterCrop(4)(image) | V.CenterCrop((10, 5))(image) | V.CenterCrop((4, 12))(plain) | V.CenterCrop((11, 12))(image) | V.CenterCrop(0)
V.Crop((1, 2), (3, 4))(image) | V.Crop((5, 2), (3, 4))(image) | V.Crop((-1, 0), 3) | V.ResizedCrop(1, 2, 5, 6, (4, 3))(image)
V.Pad((1, 2, 3, 4), 7)(image) | V.Pad(2, 0, Border.EDGE)(plain) | V.Pad(2, 0, Border.REFLECT)(image)
V.Pad(2, 0, Border.SYMMETRIC)(image) | V.Pad((1, 2), (1, 2, 3))(image) | V.Pad(-1) | V.Pad((1, 2, 3)) | V.PadToSize((9, 12))(image)
V.PadToSize((9, 12), (1, 2), (9, 8, 7))(image) | V.HorizontalFlip()(image) | V.VerticalFlip()(image) | V.HorizontalFlip()(plain)
V.HorizontalFlip()(np.zeros(3)) | V.Rotate(90)(image) | V.Rotate(30)(image) | V.Rotate(30, Inter.BILINEAR)(image)
V.Rotate(30, Inter.BILINEAR, True)(image) | V.Rotate(30, Inter.NEAREST, False, (3, 5), 9)(image) | V.Rotate(-90, expand=True)(image)
V.Rotate(45)(plain) | V.AdjustBrightness(1.7)(image) | V.AdjustContrast(1.7)(image) | V.AdjustGamma(0.7, 1.1)(image)
V.AdjustBrightness(0.5)(real) | V.Invert()(image) | V.Equalize()(image) | V.Posterize(3)(image) | V.Solarize((10, 100))(image)
V.Erase(2, 3, 2, 3, 9)(image) | V.ConvertColor(V.ConvertMode.COLOR_RGB2GRAY)(image) | V.ConvertColor(V.ConvertMode.COLOR_RGB2BGR)(image)
V.ConvertColor(V.ConvertMode.COLOR_GRAY2RGB)(plain[..., None]) | V.ConvertColor(V.ConvertMode.COLOR_RGB2RGBA)(image)
V.SlicePatches(2, 2)(image) | V.LinearTransformation(np.eye(12), np.ones(12))(np.arange(12.0).reshape(3, 2, 2))
V.RandomHorizontalFlip(1.0)(image) | V.RandomVerticalFlip(0.0)(image) | V.RandomCrop((7, 9))(image) | V.RandomRotation((90, 90))(image)
V.RandomCrop(20)(image) | V.RandomCrop('a') | V.RandomCrop((1, 2, 3)) | V.RandomHorizontalFlip(2) | V.RandomHorizontalFlip('a')
V.RandomRotation(-1) | V.RandomRotation((3, 1)) | V.RandomColorAdjust(-1) | V.RandomColorAdjust(hue=0.9) | V.RandomResizedCrop(3, (2, 1))
V.RandomErasing(3) | V.RandomCropDecodeResize(3)(image) | V.RandomColorAdjust(0.4)(plain) | V.FiveCrop(3)(image) | V.Grayscale(3)(image)
V.GaussianBlur(3)(image) | V.GaussianBlur((3, 5))(image) | V.GaussianBlur((5, 3), (0, 1.7))(image) | V.GaussianBlur(21)(plain)
V.GaussianBlur(3)(image.astype(np.int16) * -9) | V.GaussianBlur(5)(image.astype(np.uint16) * 200) | V.GaussianBlur(3)(image.astype(int))
V.GaussianBlur(2) | V.GaussianBlur((3, 3, 3)) | V.GaussianBlur(3, -1) | V.GaussianBlur(3, (1,)) | V.GaussianBlur(3)(image[None])
V.Perspective(corners, moved)(image) | V.Perspective(corners, moved, Inter.CUBIC)(image) | V.Perspective(corners, moved, Inter.AREA)(plain)
V.Perspective(corners, corners, Inter.NEAREST)(image) | V.Perspective(corners, moved)(image.astype(np.int16))
V.Perspective([[0, 0], [1, 0], [2, 0], [3, 0]], moved)(plain) | V.Perspective(corners, moved[:3]) | V.Perspective(corners, [1, 2, 3, 4])
V.Perspective(corners, [[0.5, 0]] * 4) | V.Perspective(corners, moved, 2) | V.Perspective(corners, moved)(image[None])
V.Perspective(corners, moved, Inter.ANTIALIAS)(image) | V.Perspective(corners, moved)(image.astype(np.int32))
V.RandomPerspective(2.0) | V.RandomPerspective(1) | V.RandomPerspective(0.5, 1.0)(image)
V.Rotate(30, Inter.CUBIC)(image) | V.Affine(20, (0.1, 0.2), 1.2, (5, 7), Inter.AREA)(image) | V.Rotate(30, Inter.PILCUBIC)(image)
V.RgbToHsv(True)(image / 255) | V.HsvToRgb(True)(image / 255) | V.RgbToHsv()(image) | V.HsvToRgb()(np.ones((1, 3, 2, 2))) | V.RgbToHsv(1)
V.HsvToRgb(True)(plain) | V.AutoContrast()(image) | V.AutoContrast(10, [3, 4])(image) | V.AdjustSaturation(1.9)(image)
V.AdjustSharpness(1.9)(image) | V.encode_png(image[:2], 10) | V.encode_jpeg(image, 0) | V.encode_jpeg(image, 1.5) | V.encode_jpeg('a')
V.encode_jpeg(image.astype(float)) | V.encode_png(image[..., :2]) | V.encode_png(image[None])
V.ResizeWithBBox((4, 5))(image, boxes) | V.RandomHorizontalFlipWithBBox(1.0)(image, boxes) | V.RandomVerticalFlipWithBBox(1.0)(image, boxes)
V.RandomCropWithBBox((7, 9), (2, 1, 2, 1))(image[1:-1, 2:-2], boxes[:1] - 1)
V.BoundingBoxAugment(V.Solarize((0, 255)), 1.0)(image, boxes) | V.BoundingBoxAugment(V.Resize((2, 2)), 1.0)(image, boxes)
V.RandomHorizontalFlipWithBBox(1.0)(image) | V.RandomHorizontalFlipWithBBox(1.0)(image, boxes[:, :3]) | V.ResizeWithBBox(3, 3)
V.RandomHorizontalFlipWithBBox(1.0)(image, boxes - 4) | V.RandomHorizontalFlipWithBBox(1.0)(image, boxes + 4) | V.BoundingBoxAugment(3)
V.RandomHorizontalFlipWithBBox(1.0)(image, boxes.astype(int)) | V.RandomHorizontalFlipWithBBox(2) | V.RandomCropWithBBox(50)(image, boxes)
V.CutMixBatch(V.ImageBatchFormat.NHWC, prob=0.0)(image[None], np.ones((1, 2), int))
V.CutMixBatch(0) | V.CutMixBatch(V.ImageBatchFormat.NHWC, 0) | V.CutMixBatch(V.ImageBatchFormat.NHWC, 1, 2)
V.CutMixBatch(V.ImageBatchFormat.NHWC)(image, np.ones((7, 2))) | V.CutMixBatch(V.ImageBatchFormat.NHWC)(image[None], np.ones((2, 2)))
V.CutMixBatch(V.ImageBatchFormat.NHWC)(image[None], np.ones(1))
V.AutoAugment('imagenet') | V.AutoAugment()(plain) | V.AutoAugment(fill_value=256) | V.RandAugment(0)(image) | V.RandAugment(2, 31)
V.RandAugment(-1) | V.RandAugment(2, 0, 1) | V.RandAugment()(real) | V.TrivialAugmentWide(1) | V.TrivialAugmentWide('a')
V.RandAugment(2, 9, 31, Inter.ANTIALIAS)(image) | V.UniformAugment([V.HorizontalFlip()]) | V.UniformAugment([V.HorizontalFlip()], 0)
V.UniformAugment([V.HorizontalFlip] * 2) | V.RandomSelectSubpolicy([[(V.HorizontalFlip(), 1.0), (V.VerticalFlip(), 0)]])(plain)
V.RandomSelectSubpolicy([]) | V.RandomSelectSubpolicy([[]]) | V.RandomSelectSubpolicy([[V.HorizontalFlip()]]) | V.RandomSelectSubpolicy(3)
V.RandomSelectSubpolicy([[(V.HorizontalFlip(), 2)]]) | V.RandomSelectSubpolicy([((V.HorizontalFlip(), 1),)])
V.Decode()(np.zeros(10, np.uint8)) | V.Decode()(image) | V.ToPIL()(real) | V.Rescale('a', 1) | V.Rescale(1.0, 1.0)(None)
text.WhitespaceTokenizer()(np.array('a bc  d')) | text.UnicodeCharTokenizer()(np.array('aé')) | text.WhitespaceTokenizer()(np.array(''))
text.CaseFold()(np.array('AbÉß')) | text.Truncate(2)(np.array(['a', 'b', 'c'])) | text.Truncate(5)(np.array([1, 2]))
text.ToNumber(ms.int32)(np.array(['1', '-2'])) | text.ToNumber(ms.float32)(np.array(['1.5', '2']))
text.ToNumber(ms.int8)(np.array(['300'])) | text.ToNumber(ms.int32)(np.array(['a']))
text.TruncateSequencePair(4)(np.array([1, 2, 3]), np.array([4, 5, 6])) | text.SlidingWindow(2)(np.array([1, 2, 3]))
text.Ngram(2)(np.array(['a', 'b', 'c'])) | text.Ngram([1, 2], ('_', 1), ('$', 1), '-')(np.array(['a', 'b']))
text.AddToken('[CLS]')(np.array(['a'])) | text.AddToken('[S]', False)(np.array(['a']))
text.Lookup(text.Vocab.from_list(['a', 'b']))(np.array(['b', 'a'])) | text.Lookup(text.Vocab.from_list(['a', 'b']))(np.array(['z']))
text.Lookup(text.Vocab.from_list(['a', 'b']), 'a')(np.array(['z', 'b'])) | text.Lookup(text.Vocab.from_list(['a']), 'z')(np.array(['a']))
text.Truncate(-1) | text.Lookup(text.Vocab.from_list(['a', 'b']), data_type=ms.int64)(np.array('b'))
text.Vocab.from_list(['a', 'b'], ['[U]', '[P]']).vocab() | text.Vocab.from_list(['a', 'b'], ['[U]'], False).vocab()
text.Vocab.from_list(['a', 'a']) | text.Vocab.from_dict({'a': 3, 'b': 5}).vocab()
text.Vocab.from_list(['a', 'b']).tokens_to_ids(['b', 'z']) | text.Vocab.from_list(['a', 'b']).ids_to_tokens([0, 1])
text.Vocab.from_list(['a']).ids_to_tokens(7) | text.Vocab.from_list(['a']).tokens_to_ids('a')
text.Vocab.from_list(['a']).ids_to_tokens(0) | text.NormalizeUTF8()(np.array('ﬁé')) | text.RegexReplace('a+', 'X')(np.array('caat'))
text.RegexReplace('a', 'X', False)(np.array('caat')) | text.RegexTokenizer(' ')(np.array('a b c'))
text.RegexTokenizer(' ', ' ')(np.array('a b')) | text.BasicTokenizer()(np.array('Hello, 世界!'))
text.BasicTokenizer(True)(np.array('HELLO World')) | text.BasicTokenizer()(np.array('[CLS] a-b [UNK]'))
text.WordpieceTokenizer(text.Vocab.from_list(['wo', '##rd', '[UNK]']))(np.array(['word', 'xx']))
text.BertTokenizer(text.Vocab.from_list(['hel', '##lo', ',', 'you']))(np.array('hello, you z'))
text.UnicodeScriptTokenizer()(np.array('ab世界 c1')) | text.PythonTokenizer(lambda s: s.split('-'))(np.array('a-b'))
text.FilterWikipediaXML()(np.array('<a>b</a> [[File:C d|x]] &amp; 10 == E ==\n* F')) | text.FilterWikipediaXML()(np.array('#REDIRECT a'))
text.FilterWikipediaXML()(np.array('A <b\nc>d e\n f')) | text.FilterWikipediaXML()(np.array(3))
text.to_str(np.array([b'a'])) | text.to_bytes(np.array(['a'])) | text.WhitespaceTokenizer(True)(np.array('a bc'))
"""


def arrays() -> dict[str, Any]:
    """The arrays that expressions name."""
    random = np.random.default_rng(0)
    return {
        "image": random.integers(0, 256, (7, 9, 3), dtype=np.uint8), "plain": random.integers(0, 256, (8, 6), dtype=np.uint8),
        "corners": [[0, 0], [8, 0], [8, 6], [0, 6]], "moved": [[1, 0], [7, 2], [6, 5], [0, 7]],
        "boxes": np.array([[1, 2, 4, 3, 7], [3.5, 0.5, 2, 4.5, 8]], np.float32),
        "real": (random.random((5, 6, 3)) * 2 - 1).astype(np.float32), "floats": np.array([-1.7, 0.3, 2.5, 300.0]),
    }


def expressions() -> list[str]:
    return [expression.strip() for line in EXPRESSIONS.strip().splitlines() for expression in line.split(" | ")]


def described(value: Any) -> Any:
    """A result as JSON: arrays with their dtype and shape."""
    if isinstance(value, (tuple, list)) and any(isinstance(part, np.ndarray) for part in value):
        return [described(part) for part in value]
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str.lstrip("<|="), "shape": list(value.shape), "values": np.char.decode(value).ravel().tolist()
                if value.dtype.kind == "S" else value.ravel().tolist()}
    return value


def answered(expression: str, names: dict[str, Any]) -> Any:
    """What an expression gives, or the name of the exception that it raises."""
    try:
        return described(eval(expression, {"np": np, **names}))
    except Exception as error:
        return {"raises": type(error).__name__}


if __name__ == "__main__":
    import mindspore as ms
    from mindspore.dataset import text, vision
    from mindspore.dataset import transforms as T
    from mindspore.dataset.vision import Border, Inter

    found = {}
    for expression in expressions():
        names = {"ms": ms, "T": T, "V": vision, "text": text, "Inter": Inter, "Border": Border, **arrays()}
        found[expression] = answered(expression, names)
    Path(__file__).with_name("transforms.json").write_text(
        "{\n" + ",\n".join(f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}" for key,
                           value in found.items())
        + "\n}\n", encoding="utf-8")
