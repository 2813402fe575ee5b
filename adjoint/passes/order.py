"""Checks whether a function means the same if its gradients are expanded as a whole: each sum in eager mode's order, each value unchanged.

Eager mode differentiates what a run did, its *path*.  There a value has one name and one sum of cotangents (gradients).  In the function it
may have several names: a result of an `if` is the value that the branch yields; a carried value of a loop is the initial value, or the
value that the round before has yielded.  Each name has a separate sum.  When that is complete, it is added to the sum of the value that it
names:

    y = if c { .. yield v }        v' = y' + ..         for .. carry (a = x) { .. yield v }        v' = a' + ..    x' = a' + ..

This is the sum of the path if nothing was added to v' before.  So on each path, v must have no use after it was given another name, and
must have only one other name at a time.  A sum that exists only under a condition is never added as a zero (see `cotangent`).  A value from
outside that a loop only uses has one sum, through all rounds.

What a differentiated region may contain:

    control flow      not together with another differentiated region inside: the gradient of a stack adds zeros for absent cotangents
    attached hooks    not together with control flow: they run when the sum of all names of the value is complete
    writes            not together with control flow, and no read of a parameter after a write: on the path that read is the written
                      value with its gradient, while in IR it is another value
    `record`          never: a recorded function is pulled elsewhere
    cells             yes, see below

The region of a `record` is such a region itself if no other one contains it, but calls no hooks and no Python: each `pull!` is a reverse
pass of its own, in the order of the path.

Eager mode calls a hook on gradients, or a `bprop`, on a path where its value depends on a leaf (what is differentiated by), and on no other
path.  The expansion calls it on each path.  So its value must not depend on leaves on some paths only, such as the result of an `if` whose
other side yields a constant.

With cells, the path and the expansion have the same names: a cell's arguments inside of it, its results outside, and one outside for each
value inside that adjoints use, a residual (see `Activity`).  Uses of a residual come after the cell, so its sum is complete there, and is
added to the sum of the value inside after those of results.  A parameter has one name: its uses inside and outside of cells add to its sum
in their order.  So each sum of the expansion is one of the path.  That would not hold if reads in cells had separate sums: for a cell that
is called twice, w' would be (u + v) + (x + y), where the path has ((u + x) + v) + y.

A parameter's value lives in the parameter, so a value that was read must not be used after the parameter is written.  An adjoint uses its
residuals late, so the expansion can cause such a use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adjoint.ir.core import Atom, Function, Node, Region, Value, free_of, walk
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.control import Cell, Differentiated, For, Gradient, If, Record, RegionOp, While
from adjoint.ir.ops.host import Attach, Hook, Outputs
from adjoint.ir.ops.state import Read, Write
from adjoint.passes.activity import Activity

__all__ = ["calls_alike", "calls_python", "names_apart", "reads_survive", "reads_what_it_writes", "sums_alike"]


def sums_alike(function: Function) -> bool:
    """Return True if the code of the gradients in a function adds up in the order of eager mode, so that the bits are the same.  Otherwise
    the caller must take the gradients along a tape.
    """
    nodes = [node for node in walk(function.body) if isinstance(node.op, Differentiated)]
    inside = {inner for node in nodes for inner in walk(node.regions[0])}
    return all(_alike(node, node in inside) for node in nodes)


def names_apart(region: Region, *, writes: bool = True) -> bool:
    """Return False if a `gradient` or `record` node in a region differentiates branches or loops whose values have several names, such that
    the code of the gradient adds up in another order than eager mode; or if its gradient goes through a parameter.  One with gradients or
    batches inside is not looked into.

    writes  True if one that writes a parameter is not looked into either; False to return False if there are branches or loops in it
    """
    passed = (Attach, Write) if writes else (Attach,)
    looked_into = [node for node in walk(region) if isinstance(node.op, (Gradient, Record)) and not any(
        isinstance(inner.op, passed) or (isinstance(inner.op, RegionOp) and not isinstance(inner.op, (Cell, For, If, While)))
        for inner in walk(node.regions[0]))]
    return not reads_what_it_writes(region) and all(map(_adds_alike, looked_into))


def reads_what_it_writes(region: Region) -> bool:
    """Return True if a `gradient` or `record` node in a region differentiates nodes that read a parameter after one has written it: only a
    run knows the gradient through the parameter.
    """
    return any(_reads_written(node.regions[0]) for node in walk(region) if isinstance(node.op, (Gradient, Record)))


def _reads_written(region: Region) -> bool:
    written: set[str] = set()
    for node in walk(region):
        if isinstance(node.op, (For, While)):  # a round may read what the one before has written
            written.update(inner.op.symbol for body in node.regions for inner in walk(body) if isinstance(inner.op, Write))
        if isinstance(node.op, Write):
            written.add(node.op.symbol)
        elif isinstance(node.op, Read) and node.op.symbol in written:
            return True
    return False


def _alike(node: Node, is_inside: bool) -> bool:
    """Return True if the gradients of a node are summed as in eager mode.

    is_inside  True if another node differentiates it: the gradients by a trace are then a part of that node's path
    """
    match node.op:
        case Gradient():
            return _adds_alike(node)
        case Record():
            return not is_inside and _adds_alike(node) and not any(
                isinstance(inner.op, Attach) or calls_python(inner.op) for inner in walk(node.regions[0]))
        case _:
            return False


def _adds_alike(node: Node) -> bool:
    (region,) = node.regions
    if _straight(region):
        return True
    if any(isinstance(inner.op, (Attach, Differentiated, Write)) for inner in walk(region)):
        return False
    return _Names(_activity(node)).alike(region, set())


def _activity(node: Node) -> Activity:
    assert isinstance(node.op, (Gradient, Record))
    (region,) = node.regions
    return Activity(region.nodes, [*region.params, *node.op.by])


def _straight(region: Region) -> bool:
    """Return True if a region contains no control flow, and no node reads a parameter after one has written it.  Cells and gradients are
    allowed.
    """
    return not _reads_written(region) and not any(
        isinstance(node.op, RegionOp) and not isinstance(node.op, (Cell, Gradient)) for node in walk(region))


class _Names:
    """Finds values of a differentiated region that have several names: a result of an `if`, for example, is the value that the branch
    yields.

    Each name has its own sum of cotangents (gradients); the order of additions is that of eager mode only under the conditions checked
    here.

    activity  tells which values have a gradient
    """

    def __init__(self, activity: Activity):
        self._activity = activity

    def alike(self, region: Region, used: set[Atom]) -> bool:
        """Return True if the gradient of a region is summed as in eager mode: no value is used after another name was given to it (see the
        class).

        used  the values that are used after the region
        """
        used = {*used, *region.results}
        for node in reversed(region.nodes):
            match node.op:
                case If():
                    known = all(_of_kernels(body) and self._named(body.results, used) and self.alike(body, used) for body in node.regions)
                case For() | While():
                    known = self._loop(node, used)
                case Cell():
                    known = self.alike(node.regions[0], used)
                case _:
                    known = not node.regions
            if not known:
                return False
            used.update(node.operands, *map(free_of, node.regions))
        return True

    def _loop(self, node: Node, used: set[Atom]) -> bool:
        """Return True if the gradient of a loop is summed as in eager mode: no value is used after it became a carried value or a result.

        node  the loop.  A value from outside that a round uses counts as used after each round
        used  the values that are used after the loop
        """
        captured = {*used, *(value for region in node.regions for value in free_of(region))}
        initial, body = node.operands[len(node.operands) - len(node.results) :], node.regions[-1]
        return (all(map(_of_kernels, node.regions)) and self._named(initial, captured) and self._named(body.results, captured)
                and all(self.alike(region, captured) for region in node.regions))

    def _named(self, atoms: Sequence[Atom], used: set[Atom]) -> bool:
        """Return True if no active one of these values is used afterwards or occurs twice, so that its new name may have its own sum of
        gradients.

        atoms  the values that a region yields or a loop begins with
        used   the values that are used afterwards
        """
        active = [atom for atom in atoms if self._activity.is_active(atom)]
        leaves = [self._activity.leaf(atom) if isinstance(atom, Value) else atom for atom in active]
        return used.isdisjoint(active) and len({*leaves}) == len(leaves) and not any(isinstance(leaf, str) for leaf in leaves)


def calls_alike(function: Function) -> bool:
    """Return True if the code of the gradients in a function calls hooks and `bprop`s only where eager mode does.

    Call this only for a function for which `sums_alike` returns True.
    """
    return all(_OnSomePaths(_activity(node)).calls_alike(node.regions[0].nodes) for node in walk(function.body)
               if isinstance(node.op, Gradient) and not _straight(node.regions[0]))


class _OnSomePaths:
    """Finds values whose gradient exists only on some paths through an `if` or a loop, since they depend on a leaf on those paths only.

    Eager mode calls a hook on such a value only if the program takes one of those paths.

    activity  tells which values have a gradient
    """

    def __init__(self, activity: Activity):
        self._activity = activity
        self._found: set[Atom] = set()

    def calls_alike(self, nodes: Sequence[Node]) -> bool:
        """Return True if no hook or `bprop` among these nodes, or inside of them, is called on a value whose gradient exists only on some
        paths.
        """
        self._walk(nodes)
        return not any(_is_called_back(node.op) and not self._found.isdisjoint((*node.operands, *node.results))
                       for outer in nodes for node in walk(Region((), (outer,), ())))

    def _walk(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            match node.op:
                case If():
                    for region in node.regions:
                        self._walk(region.nodes)
                    self._chosen(node.results, *(region.results for region in node.regions))
                case For() | While():
                    self._loop(node)
                case Cell():
                    (body,) = node.regions
                    self._chosen(body.params, node.operands)
                    self._walk(body.nodes)
                    self._chosen(node.results, body.results)
                case _:
                    if not self._found.isdisjoint(node.operands):
                        self._found.update(filter(self._activity.is_active, node.results))

    def _loop(self, node: Node) -> None:
        body, count = node.regions[-1], len(node.results)
        carried, before = body.params[len(body.params) - count :], -1
        while before < len(self._found):
            before = len(self._found)
            self._chosen(carried, node.operands[len(node.operands) - count :], body.results)
            for region in node.regions:
                self._walk(region.nodes)
        self._chosen(node.results, carried)

    def _chosen(self, values: Sequence[Value], *given: Sequence[Atom]) -> None:
        """Record those of `values` that have a gradient only under a condition: each is one of several atoms, of which some have no
        gradient.

        given  sequences of atoms: `values[i]` is at run time one of the atoms at position i
        """
        for value, *atoms in zip(values, *given, strict=False):
            sure = all(self._activity.is_active(x) and x not in self._found for x in atoms)
            if self._activity.is_active(value) and not sure:
                self._found.add(value)


def _is_called_back(op: Op) -> bool:
    """Return True for an op whose reverse pass calls Python: a hook, or a cell with backward hooks or a `bprop`."""
    return bool(op.symbol or op.rule) if isinstance(op, Cell) else isinstance(op, (Hook, Outputs))


def _of_kernels(region: Region) -> bool:
    """Return True if neither a region nor its gradient calls Python, such as a hook.

    It is checked for control flow, since a call could not tell the two sides of an `if` or the rounds of a loop apart.
    """
    return not any(calls_python(node.op) for node in walk(region))


def calls_python(op: Op) -> bool:
    """Return True for an op that calls Python, or whose gradient does; a draw of random numbers counts as one."""
    return _is_called_back(op) or (op.effect is Effect.HOST and not isinstance(op, (Cell, Check)))


def reads_survive(function: Function) -> bool:
    """Return True if no value that was read from a parameter is used after the parameter is written; its memory may hold the new value
    then.
    """
    return _Reads().survive(function.body)


class _Reads:
    """Walks through a function and tells which values, read from parameters, are out of date because the parameter was written later.

    read   for each parameter, the values that were read from it since it was last written
    stale  the values that are out of date
    """

    def __init__(self) -> None:
        self.read: dict[str, list[Value]] = {}
        self.stale: set[Value] = set()

    def survive(self, region: Region) -> bool:
        for node in region.nodes:
            if node.regions:
                # A loop may come back to what stands before a write in its body.
                self.written(inner.op.symbol for body in node.regions for inner in walk(body) if isinstance(inner.op, Write))
            if isinstance(node.op, Cell):
                self._named(node.regions[0].params, node.operands)
            if not self.stale.isdisjoint(_used(node)) or not all(map(self.survive, node.regions)):
                return False
            if isinstance(node.op, Cell):
                self._named(node.results, node.regions[0].results)
            if isinstance(node.op, Read):
                self.read.setdefault(node.op.symbol, []).append(node.result)
            elif isinstance(node.op, Write):
                self.written([node.op.symbol])
        return self.stale.isdisjoint(atom for atom in region.results if isinstance(atom, Value))

    def _named(self, names: Sequence[Value], atoms: Sequence[Atom]) -> None:
        """Record that the arguments of a cell inside of it, or its results outside, are these values under other names."""
        for read in self.read.values():
            read += [name for name, atom in zip(names, atoms, strict=False) if atom in read]

    def written(self, symbols: Iterable[str]) -> None:
        for symbol in symbols:
            self.stale.update(self.read.pop(symbol, ()))


def _used(node: Node) -> Iterable[Value]:
    for atom in (*node.operands, *(value for region in node.regions for value in free_of(region))):
        if isinstance(atom, Value):
            yield atom
