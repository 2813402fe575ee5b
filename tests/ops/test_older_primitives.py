"""Operators as objects that programs for MindSpore use: random orders and masks, a function on arrays, and those of other devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.common import RowTensor
from adjoint.ops import functional as F
from adjoint.ops import operations as P


class Ordered(nn.Cell):
    """Draws so many numbers that only a run of the graph knows."""

    def __init__(self) -> None:
        super().__init__()
        self.order = P.Randperm(max_length=6, pad=-1)

    def construct(self, n: Tensor) -> Tensor:
        return self.order(n)


def test_random_orders_are_padded() -> None:
    """Of a number that is known only when a graph runs, too; the same bits in both modes."""
    cell = Ordered()
    compiled = ms.jit(lambda n: cell(n))
    for count in (4, 6, 0):
        ms.set_seed(2)
        eager = cell(Tensor([count])).asnumpy()
        assert sorted(eager[:count].tolist()) == list(range(count)) and (eager[count:] == -1).all() and eager.dtype == np.int32
        ms.set_seed(2)
        np.testing.assert_array_equal(compiled(Tensor([count])).asnumpy(), eager)
    for call in (cell, compiled):
        with pytest.raises(ValueError, match=r"For 'Randperm', the argument 'n' must be in 0\.\.6, as 'max_length' is, but got 7"):
            call(Tensor([7]))


def test_a_mask_of_bits_drops_elements() -> None:
    """Each bit stands for one element; a dropped infinity is 0, and the gradient follows the mask."""
    ms.set_seed(4)
    x = Tensor(np.where(np.arange(3000) % 5 == 0, np.inf, 1.0).reshape(30, 100).astype(np.float32))
    mask = P.DropoutGenMask()((30, 100), Tensor(0.25))
    assert mask.dtype is ms.uint8 and mask.shape == (384,)
    bits = np.unpackbits(mask.asnumpy(), bitorder="little")[:3000].reshape(30, 100)
    assert abs(bits.mean() - 0.25) < 0.04
    dropped = P.DropoutDoMask()
    np.testing.assert_array_equal(dropped(x, mask, 0.25).asnumpy(), np.where(bits, x.asnumpy() * 4, 0))
    np.testing.assert_array_equal(ms.grad(lambda x: dropped(x, mask, Tensor(0.25)).sum())(ops.ones_like(x)).asnumpy(), bits * 4.0)
    assert P.DropoutGenMask()((0,), 0.5).shape == (0,) and (P.DropoutGenMask()((8,), 1.0).asnumpy() == 255).all()
    assert (P.DropoutGenMask(3, 4)((256,), 0.5).asnumpy() != P.DropoutGenMask(3, 4)((256,), 0.5).asnumpy()).any()


def twice_and_once(a: Any) -> Any:
    return 2 * a, Tensor(a)


def test_a_function_on_arrays_gives_a_tuple() -> None:
    x = Tensor([[1.0, 2.0]])
    function = P.PyFunc(twice_and_once, [ms.float32], [(1, 2)], [ms.float32] * 2, [(1, 2)] * 2)
    single = P.PyFunc(np.negative, [ms.float32], [(1, 2)], [ms.float32], [(1, 2)])
    for call in (lambda x: function(x) + single(x), ms.jit(lambda x: function(x) + single(x))):
        assert [y.asnumpy().tolist() for y in call(x)] == [[[2, 4]], [[1, 2]], [[-1, -2]]]
    shaped = P.PyFunc(np.ravel, [ms.float32], [(2, 1)], [ms.float32], [(1, 2)])(x)
    assert shaped[0].shape == (1, 2) and P.PyFunc(lambda a: 1.5, [ms.float32], [(1, 2)], [ms.float32], [()])(x)[0].item() == 1.5
    with pytest.raises(RuntimeError, match=r"For 'PyFunc', result 1 .* must be of shape \(2,\) and Float32, but it is .* int32"):
        P.PyFunc(lambda a: a.astype(np.int32), [ms.float32], [(1, 2)], [ms.float32], [(2,)])(x)
    with pytest.raises(ValueError, match=r"For 'PyFunc', operand 1 must be of shape \(1, 2\), but got \(3,\)"):
        single(Tensor([1.0, 2.0, 3.0]))
    for dtype in (ms.float16, ms.bfloat16):
        half = P.PyFunc(np.negative, [dtype], [(1, 2)], [dtype], [(1, 2)])(x.astype(dtype))
        assert half[0].dtype is dtype and half[0].astype(ms.float32).tolist() == [[-1, -2]]
    seen: list[Any] = []
    effect = P.PyFunc(lambda a: seen.append(a.tolist()), [ms.float32], [(1, 2)], [], [])
    ms.jit(lambda x: (effect(x), x * 2)[1])(x)
    assert seen == [[[1.0, 2.0]]] and effect(x)[0].shape == (1,)


def test_casts_of_mixed_precision_take_what_is_of_floats() -> None:
    x, whole = Tensor([1.0]), Tensor([1])
    cast = F.mixed_precision_cast(ms.float16, (x, whole, [x, 3], None))
    assert (cast[0].dtype, cast[1], cast[2][0].dtype, cast[2][1], cast[3]) == (ms.float16, whole, ms.float16, 3, None)
    assert ms.grad(lambda x: F.mixed_precision_cast(ms.float16, x).sum())(x).dtype is ms.float32


def test_lengths_powers_and_identities() -> None:
    assert F.tuple_len((1, 2)) == 2 == ops.tuple_len([1, 2]) and ms.jit(lambda x: x * F.tuple_len((x, x)))(Tensor(3.0)).item() == 6
    assert F.pows is ops.pow and P.identity()(Tensor(2.0)).item() == 2 and P.ScalarToArray()(2).dtype is ms.int64
    assert P.Einsum("ij,jk->ik")([Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])]).item() == 11


def test_rows_of_a_tensor() -> None:
    rows = RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2))
    again = ms.RowTensor(row_tensor=rows)
    assert again.indices is rows.indices and again.values is rows.values and again.dense_shape == (3, 2)
    assert repr(rows).startswith("RowTensor(shape=[3, 2], dtype=Float32, indices=Tensor(")
    with pytest.raises(TypeError, match="For 'RowTensor', the argument 'shape' must be a tuple of ints, but got None"):
        RowTensor(rows.indices, rows.values)


@pytest.mark.parametrize(("call", "name"), [
    (lambda: P.NPUAllocFloatStatus()(), "NPUAllocFloatStatus"), (lambda: P.NPUGetFloatStatus()(Tensor([0.0])), "NPUGetFloatStatus"),
    (lambda: P.NPUClearFloatStatus()(Tensor([0.0])), "NPUClearFloatStatus"),
    (lambda: P.DynamicRNN()(*[Tensor([0.0])] * 6), "DynamicRNN"), (lambda: P.DynamicGRUV2()(*[Tensor([0.0])] * 7), "DynamicGRUV2"),
])
def test_operators_of_other_devices_are_refused_when_they_are_called(call: Callable[[], Any], name: str) -> None:
    """MindSpore's CPU raises RuntimeError there as well."""
    with pytest.raises(RuntimeError, match=f"For '{name}', there is no kernel for the CPU"):
        call()


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: P.DynamicRNN("GRU"), ValueError,
     r"For 'DynamicRNN', the argument 'cell_type' must be one of \['LSTM'\], but got 'GRU'"),
    (lambda: P.DynamicGRUV2(gate_order="hrz"), ValueError,
     "For 'DynamicGRUV2', the argument 'gate_order' must be one of"),
    (lambda: P.Randperm(0), ValueError, "For 'Randperm', the argument 'max_length' must be at least 1, but got 0"),
    (lambda: P.DropoutDoMask()(Tensor([1.0] * 9), Tensor([1], ms.uint8), 0.5), ValueError, "with a bit for each of 9 elements"),
    (lambda: P.DropoutGenMask()((2,), 1.5), ValueError, r"For 'DropoutGenMask', the argument 'keep_prob' must be in \[0, 1\]"),
    (lambda: P.PyFunc(len, [ms.float32], [], [], []), ValueError, "'in_types' must be as long as 'in_shapes', 0, but got 1"),
    (lambda: P.PyFunc(len, [ms.float32], [(2,)], [], [])(Tensor([1])), TypeError, "For 'PyFunc', operand 1 must be a Tensor of Float32"),
    (lambda: P.Einsum(2), TypeError,  # pyright: ignore[reportArgumentType] - on purpose
     "For 'Einsum', the argument 'equation' must be a str"),
    (lambda: F.tuple_len(3), TypeError,  # pyright: ignore[reportArgumentType] - on purpose
     "For 'tuple_len', the argument 'x' must be a tuple or a list"),
    (lambda: F.mixed_precision_cast("a", Tensor([1.0])), TypeError,  # pyright: ignore[reportArgumentType] - on purpose
     "For 'Cast', the argument 'dst_dtype' must be a dtype"),
])
def test_mistakes_name_the_operator_and_the_argument(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()
