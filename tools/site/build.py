"""Build the site: the pages of docs/ and a reference of the public API, with search, in out/site.

    python tools/site/build.py          `make site`

The pages are those of the repository, in the same folders, so that a link that works on GitHub works here.  The reference is made of
the public names of each module: signatures, docstrings, and links to the source.  A link to a page or a heading that is not there, a
reference to a name that is not documented and a page without a place in the index fail the build.

The first page links to pages of `adjoint explore`, which are made here.

Sphinx was chosen after trying MkDocs with Material: that is faster on prose, but says itself that it gets critical fixes only.  Sphinx
reads objects, and the operators that `ops/publish.py` makes have no definitions in the source.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sphinx.cmd.build import build_main

ROOT = Path(__file__).parents[2]
SOURCES, DOCTREES, SITE = (ROOT / "out" / name for name in ("site-sources", "site-doctrees", "site"))

CHAPTERS = {
    "Begin": ("README.md", "docs/lesson.md", "docs/language.md", "docs/autodiff.md", "docs/hooks.md", "docs/transformations.md",
              "docs/training.md", "docs/data.md", "docs/arrays.md"),
    "When something is wrong": ("docs/debugging.md", "docs/watching.md", "docs/checking.md", "docs/errors.md", "docs/settings.md"),
    "Without Python": ("docs/deploying.md",),
    "Many processes": ("docs/many-processes.md", "docs/many-machines.md"),
    "Inside": ("docs/how-it-works.md", "docs/explorer.md", "docs/how-a-call-runs.md", "docs/architecture.md", "docs/ir.md",
               "docs/glossary.md", "docs/adding-an-op.md", "docs/adding-a-hook.md", "CONTRIBUTING.md"),
    "Facts": ("docs/trust.md", "docs/compatibility.md", "docs/ops.md", "benchmarks/RESULTS.md", "benchmarks/README.md", "CHANGELOG.md"),
}
"""The pages by chapter; those of docs/ that are in none are added to the last one, and the decisions have a chapter of their own."""

MODULES = (
    "adjoint", "adjoint.ops", "adjoint.nn", "adjoint.nn.probability.distribution", "adjoint.nn.probability.bijector", "adjoint.numpy",
    "adjoint.mint", "adjoint.mint.nn", "adjoint.mint.nn.functional", "adjoint.mint.optim", "adjoint.mint.linalg", "adjoint.mint.special",
    "adjoint.scipy.linalg", "adjoint.scipy.optimize", "adjoint.train", "adjoint.amp", "adjoint.common.initializer",
    "adjoint.experimental.optim",
    "adjoint.experimental.optim.lr_scheduler", "adjoint.dataset", "adjoint.dataset.transforms", "adjoint.dataset.vision",
    "adjoint.dataset.text", "adjoint.dataset.audio", "adjoint.mindrecord", "adjoint.communication", "adjoint.profiler", "adjoint.watch",
    "adjoint.testing",
)
WITH_METHODS = ("adjoint", "adjoint.train", "adjoint.dataset", "adjoint.amp", "adjoint.mindrecord", "adjoint.profiler", "adjoint.watch",
                "adjoint.testing")
"""Modules of whose classes the methods are listed too; layers and operators are called."""


def stage_pages() -> list[str]:
    """Copy the pages to the sources; return their paths."""
    paths = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")]
    paths += [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    paths += [path for path in (ROOT / "docs" / "images").rglob("*") if path.is_file()]
    for path in paths:
        place = SOURCES / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place.write_text(_without_links_to_code(path), encoding="utf-8")
        else:
            shutil.copyfile(path, place)
    return sorted(str(path.relative_to(ROOT)) for path in paths if path.suffix == ".md")


_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s#:]+)\)")


def _without_links_to_code(path: Path) -> str:
    """Return a page in which links to files and folders of the repository that are no pages are their text.

    A link to what does not exist stays, and fails the build.
    """
    def replaced(found: re.Match[str]) -> str:
        target = (path.parent / found[2]).resolve()
        is_page = target.suffix in (".md", ".png", ".svg") or not target.exists()
        return found[0] if is_page else found[1]

    return _LINK.sub(replaced, path.read_text(encoding="utf-8"))


EXPLORED = (
    ("lenet.html", "LeNet-5 at every stage, with the times of its kernels",
     ("examples/lenet_digits.py:LeNet5", "f32[32, 1, 32, 32]", "--run")),
    ("steering.html", "The cost of a path at every stage, for a controller",
     ("examples/steering.py:cost", "f32[20], f32[20], f32[20, 20]")),
)
"""Pages that show a program at every stage: file, title, and how `adjoint explore` is called."""


def stage_explored() -> list[tuple[str, str]]:
    """Make the pages that show a program; return path and title of each."""
    target = SOURCES / "static"
    target.mkdir()
    for file, _, (program, arguments, *options) in EXPLORED:
        command = [sys.executable, "-m", "adjoint", "explore", program, "--args", arguments, *options, "-o", str(target / file)]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return [(file, title) for file, title, _ in EXPLORED]


def stage_reference() -> list[str]:
    """Write a page for each public module; return their paths."""
    pages: list[str] = []
    documented: dict[int, str] = {}
    (SOURCES / "reference").mkdir()
    for name in MODULES:
        module = importlib.import_module(name)
        by_kind: dict[str, list[str]] = {}
        for each in sorted(set(public(module)), key=str.lower):
            by_kind.setdefault(_kind(getattr(module, each)), []).append(each)
        for kind, names in by_kind.items():
            title, page = f"`{name}`: {kind}" if len(by_kind) > 1 else f"`{name}`", f"reference/{name}.{kind}.md"
            (SOURCES / page).write_text("\n".join([f"# {title}", "", *_entries(module, kind, names, documented)]), encoding="utf-8")
            pages.append(page)
    return pages


def public(module: Any) -> Iterator[str]:
    """Yield the public names of a module, without its modules."""
    for name in module.__all__:
        if not inspect.ismodule(getattr(module, name)):
            yield name


def _kind(value: Any) -> str:
    return "classes" if inspect.isclass(value) else "functions" if callable(value) and hasattr(value, "__name__") else "values"


def _entries(module: Any, kind: str, names: Iterable[str], documented: dict[int, str]) -> Iterator[str]:
    """Yield the entries of names; one that is another name of what is documented already refers to that.

    documented  for the id of each class and function that has an entry its name; it gets those of this module
    """
    home, noun = module.__name__, {"classes": "class", "functions": "function", "values": "data"}[kind]
    yield "```{eval-rst}"
    for name in names:
        full, value = f"{home}.{name}", getattr(module, name)
        first = full if kind == "values" else documented.setdefault(id(value), full)
        if first != full:
            yield from (f".. py:{noun}:: {full}", "", f"   The same as :py:obj:`{first}`.", "")
            continue
        yield f".. auto{noun}:: {full}"
        if kind == "classes" and home in WITH_METHODS:
            yield "   :members:"
        elif kind == "values":
            yield "   :no-value:"
        yield ""
    yield "```"


def write_index(pages: list[str], reference: list[str], static: list[tuple[str, str]]) -> None:
    """Write the first page, which has all others in its chapters."""
    chapters = {title: list(names) for title, names in CHAPTERS.items()}
    placed = {name for names in chapters.values() for name in names}
    chapters["Facts"] += [page for page in pages if page not in placed and not page.startswith("docs/decisions/")]
    chapters["Reference"] = reference
    chapters["Decisions"] = [page for page in pages if page.startswith("docs/decisions/")]
    lines = ["# adjoint", "", f"{importlib.metadata.metadata('adjoint')['Summary']}", ""]
    lines += [line for path, title in static for line in (f"* <a href=\"{path}\">{title}</a>", "")]
    for title, names in chapters.items():
        lines += ["```{toctree}", f":caption: {title}", ":maxdepth: 1", "", *(name.removesuffix(".md") for name in names), "```", ""]
    (SOURCES / "index.md").write_text("\n".join(lines), encoding="utf-8")


def main() -> int:
    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    SOURCES.mkdir(parents=True)
    write_index(stage_pages(), stage_reference(), stage_explored())
    shutil.rmtree(DOCTREES, ignore_errors=True)
    return build_main(["-b", "html", "-c", str(Path(__file__).parent), "-d", str(DOCTREES), "-j", "auto", "-W", "-q", "--keep-going",
                       str(SOURCES), str(SITE)])


if __name__ == "__main__":
    sys.exit(main())
