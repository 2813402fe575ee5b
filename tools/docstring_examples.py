"""Runs the examples in the docstrings of MindSpore 2.10 there and here, and compares what they print.  By hand, not in CI.

python tools/docstring_examples.py --mindspore VENV/bin/python [--answers FOLDER] [--only TEXT | --missing] [--compile]

The examples are read from the installed MindSpore; their text stays in the folder.  What MindSpore itself prints is compared, not what
its docstrings show: numbers by value, to the precision in which they are printed, and those drawn at random by dtype and shape.  What it
printed is kept in the folder, so that a run which was interrupted goes on.  The verdicts are written to docs/examples.json, which `make
docs` makes a part of docs/compatibility.md, and in words to `verdicts.md` in the folder; with `--only`, which takes the examples of names
with that text, they are printed.  With `--missing`, only those are run that stopped at a missing name when the file was written, and
their verdicts are renewed in it.

Without `--compile` our operators run on NumPy, which the kernels are tested against; what differs or raises is run again with kernels.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools" / "compare")]

import agreement  # noqa: E402
from running import Interpreter  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mindspore", required=True, help="a Python that has mindspore 2.10 and NumPy")
    parser.add_argument("--answers", type=Path, default=ROOT / "out" / "examples", help="where examples and answers are kept")
    parser.add_argument("--only", help="only examples of names that contain this text; the verdicts are printed")
    parser.add_argument("--missing", action="store_true", help="only the examples that stopped at a missing name; renew their verdicts")
    parser.add_argument("--compile", action="store_true", help="our operators as compiled kernels")
    given = parser.parse_args()
    record = ROOT / "docs" / "examples.json"
    before = json.loads(record.read_text(encoding="utf-8")) if given.missing else {}
    given.answers.mkdir(parents=True, exist_ok=True)
    read = given.answers / "read.json"
    if not read.exists():
        subprocess.run([given.mindspore, str(ROOT / "tools" / "compare" / "examples.py"), str(read)], check=True)
    examples = json.loads(read.read_text(encoding="utf-8"))
    examples = [example for example in examples if given.only is None or given.only in example["name"]]
    if given.missing:
        missing = agreement.names_of(before, "missing")
        examples = [example for example in examples if example["name"].removeprefix("mindspore.") in missing or example["name"] in missing]
    ours = Interpreter(sys.executable, "ours", given.answers, given.compile, "performing.py")
    theirs = Interpreter(given.mindspore, "theirs", given.answers, program="performing.py")
    ours.answers.unlink(missing_ok=True)
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda interpreter: interpreter.answer(examples), (ours, theirs)))
    found = agreement.found_of(examples, *answers)
    if not given.compile:
        kernels = Interpreter(sys.executable, "kernels", given.answers, program="performing.py")
        kernels.answers.unlink(missing_ok=True)
        differing = {row["name"] for row in found["rows"] if row["kind"] in ("differs", "raises")}
        doubtful = [place for place, example in enumerate(examples) if example["name"] in differing]
        for place, answer in zip(doubtful, kernels.answer([examples[place] for place in doubtful])):
            answers[0][place] = answer
        found = agreement.found_of(examples, *answers)
    print(agreement.summary(found))
    if given.only is None:
        whole = agreement.renewed(before, found) if given.missing else found
        record.write_text(agreement.written_file(whole), encoding="utf-8")
        (given.answers / "verdicts.md").write_text(agreement.in_words(found), encoding="utf-8")
    else:
        print(agreement.in_words(found))


if __name__ == "__main__":
    main()
