"""Steps of optimisers in place, and the operators that take them; MindSpore's values stand in tests/oracle/steps.json."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cffi import FFI

import adjoint as ms
from adjoint import Parameter, Tensor, ops
from adjoint.codegen.compile import KernelCache
from adjoint.codegen.emit import lower
from adjoint.ir.op import Op, registry
from adjoint.ir.ops.optimizers import Update
from adjoint.ir.types import F32, tensor

ffi: Any = FFI()
STEPS = [name for name, op in registry().items() if issubclass(op, Update)]


@pytest.fixture(scope="module")
def cache() -> KernelCache:
    return KernelCache(ffi)


@pytest.mark.parametrize("name", STEPS)
def test_in_place(name: str, cache: KernelCache) -> None:
    """What a step gives does not depend on whether old and new values share memory."""
    op_class: Any = registry()[name]
    weights, one = tensor(F32, (1000,)), tensor(F32)
    op: Op = op_class()
    types = [weights if position < op_class.tensors else one for position in range(len(op_class.names))]
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(0.1, 0.9, t.sizes).astype(np.float32) for t in types]
    results = op.result_types(types, ())
    kernel = lower(op, types, results)
    functions = cache.get(kernel)

    def run(*, shared: bool) -> list[np.ndarray[Any, Any]]:
        inputs = [array.copy() for array in arrays]
        outputs = [inputs[op_class.in_place[i]] if shared and i in op_class.in_place else np.empty(1000, np.float32)
                   for i in range(len(results))]
        pointers = ffi.new("void *[]", [ffi.cast("void *", array.ctypes.data) for array in (*inputs, *outputs)])
        for function, stage in zip(functions, kernel.stages, strict=True):
            assert function(pointers, ffi.new("int64_t[]", stage.sizes), 0, stage.sizes[0]) == 0
        return outputs

    for apart, together in zip(run(shared=False), run(shared=True), strict=True):
        assert apart.tobytes() == together.tobytes()


G = np.array([[1.0, -2.0], [0.5, 0.25]], np.float32)


def parameters(count: int) -> list[Parameter]:
    return [Parameter(Tensor(np.linspace(1, 2, 4, dtype=np.float32).reshape(2, 2) + i), name=f"p{i}") for i in range(count)]


OPERATORS: dict[str, tuple[Any, int, Any, int]] = {
    # operator, how many Parameters it writes, the call with these, and how many it returns (0: the first by itself)
    "ApplyGradientDescent": (ops.ApplyGradientDescent(), 1, lambda op, g, p: op(p, 0.1, g), 0),
    "ApplyMomentum": (ops.ApplyMomentum(), 2, lambda op, g, p, a: op(p, a, 0.1, g, 0.9), 0),
    "SGD": (ops.SGD(0.1, 0.1), 3, lambda op, g, p, a, s: op(p, g, Tensor(0.1), a, Tensor(0.9), s), 0),
    "Adam": (ops.Adam(), 3, lambda op, g, p, m, v: op(p, m, v, 0.9, 0.99, 0.1, 0.9, 0.99, 0.1, g), 3),
    "AdamWeightDecay": (ops.AdamWeightDecay(), 3, lambda op, g, p, m, v: op(p, m, v, 0.1, 0.9, 0.99, 0.1, 0.2, g), 3),
    "ApplyAdaMax": (ops.ApplyAdaMax(), 3, lambda op, g, p, m, v: op(p, m, v, 0.9, 0.1, 0.9, 0.99, 0.1, g), 3),
    "ApplyAdagrad": (ops.ApplyAdagrad(), 2, lambda op, g, p, a: op(p, a, 0.1, g), 2),
    "ApplyAdadelta": (ops.ApplyAdadelta(), 3, lambda op, g, p, q, u: op(p, q, u, 0.1, 0.9, 0.01, g), 3),
    "ApplyAdagradV2": (ops.ApplyAdagradV2(0.01), 2, lambda op, g, p, a: op(p, a, 0.1, g), 2),
    "ApplyAdagradDA": (ops.ApplyAdagradDA(), 3, lambda op, g, p, a, q: op(p, a, q, g, 0.1, 0.1, 0.2, 2), 0),
    "ApplyAddSign": (ops.ApplyAddSign(), 2, lambda op, g, p, m: op(p, m, 0.1, 1.0, 0.9, 0.8, g), 2),
    "ApplyPowerSign": (ops.ApplyPowerSign(), 2, lambda op, g, p, m: op(p, m, 0.1, 2.0, 0.9, 0.8, g), 2),
    "ApplyProximalGradientDescent": (ops.ApplyProximalGradientDescent(), 1, lambda op, g, p: op(p, 0.1, 0.1, 0.2, g), 0),
    "ApplyProximalAdagrad": (ops.ApplyProximalAdagrad(), 2, lambda op, g, p, a: op(p, a, 0.1, 0.1, 0.2, g), 2),
    "SparseApplyAdagradV2": (ops.SparseApplyAdagradV2(0.1, 0.01), 2, lambda op, g, p, a: op(p, a, g[1:], Tensor([1], ms.int32)), 2),
    "SparseApplyFtrl": (
        ops.SparseApplyFtrl(0.1, 0.1, 0.2, -0.5), 3, lambda op, g, p, a, u: op(p, a, u, g, Tensor([1, 0], ms.int32)), 3),
    "ApplyFtrl": (ops.ApplyFtrl(), 3, lambda op, g, p, a, u: op(p, a, u, g, 0.1, 0.1, 0.2, -0.5), 0),
    "ApplyRMSProp": (ops.ApplyRMSProp(), 3, lambda op, g, p, q, a: op(p, q, a, 0.1, g, 0.9, 0.5, 0.1), 0),
    "ApplyCenteredRMSProp": (
        ops.ApplyCenteredRMSProp(), 4, lambda op, g, p, e, q, a: op(p, e, q, a, g, 0.1, 0.01, 0.5, 9.0), 0),
    "ApplyAdamWithAmsgrad": (ops.ApplyAdamWithAmsgrad(), 4, lambda op, g, p, m, v, h: op(p, m, v, h, 0.9, 0.99, 0.1, g), 4),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    """What is written is returned, and a graph writes the same bits."""
    operator, count, call, returned = OPERATORS[name]
    held, again = parameters(count), parameters(count)
    found = call(operator, Tensor(G), *held)
    assert found is held[0] if returned == 0 else [x is p for x, p in zip(found, held, strict=True)] == [True] * returned

    class Step(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.held = ms.ParameterTuple(again)

        @ms.jit
        def construct(self, g: Tensor) -> Tensor:
            call(operator, g, *self.held)
            return g

    Step()(Tensor(G))
    assert held[0].asnumpy().tobytes() != parameters(1)[0].asnumpy().tobytes()
    for eager, graph in zip(held, again, strict=True):
        assert eager.asnumpy().tobytes() == graph.asnumpy().tobytes()


def test_where_mindspores_kernels_ignore_an_attribute() -> None:
    """`use_nesterov` and `gradient_scale` of ApplyMomentum and `update_slots` of ApplyAdagrad do what the manual says."""
    before = parameters(1)[0].asnumpy()
    p, a = parameters(2)
    ops.ApplyMomentum(use_nesterov=True, gradient_scale=0.5)(p, a, 0.1, Tensor(G), 0.9)
    moment = (before + 1) * 0.9 + G * 0.5
    np.testing.assert_allclose(a.asnumpy(), moment, 1e-6)
    np.testing.assert_allclose(p.asnumpy(), before - 0.1 * (G * 0.5 + 0.9 * moment), 1e-6)
    p, a = parameters(2)
    ops.ApplyAdagrad(update_slots=False)(p, a, 0.1, Tensor(G))
    np.testing.assert_array_equal(a.asnumpy(), before + 1)
    np.testing.assert_allclose(p.asnumpy(), before - 0.1 * G / np.sqrt(before + 1), 1e-6)


def test_rows_of_a_sparse_step() -> None:
    """A sparse step writes the rows at its indices as the dense step of these rows does, and no other row; equal indices are an error."""
    dense, sparse = parameters(3), parameters(3)
    ftrl: Any = ops.ApplyFtrl()
    ftrl(*dense, Tensor(G), 0.1, 0.1, 0.2, -0.5)
    step: Any = ops.SparseApplyFtrl(0.1, 0.1, 0.2, -0.5)
    step(*sparse, Tensor(G[1:]), Tensor([1], ms.int32))
    for written, all_written, before in zip(sparse, dense, parameters(3), strict=True):
        np.testing.assert_array_equal(written[1].asnumpy(), all_written[1].asnumpy())
        np.testing.assert_array_equal(written[0].asnumpy(), before[0].asnumpy())
    for run in (step, ms.jit(step)):
        with pytest.raises(ValueError, match=r"'indices' must be different from each other, but got \[1, 1\]"):
            run(*sparse, Tensor(G), Tensor([1, 1], ms.int32))
        with pytest.raises(IndexError, match="'SparseApplyFtrl', the argument 'indices' must be in"):
            run(*sparse, Tensor(G), Tensor([0, 2], ms.int32))


def test_where_mindspores_kernels_differ_from_their_manual() -> None:
    """ApplyAdagradDA shrinks the accumulator by L1 as the manual says, and SparseApplyAdagradV2 adds epsilon to the root."""
    p, a, q = (Parameter(Tensor(np.array(values, np.float32))) for values in ([9.0, 9.0], [0.3, -2.0], [0.1, 1.0]))
    ops.ApplyAdagradDA()(p, a, q, Tensor([0.1, 0.5]), 0.1, 0.5, 0.2, 2)
    np.testing.assert_allclose(p.asnumpy(), [0.0, 0.1 * 0.5 / (0.2 * 2 * 0.1 + np.sqrt(1.25))], 1e-6)
    np.testing.assert_allclose(a.asnumpy(), [0.4, -1.5], 1e-6)
    p, a = (Parameter(Tensor(np.array([value], np.float32))) for value in (1.0, 3.0))
    ops.SparseApplyAdagradV2(0.1, 0.5)(p, a, Tensor([1.0]), Tensor([0], ms.int32))
    np.testing.assert_allclose(p.asnumpy(), [1.0 - 0.1 / (2.0 + 0.5)], 1e-6)
