"""Distances and alignments of sequences, and a layer of recurrent steps with its weights in one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, nn, ops
from adjoint.ops import operations as P


def _distances(normalize: bool, *tables: Any) -> list[Any]:
    operands: list[Tensor] = []
    for places, values, shape in tables:
        operands += [Tensor(np.array(places, np.int64).reshape(-1, len(shape))), Tensor(values, adjoint.int64), Tensor(shape)]
    return P.EditDistance(normalize)(*operands).tolist()


def test_edit_distances() -> None:
    """The numbers of MindSpore 2.10: a sequence that is missing counts as empty, and the larger table gives the shape."""
    given = [[0, 0], [0, 1], [0, 2], [1, 0]], [1, 2, 3, 4], [2, 3]
    assert _distances(False, given, ([[0, 0], [0, 1], [2, 0]], [1, 3, 9], [3, 3])) == [1, 1, 1]
    assert _distances(True, given, ([[0, 0], [0, 1], [2, 0]], [1, 3, 9], [3, 3])) == [0.5, np.inf, 1]
    first, second = ([ord(letter) for letter in word] for word in ("kitten", "sitting"))
    assert _distances(False, ([[0, i] for i in range(6)], first, [1, 6]), ([[0, i] for i in range(7)], second, [1, 7])) == [3]
    with pytest.raises(IndexError, match="For 'EditDistance', the argument 'truth_indices' must be in"):
        _distances(True, ([[0, 0]], [1], [1, 1]), ([[1, 0]], [1], [1, 1]))


@pytest.mark.parametrize(("ways", "projected"), [(1, 0), (2, 0), (2, 2)])
def test_a_layer_with_its_weights_in_one_tensor(ways: int, projected: int) -> None:
    rng = np.random.default_rng(2)
    x, h, c = (rng.normal(size=size) for size in ((5, 2, 4), (ways, 2, projected or 3), (ways, 2, 3)))
    parts = [rng.normal(size=(ways, *size)) for size in ((12, 4), (12, projected or 3), *([(projected, 3)] if projected else []), (12,))]
    flat = Tensor(np.concatenate([part.reshape(-1) for part in parts]).reshape(-1, 1, 1))
    layer = P.LSTM(4, 3, 1, True, ways == 2, 0.0, projected)
    outputs, hidden, cells, _, _ = layer(Tensor(x), Tensor(h), Tensor(c), flat)
    for way in range(ways):
        of_input, of_state, *projection, bias = (part[way] for part in parts)
        now, cell = h[way], c[way]
        for step in range(5)[:: -1 if way else 1]:
            i, f, g, o = np.split(x[step] @ of_input.T + now @ of_state.T + bias, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
            cell = f * cell + i * np.tanh(g)
            now = o * np.tanh(cell)
            now = now @ projection[0].T if projected else now
            width = now.shape[1]
            np.testing.assert_allclose(outputs.asnumpy()[step, :, way * width:(way + 1) * width], now, rtol=1e-9)
        np.testing.assert_allclose(hidden.asnumpy()[way], now, rtol=1e-9)
        np.testing.assert_allclose(cells.asnumpy()[way], cell, rtol=1e-9)
    assert adjoint.grad(lambda w: layer(Tensor(x), Tensor(h), Tensor(c), w)[0].sum())(flat).shape == flat.shape


def test_derivatives_along_curves() -> None:
    """Of exp(sin(x(t))) against the formula; of a Cell with two arguments, and of several outputs."""
    x, s = np.array([0.3, -1.0]), np.array([[1.0, 0.5], [0.2, -1.0]])
    y, series = ops.jet(lambda x: ops.exp(ops.sin(x)), Tensor(x), Tensor(s))
    f = np.exp(np.sin(x))
    np.testing.assert_allclose(y.asnumpy(), f)
    second = f * (np.cos(x) ** 2 - np.sin(x)) * s[0] ** 2 + f * np.cos(x) * s[1]
    np.testing.assert_allclose(series.asnumpy(), [f * np.cos(x) * s[0], second], rtol=1e-9)

    class Product(nn.Cell):
        def construct(self, a: Tensor, b: Tensor) -> Any:
            return a * a * b, a + b

    a = Tensor([2.0, 3.0])
    outputs, third = ops.derivative(Product(), (a, a), 3)
    assert outputs[0].tolist() == [8.0, 27.0]
    assert (third[0].tolist(), third[1].tolist()) == ([6.0, 6.0], [0.0, 0.0])
    in_graph = adjoint.jit(lambda x: ops.derivative(lambda x: x * x * x, x, 2)[1])
    assert in_graph(a).tolist() == [12.0, 18.0]


def test_norms_over_any_axes() -> None:
    x = np.random.default_rng(3).normal(size=(2, 3, 4))
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        got = ops.matrix_norm(Tensor(x), ord, (2, 0), True).asnumpy()
        np.testing.assert_allclose(got, np.linalg.norm(x, ord, (2, 0), True), rtol=1e-9)
    for ord in (0, 1, -2, 2.5, np.inf):
        np.testing.assert_allclose(ops.vector_norm(Tensor(x), ord, (0, 2)).asnumpy(),
                                   np.linalg.norm(x.transpose(1, 0, 2).reshape(3, 8), ord, 1), rtol=1e-9)
    square = x[:, :, :3]
    for p in (None, "fro", 1, -1, 2, -2, np.inf):
        np.testing.assert_allclose(ops.cond(Tensor(square), p).asnumpy(), np.linalg.cond(square, p), rtol=1e-8)
    singular = Tensor([[1.0, 0.0], [0.0, 0.0]])
    assert (ops.cond(singular).item(), ops.cond(singular, -2).item(), ops.cond(singular * 0).item()) == (np.inf, 0, np.inf)


def test_assertions() -> None:
    """They fail where they stand, in a graph at the run."""
    assert P.Assert()(True, [Tensor([1])]).tolist() == [0]

    def checked(x: Tensor) -> Tensor:
        P.Assert(2)(x.sum() > 0, [x])
        return x * 2

    for run in (checked, adjoint.jit(checked)):
        assert run(Tensor([1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]
        with pytest.raises(RuntimeError, match=r"For 'Assert', .* with the data \[-1\. -2\.\]"):
            run(Tensor([-1.0, -2.0, -3.0]))


def test_steps_in_mixed_dtypes() -> None:
    """The numbers of MindSpore 2.10: the gradient is divided by the norm, and moments of Float16 are computed in Float32."""
    var, m, v = (adjoint.Parameter(Tensor(values, dtype)) for values, dtype in (
        ([1.0, 2.0], adjoint.float32), ([0.5, 0.5], adjoint.float16), ([0.25, 0.25], adjoint.float32)))
    P.FusedCastAdamWeightDecay()(var, m, v, 0.1, 0.9, 0.99, 1e-3, 0.1, Tensor([1.0, 2.0], adjoint.float16), 2.0)
    np.testing.assert_allclose(var.asnumpy(), [0.8901996, 1.8718268], rtol=1e-6)
    assert (m.tolist(), m.dtype) == ([0.5, 0.5498046875], adjoint.float16)
