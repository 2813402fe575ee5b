"""The mistakes that the frontend finds in the user's functions: E200 to E239.

MindSpore raises built-in exceptions for them.  Where its manual or its compiler names one, the CompileError here is also an exception of
that type, such as TypeError, so that an `except` written for MindSpore still catches it.
"""

from __future__ import annotations

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN, CompileError, Diagnostic, Loc, Note, SourceText, compile_error
from adjoint.ir.errors import MISTAKES, Mistake

__all__ = [
    "BRANCHES_DIFFER", "CHANGED_OUTSIDE", "FROZEN_CALL", "LOOP_CHANGES", "MAYBE_UNASSIGNED", "NO_SOURCE", "NOT_A_CONSTANT", "NOT_IN_GRAPH",
    "NUMBER_RANGE", "ONE_OR_ANOTHER", "REGISTERED_INSIDE", "RETURNS_DIFFER", "SAME_NAME", "SOURCE_CHANGED", "STORED_TENSOR", "TOO_DEEP",
    "UNSUPPORTED", "VALUE_NEEDED", "GraphMistake", "at_call", "moved", "with_article", "written_under_two_names",
]


@dataclass(frozen=True, slots=True)
class GraphMistake(Mistake):
    """Describes one kind of mistake in a function under `jit` or in GRAPH_MODE, with its code, title and explanation.  Code that finds such
    a mistake calls `at`, and raises the result.

    kinds  the built-in exceptions of which its CompileError is also an instance
    """

    kinds: tuple[type[Exception], ...] = ()

    def at(self, loc: Loc, label: str, source: SourceText | None = None, *, notes: tuple[Note, ...] = (), help: str = "",
           kind: type[Exception] | None = None) -> CompileError:
        """Return the CompileError for this mistake at a place in the user's program.  The caller raises it.

        loc     the place: file, line and columns
        label   the message shown at that place
        source  the text that the place refers to, if it is not a file
        notes   further messages, each with a place of its own
        help    the advice: what to write instead
        kind    the built-in exception type, if it depends on the case; otherwise `kinds` are used
        """
        return compile_error(self.kinds if kind is None else (kind,))(Diagnostic(self.code, self.title, label, loc, notes, help, source))


def with_article(noun: str) -> str:
    """Return a noun with "a" or "an" before it, for a message."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def moved(mistake: CompileError, loc: Loc) -> CompileError:
    """Return a CompileError that has the place `loc` in the user's program.  If it already has a place, it is returned unchanged."""
    found = mistake.diagnostic
    if found.loc != UNKNOWN:
        return mistake
    return type(mistake)(Diagnostic(found.code, found.title, found.label, loc, found.notes, found.help, found.source))


def at_call(mistake: CompileError, loc: Loc, function: str, package: str) -> CompileError:
    """Return the CompileError to raise for a mistake that was found inside of an installed package.  It shows the user's call of the
    package's function, and the place inside as a note.

    loc       the place of the user's call
    function  the name of the called function
    package   the name of the package
    """
    found = mistake.diagnostic
    return type(mistake)(Diagnostic(
        found.code, found.title, f"`{function}` of {package} cannot become part of a graph", loc,
        (Note(found.label, found.loc), *found.notes),
        "call it outside the function, and pass the result as an argument"))


def written_under_two_names(loc: Loc, *, from_outside: bool) -> CompileError:
    """Return the error for an argument that is written in place and can also be reached in a second way, so that a graph cannot keep the
    two apart.

    loc           the place of the write in the user's program
    from_outside  True if the second way is a tensor from outside of the function; False if the same tensor was passed twice
    """
    what = "a tensor is written in place that is an argument, and is read or written as one from outside, too" if from_outside \
        else "an argument is written in place, and the same tensor is given twice"
    return ONE_OR_ANOTHER.at(loc, what, help="give a copy: `x.copy()`")


def _mistake(code: str, title: str, explanation: str, *kinds: type[Exception]) -> GraphMistake:
    if code in MISTAKES:
        raise ValueError(f"there are two mistakes called {code}")
    made = MISTAKES[code] = GraphMistake(code, title, explanation, kinds)
    return made


NO_SOURCE = _mistake("E200", "no source", """
A function under `jit` or in GRAPH_MODE is parsed from its source text, where Python keeps it: in a file, in a cell of a notebook or
of IPython, at the prompt of Python 3.13. There is no source for code that is typed at the prompt of an older Python, made by `exec`,
or written in another language.

Write it as a `def` or a lambda in a file. If you make functions from text, put the text into `linecache.cache`, under the name that
you pass to `compile`.
""")

SOURCE_CHANGED = _mistake("E201", "the source has changed", """
The file was edited after the function was imported: the text that would be parsed is not what Python runs. Import the
module again, or restart the program.
""")

UNSUPPORTED = _mistake("E202", "not part of the language of graphs", """
`docs/language.md` lists what is parsed. Not supported are, among others: `try`, `with` except for `_no_grad()` and objects
of your own classes, `yield`, `async`, `class` inside of a function, `del` of an attribute. The message says what to write instead.
Put code that only prepares data outside of the function under `jit`. Code that must run in Python at each call can be a hook.
""", RuntimeError)

VALUE_NEEDED = _mistake("E203", "the number in a tensor is not known while parsing", """
Under `jit` a tensor has a dtype and a shape while its function is parsed, but no numbers: these exist only when the graph runs.
So they cannot determine the graph: as the size of a list, as a key of a dict, in NumPy.

    n = int(x.sum())          # fine: a number that is known at run time
    zeros = [0] * n           # E203: how long is the list?

Use tensor operations (`ops.where`, `ops.select`, indexing by a tensor), an `if`, `for` or `while` on the tensor, or compute
the number outside and pass it as an argument: Python numbers among the arguments are constants of the graph.
""")

BRANCHES_DIFFER = _mistake("E204", "the branches of an `if` differ", """
If the condition of an `if` is a tensor, both branches become part of the graph, and a name that both assign must have one type after it.

    if x.sum() > 0:
        y = x                 # f32[3]
    else:
        y = x.sum()           # f32: E204

Convert both to one shape and dtype, or use different names. A graph can choose between tensors and between numbers, not between other
Python objects: strings, functions, lists of different lengths.
""", TypeError)

LOOP_CHANGES = _mistake("E205", "a value changes its type in a loop", """
If the number of iterations depends on a tensor, each name that the loop assigns must have one type before, in and after it.

    y = 0
    while y.sum() < limit:
        y = y + x             # E205: `y` is a Python number before the loop and f32[3] in it

Begin with a value of the final type: `y = ops.zeros_like(x)`. A list cannot become longer in such a loop: write the rows of a tensor
(`y[i] = x`), or loop over a range of known length.
""", TypeError)

RETURNS_DIFFER = _mistake("E206", "a function returns values of different types", """
If it depends on a tensor which `return` is reached, all of them must return the same structure, dtypes and shapes: the graph has one
type of result. A function without a `return` on some path returns None there. Only the function under `jit` itself may return
a value on some paths and None on the others.
""", TypeError)

MAYBE_UNASSIGNED = _mistake("E207", "a name may have no value", """
The name is assigned in only one branch of an `if` on a tensor, or only in the body of a loop on a tensor, and is used afterwards.
Python would raise UnboundLocalError on the other path; a graph cannot. Give it a value before.
""", UnboundLocalError)

FROZEN_CALL = _mistake("E208", "a call that a graph would freeze", """
Parsed code calls functions of this library, your own functions, and functions of Python and NumPy whose result depends on their
arguments only. Others (`time.time`, `random.random`, `open`, `input`, those of a C extension) would be called once, while the graph is
built, and the graph would use that first result at every call. A function under `functools.lru_cache` or `cache` keeps results that it has
computed from what it read in other calls: what the graph would compute anew may differ.

Call it outside and pass the result as an argument; a Tensor or `mutable(number)` does not make a new graph for each value. Of a function
that keeps its results, `function.__wrapped__` is the one that computes them.

A Cell that parsed code makes has initial values which are drawn at each call. A gradient by its Parameters would train what is gone after
the call: make the Cell outside, once.
""")

STORED_TENSOR = _mistake("E209", "a tensor of a graph is stored where Python would see it", """
`self.y = x` writes the attribute when the graph runs, and so do assignments of global names and of names of an enclosing function. What is
assigned may be a tensor, a number, a string, or a tuple, a list or a dict of these. Another object that holds a tensor of the graph (a
set, a deque, an instance of your own class, a list of the caller's) cannot be assigned. Nor can a tensor be added to a list or an array
from outside: each call would need a graph of its own. It can take the place of another tensor, and be put into a dict.

    self.seen = {x}           # E209: write `self.seen = [x]`
    history.append(loss)      # E209: return the loss, and append it outside
    self.memory[0] = h        # is written in each call
    self.cache["key"] = h     # is written in each call

A Cell that the body itself makes can keep Python values, Cells and Parameters only.
""", TypeError)

KEPT = "assign a tensor, a number, or a tuple, a list or a dict of these that the function makes; or return it"
"""The advice for a value that a graph cannot store in an attribute or a name."""

REGISTERED_INSIDE = _mistake("E210", "a hook is registered on something that outlives the graph", """
`x.register_hook(f)` on a tensor that the parsed function computes, or on its argument, means the same as in eager mode. Registering on a
Cell, a Parameter or a tensor from outside would add a hook at each call: do it outside of the function.
""", RuntimeError, ValueError)

TOO_DEEP = _mistake("E211", "calls are nested too deep", """
A function calls itself infinitely while it is parsed, or more deeply than `set_context(max_call_depth=...)` allows. The depth of a
recursion must depend on Python values only; if it depends on a tensor, write a loop.
""", RecursionError)

NOT_IN_GRAPH = _mistake("E212", "a value is used where it does not exist", """
A tensor that was made inside a branch or a loop on a tensor was stored in an object or a list of the outer program, and is
used outside, where it may not exist. Assign it to a name instead, on every path. A tensor that was stored while one graph was
made does not exist in another graph, nor in Python: return it.
""")

NOT_A_CONSTANT = _mistake("E213", "not a constant", """
This value must be known while the function is parsed: a Python number, a string, a list of known length. Examples are
the step of a range with a `break`, the name in `getattr`, the `sep` of a `print`.
""")

NUMBER_RANGE = _mistake("E214", "a run-time number is not of the kind that its graph has", """
A run-time number is an int of 64 bits, a double or a bool, and its kind is fixed while parsing. Python's ints are unlimited, and the type
of `2 ** n` depends on the sign of `n`. If the result does not fit the kind, this error is raised in place of a wrong number. It is also
raised if one branch has a number, the other a tensor, and the tensor's dtype cannot hold the number: 300 and a tensor of uint8.

Compute the number outside and pass it as an argument, or compute with floats (`2.0 ** n`); give both branches a tensor of a wider dtype.
""")

ONE_OR_ANOTHER = _mistake("E215", "it is not known which object is written", """
A name may refer to one of several objects, selected by a tensor. Writing in place to it (`y[0] = ..`, `y += ..` of a list,
`y.append(..)`) would change one of them, and all other names of that object.

    y = a if x.sum() > 0 else b
    y[0] = 1                  # E215: is `a` written, or `b`?

Write into a copy (`y = y.copy()`), or write in both branches. The same holds if the one that is written is a Parameter, and `y` may be it:

    y = max(self.b, x)
    ops.assign(self.b, x)     # E215: `y` has the new value too if it is `self.b`

Take a copy first: `y = max(self.b, x).copy()`.
""")

SAME_NAME = _mistake("E216", "two parameters of a net have one name", """
Checkpoints and optimisers identify the Parameters of a net by name, and two that the net reads have the same name:

    self.a, self.b = Parameter(x, name="w"), Parameter(y, name="w")

Give them different names; `net.check_names_and_refresh_name()` names all Parameters of a net after their attributes. One Parameter may be
read in many places, and Parameters of different nets may have the same name.
""", RuntimeError)

CHANGED_OUTSIDE = _mistake("E217", "something outside of the function is changed", """
A graph is made once and runs at each call. Assignments of attributes, global names and names of an enclosing function are part of it: each
run makes them. Any other change of a Python object would happen only once: of lists, dicts and arrays that are reached from a name, an
object or an argument; by `del`; by methods that are not parsed; of attributes whose class has a `__setattr__` of its own.

    self.calls += 1           # each run writes the attribute
    history.append(2)         # E217, where `history` is a global name
    self.sizes = [2, 3]       # E217: the list belongs to one call. Write `self.sizes = (2, 3)`

Return the new value, and change the object outside of the function. The body may change objects that it makes, and a change that is undone
before the function returns is allowed.
""", TypeError)

NOT_WHOLE = _mistake("E218", "a call does not run whole", """
A function under `jit(fullgraph=True)` is called in a way in which the graph alone does not do the call: forward hooks stand where they may
return anything, or one has returned or changed something that the graph was not made for. The message says which, and what can be done.
`jit_stats` of the function without `fullgraph=True` counts such calls; they mean the same, and take longer.
""", RuntimeError)
