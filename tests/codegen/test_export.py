"""`export`: programs in C compile strictly, their tests pass, and a training step in C has the bits of Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cffi import FFI

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.codegen.standalone.batch import formula, together
from adjoint.codegen.standalone.stack import arrays_on_stack
from adjoint.codegen.toolchain import Toolchain
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.core import Function
from adjoint.ir.parse import parse_module
from adjoint.passes.schedule import STANDALONE_BATCHES
from adjoint.runtime.graphs.calls.making import parsed
from tests.exported_memory import overlaps_of
from tests.seams import plant

needs_gcc = pytest.mark.skipif(Toolchain.find() is None or shutil.which("gcc") is None, reason="there is no gcc")
STRICT = ("gcc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")


def of_this_processor() -> list[str]:
    """Return the flags for the bits of this process's kernels."""
    toolchain = Toolchain.find()
    assert toolchain is not None
    here = {"-mfma": ["-mfma", "-DADJOINT_FMA=1"], "-mavx512f": ["-DADJOINT_LANE_BYTES=64"]}
    return [flag for option, flags in here.items() if option in toolchain.machine for flag in flags]


def ran(folder: Path, name: str) -> str:
    """Compile the files of a program with their test; return what the test prints."""
    sources = sorted(str(path) for path in folder.glob(f"{name}*.c"))
    subprocess.run([*STRICT, *of_this_processor(), *sources, "-o", folder / "test"], check=True)
    done = subprocess.run([folder / "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


class InC:
    """The functions of an exported program with a context, called with arrays."""

    def __init__(self, folder: Path, name: str):
        sources = [str(path) for path in folder.glob(f"{name}*.c") if not path.stem.endswith("_test")]
        library = folder / f"{name}.so"
        subprocess.run([*STRICT, *of_this_processor(), "-shared", "-fPIC", *sources, "-o", library], check=True)
        header = (folder / f"{name}.h").read_text()
        self.name, self.path = name, str(library)
        self.context = np.zeros(int(header.partition("_CONTEXT_SIZE ")[2].split()[0]) // 8, np.uint64)

    def __call__(self, function: str, inputs: Sequence[Any] = (), results: Sequence[Any] = (), batch: int | None = None) -> int:
        """Call a function; return its status."""
        ffi, name = FFI(), f"{self.name}_{function}"
        rows = [] if batch is None else [batch]
        ffi.cdef(f"int {name}({', '.join(['void *', *(['size_t'] * len(rows)), *(['void *'] * (len(inputs) + len(results)))])});")
        context, *arrays = [ffi.from_buffer(array) for array in (self.context, *map(np.ascontiguousarray, inputs), *results)]
        return getattr(ffi.dlopen(self.path), name)(context, *rows, *arrays)


def network() -> Any:
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dense(32, 3))
    return net.set_train()


IMAGE = np.random.default_rng(0).normal(size=(1, 1, 4, 4)).astype(np.float32)


@needs_gcc
def test_a_network_leaves_python(tmp_path: Path) -> None:
    net = network()
    ms.export(net, Tensor(IMAGE), file_name=str(tmp_path / "net"))
    assert net.training and sorted(os.listdir(tmp_path)) == ["CMakeLists.txt", "net.c", "net.h", "net_test.c", "net_weights.c"]
    assert ran(tmp_path, "net") == "net: equal\n"
    header = (tmp_path / "net.h").read_text()
    assert "int net_forward(\n    net_context *context,\n    const float *input_data," in header
    assert "extern const float net_v4_weight[96];" in header and "state;" not in header
    subprocess.run(["gcc", "-fsyntax-only", "-x", "c++", str(tmp_path / "net.h")], check=True)


@needs_gcc
def test_numbers_of_each_dtype(tmp_path: Path) -> None:
    def mixed(x: Any, places: Any, halves: Any, flags: Any) -> Any:
        largest = places.astype(ms.int64) * 0 - 2**62 - 2**62
        return x[places] * 2, halves * 3, ops.logical_not(flags), largest, x.astype(ms.float64) / 3, ops.log(x), x.sum()

    inputs = Tensor([1.0, -2.0, 0.0]), Tensor([1, 2]), Tensor([1.5, -0.0], ms.bfloat16), Tensor([True, False])
    ms.export(mixed, *inputs, file_name=str(tmp_path / "mixed.c"))
    assert ran(tmp_path, "mixed") == "mixed: equal\n" and not (tmp_path / "mixed_weights.c").exists()
    text = (tmp_path / "mixed_test.c").read_text()
    assert "(0.0f / 0.0f)" in text and "(-1.0f / 0.0f)" in text and "INT64_MIN" in text


def of_tanh(folder: Path, *flags: str, **options: bool) -> str:
    """Export a layer with tanh, compile it with its test, and return what the test prints, or the compiler."""
    ms.set_seed(1)
    net, x = nn.SequentialCell(nn.Dense(30, 8), nn.Tanh()), Tensor(np.linspace(-1, 1, 30, dtype=np.float32)[None])
    ms.export(net, x, file_name=str(folder / "net"), force=True, **options)
    program = folder / "test"
    made = subprocess.run([*STRICT, *flags, *sorted(folder.glob("*.c")), "-lm", "-o", program], capture_output=True, text=True, check=False)
    return made.stderr if made.returncode else subprocess.run([program], capture_output=True, text=True, check=True).stdout


@needs_gcc
@pytest.mark.skipif("-mfma" not in of_this_processor(), reason="the processor has no fused multiply-add")
def test_fused_products(tmp_path: Path) -> None:
    """The bits are those of avx2, here as with AVX-512; a processor without fused multiply-add is refused."""
    assert of_tanh(tmp_path, "-mavx2", "-mfma", fma=True) == "net: equal\n"
    assert "the processor has no fused multiply-add of float: set it to 0" in of_tanh(tmp_path, fma=True)
    assert of_tanh(tmp_path, "-DADJOINT_FMA=0", fma=True) == "net: equal but for rounding\n"


@needs_gcc
def test_functions_of_the_c_library(tmp_path: Path) -> None:
    """Numbers are near those of our own functions."""
    assert of_tanh(tmp_path, libm=True).startswith("net: equal")
    text = (tmp_path / "net.c").read_text()
    assert " tanhf(" in text and "adjoint_tanh" not in text


@needs_gcc
def test_weights_are_stored_as_float16(tmp_path: Path) -> None:
    """The bits are those of a network with rounded Parameters.  What learns stays float32, and numbers that are too large are refused."""
    net, scores = network().set_train(False), np.zeros((1, 3), np.float32)
    learnt = net[4].trainable_params()
    descent = nn.SGD(learnt, 0.1)
    slope = ms.value_and_grad(lambda x: net(x).sum(), None, learnt)

    def learn(x: Any) -> Any:
        value, gradients = slope(x)
        descent(gradients)
        return value

    ms.export(net, Tensor(IMAGE), file_name=str(tmp_path / "net"), storage="float16")
    header = (tmp_path / "net.h").read_text()
    assert "extern const uint16_t net_v4_weight[96];" in header and "float net_" not in header
    ms.export(learn, Tensor(IMAGE), file_name=str(tmp_path / "more" / "net2"), storage="float16")
    assert ran(tmp_path / "more", "net2") == "net2: equal\n"
    header = (tmp_path / "more" / "net2.h").read_text()
    assert "extern const uint16_t net2_v0_weight[18];" in header and "        float v4_weight[96];" in header
    for parameter in net.get_parameters():
        parameter.set_data(parameter.astype(ms.float16).astype(ms.float32))
    assert InC(tmp_path, "net")("forward", [IMAGE], [scores]) == 0
    assert scores.tobytes() == net(Tensor(IMAGE)).asnumpy().tobytes()
    net[4].bias.set_data(Tensor([1.0, 65520.0, 0.0]))
    with pytest.raises(ValueError, match=r"the Parameter '4\.bias' has numbers beyond 65504"):
        ms.export(net, Tensor(IMAGE), file_name=str(tmp_path / "net"), storage="float16", force=True)


def test_arrays_on_the_stack_of_the_deepest_call() -> None:
    text = """
enum { ADJOINT_TOGETHER = 4, ADJOINT_CHAIN = 512 }; /* enum { ADJOINT_TOGETHER = 5 } */

static float inner(const float *x, int64_t n) {
    float lane[ADJOINT_TOGETHER * ADJOINT_LANE_BYTES / sizeof(float)] = {0}, rest[2];
    return lane[0] + x[n];
}

static inline float other(float x) { return x; }

static void outer(const float *x) {
    if (x[0] > 0) {
        const double square[2][3] = {{0}};
        inner(x, (int64_t)square[0][0]);
    }
    other(x[1]);
}
"""
    assert arrays_on_stack(text) == {"inner": 4 * 64 + 8, "outer": 48 + 4 * 64 + 8}


@needs_gcc
def test_a_test_finds_what_differs(tmp_path: Path) -> None:
    ms.export(lambda x: x * 2, Tensor([1.0, 3.0]), file_name=str(tmp_path / "f"))
    test = tmp_path / "f_test.c"
    test.write_text(test.read_text().replace("6.0f", "6.01f"))
    with pytest.raises(AssertionError, match=r"result 0: element 1 is 6, not 6\.01"):
        ran(tmp_path, "f")


def test_the_gradient_too(tmp_path: Path) -> None:
    """Trained parameters are in the context, where C code can change them; others are constants."""
    net = network().set_train(False)
    net[0].weight.requires_grad = False
    ms.export(lambda x: ops.tanh(net(x)).sum(), Tensor(IMAGE), file_name=str(tmp_path / "loss"), gradient=True)
    header = (tmp_path / "loss.h").read_text()
    assert "float *v4_weight_bar" in header and "v0_weight_bar" not in header and "float *x_bar" in header
    assert "        float v4_weight[96];" in header and "extern const float loss_v0_weight[18];" in header


class Counted(nn.Cell):
    """Dropout, a number that each call changes, and a layer that is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.drop, self.last = nn.Dense(4, 6), nn.Dropout(p=0.5), nn.Dense(6, 3)
        self.first.weight.requires_grad = False
        self.calls = 3

    def construct(self, x: Any) -> Any:
        self.calls += 1
        return self.last(self.drop(ops.relu(self.first(x)))) / self.calls


@needs_gcc
@pytest.mark.parametrize("optimiser", [nn.SGD, nn.Momentum, nn.Adam])
def test_a_step_trains_in_c_with_the_bits_of_python(tmp_path: Path, optimiser: Any) -> None:
    ms.set_seed(7)
    net, rng = Counted().set_train(), np.random.default_rng(0)
    trained = net.trainable_params()
    update = optimiser(trained, 0.1, 0.9) if optimiser is nn.Momentum else optimiser(trained, 0.1)
    both = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, trained)

    def step(x: Any, y: Any) -> Any:
        loss, gradients = both(x, y)
        update(gradients)
        return loss

    batches = [(rng.normal(size=(2, 4)).astype(np.float32), rng.integers(0, 3, 2).astype(np.int32)) for _ in range(3)]
    ms.export(step, *map(Tensor, batches[0]), file_name=str(tmp_path / "net"))
    assert net.calls == 3, "an export changes nothing here"
    program = InC(tmp_path, "net")
    program("init")
    loss = np.empty((), np.float32)
    for batch in batches:
        assert program("step", batch, [loss]) == 0
        assert loss == step(*map(Tensor, batch)).asnumpy()
    header = (tmp_path / "net.h").read_text()
    assert "extern const float net_first_weight[24];" in header and "float last_weight[18];" in header
    assert "int64_t Counted_calls[1];" in header and net.calls == 6
    assert re.search(r"^ +first +120 .* 48\n +last +84 .* 108$", header, re.MULTILINE), "bytes in flash and multiply-adds"
    assert program("step", [batches[0][0], np.array([1, 3], np.int32)], [loss]) == 1, "a label out of range is a status"


class Watched(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Dense(2, 3), nn.Dense(3, 1)

    def construct(self, x: Any) -> Any:
        h = ops.tanh(self.first(x))
        h.register_hook(lambda gradient: note("h", gradient, 2 * gradient))
        return self.last(h).sum()


LOG: list[str] = []


def note(name: str, value: Any, answer: Any = None) -> Any:
    LOG.append(f"{name} {value.asnumpy().reshape(-1)[0]:.6f}")
    return answer


FIRMWARE = r"""
#include <stdio.h>
#include <string.h>
#include "net.h"
#include "other.h"
static void say(void *user, float value) { printf("%s %.6f\n", *(const char **)user, (double)value); }
static const char *name;
static void forward(void *user, const float *in, size_t n, const float *out, size_t m) {
    name = "forward", (void)in, (void)n, (void)m;
    say(user, *out);
}
static void output(void *user, float *g, size_t n) { name = "output", (void)n; say(user, *g); }
static void h(void *user, float *g, size_t n) { name = "h"; say(user, *g); for (size_t i = 0; i < n; i++) g[i] *= 2; }
static void backward(void *user, const float *g, size_t n) { name = "backward", (void)n; say(user, *g); }
int main(void) {
    static net_context context, later;
    static other_context alone;
    static unsigned char saved[NET_STATE_SIZE + 8];
    const float x[2] = {1.0f, 2.0f};
    float loss, again;
    net_init(&context);
    context.user = &name;
    context.hooks.last_forward = forward, context.hooks.last_output = output;
    context.hooks.h = h, context.hooks.first_backward = backward;
    if (net_step(&context, x, &loss) || sizeof saved != net_state_size()) return 1;
    net_state_save(&context, saved);
    net_init(&later);
    if (net_state_load(&later, saved, sizeof saved) || net_predict(&context, x, &loss) || net_predict(&later, x, &again)) return 2;
    if (loss != again || net_state_load(&later, saved, sizeof saved - 1) != NET_OTHER_LAYOUT) return 3;
    saved[0] ^= 1;
    if (net_state_load(&later, saved, sizeof saved) != NET_OTHER_LAYOUT) return 4;
    printf("loss %.6f\n", (double)loss);
    return other(&alone, x, &again) || again != 3.0f || sizeof context != NET_CONTEXT_SIZE ? 5 : 0;
}
"""


@needs_gcc
def test_hooks_states_and_two_networks_in_one_program(tmp_path: Path) -> None:
    """Hooks are called in the order of eager mode, and may change a gradient; a state is loaded where its layout is the same."""
    ms.set_seed(3)
    net, x = Watched().set_train(), Tensor([[1.0, 2.0]])
    net.last.register_forward_hook(lambda cell, given, result: note("forward", result))
    net.last.register_backward_pre_hook(lambda cell, gradient: note("output", gradient[0]))
    net.first.register_backward_hook(lambda cell, given, gradient: note("backward", gradient[0]))
    update = nn.SGD(net.trainable_params(), 0.1)
    both = ms.value_and_grad(net, None, net.trainable_params())

    def step(x: Any) -> Any:
        loss, gradients = both(x)
        update(gradients)
        return loss

    def other(x: Any) -> Any:
        return x.sum()

    ms.export(step, x, file_name=str(tmp_path / "net"), also={"predict": (net, x)})
    ms.export(other, x, file_name=str(tmp_path / "other"), force=True)
    (tmp_path / "net_test.c").write_text(FIRMWARE)
    (tmp_path / "other_test.c").unlink()
    sources = sorted(tmp_path.glob("*.c"))
    subprocess.run([*STRICT, *of_this_processor(), *sources, "-o", tmp_path / "firmware"], check=True)
    done = subprocess.run([tmp_path / "firmware"], capture_output=True, text=True, check=False)
    LOG.clear()
    step(x)
    note("loss", net(x))
    assert done.returncode == 0 and done.stdout.splitlines() == LOG and len(LOG) == 6


class Normalised(nn.Cell):
    """Rows meet in means and variances here, a loop takes as many rounds, and Python makes a number of their count."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.drop, self.last = nn.Dense(4, 6), nn.BatchNorm1d(6), nn.Dropout(p=0.25), nn.Dense(6, 3)
        self.seen = 0

    def construct(self, x: Any) -> Any:
        self.seen += x.shape[0]
        h = self.drop(ops.tanh(self.norm(self.first(x))))
        rounds = ops.zeros((), ms.int64) + 2 * x.shape[0]
        while rounds > x.shape[0]:
            h, rounds = ops.tanh(h + 0.5), rounds - 1
        return self.last(h / (x.shape[0] ** 0.5))


@needs_gcc
def test_a_batch_up_to_a_maximum_has_the_bits_of_python(tmp_path: Path) -> None:
    """A training step and its network, for numbers of rows in any order; others are a status, and change nothing."""
    ms.set_seed(5)
    net, rng = Normalised().set_train(), np.random.default_rng(1)
    update = nn.Adam(net.trainable_params(), 0.1)
    both = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, update.parameters)

    def step(x: Any, y: Any) -> Any:
        loss, gradients = both(x, y)
        update(gradients)
        return loss

    images, labels = rng.normal(size=(9, 4)).astype(np.float32), rng.integers(0, 3, 9).astype(np.int32)
    rows = Tensor(shape=[None, 4], dtype=ms.float32)
    ms.export(step, rows, Tensor(shape=[None], dtype=ms.int32), file_name=str(tmp_path / "net"), also={"scores": (net, rows)}, max_batch=9,
              max_steps=9)
    header = (tmp_path / "net.h").read_text()
    assert "#define NET_MAX_BATCH 9\n" in header and "/* net_step(batch, x: f32[batch, 4], y: i32[batch]) -> loss: f32\n" in header
    assert ran(tmp_path, "net") == "net: equal\n"
    program, loss = InC(tmp_path, "net"), np.empty((), np.float32)
    program("init")
    assert program("step", [images, labels], [loss], batch=0) == program("step", [images, labels], [loss], batch=10) == -4
    assert program("step", [images, np.full(9, 3, np.int32)], [loss], batch=4) == 1
    program("init")  # the failed step drew random numbers, as the header says
    for count in (3, 9, 1, 2, 8, 5):
        assert program("step", [images[:count], labels[:count]], [loss], batch=count) == 0
        assert loss == step(Tensor(images[:count]), Tensor(labels[:count])).asnumpy(), count
    scores = np.empty((7, 3), np.float32)
    assert program("scores", [images[:7]], [scores], batch=7) == 0
    assert scores.tobytes() == net.set_train(False)(Tensor(images[:7])).asnumpy().tobytes()
    found = together({count: function_of(few_or_many, count) for count in range(1, 6)})
    assert [each.batches for each in found] == [(1, 2, 3), (4, 5)] and not any(map(overlaps_of, found))


def few_or_many(x: Any) -> Any:
    return x * 2 + x.mean(0) if x.shape[0] < 4 else ops.tanh(x) * x.shape[0] + x.sum(0)


def function_of(target: Any, rows: int) -> Function:
    graph = parsed(target, Tensor(np.zeros((rows, 4), np.float32))).graph
    return STANDALONE_BATCHES.run(graph.module).functions[graph.symbol]


@pytest.mark.parametrize(("numbers", "shown"), [
    ({1: 8, 2: 8, 5: 8}, "8"), ({2: 6, 3: 9, 7: 21}, "3 * batch"), ({1: 1, 2: 2, 3: 3}, "batch"), ({2: 3, 3: 2, 4: 1}, "5 - batch"),
    ({1: 1, 2: 4, 3: 9, 4: 16}, "batch * batch"), ({1: 0, 2: 2, 3: 6, 4: 12}, "batch * batch - batch"), ({1: 1, 2: 2, 3: 4, 4: 8},
    None), ({1: 0, 3: 1, 5: 2}, None),
])
def test_a_number_of_rows_in_c(numbers: dict[int, int], shown: str | None) -> None:
    """A size is computed from the rows only if it is right for each number of them; else it is looked up."""
    assert formula(numbers) == shown
    for rows, number in numbers.items() if shown else ():
        assert eval(str(shown), {"batch": rows}) == number


def row_by_row(x: Any) -> Any:
    return ops.stack([x[row] * row for row in range(x.shape[0])])


class Kept(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.kept = ops.zeros((1, 4), ms.float32)

    def construct(self, x: Any) -> Any:
        self.kept = ops.tanh(x + self.kept)
        return self.kept


def test_what_a_batch_cannot_be(tmp_path: Path) -> None:
    """The message says for how many rows, where, and what to do."""
    x = Tensor(np.zeros((2, 4), np.float32))
    for target, given, kind, message in (
        (row_by_row, (x,), CompileError, r"x\[row\] \* row(.|\n)*for 5 rows is another one than for 4(.|\n)*operators on the whole batch"),
        (lambda x: x[2] * 2, (x,), IndexError, "index 2 is out of bounds"),
        (Kept(), (x,), CompileError, "another kind than it has before"),
        (lambda x: x * 2, (Tensor(np.zeros((9, 4), np.float32)),), ValueError, "9 rows .* max_batch=8"),
        (lambda x: x * 2, (Tensor(np.zeros((0, 4), np.float32)),), ValueError, "without rows"),
        (lambda x: x * 2, (Tensor(1.0),), ValueError, "none has one"),
        (lambda x: x * 2, (Tensor(shape=[None, None], dtype=ms.float32),), ValueError, r"one size that changes, .* \[None, None\]"),
    ):
        with pytest.raises(kind, match=message) as raised:
            ms.export(target, *given, file_name=str(tmp_path / "net"), max_batch=8)
        notes = getattr(raised.value, "__notes__", [])
        assert (kind is IndexError) == any("for a batch of 1; max_batch=8" in note for note in notes) or isinstance(target, Kept)
    assert not list(tmp_path.iterdir())


class Careful(nn.Cell):
    """Counts its calls before it looks at the labels, and goes through a loop whose rounds are not known."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.calls, self.rounds = nn.Dense(4, 3), 0, 0

    def construct(self, x: Any, labels: Any) -> Any:
        self.calls += 1
        loss = ops.cross_entropy(self.layer(x), labels)
        while loss > 1:
            self.rounds += 1
            loss = ops.log(loss) + 0.5
        return loss


@needs_gcc
def test_what_a_status_leaves_changed(tmp_path: Path) -> None:
    """A number is written after what may fail; what cannot wait is named in the header, and nothing else changes."""
    ms.set_seed(2)
    net = Careful().set_train()
    update = nn.SGD(net.trainable_params(), 0.1)
    both = ms.value_and_grad(net, None, update.parameters)

    def step(x: Any, labels: Any) -> Any:
        loss, gradients = both(x, labels)
        update(gradients)
        return loss

    x, labels, loss = np.ones((2, 4), np.float32), np.zeros(2, np.int32), np.empty((), np.float32)
    ms.export(step, Tensor(x), Tensor(labels), file_name=str(tmp_path / "net"), max_steps=1)
    header = (tmp_path / "net.h").read_text()
    assert """
   returns 0, NET_FAILED, NET_TOO_MANY_ROUNDS
   NET_FAILED may come after a change of Careful.rounds
   NET_TOO_MANY_ROUNDS may come after a change of Careful.rounds */
""" in header
    program = InC(tmp_path, "net")
    program("init")
    before, after = (np.empty(int(re.findall(r"_SAVED_SIZE (\d+)", header)[0]), np.uint8) for _ in range(2))
    program("state_save", results=[before])
    assert program("step", [x, labels + 3], [loss]) == 1
    program("state_save", results=[after])
    assert (before == after).all()
    unlikely = net.layer(Tensor(x * 1e3)).argmin(1).astype(ms.int32).asnumpy()
    assert program("step", [x * 1e3, unlikely], [loss]) == -1
    program("state_save", results=[after])
    (changed,) = np.nonzero(before != after)
    assert changed.size and {*changed} <= {*range(16, 24)}, "the number of rounds, and nothing else"


class Named(nn.Cell):
    """Parameters, numbers and arguments with names that C code of ours has."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("init", "context", "start_w", "w", "batch"):
            setattr(self, name, ms.Parameter(Tensor([1.0, 2.0]), name=name, requires_grad=name != "start_w"))
        self.status = 0

    def construct(self, batch: Any, status: Any, push: Any) -> Any:
        self.status += 1
        self.w = self.w * 0.5
        return batch * self.init + status + push * self.context + self.start_w * self.w + self.batch * self.status


@needs_gcc
def test_names_of_ours_in_c_are_not_taken(tmp_path: Path) -> None:
    x = Tensor(np.ones((2, 2), np.float32))
    ms.export(Named(), x, x, x, file_name=str(tmp_path / "my net_test"), prefix="net", max_batch=2)
    assert ran(tmp_path, "my net_test") == "net: equal\n"
    assert 'STATIC "my net_test.c" "my net_test_weights.c")' in (tmp_path / "CMakeLists.txt").read_text()


def settle(x: Any) -> Any:
    before, now, path = x * 0, x, x
    while (now - before).sum() > 0.01:
        before, now, path = now, now + (now - before) * 0.5, path * 0.5 + ops.tanh(now)
    return path, now


@needs_gcc
def test_values_that_change_places_in_a_loop_do_not_overlap(tmp_path: Path) -> None:
    """One that waits for its place is in no memory of a value that the round has computed and not yet moved."""
    ms.export(settle, Tensor(np.array([1.0, 2.0, 3.0], np.float32)), file_name=str(tmp_path / "settle"))
    assert ran(tmp_path, "settle") == "settle: equal\n"


STEPS = """
param @w: f32[3]

func @f(x: f32[3], n: i64) -> (f32[3], i64[3]) {
  w: f32[3] = read @w
  a: f32[3] = sin(x)
  i: i64[3] = cast(a, to=i64)
  r: f32[3] = reshape(a, to=f32[3])
  y: f32[3], z: f32[3] = for k in range(0_i64, n, 1_i64) carry (c: f32[3] = w, d: f32[3] = x) {
    e: f32[3] = add(c, r)
    g: f32[3] = mul(e, d)
    yield d, g
  }
  write! @w(z)
  s: f32[3] = add(y, w)
  j: i64[3] = add(i, n)
  return s, j
}"""


def test_no_value_is_written_over_while_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a program with a loop, state that is read and written, and numbers of two types; `make export` checks all programs."""
    function = parse_module(STEPS).functions["f"]
    assert overlaps_of(function) == []
    plant(monkeypatch, "end of a value in C", lambda _: lambda self, root, index, region: True)
    assert any("which is needed later" in wrong for wrong in overlaps_of(function))


def test_what_c_cannot_have_leaves_no_file(tmp_path: Path) -> None:
    net, image, there = network(), Tensor(IMAGE), lambda name: str(tmp_path / name)
    for wrong, kind, message in (
        (lambda: ms.export(net, image, file_name=there("a"), file_format="MINDIR"), ValueError, "'file_format' must be 'C'"),
        (lambda: ms.export(lambda x: print(x), image, file_name=there("a")), CompileError, "standalone C"),
        (lambda: ms.export(net, image, file_name=there("a"), enc_key=b"0"), ValueError, "'enc_key'"),
        (lambda: ms.export(net, image, file_name=there("my-net")), ValueError, "no C identifier: 'my-net'.* --prefix my_net"),
        (lambda: ms.export(net, image, file_name=there("double")), ValueError, "is a keyword of C"),
        (lambda: ms.export(net, image, file_name=there("a"), also={"init": (net, image)}), ValueError, "has another meaning"),
        (lambda: ms.export(net, Tensor(shape=[None, 4], dtype=ms.float32), file_name=there("a")), ValueError, "sizes that are not known"),
        (lambda: ms.export(net, image, file_name=there("a"), also={"Forward": (net, image)}), ValueError, "is there twice"),
        (lambda: ms.export(net, image, file_name=there('a"b'), prefix="a"), ValueError, "the name of files that C includes"),
        (lambda: ms.export(net, image, file_name=there("a"), max_batch=0), ValueError, "'max_batch' must be an int of at least 1"),
        (lambda: ms.export(lambda: ops.ones(1), file_name=there("a"), gradient=True), ValueError, "has no gradient"),
        (lambda: ms.export(nn.Conv2d, image, file_name=there("a")), TypeError, "'net'"),
        (lambda: ms.export(net, image, file_name=""), TypeError, "'file_name'"),
    ):
        with pytest.raises(kind, match=message):
            wrong()
    assert not list(tmp_path.iterdir()) and net.training


def test_files_that_exist_are_kept(tmp_path: Path) -> None:
    (tmp_path / "net.h").write_text("mine")
    with pytest.raises(FileExistsError, match=r"net\.h' exists already: force=True"):
        ms.export(lambda x: x * 2, Tensor(IMAGE), file_name=str(tmp_path / "net"))
    assert os.listdir(tmp_path) == ["net.h"] and (tmp_path / "net.h").read_text() == "mine"
    ms.export(lambda x: x * 2, Tensor(IMAGE), file_name=str(tmp_path / "net"), force=True)
    assert "net_forward" in (tmp_path / "net.h").read_text()
