"""Indices, layouts, padding, words, windows and colours: values with gradients, types and mistakes."""

# pyright: reportMissingImports=false

from typing import Any

from answers import brief, outcomes

X = "f32([[1, 2, 3], [4, 5, 6]])"
PLANE = "f32([[[0, 7, 3, 10], [6, 2, 9, 5], [1, 8, 4, 0]], [[2, 9, 5, 1], [8, 4, 11, 7], [3, 10, 6, 12]]])[None]"
VOLUME = f"{PLANE}.reshape(1, 1, 2, 3, 4)"
WORDS = "i32([[[1, 2, 1, 2, 0, 1, 2], [3, 0, 3, 2, 4, 1, 2]]])"
SPEECH = "f32([[[0.6, 0.4, 0.2], [0.8, 0.6, 0.3]], [[0.0, 0.6, 0.0], [0.5, 0.4, 0.9]], [[0.1, 0.7, 0.2], [0.4, 0.3, 0.2]]])"
COLOURS = "f32([[[[0.3, 0.2, 0.7], [0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.2], [-0.1, 2, 3], [0.2, 0.7, 0.2], [1, 0.2, 0.9]]]])"
LAID_OUT = (
    "ops.UnravelIndex()(i32([7, 23]), i32([2, 3, 4]))",
    "ops.UnravelIndex()(i32(5), i32([3, 3]))",
    "ops.UnravelIndex()(i32([9]), i32([3, 3]))",
    "ops.UnravelIndex()(i32([-1]), i32([3, 3]))",
    "ops.UnravelIndex()(i32([1]), Tensor([3, 3], ms.int64))",
    "ops.DataFormatDimMap('NCHW', 'NHWC')(i32([[-4, -3, -2, -1], [0, 1, 2, 3]]))",
    "ops.DataFormatDimMap()(i32([4, -5, 1, 2]))",
    "ops.DataFormatDimMap('NHW')",
    "ops.DataFormatVecPermute('NCHW', 'NHWC')(i32([[1, 2], [3, 4], [5, 6], [7, 8]]))",
    "ops.DataFormatVecPermute()(i32([1, 2, 3]))",
    "ops.DataFormatVecPermute()(f32([1, 2, 3, 4]))",
    "ops.CompareAndBitpack()(f32([nan, inf, -0.0, 0, 1, 2, 3, -inf]), f32(0))",
    "ops.CompareAndBitpack()(f32([1, 2, 3]), f32(0))",
    "ops.CompareAndBitpack()(f32([1, 2, 3, 4, 5, 6, 7, 8]), i32(0))",
    f"curve(lambda x: ops.PadV3()(x, i32([1, 0, 0, 2]), f32(9.0)), {PLANE})",
    f"ops.PadV3(paddings_contiguous=False)({PLANE}, i32([1, 0, -1, 2]), f32(9.0))",
    f"curve(lambda x: ops.PadV3('edge')(x, i32([1, 2, 0, 1])), {PLANE})",
    f"curve(lambda x: ops.PadV3('reflect', False)(x, i32([1, 0, 1, 1])), {PLANE})",
    f"ops.PadV3('circular')({PLANE}, i32([1, 2, 0, 1]))",
    "curve(lambda x: ops.pad(x, (-1, 2, 1, -1), 'circular'), wave(1, 1, 3, 4))",
    "ops.pad(wave(1, 2, 5), (2, -3), 'circular')",
    f"ops.PadV3('reflect')({PLANE}, i32([4, 1, 0, 0]))",
    f"ops.PadV3('edge')({PLANE}, i32([1, 1]))",
    "ops.PadV3('same')",
    f"ops.sparse_segment_mean({X}.T, i32([0, 2, 1]), i32([0, 0, 2]))",
    f"ops.sparse_segment_mean({X}, i32([0, 1, 1]), i32([1, 1, 2]))",
    f"ops.sparse_segment_mean({X}, i32([0, 1]), i32([0, 0, 1]))",
    f"ops.sparse_segment_mean({X}.astype(ms.int32), i32([0, 1]), i32([0, 0]))",
    f"ops.NoRepeatNGram()({WORDS}, wave(1, 2, 5))",
    f"ops.NoRepeatNGram(2)({WORDS}, wave(1, 2, 5))",
    f"ops.NoRepeatNGram(3)({WORDS}, wave(1, 2, 5).astype(ms.float16))",
    f"ops.NoRepeatNGram(9)({WORDS}, wave(1, 2, 5))",
    "ops.NoRepeatNGram(0)",
    f"ops.ctc_greedy_decoder({SPEECH}, i32([3, 2]))",
    f"ops.CTCGreedyDecoder(False)({SPEECH}, i32([3, 3]))",
    f"ops.ctc_greedy_decoder({SPEECH}, i32([1, 0]))",
    f"ops.ctc_greedy_decoder({SPEECH}, i32([4, 0]))",
    f"ops.ctc_greedy_decoder({SPEECH}.astype(ms.float16), i32([3, 2]))",
)
WINDOWS = (
    f"ops.AdaptiveMaxPool3D()({VOLUME}, i32([1, 2, 3]))",
    f"curve(lambda x: ops.MaxPoolWithArgmaxV2((2, 3), 1, 1)(x)[0], {PLANE})",
    f"ops.MaxPoolWithArgmaxV2(2, (2, 1), 0, (1, 2), True, ms.int32)({PLANE})",
    f"ops.MaxPoolWithArgmaxV2(2, 1, 2)({PLANE})",
    "ops.MaxPoolWithArgmaxV2(2, argmax_type=ms.float32)",
    f"curve(lambda x: ops.MaxPool3DWithArgmax(2, 1, (1, 1, 0))(x)[0], {VOLUME})",
    f"ops.MaxPool3DWithArgmax((1, 2, 3), (1, 2, 1), 0, (1, 1, 1), True, 'NCDHW', ms.int32)({VOLUME})",
    "ops.MaxPool3DWithArgmax(2, 1, 0, data_format='NDHWC')",
    f"curve(lambda x: ops.UpsampleNearest3D()(x, (3, 4, 3)), {VOLUME})",
    f"ops.UpsampleNearest3D()({VOLUME}, None, (1.5, 1.0, 2.3))",
    f"ops.UpsampleNearest3D()({VOLUME}, (3, 4, 3), (1.5, 1.0, 2.3))",
    f"ops.UpsampleNearest3D()({VOLUME})",
    f"ops.UpsampleNearest3D()({PLANE}, (3, 4, 3))",
    f"curve(lambda x: ops.UpsampleTrilinear3D()(x, (3, 4, 3)), {VOLUME})",
    f"curve(lambda x: ops.UpsampleTrilinear3D(True)(x, (3, 2, 3)), {VOLUME})",
    f"ops.UpsampleTrilinear3D()({VOLUME}, None, (1.6, 0.7, 1.0))",
    f"ops.RGBToHSV()({COLOURS})",
    f"ops.HSVToRGB()({COLOURS})",
    f"ops.AdjustHue()({COLOURS}, f32(0.2))",
    f"ops.AdjustHue()({COLOURS}, f32(-1.7))",
    f"ops.AdjustSaturation()({COLOURS}, f32(0.5))",
    f"ops.AdjustSaturation()({COLOURS}, f32(2.0))",
    f"ops.AdjustSaturation()({COLOURS}, f32([2.0]))",
    f"ops.HSVToRGB()({COLOURS}[0])",
    "ops.RGBToHSV()(f32([1, 2]))",
    "ops.RGBToHSV()(i32([1, 2, 3]))",
)


def record() -> dict[str, Any]:
    return {"laid out": outcomes(LAID_OUT, brief), "windows": outcomes(WINDOWS, brief)}
