"""The whole step of an optimiser, for all of its parameters, as one procedure.

In eager mode the updates of all parameters run by one C call.  The procedure is traced when a step or two with gradients of the same types
have been taken op by op, so that a program which takes only one does not pay for it.  It is used for as long as what it was traced from is
unchanged: the optimiser's attributes, the methods of its class, the types of the tensors that it reads and writes, and names of parameters
that decide whether they decay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from adjoint.ir.types import DType, TensorType, scalar
from adjoint.runtime.execution.procedures import Procedure, traced
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["TracedSteps"]

_METHODS = ("construct", "begin", "step")
_MOST = 16
"""How often a procedure is traced: an optimiser whose attributes change all the time runs op by op after that."""
_NUMBERS = (bool, int, float, str)


class Steps(Protocol):
    """What is called of an optimiser."""

    def _check(self, gradients: tuple[Any, ...]) -> None: ...
    def _computes_settings(self) -> bool: ...
    def _settings_keys(self) -> Sequence[tuple[Any, DType]]: ...
    def _settings(self) -> Mapping[Any, tuple[Tensor, Tensor]]: ...
    def _update(self, gradients: Sequence[Tensor], settings: Any) -> None: ...
    def _chosen_by_name(self) -> Sequence[Parameter]: ...


class TracedSteps:
    """The procedures of one optimiser."""

    def __init__(self) -> None:
        self._known: dict[tuple[TensorType, ...], _WholeStep | None] = {}
        self._refused: set[tuple[TensorType, ...]] = set()
        self._traced = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> TracedSteps:
        return TracedSteps()

    def __reduce__(self) -> Any:
        return TracedSteps, ()

    def take(self, optimizer: Steps, gradients: Any) -> bool:
        """Take a step; return False, having done nothing, if it must be taken op by op."""
        if gradients.__class__ is not tuple and gradients.__class__ is not list:
            return False
        types = tuple([x.type for x in gradients if x.__class__ is Tensor])
        if len(types) != len(gradients):
            return False  # another kind of tensor, such as a Parameter that the step itself would write
        known = self._known.get(types)
        if known is None or not known.holds(optimizer):
            known = self._next(optimizer, types)
            if known is None:
                return False
        known.run(optimizer, gradients)
        return True

    def _next(self, optimizer: Steps, types: tuple[TensorType, ...]) -> _WholeStep | None:
        """Return a new procedure; None if it is the first step with gradients of these types, or cannot be one procedure."""
        if types not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
                self._refused.clear()
            self._known[types] = None
            return None
        if self._traced >= _MOST or types in self._refused or not _is_library_code(optimizer):
            return None
        self._traced += 1
        try:
            made = self._known[types] = _WholeStep(optimizer, types)
        except Exception:  # if something is wrong with the call, the step that is taken op by op says it
            self._refused.add(types)
            return None
        return made


def _is_library_code(optimizer: Steps) -> bool:
    """Return True if the step runs no code of the user's but learning rates and weight decays."""
    own = optimizer.__dict__
    return all(getattr(type(optimizer), name).__module__.startswith("adjoint.") and name not in own for name in _METHODS)


class _WholeStep:
    """A step with gradients of certain types, traced, and what it was traced from."""

    def __init__(self, optimizer: Steps, types: Sequence[TensorType]):
        own: Any = optimizer.__dict__
        own.watch()  # from here on the epoch moves when an attribute of the optimiser changes
        self.epoch = epoch.now
        self.attributes = _attributes(optimizer)
        self.methods = tuple(getattr(type(optimizer), name) for name in _METHODS)
        self.names = [(parameter, parameter.name) for parameter in optimizer._chosen_by_name()]
        self.dynamic = optimizer._computes_settings()
        keys = optimizer._settings_keys() if self.dynamic else []
        count = len(types)

        def code(given: Sequence[Tensor]) -> None:
            gradients, settings = tuple(given[:count]), given[count:]
            optimizer._check(gradients)
            pairs = zip(keys, zip(settings[::2], settings[1::2], strict=True), strict=True)
            optimizer._update(gradients, dict(pairs) if self.dynamic else optimizer._settings())

        self.procedure: Procedure = traced(code, [*types, *(scalar(dtype) for _, dtype in keys for _ in range(2))])

    def holds(self, optimizer: Steps) -> bool:
        """Return True if everything that it was traced from is unchanged."""
        cls: Any = optimizer.__class__
        if (cls.construct, cls.begin, cls.step) != self.methods:
            return False
        for parameter, name in self.names:
            if parameter.name != name:
                return False
        now = epoch.now
        if now != self.epoch:
            if not (self.procedure.fits() and _same(self.attributes, _attributes(optimizer))):
                return False
            self.epoch = now
        return True

    def run(self, optimizer: Steps, gradients: Sequence[Tensor]) -> None:
        if self.dynamic:
            gradients = [*gradients, *(x for pair in optimizer._settings().values() for x in pair)]
        self.procedure.run(gradients)


def _attributes(optimizer: Steps) -> dict[Any, Any]:
    """Return all attributes of an optimiser, its Parameters under keys of their own."""
    own = optimizer.__dict__
    return {**{name: x for name, x in own.items() if name != "_whole"}, **{(name,): x for name, x in own["_params"].items()}}


def _same(before: dict[Any, Any], now: dict[Any, Any]) -> bool:
    """Return True if attributes are the same objects, or equal numbers."""
    if before.keys() != now.keys():
        return False
    for name, x in before.items():
        y = now[name]
        if x is not y and not (x.__class__ is y.__class__ and x.__class__ in _NUMBERS and x == y):
            return False
    return True
