"""Programs for several processes: `mpirun -n 2 python programs.py NAME,.. [ARGUMENT]` prints `RANK JSON` with each process's results."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, nn, ops
from adjoint.communication import create_group, get_group_size, get_rank, init, release
from adjoint.mindrecord import FileWriter
from adjoint.train import CheckpointConfig, ContinueRun, LossMonitor, Model, ModelCheckpoint

MODES = {"eager": ms.PYNATIVE_MODE, "graph": ms.GRAPH_MODE}


def numbers(rank: int, dtype: Any, count: int) -> np.ndarray[Any, Any]:
    """Return what a rank contributes to a reduction: magnitudes so different that the order of additions is visible."""
    rng = np.random.default_rng(rank)
    return (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype)


def bits(*arrays: Any) -> str:
    found = hashlib.sha256()
    for x in arrays:
        found.update(np.ascontiguousarray(x.asnumpy() if isinstance(x, Tensor) else x).tobytes())
    return found.hexdigest()


# -- collectives ---------------------------------------------------------------------------------------------------------
def collectives() -> dict[str, Any]:
    """Run every operator on [1, 2, 3, ...] * (rank + 1) in each mode, with gradients."""
    rank, size = get_rank(), get_group_size()
    x = Tensor(np.arange(1.0, 2 * size + 1, dtype=np.float32) * (rank + 1))
    weight = Tensor(np.arange(2.0 * size, dtype=np.float32) + rank)
    operators = {
        "sum": ops.AllReduce(), "avg": ops.AllReduce("avg"), "max": ops.AllReduce(ops.ReduceOp.MAX), "min": ops.AllReduce("min"),
        "prod": ops.AllReduce("prod"), "gather": ops.AllGather(), "scatter": ops.ReduceScatter(), "scatter_avg": ops.ReduceScatter("avg"),
        "broadcast": ops.Broadcast(1), "all_to_all": ops.AlltoAll(size, 0, 0), "reduce": ops.Reduce(1),
    }
    found: dict[str, Any] = {}
    for name, operator in operators.items():

        def weighed(x: Tensor, operator: Any = operator) -> Tensor:
            y = operator(x * x)
            return (y * weight[: y.shape[0]]).sum() if y.shape[0] <= weight.shape[0] else (y * y).sum()

        found[name] = operator(x).asnumpy().tolist()
        gradients = {"eager": ms.grad(weighed)(x), "jit": ms.jit(ms.grad(weighed))(x), "of a jit": ms.grad(ms.jit(weighed))(x)}
        ms.set_context(mode=ms.GRAPH_MODE)
        gradients["graph"] = ms.grad(weighed)(x)
        ms.set_context(mode=ms.PYNATIVE_MODE)
        found[f"{name} gradient"] = gradients["eager"].asnumpy().tolist()
        found[f"{name} same in all modes"] = len({bits(g) for g in gradients.values()}) == 1
        found[f"{name} second"] = ms.grad(lambda x, f=weighed: ms.grad(f)(x).sum())(x).asnumpy().tolist()
    found["bits"] = {}
    for dtype in (ms.float16, ms.bfloat16, ms.float32, ms.float64):
        for count in (5, 30_000):
            given = Tensor(numbers(rank, np.float64, count)).astype(dtype)
            found["bits"][f"{dtype} {count}"] = bits(ops.AllReduce()(given).astype(ms.float64))
    found["ints"] = ops.AllReduce("max")(Tensor(np.array([rank, -rank]))).asnumpy().tolist()
    found["several"] = [y.asnumpy().tolist() for y in ops.Broadcast(2)((Tensor([rank + 0.5]), Tensor([[rank]])))]
    create_group("ends", [size - 1, 0])
    if rank in (0, size - 1):
        found["group"] = [get_rank("ends"), get_group_size("ends"), ops.AllGather("ends")(Tensor([float(rank)])).asnumpy().tolist()]
    found["threads"] = ms.get_context("num_threads")
    found["context"] = [ms.get_auto_parallel_context("global_rank"), ms.get_auto_parallel_context("device_num")]
    release()
    found["alone"] = [get_rank(), get_group_size(), ops.AllReduce()(Tensor([2.0])).asnumpy().tolist()]
    return found


def distributed(folder: str) -> dict[str, Any]:
    """Run functions of mint.distributed in two processes; return what each has written into its tensors."""
    from adjoint.mint import distributed as d

    d.init_process_group(world_size=2, rank=get_rank())
    rank = d.get_rank()
    found: dict[str, Any] = {}

    def of(*values: float) -> Tensor:
        return Tensor(np.array(values, np.float32))

    def note(name: str, *written: Tensor) -> None:
        found[name] = [x.asnumpy().tolist() for x in written]

    for op in ("sum", "avg", "max", "min", "prod"):
        x = of(rank + 1, 2)
        assert d.all_reduce(x, op) is None
        note(f"all_reduce {op}", x)
    x = of(rank + 1)
    handle = d.broadcast(x, 1, async_op=True)
    assert handle is not None
    handle.wait()
    note("broadcast", x)
    d.reduce(x := of(rank + 1), 1)
    note("reduce", x)
    d.all_gather_into_tensor(x := of(0, 0), of(rank + 5))
    note("all_gather_into_tensor", x)
    d.all_gather(pair := [of(0), of(0)], of(rank + 7))
    note("all_gather", *pair)
    d.all_gather_into_tensor_uneven(x := of(0, 0, 0), (of(1), of(2, 3))[rank], [1, 2])
    note("all_gather_into_tensor_uneven", x)
    d.reduce_scatter_tensor(x := of(0), of(rank + 1, 10))
    note("reduce_scatter_tensor", x)
    d.reduce_scatter(x := of(0), [of(rank + 1), of(10)], "max")
    note("reduce_scatter", x)
    d.reduce_scatter_tensor_uneven(x := (of(0), of(0, 0))[rank], of(1, 2, rank), [1, 2])
    note("reduce_scatter_tensor_uneven", x)
    d.all_to_all_single(x := of(0, 0, 0), of(rank, rank + 10, rank + 20), *[([1, 2], [2, 1])[rank]] * 2)
    note("all_to_all_single", x)
    outputs, inputs = (([of(0), of(0, 0)], [of(1), of(2, 3, 4)]), ([of(0, 0, 0), of(0)], [of(5, 6), of(7)]))[rank]
    d.all_to_all(outputs, inputs)
    note("all_to_all", *outputs)
    d.gather(of(rank + 1), pair := [of(0), of(0)], 1)
    note("gather", *pair)
    d.scatter(x := of(0), [of(8), of(9)], 0)
    note("scatter", x)
    if rank == 0:
        d.send(of(3, 4), 1)
        d.recv(x := of(0), 1, tag=2)
    else:
        d.recv(x := of(0, 0), 0)
        d.send(of(11), 0, tag=2)
    note("recv", x)
    to_other, from_other, again = of(rank + 40), of(0), of(0)  # in another order in each process
    several = [d.P2POp(d.isend, to_other, 1 - rank), d.P2POp("irecv", from_other, 1 - rank), d.P2POp("irecv", again, 1 - rank),
               d.P2POp(d.isend, to_other * 2, 1 - rank)]
    d.batch_isend_irecv([several[i] for i in ((0, 1, 2, 3), (1, 2, 0, 3))[rank]])
    note("batch_isend_irecv", from_other, again)

    every: list[Any] = [None] * 2
    d.all_gather_object(every, {"rank": rank, 3: [None, True, (1, 2.5, b"a")]})
    found["all_gather_object"] = every == [{"rank": r, 3: [None, True, (1, 2.5, b"a")]} for r in (0, 1)]
    d.gather_object("x" * rank, every := [None] * 2, 0)
    found["gather_object"] = every
    d.broadcast_object_list(every := [rank, "abc"[rank:]], 1)
    found["broadcast_object_list"] = every
    d.scatter_object_list(every := [None], ["for 0", ["for", 1]], 1)
    found["scatter_object_list"] = every
    if rank:
        d.send_object_list([1, "two"], 0)
    else:
        d.recv_object_list(every := [0, 0], 1)
    found["recv_object_list"] = every

    group = d.new_group([1, 0])
    found["group"] = [group, d.get_rank(group), d.get_world_size(group), d.get_group_rank(group, 1), d.get_process_group_ranks(group)]
    d.all_reduce(x := of(rank + 1), "max", group)
    note("in a group", x)
    d.destroy_process_group(group)

    def reduced(x: Tensor) -> Tensor:
        y = x * 1
        d.all_reduce(y)
        return (y * y).sum()

    x = of(rank + 1.0)
    note("under jit", ms.jit(reduced)(x), ms.grad(reduced)(x), ms.jit(ms.grad(reduced))(x))
    d.barrier()
    return found


def normalization(folder: str) -> dict[str, Any]:
    """Return the relative difference between two unequal parts of a batch in `SyncBatchNorm` and the whole batch in `BatchNorm2d`."""
    rank = get_rank()
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((6, 3, 4, 4)) * 3 + 5).astype(np.float32)
    weight = rng.standard_normal(x.shape).astype(np.float32)
    part = (slice(0, 2), slice(2, 6))[rank]
    found: dict[str, Any] = {}

    def run(layer: type[Any], rows: slice, **options: Any) -> list[np.ndarray[Any, Any]]:
        """Return output, gradients by the input, gamma and beta, a second derivative, and the running statistics."""
        net = layer(3, gamma_init=Tensor([1.0, 2.0, 3.0]), beta_init=Tensor([0.5, 0.1, 0.2]), **options)
        net.set_train()
        own, share = Tensor(x[rows]), Tensor(weight[rows])

        def weighed(x: Tensor) -> Tensor:
            return (net(x) ** 2 * share).sum()

        by_input, by_parameters = ms.grad(weighed, 0, net.trainable_params())(own)
        statistics = [net.moving_mean.asnumpy(), net.moving_variance.asnumpy()]
        second = ms.grad(lambda x: (ms.grad(weighed)(x) * share).sum())(own)
        return [y.asnumpy() for y in (net(own), by_input, second, *by_parameters)] + statistics

    for name, mode in MODES.items():
        ms.set_context(mode=mode)
        whole, together = run(nn.BatchNorm2d, slice(None)), run(nn.SyncBatchNorm, part)
        together[3:5] = [ops.AllReduce()(Tensor(g)).asnumpy() for g in together[3:5]]
        whole[:3] = [y[part] for y in whole[:3]]
        found[f"{name} difference"] = [float(np.abs(a - b).max() / np.abs(a).max()) for a, b in zip(whole, together, strict=True)]
        alone, local = run(nn.SyncBatchNorm, part, process_groups=[[0], [1]]), run(nn.BatchNorm2d, part)
        found[f"{name} in groups of one"] = bits(*alone) == bits(*local)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    return found


# -- training ------------------------------------------------------------------------------------------------------------
class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.scale = nn.Dense(6, 16), nn.Dense(16, 3), Parameter(Tensor(1.0), name="scale")

    def construct(self, x: Tensor) -> Tensor:
        return self.second(ops.tanh(self.first(x))) * self.scale


def rows(count: int = 32) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    return rng.standard_normal((count, 6)).astype(np.float32), rng.standard_normal((count, 3)).astype(np.float32)


def training(folder: str) -> dict[str, Any]:
    rank, size = get_rank(), get_group_size()
    x, y = rows()
    own = Tensor(x[rank::size]), Tensor(y[rank::size])
    found: dict[str, Any] = {}

    # The gradients of a half batch each, put together, beside those of the whole batch in one process.
    ms.set_seed(1)
    net, loss = Net(), nn.MSELoss()
    weights = ParameterTuple(net.trainable_params())
    seen: list[str] = []
    net.scale.register_hook(lambda g: seen.append(bits(g)))
    gradients = ms.value_and_grad(lambda a, b: loss(net(a), b), None, weights)
    local = gradients(*own)[1]
    found["a hook sees the local gradient"] = seen == [bits(local[2])] or seen == [bits(g) for g in local if g.shape == ()]
    found["local"] = bits(*local)
    together, whole = nn.DistributedGradReducer(weights, True)(local), gradients(Tensor(x), Tensor(y))[1]
    found["difference"] = max(float(np.abs(a.asnumpy() - b.asnumpy()).max()) for a, b in zip(together, whole, strict=True))
    found["together"] = bits(*together)
    found["float16"] = str(nn.DistributedGradReducer([weights[0]])((local[0].astype(ms.float16),))[0].dtype)

    # Training steps: other seeds in each process, the same parameters at the beginning and at the end.
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    for name, mode in MODES.items():
        ms.set_context(mode=mode)
        ms.set_seed(10 + rank)
        net = Net()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.Momentum(net.trainable_params(), 0.1, 0.9))
        begin = bits(*net.get_parameters())
        for _ in range(3):
            step(*own)
        found[f"{name} begin"], found[f"{name} end"] = begin, bits(*net.get_parameters())
    ms.set_context(mode=ms.PYNATIVE_MODE)

    # One process overflows: all keep their parameters, and lower the scale.
    manager = nn.DynamicLossScaleUpdateCell(64.0, 2, 100)
    scaled = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, loss), nn.SGD(net.trainable_params(), 0.1), manager)
    kept = bits(*net.get_parameters())
    broken = x[rank::size].copy()
    broken[0, 0] = np.inf if rank else 0
    found["overflow"] = bool(scaled(Tensor(broken), own[1])[1])
    found["flag"] = bool(scaled.get_overflow_status(None, (Tensor([np.inf if rank else 0.0]),)))
    found["kept"], found["scale"] = bits(*net.get_parameters()) == kept, scaled.scale_sense.asnumpy().item()

    # A Model on shards of a dataset: one process writes.
    ms.set_seed(5 + rank)
    net = Net()
    model = Model(net, loss, nn.Adam(net.trainable_params(), 0.01))
    data = ms.dataset.NumpySlicesDataset((x, y), num_shards=size, shard_id=rank, shuffle=False).batch(4)
    os.makedirs(f"{folder}/checkpoints", exist_ok=True)
    before = set(os.listdir(f"{folder}/checkpoints"))
    keeper = ModelCheckpoint("net", f"{folder}/checkpoints", CheckpointConfig(4, keep_checkpoint_max=2))
    model.train(2, data, callbacks=[keeper])
    ops.Barrier()()
    found["files"] = sorted(set(os.listdir(f"{folder}/checkpoints")) - before)
    found["latest"] = Path(keeper.latest_ckpt_file_name).name
    found["model"] = bits(*net.get_parameters())
    found["saved"] = bits(*[ms.load_checkpoint(keeper.latest_ckpt_file_name)[p.name] for p in net.get_parameters()])
    return found


def records(folder: str) -> dict[str, Any]:
    """Read a file of rows in shards, shuffled in the same way in each process."""
    rank, size = get_rank(), get_group_size()
    if rank == 0:
        writer = FileWriter(f"{folder}/rows.mindrecord")
        writer.add_schema({"number": {"type": "int32"}})
        writer.write_raw_data([{"number": number} for number in range(22)])
        writer.commit()
    ops.Barrier()()
    ms.set_seed(9)
    data = ms.dataset.MindDataset(f"{folder}/rows.mindrecord", num_shards=size, shard_id=rank).batch(3)
    epochs = data.create_tuple_iterator(num_epochs=2)
    return {"epochs": [[int(number) for (batch,) in epochs for number in batch] for _ in range(2)]}


def continued(folder: str) -> dict[str, Any]:
    """Train with different dropout in each process; killed in step 5 if `kill` is in the folder."""
    rank, size = get_rank(), get_group_size()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    ms.set_seed(7 + rank)
    net = nn.SequentialCell(nn.Dense(6, 16), nn.Dropout(p=0.5), nn.Dense(16, 3))
    model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.01))
    data = ms.dataset.NumpySlicesDataset(rows(), num_shards=size, shard_id=rank).batch(4)
    kills = os.path.exists(f"{folder}/kill")

    class Killed(ms.train.Callback):
        def on_train_step_begin(self, run_context: Any) -> None:
            if kills and rank == 1 and run_context.original_args().cur_step_num == 6:
                os.unlink(f"{folder}/kill")
                os.kill(os.getpid(), signal.SIGKILL)

    model.train(2, data, callbacks=[Killed(), ContinueRun(f"{folder}/run", save_steps=1), LossMonitor(100)])
    return {"end": bits(*model.train_network.get_parameters())}


# -- failures --------------------------------------------------------------------------------------------------------------
def fails(how: str) -> dict[str, Any]:
    x = Tensor(np.ones(3, np.float32))
    ops.AllReduce()(x)
    if get_rank() == 1:
        match how:
            case "raises":
                raise ValueError("a bad batch")
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "ends":
                sys.exit(0)
            case "hangs":
                time.sleep(100)
            case "other call":
                ops.AllGather()(x)
    ops.AllReduce()(x)
    return {}


if __name__ == "__main__":
    init()
    number = get_rank()  # known before a program releases it
    result: dict[str, Any] = {}
    for program in sys.argv[1].split(","):
        result |= globals()[program](*sys.argv[2:])
    print(f"{number} {json.dumps(result)}\n", end="", flush=True)
