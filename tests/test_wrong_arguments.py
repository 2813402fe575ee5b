"""Every argument of every public entry, given everything it is not for: an error that says so, or an answer; and the next call is right.

The entries stand in `good_calls`, each with one right call.  From it every argument in turn, those with a default too, is replaced by
each of the values below.  What comes of it is an exception of a kind that Python's programmers know, whose text is ours (it names the
entry, or the operator that the entry is made of, and is none of those that Python or NumPy write from inside), or an answer.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import io
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import good_calls
import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.common import initializer

ALLOWED = (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError, NotImplementedError, MemoryError)


class Thing:
    """Knows nothing about tensors, and cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Thing()"


def full(shape: tuple[int, ...], value: Any, dtype: Any = np.float32) -> Callable[[], Tensor]:
    return lambda: Tensor(np.full(shape, value, dtype))


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "a str": lambda: "text", "an object": Thing, "bytes": lambda: b"b", "a complex number": lambda: 1j,
    "a bool": lambda: True, "a fraction": lambda: 1.5, "NaN": lambda: float("nan"), "infinity": lambda: float("inf"),
    "negative": lambda: -7, "huge": lambda: 2**40, "beyond 64 bits": lambda: 2**70,
    "an empty list": list, "a dict": dict, "a list of None": lambda: [None], "a ragged list": lambda: [[1], [1, 2]],
    "one size": lambda: (0,), "negative sizes": lambda: (-1, -1), "huge sizes": lambda: (2**40, 2**40), "nine sizes": lambda: (1,) * 9,
    "a tuple of fractions": lambda: (1.5,), "a dtype": lambda: ms.float32, "a cell": nn.ReLU,
    "an array": lambda: np.ones((2, 3), np.float32), "an array of nine dimensions": lambda: np.ones([1] * 9),
    "an array of objects": lambda: np.array([object()]),
    "an empty tensor": full((0,), 0), "a tensor without dimensions": full((), 1), "a tensor of eight dimensions": full((1,) * 8, 1),
    "a tensor of another shape": full((7, 5), 1), "bools": full((2, 3), True, np.bool_), "huge ints": full((2, 3), 2**40, np.int64),
    "doubles": full((2, 3), 1, np.float64), "half precision": full((2, 3), 1, np.float16), "a tensor of NaN": full((2, 3), np.nan),
}

FROM_INSIDE = re.compile(
    r"object has no attribute|object is not|not supported between|unsupported operand|unpack|not enough values|too many values|"
    r"division by zero|must be real number|cannot be interpreted|can't multiply|invalid literal|could not convert|unhashable|recursion|"
    r"could not be broadcast|setting an array|has no len|list index|tuple index|truth value of an array|cannot convert|"
    r"too large to convert|"
    r"too big|not iterable|bad operand|can't convert|inhomogeneous|NoneType' |zip\(\)|ufunc|NumPy dtype|math domain|"
    r"out of bounds for \w*int"
)
"""What Python and NumPy say of things that a user knows nothing of."""

OWN_WORDS = re.compile(
    r"^For '[\w.\[\] =]+', |^The truth value of (a tensor with several elements|an empty tensor) is ambiguous|"
    r"^Expected a callable hook function|"
    r"^A gradient is taken of a function|^When 'has_aux' is True|\w+\.construct\(\) (takes|missing|got)"
)
"""How our messages begin, most of them; the others have no one entry."""

ANYTHING = {
    # Passed on as they are.
    "ops.depend", "ops.Depend()", "ops.stop_gradient", "ops.StopGradient()", "ops.Print()", "ops.print_", "nn.Identity()", "nn.Identity",
    "ops.Primitive",
    "ops.is_tensor", "ops.is_", "ops.is_not", "ops.make_list", "ops.mixed_precision_cast.x",
    "ops.partial.args", "ops.Partial()", "nn.FixedLossScaleUpdateCell()",
    # A queue's rows are taken out when they are asked for.
    "ops.unregister_queue", "ms.vjp.weights", "ops.vjp.weights",
    # Looked at with `get_by_list` alone.
    "ops.GradOperation().weights",
    # Attributes of the user's, and what is kept for scripts.
    "net.add_flags", "ops.add_flags.own", "net.set_grad", "x.init_data",
    # Read when the parameters are asked for, where anything may stand for yes or no.
    "net.get_parameters", "net.parameters_and_names", "net.cells_and_names",
}
"""Entries, or single arguments, of which no value is wrong."""
IGNORED = {
    "slice_shape", "non_blocking", "slice_index", "opt_shard_group", "layerwise_parallel", "parallel_optimizer", "storage_format", "device",
    "const_arg", "add_cast_fp32", "prim_name", "read_value", "auto_parallel_mode", "dynamic_len", "keep_prob", "bias_init", "copy",
    "use_batch_statistics", "return_grad", "jit_level", "hash_args", "input_signature", "jit_config", "get_instance",
    "slice_mode", "manual_shapes", "stage_config", "segment_config",
}
"""Arguments that MindSpore has and that mean nothing here, and those not looked at where another one says what to do."""
PROTOCOLS = {"__array__", "__format__"}
"""Methods that NumPy and Python call: what they are given is not a user's."""


@dataclass(frozen=True)
class Call:
    """One call in an expression: of a function, of a class, or of an instance."""

    text: str
    outer: bool
    """Whether the arguments are those of the object that the expression makes first."""

    @functools.cached_property
    def tree(self) -> ast.Call:
        """Return the whole expression."""
        tree = ast.parse(self.text, mode="eval").body
        assert isinstance(tree, ast.Call)
        return tree

    @functools.cached_property
    def node(self) -> ast.Call:
        if self.outer:
            return self.tree
        assert isinstance(self.tree.func, ast.Call)
        return self.tree.func

    @functools.cached_property
    def name(self) -> str:
        return re.sub(r"\(.*\)", "()", ast.unparse(self.node.func))

    def places(self) -> list[int | str]:
        """Return the arguments: those given, by position or name, and the other possible ones."""
        node, found = self.node, list[int | str]()
        found += range(len(node.args))
        given = [keyword.arg for keyword in node.keywords]
        found += [name for name in given if name]
        with contextlib.suppress(ValueError, TypeError):
            for i, parameter in enumerate(inspect.signature(evaluated(node.func, good_calls.Values())).parameters.values()):
                by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
                late = i >= len(node.args) or parameter.kind is parameter.KEYWORD_ONLY
                if by_name and late and parameter.name not in given:
                    found.append(parameter.name)
        return found

    def named(self, place: int | str) -> str:
        if isinstance(place, str):
            return place
        with contextlib.suppress(ValueError, TypeError):
            names = list(inspect.signature(evaluated(self.node.func, good_calls.Values())).parameters)
            return names[place] if place < len(names) else str(place)
        return str(place)

    def made(self, place: int | str, value: Any) -> Any:
        """Return the result with a value in one place."""
        space = good_calls.Values()
        node = self.node
        arguments = [evaluated(argument, space) for argument in node.args]
        keywords = {keyword.arg or "": evaluated(keyword.value, space) for keyword in node.keywords}
        if isinstance(place, int):
            arguments[place] = value
        else:
            keywords[place] = value
        result = evaluated(node.func, space)(*arguments, **keywords)
        if not self.outer:
            operands = {keyword.arg or "": evaluated(keyword.value, space) for keyword in self.tree.keywords}
            result = result(*[evaluated(argument, space) for argument in self.tree.args], **operands)
        return result


def evaluated(node: ast.expr, space: dict[str, Any]) -> Any:
    return eval(compiled(node), space)


@functools.cache
def compiled(node: ast.expr) -> CodeType:
    return compile(ast.Expression(node), "<call>", "eval")


def calls(text: str) -> Iterator[Call]:
    tree = ast.parse(text, mode="eval").body
    assert isinstance(tree, ast.Call)
    yield Call(text, outer=True)
    if isinstance(tree.func, ast.Call):
        yield Call(text, outer=False)


def bits(answer: Any) -> Any:
    """Return a result as something comparable."""
    match answer:
        case Tensor():
            return str(answer.dtype), answer.shape, answer.asnumpy().tobytes()
        case np.ndarray():
            return answer.tobytes()
        case tuple() | list():
            return [bits(item) for item in answer]
        case bool() | int() | float() | str() | None:
            return answer
        case _:
            return type(answer).__name__


def right(text: str) -> Any:
    space = good_calls.Values()
    ms.set_seed(1)
    return bits(eval(text, space))


def fault(error: BaseException, name: str) -> str | None:
    """Return what is wrong with an error, if anything."""
    said = str(error)
    short = name.removesuffix("()").rpartition(".")[2]
    if not isinstance(error, ALLOWED) or isinstance(error, RecursionError):
        return "is of a kind that is nobody's"
    if not said:
        return "says nothing"
    if not OWN_WORDS.search(said):
        if FROM_INSIDE.search(said):
            return "speaks of what is inside"
        if name == "nn.WithGradCell" and said.startswith("The sensitivity 'sens'"):
            return None  # its shape is known to be wrong only when the gradient is taken
        if short.replace("_", "").lower() not in said.replace("_", "").lower():
            return "does not name the entry"
    return None


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    threads = ms.get_context("num_threads")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    ms.set_context(mode=ms.PYNATIVE_MODE, num_threads=threads, deterministic="ON", save_graphs=False, save_graphs_path=".")
    ms.reset_auto_parallel_context()


@pytest.mark.parametrize("text", [text for area in good_calls.CALLS.values() for text in area])
def test_wrong_arguments(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a text may name a file that is written
    before = right(text)
    faults: list[str] = []
    for call in calls(text):
        entry = call.name
        if entry.rpartition(".")[2] in PROTOCOLS:
            continue
        for place in call.places():
            argument = call.named(place)
            # What only the function of this test is given is answered, or refused, by what it calls.
            users_own = argument in ("fn", "function", "inputs") or text.startswith(("ms.jit(", "ms.ms_function(", "ops.GradOperation()("))
            for label, make in VALUES.items():
                try:
                    answer = call.made(place, make())
                except BaseException as error:
                    if not users_own and (wrong := fault(error, entry)) is not None:
                        faults.append(f"{entry}, {argument} = {label}: {wrong}: {type(error).__name__}: {error}"[:300])
                    continue
                never = label == "an object" and argument not in IGNORED and not ANYTHING & {entry, f"{entry}.{argument}"}
                if never and not users_own:
                    faults.append(f"{entry}, {argument} = {label}: accepted: {answer!r}"[:300])
    ms.set_context(mode=ms.PYNATIVE_MODE, num_threads=2)
    assert not faults, "\n".join(faults)
    assert right(text) == before


def test_every_entry_has_a_call() -> None:
    """Every public name is in the table, except names that are no calls, and base classes."""
    texts = " ".join(text for area in good_calls.CALLS.values() for text in area)
    public = [f"ops.{name}" for name in ops.__all__] + [f"nn.{name}" for name in nn.__all__] + [f"ms.{name}" for name in ms.__all__]
    public += [f"initializer.{name}" for name in initializer.__all__ if name != "Initializer"]
    spaces = {"ops": ops, "nn": nn, "ms": ms, "initializer": initializer}
    missing = []
    for name in public:
        owner, _, attribute = name.partition(".")
        if callable(getattr(spaces[owner], attribute)) and not re.search(rf"(?<![\w.]){re.escape(name)}\(", texts):
            missing.append(name)
    assert not set(missing) - NO_CALLS, sorted(set(missing) - NO_CALLS)


NO_CALLS = {
    "ops.ReduceOp", "ops.constexpr", "ops.prim_attr_register", "ms.get_seed", "ms.CompileError", "ms.InternalError", "ms.ParallelMode",
    "ms.Type", "ms._Function", "ms._no_grad", "ms.get_current_device", "ms.launch_blocking", "ms.reset_auto_parallel_context",
    "ms.Generator", "ms.get_rng_state", "ms.initial_seed", "ms.seed", "ms.get_py_obj_dtype", "ops.ForiLoop", "ops.Scan", "ops.WhileLoop",
    "ops.DataType", "ops.custom_info_register", "ms.RowTensor",
}
"""Decorators of the user's functions and what calls them, exceptions, classes of names and of dtypes, and what takes no argument or any."""


# In a graph ---------------------------------------------------------------------------------------------------------------

WRITTEN = {
    "None": "None", "'text'": "'text'", "1.5": "1.5", "-7": "-7", "2**40": "2 ** 40", "[None]": "[None]", "{}": "{}", "1j": "1j",
    "nine sizes": "(1,) * 9", "an object": "thing", "an empty tensor": "empty", "bools": "bools", "another shape": "other",
}
"""Wrong values as a program writes them."""

PARSED = [
    text for area in ("functions", "primitives", "layers") for text in good_calls.CALLS[area][::7]
    if not re.search(r"ssign|[Pp]rint|Queue|queue|[gG]rad|jvp|vjp|Map|Hook|Insert|SGD|Ada[mMg]|Lamb|LARS|RMSProp|Momentum|Optim|Train|"
                     r"Cell\(|get_act|LossBase|Apply|[uU]nique|ops\.Segment|ops\.bincount|ListDiff|[nN]on_?[zZ]ero|asked_?[sS]elect|"
                     r"ctc_greedy|sparse_segment|SparseSlice|WithOverlaps", text)
]


def written(tree: ast.Call, place: int, value: str) -> str:
    arguments = [value if i == place else ast.unparse(argument) for i, argument in enumerate(tree.args)]
    arguments += [ast.unparse(keyword) for keyword in tree.keywords]
    return f"{'made' if isinstance(tree.func, ast.Call) else ast.unparse(tree.func)}({', '.join(arguments)})"


@pytest.mark.parametrize("text", PARSED)
def test_wrong_arguments_in_a_graph(text: str, tmp_path: Any) -> None:
    """The same error as without a graph, plus the user's line with a caret below the call."""
    tree = ast.parse(text, mode="eval").body
    assert isinstance(tree, ast.Call)
    programs = [written(tree, place, value) for place in range(len(tree.args)) for value in WRITTEN.values()]
    source = "".join(f"def program_{i}(x):\n    return {program}\n" for i, program in enumerate([*programs, written(tree, -1, "")]))
    file = tmp_path / "programs.py"
    file.write_text(source, encoding="utf-8")
    space = good_calls.values() | {
        "thing": Thing(), "empty": full((0,), 0)(), "bools": full((2, 3), True, np.bool_)(), "other": full((7, 5), 1)()}
    if isinstance(tree.func, ast.Call):
        ms.set_seed(1)
        space["made"] = evaluated(tree.func, space)
    exec(compile(source, str(file), "exec"), space)
    faults: list[str] = []
    for i, program in enumerate(programs):
        try:
            ms.jit(space[f"program_{i}"])(space["x"])
        except BaseException as error:
            shown = "\n".join([str(error), *getattr(error, "__notes__", [])])
            line, caret = re.search(r"\| ( +return .*)\n +\| ( *\^+)", shown), f"programs.py:{2 * i + 2}:"
            wrong = fault(error, Call(text, outer=True).name) if "error[" not in shown else None
            if wrong is None and not (caret in shown and line and program in line[1] and "^" in line[2]):
                wrong = "does not show the line"
            if wrong is not None:
                faults.append(f"{program}: {wrong}: {type(error).__name__}: {shown}"[:400])
    assert not faults, "\n".join(faults)
    ms.set_seed(1)
    assert bits(ms.jit(space[f"program_{len(programs)}"])(space["x"])) == right(text)
