"""Writes the generated pages: `make docs`.  A test holds each against what it is made of.

    ops.md            from the docstrings of the ops
    errors.md         from the pages that `adjoint explain` prints
    settings.md       from the table of settings
    compatibility.md  from the table of paths, the decision on differences, and what was found of calls (compared.json), examples
                      (examples.json) and models (collections.json)
    how-a-call-runs.md  by ways.py: from the lists of ways, reasons and causes, and from runs of a program for each way
    architecture.md   in part, by architecture.py: packages, their order, the schedule of passes, and the functions that three calls pass
    declarations.py   by declarations.py: how Python calls the run-time library
    *.pyi             by stubs.py: the functions, Primitives and methods that are made from the classes of ops
"""

from __future__ import annotations

import inspect
import json
import runpy
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from adjoint.cli.explain import MISTAKES
from adjoint.codegen.accuracy import ULP
from adjoint.compat import out_of_scope, paths
from adjoint.foundation.settings import SETTINGS
from adjoint.ir import ops
from adjoint.ir.errors import Mistake
from adjoint.ir.op import Op, registry
from adjoint.ir.ops.control import RegionOp
from adjoint.ir.ops.reduce import rounding_steps

PARTS = (
    (100, 120, "The text of the IR", "Errors of the parser, in a `.ir` file or a string."),
    (120, 140, "The graph", "Errors of the verifier, in a graph that was built or changed, for example by a pass."),
    (140, 160, "Passes and gradients", "Errors of passes, including those that take gradients."),
    (160, 200, "C", "Errors of code generation."),
    (200, 1000, "Functions under `jit` and in GRAPH_MODE", "Errors while a function is parsed and while its graph runs. Where "
     "MindSpore raises one of Python's exceptions, the error is of that type as well, so `except` catches it by either name. "
     "[language.md](language.md) says what such a function may contain."),
)
"""Codes from, and up to, with title and sentence."""


def float_errors() -> str:
    """The section on errors of floats, with the numbers that the kernels are built and tested with."""
    rows = "\n".join(f"| {name} | {ULP[name, 'f32']:g} | {ULP[name, 'f64']:g} |" for name in sorted({name for name, _ in ULP}))
    steps = ", ".join(f"{rounding_steps(n)} for n = {n}" for n in (10, 2048, 10**6, 10**9))
    return ERRORS.format(rows=rows, steps=steps)


ERRORS = """\
## Errors of floats

**Functions.** The largest error, in units in the last place of the exact result, of the functions that `ops` and `Tensor` have under
these names, for every argument: large, small, subnormal, of either sign. `add`, `sub`, `mul`, `div`, `sqrt`, `fmod` and comparisons are
exact but for the rounding of their result. Two-byte floats are computed in float32 and rounded once more: 0.501 units.

| | float32 | float64 |
|---|---|---|
{rows}

Functions of several steps (`silu`, `mish`, `gelu`, `selu`, `softsign`, `tanhshrink`, `%`, ...) have the errors of their steps:
`tanhshrink(x)`, x - tanh(x), is off by some units in the last place of x, not of its small result; `silu(x)`, where sigmoid(x) is
subnormal, by |x| times the least subnormal number.

**Sums.** A sum of n floats differs from the exact one by less than s(n) * u * (the sum of their sizes), where u is half the distance
from 1 to the next number, 2**-24 for float32, and s(n) counts roundings: {steps}.
Blocks of 2048 elements that lie side by side, or of 64 rows, are added, and their totals combined as a balanced tree. It holds along
any axis, for `mean`, for the sums in `softmax` and losses, for gradients of biases and of what was broadcast. Where a sum has two
stages, over axes that are not neighbours or, in `batch_norm`, over an image and then the batch, s of both adds up. Two-byte floats are
added in float32. `cumsum` adds in order: n * u. The order depends on the shape alone: the bits are the same for any number of threads.

**Products of matrices.** An element over k terms differs from the exact one by less than (min(k, 512) + k / 512 + 1) * u * (the sum of
the sizes of its terms): chains of 512 multiplications and additions, added in order. An element of a convolution, of its gradient by the
images and of its gradient by the filters differs by less than t * u * (the sum of the sizes of its terms), where t counts the terms:
channels times taps, for the filters images times places. How the places are cut depends on the shape alone, too.

**Determinants, inverses, eigenvalues and singular values** are computed in float64, also of float32, of complex matrices in complex128, and
rounded once. Eigenvalues are those of a matrix that differs by a few times n * u times its largest element. An inverse in float64 is off
by a few times u times the condition number times its largest element; a singular value by a few times max(m, n) * u times the largest
one, small ones of columns of different sizes by less. `det` overflows only where the determinant does, `logdet` only where elements
are close to the largest number. A matrix is singular if elimination ends with a pivot of exactly 0. If rounding leaves a tiny pivot in
place of 0, the inverse has very large numbers.

Without a C compiler NumPy computes: sums in float64, rounded once, functions with its own errors.
"""


def ops_page() -> str:
    """The text of ops.md."""
    lines = [
        "# The ops",
        "",
        "Generated from the ops' docstrings by `make docs`; `T` is an element type, `T[s]` a tensor of it of shape `s`,",
        "`ct` the cotangent of the result. [ir.md](ir.md) describes the text of the IR, and [adding-an-op.md](adding-an-op.md) how to",
        "add an op. Below an op's name are the functions, objects and methods that are this op; others are made of several.",
        "",
        float_errors(),
    ]
    for module in ops.__all__:
        found = [op for op in registry().values() if op.__module__.rpartition(".")[2] == module]
        if not found:
            continue
        title = (inspect.getmodule(found[0]).__doc__ or "").strip().splitlines()[0]
        lines += [f"## {module}", "", title, ""]
        for op in found:
            attributes = ", ".join(op.attributes())
            lines += [f"### {op.name}", "", *_called(op), "```", f"{op.name}{f'  attributes: {attributes}' if attributes else ''}", "",
                      op.documentation(), "```", ""]
    looped = [f"`{name}`" for name, op in sorted(registry().items()) if op.batch is Op.batch and not issubclass(op, RegionOp)]
    lines += ["## In a batch", "",
              "These have no rule of their own under [`vmap`](transformations.md): a loop over the examples runs them.", "", _lines(looped),
              ""]
    return "\n".join(lines)


def _called(op: type[Op]) -> list[str]:
    """The names of an op for users, from its class."""
    names: list[str] = []
    for public in op.publics():
        names += [f"ops.{public.signature}", *(f"ops.{name}" for name in public.function_names[1:])]
        names += [f"ops.{name}" for name in public.primitive_names(op)] + [f"Tensor.{name}" for name in public.method_names]
    return [_lines(f"`{name}`" for name in names), ""] if names else []


def errors_page() -> str:
    """The text of errors.md."""
    lines = [
        "# Errors by their codes",
        "",
        "Generated by `make docs` from the pages that `adjoint explain CODE` prints. An error with a code is an `adjoint.CompileError`;",
        "its message shows the line with a caret and says what to do, and `error.diagnostic` has code, location, notes and help as data.",
        "Operators that are called with wrong arguments raise Python's own types, `TypeError`, `ValueError`, and so on, without a code:",
        "their messages name the operator and the argument, and say what was expected and what was given. An `adjoint.InternalError` is",
        "a bug in this library: please report it.",
        "",
        "The traceback of an uncaught error shows the frames of your program only; `ADJOINT_FULL_TRACEBACK=1` shows all frames.",
        "",
    ]
    for first, end, title, sentence in PARTS:
        lines += [f"## {title}", "", sentence, ""]
        for code, mistake in sorted(MISTAKES.items()):
            if first <= int(code[1:]) < end:
                lines += [f"### {code}: {mistake.title}", "", *_kinds(mistake), mistake.explanation.strip(), ""]
    return "\n".join(lines)


def _kinds(mistake: Mistake) -> list[str]:
    kinds = [f"`{kind.__name__}`" for kind in getattr(mistake, "kinds", ())]
    return [f"It is also of type {' and '.join(kinds)}.", ""] if kinds else []


def settings_page() -> str:
    """The text of settings.md."""
    lines = [
        "# Settings",
        "",
        "Generated by `make docs` from `adjoint/foundation/settings.py`. `adjoint doctor` shows the values on this machine, and where they",
        "come from; in a program `adjoint.runtime.process.context.in_force()` returns them. `set_context` takes precedence over the",
        "environment, which is read when a setting is first needed. `set_context` accepts MindSpore's other settings with one",
        "warning.",
        "",
        "| `set_context` | environment | values | default | what it does |",
        "|---|---|---|---|---|",
    ]
    for setting in SETTINGS:
        names = (f"`{name}`" if name else "" for name in (setting.context, setting.variable))
        lines.append(f"| {' | '.join([*names, setting.values, setting.default, setting.about])} |")
    return "\n".join([*lines, ""])


PLACES = (
    "mindspore", "nn", "nn.probability.distribution", "nn.probability.bijector", "ops", "numpy", "mint", "mint.nn", "mint.nn.functional",
    "mint.optim", "mint.linalg", "mint.special", "mint.distributed", "train", "amp", "common.initializer", "common.dtype", "context",
    "communication", "dataset", "dataset.audio", "dataset.transforms", "dataset.vision", "dataset.text", "parallel", "runtime",
    "mindrecord", "scipy.linalg", "scipy.optimize",
)
"""The public modules on the page, in this order."""
COMPATIBILITY = """\
# What of MindSpore 2.10 is here

Generated by `make docs` from the table of paths, which is recorded from MindSpore {version}. A supported name can be imported from
every module that has it in MindSpore: `mindspore.nn.layer.conv.Conv2d` is `mindspore.nn.Conv2d`. A missing name raises an error when it is
imported or read, which says what to use instead; a name marked * can be imported, and raises the error at its first use: programs import
it, and mostly do not use it. There are {importable} such names. In the texts below `ms` is `mindspore`.

Arguments, names and defaults are MindSpore's. Deliberate differences of values and gradients are listed at the end.

| module | there | missing | of them marked * |
|---|---|---|---|
{rows}
"""


def compatibility_page() -> str:
    """The text of compatibility.md."""
    rows: list[str] = []
    sections: list[str] = []
    marked = 0
    for path in PLACES:
        row = paths.row_of(path)
        shown = row.names.keys() if path == "mindspore" else row.names.keys() - row.unlisted  # its `__all__` leaves out `grad`
        listed = sorted(name for name in shown if not name.startswith("_"))
        here = [name for name in listed if paths.is_here(path, name)]
        missing: dict[str, list[str]] = {}
        for name in listed:
            if not paths.is_here(path, name):
                scope = out_of_scope.reason(path, name)
                missing.setdefault(paths.way_out(path, name) or scope or "", []).append(f"`{name}`{'*' if scope else ''}")
        importable = sum(name.endswith("*") for names in missing.values() for name in names)
        marked += importable
        rows.append(f"| `{paths.full(path)}` | {len(here)} | {len(listed) - len(here)} | {importable} |")
        sections += [f"## {paths.full(path)}", ""]
        if here:
            sections += ["There:", "", _lines(f"`{name}`" for name in here), ""]
        for instead, names in sorted(missing.items()):
            sections += [f"Missing; instead {instead}:" if instead else "Missing:", "", _lines(names), ""]
    page = COMPATIBILITY.format(version=paths.VERSION, rows="\n".join(rows), importable=marked)
    return "\n".join([page, *sections, *_members(), "## What differs", "", _differing(), "", *_collections(), *_examples(), *_compared()])


MEMBERS = """\
## Members of classes

Methods, properties and other attributes of MindSpore's public classes that do not begin with an underscore, each counted at the first
public class that has it. Of the {classes} classes that are here, {complete} have all of theirs; of {all} members {here} are here. Reading a
member that is missing raises an AttributeError. It says what to write instead where this page does.

| class | there | missing |
|---|---|---|
{rows}
"""


FOUND_MEMBERS = runpy.run_path(str(Path(__file__).with_name("members.py")))


def _members() -> list[str]:
    """The members of classes: counts of those that lack some, and the missing ones, classes that lack the same together."""
    found = FOUND_MEMBERS["rows"]()
    lacking: dict[tuple[str, ...], list[Any]] = {}
    for row in found:
        if row.missing:
            lacking.setdefault(tuple(row.missing), []).append(row)
    named = {missing: _classes(rows) for missing, rows in lacking.items()}
    rows = [f"| {named[missing]} | {sum(len(row.here) for row in rows)} | {sum(len(row.missing) for row in rows)} |"
            for missing, rows in lacking.items()]
    here, gone = sum(len(row.here) for row in found), sum(len(row.missing) for row in found)
    lines = [MEMBERS.format(classes=len(found), here=here, all=here + gone, complete=sum(not row.missing for row in found),
                            rows="\n".join(rows))]
    for missing, owners in lacking.items():
        ways: dict[str, list[str]] = {}
        for name in missing:
            ways.setdefault(FOUND_MEMBERS["way_out"](owners[0].kind, name) or "", []).append(f"`{name}`")
        lines += [f"{named[missing]}:", ""]
        for instead, names in sorted(ways.items()):
            lines += textwrap.wrap(f"* {', '.join(names)}{f'; instead {instead}' if instead else ''}", 138, subsequent_indent="  ",
                                   break_long_words=False, break_on_hyphens=False)
        lines.append("")
    return lines


def _classes(rows: list[Any]) -> str:
    """The names of classes; of many the first, and how many more."""
    names = [f"`{row.place}`" for row in rows]
    return ", ".join(names) if len(names) < 4 else f"{', '.join(names[:2])} and {len(names) - 2} more like them"


def _lines(names: Iterable[str]) -> str:
    return textwrap.fill(", ".join(names), 138, break_long_words=False, break_on_hyphens=False)


def _differing() -> str:
    """What the decision on differences lists."""
    decision = Path(__file__).with_name("decisions") / "0006-where-we-differ.md"
    told = decision.read_text(encoding="utf-8").partition("**Decision.** ")[2].partition("**Consequence.**")[0]
    return told.replace("its answer", "MindSpore's answer").strip()


COLLECTIONS = """\
## Models that others wrote

`tools/compare_models.py` builds all models of a collection, and runs of each family the one with the fewest parameters here and in
MindSpore's CPU version, with the same parameters and images: its results without training, then the loss and the gradients of one step.
They are equal if they differ by at most 1e-4 of the largest number of a result, or of the norm of all gradients. A `relu` whose
argument is 0 but for rounding changes a gradient by more, in either framework: what is not equal is compared with the same computation
in Float64, and called near if ours is at most twice as far from it as MindSpore's, or as Float64 moves itself if all parameters change by
about 2**-23 of them, the largest of three such changes.

Seconds are those of the shortest step, forward and backward, of several. Both frameworks took turns on two cores that had other work too,
so a ratio of 1.5 says little. MindSpore counts in the quicker of two settings, since its convolutions are many times slower where they may
use AVX-512 than where they may not.
"""

_OUTCOMES = ("equal", "near", "differs", "refused by both", "refused there", "refused here")


def _collections() -> list[str]:
    """What became of the models of others: counts for each collection, and a row for each model that was run."""
    found = json.loads(Path(__file__).with_name("collections.json").read_text(encoding="utf-8"))
    lines = [COLLECTIONS]
    for collection, told in sorted(found.items()):
        lines += [f"### {collection}", "", f"{told['built']} of {told['models']} models in {told['families']} families are built.", "",
                  f"| | {' | '.join(_OUTCOMES)} |", f"|---|{'---|' * len(_OUTCOMES)}"]
        runs = [(model, mode, row) for model, modes in told["rows"].items() for mode, row in modes.items()]
        for mode in ("eager", "graph"):
            for part in ("forward", "step"):
                became = [row[part].partition(":")[0] for _, run, row in runs if run == mode]
                if became:
                    lines.append(f"| {part}, {mode} | {' | '.join(str(became.count(word) or '') for word in _OUTCOMES)} |")
        ratios = [row["seconds theirs"] / row["seconds ours"] for _, _, row in runs if "seconds ours" in row]
        if ratios:
            lines += ["", f"MindSpore takes {min(ratios):.1f} to {max(ratios):.0f} times as long, {geometric_mean(ratios):.0f} times in "
                          f"the geometric mean of {len(ratios)}."]
        lines += ["", "| model | mode | forward | step | seconds here | MindSpore |", "|---|---|---|---|---|---|"]
        for model, mode, row in runs:
            cells = (f"{row[part].partition(':')[0]}{' ' if f'{part} difference' in row else ''}{row.get(f'{part} difference', '')}"
                     for part in ("forward", "step"))
            times = (str(row.get(f"seconds {side}", "")) for side in ("ours", "theirs"))
            lines.append(f"| `{model}` | {mode} | {' | '.join((*cells, *times))} |")
        lines.append("")
        for model, text in told.get("notes", {}).items():
            lines += [f"`{model}`: {text}" if model else text, ""]
    return lines


EXAMPLES = """\
## The manual's examples

`tools/docstring_examples.py` has run the {examples} examples in the docstrings of MindSpore 2.10 with MindSpore's CPU version and with this
library, and compared what they print: numbers by value, to the precision in which they are printed, and those drawn at random by dtype and
shape. A number behind a name counts the examples of a docstring that has several.

| module | {words} |
|---|{lines}|
{rows}
"""


def _examples() -> list[str]:
    """What became of the examples: counts by module, and the names by what became of them."""
    found = json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))
    kinds = [kind for kind in found["words"] if found["counts"][kind]]
    names: dict[str, dict[str, list[str]]] = {
        kind: {place: text.split(", ") for place, text in found["names"][kind].items()} for kind in kinds}
    places = sorted({place for kind in kinds for place in names[kind]}, key=str.lower)
    counts = [[len(names[kind].get(place, ())) for kind in kinds] for place in places]
    counts.append([found["counts"][kind] for kind in kinds])
    shown = [*(f"`{place}`" for place in places), "together"]
    rows = [f"| {' | '.join((name, *(str(count or '') for count in row)))} |" for name, row in zip(shown, counts)]
    lines = [EXAMPLES.format(examples=found["examples"], words=" | ".join(found["words"][kind].partition(":")[0] for kind in kinds),
                             lines="|".join("---" for _ in kinds), rows="\n".join(rows))]
    by_reason: dict[str, list[str]] = {}
    others: list[str] = []
    for row in found["rows"]:
        if row["why"]:
            by_reason.setdefault(row["why"], []).append(f"`{row['name']}`")
        else:
            what = found["words"][row["kind"]].partition(":")[0]
            cells = (f"`{row['name']}`", what, _cell(row["ours"]), _cell(row["theirs"]))
            others.append(f"| {' | '.join(cells)} |")
    lines += ["### Examples that differ on purpose", ""] if by_reason else []
    for why, listed in sorted(by_reason.items()):
        lines += [f"{why}:", "", _lines(listed), ""]
    if others:
        lines += ["### Examples that differ otherwise", "", "| name | what | here | MindSpore |", "|---|---|---|---|", *others, ""]
    for kind in kinds:
        if kind not in ("differs", "raises"):
            lines += [f"### {found['words'][kind].partition(':')[0].capitalize()}", ""]
            for place, listed in sorted(names[kind].items(), key=lambda item: item[0].lower()):
                lines += [f"`{place}`:", "", _lines(f"`{name}`" for name in listed), ""]
    return lines


COMPARED = """\
## Compared call by call

`tools/compare_with_mindspore.py` has asked MindSpore's CPU version and this library the same {calls} calls of {names} names: the right call
of every public entry, and the same with operands of other dtypes, shapes and values, and with other arguments, wrong ones too. Results,
gradients, what is written, and types of exceptions were compared.

| found | calls |
|---|---|
{kinds}
"""


def _compared() -> list[str]:
    """The findings of the comparison: counts, differences by their reasons, and those that have none."""
    found = json.loads(Path(__file__).with_name("compared.json").read_text(encoding="utf-8"))
    words = found["words"]
    counts = "\n".join(f"| {words[kind]} | {count} |" for kind, count in found["kinds"].items())
    lines = [COMPARED.format(calls=found["calls"], names=found["names"], kinds=counts)]
    by_reason: dict[str, list[str]] = {}
    others: list[str] = []
    refused: list[str] = []
    for row in found["rows"]:
        if row["why"]:
            by_reason.setdefault(row["why"], []).append(f"`{row['name']}`")
        elif row["kind"] in ("refused there", "crashed there"):
            refused.append(f"`{row['name']}`")
        else:
            cells = (f"`{row['name']}`", words[row["kind"]], str(row["count"]), *(_cell(row[key]) for key in ("call", "ours", "theirs")))
            others.append(f"| {' | '.join(cells)} |")
    lines += ["### Differences that are meant", ""]
    for why, names in sorted(by_reason.items()):
        lines += [f"{why}:", "", _lines(dict.fromkeys(names)), ""]
    lines += ["### Other differences", "", "Each with how many calls show it, and one of them.", "",
              "| name | what | calls | one of them | here | MindSpore |", "|---|---|---|---|---|---|", *others, ""]
    lines += ["### What MindSpore's CPU version refuses", "", "Right calls, mostly for want of a kernel:", ""]
    return [*lines, _lines(dict.fromkeys(refused)), ""]


def _cell(text: str) -> str:
    """A text as code in a cell of a table."""
    return "`" + text.replace("|", "/").replace("`", "'").replace("\n", " ") + "`" if text else ""


STUBS = runpy.run_path(str(Path(__file__).with_name("stubs.py")))
INDEXES = runpy.run_path(str(Path(__file__).with_name("indexes.py")))
PAGES: dict[str, Callable[[], str]] = {"../adjoint/codegen/declarations.py":  # first: others are made by programs that load it
                                         runpy.run_path(str(Path(__file__).with_name("declarations.py")))["page"],
                                     **INDEXES["PAGES"],
                                     "ops.md": ops_page, "errors.md": errors_page, "settings.md": settings_page,
                                     "compatibility.md": compatibility_page,
                                     "how-a-call-runs.md": runpy.run_path(str(Path(__file__).with_name("ways.py")))["page"],
                                     "architecture.md": runpy.run_path(str(Path(__file__).with_name("architecture.py")))["page"],
                                     "../adjoint/ops/generated.pyi": STUBS["functions_stub"],
                                     "../adjoint/ops/primitives/generated.pyi": STUBS["primitives_stub"],
                                     "../adjoint/runtime/tensor/methods.pyi": STUBS["methods_stub"]}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (Path(__file__).parent / name).write_text(page(), encoding="utf-8")
