"""The ways in which a call of a function can run, the reasons for not taking a faster one, and the causes of graphs: three closed lists.

`jit_stats`, `ADJOINT_LOG=graphs`, `jit(fullgraph=True)` and `docs/how-a-call-runs.md` use these names.  Code that chooses a way names it by
an entry of `WAYS`, and what prevents a better one by an entry of `REASONS`.  A call that becomes a part of another function's graph is not
counted as a call.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CAUSES", "REASONS", "WAYS", "Cause", "Reason", "Way", "Why"]


class Way(NamedTuple):
    """One way in which a call of a function can run, as reports name it.

    name   its name
    whole  True if the call runs entirely as a graph, which `fullgraph=True` demands
    about  what happens
    """

    name: str
    whole: bool
    about: str


class Reason(NamedTuple):
    """A reason, for reports, why a call runs in some way and not in a faster one.

    name     its name
    said     the text for reports; `{}` is replaced by details of the call
    way_out  what a program can do about it; "" where nothing need be done
    """

    name: str
    said: str
    way_out: str = ""


class Why(NamedTuple):
    """A reason why a call ran in some way, with details of this call; `str` gives the text.

    reason  one of the list of reasons
    detail  replaces `{}` in the reason's text
    """

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return self.reason.said.replace("{}", self.detail)


class Cause(NamedTuple):
    """A cause for which a new graph of a function is made, as reports name it.

    name     its name
    about    when it applies
    way_out  how a program can avoid the graph; "" where nothing need be done
    parsed   True if the function is parsed for it
    """

    name: str
    about: str
    way_out: str = ""
    parsed: bool = True


# -- ways ------------------------------------------------------------------------------------------------------------------
ONE_FUNCTION = Way("one function", True, "One function checks the guards, launches the compiled pieces and makes the result.")
LOOKED = Way("with hooks that look", True, "The same, and forward hooks run between the pieces. After each one it is compared that it has "
             "changed nothing that the graph was made for.")
GRADIENT = Way("joint gradient", True, "The function and its gradient are one graph; no tape is kept.")
PIECES = Way("in pieces", True, "The optimised graph runs in compiled pieces, with a little Python around.")
PARSED = Way("as parsed", True, "The graph runs in compiled pieces, not optimised. Gradients in it are taken along a tape, as in eager "
             "mode.")
NEW_SIZE = Way("new size", True, "The graph for any size runs node by node, with the kernels of eager mode: a graph for a size that comes "
               "once would cost more.")
RECORDED = Way("on a tape", True, "Every node of the graph is recorded on the tape of a gradient that is taken around the call: after some "
               "calls by one call, where there are no branches, loops and hooks.")
COUNTED = Way("in parts, by count", True, "Values decide a size in the graph: what comes before it runs and counts, and what comes after "
              "it runs as a graph for any number.")
TWO_PARTS = Way("in two parts", False, "The graph runs up to some hook, and what comes after that as a graph of its own.")
PATH = Way("along the path", False, "Tensors decide what runs in the graph, and a hook may return anything: the graph runs node by "
           "node, and the value of each node is kept until the call ends.")
EAGERLY = Way("eagerly", False, "The function runs in the place of its graph, as in eager mode, and so do the functions and Cells that it "
              "calls.")
LEFT = Way("left the graph", False, "A hook has returned or changed something that the graph was not made for. The call goes on in the "
           "graph for that, from where it was; what had run before is run again, but for hooks and other effects.")

ONE_BY_ONE = Way("one by one", False, "What `vmap` or a Jacobian is made of runs in Python, for one example or one row after the other.")

WAYS = (ONE_FUNCTION, LOOKED, GRADIENT, PIECES, PARSED, NEW_SIZE, COUNTED, RECORDED, TWO_PARTS, PATH, EAGERLY, LEFT, ONE_BY_ONE)

# -- reasons ---------------------------------------------------------------------------------------------------------------
NONE = Reason("none", "")
FIRST_CALLS = Reason("first calls", "the function of the call is made after some calls")
WRITTEN = Reason("written argument", "an argument is written in place", "Return the new value.")
SHARED = Reason("perhaps shared", "a tensor from outside is written, and an argument may be the same one",
                "Make it a Parameter.")
RESULT = Reason("result", "Python makes its result, or takes its arguments apart", "")
CODE_OF_THE_USER = Reason("user's code", "{} runs in it")
NOT_OPTIMISED = Reason("not optimised", "{}")
WAITING_HOOK = Reason("waiting hook", "a hook waits on an argument or a Parameter for its gradient",
                      "Remove the hook when it has been called.")
RECORDED_AROUND = Reason("recorded around", "a gradient is taken of what calls it", "Put the call that takes the gradient under `jit` too.")
NEEDS_TAPE = Reason("needs a tape", "its gradient cannot be a part of the graph: {}")
SIZE_ONCE = Reason("size that came once", "these sizes have come for the first time")
HOOK_CHANGES = Reason("changing hook", "{} returns another value, or changes what the graph was made for",
                      "Let the hook return None where it changes nothing; keep a number that it changes in a Parameter.")
OFTEN_LEFT = Reason("left too often", "its hooks have made calls leave the graph {} times",
                    "Let the hooks return None where they change nothing.")
ALWAYS_CALLED = Reason("always called", "a forward hook is to be called even if a Cell raises", "Register it without `always_call=True`.")
NOT_OBSERVABLE = Reason("hooks cannot be observed", "{}")
COUNTS = Reason("counted size", "values decide a size in it, and {}", "Call what decides the size outside of the graph.")
RECORDED_WITH_HOOKS = Reason("recorded with hooks", "a gradient is taken of what calls it, and forward hooks run in it",
                             "Put the call that takes the gradient under `jit` too.")

PACKS = Reason("saved tensors", "hooks pack the tensors that gradients read, which only a tape knows",
               "Take the hooks away when nothing is to be seen: `saved_tensors_hooks` are for looking.")
NOT_PARSED = Reason("not parsed", "the function of one example is not run as a graph: {}")

REASONS = (NONE, FIRST_CALLS, WRITTEN, SHARED, RESULT, CODE_OF_THE_USER, NOT_OPTIMISED, WAITING_HOOK, RECORDED_AROUND, NEEDS_TAPE,
           SIZE_ONCE, HOOK_CHANGES, OFTEN_LEFT, ALWAYS_CALLED, NOT_OBSERVABLE, COUNTS, RECORDED_WITH_HOOKS, PACKS, NOT_PARSED)

# -- causes ----------------------------------------------------------------------------------------------------------------
FIRST = Cause("first call", "The function has no graph yet.")
TYPES = Cause("other types", "A tensor among the arguments has another dtype, rank or size.",
              "Give tensors of the same dtypes and ranks; pad those whose sizes Python needs to know.")
VALUE = Cause("other value", "An argument that is no tensor has another value, on which the graph depends.",
              "Pass a Tensor, or mark the value with `mutable`.")
STRUCTURE = Cause("other structure", "There are other arguments, or containers with other items.", "Give arguments of one structure.")
READ = Cause("something read", "A global name, an attribute or an object that the graph was made of has changed.",
             "Pass what changes as an argument, or keep it in a Parameter.")
GONE = Cause("something gone", "An object that the graph was made of has been freed.", "Make the object once, outside of the function.")
INPUT = Cause("changing number", "A float among the arguments has had several values: it is an input of the graph from now on.")
READ_AGAIN = Cause("changing attribute", "An attribute or a name has had several values: each run reads it from now on.")
SIZES = Cause("other sizes", "The graph for any size is specialised to sizes that have come again.", parsed=False)
COUNTED_ANOTHER = Cause("another count", "A size that values decide has a number that the graph was not made for: 0 or 1, or any one where "
                        "Python needs to know it.", "Compute with the size, and do not ask for it.")
HOOKED = Cause("hook", "A forward hook has returned something that no graph was made for.",
               "Let the hook return values of one type.")
DROPPED = Cause("dropped", "The graphs made before have been dropped, to keep within `program_cache_bytes`.",
                "Raise `program_cache_bytes` by `set_context`.")

CAUSES = (FIRST, TYPES, VALUE, STRUCTURE, READ, GONE, INPUT, READ_AGAIN, SIZES, COUNTED_ANOTHER, HOOKED, DROPPED)
