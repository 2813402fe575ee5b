"""Cell: a part of a network, with parameters, sub-cells, `construct`, hooks, and perhaps a `bprop` of its own."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

from adjoint.foundation.diagnostics import check_flag, way_out
from adjoint.ir.types import BF16, F16, F32, DType
from adjoint.runtime.cells.attributes import Attributes
from adjoint.runtime.cells.calling import EAGER, call
from adjoint.runtime.cells.inputs import declared
from adjoint.runtime.cells.substitutes import ParameterHook, stored, substitute, unchanged
from adjoint.runtime.cells.values import CellValues
from adjoint.runtime.hooks.handles import CellHooks, HookHandle, check_hook, register
from adjoint.runtime.hooks.saved_tensors import saved_tensors_hooks
from adjoint.runtime.process import graph_mode
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.tracer import emitter, state
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple, by_name, has_generated_name
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Cell"]

_OWN = frozenset({"_cells", "_params", "_cell_hooks", "_cell_title"})
_RECOMPUTE_OPTIONS = ("mp_comm_recompute", "parallel_optimizer_comm_recompute", "recompute_slice_activation")
_UNSET = object()

INSTEAD = {
    **dict.fromkeys(("pipeline_stage", "pipeline_segment", "parallel_parameter_merge_net_dict", "parallel_parameter_name_list"),
                    "each process holds the whole network: data parallelism is what is here"),
    **dict.fromkeys(("get_mixed_precision_type", "set_mixed_precision_type"), "`to_float`, or `amp.auto_mixed_precision`"),
    "run_construct": "a call of the cell, or of its `construct`",
    "get_func_graph_proto": "`adjoint dump-ir FILE.py:NAME`, which shows the graph",
    **dict.fromkeys(("compile_cache", "compiled", "compile_phase", "phase_cache"), "`adjoint.jit_stats`, which tells a function's graphs"),
    "jit_config_dict": "`set_jit_config`, whose options have no effect that could be read",
    "enable_backward_hook": "nothing: hooks run when they are registered",
}
"""What to write instead of members of MindSpore's Cell that are missing here."""


class _Title:
    """The attribute `title` of Cells: what a subclass or an instance calls by this name comes before it."""

    def __get__(self, cell: Cell | None, kind: type[Cell]) -> str:
        return "" if cell is None else cell._cell_title


class Cell(CellValues):
    """The base class of every layer and network: subclass it, make sub-cells and Parameters in `__init__`, write `construct`.

    auto_prefix  True if Parameters of sub-cells get the attribute's name in front: `conv1.weight`
    flags        attributes to set, as `add_flags` does

    What a Cell keeps for itself, beyond MindSpore's names, begins with `_cell_`: subclasses may use all other names.
    """

    _cell_hooks: CellHooks | None = None
    title = _Title()
    """The cell's path in its network, such as `block.relu`; for the outermost cell the name of its class.  A subclass may use this name for
    something of its own.
    """

    _cell_title: str = ""
    """The title, whatever a subclass means by `title`."""

    bprop: Callable[..., Any] | None = None

    takes_absent: bool = False
    """True if the cell's `bprop` gets None for the gradient of a result that has none; False if it gets zeros."""

    _cell_inputs: Any = None
    """The inputs that `set_inputs` has declared; None if it has not been called."""

    keeps_parameters: bool = False
    """True if construct itself casts the Parameters when `to_float` asks for another type."""

    _cell_result: DType | None = None
    """The float type to which construct's results are cast if `to_float` asks for another one inside; None for no cast."""

    _cell_substitutes: bool = False
    """True if construct may see other tensors in the place of its Parameters: because of `to_float`, or hooks on Parameters."""

    _cell_parameter_hook: ParameterHook | None = None
    """The hook on the Parameters that have none of their own, while construct runs; None if no Parameter's hook is called."""

    _cell_is_hooked_itself: bool = False
    """True if `_cell_parameter_hook` was registered on this cell, and not on one around it."""

    _cell_called: bool = False
    """True after the first call, which checks the names of the parameters."""

    _cell_direct: bool = False
    """Fast path: True if an eager call need only call construct: not the first call, no hooks, no substitutes."""

    _cell_packing: saved_tensors_hooks | None = None
    """The hooks on the tensors that gradients of ops in construct read; None if it has none."""

    is_list: ClassVar[bool] = False
    """True for a Cell that is not called itself, but holds others: `vmap` of it calls one of them for each example."""

    _cell_watched: frozenset[str] = frozenset()
    """The names of the attributes that graphs read: a change of one of them moves the epoch, a number by which graphs notice changes."""

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        object.__setattr__(made, "__dict__", Attributes())
        return made

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None):
        own = self.__dict__
        own["_cells"], own["_params"] = {}, {}
        if flags is not None and not isinstance(flags, dict):
            raise TypeError(f"For 'Cell', the argument 'flags' must be a dict, but got {flags!r} of type {type(flags).__name__}.")
        self._auto_prefix = bool(auto_prefix)  # any value counts as yes or no: some programs hand on an argument of their own class
        self.training = False
        self.requires_grad = False
        self._cell_compute: DType | None = None
        self._param_prefix = ""
        self._cell_title = type(self).__name__
        if flags:
            self.add_flags(**flags)

    # -- attributes -------------------------------------------------------------------------------------------------
    def __setattr__(self, name: str, value: Any) -> None:
        watched = self._cell_watched
        changed = watched and self.__dict__.get(name, _UNSET) is not value and self._cell_concerns(watched, name, value)
        self._cell_assign(name, value)
        if changed:
            epoch.move(self, name)
        elif epoch.log is not None:
            epoch.log(self, name)

    def _cell_concerns(self, watched: frozenset[str], name: str, value: Any) -> bool:
        """Return True if a graph may depend on the attribute `name`, to which `value` is being assigned.

        watched  the names of attributes that graphs read; graphs also depend on all Parameters, sub-cells and buffers
        """
        own = self.__dict__
        return name in watched or name.startswith("__") or isinstance(value, (Cell, Parameter, ParameterTuple)) \
            or name in own.get("_cells", ()) or name in own.get("_params", ()) or name in self._buffers

    def _cell_assign(self, name: str, value: Any) -> None:
        own = self.__dict__
        if name in self._buffers:
            self._cell_check_buffer(name, value)
        if isinstance(value, Parameter):
            self._cell_adopt_parameter(name, value)
        elif isinstance(value, ParameterTuple):
            self._cell_adopt_parameters(name, value)
            object.__setattr__(self, name, value)
        elif isinstance(value, Cell):
            self._cell_adopt_cell(name, value)
            if own["_auto_prefix"]:
                value.update_parameters_name(name + ".")
        else:
            if "_cells" in own and name not in _OWN and (name in own["_params"] or name in own["_cells"]):
                if isinstance(value, Tensor) and name in own["_params"]:
                    if not stored(self, name, value):
                        own["_params"][name].set_data(value)
                    return
                self._cell_give_up(name, value)
            if name == "__dict__" and isinstance(value, dict):
                value = Attributes.of(value, own)
            object.__setattr__(self, name, value)

    def _cell_give_up(self, name: str, value: Any) -> None:
        """Remove the Parameter or sub-cell with this name, since None is assigned to the attribute; TypeError if `value` is anything else.
        """
        for table, kind in (("_params", "Parameter"), ("_cells", "Cell")):
            if name in self.__dict__[table]:
                if value is not None:
                    raise TypeError(f"For 'Cell', {name!r} is a {kind} of '{type(self).__name__}': it cannot become {value!r} "
                                    f"of type {type(value).__name__}.")
                del self.__dict__[table][name]

    def _cell_adopt_cell(self, name: str, value: Cell) -> None:
        """Register `value` as the sub-cell `name` of this cell, without renaming its Parameters."""
        self._cell_need_init("_cells", name)
        own = self.__dict__
        if name in own["_params"]:
            raise KeyError(f"For 'Cell', {name!r} is a Parameter of '{type(self).__name__}': it cannot become a Cell.")
        own["_cells"][name] = own[name] = value
        if own["_auto_prefix"]:
            value._cell_retitle(f"{self.param_prefix}.{name}" if self.param_prefix else name)

    def _cell_adopt_parameter(self, name: str, value: Parameter) -> None:
        self._cell_need_init("_params", name)
        own = self.__dict__
        if name in own["_cells"]:
            raise KeyError(f"For 'Cell', {name!r} is a sub-cell of '{type(self).__name__}': it cannot become a Parameter.")
        if has_generated_name(value):
            value.name = name
        own["_params"][name] = value
        if not own.get("_cell_substitutes"):
            own[name] = value
        else:
            own.pop(name, None)

    def _cell_adopt_parameters(self, name: str, values: ParameterTuple) -> None:
        """Register the Parameters of a tuple under their own names; unnamed ones become `Parameter$1`, `Parameter$2`, ...

        If another Parameter of the cell has the name already, the key is the position in the tuple, `scales[0]`; the Parameter keeps its
        name.
        """
        self._cell_need_init("_params", name)
        parameters = self.__dict__["_params"]
        for place, value in enumerate(values):
            if has_generated_name(value):
                value.name = f"Parameter${1 + sum(key.startswith('Parameter$') for key in parameters)}"
            beside = parameters.get(value.name, value) is not value
            parameters[f"{name}[{place}]" if beside else value.name] = value

    def _cell_need_init(self, table: str, name: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"For 'Cell', 'super().__init__()' must be called before {name!r} is set in "
                                 f"'{type(self).__name__}'.")

    def __delattr__(self, name: str) -> None:
        own = self.__dict__
        own.get("_cells", {}).pop(name, None)
        parameter = own.get("_params", {}).pop(name, None)
        if name in self._buffers:
            own["_buffers"] = {other: kept for other, kept in self._buffers.items() if other != name}
        if name in own or parameter is None:
            object.__delattr__(self, name)
        epoch.move(self)

    def __getattr__(self, name: str) -> Any:
        parameters = self.__dict__.get("_params", ())
        if name in parameters:
            given = substitute(self, name)
            return parameters[name] if given is None else given
        raise AttributeError(f"The '{type(self).__name__}' object has no attribute '{name}'.{way_out(INSTEAD, name)}")

    def _cell_retitle(self, prefix: str) -> None:
        self._cell_title = prefix
        for name, child in self._cells.items():
            child._cell_retitle(f"{prefix}.{name}")

    # -- running ----------------------------------------------------------------------------------------------------
    def construct(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compute and return the cell's result.  A subclass defines it; calling the cell calls it."""
        raise AttributeError(f"For 'Cell', the method 'construct' is not defined in '{type(self).__name__}'.")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        tracer = state.tracer
        if self._cell_direct and tracer is None and not (graph_mode.mode and not state.eager):
            return self.construct(*args, **kwargs)
        if tracer is not None and tracer.emits is True:
            return tracer.call_cell(self, args, kwargs)
        if not self._cell_called:
            self._cell_begin_calls()
        if graph_mode.mode and not state.eager:
            return graph_mode.run_cell(self, args, kwargs)
        hooks = self._cell_hooks
        return call(EAGER, self, hooks, (args, kwargs)) if hooks else EAGER.construct(self, (args, kwargs))

    def _cell_begin_calls(self) -> None:
        """Prepare for the first call.

        Check that the cell has been initialised, and rename Parameters if two of them have one name.
        """
        if "_params" not in self.__dict__:
            raise AttributeError(f"For 'Cell', 'super().__init__()' must be called in the '__init__' of '{type(self).__name__}'.")
        self._cell_name_apart()
        dict.update(self.__dict__, _cell_called=True, _cell_direct=self._cell_hooks is None and not self._cell_substitutes)

    # -- hooks ------------------------------------------------------------------------------------------------------
    def _cell_slots(self) -> CellHooks:
        self._cell_need_init("_cells", "hook")
        if self._cell_hooks is None:
            self._cell_hooks = CellHooks()
            object.__setattr__(self, "_cell_direct", False)  # bypasses the epoch: no graph depends on it
        return self._cell_hooks

    def register_forward_pre_hook(self, hook_fn: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> HookHandle:
        """Call `hook_fn(cell, args)` before construct; a result other than None becomes the arguments.

        prepend      True: before the hooks that are registered already, not after them
        with_kwargs  True: call `hook_fn(cell, args, kwargs)`; it returns None or (new args, new kwargs)

        Return the handle that removes the hook.
        """
        for name, flag in (("prepend", prepend), ("with_kwargs", with_kwargs)):
            check_flag("register_forward_pre_hook", name, flag)
        return register(self._cell_slots().forward_pre, hook_fn, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self, hook_fn: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        """Call `hook_fn(cell, args, output)` after construct; a result other than None becomes the output.

        prepend      True: before the hooks that are registered already, not after them
        with_kwargs  True: call `hook_fn(cell, args, kwargs, output)`
        always_call  True: call it even if construct raises, with None as the output

        Return the handle that removes the hook.
        """
        for name, flag in (("prepend", prepend), ("with_kwargs", with_kwargs), ("always_call", always_call)):
            check_flag("register_forward_hook", name, flag)
        return register(self._cell_slots().forward, hook_fn, prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call `hook_fn(cell, grad_output)` with the gradients of the cell's results, before they enter the cell.

        A result other than None takes their place.  Return the handle that removes the hook.
        """
        return register(self._cell_slots().backward_pre, hook_fn)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call `hook_fn(cell, grad_input, grad_output)` when the gradients of the cell's arguments, `grad_input`, are complete.

        A result other than None takes their place.  Return the handle that removes the hook.
        """
        return register(self._cell_slots().backward, hook_fn)

    def register_saved_tensors_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Run `construct` inside of `saved_tensors_hooks(pack_hook, unpack_hook)`; hooks that were registered before are replaced.

        TypeError if one of them is not callable.
        """
        self._cell_packing = saved_tensors_hooks(pack_hook, unpack_hook)

    def register_parameter_forward_hook(self, hook: ParameterHook | list[dict[str, Any]]) -> None:
        """Let construct see what a hook returns in the place of Parameters: `hook(parameter)` returns a tensor.

        hook  called with each Parameter of this cell and of the cells below it; or a list of dicts, `{"params": [...], "hook": hook}`, for
            single Parameters.  The hook of a Parameter counts before that of a cell, and that of a cell before those of cells around it

        A hook is called when a cell that has the Parameter is called, before its construct, in every mode; the Parameter has the gradient
        through the hook.  Registering another hook replaces it; `lambda parameter: parameter` changes nothing.  Cells and Parameters that
        are added to the network later are not concerned.  Parameters in a ParameterTuple cannot have a hook.

        TypeError if a hook is not callable or returns no tensor, or "params" holds something else than Parameters; ValueError for a dict
        with other keys.
        """
        graph = emitter()
        if graph is not None:
            raise graph.registered_inside()
        for parameter, own in _hooks_of_parameters(hook):
            parameter.forward_hook = own
        self._cell_is_hooked_itself |= callable(hook)
        self._cell_hook_parameters(hook if callable(hook) else None)

    def _cell_hook_parameters(self, hook: ParameterHook | None) -> None:
        """Register a hook on the Parameters of this cell, and of the cells below it that have none; None: only hooks of Parameters count.
        """
        if hook is not None or self._cell_parameter_hook is None:
            self._cell_parameter_hook = hook or unchanged
        self._cell_substitute()
        for child in self.cells():
            if not child._cell_is_hooked_itself:
                child._cell_hook_parameters(hook)

    # -- parameters and sub-cells -----------------------------------------------------------------------------------
    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield each Parameter once, together with its path of attributes such as `block.conv.weight`.

        name_prefix  the beginning of all paths
        expand       False: only the Parameters of this cell, not those of sub-cells
        """
        seen: set[int] = set()
        for prefix, cell in self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]:
            for name, parameter in cell._params.items():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield (f"{prefix}.{name}" if prefix else name), parameter

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.parameters_and_names(expand=expand):
            yield parameter

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        check_flag("trainable_params", "recurse", recurse)
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        check_flag("untrainable_params", "recurse", recurse)
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """Return the Parameters by their names; RuntimeError if two have one name.

        recurse  False: only those of this cell, not those of sub-cells
        """
        check_flag("parameters_dict", "recurse", recurse)
        return OrderedDict(by_name("parameters_dict", dict(self.parameters_and_names(expand=recurse))))

    def cells(self) -> Iterable[Cell]:
        return OrderedDict((id(cell), cell) for cell in self._cells.values()).values()

    def name_cells(self) -> dict[str, Cell]:
        return OrderedDict(self._cells)

    def cells_and_names(self, cells: set[Cell] | None = None, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """Yield this cell and all cells below it, each once and together with its path of attributes.

        cells        cells to skip; the cells that are visited are added to this set
        name_prefix  the beginning of all paths
        """
        seen = cells if cells is not None else set()
        if self in seen:
            return
        seen.add(self)
        yield name_prefix, self
        for name, child in self._cells.items():
            yield from child.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def get_sub_cell(self, target: str) -> Cell:
        """Return the cell at a path such as "block.0.conv", this cell for ""; AttributeError if there is none."""
        if not isinstance(target, str):
            raise AttributeError(f"For 'get_sub_cell', the argument 'target' must be a str, but got {target!r} of type "
                                 f"{type(target).__name__}.")
        found: Any = self
        for name in target.split(".") if target else ():
            holder, found = found, getattr(found, name, None)
            if not isinstance(found, Cell):
                raise AttributeError(f"For 'get_sub_cell', the argument 'target' must be the path of a Cell, but got {target!r}: "
                                     f"{name!r} of {type(holder).__name__} is {'absent' if found is None else 'no Cell'}.")
        return found

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """Add a sub-cell under a name; KeyError if the name is taken or has a dot, TypeError if the object is not a Cell.

        None is kept as an attribute, whose place a Cell may take later.
        """
        if not isinstance(child_name, str):
            raise TypeError(f"For 'insert_child_to_cell', the argument 'child_name' must be a str, "
                            f"but got {child_name!r} of type {type(child_name).__name__}.")
        if not child_name or "." in child_name:
            raise KeyError(f"For 'insert_child_to_cell', the name must be a non-empty string without a dot, but got {child_name!r}.")
        if child_name in self._cells or hasattr(self, child_name):
            raise KeyError(f"For 'insert_child_to_cell', the {child_name!r} already exists in the Cell.")
        if child_cell is None:
            setattr(self, child_name, None)
            return
        if not isinstance(child_cell, Cell):
            raise TypeError(f"For 'insert_child_to_cell', the argument 'child_cell' must be a Cell or None, "
                            f"but got {type(child_cell).__name__}.")
        self._cell_adopt_cell(child_name, child_cell)
        epoch.move(self)

    def insert_param_to_cell(self, param_name: str, param: Parameter, check_name_contain_dot: bool = True) -> None:
        """Add a Parameter under a name; KeyError if the name is taken or has a dot, TypeError if the object is not a Parameter.

        check_name_contain_dot  False: a dot in the name is allowed
        """
        if not isinstance(param_name, str):
            raise TypeError(f"For 'insert_param_to_cell', the argument 'param_name' must be a str, "
                            f"but got {param_name!r} of type {type(param_name).__name__}.")
        check_flag("insert_param_to_cell", "check_name_contain_dot", check_name_contain_dot)
        if not param_name or (check_name_contain_dot and "." in param_name):
            raise KeyError(f"For 'insert_param_to_cell', the name must be a non-empty string without a dot, but got {param_name!r}.")
        if hasattr(self, param_name) and param_name not in self._params:
            raise KeyError(f"For 'insert_param_to_cell', the {param_name!r} already exists in the Cell.")
        if not isinstance(param, Parameter):
            raise TypeError(f"For 'insert_param_to_cell', the argument 'param' must be a Parameter, but got {type(param).__name__}.")
        self._cell_adopt_parameter(param_name, param)
        epoch.move(self)

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name all Parameters by `prefix` and their paths of attributes.  Those registered by their position in a tuple keep their names.

        recurse  True: also those of all cells below
        """
        check_flag("update_parameters_name", "recurse", recurse)
        if not isinstance(prefix, str):
            raise TypeError(f"For 'update_parameters_name', the argument 'prefix' must be a str, but got {type(prefix).__name__}.")
        for path, parameter in self.parameters_and_names(expand=recurse):
            if not path.endswith("]"):
                parameter.name = prefix + path

    def _cell_name_apart(self) -> None:
        """Rename all Parameters to their paths, such as `block.conv.weight`, if two of them share a name."""
        names = [parameter.name for path, parameter in self.parameters_and_names() if not path.endswith("]")]
        if len(set(names)) < len(names):
            self.update_parameters_name()

    def check_names(self) -> None:
        """Raise ValueError if two parameters share a name."""
        seen: set[str] = set()
        for path, parameter in self.parameters_and_names():
            if parameter.name in seen:
                raise ValueError(f"The value of {path} is {parameter!r}, its name {parameter.name!r} already exists. "
                                 "Please set a unique name for the parameter.")
            seen.add(parameter.name)

    def check_names_and_refresh_name(self) -> None:
        """Name the Parameters by their paths if two share a name, as the first call does; ValueError if two still share one."""
        self._cell_name_apart()
        self.check_names()

    def update_cell_prefix(self) -> None:
        """Do nothing: `param_prefix` follows the attributes at any time."""

    @property
    def param_prefix(self) -> str:
        """Return the path of attributes with which the names of this cell's Parameters begin; "" for the outermost cell."""
        return "" if self._cell_title == type(self).__name__ else self._cell_title

    @property
    def parameter_layout_dict(self) -> dict[str, Any]:
        return {}

    @property
    def cls_name(self) -> str:
        return type(self).__name__

    def generate_scope(self) -> None:
        """Set for every cell below this one what `get_scope` returns."""
        for name, child in self._cells.items():
            child._set_scope(f"Default/{name}-{child.cls_name}")

    def _set_scope(self, scope: str) -> None:
        dict.__setitem__(self.__dict__, "_scope", scope)
        for name, child in self._cells.items():
            child._set_scope(f"{scope}/{name}-{child.cls_name}")

    def get_scope(self) -> str | None:
        """Return the path of attributes and classes, such as "Default/block-SequentialCell/0-Dense"; None before `generate_scope`."""
        return self.__dict__.get("_scope")

    def parameters_broadcast_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """Return the trainable Parameters that are not `layerwise_parallel`, by name."""
        return OrderedDict((p.name, p) for p in self.trainable_params(recurse) if not p.layerwise_parallel)

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Return a mapping from each Parameter to itself: Parameters hold their data from the start."""
        return {p: p for p in self.get_parameters()}

    # -- modes ------------------------------------------------------------------------------------------------------
    def set_train(self, mode: bool = True) -> Cell:
        """Set `training` on this cell and all cells below it."""
        if not isinstance(mode, (bool, int)) or mode not in (True, False):
            raise TypeError(f"For 'set_train', the argument 'mode' must be a bool, but got {mode!r} of type {type(mode).__name__}.")
        phase = "train" if mode else "predict"
        for _, cell in self.cells_and_names():
            cell.training = bool(mode)
            if cell.__dict__.get("_phase") != phase:  # otherwise the epoch would move without a change
                cell.phase = phase
        return self

    @property
    def phase(self) -> str:
        """Return the name of the mode: "train" or "predict", set by `set_train` or by assignment; "train" for a new cell."""
        return self.__dict__.get("_phase", "train")

    @phase.setter
    def phase(self, phase: str) -> None:
        self.__dict__["_phase"] = phase

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Store `requires_grad` for MindSpore's scripts; it has no effect: the arguments of `grad` select the gradients."""
        self.requires_grad = requires_grad
        return self

    def offload(self, backward_prefetch: str | int = "Auto") -> None:
        """Accept MindSpore's option, without effect: what the gradient needs stays in the CPU's memory, where it is computed.

        ValueError for a str other than "Auto" and an int below 0, TypeError for another type.
        """
        if isinstance(backward_prefetch, bool) or not isinstance(backward_prefetch, (str, int)):
            raise TypeError(f"For 'Cell.offload', the argument 'backward_prefetch' must be 'Auto' or an int, but got {backward_prefetch!r} "
                            f"of type {type(backward_prefetch).__name__}.")
        if backward_prefetch != "Auto" and (isinstance(backward_prefetch, str) or backward_prefetch < 0):
            raise ValueError(f"For 'Cell.offload', the argument 'backward_prefetch' must be 'Auto' or at least 0, "
                             f"but got {backward_prefetch!r}.")

    def set_boost(self, boost_type: str) -> Cell:
        """Set the flag of an algorithm of MindSpore's, without effect; ValueError for one that is not "less_bn"."""
        if boost_type != "less_bn":
            raise ValueError(f"For 'set_boost', the argument 'boost_type' must be 'less_bn', but got {boost_type!r}.")
        return self.add_flags_recursive(less_bn=True)

    def set_broadcast_flag(self, mode: bool = True) -> Cell:
        """Set the flag `broadcast_flag` on this cell and all below it, without effect: a process begins with the parameters it makes."""
        return self.add_flags_recursive(broadcast_flag=mode)

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Cell:
        """Set `comm_fusion` of the trainable Parameters, without effect: gradients of all are exchanged together."""
        if not isinstance(fusion_type, int) or isinstance(fusion_type, bool):
            raise TypeError(f"For 'set_comm_fusion', the argument 'fusion_type' must be an int, but got {fusion_type!r} of type "
                            f"{type(fusion_type).__name__}.")
        if fusion_type < 0:
            raise ValueError(f"For 'set_comm_fusion', the argument 'fusion_type' must be at least 0, but got {fusion_type}.")
        for parameter in self.trainable_params(recurse):
            parameter.comm_fusion = fusion_type
        return self

    def set_data_parallel(self) -> None:
        """Do nothing: each process computes the whole cell."""

    def shard(self, in_strategy: Any, out_strategy: Any = None, parameter_plan: Any = None) -> None:
        """Accept how MindSpore would spread the cell over devices, without effect: each process computes the whole cell."""

    def recompute(self, /, **kwargs: Any) -> None:
        """Accept and check MindSpore's options.  Nothing is recomputed: forward values are kept, and construct and its hooks run once.

        ValueError for options that MindSpore does not know.
        """
        for name in kwargs:
            if name not in _RECOMPUTE_OPTIONS:
                raise ValueError(f"For 'recompute', keyword '{name}' is not recognized! the key kwargs must be "
                                 f"{', '.join(map(repr, _RECOMPUTE_OPTIONS))}.")

    def add_flags(self, /, **flags: Any) -> Cell:
        """Set attributes, by name and value; `get_flags` returns them."""
        for name, value in flags.items():
            setattr(self, name, value)
        self._flags = {**self.get_flags(), **flags}
        return self

    def add_flags_recursive(self, /, **flags: Any) -> Cell:
        """Set attributes, by name and value, on this cell and all cells below it."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """Return the attributes that `add_flags` set."""
        return dict(self.__dict__.get("_flags", {}))

    def compile_and_run(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return what a call returns; `jit` and GRAPH_MODE decide whether it is computed as a graph."""
        return self(*args, **kwargs)

    def cast_inputs(self, inputs: Any, dst_type: Any) -> None:
        """Do nothing, as in MindSpore 2.10; `to_float` casts."""

    def remove_redundant_parameters(self) -> None:
        """Do nothing, as in MindSpore 2.10."""

    def update_cell_type(self, cell_type: Any) -> None:
        """Do nothing: cells are not changed when they are called."""

    def compile(self, /, *args: Any, **kwargs: Any) -> None:
        """Do nothing; the method exists for MindSpore's scripts.  A graph is made at the first call."""

    def apply(self, fn: Callable[[Cell], Any]) -> Cell:
        """Call `fn` on every cell below this one, and then on this one."""
        if not callable(fn):
            raise TypeError(f"For 'apply', the argument 'fn' must be a function, but got {fn!r} of type {type(fn).__name__}.")
        for child in self.cells():
            child.apply(fn)
        fn(self)
        return self

    def to_float(self, dst_type: DType) -> Cell:
        """Compute this cell and all cells below it in `dst_type`: floating inputs and Parameters are cast to it inside of construct.

        The result is not cast back.  Hooks see the arguments and results without the cast.  A write to a Parameter in construct changes the
        Parameter itself.

        Return the cell itself.
        """
        if not isinstance(dst_type, DType) or dst_type not in (F16, F32, BF16):
            raise ValueError(f"For 'to_float', the argument 'dst_type' must be float32, float16 or bfloat16, but got {dst_type}.")
        for _, cell in self.cells_and_names():
            cell._cell_compute = dst_type
            if cell._cell_result is not None:
                cell._cell_result = None
            cell._cell_substitute()
        return self

    def _cell_substitute(self) -> None:
        """Let construct see substitutes of its Parameters from now on."""
        self._cell_substitutes = True
        object.__setattr__(self, "_cell_direct", False)
        # They are found by `__getattr__`, since they depend on the thread that reads the attribute.
        for name, parameter in self._params.items():
            if self.__dict__.get(name) is parameter:
                del self.__dict__[name]

    def set_inputs(self, /, *inputs: Any, **kwargs: Any) -> None:
        """Declare the types of construct's arguments: all of them, or some by name.

        A tensor declares its dtype and shape, `Tensor(shape=[3, None], dtype=float32)` any size of the second axis; any other value
        declares itself.  A later call that runs as a graph is checked against this: TypeError for a tensor of another dtype, and where only
        one of the two is a tensor; ValueError for another shape or number, and for another count of arguments.

        `set_inputs` itself raises ValueError for positional and named inputs at once, and for an unknown name; TypeError for named inputs
        if construct has `*args` or `**kwargs`, and in graph mode for more or fewer positional inputs than construct takes.
        """
        self._cell_inputs = declared(self.construct, inputs, kwargs)

    def get_inputs(self) -> Any:
        """Return the inputs that `set_inputs` declared; None before."""
        return self._cell_inputs

    def set_jit_config(self, jit_config: Any) -> None:
        """Store the configuration for MindSpore's scripts; it has no effect: there is only one way of running a graph."""
        self._jit_config = jit_config

    # -- display ----------------------------------------------------------------------------------------------------
    def extend_repr(self) -> str:
        """Return the text that `repr` shows for this cell before its sub-cells; a subclass overrides it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extend_repr()
        if not self._cells:
            return f"{type(self).__name__}({extra})" if extra else f"{type(self).__name__}()"
        lines = [f"({name}): {_indented(repr(child))}" for name, child in self._cells.items()]
        body = "\n  ".join([*([extra] if extra else []), *lines])
        return f"{type(self).__name__}(\n  {body}\n)"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __deepcopy__(self, memo: dict[int, Any]) -> Cell:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        graph = emitter()
        if graph is not None:
            graph.new_cell(copied)
        copied.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return copied

    def __getstate__(self) -> dict[str, Any]:
        if self._cell_hooks is not None:
            self._cell_hooks.check_pickling(self)
        return {name: value for name, value in self.__dict__.items() if name != "_cell_watched"}  # no graph depends on the copy

    def __setstate__(self, state_: dict[str, Any]) -> None:
        self.__dict__.update(state_)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _hooks_of_parameters(hook: object) -> list[tuple[Parameter, ParameterHook]]:
    """Return the single Parameters that get a hook by `register_parameter_forward_hook(hook)`; raise for what it does not take."""
    if callable(hook):
        check_hook(hook)
        return []
    if not isinstance(hook, list):
        raise TypeError(f"Hook must be a callable function or a list of dictionaries, but got {type(hook)}.")
    found: list[tuple[Parameter, ParameterHook]] = []
    for item in hook:
        if not isinstance(item, dict):
            raise TypeError(f"Each item in the hook list must be a dictionary, but got {type(item)}.")
        if not ("params" in item and "hook" in item):
            raise ValueError(f"Each dictionary in the hook list must contain both params and hook keys, but got {list(item)}.")
        if not callable(item["hook"]):
            raise TypeError(f"The hook value must be callable, but got {type(item['hook'])}.")
        check_hook(item["hook"])
        for parameter in item["params"]:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"All items in params must be of type 'Parameter', but got {type(parameter)}.")
            found.append((parameter, item["hook"]))
    return found
