"""`set_auto_parallel_context` and its readers, as in MindSpore 2.10."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import adjoint as ms
from adjoint import compat
from adjoint.context import ParallelMode

compat.install()


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    yield
    ms.reset_auto_parallel_context()


def test_settings_have_mindspores_defaults_and_are_reset() -> None:
    names = ("device_num", "global_rank", "gradients_mean", "parallel_mode", "parameter_broadcast", "dataset_strategy", "pipeline_stages")
    before = [ms.get_auto_parallel_context(name) for name in names]
    assert before == [1, 0, False, "stand_alone", False, "data_parallel", 1]
    ms.set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=2)
    assert ms.get_auto_parallel_context("parallel_mode") == "data_parallel" and ms.get_auto_parallel_context("gradients_mean") is True
    ms.reset_auto_parallel_context()
    assert [ms.get_auto_parallel_context(name) for name in names] == before
    ms.get_auto_parallel_context("comm_fusion")["openstate"] = False
    assert ms.get_auto_parallel_context("comm_fusion")["openstate"] is True


@pytest.mark.parametrize(("settings", "kind", "text"), [
    ({"gradient_mean": True}, ValueError, "keyword gradient_mean is not recognized! Did you mean 'gradients_mean'?"),
    ({"parallel_mode": "data"}, ValueError, "must be one of"),
    ({"parallel_mode": 3}, TypeError, "must be of type str, but got 3"),
    ({"device_num": 0}, ValueError, "must be a positive integer"),
    ({"device_num": True}, TypeError, "must be of type int"),
    ({"global_rank": -1}, ValueError, "must be in"),
    ({"gradients_mean": 1}, TypeError, "must be of type bool"),
])
def test_a_wrong_setting_changes_nothing(settings: dict[str, object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        ms.set_auto_parallel_context(**({"global_rank": 1} | settings))
    assert ms.get_auto_parallel_context("global_rank") == 0


def test_private_names_read_the_same_settings() -> None:
    from mindspore.parallel._auto_parallel_context import auto_parallel_context  # pyright: ignore[reportMissingImports] - by compat
    from mindspore.parallel._utils import (  # pyright: ignore[reportMissingImports] - by compat
        _get_device_num,
        _get_gradients_mean,
        _get_parallel_mode,
        _is_parallel_mode,
    )

    context = auto_parallel_context()
    assert (_get_device_num(), _get_gradients_mean(), _is_parallel_mode(), context.get_device_num_is_set()) == (1, False, False, False)
    context.set_device_num(2)
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    assert (_get_device_num(), _get_gradients_mean(), _is_parallel_mode(), context.get_device_num_is_set()) == (2, True, True, True)
    assert _get_parallel_mode() == context.get_parallel_mode() == "data_parallel"
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        _ = context.nothing
