"""Run the compiler: with a controlled environment and a time limit, and such that it ends with this process.

A shell runs between this process and the compiler.  It limits processor time, and watches a pipe that this process holds open:
when the pipe closes, because this process has ended in any way, it ends the compiler and all its children.  (Linux
could send a signal instead, but only to the compiler itself and not to its children, and only by running Python between fork
and exec, which can deadlock in a process with threads.)
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from adjoint.foundation.dataclass import dataclass, field

__all__ = ["READ_BY_COMPILERS", "CompilerError", "CompilerHangs", "Limit", "end_all", "environment", "forget_all", "run", "stopping"]

NEEDED: Final = (
    "PATH", "HOME", "USER", "LOGNAME", "XDG_CACHE_HOME", "CCACHE_DIR", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR",
)
"""Names of environment variables that a compiler needs to work, and that do not change its output."""
READ_BY_COMPILERS: Final = ("LD_LIBRARY_PATH", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET")
"""Names of environment variables that some compilers need and that may change their output, so that they are part of the compiler's
identity.
"""

SLICE: Final = 0.5
"""How often, in seconds, it is checked whether a compiler has exceeded its time."""

_GUARD: Final = """
exec 3<&0 </dev/null
ulimit -S -t "$1" 2>/dev/null
lower=$2
shift 2
if [ "$lower" != 0 ] && command -v nice >/dev/null; then set -- nice -n "$lower" "$@"; fi
{ read _ <&3; kill -9 0; } >/dev/null 2>&1 &
watcher=$!
"$@" 3<&-
status=$?
{ kill -9 $watcher; wait $watcher; } 2>/dev/null
exit $status
"""
_OUT_OF_TIME: Final = 128 + signal.SIGXCPU
"""Exit status of the shell when the compiler exceeded its processor time."""


@dataclass(frozen=True)
class Limit:
    """Limits on the time of one process that compiles, in seconds.

    processor  processor time of each of its processes
    waiting    time spent waiting: all of the time in which the compiler sleeps; of the time in which it wants a processor or a disk, the
               part that it would need on a machine of its own, a tenth where ten processes want each processor
    niceness   how much lower than that of this process its priority is
    """

    processor: int
    waiting: float
    niceness: int = 0


class CompilerError(Exception):
    """The compiler rejected its input, crashed, or took too long; `output` is its output, and the message its first error."""

    def __init__(self, command: Sequence[str], output: str):
        lines = output.strip().splitlines()
        super().__init__(next((line for line in lines if "error:" in line), lines[0] if lines else "the compiler failed"))
        self.command = list(command)
        self.output = output


class CompilerHangs(CompilerError):
    """Raised if the compiler took too long and was ended."""


def environment(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment variables for a compiler: those that cannot change its output, and those that its identity contains.

    variables  the variables of this process
    """
    seen = {name: variables[name] for name in (*NEEDED, *READ_BY_COMPILERS) if name in variables}
    return {**seen, "LC_ALL": "C", "TMPDIR": "."}


@dataclass(eq=False)
class _Run:
    """A compiler that is running, as a process.

    process  the shell in which it runs
    pipe     the end of a pipe that is open as long as this process wants it to go on
    """

    process: subprocess.Popen[bytes]
    pipe: int = field(repr=False)

    def end(self) -> None:
        """End the compiler and its children, unless it has ended by itself."""
        if self.process.returncode is None:
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


_running: set[_Run] = set()
stopping: Final = threading.Event()
"""Set when the process ends: no compiler is started any more, and failures are not reported."""


def run(command: Sequence[str], folder: str, limit: Limit) -> None:
    """Run a compiler in a folder, where it also keeps its temporary files; raise CompilerError if that fails or takes too long."""
    try:
        reading, pipe = os.pipe()
    except OSError as problem:
        raise CompilerError(command, f"the compiler could not be started: {problem}") from problem
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "adjoint", str(limit.processor), str(limit.niceness), *command],
            stdin=reading,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            cwd=folder,
            start_new_session=True,  # so that the whole process group can be ended at once
        )
    except OSError as problem:
        os.close(pipe)
        raise CompilerError(command, f"the compiler could not be started: {problem}") from problem
    finally:
        os.close(reading)
    this = _Run(process, pipe)
    _running.add(this)
    try:
        if stopping.is_set():
            raise CompilerError(command, "the compilers were stopped")
        output = _output(process, command, limit)
    finally:
        this.end()
        _running.discard(this)
        os.close(pipe)
        if process.stdout is not None:
            process.stdout.close()
    if process.returncode == _OUT_OF_TIME or (process.returncode != 0 and b"CPU time limit exceeded" in output):
        raise CompilerHangs(command, f"the compiler took longer than {limit.processor} seconds of processor time")
    if process.returncode != 0:
        said = output.decode("utf-8", "replace")
        raise CompilerError(command, f"{said.rstrip()}\n(exit status {process.returncode})".lstrip())


def _output(process: subprocess.Popen[bytes], command: Sequence[str], limit: Limit) -> bytes:
    """Return the compiler's output once it ends; CompilerHangs if it exceeds the limit on waiting.

    Time in which this process was stopped or the machine slept does not count.
    """
    waited = 0.0
    while True:
        try:
            return process.communicate(timeout=SLICE)[0]
        except subprocess.TimeoutExpired:
            waited += SLICE if _sleeps(process.pid) else SLICE / _load()
            if waited >= limit.waiting:
                raise CompilerHangs(command, f"the compiler took longer than {limit.waiting:g} seconds") from None


def _sleeps(process: int) -> bool:
    """Return True if all threads of a process and of its children sleep; False also where the system does not tell."""
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            folder = f"/proc/{process}/task/{thread}"
            state = _content(f"{folder}/stat").rpartition(b")")[2].split()[0]
            if state in (b"R", b"D"):  # it computes or waits for a processor; it waits for a disk
                return False
            if not all(_sleeps(int(child)) for child in _content(f"{folder}/children").split()):
                return False
    except OSError:  # not on Linux; or one of them has just ended
        return False
    return True


def _content(name: str) -> bytes:
    with open(name, "rb", buffering=0) as file:
        return file.read()


def _load() -> float:
    """Return how many processes compete for each processor of the machine, at least 1."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except OSError:
        return 1.0


def end_all() -> None:
    """End all compilers at work in this process, and start no more."""
    stopping.set()
    for this in list(_running):
        this.end()


def forget_all() -> None:
    """In a forked child, close the parent's pipes to compilers, so that they end with the parent."""
    for this in _running:
        with suppress(OSError):
            os.close(this.pipe)
    _running.clear()
