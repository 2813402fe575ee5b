"""Forked children, threads, signals and interrupts, and processor state that kernels must not change."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, ops
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.process import tracer
from adjoint.runtime.process.tracer import state, tracing


def product(n=300):
    a = Tensor(np.random.default_rng(0).standard_normal((n, n)).astype(np.float32))
    return ms.grad(lambda a: ops.tanh(ops.matmul(a, a)).sum())(a).asnumpy().tobytes()


def _in_child(queue):
    queue.put(product())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_computes_the_same(method):
    """Also after kernels ran on several threads here, which a forked child does not have."""
    ms.set_context(num_threads=2)
    expected = product()
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    found = queue.get(timeout=120)
    child.join(60)
    assert child.exitcode == 0 and found == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_has_no_tape_of_another_thread():
    """It is forked while another thread takes a gradient; the tape of its own gradient is kept."""
    inside, leave, found = threading.Event(), threading.Event(), []

    def waiting(x):
        inside.set()
        leave.wait(60)
        return x * x

    def in_child(x):
        child = os.fork()
        if not child:
            os._exit(len(tracing))
        found.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return x * 1.0

    thread = threading.Thread(target=ms.grad(waiting), args=(Tensor([1.0]),))
    thread.start()
    inside.wait(60)
    in_child(Tensor([1.0]))
    ms.grad(in_child)(Tensor([1.0]))
    leave.set()
    thread.join()
    assert found == [0, 1] and not tracing


def test_an_interrupt_leaves_no_tape_uncounted(monkeypatch):
    """Ctrl-C may come between setting the tape and counting it: an op may then look for a tape in vain, but none is missed."""
    def interrupted(*_):
        raise KeyboardInterrupt

    state.tracer = Tape()
    with monkeypatch.context() as patched:
        patched.setattr(tracer, "_set", interrupted)
        with pytest.raises(KeyboardInterrupt):
            state.tracer = None
    assert state.tracer is not None and len(tracing) == 1
    state.tracer = None
    assert not tracing


@ms.jit
def cubic(x):
    for i in range(3):
        x = ops.tanh(x) * x + i
    return x.sum()


dense = ms.nn.Dense(4, 3, 0.5)
dense.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2.0,))
wide = Tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))

DERIVED = {
    "gradient": lambda: ms.value_and_grad(lambda x: (dense(x) * dense(x)).sum(), 0, dense.trainable_params())(wide),
    "second order": lambda: ms.grad(lambda x: ms.grad(lambda y: (dense(y) * y.sum()).sum())(x).sum())(wide),
    "gradient of a graph": lambda: ms.grad(cubic)(wide),
    "product": lambda: ms.vjp(lambda x: dense(x), wide)[1](ops.ones((3, 3), ms.float32)),
}


def bits(answer):
    return [bits(item) for item in answer] if isinstance(answer, (tuple, list)) else answer.asnumpy().tobytes()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one may fall while a generator is closed
@pytest.mark.parametrize("run", DERIVED.values(), ids=DERIVED)
def test_an_interrupt_at_any_call_leaves_no_tape(run):
    """Ctrl-C is handled where a Python function begins, and where a C function has ended: at each of these in turn."""
    expected, number = bits(run()), 0
    run()
    while True:
        number += 1
        left = number

        def interrupt(frame, event, argument):
            nonlocal left
            left -= event in ("call", "c_return")
            if not left:
                sys.setprofile(None)
                raise KeyboardInterrupt

        sys.setprofile(interrupt)
        try:
            run()
        except KeyboardInterrupt:
            pass
        else:
            break
        finally:
            sys.setprofile(None)
        assert state.tracer is None and gc.isenabled(), f"at call {number}"
    assert number > 20 and bits(run()) == expected and not tracing


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_three_hundred_interrupts_at_any_time():
    """From a timer: wherever it interrupts, the next results have the same bits, and no recording remains active."""
    class Interrupt(BaseException):
        pass

    def interrupt(*_):
        raise Interrupt

    def work():
        return [bits(run()) for run in DERIVED.values()]

    expected, count, rng = work(), 0, random.Random(3)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        while count < 300:
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(5e-5, 2e-3))
                for _ in range(100):  # one that falls into a finaliser is lost: Python ignores exceptions there
                    work()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                count += 1
            assert state.tracer is None
            if count % 20 == 0:
                assert work() == expected
    finally:
        signal.signal(signal.SIGALRM, before)
    assert work() == expected and not tracing


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal here")
def test_a_signal_handler_runs_a_graph_of_its_own():
    """It runs in the middle of a gradient and does not change its numbers."""
    expected = bits(ms.grad(lambda x: (dense(x) * dense(x)).sum())(wide))
    value, seen = bits(cubic(wide)), []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(bits(cubic(wide))))

    def f(x):
        y = dense(x)
        os.kill(os.getpid(), signal.SIGUSR1)
        return (y * dense(x)).sum()

    try:
        assert [bits(ms.grad(f)(wide)) for _ in range(3)] == [expected] * 3
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [value] * 3


def test_threads_that_begin_together_in_a_new_process():
    """The first tensor, the first kernel and the first graph at once, from eight threads."""
    code = """
import threading
import numpy as np, adjoint as ms
from adjoint import Tensor, ops

barrier, found = threading.Barrier(8), []

def work():
    barrier.wait(60)
    x = Tensor(np.linspace(-1, 1, 50, dtype=np.float32))
    found.append(ms.grad(lambda x: (ops.tanh(x) * x).sum())(x).asnumpy().tobytes())

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(set(found)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "8 1\n" and not done.stderr


def test_the_interpreter_runs_while_a_kernel_does():
    """Kernels release the interpreter's lock: another thread counts meanwhile."""
    a = Tensor(np.ones((1500, 1500), np.float32))
    ops.matmul(a, a)
    running, counts = threading.Event(), [0]

    def count():
        while not running.is_set():
            counts[0] += 1
            time.sleep(0)

    ms.set_context(num_threads=1)
    thread = threading.Thread(target=count)
    thread.start()
    before = counts[0]
    for _ in range(3):
        ops.matmul(a, a)
    after = counts[0]
    running.set()
    thread.join()
    ms.set_context(num_threads=len(os.sched_getaffinity(0)))
    assert after - before > 10


def test_subnormal_numbers_stay_alive():
    product(64)
    assert sys.float_info.min / 2 > 0
    tiny = Tensor(np.array([1e-40], np.float32))
    assert (tiny + tiny).asnumpy()[0] == np.float32(1e-40) + np.float32(1e-40)


def test_many_steps_take_no_more_memory():
    """A training loop with hooks uses no more memory at its end than after its first steps."""
    cell, x = ms.nn.Dense(64, 64), Tensor(np.ones((32, 64), np.float32))
    cell.register_backward_hook(lambda cell, grad_input, grad_output: None)
    optimizer = ms.nn.Momentum(cell.trainable_params(), 1e-3, 0.9)
    gradient = ms.value_and_grad(lambda x: (cell(x) * cell(x)).mean(), None, optimizer.parameters)
    library = machine().library

    def steps(count):
        for i in range(count):
            _, grads = gradient(x)
            optimizer(grads)
            cell.bias.set_data(cell.bias + 0.5 / (i + 1))
        return library.adjoint_allocated() if library is not None else 0

    first = steps(50)
    assert steps(1000) <= first + 64 * 1024


def test_settings_of_the_environment():
    code = "import adjoint as ms; from adjoint import Tensor; Tensor([1.0]) + 1; print(ms.get_context('num_threads'))"
    for value, expected in (("3", "3\n"), ("", f"{len(os.sched_getaffinity(0))}\n")):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env={**os.environ, "ADJOINT_NUM_THREADS": value})
        assert done.stdout == expected
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "ADJOINT_NUM_THREADS": "many"})
    assert done.returncode == 1 and "ADJOINT_NUM_THREADS must be a positive number, but got 'many'" in done.stderr


def test_without_a_compiler_numpy_takes_over(tmp_path):
    """One warning says what was tried; numbers, gradients and hooks are the same; it is an error if the interpreter is forbidden."""
    code = """
import numpy as np, adjoint as ms
from adjoint import Tensor, nn
dense = nn.Dense(3, 2, "ones", "zeros")
dense.register_backward_hook(lambda cell, gi, go: print("hook", go[0]))
print(ms.grad(lambda x: (dense(x) * dense(x)).sum())(Tensor(np.array([[1.0, 2.0, 3.0]], np.float32))))
"""
    (tmp_path / "ziglang.py").write_text("raise ImportError\n")
    environment = {"PATH": str(tmp_path), "ADJOINT_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("hook") == 2 and "[[24. 24. 24.]]" in done.stdout
    assert done.stderr.count("Warning") == 1 and "pip install" in done.stderr and "gcc" in done.stderr
    assert done.stderr.startswith("<string>:4: UserWarning")  # the line that makes the first tensor
    environment["ADJOINT_FORBID_INTERPRETER"] = "1"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1 and "compiler" in done.stderr


LENET = """
import json, numpy as np, adjoint as ms
from adjoint import Tensor, nn, ops
ms.set_seed(1)
log = []
def told(name):
    return lambda cell, gradients, outputs: log.append([name, [g.shape for g in outputs], outputs[0].asnumpy().ravel()[:9].tolist()])
net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(64, 5), nn.Tanh(), nn.LayerNorm((5,)))
for name, cell in net.cells_and_names():
    cell.register_backward_hook(told(name))
x = Tensor(np.random.default_rng(2).normal(size=(3, 1, 8, 8)), ms.float32)
loss = lambda x: nn.CrossEntropyLoss()(net(x) + ops.gelu(net(x)), Tensor([1, 4, 0], ms.int32))
value, gradients = ms.value_and_grad(loss, 0, net.trainable_params())(x)
found = [value, gradients[0], *gradients[1]]
print(json.dumps([log, [t.asnumpy().ravel().tolist() for t in found]]))
"""


def run_lenet(**settings):
    done = subprocess.run([sys.executable, "-c", LENET], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **settings})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_values_gradients_and_hooks_are_the_same_without_a_compiler(tmp_path):
    """Within rounding, with hooks in the same order; also if every kernel fails, which is one warning."""
    (log, numbers), said = run_lenet(ADJOINT_FORBID_INTERPRETER="1")
    assert said == ""
    (tmp_path / "ziglang.py").write_text("raise ImportError\n")
    nothing = {"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    fails = tmp_path / "fails"
    fails.write_text(f'#!/bin/sh\ncase "$*" in *probe*|*runtime*) exec {shutil.which("cc")} "$@";; esac\necho no vectors >&2\nexit 1\n')
    fails.chmod(0o700)
    for settings, reason in ((nothing, "No C compiler was found"), ({"CC": str(fails)}, "could not be compiled (no vectors)")):
        (other_log, other_numbers), said = run_lenet(ADJOINT_FORBID_INTERPRETER="0", **settings)
        assert said.count("Warning") == 1 and reason in said
        assert [(name, shapes) for name, shapes, _ in other_log] == [(name, shapes) for name, shapes, _ in log]
        for one, other in zip([*numbers, *(seen for *_, seen in log)], [*other_numbers, *(seen for *_, seen in other_log)], strict=True):
            # Rounding errors of a dozen ops, each of a few units in the last place of the largest numbers.
            np.testing.assert_allclose(other, one, rtol=0, atol=16 * np.finfo(np.float32).eps * max(map(abs, one)))
