"""The kernels of a standalone C file: each text once, and which of them computes a node for which batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count

from adjoint.codegen.emit import KernelText, lower
from adjoint.codegen.headers import in_order
from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Literal, Node, Value
from adjoint.ir.ops.control import For
from adjoint.ir.ops.stack import Push

__all__ = ["KernelChoice", "Kernels", "choices", "has_kernel", "shared_scratch"]


def has_kernel(node: Node) -> bool:
    """Return True for a node that a kernel computes; False for one whose result is the memory of its operand, such as a reshape.

    That of a constant is computed: it has no memory.
    """
    return node.op.can_lower and not (getattr(node.op, "aliases", False) and isinstance(node.operands[0], Value))


@dataclass
class Kernels:
    """The kernels of a file, under names that no other has.

    functions   the names of the file's functions
    plain_work  the number of multiply-adds up to which kernels are plain, as for `emit.lower`; 0 for tuned kernels
    names       for each kernel, given by its text and by which of its stages are needed, its name in this file
    texts       the text of each
    used        the headers that they need
    known       the kernel of each node that was asked for
    """

    functions: Sequence[str]
    plain_work: float
    names: dict[tuple[str, tuple[bool, ...]], str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    known: dict[Node, KernelText] = field(default_factory=dict)

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
        return isinstance(node.op, Push) or (has_kernel(node) and any(
            stage.direct is None or stage.direct.fails for stage in self.lowered(node).stages if stage.units))

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
