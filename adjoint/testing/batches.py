"""Compare a batch of examples with the loop over them, in the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Value, tensor_type
from adjoint.ir.interpret import Interpreter
from adjoint.ir.ops.control import Batch
from adjoint.passes.rebuild import Rewriter, became
from adjoint.passes.schedule import EXPANDED
from adjoint.testing.cases import Array, Case

__all__ = ["SIZE", "batch_of", "choices_of_mapped", "check_batch"]

SIZE = 3
"""The number of examples."""


def choices_of_mapped(count: int) -> Iterator[tuple[bool, ...]]:
    """Return which of so many operands may have the examples along their first axis: all of them, and each alone."""
    yield (True,) * count
    if count > 1:
        for place in range(count):
            yield tuple(at == place for at in range(count))


def batch_of(function: Function, mapped: Sequence[bool]) -> Module:
    """Return a module with a function `@f`, the batch of a function: its mapped parameters are one example of those of `@f`."""
    params = [Value(_of_all(p.type) if is_mapped else p.type, p.hint) for p, is_mapped in zip(function.params, mapped, strict=True)]
    examples = [Value(p.type, p.hint) for p, is_mapped in zip(function.params, mapped, strict=True) if is_mapped]
    b = Builder()
    inner, rest = b.inner(), iter(examples)
    known: dict[Value, Atom] = {
        old: next(rest) if is_mapped else new for old, new, is_mapped in zip(function.params, params, mapped, strict=True)}
    Rewriter().nodes(inner, function.body.nodes, known)
    region = inner.finish([became(atom, known) for atom in function.body.results], examples)
    node = b.emit_node(Batch(), [p for p, is_mapped in zip(params, mapped, strict=True) if is_mapped], regions=[region])
    return EXPANDED.run(Module(functions={"f": Function("f", b.finish(node.results, params))}))


def _of_all(type_: Any) -> Any:
    return type_.with_shape((SIZE, *type_.shape))


def check_batch(module: Module, case: Case, mapped: Sequence[bool], units: float) -> None:
    """Compare the batch of a function with its results for each example; AssertionError if they differ.

    module  one function whose first parameters are the operands of the case; the others are float64, such as cotangents
    case    gives the operands: an example each for seeds 0, 1, ...
    mapped  for each parameter whether it has the examples along its first axis
    units   largest difference, in units in the last place of the largest element of the result
    """
    (function,) = module.functions.values()
    drawn = [case.arrays(seed) for seed in range(SIZE)]
    rng = np.random.default_rng(len(case.name))
    more = [rng.uniform(0.5, 1.5, (SIZE, *tensor_type(p).sizes)) for p in function.params[len(case.types) :]]
    examples: list[list[Array]] = [[*operands, *(x[i] for x in more)] for i, operands in enumerate(drawn)]
    given = [np.stack([example[at] for example in examples]) if is_mapped else examples[0][at] for at, is_mapped in enumerate(mapped)]
    batch = batch_of(function, mapped)
    found = Interpreter(batch).call(batch.functions["f"], given)
    for i in range(SIZE):
        operands = [x[i] if is_mapped else x for x, is_mapped in zip(given, mapped, strict=True)]
        for at, (whole, one) in enumerate(zip(found, Interpreter(module).call(function, operands), strict=True)):
            _compare(f"{case.name}: result {at} of example {i}, mapped {mapped}", np.asarray(whole)[i], np.asarray(one), units)


def _compare(name: str, whole: Array, one: Array, units: float) -> None:
    assert whole.dtype == one.dtype and whole.shape == one.shape, name
    if one.dtype.kind not in "fc":
        assert np.array_equal(whole, one), name
        return
    scale = np.max(np.abs(one[np.isfinite(one)]), initial=0.0)
    np.testing.assert_allclose(whole, one, rtol=0, atol=units * scale * np.finfo(one.dtype).eps, err_msg=name)
