"""Primitive: an operator as an object, made with its attributes and called on tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjoint.foundation.diagnostics import way_out

__all__ = ["Plain", "Primitive", "constexpr", "plain", "prim_attr_register"]

_ABSENT = object()

INSTEAD = {
    **dict.fromkeys(("infer_shape", "infer_dtype", "infer_value", "do_infer_dtype", "check_shape", "check_dtype"),
                    "the `shape` and `dtype` of the result, or an op as a class, as docs/adding-an-op.md says"),
    "set_hook_fn": "`ops.HookBackward(hook)`",
    **dict.fromkeys(("set_const_prim", "set_const_input_indexes", "set_inplace_prim", "set_prim_type"),
                    "nothing: how an operator is compiled is not said by its object"),
    "set_instance_name": "`set_prim_instance_name`", "side_effect_propagate": "nothing: effects happen in the order of the program",
}
"""What to write instead of members of MindSpore's Primitives that are missing here."""


class Primitive:
    """An operator with attributes; two of one class with equal attributes are equal.

    name   the operator's name, by default that of the class
    attrs  its attributes by name, in the order in which they were given; they are attributes of the object too

    A subclass defines `__call__`.
    """

    def __init__(self, name: str | None = None, **attributes: Any):
        if name is not None and not isinstance(name, str):
            raise TypeError(f"For 'Primitive', the argument 'name' must be a str, but got {name!r} of type {type(name).__name__}.")
        self.name: str = name or type(self).__name__
        self.attrs: dict[str, Any] = {}
        for key, value in attributes.items():
            self.add_prim_attr(key, value)

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Set an attribute; return the operator."""
        if not isinstance(name, str):
            raise TypeError(f"For '{self.name}', the name of an attribute must be a str, but got {name!r} of type {type(name).__name__}.")
        self.attrs[name] = value
        setattr(self, name, value)
        return self

    def del_prim_attr(self, name: str) -> Primitive:
        """Remove an attribute, if there is one of this name; return the operator."""
        if self.attrs.pop(name, _ABSENT) is not _ABSENT:
            self.__dict__.pop(name, None)
        return self

    def add_attr(self, name: str, value: Any) -> None:
        """Set an entry of `attrs` without making it an attribute of the object."""
        if not isinstance(name, str):
            raise self._wrong("add_attr", "name", "a str", name)
        self.attrs[name] = value

    def del_attr(self, name: str) -> None:
        """Remove an attribute, if there is one of this name."""
        self.del_prim_attr(name)

    def get_attr_dict(self) -> dict[str, Any]:
        """Return the attributes by name."""
        return dict(self.attrs)

    def set_user_data(self, key: str, value: Any) -> None:
        """Keep an object with the operator under a name."""
        self.__dict__.setdefault("_user_data", {})[key] = value

    def get_user_data(self, key: str) -> Any:
        """Return what `set_user_data` keeps under a name, or None; RuntimeError if nothing has been kept."""
        if "_user_data" not in self.__dict__:
            raise RuntimeError(f"For '{self.name}.get_user_data', there is no data: 'set_user_data' keeps it.")
        return self.__dict__["_user_data"].get(key)

    def set_signatures(self, signatures: Any) -> None:
        """Accept signatures of MindSpore's, which have no effect: `__call__` says what the operands are brought to."""

    @property
    def update_parameter(self) -> bool:
        """Whether the operator writes its operands: False; those that do say so in their documentation."""
        return False

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Set the attributes `in_strategy` and `out_strategy`, which have no effect: each process holds whole tensors; return the operator.

        TypeError for a strategy that is neither None nor a tuple.
        """
        for name, strategy in (("in_strategy", in_strategy), ("out_strategy", out_strategy)):
            if strategy is not None and not isinstance(strategy, tuple):
                raise self._wrong("shard", name, "a tuple, or None", strategy)
            if strategy is not None:
                self.add_prim_attr(name, strategy)
        return self

    def init_prim_io_names(self, inputs: Any, outputs: Any) -> None:
        """Set the attributes `input_names` and `output_names`, which graphs do not use."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)

    def set_prim_instance_name(self, instance_name: str) -> Primitive:
        """Set the attribute `instance_name` of the object, which graphs do not use; return the operator."""
        if not isinstance(instance_name, str):
            raise self._wrong("set_prim_instance_name", "instance_name", "a str", instance_name)
        self.instance_name = instance_name
        return self

    def check_elim(self, *args: Any) -> tuple[bool, Any]:
        """Return whether the result is known without computing, and the result; (False, None) by default."""
        return False, None

    def recompute(self, mode: bool = True) -> Primitive:
        """Set the attribute `recompute`; return the operator.  Nothing is recomputed: forward values that a gradient needs are kept."""
        if not isinstance(mode, bool):
            raise self._wrong("recompute", "mode", "a bool", mode)
        self.attrs["recompute"] = mode  # not on the object, which would lose this method
        return self

    def set_device(self, device_target: str) -> Primitive:
        """Set the attribute `primitive_target`; return the operator, which runs on the CPU in any case.

        RuntimeError for another name than "CPU", "GPU" and "Ascend".
        """
        if device_target not in ("CPU", "GPU", "Ascend"):
            raise self._wrong("set_device", "device_target", "'CPU', 'GPU' or 'Ascend'", device_target, RuntimeError)
        return self.add_prim_attr("primitive_target", device_target)

    def set_stage(self, stage: int) -> Primitive:
        """Set the attribute `stage`, which has no effect: a process runs the whole network; return the operator."""
        return self.add_prim_attr("stage", stage)

    def place(self, role: str, rank_id: int) -> None:
        """Set the attributes `ms_role` and `rank_id`, which have no effect: an operator runs in the process that calls it.

        ValueError for a role that is not "MS_WORKER" and a negative rank, TypeError for a rank that is not an int.
        """
        if role != "MS_WORKER":
            raise self._wrong("place", "role", "'MS_WORKER'", role, ValueError)
        if not isinstance(rank_id, int) or isinstance(rank_id, bool):
            raise self._wrong("place", "rank_id", "an int", rank_id)
        if rank_id < 0:
            raise self._wrong("place", "rank_id", "at least 0", rank_id, ValueError)
        self.add_prim_attr("ms_role", role)
        self.add_prim_attr("rank_id", rank_id)

    def _wrong(self, method: str, argument: str, expected: str, got: Any, kind: type[Exception] = TypeError) -> Exception:
        return kind(f"For '{self.name}.{method}', the argument '{argument}' must be {expected}, but got {got!r} of type "
                    f"{type(got).__name__}.")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"The primitive {type(self).__name__!r} has no attribute {name!r}.{way_out(INSTEAD, name)}")

    if TYPE_CHECKING:
        __call__: Callable[..., Any]
    else:

        def __call__(self, *operands: Any) -> Any:
            raise NotImplementedError(f"The primitive {self.name!r} cannot be called: its class gives no '__call__'.")

    def __repr__(self) -> str:
        attributes = ", ".join(f"{key}={value}" for key, value in self.attrs.items())
        return f"Prim[{self.name}]" + (f"<{attributes}>" if attributes else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Primitive) and type(self) is type(other) and (self.name, self.attrs) == (other.name, other.attrs)

    def __hash__(self) -> int:
        return hash((type(self), self.name))


class Plain(Primitive):
    """An operator without attributes."""

    def __init__(self, /, *arguments: Any, **named: Any) -> None:
        if arguments or named:
            raise TypeError(f"For '{type(self).__name__}', there is no argument to make the operator with, "
                            f"but got {', '.join([*map(repr, arguments), *(f'{name}={value!r}' for name, value in named.items())])}.")
        super().__init__()


def plain(name: str, function: Callable[..., Any]) -> type[Plain]:
    """Return the class of operators without attributes whose call is that of a function."""
    return type(name, (Plain,), {"__call__": staticmethod(function), "__signature__": _SignatureOfObjects(function),
                                 "__doc__": function.__doc__, "__module__": "adjoint.ops.operations"})


class _SignatureOfObjects:
    """The signature of a static `__call__`: `inspect` treats it as a method's, and drops the first argument."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    def __get__(self, primitive: Primitive | None, kind: type[Primitive]) -> inspect.Signature:
        if primitive is None:
            raise AttributeError("__signature__")  # the class is called with the arguments of its `__init__`
        return inspect.signature(self.function)


def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorate the `__init__` of an operator: its arguments become attributes."""

    @functools.wraps(fn)
    def initialised(self: Primitive, /, *arguments: Any, **named: Any) -> None:
        bound = inspect.signature(fn).bind(self, *arguments, **named)
        bound.apply_defaults()
        Primitive.__init__(self)
        for name, value in list(bound.arguments.items())[1:]:
            self.add_prim_attr(name, value)
        fn(self, *arguments, **named)

    return initialised


def constexpr(fn: Callable[..., Any] | None = None, get_instance: bool = True, name: str | None = None, **options: Any) -> Any:
    """Mark a function of Python numbers that runs at trace time; it is called directly."""
    return fn if fn is not None else lambda function: function
