"""MindSpore names that programs import but seldom use: they can be imported, and raise at the first use an error that names the way out."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["OutOfScope", "reason"]

_DEVICES = "adjoint computes on the CPU: leave out what is for other devices"
_CUSTOM = "an operator of your own is `ops.Custom` with NumPy or C, or `adjoint.operator` as docs/adding-an-op.md says"
_RECORDS = "read the files with Python and give the arrays to `dataset.GeneratorDataset` or `dataset.NumpySlicesDataset`"
_SCIPY = "SciPy's own functions, on `x.asnumpy()`"
_SPARSE = "dense tensors; `ops.gather` reads by indices"
_FILES = "`save_checkpoint` and `load_checkpoint` for parameters, `adjoint dump-ir FILE.py:NAME --stage c --standalone` for C"
_BAYESIAN = "a layer with a Parameter for each number of a `distribution.Normal`, whose `sample` gives the weights"
_OPERATOR = "compose it of operators that are here, or compute it with NumPy on `x.asnumpy()` where no gradient is needed"
_SHARDING = "each process holds the whole network: data parallelism is what is here"

PLACES = {
    "boost": _SHARDING, "device_context": _DEVICES, "device_manager": _DEVICES, "nn.probability.bnn_layers": _BAYESIAN, "hal": _DEVICES,
    "multiprocessing": "Python's own `multiprocessing`", "onnx": _FILES, "parallel": _SHARDING,
    "rewrite": "change the Python of the network", "runtime": _DEVICES, "safeguard": _FILES, "scipy": _SCIPY,
    "ops.function.sparse_func": _SPARSE, "ops.function.sparse_unary_func": _SPARSE,
    "ops.operations.sparse_ops": _SPARSE, "ops.operations.custom_ops": _CUSTOM,
    "dataset.audio": "a library for sound, in the function of a `dataset.GeneratorDataset`",
    "dataset.debug": "a function that prints, among the operations of `map`",
    "ops": _OPERATOR,
}
"""What to do instead, for packages and modules with everything below them, by path."""

NAMES = {
    **dict.fromkeys(("CustomOpBuilder", "TBERegOp", "AiCPURegOp", "AkgGpuRegOp", "AkgAscendRegOp",
                     "CpuRegOp", "op_info_register"), _CUSTOM),
    **dict.fromkeys(("TFRecordDataset", "OBSMindDataset"), _RECORDS),
    **dict.fromkeys(("load", "load_mindir", "save_mindir", "export_split_mindir", "obfuscate_ckpt",
                     "load_obf_params_into_net"), _FILES),
    **dict.fromkeys(("SymbolTree", "Node", "NodeType", "ScopedValue", "ValueType"), PLACES["rewrite"]),
    **dict.fromkeys(("MemPool", "PluggableAllocator", "use_mem_pool", "memory_replay"), _DEVICES),
    **dict.fromkeys(("Layout", "shard", "parameter_broadcast", "build_searched_strategy", "load_distributed_checkpoint",
                     "merge_pipeline_strategys", "merge_sliced_parameter", "rank_list_for_transform", "sync_pipeline_shared_parameters",
                     "transform_checkpoint_by_rank", "transform_checkpoints"), _SHARDING),
    **dict.fromkeys(("CudnnGRU", "GRUV2", "LSTMV2"), "`nn.GRU` and `nn.LSTM`"),
    "GraphCell": _FILES,
    **dict.fromkeys(("FlashAttentionScore", "PromptFlashAttention"),
                    "`ops.softmax` of the scores and `ops.bmm`, or `nn.MultiheadAttention`"),
    **dict.fromkeys(("AmpDecorator", "AmpLevel", "create_amp_strategy"), "`amp.auto_mixed_precision` with a level from O0 to O3"),
    "CheckpointManager": "`ModelCheckpoint`, which keeps as many files as `CheckpointConfig` says",
    "DataType": _CUSTOM,
    "_get_summary_tensor_data": "a forward hook: it gets the results of a cell",
    **dict.fromkeys(("_add_loss_network", "_config_level", "_do_keep_batchnorm_fp32"), "`amp.build_train_network`, which does all of it"),
    "_grad_overflow": "`amp.all_finite`",
    "_auto_mixed_precision_rewrite": "`amp.custom_mixed_precision` with a list of classes",
    **dict.fromkeys(("_MicroBatch", "_get_merged_param_data", "_set_rp_matmul_mem_coef", "get_ckpt_path_with_strategy",
                     "get_parameter_redundancy", "get_squared_device_local_norm_param", "remove_param_redundancy"), _SHARDING),
    **dict.fromkeys(("SourceDataset", "VisionBaseDataset"), "`dataset.Dataset`, the class of all data"),
    "flops_collection": "`TimeMonitor`, and `adjoint dump-ir` for the operators",
    "swap_cache": _DEVICES,
    **dict.fromkeys(("ConvertModelUtils", "ConvertNetUtils", "thor"), "an optimizer of `nn`: MindSpore's `thor` is not here"),
}
"""What to do instead, for single names wherever they are defined."""


def reason(path: str, name: str = "") -> str | None:
    """Return what to do instead of a MindSpore name or module; None if it is in scope."""
    if name in NAMES:
        return NAMES[name]
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        found = PLACES.get(".".join(parts[:end]))
        if found is not None:
            return found
    return None


class OutOfScope:
    """Placeholder for a name that is not implemented: any use but importing it raises NotImplementedError.

    Reading a constant, such as `NodeType.INPUT`, gives a placeholder, too: modules do so where they define a default of a parameter.
    """

    def __init__(self, name: str, instead: str):
        vars(self).update(__name__=name, __doc__=f"Not here. Instead: {instead}.", _instead=instead)

    def _used(self) -> NoReturn:
        own = vars(self)
        raise NotImplementedError(f"adjoint has no {own['__name__']!r}. Instead: {own['_instead']}.")

    def __call__(self, /, *arguments: Any, **named: Any) -> NoReturn:
        self._used()

    def __getattr__(self, name: str) -> OutOfScope:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if not name.isupper():
            self._used()
        own = vars(self)
        return OutOfScope(f"{own['__name__']}.{name}", own["_instead"])

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type]:
        """Return a base class that cannot be instantiated: programs define subclasses in modules that they import for something else."""
        name: str = vars(self)["__name__"].rpartition(".")[2]
        return (type(name, (), {"__new__": lambda kind, /, *arguments, **named: self._used(), "__doc__": self.__doc__}),)

    def __instancecheck__(self, value: object) -> bool:
        return False  # no instance can exist

    def __repr__(self) -> str:
        return f"<{vars(self)['__name__']}, which is not here>"
