"""Evaluates expressions with MindSpore's names and turns what comes out, results and exceptions, into JSON."""

# pyright: reportMissingImports=false

import re
from collections.abc import Callable, Iterable
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.experimental import optim

CHANGING = re.compile(r"(?<=0x)[0-9a-f]+|(?<=kernel_graph)\d+|(?<=CNode_)\d+")  # addresses and counters
APPENDIX = re.compile(r"\n+-{20,}\n- .*", re.DOTALL)  # stacks, tracebacks, advice to developers


class Net(nn.Cell):
    """x * w + frozen, and a parameter that takes no part."""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([3.0, 4.0], ms.float32), name="w")
        self.unused = Parameter(Tensor([5.0], ms.float32), name="unused")
        self.frozen = Parameter(Tensor([6.0, 7.0], ms.float32), name="frozen", requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        return x * self.w + self.frozen


def f32(values: Any) -> Tensor:
    return Tensor(values, ms.float32)


def i32(values: Any) -> Tensor:
    return Tensor(values, ms.int32)


def grads(function: Any, *arguments: Any) -> Any:
    return ops.GradOperation(get_all=True)(function)(*arguments)


def wave(*shape: int) -> Tensor:
    """Numbers in (-1, 1), no two alike."""
    count = int(np.prod(shape))
    return f32(((np.arange(count) * 7919 % 10007) / 5003.0 - 1.0).reshape(shape))


def curve(function: Any, *arguments: Any) -> Any:
    """The value of a function, and its gradients by its arguments for cotangents that differ."""
    value = function(*arguments)
    return value, *ops.GradOperation(get_all=True, sens_param=True)(function)(*arguments, wave(*value.shape).astype(value.dtype))


def both(cell: Any, *arguments: Any) -> Any:
    """As `curve` for a layer whose parameters have numbers of their own, with the gradients by these, and what they are afterwards."""
    for parameter in cell.get_parameters():
        parameter.set_data(wave(*parameter.shape) + 1.5)
    trained = ms.ParameterTuple(cell.trainable_params())
    value = cell(*arguments)
    weights = wave(*value.shape)
    if not trained:
        return value, ops.GradOperation(get_all=True, sens_param=True)(cell)(*arguments, weights)
    gradients = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(cell, trained)(*arguments, weights)
    return value, gradients, [parameter.value() for parameter in cell.get_parameters() if not parameter.requires_grad]


def trained(make: Any, count: int = 3) -> Any:
    """What some steps of an optimiser make of two parameters, with the names of what it keeps."""
    held = [Parameter(wave(2, 3), name="weight"), Parameter(wave(3) + 0.5, name="gamma")]
    optimizer = make(held)
    for step in range(count):
        optimizer((wave(2, 3) * (step + 1.0), wave(3) - step))
    return [p.value() for p in held], [p.name for p in optimizer.get_parameters()]


def rates(make: Any, metric: Any = None) -> Any:
    """The learning rates of two groups before and after each of seven steps of a schedule."""
    optimizer = optim.SGD([{"params": [weight()]}, {"params": [weight(1.0)], "lr": 0.5}], lr=0.1)
    schedule, found = make(optimizer), [[float(group["lr"].value()) for group in optimizer.param_groups]]
    for step in range(7):
        schedule.step() if metric is None else schedule.step(metric(step))
        found.append([float(group["lr"].value()) for group in optimizer.param_groups])
    return found


def weight(offset: float = 0.0, dtype: Any = ms.float32) -> Parameter:
    """A Parameter of the numbers of `wave` and `offset`."""
    return Parameter((wave(2, 3) + offset).astype(dtype), name=f"weight{offset}")


def stepped(operator: Any, *operands: Any) -> Any:
    """What an operator makes of the Parameters among its operands."""
    operator(*operands)
    return [x.value() for x in operands if isinstance(x, Parameter)]


class Joined(nn.Cell):
    """All tensors that a layer gives, however nested, as one vector."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def construct(self, *arguments: Any) -> Tensor:
        return ops.concat([x.reshape(-1) for x in flat(self.layer(*arguments))])


def flat(value: Any) -> list[Any]:
    """The tensors of nested tuples."""
    if isinstance(value, tuple | list):
        return [x for item in value for x in flat(item)]
    return [] if value is None else [value]


def space() -> dict[str, Any]:
    """The names that the expressions use. Each expression has its own `net`."""
    names = {"ms": ms, "nn": nn, "ops": ops, "np": np, "Tensor": Tensor, "Parameter": Parameter, "Net": Net}
    names |= {"nan": np.nan, "inf": np.inf, "net": Net(), "f32": f32, "i32": i32, "grads": grads}
    names |= {"wave": wave, "curve": curve, "both": both, "Joined": Joined, "trained": trained}
    names |= {"weight": weight, "stepped": stepped, "rates": rates, "optim": optim, "schedules": optim.lr_scheduler}
    return names | {"__name__": __name__}


def number(value: Any) -> Any:
    """A number as JSON has it; not finite ones and the negative zero as text."""
    if isinstance(value, list):
        return [number(item) for item in value]
    if isinstance(value, float) and (not np.isfinite(value) or (value == 0 and np.signbit(value))):
        return str(value)
    return str(value) if isinstance(value, complex) else value


def encoded(value: Any) -> Any:
    """A result as JSON: `{dtype: values}` for a tensor, `{"tuple": [...]}`, `{"list": [...]}`, or the object itself."""
    if isinstance(value, Tensor):
        dtype = str(value.dtype).lower()
        array = value.astype(ms.float32).asnumpy() if dtype == "bfloat16" else value.asnumpy()
        return {dtype: number(array.tolist())} if array.size else {dtype: [], "shape": list(array.shape)}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [encoded(item) for item in value]}
    return value if isinstance(value, int | float | str | None) else steady(repr(value))


def brief(value: Any) -> Any:
    """As `encoded`, with six digits of each float."""

    def shortened(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: shortened(inner) for key, inner in item.items()}
        if isinstance(item, list):
            return [shortened(inner) for inner in item]
        return float(f"{item:.6g}") if isinstance(item, float) else item

    return shortened(encoded(value))


def steady(text: str) -> str:
    """The text without what changes from run to run."""
    return CHANGING.sub("", text)


def failure(problem: Exception) -> dict[str, str]:
    """The type and the text of an exception, without what is appended to it."""
    return {"error": type(problem).__name__, "text": APPENDIX.sub("", steady(str(problem)).strip())}


def outcome(expression: str, encode: Callable[[Any], Any] = encoded) -> Any:
    try:
        return encode(eval(expression, space()))
    except Exception as problem:
        return failure(problem)


def outcomes(expressions: Iterable[str], encode: Callable[[Any], Any] = encoded) -> dict[str, Any]:
    """Every expression is asked twice, in both orders; "unstable" where the answers differ (uninitialised memory)."""
    expressions = list(expressions)
    first = {expression: outcome(expression, encode) for expression in expressions}
    again = {expression: outcome(expression, encode) for expression in reversed(expressions)}
    return {e: first[e] if first[e] == again[e] else "unstable" for e in expressions}
