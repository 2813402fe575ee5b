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

def record() -> dict[str, Any]:
    return {"optimizers": outcomes(OPTIMIZERS, brief)}
