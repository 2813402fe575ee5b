"""Tensors: what they are made from, how they reach NumPy and Python, and that a write is seen by nobody it does not belong to."""

from __future__ import annotations

import copy
import gc
import math
import operator
import pickle
import struct
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.common.initializer import Normal, One
from adjoint.ir.types import DTYPES, DType
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.tensor import constant

NUMPY = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


# -- making -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("data", "dtype", "values"), [
    (True, ms.bool_, True), (3, ms.int64, 3), (-2.5, ms.float32, -2.5), ([1, 2], ms.int64, [1, 2]), ((1.5, 2), ms.float32, [1.5, 2]),
    ([True, False], ms.bool_, [True, False]), ([[1, 2], [3, 4]], ms.int64, [[1, 2], [3, 4]]), ([], ms.float32, []),
        ([[]], ms.float32, [[]]),
    ([1, 2.5], ms.float32, [1, 2.5]), (np.float64(1.5), ms.float64, 1.5), (np.int8(3), ms.int8, 3),
        ([np.float64(0.5), 1], ms.float32, [0.5, 1]),
    ([np.ones(2), [1, 2]], ms.float32, [[1, 1], [1, 2]]), ((np.int32(3),), ms.int64, [3]), ([np.float16(3), 1], ms.float32, [3, 1]),
    ([np.uint8(3)], ms.uint8, [3]), ([Tensor([0.5], ms.float64)], ms.float32, [[0.5]]), ([Tensor(1, ms.int32)], ms.int64, [1]),
    ([np.float64(1e300)], ms.float32, [math.inf]),
    ([Tensor(1), Tensor(2)], ms.int64, [1, 2]), ([Tensor([1.5]), [2]], ms.float32, [[1.5], [2]]), (float("inf"), ms.float32, math.inf),
])
def test_from_python(data: Any, dtype: Any, values: Any) -> None:
    t = Tensor(data)
    assert t.dtype is dtype and t.tolist() == values


@pytest.mark.parametrize(("dtype", "expected"), [(ms.float64, ms.float32), (ms.int32, ms.int64), (ms.float16, ms.float16)])
def test_from_a_list_of_tensors_in_a_graph(dtype: Any, expected: Any) -> None:
    def listed(x: Tensor) -> Tensor:
        return Tensor([x, x])

    for function in (listed, ms.jit(listed)):
        assert function(Tensor(2, dtype)).dtype is expected and function(Tensor(3, dtype)).tolist() == [3, 3]


@pytest.mark.parametrize("name", NUMPY)
def test_from_numpy(name: str) -> None:
    a = np.arange(24).reshape(2, 3, 4).astype(name)
    dtype = getattr(ms, "bool_" if name == "bool" else name)
    for array in (a, a[::-1, :, ::2], a.T, np.asfortranarray(a), a.astype(a.dtype.newbyteorder(">")), a[:0], a[0, 0, 0],
        np.broadcast_to(a[0], (2, 3, 4))):
        t = Tensor(array)
        assert t.dtype is dtype and t.shape == array.shape
        np.testing.assert_array_equal(t.asnumpy(), array)
        assert t.asnumpy().dtype == np.dtype(name) and t.asnumpy().flags.c_contiguous


def test_an_array_is_copied() -> None:
    a = np.ones(3, np.float32)
    t = Tensor(a)
    a[0] = 7
    assert t.tolist() == [1, 1, 1]
    assert a.flags.writeable and Tensor(np.frombuffer(bytes(8), np.int32)).tolist() == [0, 0]


@pytest.mark.parametrize(("data", "dtype", "values"), [
    ([1.9, -1.9], ms.int32, [1, -1]), (300, ms.int8, 44), (-1, ms.uint8, 255), ([0, 2], ms.bool_, [False, True]), (1, ms.float16, 1.0),
    (np.array([1.5, 2.5]), ms.float32, [1.5, 2.5]), (1 + 2**-9, ms.bfloat16, 1.0), (Tensor([1.5]), ms.int64, [1]), (2.5, ms.int32, 2),
])
def test_to_another_dtype(data: Any, dtype: Any, values: Any) -> None:
    t = Tensor(data, dtype)
    assert t.dtype is dtype and t.tolist() == values


@pytest.mark.parametrize("name", ["float32", "Float32", np.float32, np.dtype("float32"), ms.float32])
def test_dtype_by_any_name(name: Any) -> None:
    assert Tensor([1], name).dtype is ms.float32


def test_by_an_initializer() -> None:
    assert Tensor(shape=(2, 3), dtype=ms.float32, init=One()).tolist() == [[1, 1, 1]] * 2
    assert Tensor(shape=4, dtype=ms.float64, init=Normal()).dtype is ms.float64
    assert Tensor(shape=(2,), dtype=ms.bfloat16, init=One()).tolist() == [1, 1]
    assert Tensor(shape=[2], dtype=ms.int32, init=One()).tolist() == [1, 1]
    assert ms.common.initializer.initializer("ones", [2]).init_data().tolist() == [1, 1]


def test_what_a_tensor_is() -> None:
    t = Tensor(np.zeros((2, 3, 4), np.float16))
    assert (t.ndim, t.dim(), t.size, t.itemsize, t.nbytes, t.strides, len(t)) == (3, 3, 24, 2, 48, (24, 8, 2), 2)
    assert Tensor(1.0).shape == () and Tensor(np.zeros((1,) * 8)).ndim == 8


# -- out ----------------------------------------------------------------------------------------------------------------
def test_asnumpy_shares_what_is_held_alone() -> None:
    t = Tensor([1.0, 2.0])
    view = t.asnumpy()
    view[0] = 5
    assert t.tolist() == [5, 2]
    shared = t.reshape((2, 1))
    copied = t.asnumpy()
    copied[0] = 7
    assert t.tolist() == [5, 2] and shared.tolist() == [[5], [2]]


def test_a_view_outlives_its_tensor() -> None:
    view = Tensor(np.full(100_000, 3.0, np.float32)).asnumpy()
    gc.collect()
    others = [Tensor(np.zeros(100_000, np.float32)) + i for i in range(5)]
    assert (view == 3).all() and len(others) == 5


def test_bfloat16_reaches_numpy_as_float32() -> None:
    t = Tensor([1.5, -2.0], ms.bfloat16)
    assert t.asnumpy().dtype == np.float32 and t.asnumpy().tolist() == [1.5, -2.0]
    assert np.asarray(t).dtype == np.float32 and t.item(0) == 1.5


def test_array_protocol() -> None:
    t = Tensor([[1, 2], [3, 4]])
    assert np.asarray(t).dtype == np.int64 and np.array(t).tolist() == [[1, 2], [3, 4]]
    assert np.asarray(t, np.float32).dtype == np.float32
    assert np.stack([t, t]).shape == (2, 2, 2)
    assert t.__array__(copy=True) is not t.__array__()
    with pytest.raises(ValueError, match="copy"):
        t.__array__(np.float32, copy=False)


def test_dlpack() -> None:
    t = Tensor([[1.0, 2.0]])
    a = np.from_dlpack(t)
    assert a.dtype == np.float32 and a.tolist() == [[1.0, 2.0]]
    assert t.__dlpack_device__() == (1, 0)
    assert Tensor(np.from_dlpack(Tensor([1, 2]))).tolist() == [1, 2]


def test_to_python() -> None:
    assert Tensor([[2.5]]).item() == 2.5 and Tensor([[1, 2], [3, 4]]).item((1, 0)) == 3 and Tensor([1, 2]).item(1) == 2
    assert type(Tensor(1).item()) is int and type(Tensor(1.0).item()) is float and type(Tensor(True).item()) is bool
    assert float(Tensor([1.5])) == 1.5 and int(Tensor([[7]])) == 7 and int(Tensor(2.9)) == 2
    assert bool(Tensor([0.5])) and not Tensor(0) and Tensor(math.nan)
    assert list(range(5))[Tensor(2)] == 2 and [10, 20][Tensor([1])] == 20 and operator.index(Tensor(3, ms.uint8)) == 3
    assert f"{Tensor(1.25):.1f}" == "1.2" and f"{Tensor([1, 2])}" == "[1 2]"
    assert [x.tolist() for x in Tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert struct.pack("i", Tensor(5)) == struct.pack("i", 5)
    assert math.sqrt(Tensor(4.0)) == 2.0 and round(Tensor(2.5)).item() == 2.0 and abs(Tensor(-1)).item() == 1
    assert 2 in Tensor([1, 2]) and 3 not in Tensor([1, 2])


@pytest.mark.parametrize("wrong", [
    lambda t: bool(t), lambda t: int(t), lambda t: float(t), lambda t: t.item(), lambda t: operator.index(t), lambda t: bool(t[:0]),
    lambda t: len(Tensor(1)), lambda t: operator.index(Tensor(1.0)), lambda t: t.item(5), lambda t: list(Tensor(1)),
])
def test_what_is_no_number(wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)):
        wrong(Tensor([1, 2]))


# -- copies, texts, identity --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*NUMPY, "bfloat16"])
def test_pickles_and_copies(name: str) -> None:
    dtype = getattr(ms, "bool_" if name == "bool" else name)
    t = Tensor([[0, 1, 2]], dtype)
    for other in (pickle.loads(pickle.dumps(t)), copy.copy(t), copy.deepcopy(t), t.copy(), Tensor(t)):
        assert type(other) is Tensor and other is not t and other.dtype is dtype and other.tolist() == t.tolist()
        other.overwrite(Tensor([[1, 1, 1]], dtype))
        assert t.tolist() == Tensor([[0, 1, 2]], dtype).tolist()


def test_parameters_pickle_and_copy() -> None:
    p = Parameter(Tensor([1.0, 2.0]), name="p", requires_grad=False)
    for other in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p), p.clone(), Parameter(p, name="p", requires_grad=False)):
        assert type(other) is Parameter and (other.name, other.requires_grad, other.tolist()) == ("p", False, [1.0, 2.0])
        ops.assign(other, Tensor([0.0, 0.0]))
        assert p.tolist() == [1.0, 2.0]
    assert p.clone("zeros").tolist() == [0.0, 0.0] and p.clone(Tensor([4.0])).tolist() == [4.0]
    assert ms.ParameterTuple([p]).clone("old")[0].name == "old.p"


def test_hash_is_identity() -> None:
    a, b = Tensor([1.0]), Tensor([1.0])
    assert hash(a) == hash(a) and len({a, b, a}) == 2 and {a: 1}[a] == 1
    p = Parameter(a, name="p")
    assert len({p, p}) == 1 and {p: 2}[p] == 2


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_comparisons(compare: Any) -> None:
    a, b = np.array([1.0, 2.0, math.nan], np.float32), np.array([2.0, 2.0, math.nan], np.float32)
    assert compare(Tensor(a), Tensor(b)).tolist() == compare(a, b).tolist()
    assert compare(Tensor(a), 2).tolist() == compare(a, 2).tolist()
    assert compare(2, Tensor(a)).tolist() == compare(2, a).tolist()
    assert compare(Tensor(a), Tensor(b)).dtype is ms.bool_


def test_equality_with_what_is_no_number() -> None:
    """So that a tensor can stand in a list with other things, and be compared with None."""
    t = Tensor([1.0])
    for other in (None, "text"):
        assert not operator.eq(t, other) and operator.ne(t, other)
    assert [None, t].index(t) == 1


# -- writing ------------------------------------------------------------------------------------------------------------
def test_a_write_is_in_place_where_memory_is_held_alone() -> None:
    t = Tensor([1.0, 2.0])
    memory = id(t.memory)
    t.overwrite(Tensor([3.0, 4.0]))
    assert id(t.memory) == memory and t.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("write", [
    lambda t: t.overwrite(Tensor([9.0, 9.0])), lambda t: ops.assign(t, Tensor([9.0, 9.0])), lambda t: t.set_data(Tensor([9.0, 9.0])),
    lambda t: ops.assign_add(t, Tensor([8.0, 7.0])), lambda t: t.assign_value(Tensor([9.0, 9.0])),
        lambda t: operator.setitem(t, slice(None), 9.0),
    lambda t: operator.setitem(t, 0, 9.0),
], ids=range(7))
def test_a_write_is_seen_by_nobody_else(write: Any) -> None:
    """Not by a view of NumPy's, nor by tensors that share the memory, made before or after."""
    t = Parameter(Tensor([1.0, 2.0]), name="t")
    source = Tensor([1.0, 2.0])
    t.set_data(source)
    others = [t.reshape((2, 1)), Tensor(t), copy.copy(t), t.value(), t.astype(ms.float32), ops.stop_gradient(t), source]
    view = t.asnumpy()
    alone = Tensor([1.0, 2.0])
    shown = alone.asnumpy()
    write(t)
    write(alone) if not isinstance(alone, Parameter) else None
    assert t.tolist()[0] == 9.0 and alone.tolist()[0] == 9.0
    assert view.tolist() == shown.tolist() == [1.0, 2.0]
    for other in others:
        assert other.asnumpy().ravel().tolist() == [1.0, 2.0]


def test_writes_the_other_way() -> None:
    """A tensor that took over numbers does not see what becomes of their source."""
    source, p = Tensor([1.0]), Parameter(Tensor([0.0]), name="p")
    p.set_data(source)
    source.overwrite(Tensor([5.0]))
    assert p.tolist() == [1.0]
    ops.assign(p, source)
    source.asnumpy()[0] = 7
    assert p.tolist() == [5.0]


def test_a_write_does_not_reach_the_tape() -> None:
    """Residuals are the numbers at the time of their use, for tensors and parameters, written by whatever."""
    for make in (lambda: Parameter(Tensor([3.0]), name="p"), lambda: Tensor([3.0])):
        for write in (lambda p: p.overwrite(Tensor([100.0])), lambda p: p.set_data(Tensor([100.0])),
            lambda p: ops.assign(p, Tensor([100.0]))):
            p = make()

            def f(x: Tensor, p: Tensor = p, write: Any = write) -> Tensor:
                y = x * p
                write(p)
                return y

            assert ms.grad(f)(Tensor([1.0])).tolist() == [3.0]
            assert p.tolist() == [100.0]


def test_a_write_in_a_hook_does_not_reach_residuals() -> None:
    p = Parameter(Tensor([3.0]), name="p")
    hook = ops.HookBackward(lambda g: ops.assign(p, Tensor([100.0])) and None)
    assert ms.grad(lambda x: hook(x * p))(Tensor([1.0])).tolist() == [3.0]


def test_the_argument_of_a_gradient_may_be_written() -> None:
    """It is the caller's tensor, by whatever name it is written; what was computed before keeps its numbers."""
    x = Tensor([2.0])

    def f(y: Tensor) -> Tensor:
        z = y * y
        x.overwrite(Tensor([50.0]))
        assert y.tolist() == [50.0]
        y.overwrite(Tensor([70.0]))
        return z

    for run, expected in ((f, [4.0]), (ms.grad(f), [4.0])):
        x.overwrite(Tensor([2.0]))
        assert run(x).tolist() == expected
        assert x.tolist() == [70.0]


def test_an_array_of_a_tensor_that_a_gradient_needs_is_a_copy() -> None:
    """x^4: what Python writes into the array of x * x does not reach the gradient."""
    def f(x: Tensor) -> Tensor:
        y = x * x
        z = y * y
        y.asnumpy()[...] = 100
        return z

    assert ms.grad(f)(Tensor([2.0])).tolist() == [32.0]
    assert f(Tensor([2.0])).tolist() == [16.0]


def test_constants_are_not_given_away() -> None:
    """Zeros without dimensions come from a kept constant: writing them changes no other."""
    f32 = ms.float32
    for make in (
        lambda: zeros(Tensor(1.0).type), lambda: ops.zeros((), f32), lambda: ops.ones_like(Tensor(2.0)) - 1, lambda: ops.full((), 0.0),
        lambda: ms.grad(lambda x: ops.stop_gradient(x) * 2)(Tensor(1.0)),
        lambda: ms.grad(lambda x, y: x * 1.0, 1)(Tensor(1.0), Tensor(1.0)),
        lambda: ms.grad(lambda x: x + 1, 0)(Tensor(1.0)) - 1,
    ):
        t = make()
        assert t.tolist() == 0.0
        t.asnumpy()[...] = 7
        make().overwrite(Tensor(5.0))
        assert constant(0, f32).tolist() == constant(0.0, f32).tolist() == 0.0 and constant(1, f32).tolist() == 1.0
        assert make().tolist() == 0.0
        assert (Tensor(3.0) + 0).tolist() == 3.0


def test_a_gradient_may_be_kept_and_written() -> None:
    x = Tensor([1.0, 2.0])
    first = ms.grad(lambda x: x.sum() * 1.0)(x)
    first.asnumpy()[:] = 50
    first.overwrite(Tensor([60.0, 60.0]))
    a, b = ms.grad(lambda x, y: (x + y).sum(), (0, 1))(x, x)
    a.overwrite(Tensor([9.0, 9.0]))
    assert b.tolist() == [1.0, 1.0]
    assert ms.grad(lambda x: x.sum() * 1.0)(x).tolist() == [1.0, 1.0]


def test_set_data_keeps_a_parameters_dtype() -> None:
    """As MindSpore has it: numbers are cast, the shape may change; a Tensor takes over both."""
    p = Parameter(Tensor([3.0, 4.0]), name="w")
    for data, values in ((Tensor([1, 2], ms.int32), [1.0, 2.0]), (3, 3.0), (np.array([[1.5]]), [[1.5]]), ([1, 2], [1.0, 2.0])):
        p.set_data(data)
        assert p.dtype is ms.float32 and p.tolist() == values
    assert p.set_dtype(ms.float16) is ms.float16
    assert p.dtype is ms.float16
    t = Tensor([1.0])
    t.set_data(Tensor([1, 2], ms.int32))
    assert t.dtype is ms.int32 and t.tolist() == [1, 2]
    assert Parameter(3).dtype is ms.int32 and Parameter(2.5).dtype is ms.float32 and Parameter([1, 2]).dtype is ms.int64
    assert Parameter(np.float64(2.5)).dtype is ms.float32 and Parameter(np.array(2.5)).dtype is ms.float64


def test_in_place_operators_make_new_tensors() -> None:
    a = Tensor([1.0])
    b = a
    a += 1
    assert a.tolist() == [2.0] and b.tolist() == [1.0]
    net = nn.Dense(1, 1, "ones", "zeros")
    weight = net.weight
    w = net.weight
    w *= 3
    assert weight.tolist() == [[1.0]] and net.weight is weight


def test_many_threads_write_and_read() -> None:
    """Tensors of one thread never change under another's writes to its own."""
    source = Tensor(np.zeros(2048, np.float32))
    wrong: list[Any] = []

    def work(number: int) -> None:
        mine = Tensor(source)
        for i in range(50):
            mine.overwrite(Tensor(np.full(2048, number * 100 + i, np.float32)))
            seen = np.unique(mine.asnumpy())
            if seen.tolist() != [number * 100 + i]:
                wrong.append(seen)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and (source.asnumpy() == 0).all()


def test_integers_beyond_64_bits_are_errors():
    """Within 64 bits they wrap, as MindSpore's do; beyond, nothing is silently another number."""
    for wrong in (lambda: Tensor(2**70), lambda: Tensor([1], ms.int32) + 2**70, lambda: Tensor([1], ms.int64) * -(2**63 + 1)):
        with pytest.raises(RuntimeError, match="out of the range"):
            wrong()
    assert (Tensor([1], ms.int8) + 1000).asnumpy().tolist() == [-23]


def test_numbers_beyond_a_float_dtype_are_infinite_and_numpy_says_nothing():
    x = Tensor([1.0, 2.0], ms.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for made in (Tensor(1.5e39), Tensor([1.5e39]), Tensor(1.5e39, ms.bfloat16), ops.full((2,), 1.5e39), ops.full_like(x, 1.5e39)):
            assert np.isinf(made.astype(ms.float32).asnumpy()).all()
        x[0] = -1.5e39
    assert x.tolist() == [-math.inf, 2]


def test_initialisers_by_name():
    assert Tensor(shape=(2,), dtype=ms.float32, init="ones").asnumpy().tolist() == [1, 1]
    with pytest.raises(TypeError, match="init"):
        Tensor(shape=(2,), dtype=ms.float32, init=object())


def test_integers_of_64_bits() -> None:
    """As in lists: what is too large for Int64 is UInt64."""
    assert Tensor(2**63).dtype is ms.uint64 and Tensor(2**64 - 1).tolist() == 2**64 - 1
    assert Tensor([2**63]).dtype is ms.uint64 and Tensor(2**63 - 1).dtype is ms.int64


def test_two_ways_of_saying_what_it_holds() -> None:
    with pytest.raises(ValueError, match=r"Tensor.*'input_data' and 'init'.*one of them"):
        Tensor([1.0, 2.0], ms.float32, (2,), "ones")
    assert Tensor(shape=(2,), dtype=ms.float32, init="ones").has_init is False


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_lists_are_operands(mode: int) -> None:
    """A list or tuple of numbers beside a tensor counts as a tensor."""
    def f(x: Tensor) -> tuple[Tensor, ...]:
        return x * (1, 2), [3, 4] - x, x * [0.5, 2.0], x / [2, 4], x > [0, 5], x.reshape(1, 2) - [[1, 2], [3, 4]]

    ms.set_context(mode=mode)
    try:
        found = (ms.jit(f) if mode == ms.GRAPH_MODE else f)(Tensor([1, 2]))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert [y.tolist() for y in found] == [[1, 4], [2, 2], [0.5, 4.0], [0.5, 0.5], [True, False], [[0, 0], [-2, -2]]]
    assert found[0].dtype is ms.int64 and found[2].dtype is ms.float32
    with pytest.raises(TypeError, match="numbers"):
        Tensor([1, 2]) - ["a", "b"]
    for empty in ([], ()):
        with pytest.raises(TypeError, match=r"For 'Mul', a list or tuple .* must hold numbers, but got (\[\]|\(\))"):
            Tensor([1]) * empty


def test_lists_of_tensors_are_no_operands() -> None:
    """Their numbers would be taken without their gradients: `ops.stack` makes an operand of them."""
    a, b, x = Tensor([2.0]), Tensor([3.0]), Tensor([5.0])
    for items in ((a, b), [1.0, a], [[a], [b]]):
        for f in (lambda x, items=items: x * items, lambda x, items=items: items - x):
            for run in (f, ms.jit(f), ms.grad(f)):
                with pytest.raises(TypeError, match=r"For '(Mul|Sub)', a list or tuple .* must hold numbers.*ops\.stack"):
                    run(x)
    assert [g.tolist() for g in ms.grad(lambda x, a, b: x * ms.ops.stack((a, b)), (0, 1, 2))(x, a, b)] == [[5.0], [5.0], [5.0]]


def test_lists_of_run_time_numbers_are_operands() -> None:
    def f(x: Tensor) -> Tensor:
        n, m = int(x.sum()), float(x[0])
        return x * [n, 2] + (m, 0.5)

    for run in (f, ms.jit(f)):
        assert run(Tensor([1.0, 2.0])).tolist() == [4.0, 4.5]


def test_tilde_is_not() -> None:
    """As MindSpore's: of numbers whether they are 0; bits are turned by `bitwise_not`."""
    assert (~Tensor([True, False])).tolist() == [False, True]
    for zero_and_two in (Tensor([0, 2]), Tensor([0.0, 2.0]), Tensor([-0.0, float("nan")])):
        assert (~zero_and_two).tolist() == [True, False] and (~zero_and_two).dtype is ms.bool_
    assert Tensor([0, 2]).bitwise_not().tolist() == [-1, -3] and ms.ops.Invert()(Tensor([0, 2])).tolist() == [-1, -3]


def test_made_by_a_function() -> None:
    assert repr(ms.tensor([1, 2], ms.float16)) == repr(Tensor([1, 2], ms.float16))
    assert ms.tensor(3.0, dtype=ms.float64).dtype is ms.float64 and ms.tensor(Tensor([1])).tolist() == [1]
    assert ms.jit(lambda x: x + ms.tensor([1.0, 2.0]))(Tensor([1.0, 1.0])).tolist() == [2.0, 3.0]


def test_other_names_of_dtypes() -> None:
    names = {"byte": ms.int8, "short": ms.int16, "intc": ms.int32, "long": ms.int64, "intp": ms.int64, "ubyte": ms.uint8,
             "ushort": ms.uint16, "uintc": ms.uint32, "uintp": ms.uint64}
    assert all(getattr(ms, name) is dtype for name, dtype in names.items())
    assert ms.pytype_to_dtype(float) is ms.float64 and Tensor([1]).astype(float).dtype is ms.float64
    assert ms.dtype_to_nptype(type_=ms.int8) is np.int8 and ms.dtype_to_pytype(type_=ms.float16) is float


@pytest.mark.parametrize("shape", [(), (1,), (2, 0), (2, 1)])
@pytest.mark.parametrize("dtype", [*DTYPES.values()], ids=str)
def test_every_dtype_and_shape_is_read_and_written(dtype: DType, shape: tuple[int, ...]) -> None:
    # An operation on an array without dimensions gives a NumPy number, before NumPy 2 of another dtype: `view` then fails.
    x = Tensor(np.ones(shape, bool), dtype)
    array = x.asnumpy()
    assert isinstance(array, np.ndarray) and array.shape == shape
    assert array.dtype == (np.float32 if dtype is ms.bfloat16 else dtype.array)
    assert x.tolist() == np.ones(shape).tolist() and str(x) and repr(x)
    assert np.asarray(x).shape == np.array(x, np.complex128).shape == np.array(x, copy=True).shape == shape
    assert Tensor(array, dtype).tolist() == x.tolist() == copy.deepcopy(x).tolist() == pickle.loads(pickle.dumps(x)).tolist()
    if x.size == 1:
        assert x.item() == 1 and bool(x) and (dtype.is_complex or int(x) == float(x) == 1) and f"{x:}" == str(x)


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_bytes_are_those_of_the_numbers(dtype: DType) -> None:
    x = Tensor(np.arange(6).reshape(2, 3) - 1).astype(dtype)
    again = Tensor.convert_bytes_to_tensor(x.get_bytes(), (2, 3), dtype)
    assert again.dtype is dtype and (again == x).all() and len(x.get_bytes()) == x.nbytes
    assert Tensor.convert_bytes_to_tensor(b"", (0, 2), dtype).shape == (0, 2)


def test_a_tensor_stays_on_the_cpu(tmp_path: Any) -> None:
    """Scripts for several devices move tensors: here that is a copy, and another device an error."""
    x = Tensor([1.0, 2.0])
    assert x.move_to("CPU") is not x and ms.grad(lambda x: (x.move_to("CPU") * 3).sum())(x).tolist() == [3.0, 3.0]
    assert x.offload(str(tmp_path / "x")) and x.offload_file_path() == str(tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == x.get_bytes() and x.tolist() == [1.0, 2.0]
    assert x.data_ptr() == x.asnumpy().ctypes.data
    x.set_init_flag(True)
    assert x.is_init() and x.set_const_arg() is x and x.const_arg and not (x.is_complex() or x.is_pinned() or x.is_shared())
    weight = Parameter(x, name="w")
    weight.comm_fusion, weight.cache_shape = 3, (1, 2)
    assert (weight.comm_fusion, weight.cache_shape, weight.key, weight.inited_param) == (3, [1, 2], -1, None)
    assert x.set_dtype(ms.int32) is x.dtype is ms.int32
    for call, kind, text in (
        (lambda: x.move_to("GPU"), RuntimeError, "'to' must be 'CPU'"), (lambda: x.move_to("TPU"), ValueError, "'to' must be one of"),
        (x.pin_memory, RuntimeError, "no device to pin memory for"), (lambda: x.set_const_arg(1), TypeError, "'const_arg' must be a bool"),
        (lambda: Tensor.convert_bytes_to_tensor(b"123", (1,), ms.int32), ValueError, "must have 4 bytes"),
        (lambda: setattr(weight, "comm_fusion", -1), ValueError, "at least 0"),
        (lambda: setattr(weight, "cache_enable", 1), TypeError, "`cache_enable` must be bool type"),
        (lambda: ms.jit(lambda x: x.get_bytes())(x), ms.CompileError, "not known while parsing"),
    ):
        with pytest.raises(kind, match=text):
            call()


def test_the_options_of_a_parameter_are_an_object() -> None:
    """As MindSpore 2.10.0 has it: optimizers of others' copy it to their states, and keep lists in it."""
    weight, state = Parameter(Tensor([1.0, 2.0]), name="w", layerwise_parallel=True), Parameter(Tensor([0.0, 0.0]), requires_grad=False)
    info = weight.param_info
    info.kept = [state]
    assert weight.param_info is info and weight.param_info.kept == [state] and not hasattr(info.clone(), "kept")
    copied = info.clone()
    weight.name, weight.requires_grad = "v", False
    assert (info.name, info.requires_grad) == ("v", False) and (copied.name, copied.requires_grad) == ("w", True)
    info.name = "u"
    assert weight.name == "u" and copied.name == "w"
    state.param_info = copied
    assert (state.name, state.requires_grad, state.layerwise_parallel, state.param_info) == ("w", True, True, copied)
    state.name = f"moment.{state.name}"
    assert copied.name == "moment.w" and weight.name == "u" and weight.clone().param_info is not info
    with pytest.raises(ValueError, match="name"):
        info.name = "n" * 2000
    with pytest.raises(TypeError, match="param_info"):
        weight.param_info = "w"
    del weight
    assert info.name == "u"
