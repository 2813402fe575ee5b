"""A writer of programs: networks of cells with hooks of all kinds, registered and removed at any time, checks that fail, and training.

Values keep one shape from cell to cell, so that any cells may follow each other.  The session calls the net several times; between the
calls, and in the middle of them by other hooks, hooks come and go.
"""

from __future__ import annotations

from tests.made_up.choices import Choices
from tests.made_up.observing import numbers
from tests.made_up.program import COPIES, HEAD
from tests.made_up.straight import Lines, Shape, smaller, tensor_of

__all__ = ["written"]

SHAPES: tuple[Shape, ...] = ((3,), (2, 3), (2, 3), (5,), (4, 9), (130,), (6, 65))

OPTIMIZERS = (
    "nn.SGD(net.trainable_params(), 0.1)", "nn.SGD(net.trainable_params(), 0.05, momentum=0.9, nesterov=True)",
    "nn.Momentum(net.trainable_params(), 0.1, 0.9)", "nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=0.01)",
    "nn.Adam(net.trainable_params(), 0.01)", "nn.AdamWeightDecay(net.trainable_params(), 0.01, weight_decay=0.1)",
    "nn.RMSProp(net.trainable_params(), 0.01)", "nn.Adagrad(net.trainable_params(), 0.1)", "nn.AdaMax(net.trainable_params(), 0.01)",
    "nn.Adam(net.trainable_params(), [0.1, 0.05, 0.01])", "nn.Lamb(net.trainable_params(), 0.01)",
    "nn.Momentum(net.trainable_params(), nn.ExponentialDecayLR(0.1, 0.9, 2), 0.9)",
)

CELL_HOOKS = {"forward_pre": "register_forward_pre_hook", "forward": "register_forward_hook",
              "backward_pre": "register_backward_pre_hook", "backward": "register_backward_hook"}


class Writer:
    """Writes one program.

    cells   the names of the cells of the net, as the session reaches them
    shape   the shape of the values that go from cell to cell
    """

    def __init__(self, choices: Choices):
        self.choices, self.one_of, self.chance = choices, choices.one_of, choices.chance
        self.shape: Shape = choices.one_of(*SHAPES)
        self.special = choices.one_of(0, 0, 1, 1, 2)
        self.count = 0
        self.classes: list[str] = []
        self.cells: list[str] = []
        self.hooks: list[str] = []

    def number(self) -> int:
        self.count += 1
        return self.count

    # cells
    def straight_cell(self, name: str) -> list[str]:
        """Return a cell of operators in a row, that gives what has the shape of its argument."""
        shapes = {"w": self.one_of(self.shape, smaller(self.choices, self.shape))}
        lines = Lines(self.choices, {"x": numbers(1, *self.shape)}, {key: numbers(2, *each) for key, each in shapes.items()}, calls=False)
        lines.several(1, 5)
        fitting = lines.pick(lambda x: x.shape == self.shape) or "x"
        last = lines.pick(lambda x: x.shape in ((), (1,), self.shape)) or "x"
        result = fitting if last == fitting else f"{fitting} {self.one_of('+', '*', '-')} {last}"
        result = f"ops.{self.one_of('tanh', 'sin')}({result})" if self.chance(50) else result
        weights = [f"self.{key} = Parameter({tensor_of(self.number(), each)}, name={key!r})" for key, each in shapes.items()]
        return self.class_of(name, weights, [*lines.lines, *self.within("x"), f"return {result}"])

    def dense_cell(self, name: str) -> list[str]:
        """Return a cell with a layer of the library."""
        last = self.shape[-1]
        weight, activation = tensor_of(self.number(), (last, last)), self.one_of("", ", activation='relu'")
        dense = f"nn.Dense({last}, {last}, weight_init={weight}{activation})"
        row = f"nn.SequentialCell([nn.Sigmoid(), {dense}])"
        made = self.one_of(dense, dense, row, f"nn.LayerNorm(({last},))", "nn.ReLU()", "nn.Tanh()", "nn.GELU()")
        if "Dense" in made and len(self.shape) == 1:
            made = "nn.Tanh()"
        end = f"return h {self.one_of('+', '*')} x"
        return self.class_of(name, [f"self.inner = {made}"], ["h = self.inner(x)", *self.within("h"), end])

    def ruled_cell(self, name: str) -> list[str]:
        """Return a cell with a `bprop` of its own."""
        return [*self.class_of(name, [], ["return ops.tanh(x) * 2.0"]),
                "", "    def bprop(self, x, out, dout):", f"        heard({name!r}, x, out, dout)", "        return (dout * 0.5 + x,)"]

    def branching_cell(self, name: str) -> list[str]:
        """Return a cell whose path depends on numbers."""
        body = self.one_of(
            ["if x.sum() > 0:", "    x = x * self.w", "else:", "    x = ops.sin(x)", "return x"],
            ["i = 0", "while i < 3 and ops.abs(x).max() < 4:", "    x = x * 1.5 + self.w", "    i += 1", "return x"],
            ["for i in range(3):", "    x = ops.tanh(x * self.w) + x", "return x"],
            ["for i in range(2):", "    x = x + self.w", "    if x.max() > 2:", "        return x * 0.5", "return x"])
        return self.class_of(name, [f"self.w = Parameter({tensor_of(self.number(), self.shape[-1:])}, name='w')"], body)

    def stateful_cell(self, name: str) -> list[str]:
        """Return a cell that writes a parameter, as a moving average."""
        return self.class_of(name, [f"self.mean = Parameter({tensor_of(self.number(), self.shape)}, name='mean', requires_grad=False)"], [
            f"before = {self.one_of('{}', '{} * 1', '{}.value()', *COPIES).format('self.mean')}",
            self.one_of("self.mean = self.mean * 0.5 + x * 0.5", "ops.assign(self.mean, x * 0.5)",
                        "ops.assign_add(self.mean, ops.stop_gradient(x))", "ops.assign(self.mean, self.mean.value() * 0.5 + x * 0.5)"),
            "return x - before" if self.chance(50) else "return x * self.mean"])

    def checking_cell(self, name: str) -> list[str]:
        """Return a cell that fails on some numbers."""
        checks = self.one_of(
            ['assert ops.abs(x).sum() < 12, "too large"'],
            ["if x.min() < -1.9:", '    raise ValueError("too small")'],
            ["i = ops.floor(ops.abs(x).max()).astype(adjoint.int32)", f"x = x + ops.gather(x, i, {-len(self.shape)})"],
            ["k = (ops.abs(x).reshape(1, -1) * 2).astype(adjoint.int32)[0, :1]", "x = x * ops.cross_entropy(x.reshape(1, -1), k)"])
        return self.class_of(name, [], [*checks, "return x * 1.0"])

    def keeping_cell(self, name: str) -> list[str]:
        """Return a cell that keeps lists: one that it makes in each call, and a memory that it changes in each call."""
        zeros = f"ops.zeros({self.shape})"
        made = ["self.kept = None", f"self.memory = {{'last': [{zeros}, {zeros}], 'calls': 0}}", "self.inner = nn.Tanh()"]
        return self.class_of(name, made, [
            "self.kept = [x * 0.5]", *self.within("x"), "h = self.inner(x)",
            self.one_of("self.kept.append(h)", "self.kept += [h, h * 2]", "kept = self.kept", "self.kept[0] = h"),
            *self.one_of(["if x.sum() > 0:", "    self.kept[0] = h * 0.5"], ["for i in range(2):", "    self.kept.append(h * i)"], []),
            self.one_of("self.memory['last'] = [self.memory['last'][1], h]", "self.memory['last'][0] = h", "self.memory['last'].reverse()"),
            "self.memory['calls'] += 1", "h = self.inner(h + sum(self.kept) * 0.25)",
            self.one_of("self.memory['last'][1] = h + self.memory['last'][0] * 0.5", "self.kept[-1] = self.kept[0] + h"),
            "return h + self.kept[-1] * self.memory['last'][0] * (1 / self.memory['calls'])",
        ])

    def class_of(self, name: str, made: list[str], body: list[str], arguments: str = "x") -> list[str]:
        return [f"class {name}(nn.Cell):", "    def __init__(self):", "        super().__init__()", *(f"        {line}" for line in made),
                "", f"    def construct(self, {arguments}):", *(f"        {line}" for line in body)]

    def within(self, name: str) -> list[str]:
        """Return lines with hooks on a value of parsed code, or prints of it; mostly none."""
        if self.chance(80):
            return []
        if self.chance(25):
            return [f'print("value {self.number()}", {name} * 1, f"{{{name}.sum():.3f}}")']
        hook = f'gradient("value {self.number()}", {self.change()})'
        operator = self.one_of("HookBackward", "InsertGradientOf", "")
        return [f"{name} = ops.{operator}({hook})({name})" if operator else f"{name}.register_hook({hook})"]

    def net(self) -> list[str]:
        """Return the classes of the cells, then that of the net."""
        written, names, made = [], [], []
        for i in range(self.choices.between(1, 4)):
            kind = self.one_of(*[self.straight_cell] * 3, *[self.dense_cell] * 2, self.ruled_cell, self.branching_cell, self.stateful_cell,
                               self.checking_cell, self.keeping_cell)
            name = f"C{i}"
            written += [*kind(name), "", ""]
            made.append(f"self.c{i} = {name}()")
            names.append(f"self.c{i}")
            self.cells.append(f"net.c{i}")
            if kind in (self.dense_cell, self.keeping_cell):
                self.cells.append(f"net.c{i}.inner")
        body = []
        for turn in range(self.choices.between(1, 3)):
            for name in names:
                body += self.one_of(
                    [f"h = {name}(h)"], [f"h = {name}(h)"], [f"h = {name}(h)"], [f"h = h + {name}(h * 0.5)"],
                    [f"if h.sum() > {self.one_of('0', '1')}:", f"    h = {name}(h)"], ["for _ in range(2):", f"    h = {name}(h)"],
                    [f"h = {name}(h) * {name}(b)"], [f"g = {name}(h)", "h = h * g"], []) if turn == 0 or self.chance(30) else []
                body += self.within("h")
        made.append(f"self.w = Parameter({tensor_of(self.number(), self.one_of(self.shape, self.shape[-1:]))}, name='w')")
        result = self.one_of("return h, (h * b).sum()", "return (h * h).mean()", "return h * b", "return h, b * h.sum()")
        self.cells.append("net")
        return [*written, *self.class_of("Net", made, ["h = a * self.w", *body, result], "a, b")]

    # the session
    def change(self) -> str:
        """Return what a hook returns, as `observing.changed` takes it."""
        return self.one_of("None", "None", "None", '"same"', "0.5", "2", "-1.0", "0.0")

    def hook(self) -> list[str]:
        """Return lines that register a hook."""
        number = self.number()
        name = f"hook {number}"
        change = f'ValueError("from {name}")' if self.chance(6) else self.change()
        kind = self.one_of(*CELL_HOOKS, *CELL_HOOKS, "parameter")
        made = f'{"gradient" if kind == "parameter" else kind}("{name}", {change})'
        if self.hooks and self.chance(20):
            made = f"after({self.choices.between(1, 3)}, handles[{self.one_of(*self.hooks)!r}].remove, {made})"
        elif self.chance(12) and kind != "parameter":
            other = self.one_of(*CELL_HOOKS)
            late = f'{self.one_of(*self.cells)}.{CELL_HOOKS[other]}({other}("late {number}", {self.change()}))'
            made = f"after({self.choices.between(1, 2)}, lambda: {late}, {made})"
        self.hooks.append(name)
        if kind == "parameter":
            return [f"hooked = {self.one_of('net.w', '[net.w, *net.trainable_params()][-1]')}",
                    "before, hooked.requires_grad = hooked.requires_grad, True  # one that is frozen takes no hook",
                    f"handles[{name!r}] = hooked.register_hook({made})",
                    "hooked.requires_grad = before"]
        options = ""
        if kind.startswith("forward"):
            options += self.one_of("", "", ", prepend=True") + self.one_of("", "", ", with_kwargs=True")
        if kind == "forward":
            options += self.one_of("", "", ", always_call=True")
        return [f"handles[{name!r}] = {self.one_of(*self.cells)}.{CELL_HOOKS[kind]}({made}{options})"]

    def event(self) -> list[str]:
        """Return lines between two calls."""
        match self.one_of("hook", "hook", "hook", "remove", "nothing", "freeze", "parameter", "train"):
            case "hook":
                return self.hook()
            case "remove" if self.hooks:
                return [f"handles[{self.one_of(*self.hooks)!r}].remove()"]
            case "freeze" if self.chance(30):
                return [f"[net.w, *net.trainable_params()][-1].requires_grad = {self.one_of('False', 'True')}"]
            case "parameter":
                return [f"net.w.set_data(net.w * {self.one_of('0.5', '-1.0', '1.0')})"]
            case "train":
                return [f"net.set_train({self.one_of('True', 'False')})"]
        return []

    def session(self) -> list[str]:
        lines = ["handles = {}"]
        hooked = self.chance(75)
        count = self.choices.between(2, 5)
        for call in range(count):
            for _ in range(self.choices.between(0, 2) if hooked else 0):
                lines += self.event()
            seed = self.one_of(100, 101 + call)
            a, b = tensor_of(seed, self.shape, self.special), tensor_of(seed + 50, self.shape, self.special)
            if hooked and self.chance(10):
                lines += [f"x = {a}", f"x.register_hook(gradient('argument {self.number()}', {self.change()}))"]
                a = "x"
            lines.append(f"call({a}, {b})")
        return ["def session(net, call):", *(f"    {line}" for line in lines)]

    def program(self) -> str:
        """Return the text of the program."""
        lines = [*self.net(), "", "", *self.session()]
        if self.chance(60):
            lines += ["", "", "def optimizer(net):", f"    return {self.one_of(*OPTIMIZERS)}"]
        settings = [f"WRT = {self.one_of('(0, 1)', '(0,)')}", f"ASKED = {('second',) if self.chance(30) else ()}",
                    f"STILL = {not any('.mean' in line or '.memory' in line for line in lines)}"]
        return HEAD + "\n".join([*settings, "", "", *lines]) + "\n"


def written(choices: Choices) -> str:
    """Return the text of a program."""
    return Writer(choices).program()
