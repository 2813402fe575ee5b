"""The values of a cell by their paths: buffers, `state_dict` and `load_state_dict`, and conversion to another dtype."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from adjoint.foundation.diagnostics import check_flag
from adjoint.ir.types import DType
from adjoint.runtime.hooks.handles import HookHandle, HookList, check_hook
from adjoint.runtime.process.context import check_device
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["CellValues"]


_EXTRA = "_extra_state"
"""The name under which `state_dict` has the extra state of a cell."""


class IncompatibleKeys(NamedTuple):
    """The result of `load_state_dict`.

    missing_keys     the paths that the cell has and the dict of values lacks
    unexpected_keys  the paths that only the dict has
    """

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class CellValues:
    """The part of `Cell` for buffers, and for reading and setting all values by their paths."""

    _buffers: Mapping[str, bool] = {}
    """For each buffer, by the attribute's name, True if `state_dict` includes it."""

    _cells: dict[str, Any]
    _params: dict[str, Parameter]

    # -- buffers ----------------------------------------------------------------------------------------------------
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that belongs to the cell's state but is not a Parameter, such as a running mean.

        persistent  True if `state_dict` includes it

        Write to it with `ops.assign`; the attribute itself can only be replaced by None.  TypeError for a name that is not a str, and for a
        value that is neither Tensor nor None; KeyError for a name that is empty, has a dot, or is taken.
        """
        if not isinstance(name, str):
            raise TypeError(f"For 'register_buffer', the argument 'name' must be a str, but got {name!r} of type {type(name).__name__}.")
        check_flag("register_buffer", "persistent", persistent)
        if not name or "." in name:
            raise KeyError(f"For 'register_buffer', the name must be a non-empty string without a dot, but got {name!r}.")
        if name not in self._buffers and hasattr(self, name):
            raise KeyError(f"For 'register_buffer', the attribute {name!r} already exists in '{type(self).__name__}'.")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"For 'register_buffer', the argument 'tensor' must be a Tensor or None, but got {tensor!r} "
                            f"of type {type(tensor).__name__}.")
        own = self.__dict__
        own["_buffers"] = {**self._buffers, name: persistent}
        own[name] = tensor
        epoch.move(self)

    def _cell_check_buffer(self, name: str, value: Any) -> None:
        """Raise TypeError unless `value` may be assigned to the buffer `name`: only None may."""
        if value is not None:
            raise TypeError(f"For 'Cell', {name!r} is a buffer of '{type(self).__name__}': it cannot become {value!r} of type "
                            f"{type(value).__name__}. Write into it with `ops.assign(self.{name}, value)`.")

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers (tensors of the state that are no Parameters), each together with its path.

        prefix            the beginning of all paths
        recurse           True: those of all cells below this one, too
        remove_duplicate  True: each buffer once, even if several cells have it
        """
        seen: set[int] = set()
        for path, cell in self._cell_paths(prefix) if recurse else [(prefix, self)]:
            for name in cell._buffers:
                value = cell.__dict__[name]
                if value is not None and not (remove_duplicate and id(value) in seen):
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers (tensors of the state that are no Parameters) of this cell and, if `recurse` is True, of all cells below it."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a path such as `block.mean`; AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        cell: Any = self
        for part in filter(None, path.split(".")):
            if part not in cell._cells:
                raise AttributeError(f"'{type(cell).__name__}' has no sub-cell {part!r}, looking for the buffer {target!r}.")
            cell = cell._cells[part]
        if name not in cell._buffers:
            raise AttributeError(f"'{type(cell).__name__}' has no buffer {name!r}; it has {list(cell._buffers)}.")
        return cell.__dict__[name]

    def _cell_paths(self, path: str) -> Iterator[tuple[str, CellValues]]:
        """Yield this cell and all cells below it, each together with its path.  A cell used in several places appears at each."""
        yield path, self
        for name, child in self._cells.items():
            yield from child._cell_paths(f"{path}.{name}" if path else name)

    # -- all values -------------------------------------------------------------------------------------------------
    def state_dict(
        self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """Return the Parameters and persistent buffers themselves, not copies, and what `get_extra_state` of cells returns, by their paths.

        destination  a dict to put them into
        prefix       a str put before each path
        keep_vars    given to hooks; the values are the same ones in any case
        """
        given = dict(zip(("destination", "prefix", "keep_vars"), args))
        destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
        found: dict[str, Tensor] = OrderedDict() if destination is None else destination
        self._cell_save(found, prefix, given.get("keep_vars", keep_vars))
        return found

    def get_extra_state(self) -> Any:
        """Return what `state_dict` includes besides Parameters and buffers, under `_extra_state`.

        A subclass that has such state defines this method together with `set_extra_state`; otherwise RuntimeError.
        """
        raise RuntimeError(f"For 'Cell.get_extra_state', '{type(self).__name__}' has no state besides Parameters and buffers: define "
                           "'get_extra_state' and 'set_extra_state' in the class if it has.")

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` returned, when `load_state_dict` sets the values.  A subclass defines it; otherwise RuntimeError."""
        raise RuntimeError(f"For 'Cell.set_extra_state', '{type(self).__name__}' has no state besides Parameters and buffers: define "
                           "'get_extra_state' and 'set_extra_state' in the class if it has.")

    def _cell_own_values(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the Parameters and persistent buffers of this cell, not those of sub-cells, by their names."""
        yield from self._params.items()
        yield from ((name, self.__dict__[name]) for name, kept in self._buffers.items() if kept and self.__dict__[name] is not None)

    def _cell_values(self) -> dict[str, Tensor]:
        """Return what `state_dict` returns, without calling hooks."""
        return {f"{path}.{name}" if path else name: value for path, cell in self._cell_paths("") for name, value in cell._cell_own_values()}

    def _cell_save(self, found: dict[str, Tensor], start: str, keep_vars: bool) -> None:
        """Put the values of this cell and of all below it into a dict, and call the hooks that are registered for it.

        start  the beginning of the paths of this cell's values
        """
        for hook in self._cell_registered("state_dict_pre"):
            hook(self, start, keep_vars)
        if type(self).get_extra_state is not CellValues.get_extra_state:
            found[f"{start}{_EXTRA}"] = self.get_extra_state()
        found.update((f"{start}{name}", value) for name, value in self._cell_own_values())
        for name, child in self._cells.items():
            child._cell_save(found, f"{start}{name}.", keep_vars)
        for hook in self._cell_registered("state_dict_post"):
            if hook(self, found, start, {}) is not None:
                raise RuntimeError("For 'Cell.state_dict', a hook of 'register_state_dict_post_hook' must return None.")

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Set Parameters and buffers to the values at their paths; each keeps its dtype.  Give `set_extra_state` of cells what is theirs.

        strict  True: RuntimeError if a path is missing in `state_dict` or unexpected there

        Return the missing paths and the unexpected ones.

        TypeError if `state_dict` is not a dict.  RuntimeError for a value that is not a Tensor or has another shape.  After an error
        nothing is changed, unless a hook of `register_load_state_dict_post_hook` has seen the values.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"For 'load_state_dict', the argument 'state_dict' must be a dict, but got {state_dict!r} "
                            f"of type {type(state_dict).__name__}.")
        check_flag("load_state_dict", "strict", strict)
        own = self._cell_values()
        paths = list(self._cell_paths(""))
        wrong: list[str] = []
        keys = IncompatibleKeys([], [])
        given = OrderedDict(state_dict)
        for path, cell in paths:
            for hook in cell._cell_registered("load_state_dict_pre"):
                self._cell_call_pre_hook(hook, cell, given, f"{path}." if path else "", strict, keys, wrong)
        extra = {f"{path}.{_EXTRA}" if path else _EXTRA: cell for path, cell in paths
                 if type(cell).set_extra_state is not CellValues.set_extra_state}
        keys.missing_keys.extend(key for key in (*own, *extra) if key not in given)
        keys.unexpected_keys.extend(key for key in given if key not in own and key not in extra)
        watched = [(cell, hook) for _, cell in reversed(paths) for hook in cell._cell_registered("load_state_dict_post")]
        for key in own.keys() & given.keys():
            value = given[key]
            if not isinstance(value, Tensor):
                wrong.append(f"{key!r} must be a Tensor, but got {type(value).__name__}.")
            elif value.shape != own[key].shape:
                wrong.append(f"{key!r} must have shape {own[key].shape}, but got {value.shape}.")
        self._cell_check_loaded(wrong, keys, strict and not watched)
        for key, value in own.items():
            if key in given:
                value.overwrite(given[key].astype(value.dtype))
        for key, cell in extra.items():
            if key in given:
                cell.set_extra_state(given[key])
        for cell, hook in watched:
            if hook(cell, keys) is not None:
                raise RuntimeError("For 'Cell.load_state_dict', a hook of 'register_load_state_dict_post_hook' must return None: it may "
                                   "change the lists of keys.")
        self._cell_check_loaded([], keys, strict)
        return keys

    def _cell_check_loaded(self, wrong: list[str], keys: IncompatibleKeys, strict: bool) -> None:
        """Raise RuntimeError if there is something wrong with values, or, if `strict` is True, with keys."""
        apart = [f"{kind} key(s) in state_dict: {', '.join(map(repr, found))}."
                 for kind, found in (("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys)) if strict and found]
        if apart or wrong:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(apart + wrong))

    @staticmethod
    def _cell_call_pre_hook(
        hook: Callable[..., Any], cell: CellValues, given: dict[str, Any], start: str, strict: bool, keys: IncompatibleKeys,
        wrong: list[str],
    ) -> None:
        """Call a hook with the values of its cell, which it may change.

        given  all values, by their paths
        start  the beginning of the paths of the cell's values
        wrong  messages of errors
        """
        part = OrderedDict((key, value) for key, value in given.items() if key.startswith(start))
        before = set(part)
        hook(cell, part, start, {}, strict, keys.missing_keys, keys.unexpected_keys, wrong)
        for key in before - part.keys():
            del given[key]
        given.update(part)

    # -- hooks on values --------------------------------------------------------------------------------------------
    def _cell_registered(self, kind: str) -> Iterator[Callable[..., Any]]:
        found: HookList | None = self.__dict__.get("_value_hooks", {}).get(kind)
        return iter(()) if not found else found.firing()

    def _cell_register(self, kind: str, hook: Callable[..., Any]) -> HookHandle:
        check_hook(hook)
        functions = self.__dict__.setdefault("_value_hooks", {}).setdefault(kind, HookList())
        handle = HookHandle(functions)
        functions.add(hook, handle)
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, prefix, keep_vars)` before `state_dict` takes this cell's values.  Return the handle that removes the hook."""
        return self._cell_register("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, state_dict, prefix, local_metadata)` when `state_dict` has the values of this cell and of all below it.

        The hook may change the dict, which has the values taken before as well; `local_metadata` is an empty dict.  It returns None.
        Return the handle that removes the hook.
        """
        return self._cell_register("state_dict_post", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call a hook before `load_state_dict` sets values, with eight arguments: `hook(cell, state_dict, prefix, local_metadata, strict,
        missing_keys, unexpected_keys, error_msgs)`.

        state_dict      the values whose paths begin with `prefix`, which the hook may change
        local_metadata  an empty dict
        error_msgs      a list; `load_state_dict` raises RuntimeError with what the hook appends to it

        Return the handle that removes the hook.
        """
        return self._cell_register("load_state_dict_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, incompatible_keys)` when `load_state_dict` has set the values.

        The hook may change the lists `missing_keys` and `unexpected_keys`, of which a strict `load_state_dict` then complains.  It returns
        None.  Return the handle that removes the hook.
        """
        return self._cell_register("load_state_dict_post", hook)

    def to_empty(self, *, device: str | None = None, recurse: bool = True) -> Self:
        """Set the Parameters and buffers to zeros, on a device, "CPU".

        recurse  True: also those of all cells below

        Return the cell.
        """
        check_flag("Cell.to_empty", "recurse", recurse)
        if device is not None:
            check_device(device)
        for _, cell in self._cell_paths("") if recurse else [("", self)]:
            for value in (*cell._params.values(), *(cell.__dict__[name] for name in cell._buffers)):
                if value is not None:
                    value.overwrite(Tensor(shape=value.shape, dtype=value.dtype))
        return self

    def to(self, /, *args: Any, **kwargs: Any) -> Self:
        """Convert the floating Parameters and buffers of this cell and all cells below it: `to(ms.float16)`, `to("CPU", ms.float16)`.

        A device is checked as `set_device` checks it.  TypeError for another argument, and for a dtype that is not floating.
        """
        dtypes: list[DType] = []
        for value in (*args, *kwargs.values()):
            if isinstance(value, str):
                check_device(value)
            elif isinstance(value, DType) and value.is_float:
                dtypes.append(value)
            elif not isinstance(value, bool):
                raise TypeError(f"For 'Cell.to', the arguments must be a floating dtype or the name of a device, but got {value} "
                                f"of type {type(value).__name__}.")
        for dtype in dtypes:
            for value in self._cell_values().values():
                if value.dtype.is_float and value.dtype is not dtype:
                    Tensor.set_data(value, value.astype(dtype))
        return self
