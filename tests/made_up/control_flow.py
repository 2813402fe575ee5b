"""A writer of programs: nested statements of a small grammar on vectors, scalars and numbers, in the construct of one Cell."""

from __future__ import annotations

from tests.made_up.choices import Choices
from tests.made_up.program import COPIES, HEAD

__all__ = ["written"]

NET = HEAD + '''
WRT = (0, 1)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([0.5, -0.25, 1.5]), name="w")
        self.b = Parameter(Tensor(0.75), name="b")

    def construct(self, x, y, n):
        x, y = x * 1, y * 1
        self.kept = [x, x * 2]
'''

CALLS = '''

def session(net, call):
    call(Tensor([1.0, -2.0, 0.5]), Tensor(0.25), 2)
    call(Tensor([-0.5, 0.75, 0.125]), Tensor(-1.5), 3)
    call(Tensor([1.0, -2.0, 0.5]), Tensor(0.25), 2)
'''

MADE_IN_IT = (
    "ops.Tanh()({})", "nn.Sigmoid()({})", '{{"tanh": ops.Tanh(), "relu": ops.ReLU()}}["tanh"]({})', "[ops.Neg(), ops.Abs()][{2} % 2]({0})",
    "({1} + ops.ReduceSum(True)({0}, -1))", "ops.Concat(0)(({0}[:1], {1}[1:]))", 'nn.L1Loss("none")({}, {})',
    "ops.Cast()({}, adjoint.float32)",
    "ops.GradOperation()(lambda v: (ops.tanh(v) * {1}).sum())({0})", "adjoint.grad(lambda v, w={1}: (v * v * w).sum())({0})",
    "(lambda v, k={2}: v * k)({0})", "functools.partial(ops.mul, {})({})", "adjoint.jit(lambda v: v * {1})({0})",
    "nn.SequentialCell([nn.Tanh(), nn.ReLU()])({})",
)
"""Calls of what is made in the same expression: operators, layers, losses, functions, gradients."""

VECTOR, SCALAR, NUMBER, LIST, QUEUE = "vector", "scalar", "number", "list", "queue"


class Writer:
    """Writes the statements of one function.

    names  the names that have a value, with their kinds; `outer`: those of the functions around
    maybe  names that have a value on some paths
    kept   a list that is kept outside
    """

    kept: tuple[str, ...] = ("self.kept",)

    def __init__(self, choices: Choices):
        self.choices, self.one_of, self.chance = choices, choices.one_of, choices.chance
        self.lines: list[str] = []
        self.names: dict[str, str] = {"x": VECTOR, "y": SCALAR, "n": NUMBER, **dict.fromkeys(self.kept, LIST)}
        self.outer: dict[str, str] = {}
        self.maybe: dict[str, str] = {}
        self.functions: list[str] = []
        self.count = 0
        self.inner = False

    def name(self, kind: str) -> str | None:
        """Return a name of a kind; rarely one that may have no value."""
        fitting = [name for name, k in {**self.outer, **self.names}.items() if k == kind]
        doubtful = [name for name, k in self.maybe.items() if k == kind]
        if doubtful and self.chance(4):
            return self.one_of(*doubtful)
        return self.one_of(*fitting) if fitting else None

    def target(self, kind: str) -> str:
        """Return a name to assign: one of this function, or a new one."""
        own = [name for name, k in self.names.items() if k == kind]
        if own and self.chance(70):
            return self.one_of(*own)
        self.count += 1
        return f"{kind[0]}{self.count}"

    # expressions
    def vector(self, depth: int = 0) -> str:
        kinds = ["name", "name", "parameter", "constant", "copy"]
        if depth < 2:
            kinds += ["sum", "product", "scaled", "tanh", "minus", "choice", "list", "queue", "call", "logic", "slice", "comprehension",
                      "made", "made", "made"]
        match self.one_of(*kinds):
            case "sum":
                return f"({self.vector(depth + 1)} {self.one_of('+', '-')} {self.one_of(self.vector, self.scalar)(depth + 1)})"
            case "product":
                return f"({self.vector(depth + 1)} * {self.one_of(self.vector, self.scalar)(depth + 1)})"
            case "scaled":
                return f"({self.vector(depth + 1)} * {self.number()})"
            case "tanh":
                return f"ops.tanh({self.vector(depth + 1)})"
            case "minus":
                return f"-{self.vector(depth + 1)}"
            case "choice":
                return f"({self.vector(depth + 1)} if {self.condition()} else {self.vector(depth + 1)})"
            case "list" if (name := self.name(LIST)):
                return self.one_of(f"{name}[0]", f"{name}[-1]", f"sum({name})", f"sum(v * i for i, v in enumerate({name}))")
            case "queue" if (name := self.name(QUEUE)):
                return self.one_of(f"{name}[0]", f"{name}[-1]", f"sum({name})")
            case "comprehension":
                test = self.one_of("i != 1", "i < n", "n > i > 0")
                return f"sum([{self.vector(depth + 1)} * i for i in range(3) if {test}], {self.vector(depth + 1)})"
            case "call" if self.functions:
                return f"{self.one_of(*self.functions)}({self.vector(depth + 1)})"
            case "logic":
                return f"({self.scalar(depth + 1)} {self.one_of('and', 'or')} {self.scalar(depth + 1)}) * {self.name(VECTOR)}"
            case "slice":
                return f"ops.tanh({self.name(VECTOR)})[::-1]"
            case "made":
                return self.one_of(*MADE_IN_IT).format(self.vector(depth + 1), self.name(VECTOR) or "x", self.name(NUMBER) or "n")
            case "parameter":
                return "self.w"
            case "copy":
                copied = self.one_of(*COPIES).format(self.one_of("self.w", "self.w", "self.w.value()", self.name(VECTOR)))
                return f"({copied} * 1)"  # a copy that is a Parameter on one path only is a Tensor in a graph
            case "constant":
                return "Tensor([0.5, -1.0, 2.0])"
        return self.name(VECTOR) or "x"

    def scalar(self, depth: int = 0) -> str:
        kinds = ["name", "name", "item", "parameter"]
        if depth < 2:
            kinds += ["sum", "plus", "product", "number", "choice", "extreme"]
        match self.one_of(*kinds):
            case "item":
                return f"{self.name(VECTOR)}[{self.one_of(0, 1, -1)}]"
            case "parameter":
                return "self.b"
            case "sum":
                return f"{self.vector(depth + 1)}.sum()"
            case "plus":
                return f"({self.scalar(depth + 1)} {self.one_of('+', '-')} {self.scalar(depth + 1)})"
            case "product":
                return f"({self.scalar(depth + 1)} * {self.scalar(depth + 1)})"
            case "number":
                return f"({self.scalar(depth + 1)} * {self.number()})"
            case "choice":
                return f"({self.scalar(depth + 1)} if {self.condition()} else {self.scalar(depth + 1)})"
            case "extreme":
                return f"{self.one_of('max', 'min')}({self.scalar(depth + 1)}, {self.scalar(depth + 1)})"
        return self.name(SCALAR) or "y"

    def number(self) -> str:
        name = self.name(NUMBER) or "n"
        return self.one_of("0.5", "2", "-1.25", "3", name, f"({name} + 1)", f"({name} - 1)", f"({name} * 2)", f"-{name}", f"({name} % 3)",
                           f"({name} // 2)")

    def condition(self, depth: int = 0) -> str:
        kinds = ["tensor", "tensor", "tensor", "number", "chain"]
        if depth < 1:
            kinds += ["and", "or", "not", "truth"]
        compare = self.one_of("<", ">", "<=", ">=")
        match self.one_of(*kinds):
            case "tensor":
                return f"{self.scalar(1)} {compare} {self.one_of('0', '0.5', '1', self.name(SCALAR))}"
            case "number":
                return f"{self.number()} {compare} {self.one_of('0', '1', '2')}"
            case "chain":
                return f"-1 < {self.scalar(2)} {compare} {self.one_of('2', self.name(SCALAR))}"
            case "and":
                return f"({self.condition(1)} and {self.condition(1)})"
            case "or":
                return f"({self.condition(1)} or {self.condition(1)})"
            case "not":
                return f"not {self.condition(1)}"
        return self.one_of(self.name(SCALAR), self.name(NUMBER), self.name(LIST)) or "y"

    # statements
    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def branch(self, indent: int, depth: int, in_loop: bool) -> dict[str, str]:
        """Write a block whose new names are local to it; return the names after it."""
        before = dict(self.names)
        self.block(indent, depth, in_loop)
        after, self.names = self.names, before
        return after

    def after(self, *ends: dict[str, str]) -> None:
        """Update the names after branches: a name that only some of them assign may have no value."""
        for name, kind in {name: kind for end in ends for name, kind in end.items()}.items():
            if all(name in end for end in ends):
                self.names[name] = kind
            elif name not in self.names:
                self.maybe[name] = kind
        for name in self.names:
            self.maybe.pop(name, None)

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        start = len(self.lines)
        for _ in range(self.choices.between(1, 4) if depth else self.choices.between(5, 11)):
            if self.statement(indent, depth, in_loop):
                break
        if len(self.lines) == start:
            self.line(indent, "pass")

    def statement(self, indent: int, depth: int, in_loop: bool) -> bool:
        """Write one statement; return whether the statements after it are unreachable."""
        kinds = ["vector", "vector", "scalar", "number", "augmented", "item", "changed item", "print", "swap", "list", "queue", "alias",
                 "write", "hook"]
        if depth < 3:
            kinds += ["if", "if", "if", "if", "match", "for", "for", "while", "while", "while"]
        if depth < 2 and not self.inner:
            kinds += ["function", "function"]
        if depth and in_loop:
            kinds += ["leave", "leave"]
        if depth and not self.inner:
            kinds += ["return"]
        match self.one_of(*kinds):
            case "vector":
                self.assign(indent, VECTOR, self.vector())
            case "scalar":
                self.assign(indent, SCALAR, self.scalar())
            case "number":
                self.assign(indent, NUMBER, self.number())
            case "augmented":
                kind = self.one_of(VECTOR, SCALAR, NUMBER)
                own = [name for name, k in self.names.items() if k == kind]
                if own:
                    value = {VECTOR: self.vector, SCALAR: self.scalar, NUMBER: lambda depth: self.one_of("1", "2")}[kind](1)
                    self.line(indent, f"{self.one_of(*own)} {self.one_of('+=', '-=')} {value}")
            case "item":
                where = self.one_of("0", "1", "-1", "1:", "n % 3")
                self.line(indent, f"{self.name(VECTOR)}[{where}] = {self.scalar(1)}")
            case "changed item":
                where = self.one_of("0", "-1", "1:", "::2", "n % 3")
                self.line(indent, f"{self.name(VECTOR)}[{where}] {self.one_of('+=', '-=', '*=')} {self.scalar(1)}")
            case "print":
                kind = self.one_of(VECTOR, SCALAR, NUMBER)
                self.line(indent, f'print("at", {self.name(kind)}, f"{{{self.name(NUMBER)}}}")')
            case "swap":
                kind = self.one_of(VECTOR, SCALAR, NUMBER)
                own = [name for name, k in self.names.items() if k == kind]
                if len(own) > 1:
                    a, b = own[-1], self.one_of(*own[:-1])
                    self.line(indent, f"{a}, {b} = {b}, {a}")
            case "list":
                name = self.name(LIST)
                if name is None or self.chance(30):
                    self.assign(indent, LIST, f"[{self.vector(1)}, {self.vector(1)}]")
                else:
                    self.line(indent, self.one_of(f"{name}.append({self.vector(1)})", f"{name}[0] = {self.vector(1)}", f"{name}.reverse()"))
            case "queue":
                name = self.name(QUEUE)
                if name is None or self.chance(30):
                    self.assign(indent, QUEUE, f"deque([{self.vector(1)}, {self.vector(1)}], maxlen=2)")
                else:
                    self.line(indent, self.one_of(
                        f"{name}.append({self.vector(1)})", f"{name}.append({name}.popleft())", f"{name}.appendleft({self.vector(1)})",
                        f"{name}.rotate(1)", f"{name}[0] = {self.vector(1)}", f"{name}[-1][0] = {self.scalar(1)}"))
            case "alias":
                kind = self.one_of(VECTOR, SCALAR, LIST)
                name = self.name(kind)
                if name is not None:
                    self.assign(indent, kind, name)
            case "write":
                self.line(indent, self.one_of(f"self.w = {self.vector(1)} * 1", f"ops.assign(self.b, {self.scalar(1)})"))
            case "hook":
                self.count += 1
                name = self.one_of("x", self.name(VECTOR), self.name(SCALAR))
                self.line(indent, f'{name}.register_hook(gradient("hook {self.count}", 0.5))')
            case "if":
                self.if_(indent, depth, in_loop)
            case "match":
                self.match_(indent, depth, in_loop)
            case "for":
                self.for_(indent, depth)
            case "while":
                self.while_(indent, depth)
            case "function":
                self.function(indent, depth)
            case "leave":
                self.line(indent, self.one_of("break", "continue"))
                return True
            case "return":
                self.line(indent, f"return {self.vector()}, {self.scalar()}")
                return True
        return False

    def assign(self, indent: int, kind: str, value: str) -> None:
        name = self.target(kind)
        self.line(indent, f"{name} = {value}")
        self.names[name] = kind
        self.maybe.pop(name, None)

    def if_(self, indent: int, depth: int, in_loop: bool) -> None:
        self.line(indent, f"if {self.condition()}:")
        ends = [self.branch(indent + 1, depth + 1, in_loop)]
        if self.chance(20):
            self.line(indent, f"elif {self.condition()}:")
            ends.append(self.branch(indent + 1, depth + 1, in_loop))
        if self.chance(50):
            self.line(indent, "else:")
            ends.append(self.branch(indent + 1, depth + 1, in_loop))
        else:
            ends.append(dict(self.names))
        self.after(*ends)

    def match_(self, indent: int, depth: int, in_loop: bool) -> None:
        self.line(indent, f"match {self.one_of(self.number(), self.scalar(1))}:")
        ends: list[dict[str, str]] = []
        for pattern in (self.one_of("0", "2", "-1 | 1 | 3"), f"case_{len(self.lines)} if {self.condition(1)}", "_"):
            self.line(indent + 1, f"case {pattern}:")
            ends.append(self.branch(indent + 2, depth + 1, in_loop))
        self.after(*ends)

    def for_(self, indent: int, depth: int) -> None:
        self.count += 1
        number = f"i{self.count}"
        over, variable, kind = self.one_of(
            ("range(3)", number, NUMBER), ("range(n)", number, NUMBER), ("range(5, 0, -2)", number, NUMBER), ("range(0)", number, NUMBER),
            ("range(18)", number, NUMBER),
            (f"range(int(ops.tanh({self.name(SCALAR)}) * 3))", number, NUMBER), (self.name(VECTOR), f"r{self.count}", SCALAR),
            (self.name(LIST) or "range(2)", f"e{self.count}", VECTOR if self.name(LIST) else NUMBER))
        if kind == VECTOR and not any(k == LIST for k in {**self.outer, **self.names}.values()):
            over, kind = "(x, x * 2)", VECTOR
        if over.startswith("l") or over in self.kept or over in self.maybe:
            over = f"list({over})"
        before = dict(self.names)
        self.line(indent, f"for {variable} in {over}:")
        self.names[variable] = kind
        end = self.branch(indent + 1, depth + 1, True)
        self.names = before
        self.otherwise(indent, depth)
        self.after(self.names, end)

    def while_(self, indent: int, depth: int) -> None:
        self.count += 1
        counter = f"k{self.count}"
        self.line(indent, f"{counter} = 0")
        self.names[counter] = "counter"
        before = dict(self.names)
        test = f"{counter} < {self.one_of(3, 5)}"
        if self.chance(70):
            test = self.one_of(f"{self.condition(1)} and {test}", f"{test} and {self.condition(1)}")
        self.line(indent, f"while {test}:")
        self.line(indent + 1, f"{counter} += 1")
        end = self.branch(indent + 1, depth + 1, True)
        self.names = before
        self.otherwise(indent, depth)
        self.after(self.names, end)
        self.names[counter] = NUMBER

    def otherwise(self, indent: int, depth: int) -> None:
        if self.chance(15):
            self.line(indent, "else:")
            end = self.branch(indent + 1, depth + 1, False)
            self.after(self.names, end)

    def function(self, indent: int, depth: int) -> None:
        self.count += 1
        name = f"f{self.count}"
        inner = Writer(self.choices)
        inner.kept = self.kept
        inner.lines, inner.count, inner.functions = self.lines, self.count, list(self.functions)
        inner.outer = {n: k for n, k in {**self.outer, **self.names}.items() if k != "counter"}
        inner.names = {f"a{self.count}": VECTOR, **dict.fromkeys(self.kept, LIST)}
        inner.inner = True
        self.line(indent, f"def {name}(a{self.count}):")
        shared = [n for n, k in self.names.items() if k in (VECTOR, SCALAR, NUMBER) and n not in ("x", "y", "n")]
        if shared and self.chance(50):
            changed = self.one_of(*shared)
            kind = self.names[changed]
            self.line(indent + 1, f"nonlocal {changed}")
            self.line(indent + 1, f"{changed} = {changed} {self.one_of('+', '*')} {'2' if kind == NUMBER else '0.5'}")
        inner.block(indent + 1, depth + 1, False)
        if self.chance(30):
            self.line(indent + 1, f"if {inner.condition()}:")
            self.line(indent + 2, f"return {inner.vector(1)}")
        self.line(indent + 1, f"return {inner.vector(1)}")
        self.count = inner.count
        self.functions.append(name)


def written(choices: Choices) -> str:
    """Return the text of a program."""
    writer = Writer(choices)
    writer.block(2, 0, False)
    writer.line(2, f"return {writer.vector()}, {writer.scalar()}")
    return NET + "\n".join(writer.lines) + "\n" + CALLS
