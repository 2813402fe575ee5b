"""Random modules, valid by construction, for hypothesis: every form of the language, with unusual names and locations."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from adjoint.foundation.diagnostics import UNKNOWN, At, Derived, Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Host, Literal, Module, Region, Value
from adjoint.ir.op import registry
from adjoint.ir.types import BOOL, DTYPES, F32, I64, StackType, TensorType, Type, scalar, stack_of, symbol, tensor, tuple_of

HINTS = st.one_of(
    st.sampled_from(
        ["h", "h'", "h.1", "h.1'", "h'.1", "x", "v", "", "for", "f32", "at", "stack", "true", "inf_f32", "nan", "größe", "λ", "1x", "a b",
         "sum", "none", "unknown", "²", "h.x", "_", "return.1"]
    ),
    st.text(max_size=4),
)
FILES = st.one_of(
    st.sampled_from(["net.py", "a b.py", 'q".py', "C:\\x\\net.py", "<text>", "dir/naïve.py", "#x", "", "a,b(c).py", "é:3"]),
    st.text(),
)
SYMBOLS = st.one_of(
    st.sampled_from(["w", "f", "f.grad", "net.0.weight", "0.bias", "a b", "x/y", "f'", "@", '"', "日本"]), st.text(min_size=1, max_size=5)
)
TENSORS = [scalar(F32), scalar(BOOL), scalar(I64), tensor(F32, (symbol("b"), 3)), tensor(F32, (2 * symbol("b") + 1,)), tensor(F32, (0, 2))]
TYPES = st.sampled_from([*TENSORS, stack_of(scalar(F32)), tuple_of(()), tuple_of((scalar(F32), stack_of(scalar(I64))))])
ATTRIBUTES = {"kind": st.sampled_from(["value", "gradient"])}


@st.composite
def locations(draw: st.DrawFn, depth: int = 2) -> Loc:
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return UNKNOWN
    if kind == 1 and depth:
        of = tuple(draw(st.lists(locations(depth - 1), max_size=2)))
        return Derived(draw(st.sampled_from(["grad", "inline", "if"])), of, draw(st.sampled_from(["", "sum", "callback!", "if"])))
    return At(draw(FILES), draw(st.integers(0, 10**6)), draw(st.integers(0, 10**4)))


@st.composite
def literals(draw: st.DrawFn, dtypes: Sequence[str] = tuple(DTYPES)) -> Literal:
    dtype = DTYPES[draw(st.sampled_from(dtypes))]
    if dtype.kind == "b":
        return Literal(draw(st.booleans()), scalar(dtype))
    if dtype.is_float:
        return Literal(draw(st.floats()), scalar(dtype))
    if dtype.is_complex:
        return Literal(complex(draw(st.floats()), draw(st.floats())), scalar(dtype))
    bits = 8 * dtype.size
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.kind == "i" else (0, 2**bits - 1)
    return Literal(draw(st.integers(low, high)), scalar(dtype))


class _Maker:
    """Makes one function; each stack is used at most once."""

    def __init__(self, draw: st.DrawFn, module: Module):
        self.draw, self.module = draw, module

    def region(self, visible: list[Value], wanted: Sequence[Type | None], params: Sequence[Value] = (), depth: int = 2) -> Region:
        """Make a region that yields values of the wanted types; None is any."""
        b = Builder()
        seen = [*visible, *params]
        for _ in range(self.draw(st.integers(0, 3))):
            self.node(b, seen, depth)
        results = [self.atom(b, seen, self.draw(TYPES) if type_ is None else type_) for type_ in wanted]
        return b.finish(results, params, self.draw(locations()))

    def atom(self, b: Builder, seen: list[Value], type_: Type) -> Atom:
        """Return a value or literal of a type; a new value if there is none."""
        if isinstance(type_, TensorType) and type_.rank == 0 and self.draw(st.booleans()):
            return self.draw(literals([type_.dtype.name]))
        fitting = [value for value in seen if value.type is type_]
        if fitting and not isinstance(type_, StackType):
            return self.draw(st.sampled_from(fitting))
        op = registry()["stack" if isinstance(type_, StackType) else "undef"](results=(type_,))
        return b.emit(op, hint=self.draw(HINTS), loc=self.draw(locations()))

    def node(self, b: Builder, seen: list[Value], depth: int) -> None:
        draw = self.draw
        forms = ["apply!", "hook", "attach!", "read", "write!", "call", "push", "add"]
        forms += ["if", "for", "while", "cell", "gradient", "record"] if depth else []
        name = draw(st.sampled_from(forms))
        make = registry()[name]
        loc = draw(locations())
        host = draw(st.sampled_from(list(self.module.hosts)))
        param = draw(st.sampled_from(list(self.module.params)))
        regions: list[Region] = []
        operands: list[Atom] = []
        match name:
            case "apply!":
                op = make(symbol=host, results=tuple(draw(st.lists(TYPES, max_size=3))))
                operands = [self.atom(b, seen, t) for t in draw(st.lists(TYPES, max_size=3))]
            case "hook":
                op = make(symbol=host, kind=draw(ATTRIBUTES["kind"]))
                operands = [self.atom(b, seen, t) for t in draw(st.lists(TYPES, max_size=2))]
            case "attach!":
                op, operands = make(symbol=host), [self.atom(b, seen, draw(TYPES))]
            case "read":
                op = make(symbol=param, results=(self.module.params[param],))
            case "write!":
                op, operands = make(symbol=param), [self.atom(b, seen, self.module.params[param])]
            case "call":
                callee = draw(st.sampled_from(list(self.module.functions.values()))) if self.module.functions else None
                if callee is None:
                    return
                op = make(symbol=callee.symbol, results=callee.result_types)
                operands = [self.atom(b, seen, p.type) for p in callee.params]
            case "push":
                op, operands = make(), [self.atom(b, seen, t) for t in (stack_of(scalar(F32)), scalar(F32))]
            case "add":
                op, operands = make(), [self.atom(b, seen, t) for t in (tensor(F32, (symbol("b"), 3)), scalar(F32))]
            case "if":
                op, operands = make(), [self.atom(b, seen, scalar(BOOL))]
                wanted = draw(st.lists(TYPES, max_size=2))
                regions = [self.region(seen, wanted, depth=depth - 1) for _ in range(2)]
            case "gradient" | "record":
                by = draw(st.sampled_from([(), (param,)]))
                outputs = draw(st.lists(st.sampled_from(TENSORS), min_size=1, max_size=3))
                of = draw(st.integers(1, len(outputs)))
                op = make(of=of, by=by, weights=tuple(self.module.params[symbol] for symbol in by))
                taken = draw(st.lists(st.sampled_from(TENSORS), max_size=2))
                operands = [self.atom(b, seen, t) for t in (*taken, *(outputs[:of] if name == "gradient" and draw(st.booleans()) else ()))]
                params = [Value(t, draw(HINTS)) for t in taken]
                regions = [self.region(seen, [*outputs, *draw(st.lists(TYPES, max_size=1))], params, depth - 1)]
            case _:
                carried = draw(st.lists(TYPES, max_size=2))
                operands = [self.atom(b, seen, t) for t in carried]
                params = [Value(t, draw(HINTS)) for t in carried]
                if name == "for":
                    op = make()
                    operands = [self.atom(b, seen, scalar(I64)) for _ in range(3)] + operands
                    params.insert(0, Value(scalar(I64), draw(HINTS)))
                    regions = [self.region(seen, carried, params, depth - 1)]
                elif name == "while":
                    op = make()
                    regions = [self.region(seen, [scalar(BOOL)], params, depth - 1), self.region(seen, carried, params, depth - 1)]
                else:
                    rule = draw(st.sampled_from(["", host]))
                    op = make(title=draw(st.text(max_size=5)), symbol=draw(st.sampled_from(["", host])), rule=rule,
                              residuals=draw(st.integers(0, 2)))
                    regions = [self.region(seen, draw(st.lists(TYPES, max_size=2)), params, depth - 1)]
        node = b.emit_node(op, operands, regions=regions, loc=loc)
        for value in node.results:
            value.hint = draw(HINTS)
        seen.extend(node.results)


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """Draw a module with parameters, hosts and functions; later functions may call earlier ones."""
    names = draw(st.lists(SYMBOLS, min_size=4, max_size=6, unique=True))
    host, param, *functions = names
    module = Module({param: tensor(F32, (4, 3))}, {host: Host(draw(st.text(max_size=8)), draw(locations()))})
    for name in functions:
        params = [Value(type_, draw(HINTS)) for type_ in draw(st.lists(TYPES, max_size=3))]
        maker = _Maker(draw, module)
        body = maker.region([], draw(st.lists(st.none(), max_size=3)), params)
        vjp = draw(st.sampled_from([None, *module.functions]))
        module = module.with_function(Function(name, body, vjp, draw(locations())))
    return module
