"""The options of `jit`, `JitConfig` and `jit_class`: what MindSpore 2.10 accepts and rejects, with its exceptions."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn
from adjoint.runtime.graphs import options


def plus(x):
    return x + 1


def x() -> Tensor:
    return Tensor(np.ones(3, np.float32))


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    monkeypatch.setattr(options, "_warned", set())


def test_the_signature_is_that_of_mindspore():
    parameters = inspect.signature(ms.jit).parameters
    assert [(name, p.default) for name, p in parameters.items()] == [
        ("function", None), ("capture_mode", "ast"), ("jit_level", "O0"), ("dynamic", 0), ("fullgraph", False), ("backend", ""),
        ("options", inspect.Parameter.empty)]
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters.values())[1:-1])


@pytest.mark.parametrize("options", [
    {}, {"capture_mode": "ast"}, {"jit_level": "O1"}, {"dynamic": 1}, {"fullgraph": True}, {"backend": "ms_backend"}, {"backend": "GE"},
    {"exec_order": "dfs"}, {"infer_boost": "on"}, {"exc_mode": "sink"}, {"disable_format_transform": True}, {"auto_offload": "weight"},
    {"mode": "PSJit"}, {"input_signature": None}, {"hash_args": None}, {"compile_once": False},
    {"jit_config": ms.JitConfig(jit_level="O1")},
])
def test_options_that_are_accepted(options, capsys):
    for made in (ms.jit(plus, **options), ms.jit(**options)(plus)):
        assert (made(x()).asnumpy() == 2).all()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("options", "text"), [
    ({"capture_mode": "bytecode"}, "the source is parsed"), ({"capture_mode": "trace"}, "the source is parsed"),
    ({"backend": "other"}, "compiled from C"), ({"mode": "PIJit"}, "no effect"), ({"compile_once": True}, "no effect"),
    ({"exec_ordr": "bfs"}, "did you mean 'exec_order'?"), ({"zzz": 1}, "there is no such option"),
])
def test_options_that_mean_nothing_are_told_once(options, text, capsys):
    for _ in range(2):
        assert (ms.jit(plus, **options)(x()).asnumpy() == 2).all()
    err = capsys.readouterr().err
    assert err.count("adjoint: jit(") == 1 and text in err


@pytest.mark.parametrize(("options", "kind", "text"), [
    ({"capture_mode": "x"}, ValueError, r"'capture_mode' must be str and must be in '\['ast', 'bytecode', 'trace'\]', but got 'x'"),
    ({"capture_mode": 3}, ValueError, "'capture_mode'"),
    ({"jit_level": "O2"}, ValueError, r"'jit_level' must be str and must be in '\['O0', 'O1'\]', but got 'O2'"),
    ({"jit_level": ""}, ValueError, "'jit_level'"), ({"jit_level": 1}, ValueError, "'jit_level'"),
    ({"dynamic": 2}, ValueError, r"'dynamic' must be in range of \[0, 1\], but got 2"),
    ({"dynamic": True}, TypeError, "'dynamic' must be 'int', but got 'bool'"), ({"dynamic": "a"}, TypeError, "but got 'str'"),
    ({"fullgraph": 1}, TypeError, "'fullgraph' must be a bool, but got int"),
    ({"exec_order": "x"}, ValueError, r"one of \['bfs', 'dfs'\], but got 'x'"), ({"infer_boost": "x"}, ValueError, "'on', 'off'"),
    ({"exc_mode": "q"}, ValueError, "'no_sink'"), ({"auto_offload": "x"}, ValueError, "'activation'"),
    ({"disable_format_transform": 3}, TypeError, "must be bool"),
])
def test_options_that_are_refused(options, kind, text):
    for use in (lambda: ms.jit(plus, **options), lambda: ms.jit(**options)):
        with pytest.raises(kind, match=text):
            use()


@pytest.mark.parametrize("what", [3, "PSJit", nn.Cell])
def test_what_is_no_function(what):
    with pytest.raises(TypeError, match="must be a function"):
        ms.jit(what)


def test_positional_options():
    with pytest.raises(TypeError, match="positional"):
        ms.jit(plus, "ast")  # type: ignore[misc]


def test_ms_function():
    assert (ms.ms_function(plus)(x()).asnumpy() == 2).all()

    @ms.ms_function(jit_config=ms.JitConfig(jit_level="O1"))
    def twice(x):
        return x * 2

    assert (twice(x()).asnumpy() == 2).all()


def test_jit_config():
    made = ms.JitConfig(jit_level="O1", foo=2)
    assert made.jit_config_dict == {
        "foo": 2, "jit_level": "O1", "exc_mode": "auto", "jit_syntax_level": "", "debug_level": "RELEASE", "infer_boost": "off",
        "backend": "ms_backend"}
    assert "backend" not in ms.JitConfig().jit_config_dict
    net = nn.ReLU()
    net.set_jit_config(made)
    assert net(x()).shape == (3,)
    for wrong in ({"jit_level": "O3"}, {"jit_level": 0}, {"exc_mode": "x"}, {"jit_syntax_level": "x"}, {"debug_level": "x"},
                    {"infer_boost": "x"}):
        with pytest.raises(ValueError, match=f"the argument '{next(iter(wrong))}' must be one of"):
            ms.JitConfig(**wrong)  # type: ignore[arg-type]


def test_jit_class():
    @ms.jit_class
    class Scale:
        def __init__(self):
            self.factor = 3.0

        def scaled(self, x):
            return x * self.factor if x.sum() > 0 else x

    scale = Scale()

    @ms.jit
    def use(x):
        return scale.scaled(x)

    assert (use(x()).asnumpy() == 3).all()
    with pytest.raises(TypeError, match="only be used for class type"):
        ms.jit_class(plus)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"cannot be used for nn\.Cell"):
        ms.jit_class(nn.ReLU)
