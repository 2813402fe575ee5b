"""The trie: a tree of all recordings.  A way from its root down is a recorded program; its last step holds the adjoints built from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.foundation.budget import Cache, budget
from adjoint.foundation.diagnostics import Loc
from adjoint.ir.core import Node, Value
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.hooks.firing import GradientKind
from adjoint.runtime.hooks.handles import ids

__all__ = ["STEP_BYTES", "CellCall", "Chain", "EnterStep", "LeaveStep", "PackStep", "TrieStep", "trie"]

STEP_BYTES = 850
"""The estimated bytes in memory of one step (recorded event), with its key and its IR."""

_CHAIN_BYTES = 600
"""Estimated bytes of a chain and its key, without its values."""


class TrieStep:
    """One recorded event, such as an op that has run, as a node of the trie.  A recording is the path from the root to its last step, which
    holds the adjoints (reverse passes) that were made for it.

    parent    the step before it; None for the root
    node      the IR node that it adds; None for the beginning of a gradient, a new leaf, and a cell that is entered
    values    the values that get the next slots (numbers on a tape), in order: operands that no step defines, then results
    hosts     the symbols of hosts (hooks and bprops) that get the next indices among a tape's hosts
    owner     an object whose address is in the step's key, kept alive: the user's code object that was running, or the function whose
        gradient begins
    children  the steps that have followed this one, by key
    programs  the adjoints of recordings that end here, as `gradients.adjoints.Program`
    chains    shortcuts from here over all steps of a piece (several ops that one C call runs)
    used      the number of the period in which it was made, or an adjoint was last found here or below; the cache's budget counts periods,
        and evicts what no late period has used
    """

    __slots__ = ("chains", "children", "hosts", "node", "owner", "parent", "programs", "used", "values")

    def __init__(self, parent: TrieStep | None, node: Node | None = None, values: tuple[Value, ...] = (), hosts: tuple[str, ...] = (),
                 owner: Any = None):
        self.parent, self.node, self.values, self.hosts, self.owner = parent, node, values, hosts, owner
        self.children: dict[Any, TrieStep] = {}
        self.programs: dict[Any, Any] = {}
        self.chains: dict[Any, Chain] | None = None
        self.used = budget.period


class EnterStep(TrieStep):
    """The step of the trie for entering a cell; `values` are the parameters of the cell's region, which are its arguments inside.

    arguments     the values of the arguments
    op            the op of the cell's node
    loc           the location of the call
    parent        the step before it
    params        the parameters of the cell's region, which become `values`
    hosts, owner  as for `TrieStep`
    """

    __slots__ = ("arguments", "loc", "op")

    def __init__(self, parent: TrieStep, op: CellOp, arguments: tuple[Value, ...], params: tuple[Value, ...], hosts: tuple[str, ...],
                 loc: Loc, owner: Any):
        super().__init__(parent, None, params, hosts, owner)
        self.op, self.arguments, self.loc = op, arguments, loc


class LeaveStep(TrieStep):
    """The step of the trie for leaving a cell; `node` is the cell's node, with everything that was recorded inside as its region.

    entered  the step that entered the cell
    parent   the step before it
    """

    __slots__ = ("entered",)

    def __init__(self, parent: TrieStep, node: Node, entered: EnterStep):
        super().__init__(parent, node, node.results)
        self.entered = entered


class PackStep(TrieStep):
    """The step of the trie for giving the tensors that the gradient of the op before it reads to a hook, which packs them.

    saved  the slots (numbers on a tape) of these tensors; empty if there are none, and then there is no node
    """

    __slots__ = ("saved",)

    def __init__(self, parent: TrieStep, node: Node | None, saved: tuple[int, ...], hosts: tuple[str, ...]):
        super().__init__(parent, node, (), hosts)
        self.saved = saved


class Chain:
    """A shortcut over several steps (recorded events) of the trie: those of ops that one C call runs, which a tape then takes at once.

    end     the last of these steps
    values  for each slot (value number) that they fill, the number of the value in the Recording.  A value has several slots if it enters
        or leaves cells
    known   for each of these slots, True if it is the one of the tensor object that the program has; others are names inside of cells
    """

    __slots__ = ("end", "known", "nbytes", "values")

    def __init__(self, end: TrieStep, values: tuple[int, ...], known: tuple[bool, ...]):
        self.end, self.values, self.known = end, values, known
        self.nbytes = _CHAIN_BYTES + 16 * len(values)


class Trie(Cache):
    """Holds the root of all recordings of this process.  If the caches of the process use more memory than the budget allows, it frees the
    steps that were not used since an earlier period of the budget.

    Evicting a step only removes it from its parent.  A tape that has reached the step can continue, since it refers to its step, and steps
    refer to their parents.
    """

    def __init__(self) -> None:
        super().__init__("recorded gradients")
        self.root = TrieStep(None)

    def sizes(self) -> Iterator[tuple[int, int]]:
        for step in reversed(_subtree(self.root)):
            # Children come first: a step counts as used when one of them was.
            parent = step.parent
            if parent is None:
                return
            parent.used = max(parent.used, step.used)
            chains = step.chains.copy() if step.chains is not None else {}
            yield step.used, STEP_BYTES + sum(each.nbytes for each in (*step.programs.copy().values(), *chains.values()))

    def evict(self, until: int) -> None:
        for step in _subtree(self.root):
            chains = step.chains
            if chains is not None:
                step.chains = {key: chain for key, chain in chains.copy().items() if chain.end.used > until}
            for key, child in step.children.copy().items():
                if child.used <= until:
                    step.children.pop(key, None)
                    for cut in _subtree(child):
                        # Break the cycles of steps and children: what no tape holds is then freed without the cycle collector.
                        cut.children.clear()
                        cut.programs.clear()
                        cut.chains = None


def _subtree(top: TrieStep) -> list[TrieStep]:
    """Return `top` and all steps below it, parents first.  Other threads may add steps meanwhile."""
    steps = [top]
    for step in steps:  # grows while it is iterated
        steps += step.children.copy().values()
    return steps


trie = Trie()


class CellCall:
    """One call of a cell with hooks or a `bprop`, kept by the tape until the adjoint calls these.

    cell         the cell
    kind         the kind of hooks that get the gradients of its result; None: the call is of construct, with its backward hooks
    inputs       for each tensor argument, True if the tape knows it, so that it can have a gradient
    outputs      the same for each tensor result
    shown        the indices of the arguments, and of the results, that hooks see; None if they see all
    latest       the id of the hook that was registered last before the call: later hooks do not take part
    instruction  the instruction of the user's program that called the cell; None in a graph
    """

    __slots__ = ("cell", "inputs", "instruction", "kind", "latest", "outputs", "shown")

    def __init__(self, cell: Cell, inputs: tuple[bool, ...] = (), outputs: tuple[bool, ...] = (), kind: GradientKind | None = None):
        self.cell, self.inputs, self.outputs, self.kind, self.latest = cell, inputs, outputs, kind, ids.last
        self.instruction: int | None = None
        self.shown: tuple[Sequence[int], Sequence[int]] | None = None
