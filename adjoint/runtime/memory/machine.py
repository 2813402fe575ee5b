"""The machine: memory that kernels work on, the run-time library, and the functions that launch kernels.

Nothing is compiled on import: the run-time library is built, or loaded from the cache, when the first tensor needs memory.

Without a C compiler all memory is early memory, which Python allocates, and ops run by their NumPy reference.
"""

from __future__ import annotations

import functools
import os
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import _cffi_backend
import numpy as np

from adjoint.foundation import collector
from adjoint.foundation.diagnostics import InternalError, warn
from adjoint.foundation.locking import Lock
from adjoint.ir.storage import to_compute
from adjoint.ir.types import F32, TensorType
from adjoint.runtime.memory.early import EarlyMemory, MemoryChange
from adjoint.runtime.process import context
from adjoint.runtime.process.threads import default_threads

if TYPE_CHECKING:
    from adjoint.codegen.compile import KernelCache

__all__ = ["Machine", "TableStep", "array_of", "data_observers", "ffi", "machine", "memory_of", "number_of"]

# The backend's FFI: it knows C's types and owns memory. `cffi.FFI` adds a parser of C declarations, which is slow to import.
ffi: Any = _cffi_backend.FFI()
SMALL = 16384
"""The number of bytes below which memory comes from Python's allocator, since a call of the library, which keeps large blocks, is slower.
"""
_small = ffi.new_allocator(None, None, False)
Memory = Any
"""A cffi `char[]` that owns its bytes; they are freed with the last reference to it."""


class TableStep(NamedTuple):
    """One step of a table (a list of steps that one C call runs), in the form that `Machine.table` packs for the run-time library.

    kind    LAUNCH a kernel, BRANCH to another step, or EXCHANGE: let blocks of memory change places
    places  for each operand the index of its block of memory and its offset in bytes; -1, -2, ... are blocks that belong to the table
    bound   the bound kernel of a launch: its C function together with its sizes
    batch   the number of steps, from this one on, that run as one; 1 if it runs alone, or is inside of such a batch but not its first
    target  the index of the step to which a branch leads
    """

    kind: str
    places: Sequence[tuple[int, int]]
    bound: Any = None
    batch: int = 1
    target: int = 0


class Machine:
    """Allocates memory, and holds the run-time library and the cache of kernels; there is one object for each process, see `machine()`.

    If the library has to be compiled, another thread does that.  Until then memory is early memory, which Python allocates.
    """

    def __init__(self) -> None:
        # Imported here, not with the package: importing adjoint needs no compiler.
        with collector.paused():
            from adjoint.codegen.workshop import begin_opening

        self._early = EarlyMemory(ffi)
        self._allocate = self._early.allocate
        self._allocate_stacks = _small
        self._warned = False
        self._bytes = ffi.typeof("char[]")
        self._pointer = ffi.typeof("char *")
        self._declared: Any = None
        self._parts: tuple[Any, KernelCache | None] | None = None
        self._first: KernelCache | None = None
        self._threads = 0
        self.forget_threads()
        if begin_opening():
            self._opened()
        elif context.background_compile() in (True, "plain"):
            threading.Thread(target=self._begin, name="adjoint-begin", daemon=True).start()

    def forget_threads(self) -> None:
        """Replace all locks; a forked child calls it, where a lock may be held by a thread that does not exist there."""
        self._lock, self._first_lock = Lock(), Lock()
        self._early.forget_threads()

    def _begin(self) -> None:
        """Compile the kernels that almost every program needs, while the run-time library is compiled."""
        from adjoint.codegen.packs import starters

        with suppress(Exception):  # the user's thread meets it as well, and raises it
            kernels = self.first_kernels
            if kernels is not None:
                kernels.begin(starters(F32))

    @property
    def library(self) -> Any:
        """Return the loaded run-time library, waiting for it if necessary; None without a compiler."""
        return (self._parts or self._opened())[0]

    @property
    def kernels(self) -> KernelCache | None:
        """Return the cache that finds or compiles kernels, waiting for the run-time library if necessary; None without a compiler."""
        return (self._parts or self._opened())[1]

    @property
    def first_kernels(self) -> KernelCache | None:
        """Return a cache that can compile kernels now, without waiting for the run-time library; None without a compiler.

        Normally that is the kernel cache.  While the library is still being compiled it is another cache, whose kernels may have to be made
        again later.
        """
        from adjoint.codegen import declarations
        from adjoint.codegen.compile import KernelCache
        from adjoint.codegen.workshop import promising_workshop

        if self._parts is None and (workshop := promising_workshop()) is not None:
            with self._first_lock:  # not the lock that a thread holds while it waits for the library
                self._first = self._first or KernelCache(declarations.ffi, workshop)
            if self._parts is None:
                return self._first
        return self.kernels

    def _opened(self) -> tuple[Any, KernelCache | None]:
        from adjoint.codegen import declarations
        from adjoint.codegen.compile import KernelCache
        from adjoint.codegen.toolchain import NoCompiler
        from adjoint.codegen.workshop import load_runtime, open_workshop

        with self._lock:
            if self._parts is not None:
                return self._parts
            declared = declarations.ffi
            try:
                workshop = open_workshop()
                library = load_runtime(declared, workshop)
                with self._first_lock:
                    if self._first is None or self._first.workshop is not workshop:
                        self._first = KernelCache(declared, workshop)
                    kernels = self._first
            except NoCompiler as reason:
                if forbids_interpreter():
                    raise
                warn(f"{reason} Ops run by NumPy instead: slower, the same within each op's stated error.")
                library, kernels = None, None
            else:
                library.adjoint_set_threads(self._threads or default_threads())
                self._allocate = ffi.new_allocator(library.adjoint_allocate, library.adjoint_free, False)
                self._early.count_with(library.adjoint_count)
                self._allocate_stacks = ffi.new_allocator(library.adjoint_allocate_stacks, library.adjoint_free_stacks, False)
            self._declared, self._parts = declared, (library, kernels)
            return self._parts

    def use_threads(self, count: int) -> None:
        """Set the number of threads of all kernels from now on."""
        self._threads = count
        if self._parts is not None and self.library is not None:
            self.library.adjoint_set_threads(count)

    def bind(self, kernel: Any, sizes: Sequence[int]) -> Any:
        """Pack a kernel's C function with its sizes, as the argument of launches.  The caller keeps the returned memory alive."""
        return self._declared.new("struct adjoint_bound *", (kernel, ffi.NULL, sizes))

    def kernel_at(self, address: int) -> Any:
        """Return the kernel's C function at an address."""
        return self._declared.cast("adjoint_kernel", address)

    def table(self, steps: Sequence[TableStep], given: int, own: Sequence[tuple[int, int]] = ()) -> tuple[Any, Any]:
        """Pack steps as the argument of `adjoint_run`, the C function that runs them.

        Return the table, and the objects that the caller must keep alive as long as the table.

        steps  the steps, in order
        given  the number of blocks of memory that are passed to each call
        own    for each block that belongs to the table, where it begins: the index of a passed block and an offset in bytes
        """
        new, kinds = self._declared.new, self.library

        def places(pairs: Sequence[tuple[int, int]]) -> Any:
            return new("struct adjoint_operand[]", [(offset, block if block >= 0 else given - 1 - block) for block, offset in pairs])

        operands, begins = [places(step.places) for step in steps], places(own)
        packed = new("struct adjoint_step[]", [
            (getattr(kinds, f"ADJOINT_{step.kind}"), step.bound or ffi.NULL, placed, len(placed), step.batch, step.target)
            for step, placed in zip(steps, operands, strict=True)])
        widest = max((len(placed) for placed in operands), default=0)
        return new("struct adjoint_table *", (packed, len(steps), widest, begins, given, len(own))), (steps, operands, packed, begins)

    def copy_of(self, bound: Any) -> Any:
        """Return a copy of a bound kernel for use by one node, so that an observer can tell which node has launched it."""
        count = (self._declared.sizeof(bound[0]) - self._declared.offsetof("struct adjoint_bound", "size")) // 8
        return self.bind(bound.kernel, [bound.size[i] for i in range(count)])

    @functools.cached_property
    def stack_bytes(self) -> int:
        """Return the size of a stack (what a loop keeps for its gradient) in bytes, without its items."""
        if self._parts is None:
            self._opened()
        return self._declared.sizeof("struct adjoint_stack")

    def allocate_stacks(self, count: int) -> Memory:
        """Return memory for `count` empty stacks; MemoryError if the machine does not have enough.

        A stack keeps what the rounds of a loop leave for its gradient.  It grows when an item is pushed, in memory of its own.
        """
        nbytes = count * self.stack_bytes  # computed first, since that opens the library whose allocator is used
        try:
            return self._allocate_stacks(self._bytes, nbytes)
        except MemoryError:
            raise _no_memory(nbytes) from None

    def callback(self, type_: str, function: Any) -> Any:
        """Make a C function, of a function type of the run-time library, that calls a Python function.  The caller keeps the result alive.
        """
        return self._declared.callback(type_, function)

    def follow_memory(self, on: bool) -> None:
        """Begin or end to record which blocks of memory are allocated and freed, all but those of less than SMALL bytes."""
        library = self.library
        if library is not None:
            library.adjoint_follow(on)
        self._early.follow(on)

    def memory_changes(self) -> list[MemoryChange]:
        """Return what was allocated and freed since the last call, while memory is followed; the oldest first."""
        found: list[MemoryChange] = self._early.changes()
        if (library := self.library) is not None:
            room, count = 256, 256
            while count == room:
                taken = self._declared.new("struct adjoint_change[]", room)
                count = library.adjoint_changes(taken, room)
                found += [MemoryChange(each.block, each.bytes, each.nanoseconds) for each in taken[0:count]]
                room *= 4
        return found

    def describe_results(self, floats: Sequence[tuple[int, int, int, int]]) -> Any:
        """Pack what the run-time library needs to check the results of a launch.

        floats  for each result that has floats: the index of its operand, the count of its numbers, the bytes of one and the bits of
            infinity
        """
        return self._declared.new("struct adjoint_results *", (len(floats), floats))

    def warn_of(self, fault: InternalError) -> None:
        """Warn that a kernel cannot be compiled.  Only the first call warns, since the cause usually affects all kernels; none does while
        the process ends, which stops compilers.
        """
        if not self._warned and not (self.kernels is not None and self.kernels.ended):
            self._warned = True
            warn(f"{fault} Ops without a kernel run by NumPy instead: slower, the same within each op's stated error. "
                 "This is said once; other kernels may lack too.")

    def allocate(self, size: int) -> Memory:
        """Return `size` bytes of memory with undefined contents; MemoryError if the machine does not have enough."""
        if size < SMALL:
            return _small(self._bytes, size or 1)
        if size >= _LARGE and self._parts is None:
            self._opened()  # the opened library knows how much memory the machine has
        try:
            return self._allocate(self._bytes, size)
        except MemoryError:
            raise _no_memory(size) from None

    def allocator(self, size: int) -> tuple[Any, Any]:
        """Return a function and its argument; each call of the function with that argument allocates `size` bytes.

        It is the fast path for code that allocates the same size again and again.
        """
        if self._parts is None:
            self._opened()
        # Not `ffi.typeof(f"char[{size}]")`, which caches the type of every size for ever.
        ctype = _cffi_backend.new_array_type(self._pointer, size or 1)
        if size >= _LARGE:
            return lambda _: self.allocate(size), ctype
        return (_small if size < SMALL else self._allocate), ctype


_LARGE = 2**24
"""A failed allocation of at least this many bytes gets a detailed error."""


def _no_memory(size: int) -> MemoryError:
    return MemoryError(f"A tensor of {size} bytes does not fit into the memory that this process can still have: "
                       "use smaller tensors, or let go of others.")


def forbids_interpreter() -> bool:
    """Return True if ADJOINT_FORBID_INTERPRETER=1 forbids falling back to the interpreter (the NumPy references of ops)."""
    return os.environ.get("ADJOINT_FORBID_INTERPRETER", "") not in ("", "0")


_lock = Lock()
_machine: Machine | None = None


def machine() -> Machine:
    """Return the machine of this process; the first call sets it up."""
    global _machine
    if _machine is None:
        with _lock:
            if _machine is None:
                _machine = Machine()
    return _machine


def _in_child() -> None:
    global _lock
    _lock = Lock()
    if _machine is not None:
        _machine.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)

context.on_change("num_threads", lambda count: machine().use_threads(count))


def array_of(memory: Memory, type_: TensorType) -> np.ndarray[Any, Any]:
    """Return a NumPy array that shares the memory of a tensor, and keeps that memory alive; bf16 is seen as uint16."""
    if type_.count < 0:
        raise InternalError(f"there is no array of the symbolic type {type_}")
    if type_.count == 0:
        return np.empty(type_.sizes, type_.dtype.array)
    return np.frombuffer(ffi.buffer(memory, type_.nbytes), type_.dtype.array).reshape(type_.sizes)


_NUMBERS = {
    name: struct.Struct(f"={code}").unpack_from
    for name, code in (("bool", "?"), ("u8", "B"), ("i8", "b"), ("u16", "H"), ("i16", "h"), ("u32", "I"), ("i32", "i"), ("u64", "Q"),
                       ("i64", "q"), ("f16", "e"), ("f32", "f"), ("f64", "d"))
}
"""For a dtype, by name, the function that reads one number as Python's; bf16 is not among them."""


def number_of(memory: Memory, type_: TensorType) -> bool | int | float:
    """Return the number in the memory of a tensor that has exactly one."""
    unpack = _NUMBERS.get(type_.dtype.name)
    if unpack is None:
        return to_compute(array_of(memory, type_), type_.dtype).item()
    return unpack(ffi.buffer(memory))[0]


def memory_of(array: np.ndarray[Any, Any]) -> Memory:
    """Return new memory with a copy of the array's elements in row-major order."""
    memory = machine().allocate(array.nbytes)
    if array.nbytes:
        np.frombuffer(ffi.buffer(memory, array.nbytes), array.dtype).reshape(array.shape)[...] = array
    for each in data_observers:
        each(memory, array)
    return memory


data_observers: list[Callable[[Memory, np.ndarray[Any, Any]], None]] = []
"""Functions that are called with memory that was made of an array, and with the array."""
