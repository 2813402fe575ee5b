"""`Model`, callbacks, metrics and mixed precision answer as MindSpore's do (tests/oracle/training.py)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjoint as ms

FOLDERS = [str(Path(__file__).parents[1] / name) for name in ("ops", "oracle")]
sys.path[:0] = FOLDERS
asked = importlib.import_module("asked")
training = importlib.import_module("training")
del sys.path[: len(FOLDERS)]

ANSWERS = asked.recorded("training")["answers"]
training.batches = lambda x, y, size: [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]
ROUGH = {"mixed_precision_O2": 1e-3, "mixed_precision_O3": 1e-3}
"""Half precision rounds elsewhere: relative, a unit in the last place is 1e-3."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("name", training.PROGRAMS)
def test_training_is_mindspores(name: str) -> None:
    wanted = ANSWERS[name]
    if isinstance(wanted, dict) and "error" in wanted:
        with pytest.raises(Exception) as caught:
            training.PROGRAMS[name]()
        assert wanted["error"] in [kind.__name__ for kind in type(caught.value).__mro__], repr(caught.value)
        assert "adjoint" not in str(caught.value) and len(str(caught.value)) > 20
    else:
        got = training.plain(training.PROGRAMS[name]())
        assert asked.agree(wanted, got, ROUGH.get(name, 1e-5)), got


def test_every_answer_is_asked_for() -> None:
    assert ANSWERS.keys() == training.PROGRAMS.keys()


def test_the_names_of_training_stand_at_the_top_too() -> None:
    """They are loaded when they are used; `nn` has the metrics, `amp` what is about precision."""
    assert {name for name, home in ms.LOADED_WHEN_USED.items() if home == "adjoint.train" and name != "train"} | {
        "amp", "callback", "metrics", "load_checkpoint", "load_param_into_net", "save_checkpoint"} == set(ms.train.__all__)
    metrics = {name for name, home in ms.nn.LOADED_WHEN_USED.items() if home == "adjoint.train.metrics"}
    assert metrics == set(ms.train.metrics.__all__) and ms.nn.Accuracy is ms.train.Accuracy
    assert set(ms.amp.LOADED_WHEN_USED) == set(ms.train.amp.__all__)
    assert all(getattr(ms.amp, name) is getattr(ms.train.amp, name) for name in ms.amp.LOADED_WHEN_USED)
