"""Runs the models of a collection, which others wrote for MindSpore, in both frameworks, and compares results and gradients.  By hand.

python tools/compare_models.py mindcv CHECKOUT --mindspore VENV/bin/python [--only TEXT] [--graph TEXT] [--known]
python tools/compare_models.py mindcv CHECKOUT --mindspore VENV/bin/python --times [--only TEXT]

CHECKOUT is a checkout of the collection that `tools/models/known.py` describes; what it needs must be importable in both environments.
All models are built here.  Of each family the one with the fewest parameters is run, in eager mode, and in graph mode too if its name
contains the text of `--graph`: results without training, then the loss and its gradients of one step, with the same parameters and data.

Two answers are equal if they differ by at most 1e-4 of the largest number of the result; for all gradients together, of their norm.  Where
rounding alone changes more (a number just above 0 that becomes one just below it, behind a `relu`), neither framework can be right: then
both are compared with what this package computes in Float64, and ours counts as near if its distance is at most twice MindSpore's, or twice
that of Float64 from itself after all parameters have changed by about 2**-23 of them, the largest of three such changes.

Answers are kept in the folder, and a comparison that was interrupted goes on.  What was found is written to docs/collections.json, of which
`make docs` makes a part of docs/compatibility.md.

With `--times`, the models whose step was equal or near are timed: both frameworks by turns, on an idle machine.  MindSpore is timed as it
is and with `ONEDNN_MAX_CPU_ISA=AVX2`, and its quicker time counts: on a processor with AVX-512 its library takes reference loops for most
convolutions, which are up to 80 times slower than what it does where it may use AVX2 only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "models"))

from known import COLLECTIONS  # noqa: E402  # pyright: ignore[reportMissingImports]  # found on `sys.path`, set above
from working import MARK, file_of  # noqa: E402  # pyright: ignore[reportMissingImports]  # found on `sys.path`, set above

SIDES = ("ours", "theirs", "exact", "narrow")
SETTINGS = {"narrow": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}
"""What is set in the environment of a side; "narrow" is MindSpore, too."""
TURNS = ("ours", "narrow", "theirs", "ours", "narrow")
"""In which order a model is timed; its slower setting once, where a step may take a minute."""
EQUAL = 1e-4
FOUND = ROOT / "docs" / "collections.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("collection")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--mindspore", required=True, help="a Python that has mindspore 2.10, NumPy and what the collection imports")
    parser.add_argument("--only", default="", help="only models whose name contains this text")
    parser.add_argument("--graph", help="run models whose name contains this text in graph mode, too")
    parser.add_argument("--times", action="store_true", help="time the models that were compared before, but those that have a time")
    parser.add_argument("--known", action="store_true", help="only models that MindSpore has answered before")
    parser.add_argument("--answers", type=Path, default=ROOT / "out" / "models", help="where answers are kept")
    given = parser.parse_args()
    asked = Asked(given.collection, given.checkout.resolve(), given.mindspore, given.answers)
    if given.times:
        time_models(asked, given.collection, given.only)
        return
    families = asked.answer("ours", {"families": True})["families"]
    sizes = {name: asked.answer("ours", {"size": name}) for names in families.values() for name in names}
    chosen = [min(built, key=lambda name: sizes[name]["size"])
              for names in families.values() if (built := [name for name in names if "size" in sizes[name]])]
    rows: dict[str, dict[str, Any]] = {}
    for model in (name for name in chosen if given.only in name):
        modes = ["eager", "graph"] if given.graph is not None and given.graph in model else ["eager"]
        modes = [mode for mode in modes if not given.known or asked.knows("theirs", {"run": model, "mode": mode})]
        for mode in modes:
            row = rows.setdefault(model, {})[mode] = asked.compared(model, mode)
            print(model, mode, json.dumps(row), flush=True)
    told = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
    before = told.get(given.collection, {"rows": {}})["rows"]
    told[given.collection] = {"models": len(sizes), "families": len(families), "built": sum("size" in size for size in sizes.values()),
                              "notes": COLLECTIONS[given.collection].NOTES, "rows": dict(sorted({**before, **rows}.items()))}
    FOUND.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def time_models(asked: Asked, collection: str, only: str) -> None:
    """Time the models whose steps are right, each side by turns; write after each what is known."""
    rows = json.loads(FOUND.read_text(encoding="utf-8"))[collection]["rows"]
    for model, modes in rows.items():
        for mode, row in modes.items():
            if row["step"] not in ("equal", "near") or "seconds ours" in row or only not in model:
                continue
            answers = [(side, asked.asked(side, {"time": model, "mode": mode})) for side in TURNS]
            seconds = {side: min((answer["seconds"] for other, answer in answers if other == side and "seconds" in answer), default=0.0)
                       for side in ("ours", "theirs", "narrow")}
            print(model, mode, json.dumps(seconds), flush=True)
            theirs = [seconds[side] for side in ("theirs", "narrow") if seconds[side]]
            if not seconds["ours"] or not theirs:
                continue
            told = json.loads(FOUND.read_text(encoding="utf-8"))
            told[collection]["rows"][model][mode] |= {
                f"seconds {side}": float(f"{time:.3g}") for side, time in (("ours", seconds["ours"]), ("theirs", min(theirs)))}
            FOUND.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


class Asked:
    """The processes of one collection, each started when it is first asked, and what they have answered before."""

    def __init__(self, collection: str, checkout: Path, mindspore: str, answers: Path):
        self._collection, self._checkout = collection, checkout
        self._pythons: dict[str, str] = dict.fromkeys(SIDES, sys.executable)
        self._pythons["theirs"] = self._pythons["narrow"] = mindspore
        self._folders = {side: answers / collection / side for side in SIDES}
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._known: dict[tuple[str, str], Any] = {}
        for side, folder in self._folders.items():
            folder.mkdir(parents=True, exist_ok=True)
            kept = folder / "answers.jsonl"
            kept.touch()
            for line in kept.read_text(encoding="utf-8").splitlines():
                answer = json.loads(line)
                self._known[side, json.dumps(answer["asked"])] = answer

    def knows(self, side: str, asked: dict[str, Any]) -> bool:
        """Return whether one side has answered a question before."""
        return (side, json.dumps(asked)) in self._known

    def answer(self, side: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Ask one side, unless it has answered before."""
        key = side, json.dumps(asked)
        if key not in self._known:
            answer = self.asked(side, asked)
            self._known[key] = answer
            with (self._folders[side] / "answers.jsonl").open("a") as kept:
                kept.write(json.dumps(answer) + "\n")
        return self._known[key]

    def asked(self, side: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Ask one side, whatever it answered before; a process that ends without an answer is an error of that side."""
        process = self._running.get(side)
        if process is None or process.poll() is not None:
            process = self._running[side] = self._started(side)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith(MARK):
                return json.loads(line.removeprefix(MARK))
        return {"asked": asked, "error": f"the process ended with {process.wait()}"}

    def _started(self, side: str) -> subprocess.Popen[str]:
        script = ROOT / "tools" / "models" / "working.py"
        framework = "theirs" if side == "narrow" else side
        command = [self._pythons[side], str(script), framework, self._collection, str(self._checkout), str(self._folders[side])]
        environment = {**os.environ, "GLOG_v": "3", **SETTINGS.get(side, {})}
        if self._pythons[side] == sys.executable:
            environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                env=environment)

    def compared(self, model: str, mode: str) -> dict[str, Any]:
        """Return what became of one model in one mode: for forward and step "equal", "near" or what is wrong."""
        answers = {side: self.answer(side, {"run": model, "mode": mode}) for side in ("ours", "theirs")}
        row: dict[str, Any] = {}
        for part in ("forward", "step"):
            wrong = {side: answer.get("error") or answer.get(f"{part} error") for side, answer in answers.items()}
            if any(wrong.values()):
                row[part] = "refused by both" if all(wrong.values()) else next(f"refused {'here' if side == 'ours' else 'there'}: {text}"
                                                                                for side, text in wrong.items() if text)
                continue
            far = self._distance(model, mode, part, "ours", "theirs")
            row[f"{part} difference"] = float(f"{far:.1e}")
            row[part] = "equal" if far <= EQUAL else self._beside_exact(model, mode, part)
        return row

    def _beside_exact(self, model: str, mode: str, part: str) -> str:
        exact = self.answer("exact", {"run": model, "mode": "eager"})
        if exact.get("error") or exact.get(f"{part} error"):
            return "differs"
        here, there = (self._distance(model, mode, part, side, "exact") for side in ("ours", "theirs"))
        return "near" if here <= 2 * there or any(here <= 2 * self._moved(model, part, number) for number in (1, 2, 3)) else "differs"

    def _moved(self, model: str, part: str, rounded: int) -> float:
        """Return how far the answers in Float64 move if the parameters are rounded otherwise."""
        answer = self.answer("exact", {"run": model, "mode": "eager", "rounded": rounded})
        wrong = answer.get("error") or answer.get(f"{part} error")
        return 0.0 if wrong else self._distance(model, "eager", part, "exact", "exact", rounded)

    def _distance(self, model: str, mode: str, part: str, side: str, other: str, rounded: int = 0) -> float:
        """Return how far the answers of one side are from those of another; infinity for other names or shapes."""
        names = [(each, "eager" if each == "exact" else mode, number) for each, number in ((side, rounded), (other, 0))]
        one, two = (np.load(self._folders[each] / file_of(model, run, number)) for each, run, number in names)
        wanted = [name for name in two.files if name.startswith("result") == (part == "forward")]
        if any(name not in one.files or one[name].shape != two[name].shape for name in wanted):
            return float("inf")
        if part == "forward":
            return max(parts(one, two, wanted), default=0.0)
        gradients = [name for name in wanted if name.startswith("gradient/")]
        whole = np.sqrt(sum((two[name].astype(np.float64) ** 2).sum() for name in gradients))
        apart = np.sqrt(sum(((one[name].astype(np.float64) - two[name]) ** 2).sum() for name in gradients))
        return max(float(apart / whole), *parts(one, two, ["loss"]))


def parts(one: Any, two: Any, names: list[str]) -> Iterator[float]:
    """Yield for each array the largest difference, as a part of the largest number."""
    for name in names:
        if two[name].size:
            apart = np.abs(one[name].astype(np.float64) - two[name]).max()
            yield float("inf") if np.isnan(apart) else float(apart / max(np.abs(two[name]).max(), 1e-30))


if __name__ == "__main__":
    main()
