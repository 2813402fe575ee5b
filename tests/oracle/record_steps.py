"""Steps of optimisers: the parameters after some of them, the names of what is kept, and mistakes."""

# pyright: reportMissingImports=false

from typing import Any

from answers import brief, outcomes

OPTIMIZERS = (
    "trained(lambda p: nn.RMSProp(p))",
    "trained(lambda p: nn.RMSProp(p, 0.01, 0.8, 0.5, 0.001, False, True, 2.0, 0.1))",
    "trained(lambda p: nn.RMSProp(p, 0.01, momentum=0.9, weight_decay=0.1))",
    "trained(lambda p: nn.Adagrad(p))",
    "trained(lambda p: nn.Adagrad(p, 0.2, 0.1, loss_scale=2.0, weight_decay=0.1))",
    "trained(lambda p: nn.AdaMax(p))",
    "trained(lambda p: nn.AdaMax(p, 0.1, 0.8, 0.9, 0.01, 0.1, 2.0))",
    "trained(lambda p: nn.FTRL(p))",
    "trained(lambda p: nn.FTRL(p, 0.2, 0.1, -0.3, 0.0, 0.2, weight_decay=0.1, loss_scale=2.0))",
    "nn.FTRL([Parameter(f32([1.0]), name='a')], lr_power=0.5)",
    "nn.FTRL([Parameter(f32([1.0]), name='a')], learning_rate=[0.1, 0.2])",
    "nn.Lamb([Parameter(f32([1.0]), name='a')], 0.1, 1.0)",
    "nn.Lamb([Parameter(f32([1.0]), name='a')], 0.1, eps=0.0)",
    "nn.RMSProp([Parameter(f32([1.0]), name='a')], decay=-0.1)",
    "nn.RMSProp([Parameter(f32([1.0]), name='a')], momentum=-0.1)",
    "nn.RMSProp([Parameter(f32([1.0]), name='a')], epsilon=0.0)",
    "nn.RMSProp([Parameter(f32([1.0]), name='a')], centered=1)",
    "nn.Adagrad([Parameter(f32([1.0]), name='a')], -0.1)",
    "nn.Adagrad([Parameter(f32([1.0]), name='a')], update_slots=1)",
    "nn.AdaMax([Parameter(f32([1.0]), name='a')], beta1=1.0)",
)
HALF = "ms.float16"
MOMENTS = "weight(), weight(0.5), weight(2.0)"
MIXED = f"weight(0.0, {HALF}), weight(0.5), weight(2.0)"
LAST, BOTH = "Tensor([1], ms.int32)", "Tensor([1, 0], ms.int32)"
PRIMITIVES = (
    "stepped(ops.ApplyGradientDescent(), weight(), f32([0.1]), wave(2, 3))",
    "ops.ApplyGradientDescent()(wave(2, 3), 0.1, wave(2, 3))",
    "stepped(ops.ApplyMomentum(), weight(), weight(0.5), 0.1, wave(2, 3), 0.9)",
    f"stepped(ops.ApplyMomentum(), weight(0.0, {HALF}), weight(0.5, {HALF}), Tensor(0.1), wave(2, 3).astype({HALF}), Tensor(0.9))",
    "stepped(ops.ApplyMomentum(), weight(), weight(0.5), 0.1, wave(2, 3).astype(ms.float16), 0.9)",
    "(lambda w, a: (ops.ApplyMomentum()(w, a, 0.1, wave(2, 3), 0.9), w, a))(wave(2, 3), wave(2, 3) + 0.5)",
    f"ops.ApplyMomentum()(weight(0.0, {HALF}), weight(0.5, {HALF}), 0.1, wave(2, 3), 0.9)",
    "ops.ApplyMomentum()(weight(), weight(0.5), 0.1, wave(3, 2), 0.9)",
    "ops.ApplyMomentum()(weight(), Parameter(wave(3, 2)), 0.1, wave(2, 3), 0.9)",
    "ops.ApplyMomentum(1)",
    "ops.ApplyMomentum(gradient_scale=1)",
    "stepped(ops.SGD(), weight(), wave(2, 3), Tensor(0.01), weight(0.5), Tensor(0.1), weight(0.25))",
    "stepped(ops.SGD(0.2, 0.1), weight(), wave(2, 3), Tensor(0.01), weight(0.5), Tensor(0.1), weight(0.25))",
    "stepped(ops.SGD(nesterov=True), weight(), wave(2, 3), Tensor(0.01), weight(0.5), Tensor(0.1), weight(0.25))",
    "stepped(ops.SGD(0.2, 0.1), weight(), wave(2, 3), Tensor(0.01), weight(0.5), Tensor(0.0), weight(0.25))",
    "ops.SGD()(weight(), wave(2, 3), 0.01, weight(0.5), 0.1, weight(0.25))",
    "ops.SGD(0.1, nesterov=True)",
    f"stepped(ops.Adam(), {MOMENTS}, 0.9, 0.999, 0.001, 0.9, 0.999, 1e-8, wave(2, 3))",
    f"stepped(ops.Adam(use_nesterov=True), {MOMENTS}, Tensor(0.81), 0.998, 0.01, 0.9, 0.999, 0.01, wave(2, 3))",
    f"ops.Adam()({MOMENTS}, 0.9, 0.999, f32([0.1, 0.2]), 0.9, 0.999, 1e-8, wave(2, 3))",
    "ops.Adam(use_nesterov=1)",
    f"stepped(ops.AdamWeightDecay(), {MOMENTS}, 0.01, 0.9, 0.999, 1e-8, 0.1, wave(2, 3))",
    f"stepped(ops.AdamWeightDecay(), {MIXED}, 0.01, 0.9, 0.999, 1e-8, 0.1, wave(2, 3).astype({HALF}))",
    "stepped(ops.ApplyRMSProp(), weight(), weight(2.0), weight(0.5), 0.01, wave(2, 3), 0.9, 0.5, 0.001)",
    "stepped(ops.ApplyCenteredRMSProp(), weight(), weight(0.1), weight(3.0), weight(0.5), wave(2, 3), Tensor(0.01), 0.9, 0.5, 0.001)",
    "ops.ApplyRMSProp(1)",
    "ops.ApplyAdagrad()(weight(), weight(2.0), 0.01, wave(2, 3))",
    "stepped(ops.ApplyAdagrad(), weight(), weight(2.0), Tensor(0.01), wave(2, 3))",
    f"ops.ApplyAdamWithAmsgradV2()({MOMENTS}, weight(2.1), 0.9, 0.999, 0.01, 0.8, 0.9, 0.01, wave(2, 3))",
    f"stepped(ops.ApplyAdamWithAmsgrad(0.8, 0.9, 0.01), {MOMENTS}, weight(2.1), Tensor(0.9), Tensor(0.999), Tensor(0.01), wave(2, 3))",
    "stepped(ops.ApplyFtrl(), weight(1.0), weight(2.0), weight(2.5), wave(2, 3), 0.1, 0.1, 0.2, -0.5)",
    f"ops.ApplyAdaMax()({MOMENTS}, 0.9, 0.01, 0.9, 0.99, 1e-8, wave(2, 3))",
    "ops.ApplyAdadelta()(weight(), weight(2.0), weight(2.5), 0.1, 0.9, 0.01, wave(2, 3))",
    "ops.ApplyAdagradV2(0.01)(weight(), weight(2.0), 0.1, wave(2, 3))",
    "ops.ApplyAdagradV2(0.01, False)(weight(), weight(2.0), Tensor(0.1), wave(2, 3))",
    "ops.ApplyAdagradV2(1)",
    "stepped(ops.ApplyAdagradDA(), weight(), weight(0.5), weight(2.0), wave(2, 3), 0.1, 0.0, 0.2, 3)",
    "ops.ApplyAddSign()(weight(), weight(-0.5), 0.1, 1.0, 0.9, 0.8, wave(2, 3))",
    "ops.ApplyPowerSign()(weight(), weight(-0.5), 0.1, 0.7, 0.9, 0.8, wave(2, 3))",
    "ops.ApplyProximalAdagrad()(weight(), weight(2.0), 0.1, 0.5, 0.2, wave(2, 3))",
    "ops.ApplyProximalAdagrad()(weight(), weight(2.0), 0.1, 0.0, 0.2, wave(2, 3))",
    "stepped(ops.ApplyProximalGradientDescent(), weight(), 0.1, 0.5, 0.2, wave(2, 3))",
    "stepped(ops.ApplyProximalGradientDescent(), weight(), Tensor(0.1), -0.5, 0.2, wave(2, 3))",
    f"ops.SparseApplyAdagradV2(0.1, 1e-6)(weight(), weight(2.0), wave(2, 3)[:1], {LAST})",
    f"ops.SparseApplyAdagradV2(0.1, 1e-6, False, False)(weight(), weight(2.0), wave(2, 3)[::-1], {BOTH})",
    "ops.SparseApplyAdagradV2(1, 0.01)",
    f"ops.SparseApplyFtrl(0.1, 0.1, 0.2, -0.5)(weight(1.0), weight(2.0), weight(2.5), wave(2, 3)[:1], {LAST})",
    "ops.SparseApplyFtrl(0.1, 0.1, 0.2, -0.5)(weight(1.0), weight(2.0), weight(2.5), wave(2, 3)[:1], f32([0]))",
    "ops.SparseApplyFtrl(0.0, 0.1, 0.2, -0.5)",
    "ops.SparseApplyFtrl(0.1, 0.1, 0.2, 0.5)",
)


def record() -> dict[str, Any]:
    return {"optimizers": outcomes(OPTIMIZERS, brief), "primitives": outcomes(PRIMITIVES, brief)}
