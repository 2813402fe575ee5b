"""The kernels of a standalone C file: each text once, and which of them computes a node for which batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

from adjoint.codegen.emit import KernelText, lower
from adjoint.codegen.headers import in_order, needed
from adjoint.codegen.standalone.arithmetic import ArithmeticFunction, arithmetic_function
from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Atom, Function, Literal, Node, Region, Value
from adjoint.ir.kernel.names import identifier
from adjoint.ir.ops.control import For
from adjoint.ir.ops.stack import Push
from adjoint.ir.ops.unrolled import Unrolled, kernel_of

__all__ = ["KernelChoice", "Kernels", "choices", "has_kernel", "launched", "shared_scratch", "unrolled_in"]


def has_kernel(node: Node) -> bool:
    """Return True for a node that a kernel computes; False for one whose result is the memory of its operand, such as a reshape.

    That of a constant is computed: it has no memory.
    """
    return node.op.can_lower and not (getattr(node.op, "aliases", False) and isinstance(node.operands[0], Value))


def launched(region: Region) -> Iterator[Node]:
    """Yield the nodes of a region, and of the regions within, but not those of unrolled nodes, which are one kernel."""
    for node in region.nodes:
        yield node
        if not isinstance(node.op, Unrolled):
            for inner in node.regions:
                yield from launched(inner)


def unrolled_in(functions: Iterable[Function]) -> dict[Any, list[Node]]:
    """Return the unrolled nodes of functions, by what is equal for those that one kernel computes."""
    found: dict[Any, list[Node]] = {}
    for function in functions:
        for node in launched(function.body):
            if isinstance(node.op, Unrolled):
                found.setdefault(kernel_of(node), []).append(node)
    return found


@dataclass
class Kernels:
    """The kernels of a file, under names that no other has.

    functions   the names of the file's functions
    plain_work  the number of multiply-adds up to which kernels are plain, as for `emit.lower`; 0 for tuned kernels
    unrolled    the unrolled nodes of the file: see `unrolled_in`
    names       for each kernel, given by its text and by which of its stages are needed, its name in this file
    texts       the text of each
    used        the headers that they need
    known       the kernel of each node that was asked for
    written     the functions that compute unrolled nodes, by what is equal for those that one kernel computes
    """

    functions: Sequence[str]
    plain_work: float
    unrolled: Mapping[Any, Sequence[Node]] = field(default_factory=dict)
    names: dict[tuple[str, tuple[bool, ...]], str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    known: dict[Node, KernelText] = field(default_factory=dict)
    written: dict[Any, ArithmeticFunction] = field(default_factory=dict)

    def lowered(self, node: Node) -> KernelText:
        """Return the kernel of a node, with a name that no other kernel of the file has."""
        found = self.known.get(node)
        if found is None:
            found = self.known[node] = self._lowered(node)
        return found

    def may_fail(self, node: Node) -> bool:
        """Return True for a node, without those inside of it, that may end the function with a status."""
        if isinstance(node.op, For):
            return not isinstance(node.operands[2], Literal)
        return isinstance(node.op, Push) or (node.op.may_fail and has_kernel(node) and any(
            stage.direct is None or stage.direct.fails for stage in self.lowered(node).stages if stage.units))

    def is_single(self, node: Node) -> bool:
        """Return True for an unrolled node whose kernel no other node of the file has."""
        return isinstance(node.op, Unrolled) and len(self.unrolled[kernel_of(node)]) == 1

    def arithmetic(self, node: Node) -> ArithmeticFunction:
        """Return the function that computes an unrolled node.

        A number that is the same for all nodes which have the kernel is written in the function.
        """
        key = kernel_of(node)
        if key not in self.written:
            places = zip(*(each.operands for each in self.unrolled[key]), strict=True)
            numbers = [_only_number(atoms) for atoms in places]
            name = self._free(identifier(f"compute_{node.results[-1].hint}"))
            made = self.written[key] = arithmetic_function(node, name, numbers)
            self.names[made.text, ()] = name
            self.texts.append(made.text)
            self.use(made.read)
        return self.written[key]

    def use(self, names: Iterable[str]) -> None:
        """Note functions of our headers that the file calls."""
        self.used.update(needed(names))

    def _lowered(self, node: Node) -> KernelText:
        operands, results = [x.type for x in node.operands], [x.type for x in node.results]
        plain = self.plain_work > 0
        own = lower(node.op, operands, results, direct=plain, plain_work=self.plain_work)
        key = own.text, tuple([stage.units > 0 for stage in own.stages])
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = self._free(own.name)
            text = lower(node.op, operands, results, name=name, private=True, direct=plain, plain_work=self.plain_work).text
            self.texts.append(text)
            self.used.update(own.headers)
        return own if name == own.name else lower(node.op, operands, results, name=name, direct=plain, plain_work=self.plain_work)

    def _free(self, own: str) -> str:
        """Return a name for a kernel that is not used in the file, similar to `own`; the names of the kernel's functions begin with it."""
        for name in chain([own], (f"{own}_v{variant}" for variant in count(2))):
            if name not in self.names.values() and not any(f"{function}_".startswith(f"{name}_") for function in self.functions):
                return name
        raise AssertionError("numbers do not end")

    def headers(self) -> tuple[str, ...]:
        """Return the headers that the kernels need, in order."""
        return in_order(self.used)


def _only_number(atoms: Sequence[Atom]) -> Literal | None:
    """Return the number that all atoms are; None if they are not one number."""
    first = atoms[0]
    same = isinstance(first, Literal) and all(isinstance(x, Literal) and repr(x.value) == repr(first.value) for x in atoms)
    return first if isinstance(first, Literal) and same else None


@dataclass(frozen=True)
class KernelChoice:
    """The kernel that computes a node for some of the batches.

    batches  which, by index
    kernels  the kernel with its sizes, for each of them
    """

    batches: list[int]
    kernels: list[KernelText]

    @property
    def scratch(self) -> list[tuple[str, int]]:
        """Return the C type of the elements and the bytes of each scratch buffer, at most."""
        sizes = zip(*(kernel.scratch for kernel in self.kernels), strict=True)
        return [(dtype.c_name, max(each)) for dtype, each in zip(self.kernels[0].scratch_dtypes, sizes, strict=True)]


def choices(kernels: Sequence[KernelText]) -> list[KernelChoice]:
    """Return which kernel computes a node for which batch: what differs in sizes only is one.

    kernels  the kernel for each batch
    """
    found: dict[tuple[str, tuple[bool, ...]], KernelChoice] = {}
    for place, kernel in enumerate(kernels):
        choice = found.setdefault((kernel.text, tuple([stage.units > 0 for stage in kernel.stages])), KernelChoice([], []))
        choice.batches.append(place)
        choice.kernels.append(kernel)
    return [*found.values()]


def shared_scratch(chosen: Sequence[KernelChoice]) -> tuple[list[tuple[str, int]], list[list[int]]]:
    """Return scratch buffers that are enough for each of several kernels, and for each kernel which of them it takes, by index."""
    shared: list[tuple[str, int]] = []
    taken: list[list[int]] = []
    for choice in chosen:
        own: list[int] = []
        for element, nbytes in choice.scratch:
            place = next((i for i, (other, _) in enumerate(shared) if other == element and i not in own), len(shared))
            shared[place : place + 1] = [(element, max([nbytes, *(size for _, size in shared[place : place + 1])]))]
            own.append(place)
        taken.append(own)
    return shared, taken
