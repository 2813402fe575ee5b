"""Connectionist temporal classification (Graves et al. 2006)."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.types import I64, tensor
from adjoint.ops.arguments import ArgumentMistake, choice, flag, integer, operand, wrong
from adjoint.ops.arithmetic import isinf, logical_and, not_equal, stop_gradient, where
from adjoint.ops.creation import full
from adjoint.ops.logsums import logaddexp
from adjoint.ops.parts import concat, framed, narrow, unstack
from adjoint.ops.picking import gather_elements, indices_argument
from adjoint.ops.reduction import mean, sum
from adjoint.ops.shapes import broadcast_to, expand_dims, reshape, squeeze
from adjoint.runtime.tensor.run_time_checks import checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["ctc_loss"]


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """The negative logarithm of the probability that a sequence of classes is one of those which collapse to the targets.

    log_probs       [t, n, c], logarithms of probabilities
    targets         [n, s], classes other than `blank`; behind a target's length anything
    input_lengths   [n], how many steps of each sequence count
    target_lengths  [n]
    reduction       "none": [n]; "sum"; "mean": the mean of the losses divided by their targets' lengths, at least 1
    zero_infinity   whether a target that does not fit into its sequence has loss 0, not infinity

    Returns the loss and the logarithms of the forward probabilities [n, t, 2 s + 1], which have no gradient.  The gradient is that of the
    formula in log_probs.  TypeError for dtypes, ValueError for shapes, ArgumentMistake (a ValueError and a
    RuntimeError) for lengths that are too large and for targets that are no classes.
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
    checked_on_host(_check(steps, labels.shape[1], classes), labels, steps_held, held)
    labels, steps_held, held = (given.astype(I64, copy=False) for given in (labels, steps_held, held))

    # Blanks stand before, between and behind the labels: place 2 i + 1 has label i.
    width = 2 * labels.shape[1] + 1
    inside = apply(made(Iota, tensor(I64, (1, labels.shape[1])), 1)) < expand_dims(held, 1)
    shown = where(inside, labels, void)
    blanks = full((n, labels.shape[1], 1), void, dtype=I64)
    places = concat((reshape(concat((blanks, expand_dims(shown, 2)), 2), (n, width - 1)), full((n, 1), void, dtype=I64)), 1)
    given = gather_elements(x, 2, broadcast_to(expand_dims(places, 0), (steps, n, width)))
    nothing = constant(-math.inf, x.dtype)

    def behind(row: Tensor, count: int) -> Tensor:
        """What stands `count` places before each, and nothing before the first."""
        return framed(narrow(row, 1, 0, max(0, width - count)), ((0, 0), (min(count, width), 0)), -math.inf)

    number = apply(made(Iota, tensor(I64, (1, width)), 1))
    before = framed(narrow(places, 1, 0, max(0, width - 2)), ((0, 0), (min(2, width), 0)), void)
    skips = logical_and(not_equal(places, void), not_equal(places, before))  # a blank between two different labels may be left out
    alpha = where(number < 2, given[0], nothing)
    rows = [alpha]
    for t, emitted in enumerate(unstack(given)[1:], 1):
        reached = logaddexp(logaddexp(alpha, behind(alpha, 1)), where(skips, behind(alpha, 2), nothing)) + emitted
        alpha = where(expand_dims(steps_held > t, 1), reached, alpha)
        rows.append(alpha)
    last = expand_dims(held * 2, 1)
    ends = logaddexp(gather_elements(alpha, 1, last), where(last > 0, gather_elements(alpha, 1, where(last > 0, last - 1, 0)), nothing))
    losses = -squeeze(ends, 1)
    if zeroed:
        losses = where(isinf(losses), constant(0.0, x.dtype), losses)
    if kind == "mean":
        losses = mean(losses / where(held > 0, held, 1).astype(x.dtype))
    elif kind == "sum":
        losses = sum(losses)
    return losses, stop_gradient(concat([expand_dims(row, 1) for row in rows], 1))


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
