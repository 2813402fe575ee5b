"""Answers calls in one interpreter, MindSpore's or ours: `python answering.py ours|theirs CALLS ANSWERS`.

CALLS is a JSON list of calls, as `catalogue` makes them; one line of JSON a call is appended to ANSWERS as soon as it is known, so that
nothing but the call itself is lost when the process crashes.  A call that takes too long is ended by its alarm, and the process with it.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import ast
import base64
import functools
import importlib
import json
import os
import signal
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from running import key_of
from variations import changed

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
"""How long a call may take."""
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "oracle"), str(ROOT)]


def space_of(side: str) -> Any:
    """Import MindSpore, or ours under its name, and return what makes the names of the calls."""
    if side == "ours":
        compat = importlib.import_module("adjoint.compat")
        compat.install()
    ms = importlib.import_module("mindspore")
    initializer = importlib.import_module("mindspore.common.initializer")
    if side != "ours":  # the calls import us by name: here that is MindSpore
        ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
        ms.runtime.launch_blocking()
        common = types.ModuleType("adjoint.common")
        common.initializer = initializer  # type: ignore[attr-defined]
        sys.modules |= {"adjoint": ms, "adjoint.common": common}
    return Asked(ms)


class Absent(Exception):
    """A name of the call is not there."""


class Asked:
    """Evaluates calls and writes down what comes of them."""

    def __init__(self, ms: Any):
        self.ms = ms
        makers = importlib.import_module("spaces").SPACES
        self.space = functools.cache(lambda of: makers[of](ms))

    def answer(self, call: dict[str, Any], twice: bool) -> dict[str, Any]:
        first = self._once(call)
        if twice and "error" not in first and self._once(call) != first:
            first["unsteady"] = True
        return first

    def _once(self, call: dict[str, Any]) -> dict[str, Any]:
        tree = ast.parse(call["text"], mode="eval").body
        space = self._space(call["of"], tree)
        self.ms.set_seed(3)
        np.random.seed(3)
        try:
            for turn, (name, how) in enumerate(call["given"].items()):
                space[name] = changed(space[name], how, turn, self.ms)
        except Exception as error:
            return {"skipped": f"{type(error).__name__}: {error}"[:200]}
        try:
            return self._asked(tree, space)
        except Absent as error:
            return {"absent": str(error)}
        except Exception as error:
            return {"error": [kind.__name__ for kind in type(error).__mro__[:-2]], "text": str(error).strip()[:300]}

    def _space(self, of: str, tree: ast.expr) -> dict[str, Any]:
        """The names of a list of calls, with the tensors that an expression names made anew: it may write them."""
        space = dict(self.space(of))
        for name, value in self._tensors(tree, space).items():
            copied = self.ms.Tensor(np.array(value.asnumpy()))
            space[name] = self.ms.Parameter(copied, name=value.name) if isinstance(value, self.ms.Parameter) else copied
        if any(isinstance(node, ast.Name) and node.id == "net" for node in ast.walk(tree)):
            space["net"] = self.ms.nn.Dense(3, 3, "ones", "zeros")
        return space

    def _asked(self, tree: ast.expr, space: dict[str, Any]) -> dict[str, Any]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                _there(node, space)
        cell, tensors = None, self._tensors(tree, space)
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Call):
            made = _evaluated(tree.func, space)
            tree = ast.Call(ast.Name("made_first", ast.Load()), tree.args, tree.keywords)
            ast.fix_missing_locations(tree)
            space["made_first"] = made
            if isinstance(made, self.ms.nn.Cell) and not isinstance(made, self.ms.nn.Optimizer):
                cell = made
                self._fill(cell)
        outer = self._tensors(tree, space)
        before = {name: self._leaf(value) for name, value in tensors.items()}
        result = _evaluated(tree, space)
        found: dict[str, Any] = {"result": self._leaves(result)}
        after = {name: self._leaf(value) for name, value in tensors.items()}
        found["written"] = {name: after[name] for name in tensors if after[name] != before[name]}
        if cell is not None:
            found["held"] = {p.name: self._leaf(p) for p in cell.get_parameters()}
        if not found["written"]:
            found["gradients"] = self._gradients(tree, space, result, outer, cell)
        return found

    def _tensors(self, tree: ast.expr, space: dict[str, Any]) -> dict[str, Any]:
        """The tensors that an expression names."""
        named = dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))
        return {name: space[name] for name in named if isinstance(space.get(name), self.ms.Tensor)}

    def _fill(self, cell: Any) -> None:
        """Give the parameters numbers that are the same in both interpreters; those of optimisers have their own."""
        if any(isinstance(inner, self.ms.nn.Optimizer) for _, inner in cell.cells_and_names()):
            return
        for parameter in cell.get_parameters():
            numbers = np.random.default_rng([5, *parameter.shape]).uniform(0.5, 1.5, parameter.shape)
            if self._floating(parameter):
                parameter.set_data(self.ms.Tensor(numbers.astype(np.float32)).astype(parameter.dtype))

    def _floating(self, value: Any) -> bool:
        return isinstance(value, self.ms.Tensor) and str(value.dtype).startswith(("Float", "BFloat", "Complex"))

    def _gradients(self, tree: ast.expr, space: dict[str, Any], result: Any, tensors: dict[str, Any], cell: Any) -> Any:
        """The gradients of each floating result by the tensors of the call and the cell's parameters, for cotangents that differ."""
        by = [name for name, value in tensors.items() if self._floating(value)]
        weights = self.ms.ParameterTuple(cell.trainable_params()) if cell is not None and cell.trainable_params() else None
        if not by:
            return []
        found: list[Any] = []
        results = self._flat(result)
        for place, leaf in enumerate(results):
            if not self._floating(leaf) or len(found) == 3:
                continue

            def of(*values: Any, place: int = place) -> Any:
                return self._flat(_evaluated(tree, {**space, **dict(zip(by, values))}))[place]

            cotangent = np.random.default_rng([11, *leaf.shape]).uniform(0.5, 1.5, leaf.shape).astype(np.float32)
            if str(leaf.dtype).startswith("Complex"):
                cotangent = cotangent + 1j * cotangent[::-1] if cotangent.ndim else cotangent * (1 + 0.5j)
            operation = self.ms.ops.GradOperation(get_all=True, get_by_list=weights is not None, sens_param=True)
            try:
                differentiated = operation(of) if weights is None else operation(of, weights)
                given = self.ms.Tensor(cotangent).astype(leaf.dtype)
                found.append(self._leaves(differentiated(*(space[name] for name in by), given)))
            except Exception as error:
                found.append([{"error": [kind.__name__ for kind in type(error).__mro__[:-2]], "text": str(error).strip()[:300]}])
        return found

    def _flat(self, value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [leaf for key in sorted(value, key=str) for leaf in self._flat(value[key])]
        if type(value).__name__ in _SPARSE:  # ours are tuples of their parts
            value = tuple(getattr(value, part) for part in _SPARSE[type(value).__name__])
        return [leaf for item in value for leaf in self._flat(item)] if isinstance(value, tuple | list) else [value]

    def _leaves(self, value: Any) -> list[Any]:
        return [self._leaf(leaf) for leaf in self._flat(value)]

    def _leaf(self, value: Any) -> Any:
        """A result as JSON: a tensor or array as dtype, shape and bytes."""
        if isinstance(value, self.ms.Tensor):
            name = str(value.dtype)
            array = (value.astype(self.ms.float32) if name == "BFloat16" else value).asnumpy()
            return {"dtype": name, "shape": list(value.shape), "bytes": _text(array), "as": array.dtype.name}
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fiubc":
            name = value.dtype.name
            return {"dtype": f"numpy {name}", "shape": list(value.shape), "bytes": _text(np.asarray(value)), "as": name}
        if isinstance(value, bool | int | str | None):
            return {"number": value, "type": type(value).__name__}
        if isinstance(value, float):
            return {"number": repr(value), "type": "float"}
        if isinstance(value, self.ms.nn.Cell):
            return {"cell": str(value)}
        written = str(value)
        return {"object": written if " at 0x" not in written and "<" not in written and len(written) < 200 else "an object"}


_SPARSE = {"COOTensor": ("indices", "values", "shape"), "CSRTensor": ("indptr", "indices", "values", "shape")}
"""The parts of sparse matrices, by the name of the class."""


def _text(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _there(node: ast.expr, space: dict[str, Any]) -> Any:
    """What a dotted name means; `Absent` if a module, or a tensor, has no such name."""
    if isinstance(node, ast.Name):
        return space.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _there(node.value, space)
    if owner is None:
        return None
    try:
        return getattr(owner, node.attr)
    except AttributeError as error:
        raise Absent(ast.unparse(node)) from error
    except NotImplementedError as error:  # a name that is here to say what is there instead
        raise Absent(ast.unparse(node)) from error


def _evaluated(node: ast.expr, space: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "call", "eval"), space)


def main(side: str, calls: str, answers: str) -> None:
    asked = json.loads(Path(calls).read_text(encoding="utf-8"))
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    found = space_of(side)
    with open(answers, "a", encoding="utf-8") as file, open(os.devnull, "w") as nowhere:
        sys.stdout = sys.stderr = nowhere
        for call in asked:
            signal.alarm(SECONDS)
            answer = found.answer(call, twice=side != "ours" and call["kind"] == "right")
            signal.alarm(0)
            file.write(json.dumps({"key": key_of(call), "answer": answer}) + "\n")
            file.flush()
    os._exit(0)  # MindSpore's threads may not end


if __name__ == "__main__":
    main(*sys.argv[1:])
