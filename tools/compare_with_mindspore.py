"""Compares the answers of adjoint with those of MindSpore 2.10: values, gradients, dtypes, shapes, exceptions.  By hand, not in CI.

python tools/compare_with_mindspore.py --mindspore VENV/bin/python [--answers FOLDER] [--calls N] [--known] [--only TEXT] [--compile]

The first calls are the right ones of every public entry, the others the same with operands and arguments changed, in an order that
is always the same: `--calls 5000` asks the first 5000.  An interpreter answers some 50 calls a second.  What MindSpore answers is kept in
the folder, so that a comparison which was interrupted goes on; `--known` compares what it has answered so far, without asking it.

Without `--compile` our operators run on NumPy, which the kernels are tested against: compiling takes hours.  The findings are written to
docs/compared.json, which `make docs` makes a part of docs/compatibility.md; with `--only` they are printed.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools" / "compare"), str(ROOT / "tests"), str(ROOT / "tests" / "oracle")]

import catalogue  # noqa: E402
import findings  # noqa: E402
from running import Interpreter, key_of  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mindspore", required=True, help="a Python that has mindspore 2.10 and NumPy")
    parser.add_argument("--answers", type=Path, default=ROOT / "out" / "compared", help="where answers are kept")
    parser.add_argument("--calls", type=int, help="how many calls are asked; all, if not given")
    parser.add_argument("--known", action="store_true", help="only calls that MindSpore has answered before")
    parser.add_argument("--only", help="only calls that contain this text, as the findings write them; these are printed")
    parser.add_argument("--compile", action="store_true", help="our operators as compiled kernels")
    given = parser.parse_args()
    given.answers.mkdir(parents=True, exist_ok=True)
    ours = Interpreter(sys.executable, "ours", given.answers, given.compile)
    theirs = Interpreter(given.mindspore, "theirs", given.answers)
    ours.answers.unlink(missing_ok=True)
    known = theirs.known() if given.known else None
    calls = [call for call in catalogue.ordered() if given.only is None or given.only in findings.written(call)]
    calls = [call for call in calls if known is None or key_of(call) in known][: given.calls]
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda interpreter: interpreter.answer(calls), (ours, theirs)))
    found = findings.of(calls, *answers)
    print(findings.summary(found))
    if given.only is None:
        (ROOT / "docs" / "compared.json").write_text(findings.written_file(found), encoding="utf-8")
    else:
        print(findings.in_words(found))


if __name__ == "__main__":
    main()
