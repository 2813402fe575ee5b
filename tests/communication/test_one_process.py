"""A single process: everything works without a launcher, and without mpi4py."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint import communication as c
from adjoint.communication.processes import Process, cpus_of_own


@pytest.fixture
def initialised() -> Any:
    c.init()
    yield
    c.release()


def test_functions_before_and_after_init() -> None:
    assert (c.get_rank(), c.get_group_size(), c.get_local_rank(), c.get_local_rank_size()) == (0, 1, 0, 1)
    with pytest.raises(RuntimeError, match="has not been inited"):
        c.create_group("mine", [0])
    c.init("nccl")
    try:
        assert c.GlobalComm.INITED and c.GlobalComm.BACKEND == "nccl" and c.is_initialized()
        assert (c.get_rank(), c.get_group_size(c.NCCL_WORLD_COMM_GROUP), c.get_local_rank(), c.get_local_rank_size()) == (0, 1, 0, 1)
        c.create_group("mine", [0])
        assert c.get_process_group_ranks("mine") == [0] and c.get_comm_name("mine") == "mine"
        assert c.get_world_rank_from_group_rank("mine", 0) == 0 == c.get_group_rank_from_world_rank(0, "mine")
        c.destroy_group("mine")
        with pytest.raises(RuntimeError, match="there is no group 'mine'"):
            c.get_rank("mine")
    finally:
        c.release()
    assert not c.GlobalComm.INITED


@pytest.mark.usefixtures("initialised")
@pytest.mark.parametrize(("kind", "call"), [
    (RuntimeError, lambda: c.init("foo")),
    (TypeError, lambda: c.init(3)),  # type: ignore[arg-type]
    (TypeError, lambda: c.get_rank(3)),  # type: ignore[arg-type]
    (TypeError, lambda: c.create_group("a", 3)),  # type: ignore[arg-type]
    (ValueError, lambda: c.create_group("a", [])),
    (ValueError, lambda: c.create_group("a", [0, 0])),
    (ValueError, lambda: c.create_group("a", [1])),
    (ValueError, lambda: c.destroy_group(c.HCCL_WORLD_COMM_GROUP)),
    (TypeError, lambda: ops.AllReduce(3)),  # type: ignore[arg-type]
    (ValueError, lambda: ops.AllReduce("foo")),
    (TypeError, lambda: ops.AllReduce(group=3)),  # type: ignore[arg-type]
    (TypeError, lambda: ops.Broadcast("a")),  # type: ignore[arg-type]
    (ValueError, lambda: ops.Broadcast(1)(Tensor([1.0]))),
    (RuntimeError, lambda: ops.AllReduce(group="nobody")(Tensor([1.0]))),
    (TypeError, lambda: ops.AllReduce()(3)),
    (TypeError, lambda: ops.AllReduce()(Tensor([True]))),
    (TypeError, lambda: ops.AllReduce("avg")(Tensor([1]))),
    (ValueError, lambda: ops.AllGather()(Tensor(1.0))),
    (ValueError, lambda: ops.AlltoAll(2, 0, 0)(Tensor([1.0, 2.0]))),
    (ValueError, lambda: nn.DistributedGradReducer([], True, 0)),
    (TypeError, lambda: nn.DistributedGradReducer([], 3, 2)),  # type: ignore[arg-type]
])
def test_mistakes(kind: type[Exception], call: Any) -> None:
    with pytest.raises(kind):
        call()


@pytest.mark.parametrize("operator", [
    ops.AllReduce(), ops.AllReduce("avg"), ops.AllReduce("max"), ops.AllGather(), ops.ReduceScatter(), ops.Broadcast(0), ops.Reduce(0),
    ops.AlltoAll(1, 0, 1),
], ids=repr)
def test_collectives_of_one_are_identities_with_gradients(operator: Any) -> None:
    x = Tensor(np.array([[1.0, -2.0], [3.0, 4.0]], np.float32))
    np.testing.assert_array_equal(operator(x).asnumpy(), x.asnumpy())
    np.testing.assert_array_equal(ms.grad(lambda x: (operator(x) ** 2).sum())(x).asnumpy(), 2 * x.asnumpy())
    np.testing.assert_array_equal(ms.jit(lambda x: operator(x) * 2)(x).asnumpy(), 2 * x.asnumpy())
    assert ops.Barrier()() is None


def test_functions_of_comm_func() -> None:
    from adjoint.ops import comm_func

    x = Tensor([1.0, 2.0])
    for pair in (comm_func.all_reduce(x), comm_func.all_gather_into_tensor(x), comm_func.reduce_scatter_tensor(x, "max")):
        assert pair[0].asnumpy().tolist() == [1, 2] and pair[1] is None
    comm_func.all_reduce(x, async_op=True)[1].wait()  # type: ignore[union-attr]
    assert comm_func.broadcast(x, 0).asnumpy().tolist() == comm_func.reduce(x, 0).asnumpy().tolist() == [1, 2]
    assert comm_func.barrier() is None
    with pytest.raises(TypeError, match="'op' must be one of"):
        comm_func.all_reduce(x, "avg")


def test_a_collective_is_a_node_that_keeps_its_place() -> None:
    # Its result is not used, another one is computed twice: all three run, since other processes take part.
    counted: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return lambda arrays, *rest: (counted.append(name), [x.copy() for x in arrays])[1]

    from adjoint.ir.ops import collective

    def thrice(x: Tensor) -> Tensor:
        ops.AllReduce("max")(x)
        return ops.AllReduce()(x) + ops.AllReduce()(x)

    compiled = ms.jit(thrice)
    collective.use_exchange(Counting())
    try:
        compiled(Tensor([1.0]))
        assert counted == ["all_reduce"] * 3
        compiled(Tensor([1.0]))
        assert counted == ["all_reduce"] * 6
        ms.grad(thrice)(Tensor([1.0]))
        assert counted == ["all_reduce"] * 11, "three forward, and two for the gradient: nothing flows through the first"
    finally:
        collective.use_exchange(collective.OneProcess())


def test_a_data_parallel_program_runs_as_one_process() -> None:
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, parameter_broadcast=True)
    try:
        net = nn.Dense(3, 2)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
        assert step.reducer_flag and isinstance(step.grad_reducer, nn.DistributedGradReducer)
        step(Tensor(np.ones((4, 3), np.float32)), Tensor(np.ones((4, 2), np.float32)))
    finally:
        ms.reset_auto_parallel_context()


def test_mpi_is_loaded_for_a_launcher_alone() -> None:
    code = "import sys, adjoint; adjoint.communication.init(); print('mpi4py' in sys.modules, adjoint.communication.get_group_size())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "False 1\n" and done.stderr == ""


@pytest.mark.parametrize(("setup", "message"), [
    ("pass", "`communication.init()` must be called first"),
    ("sys.modules['mpi4py'] = None; adjoint.communication.init()", "pip install adjoint[mpi]"),
])
def test_one_of_several_processes_does_not_compute_alone(setup: str, message: str) -> None:
    code = f"import os, sys; os.environ['PMI_SIZE'] = '2'; import adjoint; {setup}; adjoint.ops.AllReduce()(adjoint.Tensor([1.0]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode != 0 and message in done.stderr


def test_processors_are_divided_among_those_that_may_use_them() -> None:
    def shares(*cpus: set[int]) -> list[int]:
        processes = [Process(i, "a", i, frozenset(own)) for i, own in enumerate(cpus)]
        processes.append(Process(len(cpus), "another", 9, frozenset(range(64))))
        return [cpus_of_own(processes, i) for i in range(len(processes))]

    assert shares({0, 1, 2, 3}, {0, 1, 2, 3}) == [2, 2, 64]
    assert shares({0, 1}, {2, 3}) == [2, 2, 64], "a launcher that has bound them"
    assert shares({0, 1, 2, 3}, {0}) == [3, 1, 64]
    assert shares({0}, {0}, {0}) == [1, 1, 1, 64]
