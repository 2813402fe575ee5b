"""The schedule: for each purpose, the passes that run, their order and the reasons.  All code that runs passes takes them from here.

    OPTIMISED.run(module)                      a module after the passes
    FUSED.on(function, accept=accept)          a function; an option that is not text is given to the pass that has it
    GRADIENT.pipeline(wrt=("x",), of="f")      the pipeline itself

Gradients come before all passes that merge or move computations: a gradient of their result would be summed in another order.  Cells with
hooks keep their regions until gradients are expanded; then their callbacks are nodes of the adjoint.  `docs/architecture.md` prints the
table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, Final

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Function, Module
from adjoint.passes.autodiff import pullback
from adjoint.passes.differentiate import forward_and_adjoint, without_batches
from adjoint.passes.escapes import with_escapes
from adjoint.passes.forward import pushforward, without_hooks
from adjoint.passes.inline import inlined
from adjoint.passes.manager import Observer, Pass, Pipeline
from adjoint.passes.specialize import Inferences

__all__ = [
    "EXPANDED", "FUSED", "FUSED_LIBRARY", "GRADIENT", "LATER_KERNELS", "LIFTED_GRADIENT", "OPTIMISED", "PARTS", "SCHEDULES", "SCORES",
    "SIZED", "STANDALONE", "STANDALONE_BATCHES", "UNFUSED", "UNRECORDED", "WITHOUT_ALGEBRA", "LoneStep", "Schedule",
]


@dataclass(frozen=True)
class Schedule:
    """A fixed list of passes for one purpose; all code that runs passes uses one of the schedules of this module.

    purpose  what comes out of the passes
    passes   the text of the pipeline, for `Pipeline.parse`
    when     who runs them, and when
    why      the reason for these passes in this order
    """

    purpose: str
    passes: str
    when: str
    why: str

    def pipeline(self, /, **options: Any) -> Pipeline:
        """Return the passes, ready to run.

        options  options by name; each is set on the passes that have it.  TypeError for one that no pass has
        """
        pipeline = _parsed(self.passes)
        if not options:
            return pipeline
        left = set(options)
        passes: list[Pass] = []
        for step in pipeline.passes:
            own = {f.name: options[f.name] for f in fields(step) if f.name in options}
            left -= own.keys()
            passes.append(replace(step, **own))
        if left:
            raise TypeError(f"none of the passes {self.passes} has the option {', '.join(sorted(left))}")
        return Pipeline(tuple(passes))

    def run(self, module: Module, observers: Sequence[Observer] = (), /, **options: Any) -> Module:
        """Apply the passes to a module, and return the result.

        observers  functions that are called before the first pass and after each one
        options    as for `pipeline`
        """
        return self.pipeline(**options).run(module, observers)

    def on(self, function: Function, /, **options: Any) -> Function:
        """Apply the passes to one function, and return the result; the passes must not need a module.

        It is the same object if no pass changes anything.
        """
        for step in self.pipeline(**options).passes:
            function = step.on_function(function, _NO_MODULE)
        return function


@cache
def _parsed(text: str) -> Pipeline:
    """Make a pipeline from its text.  Each text is parsed once, since parsing takes nearly as long as optimising a small graph."""
    return Pipeline.parse(text)


_NO_MODULE: Final = Module({}, {}, {})

OPTIMISED: Final = Schedule(
    "the optimised graph, as it is shown",
    "inline,differentiate,inline{plain=true},simplify,hoist,cse,dce{failing=true}",
    "`dump-ir --stage optimised`, `save_graphs`",
    "Calls first, so that a gradient finds all that it goes through. Then gradients. Then cells without hooks, since algebra and merging "
    "find more in one body. What comes before a loop may be equal to what is there. What may fail stays.",
)
UNRECORDED: Final = Schedule(
    "a graph that runs while nothing is recorded",
    "inline,differentiate,inline{cells=true},unhook,simplify,hoist,cse,row-sums,dce{failing=true},early-steps",
    "`optimising.optimised_alike`, when a graph is first run, if it decides that eager mode gives the same; for any size as well",
    "As above. No gradient is taken any more: cells with hooks are unpacked, and marks for gradients go, so that they hide nothing from "
    "algebra. Sums of rows are found in what algebra leaves. Optimisers' steps move last.",
)
WITHOUT_ALGEBRA: Final = Schedule(
    "the same where a branch decides which tensor Python is given",
    UNRECORDED.passes.replace("simplify,hoist,cse,row-sums,", "hoist,"),
    "`optimising.optimised_alike`, if algebra makes one tensor of two, or choices are too many to be listed",
    "Without the passes that may make one value of two.",
)
SCORES: Final = Schedule(
    "its plan, and for a new size that plan again",
    "attend",
    "`runtime/graphs/running/`, when an optimised graph is planned; left out if a parameter is written before it is read again",
    "Last, when all sizes are numbers: it depends on them whether scores are large.",
)
SIZED: Final = Schedule(
    "a graph for some sizes, from one for any size",
    "specialize",
    "`runtime/graphs/` and loaded texts, for sizes that come for the first time",
    "A graph for any size is parsed, differentiated and optimised already. Of its optimised form `Inferences` makes the same, faster.",
)
FUSED: Final = Schedule(
    "the fused tier",
    "expand,choices,bundle,unroll,fuse",
    "`runtime/execution/tiers.py`, after three runs of a graph, an adjoint or a text; `dump-ir --stage plan`",
    "On the function of a plan, after all else: what is fused is not taken apart again. Moments become their steps first. "
    "Nodes on a few numbers are grouped before nodes over the same elements, since these are then left out. "
    "A kernel that the compiler refuses is not accepted in a second run.",
)
FUSED_LIBRARY: Final = Schedule(
    "a function of the library, as eager mode calls it",
    "expand,fuse",
    "`runtime/execution/fusible_calls.py`, after two calls of the function with the same types",
    "As above, but its kernels serve tensors of all sizes. A kernel without loops serves one size, and would be compiled again for each.",
)
GRADIENT: Final = Schedule(
    "a gradient as a function",
    "grad,dce",
    "`dump-ir --stage adjoint`, and what it shows of the C",
    "The forward copy keeps only what the adjoint and the results use.",
)
LIFTED_GRADIENT: Final = Schedule(
    "the same by a parameter that the function writes",
    f"lift-state,{GRADIENT.passes}",
    "the same",
    "A parameter that is written has several values; as an argument it has one, by which the gradient is taken.",
)
EXPANDED: Final = Schedule(
    "a module without gradients inside of its functions",
    "differentiate",
    "loaded texts that take gradients; the kernels of `dump-ir --stage c` and `save_graphs`",
    "The rest stays as it was written.",
)
LATER_KERNELS: Final = Schedule(
    "the kernels that come after some runs",
    f"{SCORES.passes},{FUSED.passes}",
    "`dump-ir --stage c`, `save_graphs`",
    "In the order in which a graph meets them: scores when it is planned, fusing after some runs.",
)
UNFUSED: Final = Schedule(
    "a module without fused nodes",
    "inline",
    "loaded texts that have some",
    "They are fused again where the text runs, once it has run some times.",
)
STANDALONE_BATCHES: Final = Schedule(
    "exported C for batches of several sizes",
    UNRECORDED.passes.replace("inline{cells=true}", "inline{cells=true, rules=true}").replace("early-steps", "early-steps{all=true}"),
    "`export` with `max_batch`",
    "As for a graph that runs. Functions with gradients of their own are inlined too, once the gradients in the function are taken. "
    "All steps of optimisers come early: there is little memory, and launches are calls.",
)
STANDALONE: Final = Schedule(
    "exported C",
    f"{STANDALONE_BATCHES.passes},choices,bundle,unroll{{short=true}}",
    "`export`, and `dump-ir --stage c --standalone`, there also for the gradient after the passes above",
    "As above. Then what is computed with a few numbers becomes statements without loops, which serve one size.",
)

SCHEDULES: Final = (
    OPTIMISED, UNRECORDED, WITHOUT_ALGEBRA, SCORES, SIZED, FUSED, FUSED_LIBRARY, GRADIENT, LIFTED_GRADIENT, EXPANDED, LATER_KERNELS,
    UNFUSED, STANDALONE_BATCHES, STANDALONE,
)
"""All schedules, in the order of the printed table."""


@dataclass(frozen=True)
class LoneStep:
    """A transformation in this package that is not a pass: it works on a part of a function, or returns more than a function, so others
    call it directly.

    function  the function
    when      who calls it, and when
    why       the reason why it is not a pass there
    """

    function: Callable[..., Any]
    when: str
    why: str


PARTS: Final = (
    LoneStep(with_escapes, "a graph when it is parsed (`runtime/graphs/lowering/`), and a recorded path (`runtime/gradients/assembly.py`)",
         "It completes a region before there is a function: what is used outside of a cell becomes a result of it."),
    LoneStep(without_batches, "a graph when it is parsed (`runtime/graphs/lowering/`)",
         "It also tells which cell each cell of the copy comes from. Gradients outside of batches and tangents stay: a run decides how "
         "they are taken."),
    LoneStep(pullback, "a recorded path, after that (`runtime/gradients/assembly.py`): the gradients of eager mode",
         "A path is straight-line code in the order of eager mode, and its values stay as they are: it is swept backwards, and dead code "
         "goes."),
    LoneStep(pushforward, "a recorded path (`runtime/gradients/assembly.py`): `jvp` in eager mode",
         "As `pullback`, in forward mode: the tangents read the values of the path."),
    LoneStep(without_hooks, "a recorded path with a `bprop`, for `jvp`; a function whose columns a graph asks for, before it is judged",
             "The gradient of a pullback is a derivative in forward mode, which calls no hooks on gradients."),
    LoneStep(forward_and_adjoint, "`adjoint explore --run` (`explorer/running.py`)",
             "It differentiates by all values in a function; the pass `grad` differentiates by arguments and parameters."),
    LoneStep(inlined, "a graph before `optimised_alike` (`runtime/graphs/running/`)",
         "The user's code is looked for in the function with its calls inlined, and sums and hooks are judged in it."),
    LoneStep(Inferences, "a graph for any size, node by node or for a size that comes again (`runtime/graphs/`)",
         "It does what `specialize` does for each size, without walking the function each time."),
)
"""All functions of this package that other packages call directly (see `LoneStep`), in the order of the printed table.

Besides these, other modules call only functions of this package that decide or show something.
"""
