"""Has an interpreter answer calls, or perform examples, and starts it again after one that ended it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

CRASHES_OF_AN_ENTRY = 3
"""After so many crashes the other calls of an entry are not asked."""


def key_of(call: dict[str, Any]) -> str:
    """What tells a call from others, in the files of answers."""
    return json.dumps([call["of"], call["text"], call["given"]])


class Interpreter:
    """A Python that answers.

    python    its path
    side      "ours" or "theirs"
    folder    where its answers are kept, in `SIDE.jsonl`: those that are there already are not asked for again
    compiler  False: our operators run on NumPy
    program   what it runs, beside this file: `answering.py` for calls, `performing.py` for examples
    """

    def __init__(self, python: str, side: str, folder: Path, compiler: bool = True, program: str = "answering.py"):
        self.python, self.side, self.folder, self.compiler, self.program = python, side, folder, compiler, program
        self.answers = folder / f"{side}.jsonl"

    def known(self) -> dict[str, dict[str, Any]]:
        """Return the answers that are kept, by the keys of their calls."""
        lines = self.answers.read_text(encoding="utf-8").splitlines() if self.answers.exists() else []
        return {line["key"]: line["answer"] for line in map(json.loads, lines)}

    def answer(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return an answer to each call; `{"crashed": why}` for one that ended the process."""
        crashes: Counter[str] = Counter()
        while True:
            known = self.known()
            pending = [call for call in calls if key_of(call) not in known]
            if not pending:
                return [known[key_of(call)] for call in calls]
            skipped = [call for call in pending if crashes[_entry(call)] >= CRASHES_OF_AN_ENTRY]
            for call in skipped:
                self._note(call, {"skipped": "other calls of the entry ended the process"})
            if not skipped:
                self._ask(pending, crashes)

    def _ask(self, pending: list[dict[str, Any]], crashes: Counter[str]) -> None:
        """Ask until all are answered, or one call ends the process."""
        asked = self.folder / f"{self.side}.asked.json"
        asked.write_text(json.dumps(pending), encoding="utf-8")
        command = [self.python, str(Path(__file__).with_name(self.program)), self.side, str(asked), str(self.answers)]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self._environment(), check=False)
        if ended.returncode > 0:  # no signal: it did not come to the calls
            raise RuntimeError(f"{self.python} cannot answer:\n{ended.stderr.decode()[-2000:]}")
        if ended.returncode:
            known = self.known()
            call = next(call for call in pending if key_of(call) not in known)
            crashes[_entry(call)] += 1
            late = ended.returncode == -signal.SIGALRM
            self._note(call, {"crashed": "takes too long" if late else signal.Signals(-ended.returncode).name})

    def _environment(self) -> dict[str, str]:
        environment = {**os.environ, "GLOG_v": "4", "PYTHONDONTWRITEBYTECODE": "1"}
        if not self.compiler:
            nowhere = self.folder / "nowhere"
            nowhere.mkdir(exist_ok=True)
            (nowhere / "ziglang.py").write_text("raise ImportError\n", encoding="utf-8")
            path = os.pathsep.join(filter(None, (str(nowhere), os.environ.get("PYTHONPATH"))))
            environment |= {"PATH": str(nowhere), "CC": "", "PYTHONPATH": path, "ADJOINT_FORBID_INTERPRETER": "0"}
        return environment

    def _note(self, call: dict[str, Any], answer: dict[str, Any]) -> None:
        with self.answers.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key_of(call), "answer": answer}) + "\n")


def _entry(call: dict[str, Any]) -> str:
    return call["text"].partition("(")[0]
