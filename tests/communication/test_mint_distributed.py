"""`mint.distributed` in a single process: its values, what it rejects, and the bytes that it sends."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint.mint.distributed as d
from adjoint import Tensor
from adjoint.communication.objects import bytes_of, object_of

X = Tensor([1.0, 2.0])


@pytest.fixture
def initialised() -> Iterator[None]:
    d.init_process_group()
    yield
    d.destroy_process_group()


def test_before_init() -> None:
    # MindSpore 2.10 answers so, without an MPI too.
    assert (d.get_rank(), d.get_world_size(), d.is_initialized(), d.is_available(), d.get_backend()) == (0, 1, False, True, "hccl")
    assert d.new_group() == "hccl_world_group" and d.get_global_rank(None, 3) == 3 and d.barrier() is None
    for call in (d.get_process_group_ranks, lambda: d.get_group_rank(None, 0), lambda: d.new_group([0])):
        with pytest.raises(RuntimeError, match="has not been inited"):
            call()


@pytest.mark.usefixtures("initialised")
def test_one_process_is_a_group() -> None:
    def written(call: Any, *targets: Tensor) -> list[Any]:
        assert call(*targets) is None
        return [target.asnumpy().tolist() for target in targets]

    def new() -> Tensor:
        return Tensor([0.0, 0.0])

    group = d.new_group([0], backend="mccl")
    assert d.get_backend(group) == "mccl" and d.get_process_group_ranks(group) == [0]
    assert written(lambda x: d.all_reduce(x, "avg", group), Tensor([1.0, 2.0])) == [[1, 2]]
    for call in (
        lambda y: d.all_gather_into_tensor(y, X), lambda y: d.all_gather([y], X), lambda y: d.all_gather_into_tensor_uneven(y, X, [2]),
        lambda y: d.reduce_scatter_tensor(y, X), lambda y: d.reduce_scatter(y, [X]), lambda y: d.reduce_scatter_tensor_uneven(y, X),
        lambda y: d.all_to_all_single(y, X), lambda y: d.all_to_all([y], [X]), lambda y: d.gather(X, [y]), lambda y: d.scatter(y, [X]),
    ):
        assert written(call, new()) == [[1, 2]]
    assert written(lambda x: d.reduce(x, 0), Tensor([1.0])) == written(lambda x: d.broadcast(x, 0), Tensor([1.0])) == [[1]]
    handle = d.all_reduce(new(), async_op=True)
    assert handle is not None and handle.wait() is None
    with pytest.warns(UserWarning, match="-1 is returned"):
        assert d.get_world_size("nobody") == -1
    objects: list[Any] = [None]
    d.all_gather_object(objects, {"loss": 0.5})
    assert objects == [{"loss": 0.5}]


@pytest.mark.usefixtures("initialised")
@pytest.mark.parametrize(("kind", "call"), [
    (TypeError, lambda: d.all_reduce(3)), (TypeError, lambda: d.all_reduce(X, "mean")),
    (TypeError, lambda: d.all_reduce(X, X)), (TypeError, lambda: d.all_reduce(X, group=3)),
    (TypeError, lambda: d.all_reduce(X, async_op=1)),  # type: ignore[arg-type]
    (RuntimeError, lambda: d.all_reduce(X, group="nobody")), (TypeError, lambda: d.broadcast(X, "a")),  # type: ignore[arg-type]
    (ValueError, lambda: d.broadcast(X, 1)), (TypeError, lambda: d.get_rank(3)), (ValueError, lambda: d.init_process_group("gloo")),
    (TypeError, lambda: d.init_process_group(world_size="a")), (ValueError, lambda: d.init_process_group(world_size=3)),
    (NotImplementedError, lambda: d.init_process_group(init_method="tcp://1.1.1.1:1", world_size=1, rank=0)),
    (TypeError, lambda: d.P2POp("x", X, 0)), (TypeError, lambda: d.P2POp(X, X, 0)),
    (NotImplementedError, lambda: d.P2POp("isend", X, 0, tag=1)),
    (TypeError, lambda: d.batch_isend_irecv([])), (NotImplementedError, lambda: d.isend(X, 1)), (ValueError, lambda: d.send(X, 0)),
    (ValueError, lambda: d.recv(X, 3)), (TypeError, lambda: d.new_group(3)), (TypeError, lambda: d.new_group([0], backend="nccl")),
    (ValueError, lambda: d.new_group([1])), (TypeError, lambda: d.destroy_process_group(3)),
    (TypeError, lambda: d.get_group_rank("a", "b")),
    (TypeError, lambda: d.all_gather([X, X], X)), (TypeError, lambda: d.all_gather([Tensor([1])], X)),
    (TypeError, lambda: d.all_gather_into_tensor(Tensor([1.0]), X)), (ValueError, lambda: d.all_to_all_single(X, X, [1], [2])),
    (TypeError, lambda: d.all_gather_object([], 1)), (TypeError, lambda: d.all_gather_object([None], object())),
    (TypeError, lambda: d.broadcast_object_list(3)),
])
def test_mistakes(kind: type[Exception], call: Any) -> None:
    with pytest.raises(kind):
        call()
    assert X.asnumpy().tolist() == [1, 2], "a call that is refused writes nothing"


def test_signatures_are_mindspores() -> None:
    # Recorded from MindSpore 2.10.
    recorded = {
        "init_process_group": "backend='hccl', init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name='', "
                              "pg_options=None, device_id=None",
        "destroy_process_group": "group=None", "get_rank": "group=None", "get_world_size": "group=None",
        "new_group": "ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None",
        "get_backend": "group=None", "get_global_rank": "group, group_rank", "get_process_group_ranks": "group=None",
        "get_group_rank": "group, global_rank", "all_reduce": "tensor, op='sum', group=None, async_op=False",
        "all_gather_into_tensor": "output_tensor, input_tensor, group=None, async_op=False",
        "all_gather_into_tensor_uneven": "output, input, output_split_sizes=None, group=None, async_op=False",
        "all_to_all": "output_tensor_list, input_tensor_list, group=None, async_op=False",
        "all_to_all_single": "output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False",
        "reduce_scatter_tensor": "output, input, op='sum', group=None, async_op=False",
        "reduce_scatter_tensor_uneven": "output, input, input_split_sizes=None, op='sum', group=None, async_op=False",
        "isend": "tensor, dst=0, group=None, tag=0", "irecv": "tensor, src=0, group=None, tag=0",
        "send": "tensor, dst=0, group=None, tag=0", "recv": "tensor, src=0, group=None, tag=0",
        "send_object_list": "object_list, dst, group=None, device=None", "recv_object_list": "object_list, src=0, group=None, device=None",
        "gather": "tensor, gather_list, dst=0, group=None, async_op=False",
        "scatter": "tensor, scatter_list, src=0, group=None, async_op=False",
        "all_gather": "tensor_list, tensor, group=None, async_op=False",
        "reduce_scatter": "output, input_list, op='sum', group=None, async_op=False",
        "barrier": "group=None, async_op=False, device_ids=None", "broadcast": "tensor, src, group=None, async_op=False",
        "reduce": "tensor, dst, op='sum', group=None, async_op=False", "P2POp": "op, tensor, peer, group=None, tag=0",
        "batch_isend_irecv": "p2p_op_list", "all_gather_object": "object_list, obj, group=None",
        "broadcast_object_list": "object_list, src=0, group=None, device=None",
        "gather_object": "obj, object_gather_list=None, dst=0, group=None",
        "scatter_object_list": "scatter_object_output_list, scatter_object_input_list, src=0, group=None",
        "is_available": "", "is_initialized": "",
    }
    assert set(recorded) == set(d.__all__)
    for name, text in recorded.items():
        parameters = inspect.signature(getattr(d, name)).parameters.values()
        assert ", ".join(f"{p.name}" if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters) == text, name


@pytest.mark.parametrize("value", [
    None, True, -3, 2**80, 0.1, "ä\0", b"\xff", [1, [2]], (1, ("a",)), {"a": 1, (1, 2): None}, {}, {"dict": [["tuple", 1]]},
], ids=repr)
def test_objects_as_bytes_are_the_same_again(value: Any) -> None:
    again = object_of(bytes_of(value))
    assert again == value and type(again) is type(value)


def test_arrays_and_numbers_that_are_none_as_bytes() -> None:
    for array in (np.arange(6, dtype=np.int16).reshape(2, 3), np.float32(1.5), np.zeros((0, 2))):
        again = object_of(bytes_of(array))
        assert again.dtype == array.dtype and again.shape == array.shape and (again == array).all()
    assert np.isnan(object_of(bytes_of(float("nan")))) and object_of(bytes_of(float("-inf"))) == -np.inf
    for refused in (object(), {1, 2}, np.array([None]), [len], 1j):
        with pytest.raises(TypeError, match="send each other None, bool"):
            bytes_of(refused)
