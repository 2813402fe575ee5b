"""The table of paths: for each module of MindSpore 2.10, its names and where they are defined here.

`names.json` is recorded from MindSpore (tests/oracle/record_names.py).  For each module it lists its names with the public places of
the same object: `nn.layer.conv.Conv2d` is `nn.Conv2d`, `nn.Accuracy` is `train.Accuracy`.  MindSpore's place `nn` is `adjoint.nn`
here, if that module exists, and the name is looked up there.  A new public name needs no entry.

Paths are written without `mindspore.`; the package itself has the path `mindspore`.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from adjoint.foundation.dataclass import dataclass

__all__ = ["ABSENT", "OLDER", "VERSION", "ModuleRow", "full", "is_here", "is_theirs", "look_up", "module_paths", "names_here", "row_of",
           "way_out"]

VERSION = "2.10.0"
"""The MindSpore version that the table describes."""

ABSENT = object()
"""Returned by `look_up` for a name that does not exist here."""

OURS_TOO = frozenset({
    "_checkparam",
    "mindspore", "amp", "common", "common.dtype", "common.initializer", "common.parameter", "common.tensor", "communication", "context",
    "dataset", "dataset.text", "dataset.transforms", "dataset.vision", "mint", "mint.nn", "mint.nn.functional", "mint.optim", "nn",
    "numpy", "ops", "ops.composite", "ops.functional", "ops.operations", "parallel", "profiler", "train",
})
"""Places that also have names which our module has and MindSpore 2.10 lacks: those of its other versions, and our own."""

INNER = {"runtime"}
"""MindSpore paths that are something else here."""

ELSEWHERE = {
    "_c_expression.op_enum": "compat.op_enum", "_c_expression.typing": "compat.kinds", "_checkparam": "compat.checks",
    "communication.comm_func": "ops.comm_func", "hal": "runtime.process.streams", "utils": "common.sharing",
}
"""MindSpore paths that have another path here: collectives are operators, which are in a layer above communication; devices and their
streams are a part of the process; of the helpers, those that share memory are here."""

OLDER = {
    "graph": "common", "graph.api": "common.api", "graph.lazy_inline": "common.lazy_inline", "graph.mutable": "common.mutable",
    "graph.no_inline": "common.no_inline", "ops.functional_overload": "mint",
    "common._grad_function": "common",
    "dataset.transforms.c_transforms": "dataset.transforms", "dataset.transforms.py_transforms": "dataset.transforms",
    "dataset.vision.c_transforms": "dataset.vision", "dataset.vision.py_transforms": "dataset.vision",
}
"""Modules of earlier versions, and some that the table lacks: ours of the same path, or another name for a module."""

PRIVATE = {
    "_c_expression": {
        "Cell_": "nn.Cell", "GradOperation_": "ops.GradOperation", "Tensor": "Tensor", "TensorPy": "Tensor",
        "_random_normal": "compat.private.filled_normal", "_random_uniform": "compat.private.filled_uniform",
        "_framework_profiler_step_start": "compat.private.profiled",
        "_framework_profiler_step_end": "compat.private.profiled", "MSContext": "compat.private.DeviceContext",
    },
    "_extends": {"cell_attr_register": "compat.private.cell_attr_register"},
    "amp": {"_grad_scale_map": "compat.private.scaled", "_grad_unscale_map": "compat.private.unscaled"},
    "common.api": {
        "_function_forbid_reuse": "compat.private.as_it_is", "_no_grad": "_no_grad", "ms_function": "ms_function",
        "_pynative_executor": "compat.private.executor", "cells_compile_cache": "compat.private.compiled_cells",
    },
    "mindspore": {"Int": "compat.kinds.Int", "float": "float32", "int": "int32"},
    "common": {"float": "float32", "int": "int32"},
    "common.dtype": {name: f"compat.kinds.{name}" for name in ("Bool", "Float", "Int")} | {
        "float": "float32", "int": "int32", "number_type": "compat.kinds.number_type",
    },
    "common._register_for_tensor": {"tensor_operator_registry": "compat.private.tensor_operator_registry"},
    "common.seed": {"_get_graph_seed": "compat.private.graph_seed"},
    "common._stub_tensor": {"StubTensor": "compat.private.StubTensor"},
    "common.initializer": {
        "_INITIALIZER_ALIAS": "runtime.tensor.initializer.INITIALIZERS", "_assignment": "compat.private.assigned",
        "_calculate_correct_fan": "compat.private.correct_fan", "_calculate_fan_in_and_fan_out": "compat.private.fan_in_and_fan_out",
        "_calculate_gain": "compat.private.gain", "_register": "compat.private.initializer_names",
        "_init_random_normal": "compat.private.normal_numbers", "_init_random_uniform": "compat.private.uniform_numbers",
    },
    "communication._comm_helper": {"_is_initialized": "communication.management.is_initialized"},
    "context": {"_get_mode": "compat.private.mode_of_context"},
    "dataset": {"DictIterator": "dataset.iterators.DictIterator", "TupleIterator": "dataset.iterators.TupleIterator"},
    "dataset.engine": {"Dataset": "dataset.Dataset"},
    "dataset.engine.datasets": {
        name: f"dataset.{name}" for name in (
            "BatchDataset", "ConcatDataset", "Dataset", "FilterDataset", "MapDataset", "MappableDataset", "ProjectDataset", "RenameDataset",
            "RepeatDataset", "ShuffleDataset", "SkipDataset", "TakeDataset", "ZipDataset")
    } | {"_set_training_dataset": "compat.private.training_dataset"},
    "dataset.engine.iterators": {"DictIterator": "dataset.iterators.DictIterator", "TupleIterator": "dataset.iterators.TupleIterator"},
    "dataset.transforms.transforms": {
        name: f"compat.transform_bases.{name}" for name in ("PyTensorOperation", "TensorOperation")
    },
    "dataset.transforms.py_transforms_util": {"Implementation": "compat.transform_bases.Implementation"},
    "dataset.text.transforms": {
        name: f"compat.transform_bases.{name}" for name in ("Implementation", "TensorOperation", "TextTensorOperation")
    },
    "dataset.audio.transforms": {
        name: f"compat.transform_bases.{name}" for name in ("AudioTensorOperation", "Implementation", "TensorOperation")
    },
    "dataset.vision.transforms": {
        name: f"compat.transform_bases.{name}" for name in (
            "ImageTensorOperation", "Implementation", "PyTensorOperation", "TensorOperation", "VideoTensorOperation")
    },
    "dataset.vision.py_transforms_util": {
        "augment_error_message": "compat.private.NO_PICTURE", "hwc_to_chw": "compat.private.channels_first",
        "is_numpy": "compat.private.is_array", "is_pil": "compat.private.is_picture",
    },
    "log": {"_LogActionOnce": "compat.private.WarnedOnce", "logging": "log.logging"},
    "nn": {"no_init_parameters": "compat.private.no_init_parameters"},
    "nn.layer.activation": {"_activation": "nn.activation._ACTIVATIONS"},
    "nn.layer.rnn_cells": {
        "RNNCellBase": "nn.recurrent.RNNCellBase", "_gru_cell": "compat.private.gru_step", "_lstm_cell": "compat.private.lstm_step",
        "_rnn_relu_cell": "compat.private.relu_step", "_rnn_tanh_cell": "compat.private.tanh_step",
    },
    "nn.loss.loss": {"_Loss": "nn.LossBase"},
    "nn.optim.optimizer": {"opt_init_args_register": "compat.private.opt_init_args_register"},
    "nn.probability.distribution.distribution": {"Distribution": "nn.probability.distribution.Distribution"},
    "nn.utils": {"no_init_parameters": "compat.private.no_init_parameters"},
    "nn.utils.init": {"no_init_parameters": "compat.private.no_init_parameters"},
    "nn.wrap.cell_wrapper": {"_VirtualDatasetCell": "compat.private.VirtualDatasetCell"},
    "nn.wrap.loss_scale": dict.fromkeys(("grad_scale", "shard_grad_scale"), "compat.private.unscaled"),
    "numpy.utils": {"_to_tensor": "compat.private.tensors_of"},
    "numpy.utils_const": {"_raise_value_error": "compat.private.value_error"},
    "ops.function.nn_func": {
        "_check_attn_mask_shape": "compat.attention_parts.check_attention_mask",
        "_check_kpm_shape": "compat.attention_parts.check_padding_mask", "_check_qkv_shape": "compat.attention_parts.is_batched",
        "_get_cache_prim": "compat.private.cached_primitive", "_in_projection": "compat.attention_parts.projected",
        "_in_projection_packed": "compat.attention_parts.projected_together", "_inner_dropout": "compat.attention_parts.dropped",
        "_inner_pad": "compat.attention_parts.padded", "_innner_log_softmax": "compat.private.log_softmax",
        "linear": "ops.dense", "_interploate_ext_make_tuple": "compat.private.size_for_each_axis",
        "_interpolate_ext_scale_factor_convert_size": "compat.private.scaled_size",
    },
    "ops._primitive_cache": {"_get_cache_prim": "compat.private.cached_primitive"},
    "ops._utils.arg_handler": {"str_to_enum": "compat.op_enum.str_to_enum"},
    "ops.auto_generate": {
        name: f"compat.mint_primitives.{name}" for name in (
            "AddExt", "BatchMatMulExt", "CumsumExt", "FmodScalar", "IndexSelect", "MatMulExt", "MeanExt", "Outer", "Scatter", "SiLU",
            "SortExt", "SplitTensor", "SplitWithSize", "StackExt", "SubExt", "SumExt", "Swiglu", "TopkExt", "ZerosLikeExt")
    },
    "ops.primitive": {"_primexpr": "compat.private.as_it_is"},
    "ops.operations._inner_ops": {"SiLU": "compat.mint_primitives.SiLU"},
    "parallel._auto_parallel_context": {"auto_parallel_context": "compat.private.auto_parallel_context"},
    "parallel._cost_model_context": {
        f"{action}_cost_model_context": f"runtime.process.stored_settings.{action}_cost_model_context" for action in ("get", "reset", "set")
    } | {"_set_multi_subgraphs": "runtime.process.stored_settings.set_multi_subgraphs"},
    "parallel._utils": {
        "_get_device_num": "compat.private.device_num", "_get_global_rank": "compat.private.global_rank",
        "_get_gradients_mean": "compat.private.gradients_mean", "_get_parallel_mode": "compat.private.parallel_mode",
        "_get_parameter_broadcast": "compat.private.parameter_broadcast", "_get_full_batch": "compat.private.full_batch",
        "_get_pipeline_stages": "compat.private.pipeline_stages", "_is_parallel_mode": "compat.private.is_parallel",
        "_is_in_auto_parallel_mode": "compat.private.is_searched", "_is_sharding_propagation": "compat.private.is_sharding_propagation",
        "_get_enable_parallel_optimizer": "compat.private.enable_parallel_optimizer",
        "_device_number_check": "compat.private.require_devices",
    },
    "train._utils": {"_make_directory": "compat.private.made_folder"},
    "train.callback": {
        "_CallbackManager": "train.callback.callback.CallbackList", "_InternalCallbackParam": "train.callback.callback.CallbackParameters",
        "_set_cur_net": "compat.private.current_network",
    },
    "train.callback._callback": {
        "CallbackManager": "train.callback.callback.CallbackList", "InternalCallbackParam": "train.callback.callback.CallbackParameters",
        "_handle_loss": "train.callback.callback.loss_of", "set_cur_net": "compat.private.current_network",
    },
    "train.model": {"_StepSync": "compat.private.StepSync", "_transfer_tensor_to_tuple": "compat.private.tuple_of_tensor"},
    "train.amp": {
        "AMP_BLACK_LIST": "compat.mixed_precision.BLACK_CELLS", "AMP_WHITE_LIST": "compat.mixed_precision.WHITE_CELLS",
        "_OutputTo32": "compat.mixed_precision.InFloat32", "_auto_black_list": "compat.mixed_precision.halved",
    },
    "train.serialization": {
        "_load_dismatch_prefix_params": "compat.private.updated_by_suffix", "_update_param": "compat.private.updated_parameter",
    },
    "version": {"__version__": "compat.paths.VERSION"},
}
"""Private names that programs import, with the public names that replace them."""

UNLISTED = {
    "_c_expression": "swap_cache",
    "common.api": "flops_collection",
    "dataset": "SourceDataset VisionBaseDataset",
    "nn.wrap.cell_wrapper": "_MicroBatch",
    "nn.wrap.loss_scale": "_grad_overflow",
    "ops._grad_experimental": "",
    "ops._grad_experimental.grad_comm_ops": "get_squared_device_local_norm_param",
    "parallel._cost_model_context": "_set_rp_matmul_mem_coef",
    "train._utils": "get_parameter_redundancy remove_param_redundancy",
    "_c_expression.amp": "AmpLevel create_amp_strategy",
    "ops.auto_generate": "AdamW DynamicQuantExt FusedAddTopKDiv GroupedMatmul GroupedMatmulV4 InplaceCopy KVCacheScatterUpdate "
                         "MoeComputeExpertTokens MoeDistributeCombine MoeDistributeDispatch MoeFinalizeRouting MoeGatingTopKSoftmax "
                         "MoeInitRouting MoeInitRoutingV2 MoeTokenPermute MoeTokenUnpermute OneHotExt QuantBatchMatmul "
                         "WeightQuantBatchMatmul",
    "ops.operations._infer_ops": "QuantV2",
    "ops.operations._sequence_ops": "TensorToScalar",
    "ops.operations.nn_ops": "FlashAttentionScore PromptFlashAttention",
    "ops.op_info_register": "DataType TBERegOp op_info_register",
    "train.callback._checkpoint": "CheckpointManager",
    "train.amp": "AmpDecorator _add_loss_network _auto_mixed_precision_rewrite _config_level _do_keep_batchnorm_fp32",
    "train.serialization": "_get_merged_param_data",
    "train.summary.summary_record": "_get_summary_tensor_data",
    "train.train_thor": "ConvertModelUtils ConvertNetUtils",
}
"""Names that the record lacks, since only MindSpore's own code imports most of their kind, and that are not here: `out_of_scope` says what
to do instead where programs use one that they import."""


@dataclass(frozen=True)
class ModuleRow:
    """One module of MindSpore's.

    path      without `mindspore.`
    names     for each name the places and names to look it up at; the first one that exists here is used
    unlisted  the names that `import *` does not import
    modules   names that mean another module, by its path
    """

    path: str
    names: dict[str, tuple[tuple[str, str], ...]]
    unlisted: frozenset[str]
    modules: dict[str, str]


@functools.cache
def _table() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))["modules"]


def module_paths() -> Iterator[str]:
    """The paths of all modules of MindSpore's."""
    return iter(_table())


def is_theirs(path: str) -> bool:
    """Return whether any version of MindSpore has the module, this one or an earlier one."""
    return path in _table() or path in OLDER or path in PRIVATE or path in UNLISTED


@functools.cache
def row_of(path: str) -> ModuleRow:
    """Return the row of a module; raise KeyError if there is none."""
    if path in OLDER:
        base = row_of(OLDER[path])
        return ModuleRow(path, {name: ((path, name), *at) for name, at in base.names.items()}, base.unlisted, base.modules)
    row: dict[str, Any] = _table().get(path) or ({"names": {}} if path in PRIVATE or path in UNLISTED else _table()[path])
    names: dict[str, tuple[tuple[str, str], ...]] = {}
    for homes, listed in row["names"].items():
        for written in listed.split():
            name, _, called = written.partition("=")
            others = tuple((home, called or name) for home in homes.split())
            own = ((path, name),)
            names[name] = own + others if path in OURS_TOO else others + own
    for name in UNLISTED.get(path, "").split():
        names.setdefault(name, ((path, name),))
    for name, public in PRIVATE.get(path, {}).items():
        home, _, called = public.rpartition(".")
        names[name] = ((home or "mindspore", called),)
    return ModuleRow(path, names, frozenset(row.get("unlisted", "").split()), row.get("modules", {}))


def look_up(path: str, name: str) -> Any:
    """Return the object that `name` denotes in a MindSpore module, or ABSENT."""
    found = _found(path, name)
    return ABSENT if found is None else getattr(*found)


def is_here(path: str, name: str) -> bool:
    """Return whether a name of a MindSpore module exists here, without loading it."""
    return _found(path, name) is not None


def names_here(path: str) -> list[str]:
    """Return the names of a module that exist here, in order."""
    return sorted(name for name in {*row_of(path).names, *_beyond(path)} if is_here(path, name))


def _found(path: str, name: str) -> tuple[ModuleType, str] | None:
    """Return our module that defines the name, and its name there."""
    at = row_of(path).names.get(name)
    if at is None:
        at = ((path, name),) if name in _beyond(path) else ()
    for home, called in at:
        module = _ours(home)
        if module is not None and (_is_lazy(module, called) or not _is_module_of_ours(vars(module).get(called, module))):
            return module, called
    return None


def _is_lazy(module: ModuleType, name: str) -> bool:
    """Return whether a module of ours loads a name at first use, and it is not a module that MindSpore has as well."""
    home = _lazy(module).get(name)
    if home is None or home != f"{module.__name__}.{name}":
        return home is not None
    path = home.removeprefix("adjoint.")
    return not (is_theirs(path) or path in row_of("mindspore").modules)


def _is_module_of_ours(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "adjoint"


def _lazy(module: ModuleType) -> dict[str, str]:
    """Return the names that a module of ours loads at first use."""
    return vars(module).get("LOADED_WHEN_USED", {})


def way_out(path: str, name: str) -> str | None:
    """Return what to write instead of a missing name, or None if nothing is known."""
    for home, called in (*row_of(path).names.get(name, ()), (path, name), ("mindspore", name)):
        module = _ours(home)
        if module is not None and called in (instead := vars(module).get("INSTEAD", {})):
            return instead[called]
    return None


def full(path: str) -> str:
    """Return the name of a module as programs write it."""
    return path if path == "mindspore" else f"mindspore.{path}"


def _beyond(path: str) -> set[str]:
    module = _ours(path) if path in OURS_TOO else None
    return set() if module is None else {*module.__all__, *_lazy(module)}


@functools.cache
def _ours(path: str) -> ModuleType | None:
    """Return our module of the same path, or None."""
    if path in INNER:
        return None
    name = "adjoint" if path == "mindspore" else f"adjoint.{ELSEWHERE.get(path, path)}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not (name == missing.name or name.startswith(f"{missing.name}.")):
            raise
        return None
