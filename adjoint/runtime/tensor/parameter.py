"""Parameters: tensors that a network owns and an optimiser writes."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from adjoint.foundation.diagnostics import MissingMember
from adjoint.ir.types import F32, I32, DType
from adjoint.runtime.process.tracer import emitter, not_recording, state
from adjoint.runtime.tensor.tensor import Tensor, as_tensor, initializer, unshared

__all__ = ["Parameter", "ParameterTuple", "by_name", "has_generated_name", "training"]

_GENERATED = "Parameter#"
_LONGEST_NAME = 1024
_generated_numbers = itertools.count(2)
"""The numbers in generated names.  MindSpore's first number is 2, too, since its random generator has 0 and 1."""


class _Training:
    """Counts how often `requires_grad` of any Parameter has changed, so that a gradient notices."""

    def __init__(self) -> None:
        self.changes = 0


training = _Training()


class _Mark:
    """An attribute that MindSpore's scripts set, for parameter servers or several devices; here it has no effect.

    kinds    the types that it may be set to; object: any
    default  its value before it is set
    shown    turns what was set into what is read
    """

    def __init__(self, name: str, kinds: type | tuple[type, ...], default: Any, shown: Callable[[Any], Any] = lambda value: value):
        self.name, self.kinds, self.default, self.shown = name, kinds, default, shown
        self.__doc__ = f"`{name}` is stored for MindSpore's scripts, without effect."

    def __get__(self, parameter: Tensor | None, owner: type) -> Any:
        return self if parameter is None else self.shown(parameter.__dict__.get(self.name, self.default))

    def __set__(self, parameter: Tensor, value: Any) -> None:
        kinds = self.kinds if isinstance(self.kinds, tuple) else (self.kinds,)
        if not isinstance(value, kinds):
            raise TypeError(f"For 'Parameter', the argument `{self.name}` must be {' or '.join(kind.__name__ for kind in kinds)} type, "
                            f"but got {value!r} of type {type(value).__name__}.")
        parameter.__dict__[self.name] = value


class _Fusion(_Mark):
    """A number of the group in which a gradient is sent: an int of at least 0."""

    def __set__(self, parameter: Tensor, value: Any) -> None:
        if isinstance(value, bool):
            raise TypeError(f"For 'Parameter', the argument `{self.name}` must be int type, but got {value!r} of type bool.")
        if isinstance(value, int) and value < 0:
            raise ValueError(f"For 'Parameter', the argument `{self.name}` must be at least 0, but got {value}.")
        super().__set__(parameter, value)


class ParameterInfo:
    """The options of a Parameter as an object, as MindSpore's scripts copy them from one Parameter to another: `info.name`.

    As long as it is the `param_info` of a Parameter, it is read from that and written to that.  It may have any other attributes.
    """

    OPTIONS = ("name", "requires_grad", "layerwise_parallel", "parallel_optimizer", "comm_fusion", "cache_enable", "cache_shape", "key",
               "parallel_optimizer_comm_recompute", "requires_aggr")

    def __init__(self, options: Mapping[str, Any]):
        vars(self).update(options)

    def clone(self) -> ParameterInfo:
        """Return an object with the same options, of no Parameter."""
        return ParameterInfo({name: getattr(self, name) for name in self.OPTIONS})

    def __getattribute__(self, name: str) -> Any:
        parameter = object.__getattribute__(self, "__dict__").get("_of", _nobody)() if name in ParameterInfo.OPTIONS else None
        return object.__getattribute__(self, name) if parameter is None else getattr(parameter, name)

    def __setattr__(self, name: str, value: Any) -> None:
        parameter = vars(self).get("_of", _nobody)() if name in self.OPTIONS else None
        if parameter is not None:
            setattr(parameter, name, value)
        vars(self)[name] = value


def _nobody() -> None:
    """Return None, as a weak reference does to what is gone."""


class Parameter(Tensor):
    """A tensor with a name that takes part in training.

    default_input       its initial value: Tensor, number, list, NumPy array
    name                its name in checkpoints, optimisers and graphs; by default `Parameter#2`, `Parameter#3`, ..., until it becomes an
        attribute of a Cell, which names it after the attribute
    requires_grad       True if `trainable_params` includes it and gradients are taken for it
    layerwise_parallel  True if `nn.DistributedGradReducer` is to leave its gradient as it is
    parallel_optimizer, storage_format, device  accepted for MindSpore's scripts; they have no effect
    """

    __slots__ = ()
    _is_parameter = True
    forward_hook: Callable[[Any], Any] | None = None
    """The hook whose result construct sees in this Parameter's place (`Cell.register_parameter_forward_hook`); None for none."""

    add_pipeline_stage = MissingMember("nothing: each process holds the whole network, data parallelism is what is here")
    cache_enable = _Mark("cache_enable", bool, False)
    cache_shape = _Mark("cache_shape", (tuple, list), (), list)
    comm_fusion = _Fusion("comm_fusion", int, 1)
    key = _Mark("key", int, -1)
    layerwise_parallel = _Mark("layerwise_parallel", bool, False)
    parallel_optimizer = _Mark("parallel_optimizer", bool, True)
    parallel_optimizer_comm_recompute = _Mark("parallel_optimizer_comm_recompute", bool, False)
    requires_aggr = _Mark("requires_aggr", object, True)
    sliced = _Mark("sliced", object, False)
    unique = _Mark("unique", object, False)

    def __init__(
        self, default_input: Any, name: str | None = None, requires_grad: bool = True, layerwise_parallel: bool = False,
        parallel_optimizer: bool = True, storage_format: str = "", device: str | None = None,
    ):
        plain = isinstance(default_input, (int, float)) and not isinstance(default_input, bool)  # also NumPy's float64, which is a float
        source = _values(default_input, None if not plain else I32 if isinstance(default_input, int) else F32)
        graph = emitter()
        self.type = source.type
        self.memory = unshared(source) if graph is None else unshared(graph.first_value(self, source))
        self.name = name
        self.requires_grad = requires_grad
        self.layerwise_parallel, self.parallel_optimizer = layerwise_parallel, parallel_optimizer
        if graph is not None:
            graph.made(self)

    @property
    def name(self) -> str:
        """Return the Parameter's name, without surrounding blanks.

        Setting None or a blank text generates a name; ValueError for another type than str, and for more than 1024 characters.
        """
        return self.__dict__["name"]

    @name.setter
    def name(self, name: str | None) -> None:
        self.__dict__["name"] = _checked_name(name)

    @property
    def requires_grad(self) -> bool:
        """Return True if gradients are taken for this Parameter.  Setting a value that is not a bool raises TypeError.

        If a function changes it while a gradient is taken, only uses of the Parameter while it is True contribute to the gradient; if it is
        False when the function returns, there is no gradient, as in MindSpore.
        """
        return self.__dict__["requires_grad"]

    @requires_grad.setter
    def requires_grad(self, requires_grad: bool) -> None:
        if not isinstance(requires_grad, bool):
            raise TypeError(f"For 'Parameter', the argument `requires_grad` must be bool type, "
                            f"but got {requires_grad!r} of type {type(requires_grad).__name__}.")
        own = self.__dict__
        if own.get("requires_grad", requires_grad) is not requires_grad:
            tape = state.tracer
            if tape is not None and tape.emits is False:
                tape.trains(self, requires_grad)  # before the change, since this may record what has run so far
            training.changes += 1
        own["requires_grad"] = requires_grad

    @property
    def _takes_gradient(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] - it follows from another attribute
        return self.requires_grad

    @property
    def param_info(self) -> ParameterInfo:
        """Return the options as an object.  Setting another one takes over its options, with the name."""
        info = self.__dict__.get("_info")
        if info is None:
            info = self.__dict__["_info"] = ParameterInfo({name: getattr(self, name) for name in ParameterInfo.OPTIONS})
            vars(info)["_of"] = weakref.ref(self)
        return info

    @param_info.setter
    def param_info(self, info: ParameterInfo) -> None:
        if not isinstance(info, ParameterInfo):
            raise TypeError(f"For 'Parameter', the argument `param_info` must be that of a Parameter, but got {info!r} "
                            f"of type {type(info).__name__}.")
        for name in ParameterInfo.OPTIONS:
            setattr(self, name, getattr(info, name))
        vars(info)["_of"] = weakref.ref(self)
        self.__dict__["_info"] = info

    def requires_grad_(self, requires_grad: bool = True) -> None:
        """Set `requires_grad`.

        TypeError for a value that is not a bool.  RuntimeError in a graph, and for False while a gradient with respect to this Parameter is
        being taken.
        """
        super().requires_grad_(requires_grad)
        if emitter() is not None:
            raise RuntimeError("For 'Parameter.requires_grad_', a graph cannot change whether a Parameter is trained: call it outside of "
                               "the graph, as in '__init__'.")
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return (f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
                f"requires_grad={self.requires_grad})")

    __str__ = __repr__

    def __copy__(self) -> Parameter:
        return self.clone()

    def __deepcopy__(self, memodict: Any) -> Parameter:
        return self.clone()

    def clone(self, init: str | Tensor = "same") -> Parameter:
        """Return a Parameter of the same name and options, with the same values ("same") or the values of `init`.

        No gradient flows from the copy to this Parameter.  In a graph each run makes a new copy.
        """
        data = self if isinstance(init, str) and init == "same" else (
            init if isinstance(init, Tensor) else initializer(init, self.shape, self.dtype))
        graph = emitter()
        if graph is not None:
            for name in ("name", "requires_grad", "layerwise_parallel", "parallel_optimizer"):
                graph.read_attribute(self, name)
        options = self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer
        return Parameter(data, *options) if graph is None else graph.new_parameter(data, *options)

    @property
    def data(self) -> Parameter:
        return self

    def value(self) -> Tensor:
        """Return the values as a new Tensor; gradients flow through it."""
        return self.copy()

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """Return the Parameter itself, since it holds its data from the start."""
        return self

    @property
    def inited_param(self) -> None:
        """Return None: no copy takes the place of a Parameter, which holds its data from the start."""
        return None

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Take over the shape and values of `data`, a Tensor, number, list or array.  The dtype stays.

        Return the Parameter itself.  TypeError for another type of data.
        """
        super().set_data(_values(data, self.dtype))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (Tensor(self), self.name, self.requires_grad)


def _rebuilt(data: Tensor, name: str, requires_grad: bool) -> Parameter:
    return Parameter(data, name, requires_grad)


def _values(data: Any, dtype: DType | None) -> Tensor:
    """Convert the data from which a Parameter is made to a tensor.

    data   a Tensor, number, list or NumPy array
    dtype  the wanted dtype; None for the one that follows from the data
    """
    if data is None or isinstance(data, (str, bytes)):
        raise TypeError(f"For 'Parameter', the data must be a Tensor, number, list, tuple or NumPy array, "
                        f"but got {data!r} of type {type(data).__name__}.")
    try:
        with not_recording():
            return as_tensor(data, dtype)
    except (TypeError, ValueError) as wrong:
        raise type(wrong)(f"For 'Parameter', the data does not fit: {wrong}") from None


def _checked_name(name: Any) -> str:
    if name is not None and not isinstance(name, str):
        raise ValueError(f"For 'Parameter', the type of 'name' should be 'string' or 'None', "
                         f"but got {name!r} of type {type(name).__name__}.")
    name = (name or "").strip()
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"For 'Parameter', 'name' must have at most {_LONGEST_NAME} characters, "
                         f"but it begins with {name[:20]!r} and has {len(name)}.")
    return name or f"{_GENERATED}{next(_generated_numbers)}"


def has_generated_name(parameter: Parameter) -> bool:
    """Return True if neither the user nor a Cell has named the Parameter yet."""
    return parameter.name.startswith(_GENERATED)


def by_name(owner: str, parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Turn a dict of Parameters by their paths in a Cell into a dict by their names.

    owner  the function that the error message names

    RuntimeError if two have one name.
    """
    found: dict[str, Parameter] = {}
    paths: dict[str, str] = {}
    for path, parameter in parameters.items():
        name = parameter.name
        if found.setdefault(name, parameter) is not parameter:
            raise RuntimeError(
                f"For '{owner}', two Parameters have one name, {paths[name]!r} and {path!r} of the Cell: {parameter!r}, its name {name!r} "
                "already exists. Please set a unique name for the parameter, or call `check_names_and_refresh_name()`, which names all "
                "by their paths.")
        paths[name] = path
    return found


class ParameterTuple(tuple[Parameter, ...]):
    """A tuple of Parameters, made from any iterable of them.

    TypeError for an item that is not a Parameter, ValueError for a name that two of them have.
    """

    def __new__(cls, iterable: Iterable[Parameter]) -> ParameterTuple:
        if not isinstance(iterable, Iterable) or isinstance(iterable, (Tensor, str)):
            raise TypeError(f"For 'ParameterTuple', the argument must be an iterable of Parameters, "
                            f"but got {iterable!r} of type {type(iterable).__name__}.")
        items = tuple(iterable)
        seen: dict[str, Parameter] = {}
        for item in items:
            if not isinstance(item, Parameter):
                raise TypeError(f"For 'ParameterTuple', every item must be a Parameter, but got {item!r} of type {type(item).__name__}.")
            if item.name in seen and seen[item.name] is not item:
                raise ValueError(f"For 'ParameterTuple', two Parameters have one name. The value {item!r} , its name {item.name!r} "
                                 "already exists. Please set a unique name for the parameter.")
            seen[item.name] = item
        return super().__new__(cls, items)

    @classmethod
    def _make(cls, parts: Iterable[Any]) -> tuple[Any, ...]:
        """Return a tuple of `parts`: a ParameterTuple if all are Parameters, otherwise a plain tuple."""
        items = tuple(parts)
        return super().__new__(cls, items) if all(isinstance(item, Parameter) for item in items) else items

    def clone(self, prefix: str, init: str | Tensor = "same") -> ParameterTuple:
        """Return a copy of each Parameter, whose name begins with `prefix.`

        init  "same" for the same values; otherwise an initialiser or a Tensor with the values
        """
        copies = [parameter.clone(init) for parameter in self]
        for copy in copies:
            copy.name = f"{prefix}.{copy.name}"
        return ParameterTuple(copies)
