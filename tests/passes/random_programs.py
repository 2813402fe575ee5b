"""Random programs over f64[2], as IR text: nested control flow, cells, hooks anywhere."""

from __future__ import annotations

import numpy as np

HOSTS = ("a", "b", "c", "d")


class Writer:
    """Writes one random program.

    strict  leaves are read once, before all else: callbacks of leaves run in reverse order of first use, whatever the path
    named   what a region yields and what a loop starts with is made for that and used nowhere else: a value that passes
            through a region has one name, and sums are added up in the same order as by eager execution
    """

    def __init__(self, seed: int, hooks: bool = True, strict: bool = True, depth: int = 3, named: bool | None = None):
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.count = 0
        self.hooks = hooks
        self.strict = strict
        self.named = strict if named is None else named
        self.depth = depth

    def program(self) -> str:
        self.lines = ["param @w : f64[2]", "param @v : f64[2]", *(f'host @{h} = "t:{h}"' for h in HOSTS)]
        self.lines.append("func @f(x: f64[2], y: f64[2], n: i64, c: bool, d: bool) -> f64[2] {")
        scope, flags = ["x", "y"], ["c", "d"]
        if self.strict:
            for symbol in "wv":
                scope.append(self.name())
                self.emit(0, f"{scope[-1]}: f64[2] = read @{symbol}")
            for value in tuple(scope):
                scope.append(self.name())
                self.emit(0, f"{scope[-1]}: f64[2] = sin({value})")
            if not self.named:
                del scope[:4]  # else a leaf is used first where a loop begins with it
        self.block(scope, flags, 0, int(self.rng.integers(3, 7)))
        self.lines.append(f"  return {self.last(scope, 1)}")
        self.lines.append("}")
        return "\n".join(self.lines)

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def pick(self, scope: list[str]) -> str:
        # Later values more often, so that most of what is computed is used.
        return scope[max(0, len(scope) - 1 - int(self.rng.geometric(0.35)) + 1)]

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("  " * (depth + 1) + text)

    def last(self, scope: list[str], depth: int) -> str:
        name = self.name()
        self.emit(depth - 1, f"{name}: f64[2] = {self.expression(scope)}")
        return name

    def expression(self, scope: list[str]) -> str:
        match self.rng.integers(0, 6):
            case 0 | 1:
                return f"mul({self.pick(scope)}, {self.pick(scope)})"
            case 2:
                return f"add({self.pick(scope)}, {self.pick(scope)})"
            case 3:
                return f"sub({self.pick(scope)}, {self.pick(scope)})"
            case 4:
                return f"tanh({self.pick(scope)})"
            case _:
                return f"sin({self.pick(scope)})"

    def carried(self, scope: list[str], depth: int) -> str:
        return self.last(scope, depth + 1) if self.named else self.pick(scope)

    def yielded(self, scope: list[str], depth: int) -> str:
        return self.last(scope, depth + 1) if self.named else self.pick(scope)

    def block(self, scope: list[str], flags: list[str], depth: int, length: int) -> None:
        for _ in range(length):
            kind = int(self.rng.integers(0, 14 if depth < self.depth else 8))
            name = self.name()
            if kind < 5:
                self.emit(depth, f"{name}: f64[2] = {self.expression(scope)}")
                scope.append(name)
            elif kind == 5:
                self.emit(depth, f"{name}: f64[2] = read @{self.rng.choice(['w', 'v'])}")
                scope.append(name)
            elif kind == 6 and self.hooks:
                self.emit(depth, f"attach! @{self.rng.choice(HOSTS)}({self.pick(scope)})")
            elif kind == 7 and self.hooks:
                self.emit(depth, f'{name}: f64[2] = hook @{self.rng.choice(HOSTS)}({self.pick(scope)}, kind="value")')
                scope.append(name)
            elif kind in (8, 9):
                self.choice(scope, flags, depth)
            elif kind in (10, 11):
                self.loop(scope, flags, depth)
            elif kind == 12:
                self.repeat(scope, flags, depth)
            elif kind == 13:
                self.cell(scope, flags, depth)

    def size(self) -> int:
        return int(self.rng.integers(1, 4))

    def choice(self, scope: list[str], flags: list[str], depth: int) -> None:
        names = [self.name() for _ in range(int(self.rng.integers(1, 3)))]
        flag = self.rng.choice(flags)
        self.emit(depth, ", ".join(f"{n}: f64[2]" for n in names) + f" = if {flag} {{")
        for side in range(2):
            inner = list(scope)
            self.block(inner, list(flags), depth + 1, self.size())
            self.emit(depth + 1, "yield " + ", ".join(self.yielded(inner, depth + 1) for _ in names))
            self.emit(depth, "} else {" if side == 0 else "}")
        scope += names

    def loop(self, scope: list[str], flags: list[str], depth: int) -> None:
        names = [self.name() for _ in range(int(self.rng.integers(1, 3)))]
        carried = [self.name() for _ in names]
        start = [self.carried(scope, depth) for _ in names]
        index, flag = self.name(), self.name()
        bounds = ["0, n, 1", "0, 3, 1", "0, 0, 1", "2, -1, -1"][int(self.rng.integers(0, 4))]
        bindings = ", ".join(f"{p}: f64[2] = {s}" for p, s in zip(carried, start))
        self.emit(depth, ", ".join(f"{n}: f64[2]" for n in names) + f" = for {index} in range({bounds}) carry ({bindings}) {{")
        self.emit(depth + 1, f"{flag}: bool = greater({index}, 0_i64)")
        inner = [*scope, *carried]
        self.block(inner, [*flags, flag], depth + 1, self.size())
        self.emit(depth + 1, "yield " + ", ".join(self.yielded(inner, depth + 1) for _ in names))
        self.emit(depth, "}")
        scope += names

    def repeat(self, scope: list[str], flags: list[str], depth: int) -> None:
        name, count, param, k, test, one, flag = (self.name() for _ in range(7))
        start = self.carried(scope, depth)
        limit = int(self.rng.integers(0, 4))
        self.emit(depth, f"{name}: f64[2], {count}: i64 = while carry ({param}: f64[2] = {start}, {k}: i64 = 0_i64) test {{")
        self.emit(depth + 1, f"{test}: bool = less({k}, {limit}_i64)")
        self.emit(depth + 1, f"yield {test}")
        self.emit(depth, "} do {")
        self.emit(depth + 1, f"{flag}: bool = greater({k}, 0_i64)")
        inner = [*scope, param]
        self.block(inner, [*flags, flag], depth + 1, self.size())
        self.emit(depth + 1, f"{one}: i64 = add({k}, 1_i64)")
        self.emit(depth + 1, f"yield {self.yielded(inner, depth + 1)}, {one}")
        self.emit(depth, "}")
        scope.append(name)

    def cell(self, scope: list[str], flags: list[str], depth: int) -> None:
        name, param = self.name(), self.name()
        hook = f" with @{self.rng.choice(HOSTS)}" if self.hooks and self.rng.integers(0, 2) else ""
        argument = self.pick(scope)
        self.emit(depth, f'{name}: f64[2] = cell "net"{hook} carry ({param}: f64[2] = {argument}) {{')
        inner = [*scope, param, param]
        self.block(inner, list(flags), depth + 1, self.size())
        self.emit(depth + 1, f"yield {self.yielded(inner, depth + 1)}")
        self.emit(depth, "}")
        scope.append(name)
        if self.hooks and self.rng.integers(0, 2):
            after = self.name()
            self.emit(depth, f"{after}: f64[2] = outputs @{self.rng.choice(HOSTS)}({name})")
            scope.append(after)
