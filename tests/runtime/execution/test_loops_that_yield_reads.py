"""A loop of the graph reads a Parameter into a name and writes the Parameter in the same round, in any order."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn

STATEMENTS = ["y = self.w", "self.w = self.w * 2", "z = y * 1", "y = y + self.w", "ops.assign(self.w, z + self.w)"]
LOOPS = {"for": "for _ in range(4):", "while": "while n < 4:"}


def bodies() -> list[tuple[str, ...]]:
    """Return the statements of the loops: two or three, of which one writes the Parameter."""
    chosen = [*itertools.permutations(STATEMENTS, 2), *itertools.permutations(STATEMENTS, 3)]
    return [each for each in chosen if any("self.w =" in text or "assign" in text for text in each) and any("y =" in text for text in each)]


def program() -> str:
    lines = ["from adjoint import ops, nn, Tensor", ""]
    for kind, head in LOOPS.items():
        for i, body in enumerate(bodies()):
            lines += [f"def {kind}_{i}(self, x):", "    y, z, n = x, x, x.sum() * 0", f"    {head}", *(f"        {text}" for text in body),
                      *(["        n = n + 1"] if kind == "while" else []), "    return y * 1, z * 1, self.w * 1", ""]
    return "\n".join(lines)


class Net(nn.Cell):
    def __init__(self, body: Any):
        super().__init__()
        self.body, self.w = body, Parameter(Tensor([1.0, 2.0]), name="w")

    def construct(self, x: Tensor) -> Any:
        return self.body(self, x)


def results(body: Any, form: str) -> list[Any]:
    net = Net(body)
    run: Any = jit(net) if form == "jit" else net
    ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
    try:
        found = [[x.asnumpy().tolist() for x in run(Tensor([0.5, 0.25]))] for _ in range(2)]
        return [*found, net.w.asnumpy().tolist()]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_as_in_eager_mode(tmp_path: Path) -> None:
    file = tmp_path / "loops.py"
    file.write_text(program())
    spec = importlib.util.spec_from_file_location("loops", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wrong, refusals = list[Any](), 0
    for kind in LOOPS:
        for i, body in enumerate(bodies()):
            function = getattr(module, f"{kind}_{i}")
            expected = results(function, "eager")
            for form in ("jit", "graph mode"):
                try:
                    found = results(function, form)
                except ms.CompileError as refused:
                    assert "E215" in str(refused)  # it says so where a name may be the Parameter itself or not
                    refusals += 1
                    continue
                if found != expected:
                    wrong.append((kind, body, form, found, expected))
    assert not wrong, (len(wrong), wrong[:3])
    assert refusals < len(LOOPS) * len(bodies())  # of twice as many
