"""adjoint: an autodiff compiler you can see through.

Networks are written in MindSpore's API; their functions become a typed SSA graph IR, gradients are generated as graphs
of the same IR, hooks are nodes of them, and every operator is an emitted C kernel.

    import adjoint as ms
    from adjoint import Tensor, nn, ops
"""

from typing import TYPE_CHECKING, Any

from adjoint.foundation import collector

with collector.paused():
    from adjoint import nn, ops
    from adjoint.common.dtype import (
        TensorType,
        Type,
        bfloat16,
        bool_,
        byte,
        cdouble,
        cfloat,
        complex64,
        complex128,
        double,
        dtype_to_nptype,
        dtype_to_pytype,
        float16,
        float32,
        float64,
        float_,
        get_py_obj_dtype,
        half,
        int8,
        int16,
        int32,
        int64,
        int_,
        intc,
        intp,
        list_,
        long,
        number,
        pytype_to_dtype,
        short,
        single,
        string,
        tensor_type,
        tuple_,
        type_none,
        ubyte,
        uint,
        uint8,
        uint16,
        uint32,
        uint64,
        uintc,
        uintp,
        ushort,
    )
    from adjoint.foundation import lazy, tracebacks
    from adjoint.foundation.diagnostics import CompileError, InternalError, missing_name
    from adjoint.runtime.graphs.starting import start as _start_graphs
    from adjoint.runtime.inspection.starting import start as _start_inspection
    from adjoint.runtime.process.context import (
        COMPATIBLE,
        GRAPH_MODE,
        LAX,
        PYNATIVE_MODE,
        STRICT,
        get_context,
        get_current_device,
        launch_blocking,
        set_context,
        set_device,
    )
    from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple
    from adjoint.runtime.tensor.tensor import Tensor

if TYPE_CHECKING:
    from adjoint import amp, common, communication, context, dtype
    from adjoint.common.sparse_tensor import COOTensor, CSRTensor, RowTensor, SparseTensor
    from adjoint.common.tensor import tensor
    from adjoint.runtime.checkpoints.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
    from adjoint.runtime.gradients.custom_function import Function as _Function
    from adjoint.runtime.gradients.grad import get_grad, grad, value_and_grad
    from adjoint.runtime.gradients.no_grad import no_grad as _no_grad
    from adjoint.runtime.gradients.products import jvp, vjp
    from adjoint.runtime.graphs.inputs.dynamic import enable_dynamic
    from adjoint.runtime.graphs.jit import jit, ms_function
    from adjoint.runtime.graphs.jit_stats import jit_stats
    from adjoint.runtime.graphs.options import JitConfig, jit_class
    from adjoint.runtime.graphs.options import jit_class as ms_class
    from adjoint.runtime.process.parallel_context import (
        ParallelMode,
        get_auto_parallel_context,
        reset_auto_parallel_context,
        set_auto_parallel_context,
    )
    from adjoint.runtime.tensor.generator import (
        Generator,
        default_generator,
        get_rng_state,
        initial_seed,
        manual_seed,
        seed,
        set_rng_state,
    )
    from adjoint.runtime.tensor.mutable import mutable
    from adjoint.runtime.tensor.random import get_seed, set_seed

from_numpy = Tensor.from_numpy
bool = bool_

__version__ = "0.1.0"

__all__ = [
    "COMPATIBLE", "COOTensor", "CSRTensor", "CompileError", "GRAPH_MODE", "Generator", "InternalError", "JitConfig", "LAX",
    "PYNATIVE_MODE", "ParallelMode", "Parameter", "ParameterTuple", "RowTensor", "STRICT", "SparseTensor", "Tensor", "TensorType", "Type",
    "_Function", "_no_grad", "amp", "bfloat16", "bool_", "byte", "cdouble", "cfloat", "common", "communication", "complex128", "complex64",
    "context", "default_generator", "double", "dtype", "dtype_to_nptype", "dtype_to_pytype", "enable_dynamic", "float16", "float32",
    "float64", "float_", "from_numpy", "get_auto_parallel_context", "get_context", "get_current_device", "get_grad", "get_py_obj_dtype",
    "get_rng_state", "get_seed", "grad", "half", "initial_seed", "int16", "int32", "int64", "int8", "int_", "intc", "intp", "jit",
    "jit_class", "jit_stats", "jvp", "launch_blocking", "list_", "load_checkpoint", "load_param_into_net", "long", "manual_seed",
    "ms_class", "ms_function", "mutable", "nn", "number", "ops", "pytype_to_dtype", "reset_auto_parallel_context", "save_checkpoint",
    "seed", "set_auto_parallel_context", "set_context", "set_device", "set_rng_state", "set_seed", "short", "single", "string",
    "tensor", "tensor_type", "tuple_", "type_none", "ubyte", "uint", "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ushort",
    "value_and_grad", "vjp",
]

tracebacks.install()
_start_graphs()
_start_inspection()


_TRAINING = (
    "Accuracy", "BackupAndRestore", "BleuScore", "Callback", "CheckpointConfig", "ConfusionMatrix", "ConfusionMatrixMetric",
    "ContinueRun", "CosineSimilarity", "DatasetHelper", "Dice", "DynamicLossScaleManager", "EarlyStopping", "F1", "Fbeta",
    "FixedLossScaleManager", "HausdorffDistance", "History", "LambdaCallback", "LearningRateScheduler", "Loss", "LossMonitor",
    "LossScaleManager", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "Model", "ModelCheckpoint", "Perplexity", "Precision", "ROC",
    "Recall", "ReduceLROnPlateau", "RootMeanSquareDistance", "RunContext", "RunState", "SummaryCollector", "SummaryRecord",
    "TimeMonitor", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "async_ckpt_thread_status", "auc",
    "build_train_network", "data_sink", "export", "get_metric_fn", "load_checkpoint_async", "names", "rearrange_inputs",
)
_DEVICES = (
    "Event", "Stream", "StreamCtx", "StreamLimitCtx", "communication_stream", "current_stream", "default_stream", "dispatch_threads_num",
    "empty_cache", "get_device_limit", "get_stream_limit", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "memory_summary", "ms_memory_recycle", "reset_max_memory_allocated", "reset_max_memory_reserved",
    "reset_peak_memory_stats", "reset_stream_limit", "set_cpu_affinity", "set_cur_stream", "set_device_limit", "set_kernel_launch_capture",
    "set_kernel_launch_group", "set_memory", "set_stream_limit", "synchronize",
)
LOADED_WHEN_USED: dict[str, str] = {
    "amp": "adjoint.amp", "common": "adjoint.common", "communication": "adjoint.communication", "context": "adjoint.context",
    "experimental": "adjoint.experimental",
    "dtype": "adjoint.dtype",
    **dict.fromkeys(("COOTensor", "CSRTensor"), "adjoint.ops.sparse"),
    **dict.fromkeys(("RowTensor", "SparseTensor"), "adjoint.common.sparse_tensor"), "tensor": "adjoint.common.tensor",
    **dict.fromkeys(("load_checkpoint", "load_param_into_net", "save_checkpoint"), "adjoint.runtime.checkpoints.checkpoint"),
    "_Function": "adjoint.runtime.gradients.custom_function:Function", "_no_grad": "adjoint.runtime.gradients.no_grad:no_grad",
    "saved_tensors_hooks": "adjoint.runtime.hooks.saved_tensors",
    **dict.fromkeys(("get_grad", "grad", "value_and_grad"), "adjoint.runtime.gradients.grad"),
    **dict.fromkeys(("jvp", "linearize", "vjp"), "adjoint.runtime.gradients.products"),
    "enable_dynamic": "adjoint.runtime.graphs.inputs.dynamic", "jit_stats": "adjoint.runtime.graphs.jit_stats",
    **dict.fromkeys(("jit", "ms_function"), "adjoint.runtime.graphs.jit"),
    **dict.fromkeys(("JitConfig", "jit_class"), "adjoint.runtime.graphs.options"),
    "ms_class": "adjoint.runtime.graphs.options:jit_class",
    **dict.fromkeys(("ParallelMode", "get_auto_parallel_context", "reset_auto_parallel_context", "set_auto_parallel_context"),
                    "adjoint.runtime.process.parallel_context"),
    **dict.fromkeys(("Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"),
                    "adjoint.runtime.tensor.generator"),
    "mutable": "adjoint.runtime.tensor.mutable", **dict.fromkeys(("get_seed", "set_seed"), "adjoint.runtime.tensor.random"),
    "check_gradients": "adjoint.testing.gradient_check", "compare": "adjoint.testing.mode_comparison",
    "dataset": "adjoint.dataset", "explore": "adjoint.explorer.explore", "log": "adjoint.log",
    "mindrecord": "adjoint.mindrecord", "mint": "adjoint.mint", "numpy": "adjoint.numpy",
    "operator": "adjoint.ops.own_operators", **dict.fromkeys(("hessian", "hvp", "jacfwd", "jacrev"), "adjoint.runtime.graphs.jacobians"),
    "vmap": "adjoint.runtime.graphs.vmap", "functional": "adjoint.nn.pure", "Profiler": "adjoint.profiler", "profiler": "adjoint.profiler",
    "testing": "adjoint.testing", "train": "adjoint.train", "watch": "adjoint.watch",
    **dict.fromkeys(_TRAINING, "adjoint.train"),
    **dict.fromkeys(("from_dlpack", "frombuffer", "to_dlpack"), "adjoint.common.sharing"),
    **dict.fromkeys(("lazy_inline", "no_inline", "recompute", "register_saved_tensors_hooks", "run_check"), "adjoint.common.marks"),
    **dict.fromkeys(("get_algo_parameters", "get_ps_context", "reset_algo_parameters", "reset_ps_context", "set_algo_parameters",
                     "set_deterministic", "set_ps_context", "set_recursion_limit"), "adjoint.runtime.process.stored_settings"),
    **dict.fromkeys(_DEVICES, "adjoint.runtime.process.streams"),
}
"""Names that load their module when they are first used."""


def __getattr__(name: str) -> Any:
    if name in LOADED_WHEN_USED:
        return lazy.load(globals(), name)
    raise missing_name(__name__, name, globals())


def __dir__() -> list[str]:
    return lazy.listed(globals())
