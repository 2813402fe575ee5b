"""Settings: which there are, which only pass, and what is said about those."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, context, ops
from adjoint.runtime.process import context as settings

ORACLE = Path(__file__).parents[2] / "oracle"
OPTIONS = json.loads((ORACLE / "signatures.json").read_text(encoding="utf-8"))["set_context"]


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings and warnings of a test are its own."""
    monkeypatch.setattr(settings, "_settings", dict(settings._settings))
    monkeypatch.setattr(settings, "_accepted", dict(settings._accepted))
    monkeypatch.setattr(settings, "_warned", set())


def test_modes(capsys: pytest.CaptureFixture[str]) -> None:
    assert ms.get_context("mode") == ms.PYNATIVE_MODE == context.PYNATIVE_MODE == 1
    context.set_context(mode=context.GRAPH_MODE)
    assert context.get_context("mode") == 0
    ms.set_context(mode=True)
    assert ms.get_context("mode") == 1 and type(ms.get_context("mode")) is int
    ms.set_context()
    capsys.readouterr()


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_of_mindspore_is_known(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With a meaning, or with one warning on stderr; its default can be asked for, and set again."""
    ms.set_context(**{name: ms.get_context(name) if ms.get_context(name) is not None else 1})
    said = capsys.readouterr()
    assert said.out == "" and (said.err == "" or name in said.err)


def test_a_warning_is_given_once(capsys: pytest.CaptureFixture[str]) -> None:
    ms.set_context(enable_graph_kernel=True)
    said = capsys.readouterr()
    assert "enable_graph_kernel" in said.err and said.err.count("\n") == 1 and said.out == ""
    ms.set_context(enable_graph_kernel=False)
    assert capsys.readouterr().err == "" and ms.get_context("enable_graph_kernel") is False


@pytest.mark.parametrize("device", ["GPU", "Ascend"])
def test_other_devices(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts that name one run on the CPU, after one warning."""
    ms.set_context(device_target=device)
    said = capsys.readouterr().err
    assert device in said and "CPU" in said and said.count("\n") == 1
    ms.set_context(device_target=device, device_id=1)
    assert capsys.readouterr().err == "" and ms.get_context("device_target") == device
    assert (ms.Tensor([1.0]) + 1).tolist() == [2.0]
    ms.set_context(device_target="CPU")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("wrong", "kind"), [
    ({"mode": 7}, ValueError), ({"mode": "PYNATIVE"}, TypeError), ({"mode": None}, TypeError), ({"device_target": "TPU"}, ValueError),
    ({"device_target": 3}, TypeError), ({"save_graphs": "a"}, TypeError), ({"save_graphs": 9}, ValueError),
    ({"pynative_synchronize": 1}, TypeError), ({"max_call_depth": -1}, ValueError), ({"max_call_depth": "a"}, TypeError),
    ({"num_threads": 0}, ValueError), ({"num_threads": 1.5}, TypeError), ({"num_threads": True}, TypeError),
        ({"device_id": -1}, ValueError),
    ({"hook_signature": "both"}, ValueError), ({"hook_signature": None}, TypeError), ({"deterministic": "maybe"}, ValueError),
    ({"program_cache_bytes": -1}, ValueError), ({"program_cache_bytes": "1GB"}, TypeError), ({"program_cache_bytes": True}, TypeError),
    ({"save_graphs_path": 3}, TypeError), ({"unknown": 1}, ValueError), ({"device_tarjet": "CPU"}, ValueError),
        ({"mode": 1, "nothing": 2}, ValueError),
], ids=str)
def test_wrong_settings(wrong: dict[str, Any], kind: type[Exception]) -> None:
    """The message names what is wrong, and nothing is changed."""
    before = dict(settings._settings), dict(settings._accepted)
    with pytest.raises(kind, match=list(wrong)[-1]):
        ms.set_context(**wrong)
    assert (settings._settings, settings._accepted) == before


def test_a_close_name_is_suggested() -> None:
    with pytest.raises(ValueError, match="Did you mean 'device_target'"):
        ms.set_context(device_tarjet="CPU")
    with pytest.raises(ValueError, match="Did you mean 'mode'"):
        ms.get_context("mod")


def test_asking() -> None:
    with pytest.raises(ValueError, match=r"get_context.*'unknown'"):
        ms.get_context("unknown")
    with pytest.raises(TypeError, match="get_context"):
        ms.get_context(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ms.set_context(1)  # type: ignore[call-arg]
    assert ms.get_context("num_threads") >= 1


def test_threads() -> None:
    x = ms.Tensor([[0.1] * 300] * 300)
    before = ms.get_context("num_threads")
    answers = []
    for threads in (1, 2, 3):
        ms.set_context(num_threads=threads)
        assert ms.get_context("num_threads") == threads
        answers.append(((x @ x).sum() + x.sum()).tolist())
    ms.set_context(num_threads=before)
    assert len(set(answers)) == 1


@pytest.mark.parametrize(("variables", "code", "expected"), [
    ({"ADJOINT_HOOK_SIGNATURE": "cell_id"}, "print(ms.get_context('hook_signature'))", "cell_id"),
    ({"ADJOINT_HOOK_SIGNATURE": ""}, "print(ms.get_context('hook_signature'))", "cell"),
    ({"ADJOINT_NUM_THREADS": "3"}, "print(ms.get_context('num_threads'))", "3"),
    ({"ADJOINT_HOOK_SIGNATURE": "both"}, "ms.get_context('hook_signature')", "ADJOINT_HOOK_SIGNATURE must be one of"),
    ({"ADJOINT_NUM_THREADS": "many"}, "ms.get_context('num_threads')", "ADJOINT_NUM_THREADS must be a positive number"),
    ({"ADJOINT_PROGRAM_CACHE_BYTES": "5000"}, "print(ms.get_context('program_cache_bytes'))", "5000"),
    ({"ADJOINT_PROGRAM_CACHE_BYTES": ""}, "print(ms.get_context('program_cache_bytes'))", "100000000"),
    ({"ADJOINT_PROGRAM_CACHE_BYTES": "-3"}, "ms.get_context('program_cache_bytes')", "ADJOINT_PROGRAM_CACHE_BYTES must be a number"),
])
def test_settings_of_the_environment(variables: dict[str, str], code: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", f"import adjoint as ms; {code}"], capture_output=True, text=True, cwd=root, timeout=120)
    assert expected in done.stdout + done.stderr


# -- seeds --------------------------------------------------------------------------------------------------------------
def test_seeds() -> None:
    def draws() -> list[list[float]]:
        made = Tensor(shape=(3,), dtype=ms.float32, init=ms.common.initializer.Normal())
        return [ops.standard_normal((3,)).tolist(), made.tolist()]

    ms.set_seed(5)
    first, second = draws(), draws()
    ms.set_seed(5)
    assert draws() == first != second and ms.get_seed() == 5
    ms.set_seed(6)
    assert draws() != first


@pytest.mark.parametrize(("seed", "kind"), [("a", TypeError), (1.5, TypeError), (None, TypeError), (True, TypeError), (-1, ValueError),
    (2**63, ValueError)])
def test_wrong_seeds(seed: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="set_seed"):
        ms.set_seed(seed)


def test_a_setting_by_the_name_of_the_argument() -> None:
    assert ms.get_context(attr_key="mode") == ms.PYNATIVE_MODE
    with pytest.raises(TypeError, match="attr_key"):
        ms.get_context(3)  # type: ignore[arg-type]
