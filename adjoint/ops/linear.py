"""Matrix products, and layers made of them.

Raise TypeError for what is not a Tensor, ArgumentMistake (a ValueError and a RuntimeError) for shapes that do not fit.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.arithmetic import Add, Mul
from adjoint.ir.ops.comparison import Equal
from adjoint.ir.ops.conversion import Select, StopGradient
from adjoint.ir.ops.linalg import MatMul as Product
from adjoint.ir.ops.shape import Reshape, Transpose
from adjoint.ir.ops.sums import Sum
from adjoint.ir.types import BOOL, broadcast_shapes, tensor
from adjoint.ops import picking
from adjoint.ops.arguments import (
    ArgumentMistake,
    axis_argument,
    dimension,
    flag,
    integer,
    number,
    operand,
    real,
    sizes_argument,
    wrong,
)
from adjoint.ops.diagonals import diagonal
from adjoint.ops.shapes import reshape
from adjoint.runtime.memory.op_plans import pairs_of
from adjoint.runtime.process.tracer import tracing
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.operators import binary, promoted
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "addbmm", "addmm", "addmv", "baddbmm", "batch_dot", "bias_add", "bmm", "dense", "dot", "embedding", "einsum", "ger",
    "inner", "matmul", "mm", "mv", "outer", "tensor_dot",
]

_new = object.__new__
_ADD, _MUL = Add(), Mul()
_PRODUCTS = {(ta, tb): Product(ta=ta, tb=tb) for ta in (False, True) for tb in (False, True)}
_PRODUCT, _LINEAR = _PRODUCTS[False, False], _PRODUCTS[False, True]
_PLANS = pairs_of(_PRODUCT)


def product(op: str, a: Tensor, b: Tensor, *, ta: bool = False, tb: bool = False) -> Tensor:
    """Return the product of matrices in the last two axes, either transposed first; leading axes broadcast."""
    if a.dtype is not b.dtype:
        a, b = promoted(_MUL, a, b)
    if a.dtype is BOOL:
        raise wrong(op, "input", "a Tensor of numbers", a, TypeError)
    inner_a, inner_b = a.shape[-2 if ta else -1], b.shape[-1 if tb else -2]
    if inner_a != inner_b:
        raise wrong(op, "other", f"matrices of {inner_a} rows, since the first operand is {a.type}", b, ArgumentMistake)
    if a.ndim > 2 and b.ndim == 2 and not ta:
        # Multiply the rows of all matrices as those of one matrix.
        rows = apply(made(Reshape, tensor(a.dtype, (math.prod(a.shape[:-1]), inner_a))), a)
        out = apply(_PRODUCTS[ta, tb], rows, b)
        return apply(made(Reshape, tensor(a.dtype, (*a.shape[:-1], out.shape[1]))), out)
    if a.ndim > 2 and b.ndim > 2:
        try:
            broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            raise wrong(op, "other", f"of leading sizes that broadcast with {a.shape[:-2]}", b, ArgumentMistake) from None
    return apply(_PRODUCTS[ta, tb], a, b)


def matmul(input: Any, other: Any) -> Tensor:
    """Return the product of matrices, as `@`: a tensor of one axis is a row on the left and a column on the right; others broadcast."""
    plan = None
    try:
        plans = _PLANS.get(input.type)
        if plans is not None:
            plan = plans.get(other.type)
    except AttributeError:  # one is no tensor
        pass
    if plan is None:  # of several ops, or not multiplied before
        return _matmul(input, other)
    if tracing:
        return binary(_PRODUCT, input, other)
    out = _new(Tensor)
    out.type = plan.type
    out.memory = plan.run(input.memory, other.memory)
    return out


@fusible
def _matmul(input: Any, other: Any) -> Tensor:
    return of_any_rank("MatMul", operand("MatMul", input), operand("MatMul", other, "other"))


def of_any_rank(op: str, a: Tensor, b: Tensor, *, ta: bool = False, tb: bool = False) -> Tensor:
    """As `product`, where a tensor of one axis is a row on the left and a column on the right, which the result lacks."""
    if a.ndim == 0 or b.ndim == 0:
        raise wrong(op, "input" if a.ndim == 0 else "other", "of at least 1 dimension", a if a.ndim == 0 else b)
    left, right = a.ndim == 1, b.ndim == 1
    if left:
        a = apply(made(Reshape, tensor(a.dtype, (1, a.shape[0]))), a)
    if right:
        b = apply(made(Reshape, tensor(b.dtype, (b.shape[0], 1))), b)
    out = product(op, a, b, ta=ta and not left, tb=tb and not right)
    if left or right:
        sizes = out.shape[:-2] + (() if left else out.shape[-2:-1]) + (() if right else out.shape[-1:])
        out = apply(made(Reshape, tensor(out.dtype, sizes)), out)
    return out


@fusible
def mm(input: Any, mat2: Any) -> Tensor:
    """Return the product of two matrices."""
    return _of_rank("MM", 2, input, mat2)


@fusible
def bmm(input_x: Any, mat2: Any) -> Tensor:
    """Return the products of two stacks of matrices, [b, n, k] and [b, k, m], or of two matrices."""
    a, b = operand("BatchMatMul", input_x, "input_x"), operand("BatchMatMul", mat2, "mat2")
    if a.ndim < 2 or b.ndim < 2:
        raise wrong("BatchMatMul", "input_x" if a.ndim < 2 else "mat2", "of at least 2 dimensions", a if a.ndim < 2 else b)
    return product("BatchMatMul", a, b)


def _of_rank(op: str, rank: int, input: Any, other: Any) -> Tensor:
    a, b = operand(op, input), operand(op, other, "mat2")
    for name, x in (("input", a), ("mat2", b)):
        if x.ndim != rank:
            raise wrong(op, name, f"of {rank} dimensions", x)
    return product(op, a, b)


@fusible
def mv(mat: Any, vec: Any) -> Tensor:
    """Return the product of a matrix and a vector."""
    a, x = operand("MV", mat, "mat"), operand("MV", vec, "vec")
    if a.ndim != 2 or x.ndim != 1:
        raise wrong("MV", "mat", "of 2 dimensions, and 'vec' of 1", (a.shape, x.shape))
    return matmul(a, x)


@fusible
def dot(input: Any, other: Any) -> Tensor:
    """Return the product over the last axis of `input` and the last but one of `other`, as NumPy's `dot`."""
    a, b = operand("Dot", input), operand("Dot", other, "other")
    if a.ndim == 0 or b.ndim == 0:
        raise wrong("Dot", "input", "of at least 1 dimension, as 'other'", (a.shape, b.shape))
    return tensor_dot(a, b, ((a.ndim - 1,), (max(0, b.ndim - 2),)))


@fusible
def inner(input: Any, other: Any) -> Tensor:
    """Return the products over the last axes of both; of 0-d tensors the plain product."""
    a, b = operand("Inner", input), operand("Inner", other, "other")
    return binary(_MUL, a, b) if a.ndim == 0 or b.ndim == 0 else tensor_dot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@fusible
def outer(input: Any, vec2: Any) -> Tensor:
    """Each element of one vector times each of another."""
    a, b = operand("Outer", input), operand("Outer", vec2, "vec2")
    if a.ndim != 1 or b.ndim != 1:
        raise wrong("Outer", "input", "of 1 dimension, as 'vec2'", (a.shape, b.shape))
    return binary(_MUL, reshape(a, (-1, 1)), b)


@fusible
def ger(input: Any, vec2: Any) -> Tensor:
    """As `outer`."""
    return outer(input, vec2)


@fusible
def tensor_dot(x1: Any, x2: Any, axes: Any) -> Tensor:
    """Return the sum of products over pairs of axes: the last of `x1` and the first of `x2`, so many; or the axes in two tuples."""
    a, b = operand("TensorDot", x1, "x1"), operand("TensorDot", x2, "x2")
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise wrong("TensorDot", "axes", "an int or two tuples of ints", axes)
        first, second = (tuple(dimension("TensorDot", p, x, "axes", name) for p in sizes_argument("TensorDot", "axes", side, least=None))
                         for name, x, side in zip(("x1", "x2"), (a, b), axes, strict=True))
    else:
        count = integer("TensorDot", "axes", axes)
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise wrong("TensorDot", "axes", f"in 0..{min(a.ndim, b.ndim)}", count)
        first, second = tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    if len(first) != len(second) or [a.shape[i] for i in first] != [b.shape[i] for i in second]:
        raise wrong("TensorDot", "axes", f"pairs of axes of one size, for {a.shape} and {b.shape}", axes)
    kept_a, kept_b = (tuple(i for i in range(x.ndim) if i not in side) for x, side in ((a, first), (b, second)))
    n, k, m = (math.prod(x.shape[i] for i in side) for x, side in ((a, kept_a), (a, first), (b, kept_b)))
    left = reshape(apply(made(Transpose, (*kept_a, *first)), a), (n, k))
    right = reshape(apply(made(Transpose, (*second, *kept_b)), b), (k, m))
    return reshape(product("TensorDot", left, right), (*(a.shape[i] for i in kept_a), *(b.shape[i] for i in kept_b)))


@fusible
def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Tensor:
    """For each example (axis 0) the sum of products over one axis of each; by default the last and the last but one."""
    a, b = operand("BatchDot", x1, "x1"), operand("BatchDot", x2, "x2")
    if a.ndim < 2 or b.ndim < 2 or a.shape[0] != b.shape[0]:
        raise wrong("BatchDot", "x1", "of at least 2 dimensions and as many examples as 'x2'", (a.shape, b.shape))
    if axes is None:
        first, second = a.ndim - 1, max(1, b.ndim - 2)
    else:
        pair_of_axes = axes if isinstance(axes, (tuple, list)) else (axes, axes)
        if len(pair_of_axes) != 2:
            raise wrong("BatchDot", "axes", "an int or two ints", axes)
        first, second = (axis_argument("BatchDot", i, x.ndim, "axes") for x, i in zip((a, b), pair_of_axes, strict=True))
    if first == 0 or second == 0 or a.shape[first] != b.shape[second]:
        raise wrong("BatchDot", "axes", f"axes of one size behind the first, for {a.shape} and {b.shape}", axes)
    kept_a, kept_b = (tuple(i for i in range(1, x.ndim) if i != side) for x, side in ((a, first), (b, second)))
    left = reshape(apply(made(Transpose, (0, *kept_a, first)), a), (a.shape[0], -1, a.shape[first]))
    right = reshape(apply(made(Transpose, (0, second, *kept_b)), b), (b.shape[0], b.shape[second], -1))
    out = product("BatchDot", left, right)
    return reshape(out, (a.shape[0], *(a.shape[i] for i in kept_a), *(b.shape[i] for i in kept_b)) if kept_a or kept_b else (a.shape[0], 1))


@fusible
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    return _scaled_sum("Addmm", operand("Addmm", input), mm(mat1, mat2), beta, alpha)


@fusible
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec); of integers with whole factors, which drop what follows the point."""
    given, factors = operand("Addmv", input), [number("Addmv", name, value) for name, value in (("beta", beta), ("alpha", alpha))]
    if given.dtype.is_integer:
        factors = [int(real("Addmv", name, factor)) for name, factor in zip(("beta", "alpha"), factors, strict=True)]
    return _scaled_sum("Addmv", given, mv(mat, vec), *factors)


@fusible
def baddbmm(input: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), matrix by matrix."""
    return _scaled_sum("Baddbmm", operand("Baddbmm", input), bmm(batch1, batch2), beta, alpha)


@fusible
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * the sum of the products of all pairs of matrices; of two matrices, the sum of the product's rows."""
    return _scaled_sum("Addbmm", operand("Addbmm", input), apply(made(Sum, (0,)), bmm(batch1, batch2)), beta, alpha)


def _scaled_sum(op: str, x: Tensor, y: Tensor, beta: Any, alpha: Any) -> Tensor:
    first, second = number(op, "beta", beta), number(op, "alpha", alpha)
    return binary(_ADD, x if first == 1 else x * first, y if second == 1 else y * second)


@fusible
def einsum(equation: str, *operands: Any) -> Tensor:
    """Return the sum of products that an equation such as "ij,jk->ik" describes; letters that the result lacks are summed over.

    A letter repeated in one operand takes the diagonal.  `...` stands for all axes that an operand has besides its letters, which
    broadcast. Without an arrow the result has the axes of `...`, then the letters that occur once, in alphabetical order.
    """
    if not isinstance(equation, str):
        raise wrong("Einsum", "equation", "a str", equation, TypeError)
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if not arrow:
        right = "..." * ("..." in left) + "".join(sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1))
    tensors = [operand("Einsum", x, "operands") for x in operands]
    bare = [term.replace("...", "", 1) for term in (*terms, right)]
    if not all(t.isalpha() or not t for t in bare) or len(terms) != len(tensors) or len(set(bare[-1])) != len(bare[-1]) \
            or set(right) - set(left):
        raise wrong("Einsum", "equation", f"letters for {len(tensors)} operands, as in 'ij,jk->ik'", repr(equation))
    most = 0
    for term, letters, x in zip(terms, bare, tensors, strict=False):
        more = x.ndim - len(letters)
        if more < 0 or (more and term == letters):
            raise wrong("Einsum", "equation", f"{x.ndim} letters for an operand of shape {x.shape}", repr(term))
        most = max(most, more)
    others = "".join(map(chr, range(most)))  # stand for the axes of `...`: no letters
    terms = [term.replace("...", others[most - x.ndim + len(letters):]) for term, letters, x in zip(terms, bare, tensors, strict=False)]
    right = right.replace("...", others)
    sizes: dict[str, int] = {}
    for term, x in zip(terms, tensors, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                if letter not in others or 1 not in (size, sizes[letter]):
                    raise wrong("Einsum", "operands", f"of size {sizes[letter]} along '{letter if letter.isalpha() else '...'}'", x)
                sizes[letter] = max(size, sizes[letter])
    for i in range(len(terms)):
        terms[i], tensors[i] = _distinct(terms[i], tensors[i], sizes)
    term, out = terms[0], tensors[0]
    for i in range(1, len(terms)):
        later = set("".join(terms[i + 1 :])) | set(right)
        term, out = _contracted(term, out, terms[i], tensors[i], later)
    gone = tuple(i for i, letter in enumerate(term) if letter not in right)
    if gone:
        out, term = apply(made(Sum, gone), out), "".join(letter for letter in term if letter in right)
    return apply(made(Transpose, tuple(term.index(letter) for letter in right)), out)


def _distinct(term: str, x: Tensor, sizes: dict[str, int]) -> tuple[str, Tensor]:
    """A term and its operand with each letter once, and without axes of size 1 that broadcast."""
    kept = [i for i, letter in enumerate(term) if x.shape[i] == sizes[letter]]
    if len(kept) < len(term):
        term, x = "".join(term[i] for i in kept), reshape(x, tuple(x.shape[i] for i in kept))
    while len(set(term)) < len(term):
        first = next(i for i, letter in enumerate(term) if letter in term[i + 1 :])
        letter, second = term[first], term.index(term[first], first + 1)
        x = diagonal(x, 0, first, second)
        term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return term, x


def _contracted(s: str, a: Tensor, t: str, b: Tensor, later: set[str]) -> tuple[str, Tensor]:
    """Two terms of an equation as one: letters that neither the other term nor a later one has are summed over."""
    for letters, other in ((s, t), (t, s)):
        alone = tuple(i for i, letter in enumerate(letters) if letter not in other and letter not in later)
        if alone:
            kept = "".join(letter for i, letter in enumerate(letters) if i not in alone)
            if letters is s:
                s, a = kept, apply(made(Sum, alone), a)
            else:
                t, b = kept, apply(made(Sum, alone), b)
    batch = [letter for letter in s if letter in t and letter in later]
    over = [letter for letter in s if letter in t and letter not in later]
    rows, columns = [letter for letter in s if letter not in t], [letter for letter in t if letter not in s]
    sizes = {**dict(zip(s, a.shape, strict=True)), **dict(zip(t, b.shape, strict=True))}

    def arranged(letters: str, x: Tensor, order: list[str], shape: tuple[int, int, int]) -> Tensor:
        return reshape(apply(made(Transpose, tuple(letters.index(letter) for letter in order)), x), shape)

    count, n, k, m = (math.prod(sizes[letter] for letter in group) for group in (batch, rows, over, columns))
    left, right = arranged(s, a, batch + rows + over, (count, n, k)), arranged(t, b, batch + over + columns, (count, k, m))
    out = product("Einsum", left, right)
    letters = batch + rows + columns
    return "".join(letters), reshape(out, tuple(sizes[letter] for letter in letters))


# Layers -------------------------------------------------------------------------------------------------------------


@fusible
def bias_add(input_x: Any, bias: Any) -> Tensor:
    """Add a bias to each channel (axis 1); `input_x` has at least 2 dimensions."""
    x, b = operand("BiasAdd", input_x, "input_x"), operand("BiasAdd", bias, "bias")
    if x.ndim < 2:
        raise wrong("BiasAdd", "input_x", "of at least 2 dimensions", x)
    if b.ndim != 1 or b.shape[0] != x.shape[1]:
        raise wrong("BiasAdd", "bias", f"of shape ({x.shape[1]},)", b)
    if b.dtype is not x.dtype:
        raise wrong("BiasAdd", "bias", f"of the dtype of 'input_x', {x.dtype}", b, TypeError)
    return binary(_ADD, x, b if x.ndim == 2 else _channels(b, x.ndim))


def _channels(b: Tensor, rank: int) -> Tensor:
    """Return a number for each channel, shaped to broadcast along axis 1."""
    return apply(made(Reshape, tensor(b.dtype, (b.shape[0], *(1,) * (rank - 2)))), b)


@fusible
def dense(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """input @ weight.T + bias, for a weight [out, in]."""
    x = input if input.__class__ is Tensor else operand("Dense", input)
    w = operand("Dense", weight, "weight")
    kind, sizes, rows = x.type.dtype, x.type.shape, w.type.shape
    if len(rows) not in (1, 2):
        raise wrong("Dense", "weight", "of 1 or 2 dimensions", w)
    if not sizes or sizes[-1] != rows[-1]:
        raise wrong("Dense", "input", f"of last size {rows[-1]}, for a weight of shape {rows}", x)
    if kind is not w.type.dtype and not (kind.is_float and w.type.dtype.is_float):
        raise wrong("Dense", "input", f"of the dtype of 'weight', {w.type.dtype}, or both of floating point types", x, TypeError)
    if len(sizes) == len(rows) == 2 and kind is w.type.dtype:
        out = apply(_LINEAR, x, w)
    elif len(rows) == 1:
        out = matmul(x, w)
    elif len(sizes) == 1:
        out = matmul(w, x)
    else:
        out = product("Dense", x, w, tb=True)
    return out if bias is None else binary(_ADD, out, operand("Dense", bias, "bias"))


@fusible
def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Return the rows of `weight` that the indices name; no gradient flows to the row `padding_idx`.

    norm_type  which norm `max_norm` would bound: without that it has no meaning
    """
    ids, table = picking.indices_argument("Embedding", "input", input), operand("Embedding", weight, "weight")
    if table.ndim != 2:
        raise wrong("Embedding", "weight", "of 2 dimensions", table)
    number("Embedding", "norm_type", norm_type)
    if max_norm is not None:
        raise ValueError("For 'Embedding', 'max_norm' is not supported: scale the rows of 'weight' before, for instance with "
                         "ops.assign(weight, weight * ops.minimum(1.0, max_norm / ops.norm(weight, dim=1, keepdim=True))).")
    if flag("Embedding", "scale_grad_by_freq", scale_grad_by_freq):
        raise ValueError("For 'Embedding', 'scale_grad_by_freq' is not supported: divide the gradient of 'weight', row by row, by "
                         "ops.maximum(ops.one_hot(input.reshape(-1), len(weight)).sum(0), 1).expand_dims(1).")
    rows = picking.gathered("Embedding", table, ids, 0)
    if padding_idx is None:
        return rows
    place = integer("Embedding", "padding_idx", padding_idx)
    if not -table.shape[0] <= place < table.shape[0]:
        raise wrong("Embedding", "padding_idx", f"in [{-table.shape[0]}, {table.shape[0]})", place)
    frozen = apply(made(Reshape, tensor(BOOL, (*ids.shape, 1))), binary(Equal(), ids, place % table.shape[0]))
    return apply(Select(), frozen, apply(StopGradient(), rows), rows)
