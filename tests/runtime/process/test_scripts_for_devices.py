"""What MindSpore's scripts set and ask for devices, servers and strategies: answered for one CPU."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor


def test_streams_and_events_of_a_cpu() -> None:
    stream, start = ms.Stream(), ms.Event(enable_timing=True)
    start.record()
    with ms.StreamCtx(stream) as entered:
        assert ms.current_stream() is stream is entered.stream and stream.query()
        end = stream.record_event()
    assert ms.current_stream() is ms.default_stream() and start.elapsed_time(end) >= 0 and end.query()
    with ms.StreamLimitCtx(stream, 8, 8):
        stream.wait_event(end)
        stream.wait_stream(ms.default_stream())
    ms.synchronize()
    assert ms.memory_allocated() == ms.max_memory_reserved() == ms.memory_stats()["total_reserved_memory"] == 0
    assert ms.get_device_limit(0) == ms.get_stream_limit(stream)


def test_settings_without_effect_are_stored() -> None:
    """A script that reads a setting back gets what it has set; a misspelt one is an error."""
    for name, key, value in (("ps_context", "enable_ps", True), ("algo_parameters", "tensor_slice_align_size", 32)):
        get, default = getattr(ms, f"get_{name}"), getattr(ms, f"get_{name}")(key)
        getattr(ms, f"set_{name}")(**{key: value})
        assert get(key) == value != default
        getattr(ms, f"reset_{name}")()
        assert get(key) == default
    ms.set_ps_context(client_password="")
    ms.set_deterministic(True)
    ms.set_recursion_limit(10)


@pytest.mark.parametrize("call, kind, text", [
    (lambda: ms.set_ps_context(enable_pss=True), ValueError, "keyword enable_pss is not recognized"),
    (lambda: ms.set_ps_context(enable_ps=1), TypeError, "'enable_ps' must be of type bool, but got 1"),
    (lambda: ms.get_ps_context("client_password"), ValueError, "keyword client_password"),
    (lambda: ms.set_algo_parameters(algo_approxi_epsilon=2.0), ValueError, "at most 1, but got 2.0"),
    (lambda: ms.set_algo_parameters(tensor_slice_align_size=0), ValueError, "from 1 to 1024, but got 0"),
    (lambda: ms.set_algo_parameters(tensor_slice_align_size="a"), TypeError, "type int"),
    (lambda: ms.set_deterministic(1), TypeError, "a bool"),
    (lambda: ms.set_recursion_limit(0), ValueError, "above 0"),
    (lambda: ms.set_stream_limit(3), TypeError, "'stream' must be a Stream, but got 3"),
    (lambda: ms.StreamCtx(3), TypeError, "'stream' must be a Stream"),
    (lambda: ms.get_device_limit("a"), TypeError, "'device' must be an int"),
    (lambda: ms.set_kernel_launch_group(0, 8), ValueError, "'thread_num' must be above 0"),
    (lambda: ms.set_kernel_launch_capture(3), TypeError, "a bool"),
    (lambda: ms.Event().elapsed_time(ms.Event()), RuntimeError, "enable_timing=True"),
])
def test_mistakes_are_named(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_marks_on_functions_and_cells(capsys: pytest.CaptureFixture[str]) -> None:
    """`no_inline`, `lazy_inline` and `recompute` change no number, in eager mode and in graphs."""

    class Scaled(ms.nn.Cell):
        @ms.lazy_inline
        def __init__(self) -> None:
            super().__init__()
            self.dense = ms.nn.Dense(2, 2, "ones")

        def construct(self, x: Tensor) -> Tensor:
            return ms.recompute(self.dense, x) + ms.recompute(choose, x, use_reentrant=False)

    net, x = Scaled(), Tensor([[1.0, 2.0]])
    expected = (net.dense(x) + x * 2).tolist()
    assert net(x).tolist() == ms.jit(net)(x).tolist() == expected
    assert ms.jit(net)(-x).tolist() == (net.dense(-x) - x * 3).tolist()
    assert ms.grad(net)(x).tolist() == ms.grad(ms.jit(net))(x).tolist() == [[4.0, 4.0]]
    with pytest.raises(TypeError, match="'block' must be a Cell, but got"):
        ms.recompute(choose, x)
    with pytest.raises(ValueError, match="use_reentrant=False"):
        ms.recompute(net, x, context_fn=print)
    with pytest.raises(ValueError, match="must be the '__init__' of a Cell"):
        ms.lazy_inline(choose)
    ms.run_check()
    assert "multiplication calculation is correct" in capsys.readouterr().out


@ms.no_inline
def choose(x: Tensor) -> Tensor:
    return x * 2 if x.sum() > 0 else x * 3
