"""`set_inputs` and `get_inputs`: messages and exceptions as in MindSpore 2.10."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn


class Product(nn.Cell):
    def construct(self, x, y):
        return x * y


class Optional(nn.Cell):
    def construct(self, x, y=None):
        return x + 1 if y is None else x * y


def ones(*shape: int, dtype: Any = np.float32) -> Tensor:
    return Tensor(np.ones(shape, dtype))


def like(*shape: int | None, dtype=ms.float32) -> Tensor:
    return Tensor(shape=shape, dtype=dtype)


@pytest.fixture
def graph_mode() -> Iterator[None]:
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def test_a_description_says_what_it_is():
    x = like(3, None)
    assert x.shape == (3, -1) and x.dtype is ms.float32 and x.ndim == 2
    assert repr(x) == "Tensor(shape=[3, -1], dtype=Float32, value=\n)" and repr(like(None)) == "Tensor(shape=[-1], dtype=Float32, value= )"
    for use in (lambda: x + 1, lambda: x.asnumpy(), lambda: ms.ops.relu(x), lambda: x.memory):
        with pytest.raises(ValueError, match="describes an input"):
            use()
    assert pickle.loads(pickle.dumps(x)).shape == (3, -1) and copy.deepcopy(x).dtype is ms.float32
    assert (like(2, 3).asnumpy() == np.zeros((2, 3))).all()
    of_any_rank = Tensor(shape=None, dtype=ms.float32)
    assert of_any_rank.shape == pickle.loads(pickle.dumps(of_any_rank)).shape == (-2,)
    with pytest.raises(ValueError, match="must be given"):
        Tensor()


def test_what_was_said_is_given_back():
    net = Product()
    assert net.get_inputs() is None
    x = like(3, None)
    net.set_inputs(x, 2)
    assert net.get_inputs() == (x, 2)
    net.set_inputs(y=x)
    assert net.get_inputs() == {"arg_specified_infos": [[1, x]], "total_arg_length": 2}
    with pytest.raises(ValueError, match="should only set inputs or kwargs"):
        net.set_inputs(x, y=x)
    with pytest.raises(ValueError, match=r"valid key is \['x', 'y'\], but got z"):
        net.set_inputs(z=x)
    assert copy.deepcopy(net).get_inputs()["total_arg_length"] == 2


@pytest.mark.usefixtures("graph_mode")
def test_the_number_of_inputs():
    with pytest.raises(TypeError, match="requires 2 positional argument, but got 1"):
        Product().set_inputs(like(3, None))
    with pytest.raises(TypeError, match="total 2, but got 3"):
        Product().set_inputs(like(3), like(3), like(3))
    net = Optional()
    net.set_inputs(like(3, None))
    assert (net(ones(3, 2)).asnumpy() == 2).all()
    with pytest.raises(ValueError, match="the length of input must be equal to expected one, but got expected: 1 and input: 2"):
        net(ones(3, 2), ones(3, 2))


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize(("said", "given", "kind", "text"), [
    ((like(3, None), like(3, None)), (ones(4, 5), ones(4, 5)), ValueError, "the shape of 1th input must be the same as expected, but got "
     "expected: 3, and input: 4!"),
    ((like(3, None), like(3, None)), (ones(3), ones(3)), ValueError, "the dims of 1th input must be the same as expected, but got "
     "expected: 2, and input: 1!"),
    ((like(3, None), like(3, None)), (ones(3, 5, dtype=np.float16),) * 2, TypeError,
     r"the 1th type should be Tensor\[Float32\], but got Tensor\[Float16\]!"),
    ((like(3, None), like(3, None)), (ones(3, 5), 2.0), TypeError, "the 2th should be mutable one, but got static!"),
    ((like(3, None), 2), (ones(3, 5), ones(3, 5)), TypeError, "the 2th should be static one, but got mutable!"),
    ((like(3, None), 2), (ones(3, 5), 3), ValueError, "the 2th should be 2, but got 3"),
    ((ones(3, 2), ones(3, 2)), (ones(3, 4), ones(3, 4)), ValueError, "expected: 2, and input: 4"),
    ((like(3, None), (like(3), 2)), (ones(3, 5), ones(3)), TypeError, "the 2th should be a tuple, but got Tensor"),
    ((like(3, None), (like(3), 2)), (ones(3, 5), (ones(3),)), ValueError, "should have 2 items, but got 1"),
])
def test_a_call_that_does_not_fit(said, given, kind, text):
    net = Product()
    net.set_inputs(*said)
    with pytest.raises(kind, match=text):
        net(*given)


@pytest.mark.usefixtures("graph_mode")
def test_a_call_that_fits():
    net = Product()
    net.set_inputs(like(3, None), like(3, None))
    for size in (2, 5, 0):
        assert net(ones(3, size), ones(3, size)).shape == (3, size)
    assert ms.grad(net)(ones(3, 2), ones(3, 2)).shape == (3, 2)
    net.set_inputs(x=like(None))
    assert net(ones(3), ones(3)).shape == (3,) and net(ones(3), y=2.0).shape == (3,)
    with pytest.raises(ValueError, match="expected: 1, and input: 2"):
        net(ones(3, 3), ones(3))
    around = nn.SequentialCell(Optional())
    around[0].set_inputs(like(7))
    assert around(ones(3)).shape == (3,)  # that of the cell which is called decides


def test_what_runs_as_python_is_not_checked():
    net = Product()
    net.set_inputs(like(3, None))
    assert net(ones(4), ones(4)).shape == (4,)
    net.construct = ms.jit(net.construct)
    with pytest.raises(ValueError, match="expected: 1 and input: 2"):
        net(ones(4), ones(4))
    net.set_inputs(like(3, None), like(3, None))
    assert net(ones(3, 2), ones(3, 2)).shape == (3, 2)
    net.set_inputs()
    assert net.get_inputs() == () and net(ones(4), ones(4)).shape == (4,)

    @ms.jit
    def with_cell(net, x):
        return net(x, x)

    other = Product()
    other.set_inputs(like(2), like(2))
    assert with_cell(other, ones(3)).shape == (3,)
