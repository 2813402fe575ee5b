"""`for` and `while` loops.  If the rounds of a loop are known while the graph is made, it is unrolled: each round adds nodes of its own.  A
loop for which a tensor decides becomes a loop of the graph.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adjoint.foundation.diagnostics import UNKNOWN, CompileError, Loc
from adjoint.frontend.changes.journal import NamesPlace
from adjoint.frontend.code.conditions import Conditions
from adjoint.frontend.code.if_statements import IfStatements
from adjoint.frontend.control.branches import BREAK, CONTINUE, NEXT, RETURN, Outcome
from adjoint.frontend.control.loops import Looping
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.operations.iterators import END, Iterators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.tree.scope import changed_at, jumps, reads_name
from adjoint.frontend.values.frame import UNBOUND
from adjoint.frontend.values.numbers import RunTimeRange
from adjoint.frontend.world import World

__all__ = ["LoopStatements"]

_ROLLED_FROM = 3
"""The least number of rounds for which a loop of known length, whose index is not read, becomes a loop of the graph instead of being
unrolled.
"""

_UNROLLED_TO = 16
"""The largest number of rounds for which a loop that a tensor may leave (by `break` or `return`) is unrolled."""

_MOST_ITEMS = 1_000_000
"""The limit for the items of an unrolled loop; a longer iterator counts as infinite."""


class LoopStatements:
    """Runs the `for` and `while` loops of the code that becomes the graph.  It decides for each whether it is unrolled (each round adds
    nodes of its own) or stays a loop of the graph.

    world  the interface to the runtime, which makes the nodes
    stack, iterators, branching, decisions, conditions, ifs, run  the parts of the `Lowerer` that it uses
    """

    def __init__(
        self, world: World, stack: CallStack, iterators: Iterators, branching: Looping, decisions: Decisions, conditions: Conditions,
        ifs: IfStatements, run: Runner,
    ):
        self.world, self.stack, self.iterators, self.branching = world, stack, iterators, branching
        self.decisions, self.conditions, self.ifs, self.run = decisions, conditions, ifs, run

    def run_for(self, node: ast.For) -> Outcome | None:
        """Run a `for` loop and its `else`.

        Return how the block around the loop is left by it: None if the statements after the loop run next, otherwise an Outcome for a
        `return` in it.
        """
        over = self.run.value(node.iter)
        self.world.loc = self.stack.loc_of(node)
        if isinstance(over, RunTimeRange):
            outcome = self._looping(lambda: self.branching.for_loop(
                (over.start, over.stop, over.step), lambda i: self.run.assign(node.target, i), lambda: self.run.block(node.body)), node)
        elif self._stays_loop(node, over):
            rounds = range(len(over))
            outcome = self._looping(lambda: self.branching.for_loop(
                (rounds.start, rounds.stop, rounds.step), lambda i: None, lambda: self.run.block(node.body)), node)
            self.run.assign(node.target, over[-1])
        elif isinstance(over, range) and len(over) > _UNROLLED_TO \
                and self._leaves_by_tensor(node.body, lambda: self.run.assign(node.target, over[0])):
            outcome = self._looping(lambda: self.branching.for_loop(
                (over.start, over.stop, over.step), lambda i: self.run.assign(node.target, i), lambda: self.run.block(node.body)), node)
        else:
            outcome = self._unrolled(node, over)
        return self._left(outcome, node.orelse, node)

    def run_while(self, node: ast.While) -> Outcome | None:
        """Run a `while` loop and its `else`.

        Return how the block around the loop is left by it: None if the statements after the loop run next, otherwise an Outcome for a
        `return` in it.
        """
        outcome: Outcome | None = None
        while True:
            # the test is first lowered in a separate branch: if a tensor decides it, it belongs into the loop
            probe = self.branching.trial(lambda: self.conditions.test(node.test))
            loops = not isinstance(probe.result, bool) or (probe.result and self._leaves_by_tensor(node.body))
            if loops and not probe.dead:  # a test that raises cannot be the test of a loop
                outcome = self._looping(lambda once=probe.result is True: self.branching.while_loop(
                    lambda: self.conditions.tested(node.test), lambda: self.run.block(node.body), once=once), node)
                break
            if not self.conditions.test(node.test):
                break
            outcome = self.run.block(node.body)
            if outcome is not None and outcome.code != CONTINUE:
                break
            outcome = None
        return self._left(outcome, node.orelse, node)

    def _looping(self, loop: Callable[[], Outcome | None], node: ast.For | ast.While) -> Outcome | None:
        self.branching.local_names = self.stack.frame.names
        source = self.stack.frame.source

        def assigned_at(name: str) -> Loc:
            found = changed_at(node.body, name)
            return UNKNOWN if found is None else source.at(found)

        outer = self.branching.header, self.branching.assigned_at
        self.branching.header, self.branching.assigned_at = self.stack.loc_of(node), assigned_at
        try:
            with self.stack.here(node):
                return loop()
        finally:
            self.branching.header, self.branching.assigned_at = outer

    def _stays_loop(self, node: ast.For, over: Any) -> bool:
        """Return True if a `for` over a range of known length should become one loop of the graph instead of being unrolled.

        That is so if the body does not read the index, all rounds do the same, and there are enough rounds.

        node  the loop in the syntax tree
        over  the value that the loop iterates over
        """
        if not isinstance(over, range) or len(over) < _ROLLED_FROM or not isinstance(node.target, ast.Name):
            return False
        if reads_name(node.body, node.target.id) or not all(_is_plain(statement) for statement in node.body):
            return False
        return self._is_settled(node)

    def _is_settled(self, node: ast.For) -> bool:
        """Return True if one round of a loop can be repeated as it is: it changes only local variables that hold tensors or numbers of the
        graph, and leaves each its dtype and shape.

        For the answer, the body is run once as a trial; its nodes and changes are thrown away.
        """
        names = self.stack.frame.names
        found = self.branching.trial(lambda: self.run.block(node.body))
        if found.dead or found.result is not None:
            return False
        for place, before, after in found.changes.values():
            if not isinstance(place, NamesPlace) or place.container is not names:
                return False
            for name, last in after.items():
                first = before.get(name, UNBOUND)
                if first is last:
                    continue
                if first is UNBOUND or not self.world.is_dynamic(first) or self.world.kind(first) != self.world.kind(last):
                    return False
        return True

    def _unrolled(self, node: ast.For, over: Any) -> Outcome | None:
        """Unroll a loop whose rounds are known while the graph is made: each round adds nodes of its own.

        node  the loop in the syntax tree
        over  the value that the loop iterates over

        Return how the loop ended, or None after its last round.  CompileError if the iterator is known to be endless and the body has no
        `break` or `return`, and if too many rounds have been made.
        """
        items = self.iterators.iterated(over, node.iter)
        if self.iterators.is_endless(over) and not jumps(node.body):
            raise self._does_not_end(node)
        return self._rounds(node, over, items, self._taken(node, items), 0)

    def _rounds(self, node: ast.For, over: Any, items: Iterator[Any], item: Any, number: int) -> Outcome | None:
        """Run the remaining rounds of an unrolled loop (one in which each round adds nodes of its own).

        node    the loop in the syntax tree
        over    the value that the loop iterates over
        items   its iterator
        item    the item of the next round, already taken from `items`, or END (a marker) if there is none
        number  the number of rounds before

        Return how the loop ended: None if all rounds ran, otherwise the Outcome of the `break` or `return`.
        """
        while item is not END:
            if number == _MOST_ITEMS:
                raise self._does_not_end(node)
            number += 1
            self.run.assign(node.target, item)
            outcome = self.run.block(node.body)
            if outcome is not None and not outcome.is_known:
                return self._perhaps_left(node, over, items, number, outcome)
            if outcome is not None and outcome.code != CONTINUE:
                return outcome
            item = self._taken(node, items)
        return None

    def _perhaps_left(self, node: ast.For, over: Any, items: Iterator[Any], number: int, outcome: Outcome) -> Outcome | None:
        """Run the rest of an unrolled loop after a round for which a tensor decides whether it was the last one.  The rest becomes a branch
        of the graph.

        over     the value that the loop iterates over
        items    its iterator
        number   the number of rounds so far
        outcome  how that round ended, with a code that the graph computes

        Return how the whole loop ended.
        """
        if self.iterators.is_endless(over):
            raise self._does_not_end(node)
        self.iterators.undecided(over)
        outcome = self._continued(outcome, node)
        following = self.branching.branch(lambda: self._taken(node, items))  # taken only where the loop goes on
        if following.result is END and following.is_empty:
            return outcome
        return self.ifs.guarded(outcome, lambda: self._rounds(node, over, items, following.result, number), node, following)

    def _taken(self, node: ast.For, items: Iterator[Any]) -> Any:
        """Return the next item of the loop `node`, or END (a marker) if there is none.

        An error that the iterator raises gets the loop's line as a note.
        """
        with self.stack.here(node.iter):
            return next(items, END)

    def _does_not_end(self, node: ast.For) -> CompileError:
        return self.stack.unsupported(
            node.iter, "this iterator seems to be infinite", "limit it (`itertools.islice(it, n)`), or loop over a range")

    def _continued(self, outcome: Outcome, node: ast.AST) -> Outcome:
        """Return how one round of a loop ended, as the loop sees it: a `continue` counts as the end of the body, since it ends only the
        round.

        outcome  how the round ended, with a code that the graph computes
        """
        with self.stack.here(node):
            return Outcome(outcome.code.kept_if(outcome.code != CONTINUE), outcome.value,
                           outcome.codes - {CONTINUE} | {NEXT})

    def _leaves_by_tensor(self, body: Sequence[ast.stmt], begin: Callable[[], None] = lambda: None) -> bool:
        """Return True if a tensor decides whether a loop is left by `break` or `return` in a round.

        For the answer, the body is run once as a trial; its nodes and changes are thrown away.

        begin  called before the body, to assign the loop's variable
        """
        if not jumps(body):
            return False

        def one() -> Outcome | None:
            begin()
            return self.run.block(body)

        found = self.branching.trial(one).result
        return isinstance(found, Outcome) and not found.is_known

    def _left(self, outcome: Outcome | None, orelse: Sequence[ast.stmt], node: ast.AST) -> Outcome | None:
        """Run the `else` of a loop that has ended.

        outcome  how the loop ended: None after its last round, otherwise by `break` or `return`
        orelse   the statements of the `else`

        Return None if the statements after the loop run next, otherwise how the block around the loop is left.
        """
        if outcome is None:
            return self.run.block(orelse)
        if outcome.is_known:
            return outcome if outcome.code == RETURN else None
        if orelse:
            ended = self.decisions.truth(outcome.code == NEXT, node)
            a = self.branching.branch(lambda: self.run.block(orelse))
            b = self.branching.branch(lambda: self._returning(outcome.without(NEXT)))
            return self.decisions.merged(ended, a, b, node)
        with self.stack.here(node):
            return self._returning(outcome)

    def _returning(self, outcome: Outcome) -> Outcome | None:
        """Convert how a loop was left into how the block around it is left.

        Return None if no `return` left it: the statements after the loop run next.  Otherwise return an Outcome.  If it depends on tensors
        whether a `return` left the loop, the graph computes its code: RETURN, or NEXT if the statements after the loop run next.
        """
        if RETURN not in outcome.codes:
            return None
        if outcome.is_known or BREAK not in outcome.codes:
            return outcome
        return Outcome(outcome.code.kept_if(outcome.code == RETURN), outcome.value, frozenset({NEXT, RETURN}))


def _is_plain(statement: ast.stmt) -> bool:
    """Return True if a statement consists of plain assignments only, also inside of `if`, `for` and `with`.

    A body of such statements may become the body of a loop of the graph: it is turned into nodes once, for all rounds.
    """
    match statement:
        case ast.Assign(targets=targets):
            plain = all(isinstance(t, (ast.Name, ast.Tuple)) for t in targets)
        case ast.AugAssign(target=ast.Name()) | ast.Pass():
            plain = True
        case ast.If(body=body, orelse=orelse):
            return all(_is_plain(s) for s in (*body, *orelse))
        case ast.For(body=body, orelse=[]):
            return all(_is_plain(s) for s in body)
        case ast.With(items=items, body=body):
            return all(item.optional_vars is None for item in items) and all(_is_plain(s) for s in body)
        case _:
            return False
    return plain and not any(isinstance(inner, (ast.NamedExpr, ast.Lambda)) for inner in ast.walk(statement))
