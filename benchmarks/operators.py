"""Time single operators beside PyTorch's eager mode: eager, in a graph of their own, and with their gradient.

    python benchmarks/operators.py --torch ENV/bin/python [--only TEXT] [--threads 1]

Each operator is an expression that means the same in both libraries: `f` holds the functions, `x` and `y` are vectors of n elements, `p`
is a positive one, `m` a square matrix of about n elements, `r` one number and `i` places in the vector; `operands` makes these and more.
Both libraries take turns in one run, at three sizes, and the best sample counts; with one thread it is processor time.  A ratio above 1
says that PyTorch takes longer.

--markdown FILE  writes the means and all rows with a ratio below 0.7, as they stand in RESULTS.md
"""

from __future__ import annotations

import itertools
import linecache
import math
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from peers import arguments, markdown
from timing import serve

SIZES = (1000, 100_000, 4_000_000)

SMOOTH = {
    "arithmetic": (
        "x + y", "x - y", "x * y", "x / p", "x + r", "x * 2", "x + 1.5", "m + row", "m * column", "row - m", "-x", "f.abs(x)",
        "f.reciprocal(p)", "f.addcmul(x, y, p)", "f.lerp(x, y, 0.3)", "x % p", "f.fmod(x, p)", "x % 0.7",
    ),
    "powers": (
        "x ** 2", "x ** 3", "p ** 0.5", "p ** -1", "p ** 1.7", "p ** y", "f.square(x)", "f.sqrt(p)", "f.rsqrt(p)", "f.hypot(x, y)",
    ),
    "exponentials and logarithms": (
        "f.exp(x)", "f.exp2(x)", "f.expm1(x)", "f.log(p)", "f.log2(p)", "f.log10(p)", "f.log1p(p)", "f.logaddexp(x, y)",
        "f.xlogy(p, p)", "f.logit(unit)",
    ),
    "trigonometry": (
        "f.sin(x)", "f.cos(x)", "f.tan(x)", "f.asin(u)", "f.acos(u)", "f.atan(x)", "f.atan2(x, y)", "f.sinh(x)", "f.cosh(x)", "f.tanh(x)",
        "f.asinh(x)", "f.acosh(above)", "f.atanh(u)", "f.sinc(x)",
    ),
    "special functions": ("f.erf(x)", "f.erfc(x)", "f.erfinv(u)", "f.lgamma(p)", "f.digamma(p)"),
    "activations": (
        "f.relu(x)", "f.leaky_relu(x, 0.1)", "f.elu(x)", "f.selu(x)", "f.celu(x)", "f.gelu(x)", "f.silu(x)", "f.mish(x)", "f.sigmoid(x)",
        "f.softplus(x)", "f.softsign(x)", "f.logsigmoid(x)", "f.hardsigmoid(x)", "f.hardswish(x)", "f.hardtanh(x)", "f.relu6(x)",
        "f.hardshrink(x)", "f.softshrink(x)", "f.tanhshrink(x)", "f.glu(x)", "f.prelu(x, slope)",
    ),
    "choices": (
        "f.clamp(x, -1.0, 1.0)", "f.clamp(x, y, above)", "f.maximum(x, y)", "f.minimum(x, y)", "f.where(x > 0, x, y)",
        "f.masked_fill(x, b, 0.5)", "f.nan_to_num(x)",
    ),
    "reductions": (
        "x.sum()", "x.mean()", "x.max()", "x.min()", "m.sum(0)", "m.sum(1)", "m.mean(1)", "t.sum(2)", "t.sum(1)", "f.sum(t, (0, 2))",
        "f.prod(t, 2)", "f.prod(t, 1)", "f.amax(m, 1)", "f.amax(m, 0)", "f.amax(t, 2)", "f.norm(x)", "f.norm(m, 2, 1)", "f.std(x)",
        "f.var(m, 1)", "f.var(m, 0)", "f.logsumexp(m, -1)", "f.logsumexp(m, 0)",
    ),
    "normalisation": (
        "f.softmax(m, -1)", "f.softmax(m, 0)", "f.softmax(short, -1)", "f.log_softmax(m, -1)", "f.log_softmax(short, -1)",
        "f.layer_norm(m, (row.shape[0],))", "f.layer_norm(m, (row.shape[0],), row, row)", "f.group_norm(image, 4)", "f.normalize(m)",
    ),
    "losses": (
        "f.mse_loss(x, y)", "f.l1_loss(x, y)", "f.smooth_l1_loss(x, y)", "f.binary_cross_entropy(unit, unit_2)",
        "f.binary_cross_entropy_with_logits(x, unit)", "f.kl_div(x, unit)", "f.soft_margin_loss(x, y)", "f.cross_entropy(short, label)",
        "f.nll_loss(short, label)", "f.cosine_similarity(m, m_2)",
    ),
    "running sums": ("f.cumsum(x, 0)", "f.cumsum(m, 1)", "f.cumsum(m, 0)", "f.cumprod(m / 9, 1)"),
    "products": ("f.matmul(m, m)", "f.matmul(m, row)", "f.linear(row, m)", "f.linear(short, weight)", "f.outer(row, row)", "f.dot(x, y)"),
    "pooling": ("f.max_pool2d(image, 2)", "f.avg_pool2d(image, 2)", "f.adaptive_avg_pool2d(image, 1)"),
    "shapes": (
        "m.T * 2", "f.cat((x, y))", "f.cat((m, m_2), 1)", "f.stack((x, y))", "f.stack((x, y), 1)", "f.flip(x, (0,))", "f.flip(m, (0,))",
        "f.roll(x, 7, 0)", "x[1:]", "x[::2]", "m[1:, :-1]", "f.tril(m)", "f.triu(m)", "f.pad(m, (1, 2))", "f.tile(m, (2, 1))",
        "t.permute(0, 2, 1) * 2", "f.diff(x)", "f.repeat_interleave(x, 2)", "m[1:] - m[:-1]", "m[:, 1:] + m_2[:, :-1]", "x[::2] * x[1::2]",
        "f.flip(m, (1,)) * 2",
    ),
    "gathering": (
        "x[i]", "m[rows]", "f.gather(x, 0, i)", "f.index_select(m, 0, rows)", "f.embedding(rows, m)", "f.scatter_add(x, 0, i, y)",
        "f.index_add(m, 0, rows, m_2)", "f.segment_sum(x, label_of_x, 10)", "f.segment_sum(m, label_of_m, 10)",
    ),
    "sorting": ("f.sort(m)[0]", "f.topk(m, 5)[0]"),
}
"""Operators whose gradient is measured, too, by subject."""

OTHERS = {
    "comparisons": ("x > y", "x <= 0.5", "x == y", "f.isnan(x)", "f.isfinite(x)", "f.isclose(x, y)"),
    "rounding": ("f.floor(x)", "f.ceil(x)", "f.round(x)", "f.trunc(x)", "f.sign(x)", "f.floor_divide(x, p)", "f.heaviside(x, y)",
                 "f.copysign(x, y)"),
    "logic": ("f.logical_and(b, c)", "f.logical_or(b, c)", "f.logical_xor(b, c)", "f.logical_not(b)", "b.all()", "b.any()",
              "f.count_nonzero(x)"),
    "integers": ("j + k", "j * k", "j // k", "j % k", "j & k", "j | k", "j ^ k", "f.bitwise_not(j)", "f.bitwise_left_shift(j, k)",
                 "j.sum()", "j > k", "f.gcd(j, k)"),
    "places": ("f.argmax(m, 1)", "f.argmin(m, 0)", "f.argmax(x)", "f.sort(m)[1]", "f.argsort(m)", "f.topk(m, 5)[1]", "f.cummax(m, 1)[0]",
               "f.searchsorted(ascending, x)", "f.bincount(label_of_x)", "f.one_hot(label, 10)"),
    "sets": ("f.unique(i)", "f.nonzero(b)", "f.masked_select(x, b)"),
    "filling and conversion": ("f.zeros_like(x)", "f.ones_like(x)", "x.int()", "x.double()", "x.half()", "b.float()", "j.float()"),
    "Fourier transforms": ("f.rfft(x)", "f.fft(z)", "f.fft(lines)", "f.ifft(z)", "f.fft2(plane)", "f.rfft2(m)", "f.irfft(z)"),
    "special functions": ("f.i0(x)", "f.i0e(x)", "f.i1(x)", "f.igamma(p, above)", "f.polygamma(1, p)", "f.nextafter(x, y)"),
}
"""Operators whose gradient does not exist, is 0, or is not measured, by subject."""


SIZED_BY_VALUES = ("f.unique(i)", "f.nonzero(b)", "f.masked_select(x, b)", "f.bincount(label_of_x)")
"""Operators whose results have a size that the numbers decide, which a graph cannot have."""


def operands(n: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return the operands of all expressions, each of about `n` elements."""
    generator, side = np.random.default_rng(n), math.isqrt(n)

    def drawn(*shape: int) -> np.ndarray[Any, Any]:
        return generator.standard_normal(shape).astype(np.float32)

    def between(low: int, high: int, count: int = n) -> np.ndarray[Any, Any]:
        return generator.integers(low, high, count)

    def uniform(low: float, high: float) -> np.ndarray[Any, Any]:
        return generator.uniform(low, high, n).astype(np.float32)

    def complex_numbers(*shape: int) -> np.ndarray[Any, Any]:
        return drawn(*shape) + np.complex64(1j) * drawn(*shape)

    x, y, m = drawn(n), drawn(n), drawn(side, side)
    few = n // 100
    return {
        "x": x, "y": y, "p": np.abs(x) + np.float32(0.5), "r": drawn(1), "m": m, "i": between(0, n), "slope": drawn(1),
        "u": uniform(-0.9, 0.9), "unit": uniform(0.1, 0.9), "unit_2": uniform(0.1, 0.9), "above": np.abs(y) + np.float32(1.5),
        "m_2": drawn(side, side), "row": drawn(side), "column": drawn(side, 1), "t": drawn(n // 250, 25, 10), "short": drawn(few, 100),
        "image": drawn(-(-n // 1600), 16, 10, 10), "weight": drawn(100, 100), "rows": between(0, side, side), "label": between(0, 10, few),
        "label_of_x": between(0, 10), "label_of_m": between(0, 10, side), "b": x > 0, "c": y > 0, "ascending": np.sort(y)[:1000].copy(),
        "z": complex_numbers(n), "plane": complex_numbers(side, side), "lines": complex_numbers(few, 100),
        "j": between(-50, 50).astype(np.int32), "k": between(1, 9).astype(np.int32),
    }


def is_measured(text: str, n: int) -> bool:
    """Return False for a product whose time is not that of an operator on elements."""
    return text != "f.matmul(m, m)" or n <= 100_000


Cases = Iterator[tuple[str, Callable[[], Any]]]


def torch_cases(only: str, sizes: Sequence[int]) -> Cases:
    import torch

    differing = {
        "unique": lambda i: torch.unique(i, return_inverse=True),
        "sort": lambda m: torch.sort(m, stable=True), "argsort": lambda m: torch.argsort(m, stable=True),
        "segment_sum": lambda x, of, count: x.new_zeros(count, *x.shape[1:]).index_add_(0, of, x),
        **{name: getattr(torch.fft, name) for name in ("fft", "ifft", "rfft", "irfft", "fft2", "rfft2")},
        "norm": lambda x, order=2, axis=None: torch.linalg.vector_norm(x, order, axis),
    }
    modules = (torch.nn.functional, torch, torch.special)
    for n in sizes:
        space = {name: torch.from_numpy(array) for name, array in operands(n).items()}
        leaf = {name: tensor.clone().requires_grad_() for name, tensor in space.items() if tensor.is_floating_point()}
        for text in chosen(only, n):
            space |= functions(text, differing, modules)
            yield f"{text}, {n}", eval(f"lambda: {bare(text)}", space)
            if is_smooth(text):
                by = differentiated(text)
                call = eval(f"lambda: ({bare(text)}).sum()", space | {by: leaf[by]})
                yield f"gradient of {text}, {n}", lambda call=call, by=leaf[by]: torch.autograd.grad(call(), by)


def our_cases(only: str, sizes: Sequence[int]) -> Cases:
    import adjoint as ms
    from adjoint import Tensor, mint, ops

    differing = {"segment_sum": ops.unsorted_segment_sum, "i0e": ops.bessel_i0e, "i1": ops.bessel_i1,
                 "polygamma": lambda order, x: ops.polygamma(Tensor(order), x)}
    modules = (mint, mint.nn.functional, mint.special, ops)  # those with PyTorch's names and arguments first
    ms.set_context(background_compile="wait")  # kernels in their final form
    for n in sizes:
        space = {name: Tensor(array) for name, array in operands(n).items()}
        for text in chosen(only, n):
            space |= functions(text, differing, modules)
            yield f"{text}, {n}", function_of(f"lambda: {bare(text)}", space)
            if text not in SIZED_BY_VALUES:
                names = operands_of(text, space)
                graph = ms.jit(function_of(f"lambda {', '.join(names)}: {bare(text)}", space))
                yield f"{text}, {n}, graph", lambda graph=graph, given=[space[name] for name in names]: graph(*given)
            if is_smooth(text):
                by = differentiated(text)
                summed = function_of(f"lambda {by}: ({bare(text)}).sum()", space)
                for way, gradient in (("", ms.grad(summed)), (", graph", ms.grad(ms.jit(summed)))):
                    yield f"gradient of {text}, {n}{way}", lambda gradient=gradient, x=space[by]: gradient(x)


def function_of(text: str, space: dict[str, Any]) -> Callable[..., Any]:
    """Return a lambda whose text is kept as that of a file: graphs are made of the source."""
    file = f"<operator {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, [text], file)
    return eval(compile(text, file, "eval"), space)


def functions(text: str, differing: dict[str, Any], modules: Sequence[Any]) -> dict[str, Any]:
    """Return by name the functions that an expression calls: from `differing`, else from the first of the modules that has it."""
    names = re.findall(r"\bf\.(\w+)", text)
    return {name: differing.get(name) or next(getattr(module, name) for module in modules if hasattr(module, name)) for name in names}


def bare(text: str) -> str:
    """Return an expression that calls its functions by their names alone, so that no search for them is timed."""
    return re.sub(r"\bf\.", "", text)


def operands_of(text: str, space: Collection[str]) -> list[str]:
    """Return the names of the operands of an expression, in the order in which it names them."""
    return [name for name in dict.fromkeys(re.findall(r"(?<![.\w])[a-z]\w*", text)) if name in space]


def differentiated(text: str) -> str:
    """Return the operand by which the gradient is taken: the first that is not of integers or bools."""
    return next(name for name in operands_of(text, operands(250)) if name not in ("i", "rows"))


def is_smooth(text: str) -> bool:
    return any(text in group for group in SMOOTH.values())


def chosen(only: str, n: int) -> list[str]:
    groups = (*SMOOTH.values(), *OTHERS.values())
    return [text for text in itertools.chain.from_iterable(groups) if only in text and is_measured(text, n)]


def main() -> None:
    parser = arguments(__doc__, ("adjoint", "torch"), seconds=0.03)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of elements")
    given = parser.parse_args()
    if given.serve:
        if given.serve == "torch":
            import torch

            torch.set_num_threads(given.threads)
        serve(dict((torch_cases if given.serve == "torch" else our_cases)(given.only, given.sizes)), given.threads)
        return
    if not given.torch:
        parser.error("--torch names the interpreter with PyTorch that is measured beside")

    def command(name: str, python: str) -> list[str]:
        sizes = ("--sizes", *map(str, given.sizes))
        return [python, str(Path(__file__)), "--serve", name, "--only", given.only, "--threads", str(given.threads), *sizes]

    from run import by_turns  # not where PyTorch is: it needs more than PyTorch's environment has

    commands = {name: command(name, python) for name, python in (("adjoint", sys.executable), ("torch", given.torch))}
    best, cases = by_turns(commands, given.rounds, given.seconds, given.threads)
    rows = [Row(*split(case), best["torch", case], best["adjoint", case], best.get(("adjoint", f"{case}, graph")))
            for case in cases]
    report(rows, given.sizes, given.threads, given.markdown)


def split(case: str) -> tuple[str, int]:
    text, size = case.rsplit(", ", 1)
    return text, int(size)


class Row(NamedTuple):
    """Microseconds of one operator at one size; None where a graph cannot be made."""

    text: str
    size: int
    torch: float
    eager: float
    graph: float | None

    @property
    def kind(self) -> str:
        return "gradient" if self.text.startswith("gradient of ") else "value"

    @property
    def ratios(self) -> dict[str, float]:
        """Return PyTorch's time divided by ours, by the way of running."""
        return {way: self.torch / time for way, time in (("eager", self.eager), ("graph", self.graph)) if time is not None}

    def cells(self) -> list[str]:
        numbers = (self.torch, self.eager, self.graph, self.ratios["eager"], self.ratios.get("graph"))
        return [self.text, f"{self.size:,}", *("-" if x is None else f"{x:.2f}" if x < 100 else f"{x:.0f}" for x in numbers)]


TITLES = ("operator", "elements", "PyTorch us", "eager us", "graph us", "PyTorch / eager", "PyTorch / graph")
FLOOR = 0.7


def means(rows: list[Row], sizes: Sequence[int]) -> list[list[str]]:
    """Return the geometric means of the ratios: a row for each kind and way, with a cell for each size."""
    found = []
    for kind, way in itertools.product(("value", "gradient"), ("eager", "graph")):
        of_sizes = [[row.ratios[way] for row in rows if (row.kind, row.size) == (kind, size) and way in row.ratios] for size in sizes]
        found.append([f"{kind}, {way}", *(f"{math.exp(sum(map(math.log, each)) / len(each)):.2f}" if each else "" for each in of_sizes)])
    return found


def report(rows: list[Row], sizes: Sequence[int], threads: int, file: Path | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*TITLES, title=f"{threads} threads")
    for row in rows:
        table.add_row(*map(escape, row.cells()))
    summary = Table("", *(f"{size:,}" for size in sizes), title="geometric means of PyTorch's time / ours")
    for cells in means(rows, sizes):
        summary.add_row(*cells)
    console = Console(width=120)
    console.print(table)
    console.print(summary)
    if file is not None:
        slow = [["`" + row.text + "`", *row.cells()[1:]] for row in rows if min(row.ratios.values()) < FLOOR]
        parts = (["", *(f"{size:,}" for size in sizes)], means(rows, sizes)), (TITLES, slow)
        file.write_text("\n\n".join(markdown(titles, cells) for titles, cells in parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
