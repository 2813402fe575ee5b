"""The ops by name.  The module that defines an op is loaded when the op is looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from adjoint.foundation import lazy

if TYPE_CHECKING:
    from adjoint.ir.op import Op

__all__ = ["Registry"]


class Registry(Mapping[str, "type[Op]"]):
    """All ops by name, first those of this package and then those that a program defines, in the order of their definition.

    Looking an op up loads its module; going through all ops loads all modules.
    """

    def __init__(self) -> None:
        self._present: dict[str, type[Op]] = {}
        self._homes: dict[str, str] = {}
        self._packs: dict[str, Sequence[str]] = {}

    def expect(self, homes: Mapping[str, str], packs: Mapping[str, Sequence[str]]) -> None:
        """Take note of the modules that define ops.

        homes  for the name of each op the full name of its module
        packs  for each pack (kernels that are compiled together) the names of its ops
        """
        self._homes.update(homes)
        self._packs.update(packs)

    def has(self, name: str, module: str) -> bool:
        """Return whether there is an op of this name that another module than `module` defines, or that `module` has defined already."""
        return name in self._present or self._homes.get(name, module) != module

    def expects(self, name: str) -> bool:
        """Return whether the module that defines an op of this name is known."""
        return name in self._homes

    def add(self, kind: type[Op]) -> None:
        """Add an op."""
        self._present[kind.name] = kind

    def remove(self, kind: type[Op]) -> None:
        """Remove an op, if its name still means this class."""
        if self._present.get(kind.name) is kind:
            del self._present[kind.name]
            self._homes.pop(kind.name, None)

    def defined(self) -> list[type[Op]]:
        """Return the ops whose modules are loaded."""
        return [*self._present.values()]

    def of_pack(self, pack: str) -> list[type[Op]]:
        """Return the ops of a pack, in the order of all ops."""
        names = [*self._packs.get(pack, ()), *(name for name in self._present if name not in self._homes)]
        return [kind for kind in map(self.__getitem__, names) if kind.pack == pack]

    def __getitem__(self, name: str) -> type[Op]:
        found = self._present.get(name)
        if found is None:
            if name not in self._homes:
                raise KeyError(name)
            lazy.module(self._homes[name])
            found = self._present[name]
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._present or name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter([*self._homes, *(name for name in self._present if name not in self._homes)])

    def __len__(self) -> int:
        return len({*self._homes, *self._present})
