"""The programs of examples/ written for `mindspore`: they print the same in eager mode and GRAPH_MODE, and reach the scores they state."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

# Both modes in one process: most of the time of such a run would be imports.
BOTH_MODES = """
import sys
from adjoint.foundation import made
from adjoint.cli import main

command = ["run", *sys.argv[1:]]
for mode in ([], ["--graph"]):
    code = main([*command, *mode])
    if code:
        sys.exit(code)
    print("=" * 20, flush=True)
print("graphs made:", made.counted()["graphs"], file=sys.stderr)
"""


@dataclass(frozen=True)
class Example:
    """A program run for some epochs: lines that it prints, and the lowest acceptable score, which is the number in its last line.

    draws  True if it takes `--picture`
    """

    name: str
    epochs: int
    score: float
    shows: tuple[str, ...] = ()
    draws: bool = False


LEARNERS = [
    Example("lenet_model", 2, 0.85, (
        "gradients: conv1 0.", "checkpoints: lenet-1_44.ckpt lenet-2_44.ckpt\n", "the checkpoint scores the same: True")),
    Example("lstm_text", 2, 0.88, ("gradient by word 1, 2, ...: 0.",)),
    Example("resnet_digits", 2, 0.9, ("gradient before a block / behind it: 1.", "Eval result: epoch 2, metrics: {'Top_1_Accuracy': 0.9")),
    Example("transfer_learning", 2, 0.8, (
        "not in the checkpoint: head.weight head.bias\n",
        "gradients that reached conv1: 0, conv2: 0, head: 44\nfrozen layers as they were: True")),
    Example("mixed_precision", 1, 0.85, ("of 179 batches overflowed\n  gradients behind fc1 are Float16;", "weights: Float32\n")),
    Example("variational_autoencoder", 5, 0.37, ("gradient by mean 0.0",)),
    Example("detector", 150, 0.6, ("gradient of edges reaches 42 cells of 1024\n",)),
    Example("dose_response", 300, 0.99, ("fused with its neighbours, to the bit (12)\n", "largest effect 3.0")),
    Example("transformer_text", 2, 0.95, ("behind 'hooks>s' has a gradient by 'hooks>s'\n",)),
    Example("gradient_norms", 80, 0.8, ("the hook was called 20 times, ", "same norms: True\n"), draws=True),
    Example("physics_informed", 150, 0.7, ("gradient of the first weight: 57.",), draws=True),
    Example("kalman_filter", 6, 0.1, ("gradient by the noise: 16.8",), draws=True),
    Example("ensemble", 100, 0.75, ("the same weights: True\n",), draws=True),
    Example("matrix_free", 6, 0.999, ("step 5: energy 0.295", "gradient behind the hook: below 0.00001\n")),
]


@pytest.mark.parametrize("example", LEARNERS, ids=lambda example: example.name)
def test_an_example_learns_the_same_in_both_modes(example: Example, tmp_path: Path) -> None:
    program = EXAMPLES / f"{example.name}.py"
    if "from digits import" in program.read_text(encoding="utf-8"):
        pytest.importorskip("sklearn")
    command = [sys.executable, "-c", BOTH_MODES, str(program), "--epochs", str(example.epochs)]
    if example.draws:
        pytest.importorskip("matplotlib")
        command += ["--picture", "drawn.png"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    graphs = re.search(r"^graphs made: (\d+)$", ended.stderr, re.MULTILINE)
    assert graphs is not None and int(graphs[1]) <= 8, "a graph for each kind of batch, and none for each batch or epoch"
    eager, graph, rest = ended.stdout.split("=" * 20 + "\n")
    assert graph == eager
    assert rest == ""
    assert (tmp_path / "drawn.png").exists() == example.draws
    for shown in example.shows:
        assert shown in eager
    score = re.search(r": ([0-9.]+)\n$", eager)
    assert score is not None and float(score[1]) >= example.score, eager


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_network_learns_in_c_as_in_python(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    environment = {**os.environ, "ADJOINT_CPU": "baseline"}
    command = [sys.executable, EXAMPLES / "digits_in_c.py", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert ended.returncode == 0 and ended.stdout.endswith("digits right\nthe same: True\n"), ended.stdout + ended.stderr
