"""Transforms of images: `mindspore.dataset.vision`.  Arrays need NumPy alone; pictures, files and a few others Pillow."""

from typing import Any

from adjoint.dataset.transforms.transforms import not_random
from adjoint.dataset.vision.blurring import GaussianBlur
from adjoint.dataset.vision.boxes import (
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizedCropWithBBox,
    RandomResizeWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
)
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
    encode_jpeg,
    encode_png,
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
from adjoint.dataset.vision.hsv import HsvToRgb, RgbToHsv
from adjoint.dataset.vision.modes import (
    AutoAugmentPolicy,
    Border,
    ConvertMode,
    ImageBatchFormat,
    ImageReadMode,
    Inter,
    SliceMode,
)
from adjoint.dataset.vision.perspective import Perspective, RandomPerspective
from adjoint.dataset.vision.policies import AutoAugment, RandAugment, RandomSelectSubpolicy, TrivialAugmentWide, UniformAugment
from adjoint.dataset.vision.values import (
    HWC2CHW,
    CutMixBatch,
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
    "AdjustBrightness", "AdjustContrast", "AdjustGamma", "AdjustHue", "AdjustSaturation", "AdjustSharpness", "Affine", "AutoAugment",
    "AutoAugmentPolicy", "AutoContrast", "Border", "BoundingBoxAugment", "CenterCrop", "ConvertColor", "ConvertMode", "Crop", "CutMixBatch",
    "CutOut", "Decode", "Equalize", "Erase", "FiveCrop", "GaussianBlur", "Grayscale", "HWC2CHW", "HorizontalFlip", "HsvToRgb",
    "ImageBatchFormat", "ImageReadMode", "Inter", "Invert", "LinearTransformation", "MixUp", "MixUpBatch", "Normalize", "NormalizePad",
    "Pad", "PadToSize", "Perspective", "Posterize", "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomAutoContrast",
    "RandomColor", "RandomColorAdjust", "RandomCrop", "RandomCropDecodeResize", "RandomCropWithBBox", "RandomEqualize", "RandomErasing",
    "RandomGrayscale", "RandomHorizontalFlip", "RandomHorizontalFlipWithBBox", "RandomInvert", "RandomLighting", "RandomPerspective",
    "RandomPosterize", "RandomResize", "RandomResizeWithBBox", "RandomResizedCrop", "RandomResizedCropWithBBox", "RandomRotation",
    "RandomSelectSubpolicy", "RandomSharpness", "RandomSolarize", "RandomVerticalFlip", "RandomVerticalFlipWithBBox", "Rescale", "Resize",
    "ResizeWithBBox", "ResizedCrop", "RgbToHsv", "Rotate", "SliceMode", "SlicePatches", "Solarize", "TenCrop", "ToNumpy", "ToPIL",
    "ToTensor", "ToType", "TrivialAugmentWide", "UniformAugment", "VerticalFlip", "encode_jpeg", "encode_png", "get_image_num_channels",
    "get_image_size", "not_random", "read_file", "read_image", "write_file", "write_jpeg", "write_png",
]

_IMAGES = "images: videos are not read"
INSTEAD = {"DecodeVideo": _IMAGES, "VideoDecoder": _IMAGES, "read_video": _IMAGES, "read_video_timestamps": _IMAGES}
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
