"""Connectionist temporal classification (Graves et al. 2006)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.types import F32, F64, I32, I64, tensor
from adjoint.ops.activations import log_softmax
from adjoint.ops.arguments import ArgumentMistake, choice, flag, integer, operand, wrong
from adjoint.ops.arithmetic import equal, isinf, logical_and, not_equal, stop_gradient, where
from adjoint.ops.creation import full
from adjoint.ops.logsums import logaddexp
from adjoint.ops.parts import concat, framed, narrow, stack, unstack
from adjoint.ops.picking import gather_elements, gather_nd, index_check, indices_argument, nonzero
from adjoint.ops.reduction import amax, argmax, cumsum, mean, sum
from adjoint.ops.scattering import tensor_scatter_update
from adjoint.ops.shapes import broadcast_to, expand_dims, permute, reshape, squeeze
from adjoint.runtime.gradients.grad import grad
from adjoint.runtime.memory.finite_results import finite_ok
from adjoint.runtime.tensor.run_time_checks import Range, checked_on_host, emitting, needs_values
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["ctc_greedy_decoder", "ctc_loss"]


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the negative logarithm of the probability that a sequence of classes is one of those which collapse to the targets.

    log_probs       [t, n, c], logarithms of probabilities
    targets         [n, s], classes other than `blank`; entries after a target's length are ignored
    input_lengths   [n], the number of steps of each sequence
    target_lengths  [n]
    reduction       "none": [n]; "sum"; "mean": the mean of the losses divided by their targets' lengths, at least 1
    zero_infinity   whether a target that does not fit into its sequence has loss 0, not infinity

    Returns the loss and the logarithms of the forward probabilities [n, t, 2 s + 1], -inf beyond the lengths; these have no gradient.
    ArgumentMistake (a ValueError and a RuntimeError) for lengths that are too large and for targets that are not classes.
    """
    op = "CTCLoss"
    x, labels = operand(op, log_probs, "log_probs"), indices_argument(op, "targets", targets)
    steps_held, held = (indices_argument(op, name, given) for name, given in (
        ("input_lengths", input_lengths), ("target_lengths", target_lengths)))
    kind, zeroed = choice(op, "reduction", reduction, ("none", "mean", "sum")), flag(op, "zero_infinity", zero_infinity)
    if not x.dtype.is_float:
        raise wrong(op, "log_probs", "a Tensor of a floating point type", x, TypeError)
    if x.ndim != 3 or x.shape[0] == 0:
        raise wrong(op, "log_probs", "of shape [t, n, c] with at least one step", x)
    steps, n, classes = x.shape
    if labels.ndim != 2 or labels.shape[0] != n:
        raise wrong(op, "targets", f"of 2 dimensions, the first {n}", labels)
    for name, lengths in (("input_lengths", steps_held), ("target_lengths", held)):
        if lengths.shape != (n,):
            raise wrong(op, name, f"of shape ({n},)", lengths)
    void = integer(op, "blank", blank)
    if not 0 <= void < classes:
        raise wrong(op, "blank", f"in [0, {classes})", void)
    longest = labels.shape[1]

    def fits() -> Iterator[tuple[Tensor, Range]]:
        yield steps_held, Range(1, steps)
        yield held, Range(0, longest)
        counts = apply(made(Iota, tensor(I64, (1, longest)), 1)) < expand_dims(held, 1)
        yield where(counts, labels.astype(I64, copy=False), 0), Range(0, classes - 1)

    checked_on_host(_check(steps, longest, classes), labels, steps_held, held, conditions=fits)
    labels, steps_held, held = (given.astype(I64, copy=False) for given in (labels, steps_held, held))

    with finite_ok():  # minus infinity is the logarithm of the probability of what is impossible
        logarithms, rows = _alignments(x, labels, steps_held, held, void)
        losses = where(isinf(logarithms), constant(0.0, x.dtype), -logarithms) if zeroed else None
        table = concat([expand_dims(row, 1) for row in rows], 1)
        here = logical_and(apply(made(Iota, tensor(I64, (1, steps, 1)), 1)) < reshape(steps_held, (n, 1, 1)),
                           apply(made(Iota, tensor(I64, (1, 1, 2 * longest + 1)), 2)) <= reshape(held * 2, (n, 1, 1)))
        table = stop_gradient(where(here, table, constant(-math.inf, x.dtype)))
    if losses is None:
        losses = -logarithms
    if kind == "mean":
        losses = mean(losses / where(held > 0, held, 1).astype(x.dtype))
    elif kind == "sum":
        losses = sum(losses)
    return losses, table


def _check(steps: int, longest: int, classes: int) -> Any:
    def lengths(labels: Tensor, steps_held: Tensor, held: Tensor) -> None:
        for name, given, least, most in (("input_lengths", steps_held, 1, steps), ("target_lengths", held, 0, longest)):
            found = given.asnumpy()
            if found.size and (found.min() < least or found.max() > most):
                raise wrong("CTCLoss", name, f"lengths in [{least}, {most}]", found.tolist(), ArgumentMistake)
        for row, length in zip(labels.asnumpy(), held.asnumpy(), strict=True):
            if length and (row[:length].min() < 0 or row[:length].max() >= classes):
                raise wrong("CTCLoss", "targets", f"classes in [0, {classes})", row[:length].tolist(), ArgumentMistake)

    return lengths


def _alignments(
    x: Tensor, labels: Tensor, steps_held: Tensor, held: Tensor, void: int, *, merged: bool = True
) -> tuple[Tensor, list[Tensor]]:
    """Return the logarithms [n] of the probabilities of the labels, and the forward ones [n, 2 s + 1] of each step; all indices are Int64.

    merged  whether a label may last several steps; else each step gives another label or a blank
    """
    steps, n, _ = x.shape
    # Blanks come before, between and after the labels: position 2 i + 1 has label i.
    width = 2 * labels.shape[1] + 1
    inside = apply(made(Iota, tensor(I64, (1, labels.shape[1])), 1)) < expand_dims(held, 1)
    shown = where(inside, labels, void)
    blanks = full((n, labels.shape[1], 1), void, dtype=I64)
    places = concat((reshape(concat((blanks, expand_dims(shown, 2)), 2), (n, width - 1)), full((n, 1), void, dtype=I64)), 1)
    given = gather_elements(x, 2, broadcast_to(expand_dims(places, 0), (steps, n, width)))
    nothing = constant(-math.inf, x.dtype)

    def behind(row: Tensor, count: int) -> Tensor:
        """Shift right by `count` positions; the first ones are filled."""
        return framed(narrow(row, 1, 0, max(0, width - count)), ((0, 0), (min(count, width), 0)), -math.inf)

    number = apply(made(Iota, tensor(I64, (1, width)), 1))
    before = framed(narrow(places, 1, 0, max(0, width - 2)), ((0, 0), (min(2, width), 0)), void)
    # A blank between two different labels may be left out; between two equal ones where these are not merged.
    skips = logical_and(not_equal(places, void), not_equal(places, before)) if merged else not_equal(places, void)
    alpha = where(number < 2, given[0], nothing)
    rows = [alpha]
    for t, emitted in enumerate(unstack(given)[1:], 1):
        stayed = alpha if merged else where(equal(places, void), alpha, nothing)
        reached = logaddexp(logaddexp(stayed, behind(alpha, 1)), where(skips, behind(alpha, 2), nothing)) + emitted
        alpha = where(expand_dims(steps_held > t, 1), reached, alpha)
        rows.append(alpha)
    last = expand_dims(held * 2, 1)
    ends = logaddexp(gather_elements(alpha, 1, last), where(last > 0, gather_elements(alpha, 1, where(last > 0, last - 1, 0)), nothing))
    return squeeze(ends, 1), rows


def ctc_loss_of_scores(
    x: Any, labels_indices: Any, labels_values: Any, sequence_length: Any, *, collapsed: bool, merged: bool, longer: bool
) -> tuple[Tensor, Tensor]:
    """Return the negative logarithms [n] of the probabilities of labels by softmax of scores, and their gradients by the scores.

    x                [t, n, c], scores; the last class is the blank
    labels_indices   [k, 2], Int64: the sequence of each label and its index there
    labels_values    [k], Int32, classes; blanks among them are left out
    sequence_length  [n], Int32, how many steps of each sequence count
    collapsed        whether of equal labels that follow each other one counts
    merged           whether a label may last several steps
    longer           whether a sequence with more labels than steps has an infinite loss; else it is an ArgumentMistake

    The gradient of an infinite loss is 0.
    """
    op = "CTCLoss"
    scores, places = operand(op, x, "x"), operand(op, labels_indices, "labels_indices")
    values, lengths = operand(op, labels_values, "labels_values"), operand(op, sequence_length, "sequence_length")
    if not scores.dtype.is_float:
        raise wrong(op, "x", "a Tensor of a floating point type", scores, TypeError)
    for name, given, dtype in (("labels_indices", places, I64), ("labels_values", values, I32), ("sequence_length", lengths, I32)):
        if given.dtype is not dtype:
            raise wrong(op, name, f"a Tensor of {dtype}", given, TypeError)
    if scores.ndim != 3 or 0 in scores.shape:
        raise wrong(op, "x", "of shape [t, n, c] with at least one step, sequence and class", scores)
    steps, n, classes = scores.shape
    if values.ndim != 1:
        raise wrong(op, "labels_values", "of 1 dimension", values)
    if places.shape != (values.size, 2):
        raise wrong(op, "labels_indices", f"of shape ({values.size}, 2), a row for each label", places)
    if lengths.shape != (n,):
        raise wrong(op, "sequence_length", f"of shape ({n},)", lengths)

    def fits() -> Iterator[tuple[Tensor, Range]]:
        yield lengths, Range(1, steps)
        if values.size:
            yield values, Range(0, classes - 1)
            yield places, Range((0, 0), (n - 1, values.size - 1))
        if values.size and not longer:
            many = sum((narrow(places, 1, 0, 1) == apply(made(Iota, tensor(I64, (1, n)), 1))).astype(I64), 0)
            yield lengths.astype(I64) - many, Range(0, steps)

    checked_on_host(_check_scores(steps, n, classes, longer), places, values, lengths, conditions=fits)
    # How long the longest row of labels is, a graph does not know before it runs: there as many as there are labels in all.
    width = max(1, values.size if emitting() or not values.size else int(places.asnumpy()[:, 1].max()) + 1)
    dense = tensor_scatter_update(full((n, width), classes - 1, dtype=I64), places, values.astype(I64))
    keeps = not_equal(dense, classes - 1)
    if collapsed:
        before = framed(narrow(dense, 1, 0, width - 1), ((0, 0), (1, 0)), -1)
        keeps = logical_and(keeps, not_equal(dense, before))
    order = where(keeps, cumsum(keeps.astype(I64), 1) - 1, width)
    row = broadcast_to(apply(made(Iota, tensor(I64, (n, 1)), 0)), (n, width))
    target = concat((expand_dims(row, 2), expand_dims(order, 2)), 2)
    packed = narrow(tensor_scatter_update(full((n, width + 1), 0, dtype=I64), target, dense), 1, 0, width)
    held, counted = sum(keeps.astype(I64), 1), lengths.astype(I64)

    def losses(given: Tensor) -> Tensor:
        probabilities = log_softmax(given, 2)
        with finite_ok():  # as in `ctc_loss`
            found = _alignments(probabilities, packed, counted, held, classes - 1, merged=merged)[0]
        return where(isinf(found), constant(math.inf, given.dtype), -found)

    return losses(scores), stop_gradient(grad(lambda given: sum(losses(given)))(scores))


def _check_scores(steps: int, n: int, classes: int, longer: bool) -> Any:
    def fitting(places: Tensor, values: Tensor, lengths: Tensor) -> None:
        where_, labels, counted = places.asnumpy(), values.asnumpy(), lengths.asnumpy()
        if counted.min() < 1 or counted.max() > steps:
            raise wrong("CTCLoss", "sequence_length", f"lengths in [1, {steps}]", counted.tolist(), ArgumentMistake)
        if labels.size and (labels.min() < 0 or labels.max() >= classes):
            raise wrong("CTCLoss", "labels_values", f"classes in [0, {classes})", labels.tolist(), ArgumentMistake)
        if labels.size and (where_.min() < 0 or where_[:, 0].max() >= n or where_[:, 1].max() >= labels.size):
            raise wrong("CTCLoss", "labels_indices", f"rows of a sequence in [0, {n}) and the place of a label in it, without gaps",
                        where_.tolist(), ArgumentMistake)
        many = np.bincount(where_[:, 0], minlength=n)
        if not longer and (many > counted).any():
            raise wrong("CTCLoss", "labels_indices", f"at most as many labels of a sequence as it has steps, {counted.tolist()}",
                        many.tolist(), ArgumentMistake)

    return fitting


def ctc_greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return for each sequence the likeliest label of each step, without blanks; with `merge_repeated` equal neighbours are one.

    inputs           scores [steps, batch, classes], Float32 or Float64; the last class is the blank
    sequence_length  how many steps each sequence has, [batch], Int32

    The result is sparse: where each label stands, [labels, 2], number of the sequence and place in it; the labels, [labels]; the sizes of
    the table, [2], all Int64.  Last, for each sequence minus the sum of its largest scores, [batch, 1].
    """
    op = "CTCGreedyDecoder"
    scores, lengths = operand(op, inputs, "inputs"), operand(op, sequence_length, "sequence_length")
    merge = flag(op, "merge_repeated", merge_repeated)
    if scores.dtype not in (F32, F64):
        raise wrong(op, "inputs", "a Tensor of Float32 or Float64", scores, TypeError)
    if lengths.dtype is not I32:
        raise wrong(op, "sequence_length", "a Tensor of Int32", lengths, TypeError)
    if scores.ndim != 3 or not scores.shape[2]:
        raise wrong(op, "inputs", "of 3 dimensions, with at least 1 class", scores)
    steps, batch, classes = scores.shape
    if lengths.shape != (batch,):
        raise wrong(op, "sequence_length", f"of shape {(batch,)}", lengths)
    needs_values(op, "it has as many labels as are decoded")
    checked_on_host(index_check(op, "sequence_length", 0, steps + 1), lengths)
    here = apply(made(Iota, tensor(I64, (steps, 1)), 0)) < lengths.astype(I64)
    best = argmax(scores, 2)
    kept = logical_and(here, not_equal(best, classes - 1))
    if merge:
        before = framed(narrow(best, 0, 0, max(0, steps - 1)), ((min(1, steps), 0), (0, 0)), -1)
        kept = logical_and(kept, not_equal(best, before))
    by_sequence = permute(kept, (1, 0))
    places = cumsum(by_sequence.astype(I64), 1) - 1
    found = nonzero(by_sequence)
    rows = stack((found[:, 0], gather_nd(places, found)), 1)
    labels = gather_nd(permute(best, (1, 0)), found)
    longest = int(rows[:, 1].asnumpy().max(initial=-1)) + 1
    score = 0.0 - sum(where(here, amax(scores, 2), 0.0), 0)
    return rows, labels, Tensor([batch, longest], I64), reshape(score, (batch, 1))
