"""Transforms of images: `mindspore.dataset.vision`.  Arrays need NumPy alone; pictures, files and a few others Pillow."""

from typing import Any

from adjoint.dataset.transforms.transforms import not_random
from adjoint.dataset.vision.colours import (
    AdjustBrightness,
    AdjustContrast,
    AdjustGamma,
    AdjustHue,
    AdjustSaturation,
    AdjustSharpness,
    AutoContrast,
    ConvertColor,
    Equalize,
    Grayscale,
    Invert,
    Posterize,
    RandomAdjustSharpness,
    RandomAutoContrast,
    RandomColor,
    RandomColorAdjust,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSharpness,
    RandomSolarize,
    Solarize,
)
from adjoint.dataset.vision.crops import (
    CenterCrop,
    Crop,
    CutOut,
    Erase,
    FiveCrop,
    Pad,
    PadToSize,
    RandomCrop,
    RandomCropDecodeResize,
    RandomErasing,
    RandomResize,
    RandomResizedCrop,
    Resize,
    ResizedCrop,
    SlicePatches,
    TenCrop,
)
from adjoint.dataset.vision.decoding import (
    Decode,
    ToNumpy,
    ToPIL,
    get_image_num_channels,
    get_image_size,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)
from adjoint.dataset.vision.geometry import (
    Affine,
    HorizontalFlip,
    RandomAffine,
    RandomHorizontalFlip,
    RandomRotation,
    RandomVerticalFlip,
    Rotate,
    VerticalFlip,
)
from adjoint.dataset.vision.modes import (
    AutoAugmentPolicy,
    Border,
    ConvertMode,
    ImageBatchFormat,
    ImageReadMode,
    Inter,
    SliceMode,
)
from adjoint.dataset.vision.values import (
    HWC2CHW,
    LinearTransformation,
    MixUp,
    MixUpBatch,
    Normalize,
    NormalizePad,
    RandomLighting,
    Rescale,
    ToTensor,
    ToType,
)
from adjoint.foundation.diagnostics import missing_name

__all__ = [
    "AdjustBrightness", "AdjustContrast", "AdjustGamma", "AdjustHue", "AdjustSaturation", "AdjustSharpness", "Affine",
    "AutoAugmentPolicy", "AutoContrast", "Border", "CenterCrop", "ConvertColor", "ConvertMode", "Crop", "CutOut", "Decode", "Equalize",
    "Erase", "FiveCrop", "Grayscale", "HWC2CHW", "HorizontalFlip", "ImageBatchFormat", "ImageReadMode", "Inter", "Invert",
    "LinearTransformation", "MixUp", "MixUpBatch", "Normalize", "NormalizePad", "Pad", "PadToSize", "Posterize",
    "RandomAdjustSharpness", "RandomAffine", "RandomAutoContrast", "RandomColor", "RandomColorAdjust", "RandomCrop",
    "RandomCropDecodeResize", "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert",
    "RandomLighting", "RandomPosterize", "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomSharpness", "RandomSolarize",
    "RandomVerticalFlip", "Rescale", "Resize", "ResizedCrop", "Rotate", "SliceMode", "SlicePatches", "Solarize", "TenCrop", "ToNumpy",
    "ToPIL", "ToTensor", "ToType", "VerticalFlip", "get_image_num_channels", "get_image_size", "not_random", "read_file", "read_image",
    "write_file", "write_jpeg", "write_png",
]

_CHOOSE = "`transforms.RandomChoice` or `RandomApply` over the transforms that are here"
_BOXES = "a function of both columns among the operations of `map`"
INSTEAD = {
    "AutoAugment": _CHOOSE, "RandAugment": _CHOOSE, "TrivialAugmentWide": _CHOOSE, "UniformAugment": _CHOOSE,
    "RandomSelectSubpolicy": _CHOOSE,
    "BoundingBoxAugment": _BOXES, "RandomCropWithBBox": _BOXES, "RandomHorizontalFlipWithBBox": _BOXES, "RandomResizedCropWithBBox": _BOXES,
    "RandomVerticalFlipWithBBox": _BOXES, "ResizeWithBBox": _BOXES, "RandomResizeWithBBox": _BOXES,
    "CutMixBatch": "`MixUpBatch`, or a function of both columns among the operations of `map`",
    "Perspective": "`ToPIL`, and a function that calls the picture's `transform`",
    "RandomPerspective": "`ToPIL`, and a function that calls the picture's `transform`",
    "GaussianBlur": "`ToPIL`, and a function that calls the picture's `filter(ImageFilter.GaussianBlur(...))`",
    "DecodeVideo": "images: videos are not read", "VideoDecoder": "images: videos are not read", "read_video": "images: videos are not "
                                                                                                               "read",
}
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
