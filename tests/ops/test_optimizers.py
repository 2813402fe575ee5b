"""Steps of optimisers in place: the results may be written over the operands they replace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cffi import FFI

from adjoint.codegen.compile import KernelCache
from adjoint.codegen.emit import lower
from adjoint.ir.op import Op, registry
from adjoint.ir.types import F32, tensor

ffi: Any = FFI()
STEPS = [name for name, op in registry().items() if hasattr(op, "in_place")]


@pytest.fixture(scope="module")
def cache() -> KernelCache:
    return KernelCache(ffi, background=False)


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
