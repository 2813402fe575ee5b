"""Optimisers with groups of parameters, and schedules of their learning rates: parameters after some steps, rates, and mistakes."""

# pyright: reportMissingImports=false

from typing import Any

from answers import brief, outcomes

OPTIMIZERS = (
    "trained(lambda p: optim.Adam(p))[0]", "trained(lambda p: optim.Adam(p, 0.1, (0.8, 0.9), 0.01, 0.1, maximize=True))[0]",
    "trained(lambda p: optim.AdamW(p))[0]", "trained(lambda p: optim.AdamW(p, 0.1, (0.8, 0.9), 0.01, 0.3, True))[0]",
    "trained(lambda p: optim.SGD(p, 0.1))[0]", "trained(lambda p: optim.SGD(p, 0.1, 0.9, 0.3, 0.1))[0]",
    "trained(lambda p: optim.SGD(p, 0.1, 0.9, weight_decay=0.1, nesterov=True, maximize=True))[0]",
    "trained(lambda p: optim.Adadelta(p))[0]", "trained(lambda p: optim.Adadelta(p, 0.5, 0.8, 0.01, 0.1))[0]",
    "trained(lambda p: optim.Adagrad(p))[0]", "trained(lambda p: optim.Adagrad(p, 0.1, 0.1, 0.1, 0.5, 0.01))[0]",
    "trained(lambda p: optim.ASGD(p))[0]", "trained(lambda p: optim.ASGD(p, 0.1, 0.1, 0.5, 1.0, 0.1))[0]",
    "trained(lambda p: optim.Adamax(p))[0]", "trained(lambda p: optim.Adamax(p, 0.1, (0.8, 0.9), 0.01, 0.1))[0]",
    "trained(lambda p: optim.RMSprop(p))[0]", "trained(lambda p: optim.RMSprop(p, 0.01, 0.8, 0.01, 0.1, 0.9))[0]",
    "trained(lambda p: optim.RMSprop(p, 0.01, 0.8, 0.01, centered=True))[0]",
    "trained(lambda p: optim.Rprop(p))[0]", "trained(lambda p: optim.Rprop(p, 0.1, (0.4, 1.1), (0.01, 0.12)))[0]",
    "trained(lambda p: optim.RAdam(p))[0]", "trained(lambda p: optim.RAdam(p, 0.1, (0.8, 0.6), 0.01, 0.1), 7)[0]",
    "trained(lambda p: optim.NAdam(p))[0]", "trained(lambda p: optim.NAdam(p, 0.1, (0.8, 0.9), 0.01, 0.1, 0.1))[0]",
    "trained(lambda p: optim.AdamW([{'params': p[:1], 'lr': 0.1}, {'params': p[1:], 'weight_decay': 0.2}], 0.01))[0]",
    "optim.Adam([weight()], -1.0)", "optim.Adam([weight()], betas=(1.0, 0.9))", "optim.Adam([])", "optim.Adam(None)",
    "(lambda w: optim.Adam([{'params': [w]}, {'params': [w]}]))(weight())", "optim.SGD([weight()], 0.1, nesterov=True)",
)
WORSE = "(lambda i: Tensor([1.0, 0.9, 0.95, 0.95, 0.96, 0.97, 0.9, 0.99][i]))"
SCHEDULES = (
    "rates(lambda o: schedules.StepLR(o, 3))", "rates(lambda o: schedules.MultiStepLR(o, [2, 5, 5]))",
    "rates(lambda o: schedules.ConstantLR(o, 0.5, 4))", "rates(lambda o: schedules.LinearLR(o, total_iters=4))",
    "rates(lambda o: schedules.ExponentialLR(o, 0.9))", "rates(lambda o: schedules.PolynomialLR(o, 5, 2.0))",
    "rates(lambda o: schedules.LambdaLR(o, lambda step: 0.9**step))",
    "rates(lambda o: schedules.MultiplicativeLR(o, [lambda step: 0.9, lambda step: 1 / (step + 1)]))",
    "rates(lambda o: schedules.CosineAnnealingLR(o, 3, 0.01))", "rates(lambda o: schedules.CosineAnnealingWarmRestarts(o, 2, 2, 0.01))",
    *(f"rates(lambda o: schedules.CyclicLR(o, 0.01, [0.1, 0.2], 3, 2, {mode!r}, 0.9))"
      for mode in ("triangular", "triangular2", "exp_range")),
    "rates(lambda o: schedules.SequentialLR(o, [schedules.ConstantLR(o, 0.1, 2), schedules.ExponentialLR(o, 0.9)], [3]))",
    f"rates(lambda o: schedules.ReduceLROnPlateau(o, 'min', patience=1, cooldown=1), {WORSE})",
    f"rates(lambda o: schedules.ReduceLROnPlateau(o, 'max', patience=0, threshold_mode='abs', min_lr=[0.02, 0.001]), {WORSE})",
    "schedules.StepLR(3, 3)", "schedules.SequentialLR(optim.SGD([weight()], 0.1), [], [1])",
    "schedules.LambdaLR(optim.SGD([weight()], 0.1), [abs, abs])", "schedules.StepLR(optim.SGD([weight()], 0.1), 3, last_epoch=2)",
)


def record() -> dict[str, Any]:
    return {"optimizers": outcomes(OPTIMIZERS, brief), "schedules": outcomes(SCHEDULES, brief)}
