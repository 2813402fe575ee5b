"""Losses: values with gradients, types and mistakes."""

# pyright: reportMissingImports=false

from typing import Any

from answers import brief, outcomes

WEIGHTS = "f32([0.2, 0.3, 0.5])"
TRIPLET = "wave(2, 3), wave(2, 3) * 2 + 0.1, wave(2, 3) + 0.2"
ERRORS = (
    "curve(nn.RMSELoss(), wave(2, 3), wave(2, 3) * 2 + 0.2)",
    "nn.RMSELoss()(wave(2, 3), i32([[1, 2, 3]]))",
    "nn.RMSELoss()(Tensor([1, 2], ms.uint8), i32([3, 5]))",
    "curve(nn.MAELoss(), wave(2, 3), wave(2, 1))",
    "nn.MAELoss('none')(i32([1, 2]), i32([3, 4]))",
    "nn.MAELoss()(f32([1.0, 2.0]), 1.0)",
    "nn.MAELoss('all')",
)
LIKELIHOODS = (
    "curve(nn.PoissonNLLLoss(), wave(2, 3), abs(wave(2, 3)) * 3)",
    "curve(nn.PoissonNLLLoss(False, True, 0.01, 'none'), abs(wave(2, 3)) + 0.5, abs(wave(2, 3)) * 3)",
    "nn.PoissonNLLLoss(full=True)(wave(2, 3), i32([[1, 2, 3], [0, 1, 5]]))",
    "nn.PoissonNLLLoss()(wave(2, 3), 1.0)",
    "nn.PoissonNLLLoss()(i32([1, 2]), i32([1, 2]))",
    "nn.PoissonNLLLoss(reduction='a')",
    "curve(lambda *x: nn.GaussianNLLLoss()(*x), wave(2, 3), wave(2, 3) * 2, abs(wave(2, 3)))",
    "curve(lambda *x: nn.GaussianNLLLoss(full=True, eps=0.1, reduction='none')(*x), wave(2, 3), wave(2, 3) * 2, abs(wave(2, 3)))",
    "ops.gaussian_nll_loss(wave(2, 3), wave(2, 3) * 2, f32([1.0, 2.0]), reduction='sum')",
    "nn.GaussianNLLLoss(eps=0.0)",
    "nn.GaussianNLLLoss(full=1)",
    "ops.gaussian_nll_loss(wave(2, 3), wave(2, 3), f32([1.0, 2.0]), eps=1)",
    "ops.gaussian_nll_loss(1.0, wave(2, 3), f32([1.0, 2.0]))",
    "ops.cosine_embedding_loss(i32([[1, 2], [3, 4]]), i32([[1, 3], [3, -4]]), i32([1, -1]), reduction='none')",
)
SEGMENTS = (
    "curve(nn.DiceLoss(1.0), abs(wave(2, 3)), abs(wave(2, 3) + 0.1))",
    "nn.DiceLoss()(i32([1, 2]), i32([1, 2]))",
    "nn.DiceLoss()(wave(2, 3), wave(3, 2))",
    "nn.DiceLoss()(Tensor([1, 2], ms.uint8), i32([3, 5]))",
    "nn.DiceLoss(1)",
    "nn.DiceLoss(0.0)",
    "curve(nn.MultiClassDiceLoss(), wave(2, 3), abs(wave(2, 3) + 0.1))",
    "curve(nn.MultiClassDiceLoss(wave(3, 2), 1, 'sigmoid'), wave(2, 3, 2), abs(wave(2, 3, 2) + 0.1))",
    "curve(nn.MultiClassDiceLoss(activation=nn.Softmax(axis=1)), wave(2, 3, 2), abs(wave(2, 3, 2) + 0.1))",
    "nn.MultiClassDiceLoss(activation=None)(abs(wave(2, 3)), abs(wave(2, 3)))",
    "nn.MultiClassDiceLoss(activation='x')",
    "nn.MultiClassDiceLoss(activation=1)",
    "nn.MultiClassDiceLoss(f32([0.5, 0.5]))",
    "nn.MultiClassDiceLoss(f32([[0.5, 0.5]]))(wave(2, 3), wave(2, 3))",
    "nn.MultiClassDiceLoss(ignore_indiex=1.0)",
    "nn.MultiClassDiceLoss()(wave(3), wave(3))",
    "curve(lambda x: nn.FocalLoss()(x, i32([[1], [2]])), wave(2, 3))",
    f"curve(lambda x: nn.FocalLoss({WEIGHTS}, 1.5, 'none')(x, i32([[1], [2]])), wave(2, 3))",
    f"curve(lambda x: nn.FocalLoss({WEIGHTS}, 2.0, 'none')(x, i32([[[1, 0]], [[2, 1]]])), wave(2, 3, 2))",
    f"curve(lambda x: nn.FocalLoss({WEIGHTS}, 2.0, 'none')(x, f32([[1, 0, 0], [0, 0, 1]])), wave(2, 3))",
    "curve(lambda x: nn.FocalLoss(None, 2.0, 'sum')(x, i32([[[[1, 0], [0, 0]]], [[[2, 1], [2, 2]]]])), wave(2, 3, 2, 2))",
    "nn.FocalLoss()(wave(2, 3), i32([[3], [2]]))",
    "nn.FocalLoss()(wave(2, 3), i32([1, 2]))",
    "nn.FocalLoss()(wave(2, 3), i32([[1, 2], [0, 1]]))",
    "nn.FocalLoss()(wave(2, 3), Tensor([[True], [True]]))",
    "nn.FocalLoss(gamma=2)",
    "nn.FocalLoss(f32([[0.5, 0.5]]))",
)
MARGINS = (
    f"curve(nn.TripletMarginWithDistanceLoss(), {TRIPLET})",
    "curve(nn.TripletMarginWithDistanceLoss(), wave(2, 3), wave(2, 3), wave(2, 3) + 0.2)",
    f"curve(nn.TripletMarginWithDistanceLoss(swap=True, reduction='none', margin=0.5), {TRIPLET})",
    f"nn.TripletMarginWithDistanceLoss(lambda x, y: (x - y).abs().sum(1))({TRIPLET})",
    "nn.TripletMarginWithDistanceLoss()(wave(2), wave(2), wave(2))",
    "nn.TripletMarginWithDistanceLoss(margin=1)",
    "ops.triplet_margin_loss(f32([1.0]), f32([1.0]), f32([1.0]))",
    "ops.triplet_margin_loss(wave(2, 3), wave(2, 3).astype(ms.float16), wave(2, 3))",
    "ops.triplet_margin_loss(wave(2, 3), wave(2, 3), wave(2, 3), margin=f32([1.0]))",
    "ops.triplet_margin_loss(wave(2, 3), wave(2, 3), wave(2, 3), p=2.0)",
    "ops.triplet_margin_loss(wave(2, 3), wave(2, 3), wave(2, 3), eps=1)",
    f"curve(lambda x: nn.MultiLabelSoftMarginLoss({WEIGHTS}, 'sum')(x, i32([[0, 1, 1], [1, 0, 1]])), wave(2, 3))",
    "ops.multilabel_soft_margin_loss(wave(2, 3), wave(3), None, 'none')",
    "nn.MultiLabelSoftMarginLoss()(wave(2, 3), wave(2, 2))",
    "nn.MultiLabelSoftMarginLoss()(1.0, wave(2, 2))",
    "curve(lambda x: nn.MultiMarginLoss()(x, Tensor([1, 2])), wave(2, 3))",
    f"curve(lambda x: nn.MultiMarginLoss(2, 0.5, 'none', {WEIGHTS})(x, Tensor([1, 2])), wave(2, 3))",
    f"nn.MultiMarginLoss(reduction='sum')(wave(2, 3), Tensor([1, 2]), {WEIGHTS})",
    f"ops.multi_margin_loss(wave(2, 3), Tensor([1, 2]), 2, 2, {WEIGHTS}, 'none')",
    f"ops.MultiMarginLoss()(wave(2, 3), Tensor([1, 2]), {WEIGHTS})",
    "nn.MultiMarginLoss()(wave(2, 3), Tensor([1, 3]))",
    "nn.MultiMarginLoss()(wave(2, 3), Tensor([1, 1, 1]))",
    "nn.MultiMarginLoss()(wave(2, 3), f32([1, 1]))",
    "nn.MultiMarginLoss()(wave(2, 3), Tensor([1, 2]), f32([0.2, 0.3]))",
    "nn.MultiMarginLoss(p=3)",
    "nn.MultiMarginLoss(margin=1)",
    "ops.multi_margin_loss(wave(2, 3), Tensor([1, 2]), margin=1.0)",
    "nn.MultilabelMarginLoss('a')",
)
CTC = "wave(4, 2, 3), Tensor([[0, 0], [0, 1], [1, 0]]), i32([0, 0, 1]), i32([4, 3])"
SHORT = "wave(2, 2, 3), Tensor([[0, 0], [0, 1], [0, 2], [1, 0]]), i32([0, 1, 0, 1]), i32([2, 2])"
SEQUENCES = (
    "curve(lambda x: ops.operations.CTCLoss()(x, Tensor([[0, 0], [0, 1], [1, 0]]), i32([0, 0, 1]), i32([4, 3]))[0], wave(4, 2, 3))",
    f"ops.operations.CTCLoss()({CTC})",
    f"ops.operations.CTCLoss(ctc_merge_repeated=False)({CTC})",
    f"ops.operations.CTCLoss(True)({CTC})",
    f"ops.operations.CTCLoss(True, False)({CTC})",
    f"ops.operations.CTCLoss(ignore_longer_outputs_than_inputs=True)({SHORT})",
    f"ops.operations.CTCLoss()({SHORT})",
    "ops.operations.CTCLoss()(wave(2, 2, 3), Tensor([[0, 0], [0, 1], [1, 0]]), i32([0, 0, 1]), i32([2, 2]))",
    "ops.operations.CTCLoss()(wave(2, 2, 3), Tensor([[0, 0], [1, 0]]), i32([0, 1]), i32([2, 3]))",
    "ops.operations.CTCLoss()(wave(2, 2, 3), i32([[0, 0], [1, 0]]), i32([0, 1]), i32([2, 2]))",
    "ops.operations.CTCLoss()(wave(2, 2, 3), Tensor([[0, 0], [1, 0]]), i32([0, 1, 1]), i32([2, 2]))",
    "ops.operations.CTCLoss()(wave(2, 3), Tensor([[0, 0], [1, 0]]), i32([0, 1]), i32([2, 2]))",
    "ops.operations.CTCLoss(1)",
)


def record() -> dict[str, Any]:
    return {"errors": outcomes(ERRORS, brief), "likelihoods": outcomes(LIKELIHOODS, brief), "segments": outcomes(SEGMENTS, brief),
            "margins": outcomes(MARGINS, brief), "sequences": outcomes(SEQUENCES, brief)}
