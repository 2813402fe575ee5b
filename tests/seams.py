"""The seams through which tests plant mistakes in the product, to see that they are found.

Each is a boundary that the product has anyway: a table from which it takes what it does, or a public method by which one part asks another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from adjoint.codegen import recipes
from adjoint.codegen.standalone.memory import ValueLayout
from adjoint.foundation import ownership
from adjoint.ir.ops.arithmetic import Mul, Sub
from adjoint.ir.ops.fused import FusedKernel
from adjoint.passes import dce, fuse, optimising
from adjoint.runtime.execution import buffers
from adjoint.runtime.execution.bound_plan import BoundPlan
from adjoint.runtime.gradients.trie import CellCall
from adjoint.runtime.graphs.guards.objects import HookSlots
from adjoint.runtime.graphs.running import observed_runs, repetition
from adjoint.runtime.graphs.running.observed_hooks import Look
from adjoint.runtime.graphs.running.observed_runs import ObservedRun, RecordableRun, UnrecordedRun
from adjoint.runtime.graphs.running.repetition import Repetition
from adjoint.runtime.graphs.running.two_parts import HeadAndTail
from adjoint.runtime.memory.machine import Machine

__all__ = ["SEAMS", "plant"]

SEAMS: dict[str, tuple[Any, str]] = {
    "passes of a graph": (optimising, "ATTEMPTS"),  # the schedules by which graphs are optimised
    "condition on sums": (optimising.CONDITIONS, "sums"),  # whether they are: gradients are summed as in eager mode
    "condition on arguments": (optimising.CONDITIONS_AFTERWARDS, "arguments"),  # Python is given new tensors as in eager mode
    "nodes that must stay": (dce, "must_stay"),  # though nothing uses their results
    "levels of nodes": (fuse.Stretch, "levels"),  # which nodes one kernel may compute
    "fused kernel": (FusedKernel, "of"),  # the steps and results of a kernel, from the region of a fused node
    "C of sub": (Sub, "scalar"),
    "C of mul": (Mul, "scalar"),
    "recipes": (recipes, "families"),  # the table of kernels for all sizes
    "end of a value in C": (ValueLayout, "is_dead"),  # after which its memory in an exported function is another's
    "part of an arena": (buffers.Arena, "take"),  # which bytes a value of a plan gets
    "allocator": (Machine, "allocator"),  # the memory of each run of a plan
    "holders": (ownership, "holders"),  # who else holds memory that may be written in place
    "guard on hooks": (HookSlots, "read"),  # which slots of a cell are filled
    "form of a plan": (BoundPlan, "use"),  # a plan gets the steps of its next tier
    # Runs of graphs whose hooks are expected to look only:
    "run is as it was": (RecordableRun, "is_as_it_was"),  # whether a hook has done more, where a gradient is taken
    "unrecorded run is as it was": (UnrecordedRun, "is_as_it_was"),  # the same where none is
    "tail is as it was": (HeadAndTail, "is_as_it_was"),  # whether the second part of a graph may run as a whole
    "conditions of a call": (Look, "write"),  # the same in the written code of a call
    "departure": (ObservedRun, "depart"),  # what a hook has returned decides whether the run goes on along the path
    "repeated run": (ObservedRun, "repeat"),  # the part of a run up to a hook is done again on a tape
    "log of a head": (RecordableRun, "again"),  # the same for the first part of a graph
    "places of values": (observed_runs, "places_of"),  # which values are which objects
    "hooks of a call": (CellCall, "latest"),  # the last hook that takes part in a call of a cell
    "steps of a repetition": (repetition, "makers_of_repetition"),
    "answers of hooks": (repetition, "answer_of"),  # which hooks have answered what
    "kept tensors": (Repetition, "same"),  # a tensor that a hook has kept is that of the repetition, with a tape
    "kept tensors in a log": (Repetition, "shown_in"),  # and without
}


def plant(patch: pytest.MonkeyPatch, seam: str, change: Callable[[Any], Any]) -> None:
    """Replace what is at a seam by what `change` makes of it."""
    holder, name = SEAMS[seam]
    if isinstance(holder, dict):
        patch.setitem(holder, name, change(holder[name]))
    else:
        static = isinstance(vars(holder).get(name), staticmethod)
        made = change(getattr(holder, name))
        patch.setattr(holder, name, staticmethod(made) if static else made)
