"""Forward hooks that write in place, in a first run and in a later one: what follows in the same call reads what eager mode reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops

WRITING, CALLS = (2, 12), 15
"""In which calls the hook writes: one while the graph runs by its plan, and one when a call is one function."""


class Scaled(nn.Cell):
    def __init__(self, scale: float):
        super().__init__()
        self.weight = Parameter(Tensor([scale, 2 * scale]), name="weight")

    def construct(self, x: Any) -> Any:
        return ops.tanh(x * self.weight)


class Net(nn.Cell):
    """Reads each tensor before the hook on `first` and after it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Scaled(0.5), Scaled(0.7)
        self.shift = Parameter(Tensor([0.3, 0.4]), name="shift")
        self.mask = Tensor([1.0, 2.0])

    def construct(self, x: Any) -> Any:
        y = self.first(x * self.shift) * self.mask
        return (self.second(y) * self.shift * self.first.weight * self.mask).sum()


VALUE = Tensor([0.25, -1.5])
WRITES: dict[str, Callable[[Net, Any, Any], Any]] = {
    "the result": lambda net, args, output: output.add_(VALUE),
    "the result, by set_data": lambda net, args, output: output.set_data(VALUE),
    "the result, by assign": lambda net, args, output: ops.assign(output, VALUE),
    "an argument": lambda net, args, output: args[0].mul_(2.0),
    "a Parameter of the net": lambda net, args, output: net.shift.set_data(VALUE),
    "a Parameter of the net, by assign": lambda net, args, output: ops.assign(net.shift, VALUE),
    "a Parameter that was read": lambda net, args, output: net.first.weight.add_(VALUE),
    "a Parameter that is read later": lambda net, args, output: ops.assign(net.second.weight, VALUE),
    "a tensor": lambda net, args, output: net.mask.add_(VALUE),
}


def session(write: Callable[[Net, Any, Any], Any], gradient: bool, mode: int) -> list[Any]:
    """Return the results of all calls, and the Parameters at the end."""
    ms.set_context(mode=mode)
    net, results, count = Net(), list[Any](), 0

    def hook(cell: Any, args: Any, output: Any) -> None:
        nonlocal count
        count += 1
        if count in WRITING:
            write(net, args, output)

    net.first.register_forward_hook(hook)
    run = ms.value_and_grad(net, 0, net.trainable_params()) if gradient else net
    for _ in range(CALLS):
        results.append(str(run(Tensor([1.0, -2.0]))))
    return [*results, *[x.asnumpy().tobytes() for x in (*net.get_parameters(), net.mask)]]


@pytest.mark.parametrize("gradient", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize("name", WRITES)
def test_what_a_hook_writes_is_read_by_what_follows(name: str, gradient: bool) -> None:
    assert session(WRITES[name], gradient, ms.GRAPH_MODE) == session(WRITES[name], gradient, ms.PYNATIVE_MODE)
