"""The table of paths against the record of MindSpore 2.10: modules, their names, and what programs import."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import adjoint as ms
from adjoint import compat, nn, ops
from adjoint.compat import out_of_scope, paths
from adjoint.compat.out_of_scope import OutOfScope

compat.install()

RECORD: dict[str, Any] = json.loads(Path(paths.__file__).with_name("names.json").read_text(encoding="utf-8"))


@functools.cache
def imported(path: str) -> ModuleType | None:
    """Return a MindSpore module as programs import it; None if it does not exist here."""
    try:
        return importlib.import_module(paths.full(path))
    except ModuleNotFoundError as missing:
        assert "adjoint has no module" in str(missing)
        return None


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """Yield each module and name of the record, with the public places that have the same object."""
    for path, row in RECORD["modules"].items():
        for homes, names in row["names"].items():
            for name in names.split():
                yield path, name, homes.split()


def test_the_record_is_of_the_version_that_programs_see() -> None:
    assert RECORD["mindspore"] == paths.VERSION == importlib.import_module("mindspore").__version__


@functools.cache
def ours_of(home: str) -> ModuleType | None:
    """Return our module of a public place; `runtime` means something else here."""
    try:
        return None if home == "runtime" else importlib.import_module("adjoint" if home == "mindspore" else f"adjoint.{home}")
    except ModuleNotFoundError:
        return None


def standing(home: str, name: str) -> list[Any]:
    """Return the object that our module of a public place has under a name."""
    ours = ours_of(home)
    if ours is None or name not in {*vars(ours), *vars(ours).get("LOADED_WHEN_USED", ())}:
        return []
    value = getattr(ours, name)
    return [] if isinstance(value, ModuleType) else [value]


def test_every_name_of_the_record_is_ours_or_out_of_scope_or_missing() -> None:
    wrong: list[str] = []
    for path, written, homes in rows():
        module, (name, _, called) = imported(path), written.partition("=")
        found = [value for home in homes for value in standing(home, called or name)]
        if module is None:
            assert not found and out_of_scope.reason(path) is None
        elif not found and not paths.is_here(path, name) and out_of_scope.reason(path, name) is None:
            continue  # missing: the messages have a test of their own
        else:
            value = getattr(module, name)
            if isinstance(value, ModuleType):
                assert value.__name__.startswith("mindspore.")
            elif isinstance(value, OutOfScope):
                assert not found
            elif found and all(value is not other for other in (*found, *standing(path, name))):
                wrong.append(f"{path}.{name}: {value!r} is none of {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", ["nn", "nn.layer", "ops", "ops.operations", "ops.functional", "common", "common.initializer", "mindspore"])
def test_a_star_gives_what_mindspore_lists_and_we_have(path: str) -> None:
    space: dict[str, Any] = {}
    exec(f"from {paths.full(path)} import *", space)
    row = paths.row_of(path)
    assert {name for name in row.names if paths.is_here(path, name)} - row.unlisted <= space.keys()
    assert not row.unlisted & space.keys()


ORACLE = Path(__file__).parents[1] / "oracle"
KINDS: dict[str, dict[str, str]] = json.loads((ORACLE / "kinds.json").read_text(encoding="utf-8"))["kinds"]

sys.path.insert(0, str(ORACLE))
kind = importlib.import_module("object_kinds").kind
del sys.path[0]


def test_every_name_is_the_same_kind_of_object() -> None:
    # A module in the place of a function of that name can be imported, and fails only where it is called.
    wrong: list[str] = []
    compared = 0
    for path, kinds in KINDS.items():
        module = imported(path)
        for expected, name in ((expected, name) for expected, names in kinds.items() for name in names.split()):
            value = getattr(module, name, None) if module is not None else None
            if value is None or isinstance(value, OutOfScope):
                continue
            compared += 1
            if kind(value) != expected:
                wrong.append(f"{path}.{name}: a {kind(value)} here, a {expected} in MindSpore")
    assert not wrong, "\n".join(wrong)
    assert compared > 5000


@pytest.mark.parametrize("path", ["common.mutable", "common.seed", "common.lazy_inline", "nn.optim.thor", "train.data_sink", "run_check"])
def test_a_module_that_shares_the_name_of_a_function_is_imported_by_its_path(path: str) -> None:
    code = (f"from adjoint import compat; compat.install()\nimport sys\nimport mindspore.{path}\n"
            f"assert type(sys.modules['mindspore.{path}']).__name__ == 'module'\n"
            "from mindspore.common.mutable import mutable\nfrom mindspore.common.seed import set_seed\n"
            "import mindspore.common.seed, mindspore.common.mutable\n"
            "assert mindspore.common.mutable is mindspore.mutable is mutable and mutable((1, 2)) == (1, 2)\n"
            "assert mindspore.common.set_seed is set_seed is mindspore.set_seed\n")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_modules_are_attributes_without_an_import() -> None:
    code = ("import mindspore\n"
            "assert mindspore.nn.layer.conv.Conv2d is mindspore.nn.Conv2d is mindspore.nn.layer.Conv2d\n"
            "assert mindspore.ops.operations.nn_ops.Conv2D is mindspore.ops.Conv2D\n"
            "assert mindspore.dtype is mindspore.common.dtype and mindspore.nn.cell.Cell is mindspore.nn.Cell\n"
            "import mindspore.common.tensor, mindspore.common.seed\n"
            "assert mindspore.common.tensor is mindspore.tensor  # the function, as in MindSpore\n")
    subprocess.run([sys.executable, "-c", f"from adjoint import compat; compat.install()\n{code}"], check=True, timeout=120)


@pytest.mark.parametrize("line", [
    "from mindspore.nn.cell import Cell",
    "from mindspore.nn.layer.activation import get_activation",
    "from mindspore.nn.layer.conv import Conv2d",
    "from mindspore.nn.layer.normalization import BatchNorm2d",
    "from mindspore.nn.loss.loss import LossBase, _Loss",
    "from mindspore.nn.optim.momentum import Momentum",
    "from mindspore.nn.optim.optimizer import Optimizer",
    "from mindspore.nn.wrap.cell_wrapper import TrainOneStepCell",
    "from mindspore.ops.composite import GradOperation, HyperMap",
    "from mindspore.ops.composite.base import MultitypeFuncGraph",
    "from mindspore.ops.function.math_func import exp",
    "from mindspore.ops.functional import relu",
    "from mindspore.ops.operations.nn_ops import MaxPool",
    "from mindspore.ops.operations import array_ops",
    "from mindspore.ops.primitive import constexpr, Primitive",
    "from mindspore.ops import auto_generate",
    "from mindspore.common.api import jit",
    "from mindspore.common.parameter import Parameter, ParameterTuple",
    "from mindspore.common import dtype as mstype, set_seed",
    "from mindspore.train.serialization import load_checkpoint, load_param_into_net",
    "from mindspore.common.api import _pynative_executor; _pynative_executor.sync()",
    "from mindspore.nn.optim.optimizer import opt_init_args_register",
    "from mindspore.ops._primitive_cache import _get_cache_prim",
    "from mindspore.parallel._utils import _get_device_num, _get_gradients_mean, _get_parallel_mode",
    "from mindspore.context import ParallelMode; ParallelMode.MODE_LIST",
    "from mindspore import log as logger; logger.warning",
    "from mindspore.runtime import launch_blocking; launch_blocking()",
    "from mindspore import STRICT, set_auto_parallel_context, set_device; set_device('CPU')",
    "import mindspore.common.dtype as mstype",
    "import mindspore.context as context",
    "import mindspore.ops.functional as F",
    "from mindspore.mindrecord import FileWriter",
    "from mindspore import export, load, vmap",
    "from mindspore.ops import Custom, CustomRegOp, DataType, pinv",
    "from mindspore.ops.operations import NPUAllocFloatStatus, NPUClearFloatStatus, NPUGetFloatStatus",
    "import mindspore.scipy as scipy",
    "from mindspore.profiler import Profiler",
    "from mindspore.common.initializer import _calculate_correct_fan, _calculate_fan_in_and_fan_out, _INITIALIZER_ALIAS, _assignment",
    "from mindspore import _checkparam as Validator; Validator.check_positive_int(3, 'size', 'Block')",
    "from mindspore._checkparam import Rel, Validator; Validator.check_int_range(3, 0, 4, Rel.INC_LEFT, 'size')",
    "from mindspore._c_expression import Cell_, GradOperation_, TensorPy, op_enum, typing",
    "from mindspore.common._stub_tensor import StubTensor; from mindspore.common._register_for_tensor import tensor_operator_registry",
    "from mindspore.ops.auto_generate.gen_ops_prim import MatMul; from mindspore.ops.auto_generate import gen_ops_prim",
    "from mindspore.ops._utils.arg_handler import str_to_enum; str_to_enum('MSELoss', 'reduction', 'mean')",
    "from mindspore.nn import GraphCell, CentralCrop, ParameterUpdate, Moments, Tril",
    "from mindspore.nn.layer.activation import _activation; _activation['relu']",
    "from mindspore.train.callback import _InternalCallbackParam, RunContext; RunContext(_InternalCallbackParam())",
    "from mindspore.train._utils import _make_directory; from mindspore.parallel._utils import _is_sharding_propagation",
    "from mindspore.version import __version__; from mindspore.log import logging",
    "from mindspore.scipy.linalg import eigh, solve_triangular; import mindspore; mindspore.scipy.linalg.cho_factor",
    "from mindspore import ms_class, ms_function, jit_class; assert ms_class is jit_class",
    "from mindspore.common.api import ms_function, _function_forbid_reuse; from mindspore.context import _get_mode; _get_mode()",
    "from mindspore.ops.operations.nn_ops import FlashAttentionScore; from mindspore.ops.auto_generate import GroupedMatmul, Scatter",
    "from mindspore.train.train_thor import ConvertModelUtils; from mindspore.nn import no_init_parameters",
    "from mindspore.ops.op_info_register import DataType, TBERegOp, op_info_register",
    "from mindspore._c_expression.amp import AmpLevel, create_amp_strategy; from mindspore.train.amp import AmpDecorator, AMP_WHITE_LIST",
    "from mindspore._c_expression import MSContext; assert MSContext.get_instance().get_ascend_soc_version() == ''",
])
def test_lines_of_programs(line: str) -> None:
    exec(line, {})


@pytest.mark.parametrize(("use", "instead"), [
    ("CustomOpBuilder(1)", "ops.Custom"),
    ("Layout((2, 2), ('a', 'b'))", "each process holds the whole network"), ("NodeType.INPUT('x')", "change the Python of the network"),
    ("__import__('types').new_class('Own', (CustomOpBuilder,))('x')", "ops.Custom"), ("PrintDataHook()", "among the operations of `map`"),
])
def test_a_name_out_of_scope_fails_where_it_is_used(use: str, instead: str) -> None:
    space: dict[str, Any] = {}
    exec("from mindspore import Layout\nfrom mindspore.ops import CustomOpBuilder\n"
         "from mindspore.dataset.debug import PrintDataHook\n"
         "from mindspore.rewrite import NodeType\ndef f(kind=NodeType.INPUT): pass", space)
    with pytest.raises(NotImplementedError, match=f"adjoint has no 'mindspore.*Instead: .*{instead}"):
        eval(use, space)
    assert not isinstance(1.0, space["Layout"]) and "not here" in repr(space["CustomOpBuilder"])


def test_the_arguments_of_an_optimizer_are_kept() -> None:
    space: dict[str, Any] = {}
    exec("from mindspore.nn.optim.optimizer import opt_init_args_register, Optimizer", space)

    class Own(space["Optimizer"]):
        @space["opt_init_args_register"]
        def __init__(self, params: Any, learning_rate: float = 0.1, momentum: float = 0.9):
            super().__init__(learning_rate, params)

    weight = ms.Parameter(ms.Tensor([1.0]), name="w")
    made = Own([weight], 0.2)
    assert made.init_params == {"params": [weight]} and made.init_learning_rate == 0.2 and made.init_args == {"momentum": 0.9}


def test_a_class_may_be_defined_on_a_name_out_of_scope() -> None:
    # `mindcv.utils` defines one on `boost.GradientAccumulation`, and whoever imports a model imports that.
    class Own(importlib.import_module("mindspore").boost.GradientAccumulation):
        def __init__(self, steps: int):
            super().__init__()

    with pytest.raises(NotImplementedError, match="GradientAccumulation"):
        Own(2)
    ops.MultitypeFuncGraph("scale").register("Tensor", "RowTensor")(lambda scale, grad: grad)


def test_a_name_out_of_scope_fails_in_a_graph_at_the_line() -> None:
    missing = importlib.import_module("mindspore.ops").CustomOpBuilder

    @ms.jit
    def f(x: Any) -> Any:
        return missing(x)

    with pytest.raises(NotImplementedError, match="CustomOpBuilder") as raised:
        f(ms.Tensor([1.0]))
    assert any("missing(x)" in note for note in getattr(raised.value, "__notes__", [str(raised.value)]))


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in paths.UNLISTED.items() for name in names.split()])
def test_a_name_beyond_the_record_can_be_imported_and_says_what_to_use_instead(path: str, name: str) -> None:
    found = getattr(importlib.import_module(paths.full(path)), name)
    with pytest.raises(NotImplementedError, match=rf"adjoint has no '.*{name}'. Instead: ."):
        found(2)


def test_what_is_out_of_scope_is_in_the_record() -> None:
    known = {name.partition("=")[0] for _, name, _ in rows()}
    assert not set(out_of_scope.PLACES) - set(RECORD["modules"])
    unlisted = {name for names in paths.UNLISTED.values() for name in names.split()}
    assert not set(out_of_scope.NAMES) - known - unlisted


def test_ways_out_lead_somewhere() -> None:
    for way in {*out_of_scope.PLACES.values(), *out_of_scope.NAMES.values()}:
        for space, name in re.findall(r"\b(ms|nn|ops|amp)\.(\w+)", way):
            assert hasattr({"ms": ms, "nn": nn, "ops": ops, "amp": ms.amp}[space], name), way


def test_the_version_of_the_package_can_be_asked_for() -> None:
    assert importlib.metadata.version("mindspore") == paths.VERSION
    assert importlib.metadata.metadata("mindspore")["Name"] == "mindspore"
    assert importlib.metadata.version("numpy") and "mindspore" in {found.name for found in importlib.metadata.distributions()}
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("mindspore_without")
