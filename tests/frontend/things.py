"""A user's object whose methods and operators change it.

The lines that change something end in `# here`: if the object is from outside, these are the lines with the error.
"""

from __future__ import annotations

from typing import Any


class Thing:
    """An object with attributes, containers, a property, a method and operators."""

    made = 0
    table: dict[str, int] = {}

    fresh: Any

    def __init__(self, n: int = 0) -> None:
        self.n = n
        self.items = [1, [2], {"deep": [3]}]
        self.hidden = 0

    @property
    def level(self) -> int:
        return self.hidden

    @level.setter
    def level(self, to: int) -> None:
        self.hidden = to  # here

    def count(self) -> int:
        self.n += 1  # here
        return self.n

    def __iadd__(self, other: int) -> Thing:
        self.n += other  # here
        return self

    def __setitem__(self, name: str, to: int) -> None:
        self.table[name] = to  # here

    def __getitem__(self, name: str) -> int:
        return self.table[name]
