"""Which makers of tensors from tensors let gradients through, in both of MindSpore's modes: the programs of `copying.py`."""

# pyright: reportMissingImports=false

import tempfile
from pathlib import Path
from typing import Any

import mindspore as ms
from copying import FORMS, MAKERS, gradient, program


def answer(maker: str, form: str) -> Any:
    """The gradient, or the type of the exception."""
    try:
        return gradient(program(maker, Path(tempfile.gettempdir())), form)
    except Exception as problem:
        return type(problem).__name__


def record() -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for mode, name in ((ms.PYNATIVE_MODE, "pynative"), (ms.GRAPH_MODE, "graph")):
        ms.set_context(mode=mode)
        for maker in MAKERS:
            found.setdefault(maker, {})[name] = {form: answer(maker, form) for form in FORMS}
    ms.set_context(mode=ms.PYNATIVE_MODE)
    return {"answers": found}
