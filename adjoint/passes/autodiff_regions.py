"""Gradients of control flow: how nodes with regions are differentiated.

Let R' be the adjoint of a region R, built as if it could see every value of R.  The values of R that it uses,
 looked(R) = free_values(R') & defined(R),
are the residuals.  R is run in such a way that they can be read outside of it:

    y = if c { R } else { S }            y, looked(R), looked(S) = if c { R; undef.. } else { S; undef.. }
                                         x' = if c { R' } else { S' }

    y = for i in range carry (a) { R }   y, s = for i in range carry (a, s = stack()) { R; push(s, looked(R)) }
                                         a', x' = for i in range carry (a' = y', x', s) { looked(R) = pop(s); R' }

    y = while carry (a) test { T } do { R }
                                         as `for`, with the number of rounds carried along; T has no gradient

    y = cell carry (x = a) { R }         R', flat; x' is a separate sum, which is added to a' when it is complete and the cell's
                                         backward hooks have run

    y = call @f(a)                       a' = call @f.bprop(a, y, y'), the pullback that @f names; other calls are inlined before

Here x' is the cotangent (gradient) of x.  `residuals` builds these forward copies.  A value captured from outside has one running sum,
which is threaded through the regions of the adjoint.  A sum that exists only under a condition is a `Sometimes`; its bit, a bool that tells
whether it exists, is carried along, and folded where it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Node, Region, Value, free_of, free_values, walk
from adjoint.ir.ops.control import Along, Call, Cell, For, If, Pull, While, known_rounds
from adjoint.ir.ops.host import Bprop, CellCallback
from adjoint.ir.ops.stack import Pop
from adjoint.ir.ops.state import Read
from adjoint.ir.types import I64, Type, scalar, stack_of
from adjoint.passes import errors
from adjoint.passes.activity import Branched, Leaf, Pending, Repeated, Times
from adjoint.passes.cotangent import (
    NEVER,
    ONCE,
    Cotangent,
    Sometimes,
    carried_as,
    filled,
    given,
    joined_status,
    parts_of,
    status_of,
    value_of,
)
from adjoint.passes.rebuild import fresh, renamed
from adjoint.passes.rounds import same_in_each_round
from adjoint.passes.sweep import Counts, RegionRules, Sweep

__all__ = ["RULES"]

# if


def _pull_if(sweep: Sweep, node: Node, cotangents: Sequence[Cotangent | None], pending: Sequence[Counts]) -> None:
    condition = node.operands[0]

    def side(region: Region, *, known: bool) -> Callable[[Sweep], None]:
        def pull(side: Sweep) -> None:
            for atom, ct, counts in zip(region.results, cotangents, pending, strict=True):
                side.add(atom, given(ct, condition, known=known))
                for key, count in counts.items():
                    side.hang(atom, key, given(count, condition, known=known))
            side.pull_all(region.nodes)

        return pull

    first, second = node.regions
    adjoints = sweep.branch(condition, side(first, known=True), side(second, known=False))
    _look(sweep, node, adjoints)


def _look(sweep: Sweep, node: Node, adjoints: Sequence[Region]) -> None:
    """Record that the two sides of the adjoint of an `if` use some forward values of its sides: these become additional results of the
    `if`.

    sweep     the walk backwards, which keeps the record
    node      the forward `if`
    adjoints  for each of its two regions, the region that computes the gradient
    """
    looked = sweep.looked_at(node)
    for region, adjoint in zip(node.regions, adjoints, strict=True):
        for value in _seen(sweep, region, adjoint):
            looked.values[value] = value


def _seen(sweep: Sweep, region: Region, adjoint: Region) -> list[Value]:
    """Return the values defined inside of `region` (of the forward function) that `adjoint`, the region for its gradient, uses."""
    inside = sweep.inside(region)
    return [v for v in free_values(adjoint.nodes, adjoint.results, adjoint.params) if v in inside]


# for and while


@dataclass(frozen=True)
class _Carried:
    """Describes a cotangent (gradient) that the adjoint of a loop carries from round to round.

    type      the type of the cotangent
    hint      a name for it
    entering  its value before the first round of the adjoint, or None
    """

    type: Type
    hint: str
    entering: Cotangent | None


def _pull_loop(sweep: Sweep, node: Node, cotangents: Sequence[Cotangent | None], pending: Sequence[Counts]) -> None:
    body = node.regions[-1]
    initial = node.operands[len(node.operands) - len(cotangents) :]
    carried = body.params[len(body.params) - len(initial) :]
    captured = _captured(sweep, body)
    slots = [
        *(_Carried(p.type, p.hint, ct if p in sweep.activity.active else None) for p, ct in zip(carried, cotangents, strict=True)),
        *(_Carried(*sweep.activity.described(leaf), sweep.sums.get(leaf)) for leaf in captured),
    ]

    counts = _entering_counts(sweep, carried, captured, pending)

    statuses = [status_of(slot.entering) for slot in slots]
    while True:
        trial = sweep.trial()
        entering = [carried_as(slot.type, slot.hint, status) for slot, status in zip(slots, statuses, strict=True)]
        for leaf, ct in zip(captured, entering[len(carried) :], strict=True):
            if ct is not None:
                trial.sums[leaf] = ct
        for atom, ct in zip(body.results, entering, strict=False):
            trial.add(atom, ct)
        times = {key: Value(scalar(I64), "times") for key in counts}
        for key, count in times.items():
            if key.leaf in carried:
                trial.hang(body.results[carried.index(key.leaf)], key, count, node)
            else:
                trial.sums[key] = count
        trial.pull_all(body.nodes)
        handed = {key: count for param in carried for key, count in trial.hand_on(param).items()}
        left = {key: trial.counted(count) for key, count in {**trial.sums, **handed}.items() if isinstance(key, Pending)}
        leaving = [*trial.take_all(carried, body.nodes), *(trial.sums.get(leaf) for leaf in captured)]
        joined = [joined_status(s, status_of(ct), slot.type) for s, ct, slot in zip(statuses, leaving, slots, strict=True)]
        if joined == statuses and left.keys() <= counts.keys():
            break
        statuses = joined
        counts = {**dict.fromkeys(left, NEVER), **counts}
    if not trial.b.nodes and all(status == "never" for status in statuses) and not counts:
        return
    sweep.accept(trial)

    slots += [_Carried(scalar(I64), "times", count) for count in counts.values()]
    statuses += ["always"] * len(counts)
    results = _emit_loop(
        sweep, node, slots, statuses, [*entering, *times.values()], [*leaving, *(left.get(key, NEVER) for key in counts)], trial)
    for leaf, ct in zip(captured, results[len(carried) :], strict=False):
        if ct is not None:
            sweep.sums[leaf] = ct
    for atom, ct in zip(initial, results[: len(carried)], strict=True):
        sweep.add(atom, ct)
    for key, count in zip(counts, results[len(results) - len(counts) :], strict=True):
        if key.leaf in carried:
            sweep.hang(initial[carried.index(key.leaf)], key, count)
        else:
            sweep.sums[key] = count  # pyright: ignore[reportArgumentType] - there always


def _entering_counts(sweep: Sweep, carried: Sequence[Value], captured: Sequence[Leaf], pending: Sequence[Counts]) -> dict[Pending, Atom]:
    """Return the counts of callbacks (hooks) with which the adjoint of a loop begins: those of its results, and of the leaves (values or
    parameters) that its body uses.

    carried   the parameters of the body for carried values
    captured  the leaves from outside that the body uses
    pending   for each result, the counts that are passed on to it
    """
    counts: dict[Pending, Atom] = {}
    for param, found in zip(carried, pending, strict=True):
        for key, count in found.items():
            counts[Pending(param, key.attach, key.laps)] = sweep.counted(count)
    for key, count in sweep.sums.items():
        if isinstance(key, Pending) and key.leaf in captured:
            counts[key] = sweep.counted(count)
    return counts


def _captured(sweep: Sweep, body: Region) -> list[Leaf]:
    """Return the leaves (values or parameters) from outside that the body of a loop uses: values through which the gradient passes, and
    parameters that it reads.
    """
    activity = sweep.activity
    outside = (activity.leaf(value) for value in free_of(body))
    reads = (node.op.symbol for node in walk(body) if isinstance(node.op, Read))
    return list(dict.fromkeys(leaf for leaf in (*outside, *reads) if leaf in activity.active))


def _emit_loop(
    sweep: Sweep,
    node: Node,
    slots: Sequence[_Carried],
    statuses: Sequence[str],
    entering: Sequence[Cotangent | None],
    leaving: Sequence[Cotangent | None],
    trial: Sweep,
) -> list[Cotangent | None]:
    """Append the loop that computes the gradient of the loop `node`: it goes through the rounds in reverse order.

    slots     the carried cotangents
    statuses  for each of them, how often it exists: "never", "sometimes" or "always"
    entering  for each of them, the cotangent at the beginning of a round
    leaving   for each of them, the cotangent at the end of a round
    trial     the sweep that has emitted the body of the adjoint

    Return the cotangents after the loop.
    """
    b = sweep.b
    params = [part for ct in entering for part in parts_of(ct)]
    yielded = [part for slot, status, ct in zip(slots, statuses, leaving, strict=True) for part in filled(trial.b, status, ct, slot.type)]
    adjoint = trial.b.finish(yielded, params)
    body = node.regions[-1]
    seen = _seen(sweep, body, adjoint)
    bounds, index = _backwards(sweep, node, seen)
    seen = _changing(sweep, node, [value for value in seen if value is not index])

    inner = b.inner()
    looked = sweep.looked_at(node)
    stacks = [looked.values.setdefault(value, Value(stack_of(value.type), f"{value.hint}s")) for value in seen]
    tops = fresh(stacks)
    rests = _pops(inner, seen, tops)
    inner.nodes += trial.b.nodes
    region = _once(sweep, inner.finish([*yielded, *rests], [index, *params, *tops]), [index, *seen])

    start = [part for slot, status in zip(slots, statuses, strict=True) for part in filled(b, status, slot.entering, slot.type)]
    results = list(b.emit_node(For(), [*bounds, *start, *stacks], regions=[region]).results)
    for result, param in zip(results, [*params, *tops], strict=True):
        result.hint = param.hint
    at_least_once = bool(known_rounds(bounds))
    after: list[Cotangent | None] = []
    for status, ct in zip(statuses, leaving, strict=True):
        match status:
            case "never":
                after.append(None)
            case "always":
                after.append(results.pop(0))
            case _:
                value, bit = results.pop(0), results.pop(0)
                always = at_least_once and status_of(ct) == "always"
                after.append(value if always else Sometimes(value, bit))
    return after


def _changing(sweep: Sweep, node: Node, seen: Sequence[Value]) -> list[Value]:
    """Return those of the values that differ from round to round, and record that the forward loop computes the others before it begins.

    node  the forward loop
    seen  the values inside of it that the adjoint uses
    """
    same = same_in_each_round(node.regions[-1], seen)
    sweep.looked_at(node).same.update(dict.fromkeys(same))
    return [value for value in seen if value not in same]


def _backwards(sweep: Sweep, node: Node, seen: Sequence[Value]) -> tuple[list[Atom], Value]:
    """Return start, stop and step of the adjoint's loop, which runs as many rounds as the forward loop, and its index.

    If the adjoint uses the forward index and the bounds are known numbers, the index itself runs backwards.  Otherwise an index that is
    used comes from a stack, like any other value.

    seen  the forward values that the adjoint uses
    """
    if isinstance(node.op, While):
        looked = sweep.looked_at(node)
        if looked.rounds is None:
            looked.rounds = Value(scalar(I64), "rounds")
        return [_integer(0), looked.rounds, _integer(1)], Value(scalar(I64), "i")
    bounds = list(node.operands[:3])
    index = node.regions[0].params[0]
    indices = known_rounds(bounds)
    if index not in seen or indices is None:
        return bounds, Value(scalar(I64), index.hint)
    rounds = indices[::-1]
    return [_integer(rounds.start), _integer(rounds.stop), _integer(rounds.step)], index


def _integer(value: int) -> Literal:
    return Literal(value, scalar(I64))


# callbacks attached in branches and loops to values outside of them


def _fire_branched(sweep: Sweep, leaf: Leaf | Pending, firing: Branched) -> None:
    """Append an `if` that calls callbacks (hooks) on the running sum of `leaf`: in each side, those that were attached in that side.

    firing  these callbacks, by side
    """
    first, second = firing.sides
    adjoints = sweep.branch(firing.node.operands[0], lambda side: side.fire(leaf, first), lambda side: side.fire(leaf, second))
    _look(sweep, firing.node, adjoints)


def _fire_times(sweep: Sweep, leaf: Leaf | Pending, firing: Times) -> None:
    """Append a loop that calls one callback (hook) on a running sum of cotangents, as often as the reverse pass has counted.

    sweep   the reverse pass that is being built
    leaf    the key of the sum: a value or parameter, or the key of a counted callback (`Pending`)
    firing  the callback and the count
    """
    b = sweep.b
    before = value_of(sweep.sums[leaf])
    inner = sweep.trial()
    param = inner.sums[leaf] = Value(before.type, getattr(before, "hint", "ct"))
    inner.fire(leaf, [firing.attach])
    region = inner.b.finish([value_of(inner.sums[leaf])], [Value(scalar(I64), "i"), param])
    bounds = [NEVER, firing.count, ONCE]
    sweep.sums[leaf] = b.emit_node(For(), [*bounds, before], regions=[region], hint=param.hint).results[0]


def _fire_repeated(sweep: Sweep, leaf: Leaf | Pending, firing: Repeated) -> None:
    """Append a loop that runs the callbacks (hooks) attached in a loop, in the order of its rounds, on the sum of `leaf`.

    The conditions under which they were attached come from stacks, which are reversed first.

    firing  these callbacks
    """
    b, node = sweep.b, firing.node
    if isinstance(leaf, Pending):
        sweep.sums[leaf] = sweep.counted(sweep.sums.get(leaf))
    before = sweep.sums[leaf]
    assert not isinstance(before, Sometimes)
    param = Value(before.type, "times" if isinstance(leaf, Pending) else getattr(before, "hint", "ct"))
    trial = sweep.trial()
    trial.sums[leaf] = param
    trial.fire(leaf, firing.firings)
    after = trial.sums[leaf]
    assert not isinstance(after, Sometimes)
    sweep.accept(trial)

    body = node.regions[-1]
    seen = _changing(sweep, node, _seen(sweep, body, trial.b.finish([after], [param])))
    bounds, _ = _backwards(sweep, node, ())
    looked = sweep.looked_at(node)
    queues = [Value(stack_of(value.type), f"{value.hint}s") for value in seen]
    looked.queues += zip(seen, queues, strict=True)
    turned = [_turned(b, bounds, queue) for queue in queues]

    inner = b.inner()
    tops = fresh(queues)
    rests = _pops(inner, seen, tops)
    inner.nodes += trial.b.nodes
    region = _once(sweep, inner.finish([after, *rests], [Value(scalar(I64), "i"), param, *tops]), seen)
    sweep.sums[leaf] = b.emit_node(For(), [*bounds, before, *turned], regions=[region], hint=param.hint).results[0]


def _turned(b: Builder, bounds: Sequence[Atom], stack: Value) -> Value:
    """Append a loop that reverses a stack; return the reversed stack.

    bounds  start, stop and step of the loop, one round for each item
    """
    inner = b.inner()
    source, target = fresh([stack, stack])
    rest, item = inner.pop(source)
    region = inner.finish([rest, inner.push(target, item)], [Value(scalar(I64), "i"), source, target])
    start = [*bounds, stack, b.stack(results=(stack.type,))]
    return b.emit_node(For(), start, regions=[region], hint=stack.hint).results[1]


def _once(sweep: Sweep, region: Region, values: Sequence[Value]) -> Region:
    """Return the body of the adjoint's loop: a copy with new values if another loop of the adjoint defines some of its `values` already,
    since each value is defined once in a function; otherwise `region` itself.

    values  the forward values that the body defines
    """
    again = not sweep.redefined.isdisjoint(values)
    sweep.redefined.update(values)
    return renamed([region])[0] if again else region


def _pops(b: Builder, values: Sequence[Value], stacks: Sequence[Value]) -> list[Value]:
    """Append to `b` nodes that define each of `values` by popping it from the stack at the same position; return the stacks after the pops.
    """
    rests = fresh(stacks)
    for value, stack, rest in zip(values, stacks, rests, strict=True):
        b.emit_node(Pop(), [stack], results=(rest, value))
    return list(rests)


# cells


def _pull_cell(sweep: Sweep, node: Node, cotangents: Sequence[Cotangent | None], pending: Sequence[Counts]) -> None:
    op = node.op
    assert isinstance(op, Cell)
    outputs = len(node.results) - op.residuals

    if op.rule:

        def by_rule(side: Sweep, cts: Sequence[Atom | None]) -> None:
            present = tuple(ct is not None for ct in cts[:outputs])
            rule = Bprop(op.rule, len(node.operands), outputs, present)
            read = side.restored(node)
            operands = (*read.operands, *read.results[:outputs], *(ct for ct in cts[:outputs] if ct is not None))
            pulled: Sequence[Cotangent | None] = side.b.emit_node(rule, operands).results
            pulled = [ct if side.activity.is_active(x) else None for x, ct in zip(node.operands, pulled, strict=True)]
            _hand_over(side, node, op, pulled, cts[:outputs])

        sweep.decide(cotangents, by_rule)
        return

    def by_region(side: Sweep, cts: Sequence[Cotangent | None]) -> None:
        (body,) = node.regions
        for atom, ct in zip(body.results, cts, strict=True):
            side.add(atom, ct)
        side.pull_all(body.nodes)
        pulled = side.take_all(body.params, body.nodes)
        _hand_over(side, node, op, pulled, cts[:outputs])

    if op.symbol:
        sweep.decide(cotangents, by_region, always=node in sweep.activity.handing)
    else:
        by_region(sweep, cotangents)


def _hand_over(sweep: Sweep, node: Node, op: Cell, inputs: Sequence[Cotangent | None], outputs: Sequence[Cotangent | None]) -> None:
    """Append a call of the backward hooks of a cell, then add the cotangents (gradients) that they return to those of the cell's arguments.

    node     the `cell` node
    op       its op, which names the hooks
    inputs   for each argument, its cotangent as computed inside of the cell; None for one that is absent
    outputs  for each result, its cotangent; None for one that is absent
    """
    sweep.locate(node)

    def call(side: Sweep, cts: Sequence[Atom | None]) -> None:
        known, seen = cts[: len(inputs)], cts[len(inputs) :]
        there = tuple(ct is not None for ct in known)
        hook = CellCallback(op.symbol, there, tuple(ct is not None for ct in seen))
        replaced = iter(side.b.emit_node(hook, [ct for ct in cts if ct is not None]).results)
        for atom, present in zip(node.operands, there, strict=True):
            if present:
                side.add(atom, next(replaced))

    if op.symbol and any(ct is not None for ct in outputs):
        sweep.decide([*inputs, *outputs], call)
    else:
        for atom, ct in zip(node.operands, inputs, strict=True):
            sweep.add(atom, ct)


# calls


def _pull_call(sweep: Sweep, node: Node, cotangents: Sequence[Cotangent | None], pending: Sequence[Counts]) -> None:
    """Append `x' = call @f.bprop(x, y, y')` for a call of a function that names its pullback.  An absent cotangent (gradient) counts as
    zeros.
    """
    op, module = node.op, sweep.activity.module
    assert isinstance(op, Call)
    rule = module.functions[op.symbol].vjp if module is not None else None
    if module is None or rule is None:
        why = f"@{op.symbol} calls itself: calls are inlined before the gradient is taken, so recursion has no gradient"
        raise errors.NoGradient.of(errors.NO_GRADIENT, node.loc, why)

    def pull(side: Sweep, cts: Sequence[Atom | None]) -> None:
        full = [side.or_zero(ct, y.type) for y, ct in zip(node.results, cts, strict=True)]
        call = Call(rule, module.functions[rule].result_types)
        pulled = side.b.emit_node(call, [*node.operands, *node.results, *full]).results
        for atom, ct in zip(node.operands, pulled, strict=True):
            side.add(atom, ct)

    sweep.decide(cotangents, pull)


def _refuse(sweep: Sweep, node: Node, cotangents: Sequence[Cotangent | None], pending: Sequence[Counts]) -> NoReturn:
    why = f"this trace comes from outside of the function: `record` and `{node.op.name}` must be in the same function"
    raise errors.NoGradient.of(errors.NO_GRADIENT, node.loc, why)


RULES = RegionRules(
    pull={If: _pull_if, For: _pull_loop, While: _pull_loop, Cell: _pull_cell, Call: _pull_call, Pull: _refuse, Along: _refuse},
    fire={Branched: _fire_branched, Repeated: _fire_repeated, Times: _fire_times},
)
"""The functions that differentiate nodes with regions and run the callbacks inside of them, by op; a `Sweep` is given this table."""
