"""Private MindSpore names that programs import, implemented with the public API; `paths.PRIVATE` lists their paths."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.checkpoints.checkpoint import require_fitting
from adjoint.runtime.process.context import get_context
from adjoint.runtime.process.parallel_context import (
    ParallelMode,
    device_count_is_set,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)
from adjoint.runtime.tensor.initializer import INITIALIZERS, Initializer, fans
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.random import get_seed, next_generator, times_seeded
from adjoint.runtime.tensor.structure import mapped
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.callback.callback import Callback

__all__ = [
    "DeviceContext", "StepSync", "StubTensor", "VirtualDatasetCell", "WarnedOnce", "as_it_is", "assigned", "auto_parallel_context",
    "cached_primitive", "cell_attr_register", "channels_first", "correct_fan", "current_network", "device_num",
    "enable_parallel_optimizer", "executor", "fan_in_and_fan_out", "filled_normal", "filled_uniform", "full_batch", "gain", "getter",
    "global_rank", "gradients_mean", "graph_seed", "gru_step", "initializer_names", "is_array", "is_parallel", "is_picture", "is_searched",
    "is_sharding_propagation", "log_softmax", "lstm_step", "made_folder", "mode_of_context", "normal_numbers", "opt_init_args_register",
    "parallel_mode", "parameter_broadcast", "pipeline_stages", "profiled", "relu_step", "require_devices", "scaled", "scaled_size",
    "size_for_each_axis", "tanh_step", "tensor_operator_registry", "tensors_of", "training_dataset", "tuple_of_tensor", "uniform_numbers",
    "unscaled", "updated_by_suffix", "updated_parameter", "value_error",
]


class _Executor:
    """MindSpore's eager executor, reduced to the one method that programs call."""

    def sync(self) -> None:
        """Do nothing: operators have finished when they return."""

    def set_grad_flag(self, flag: bool) -> None:
        """Do nothing: what a gradient is taken of is recorded, and nothing else."""

    def set_async_for_graph(self, flag: bool) -> None:
        """Do nothing: a call of a graph has finished when it returns."""


executor = _Executor()
compiled_cells: dict[int, Any] = {}
"""Where MindSpore keeps what it has compiled of cells that programs make at run time; here nothing reads it."""
NO_PICTURE = "The argument 'img' must be an image of Pillow, but got {}. `Decode` and `ToPIL` make one."


def getter(setting: str) -> Callable[[], Any]:
    """Return a function that returns a setting of `set_auto_parallel_context`."""
    return functools.partial(get_auto_parallel_context, setting)


device_num, global_rank, parallel_mode = getter("device_num"), getter("global_rank"), getter("parallel_mode")
gradients_mean, parameter_broadcast = getter("gradients_mean"), getter("parameter_broadcast")
full_batch, pipeline_stages = getter("full_batch"), getter("pipeline_stages")
enable_parallel_optimizer = getter("enable_parallel_optimizer")


def is_parallel() -> bool:
    """Return whether the program uses more than one process."""
    return get_auto_parallel_context("parallel_mode") != ParallelMode.STAND_ALONE


def is_searched() -> bool:
    """Return whether a parallel strategy is asked for that MindSpore searches or completes."""
    return get_auto_parallel_context("parallel_mode") in (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL)


class _ParallelContext:
    """Access to the settings of `set_auto_parallel_context` by methods: `get_device_num()`, `set_device_num(2)`."""

    def __getattr__(self, name: str) -> Any:
        action, _, setting = name.partition("_")
        if name == "get_device_num_is_set":
            return device_count_is_set
        if action == "get":
            return getter(setting)
        if action == "set":
            return lambda value: set_auto_parallel_context(**{setting: value})
        if name == "reset":
            return reset_auto_parallel_context
        raise AttributeError(f"The context of parallel programs has no {name!r}: it has get_ and set_ with the names of "
                             "'set_auto_parallel_context'.", name=name)


_parallel = _ParallelContext()


def auto_parallel_context() -> _ParallelContext:
    """Return the shared context of parallel programs."""
    return _parallel


def cached_primitive(kind: type) -> Callable[..., Any]:
    """Return a function that makes a primitive of a class from its constructor's arguments; the same one for the same arguments.

    A graph that reads the primitive is made again once it is gone, so it must last.
    """

    def made(*arguments: Any, **named: Any) -> Any:
        try:
            return _primitive(kind, *arguments, **named)
        except TypeError:  # an argument without a hash, or one that the primitive refuses
            return kind(*arguments, **named)

    return made


@functools.lru_cache(maxsize=1000, typed=True)
def _primitive(kind: type, /, *arguments: Any, **named: Any) -> Any:
    return kind(*arguments, **named)


def opt_init_args_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Keep the arguments of an optimizer's `__init__` in `init_params`, `init_learning_rate` and `init_args`, as MindSpore does."""

    @functools.wraps(fn)
    def initialised(self: Any, /, *arguments: Any, **named: Any) -> None:
        bound = inspect.signature(fn).bind(self, *arguments, **named)
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        params, optimizer = given.pop("params", None), given.pop("optimizer", None)
        rate = given.pop("learning_rate", None)
        fn(self, *arguments, **named)
        own = self.__dict__
        own["init_params"] = {"params": params} if optimizer is None else dict(optimizer.init_params)
        own["init_learning_rate"] = None if isinstance(rate, Cell) else rate.tolist() if isinstance(rate, Tensor) else rate
        own["init_args"] = given

    return initialised


class WarnedOnce:
    """A decorator: of all functions with one `key`, only the first call writes warnings to the logger; none does with `no_warning`."""

    is_logged: ClassVar[dict[str, bool]] = {}

    def __init__(self, logger: Any, key: str, no_warning: bool = False):
        self._logger, self._key, self._no_warning = logger, key, no_warning

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            if not self._no_warning and not self.is_logged.get(self._key):
                self.is_logged[self._key] = True
                return function(*arguments, **named)
            before, self._logger.warning = self._logger.warning, _nothing
            try:
                return function(*arguments, **named)
            finally:
                self._logger.warning = before

        return called


def as_it_is(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorate a function with nothing: one of numbers alone runs while a graph is made, and any may be used again.  Takes options, too."""
    return as_it_is if fn is None else fn


def _nothing(*arguments: Any, **named: Any) -> None:
    """Write nothing."""


def scaled(scale: Any, inputs: Any) -> Any:
    """Multiply a tensor, or each tensor of a tuple or list, by a scale; each keeps its dtype."""
    return mapped(inputs, lambda x: x * scale.astype(x.dtype)) if isinstance(inputs, (tuple, list)) else inputs * scale.astype(inputs.dtype)


def unscaled(scale: Any, inputs: Any) -> Any:
    """Divide a tensor, or each tensor of a tuple or list, by a scale; each keeps its dtype."""
    return scaled(1.0 / scale, inputs)


def initializer_names(*aliases: str) -> Callable[[type], type]:
    """Decorate an initialiser's class: `initializer` finds it by its name in lower case and by each alias that no other class has."""

    def named(kind: type[Initializer]) -> type[Initializer]:
        for name in (kind.__name__.lower(), *aliases):
            INITIALIZERS.setdefault(name, kind)
        return kind

    return named


def fan_in_and_fan_out(shape: Sequence[int]) -> tuple[int, int]:
    """Return fan_in and fan_out of a weight of a shape (out, in, *receptive); ValueError for fewer than two dimensions."""
    return fans("initializer", shape)


def filled_normal(seed: int, array: np.ndarray[Any, Any], mean: float, sigma: float) -> None:
    """Fill a Float32 array with normal numbers that a seed determines; RuntimeError for another dtype."""
    _fill("_random_normal", array, np.random.default_rng(seed).normal, mean, sigma)


def filled_uniform(seed: int, array: np.ndarray[Any, Any], low: float, high: float) -> None:
    """Fill a Float32 array with numbers of [low, high) that a seed determines; RuntimeError for another dtype."""
    _fill("_random_uniform", array, np.random.default_rng(seed).uniform, low, high)


def _fill(name: str, array: np.ndarray[Any, Any], draw: Callable[..., Any], *numbers: float) -> None:
    if array.dtype != np.float32:
        raise RuntimeError(f"For '{name}', the array must be of float32, but got {array.dtype}.")
    array[...] = draw(*numbers, array.shape)


def normal_numbers(mean: float, sigma: float, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return a Float32 array of normal numbers, from the stream that `set_seed` starts."""
    return next_generator().normal(mean, sigma, shape).astype(np.float32)


def uniform_numbers(a: float, b: float, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return a Float32 array of numbers of [a, b), from the stream that `set_seed` starts."""
    return next_generator().uniform(a, b, shape).astype(np.float32)


_layers: Counter[tuple[int, str]] = Counter()
"""How many layers have asked `graph_seed`, by how often a seed was set and the name of the layer's operator."""


def graph_seed(op_seed: int | None, kernel_name: str) -> tuple[int, int]:
    """Return the two seeds of a layer that draws: that of `set_seed`, or 0, and its own; layers without one get different seeds.

    op_seed      the layer's own seed; None or 0: none
    kernel_name  the operator that draws
    """
    seed, place = get_seed() or 0, (times_seeded(), kernel_name)
    if op_seed or not seed:
        return seed, op_seed or 0
    _layers[place] += 1
    return seed, _layers[place] - 1


def correct_fan(shape: Sequence[int], mode: str) -> int:
    """Return fan_in or fan_out of a weight of a shape; ValueError for another mode, and for fewer than two dimensions."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"The argument 'mode' must be 'fan_in' or 'fan_out', but got {mode!r}.")
    return fans("initializer", shape)[mode.lower() == "fan_out"]


def gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which an initialiser makes up for a nonlinearity: 5/3 for tanh, sqrt(2) for relu, 1 for sigmoid and linear maps,
    sqrt(2 / (1 + slope^2)) for leaky_relu with a slope, by default 0.01.  ValueError for another nonlinearity or slope.
    """
    plain = {"sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2.0), **dict.fromkeys(_LINEAR, 1.0)}
    if nonlinearity in plain:
        return plain[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"The argument 'nonlinearity' must be one of {', '.join([*plain, 'leaky_relu'])}, but got {nonlinearity!r}.")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"The argument 'param' must be a number, the slope of 'leaky_relu', but got {param!r}.")
    return math.sqrt(2.0 / (1 + slope**2))


_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def assigned(arr: np.ndarray[Any, Any], num: Any) -> np.ndarray[Any, Any]:
    """Write a number, or an array of the same shape, into an array; return the array.  ValueError for another shape."""
    arr[...] = num
    return arr


def cell_attr_register(fn: Any = None, attrs: str | list[str] | None = None) -> Any:
    """Decorate the `__init__` of a cell: the cell keeps the text of its arguments, or of those named in `attrs`, in `cell_init_args`.

    TypeError when the cell is made with arguments that `__init__` does not take.
    """
    if fn is None:
        return lambda function: cell_attr_register(function, attrs)
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def initialised(self: Any, /, *arguments: Any, **named: Any) -> None:
        bound = signature.bind(self, *arguments, **named)
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        fn(self, *arguments, **named)
        wanted = [attrs] if isinstance(attrs, str) else given if attrs is None else attrs
        self.__dict__["cell_init_args"] = f"{type(self).__name__}{[given[name] for name in wanted if name in given]}"

    return initialised


class TensorOperators:
    """The operators of tensors by name: functions of `ops`, and methods of tensors such as `__add__`, which take the tensor first."""

    def get(self, obj_str: str) -> Callable[..., Any]:
        """Return an operator by its name; AttributeError if there is none."""
        found = getattr(Tensor, obj_str, None) if obj_str.startswith("__") else getattr(operators(), obj_str, None)
        found = found or getattr(Tensor, obj_str, None)
        if not callable(found):
            raise AttributeError(f"There is no operator {obj_str!r} of tensors.", name=obj_str)
        return found

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self.get(name)


tensor_operator_registry = TensorOperators()


def operators() -> ModuleType:
    """Return the package `ops`."""
    return importlib.import_module("adjoint.ops")


class StubTensor:
    """The class of MindSpore's tensors whose values are computed later: no tensor is one here."""


def made_folder(path: str, arg_name: str = "path") -> str:
    """Make a folder unless it is there, and return its absolute path.  TypeError for what is not a str, ValueError for an empty one,
    NotADirectoryError for a file.
    """
    if not isinstance(path, str):
        raise TypeError(f"The argument {arg_name!r} must be a str, but got {path!r} of type {type(path).__name__}.")
    if not path.strip():
        raise ValueError(f"The argument {arg_name!r} must be a path, but got {path!r}.")
    if Path(path).is_file():
        raise NotADirectoryError(f"The argument {arg_name!r} must be a folder, but got the file {path!r}.")
    Path(path).mkdir(parents=True, exist_ok=True)
    return str(Path(path).resolve())


def is_sharding_propagation() -> bool:
    """Return False: each process holds the whole network."""
    return False


def profiled() -> None:
    """Do nothing: MindSpore's profiler is not here."""


class VirtualDatasetCell(Cell):
    """A cell that calls another one with its arguments: in MindSpore a mark for the search of a parallel strategy.

    backbone  the cell that is called
    """

    def __init__(self, backbone: Cell):
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        return self._backbone(*inputs)


def current_network(net: Cell) -> None:
    """Do nothing: a checkpoint is written from the network that is given to it."""


@contextmanager
def no_init_parameters() -> Iterator[None]:
    """Do nothing: Parameters that are made in a `with` block are initialised as always, and a checkpoint that is loaded replaces them."""
    yield


def is_picture(img: object) -> bool:
    """Return whether an object is an image of the package Pillow."""
    loaded = sys.modules.get("PIL.Image")
    return loaded is not None and isinstance(img, loaded.Image)


def is_array(img: object) -> bool:
    """Return whether an object is a NumPy array."""
    return isinstance(img, np.ndarray)


def channels_first(img: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy of a picture with the channels as its first axis; one of two dimensions, without channels, as it is.

    TypeError for what is not an array of 2 or 3 dimensions.
    """
    if not isinstance(img, np.ndarray) or img.ndim not in (2, 3):
        raise TypeError(f"The argument 'img' must be an array of 2 or 3 dimensions, but got {img!r} of type {type(img).__name__}.")
    return img if img.ndim == 2 else img.transpose(2, 0, 1).copy()


def updated_parameter(param: Parameter, new_param: Parameter, strict_load: bool = False) -> None:
    """Copy the values of a Parameter to another one, as `load_param_into_net` does; RuntimeError if their shapes or dtypes do not fit."""
    require_fitting(param, new_param, strict_load)
    param.set_data(new_param)


def updated_by_suffix(net: Cell, parameter_dict: dict[str, Parameter], param_not_load: list[str], strict_load: bool) -> None:
    """Copy to Parameters of a net those of a dict whose names have one prefix more, and take their names out of `param_not_load`.

    The prefix is found by a name of the list, in order, with which one of the dict ends.
    """
    for missing in list(param_not_load):
        longer = [name for name in parameter_dict if name != missing and name.endswith(missing)]
        if not longer:
            continue
        prefix = longer[0].removesuffix(missing)
        for parameter in net.get_parameters():
            if parameter.name in param_not_load and prefix + parameter.name in parameter_dict:
                updated_parameter(parameter, parameter_dict[prefix + parameter.name], strict_load)
                param_not_load.remove(parameter.name)


def tensors_of(*args: Any) -> Any:
    """Return a number, list, tuple or array as a Tensor, as `mindspore.numpy` reads it; several as a tuple.  TypeError for others."""
    read = importlib.import_module("adjoint.numpy.conversion").array_like
    made = tuple(read("_to_tensor", value, "args") for value in args)
    return made[0] if len(made) == 1 else made


def value_error(info: str, param: Any = "") -> None:
    """Raise ValueError with a text, and a value behind it."""
    raise ValueError(f"{info}{param}")


def log_softmax(inputs: Any, axis: int) -> Any:
    """Return `ops.log_softmax`."""
    return operators().log_softmax(inputs, axis)


def require_devices(parallel_mode: str, device_number: int) -> None:
    """Raise ValueError for a program of one process that has more than one device."""
    if parallel_mode == ParallelMode.STAND_ALONE and device_number != 1:
        raise ValueError(f"The argument 'device_number' must be 1 where 'parallel_mode' is {parallel_mode!r}, but got {device_number}.")


def tuple_of_tensor(inputs: Any) -> Any:
    """Return a tensor as a tuple of it, and anything else as it is."""
    return (inputs,) if isinstance(inputs, Tensor) else inputs


def training_dataset(dataset: Any) -> None:
    """Do nothing: MindSpore notes the pipeline for a training that recovers by itself, which is not here."""


class StepSync(Callback):
    """A callback that waits for the operators of a step: here they have finished."""


def _one_step(kind: str) -> Callable[..., Any]:
    """Return the function that computes one step of a recurrent layer of a kind from its weights and biases, which may be None."""

    def stepped(inputs: Any, hidden: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        linear, recurrent = importlib.import_module("adjoint.ops.linear"), importlib.import_module("adjoint.nn.recurrent")
        state = tuple(hidden) if isinstance(hidden, (tuple, list)) else (hidden,)
        new = recurrent._STEPS[kind](linear.dense(inputs, w_ih, b_ih), linear.dense(state[0], w_hh, b_hh), state)
        return tuple(new) if len(new) > 1 else new[0]

    stepped.__doc__ = f"Return the next state of a layer of the kind {kind!r}."
    return stepped


gru_step, lstm_step, relu_step, tanh_step = _one_step("gru"), _one_step("lstm"), _one_step("relu"), _one_step("tanh")


def mode_of_context() -> int:
    """Return `get_context("mode")`."""
    return get_context("mode")


class DeviceContext:
    """What programs ask of the device that computes: there is none with a name of Ascend's."""

    @staticmethod
    def get_instance() -> DeviceContext:
        """Return the context of the process."""
        return _devices

    def get_ascend_soc_version(self) -> str:
        """Return an empty string: there is no such device."""
        return ""


_devices = DeviceContext()


def size_for_each_axis(input: Tensor, value: Any) -> Sequence[Any]:
    """Return a number as a tuple of it for each axis but the first two, and a sequence as it is."""
    return value if isinstance(value, (list, tuple)) else (value,) * (input.ndim - 2)


def scaled_size(input: Tensor, scale_factor: Sequence[float]) -> tuple[int, ...]:
    """Return the sizes of all axes but the first two, each times its factor, rounded down."""
    return tuple(math.floor(size * factor) for size, factor in zip(input.shape[2:], scale_factor, strict=False))
