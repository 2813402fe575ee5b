"""Compares what an example gives in MindSpore and here, and writes the verdicts down by name."""

from __future__ import annotations

import importlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from judging import EPSILON, RELATIVE
from reasons import RANDOM, example_reason

VERDICTS = {
    "the same": "the same: prints the same; of numbers drawn at random, the same dtypes and shapes",
    "differs": "differs: prints something else here",
    "raises": "raises: an exception here alone",
    "missing": "missing: stops at a name that is missing here",
    "device": "needs a device: that is no CPU",
    "fails": "fails in MindSpore too: mostly for want of files",
}
"""What may become of an example."""

LONGEST = 90
"""Characters of an output, or of an exception, that the file of verdicts shows."""

NUMBER = re.compile(r"(?<![\w.])([-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf|nan))(?![\w])")
ADDRESS = re.compile(r" at 0x[0-9a-f]+|/tmp/\S+")
DEVICE = re.compile(r"(?i)ascend|\bgpu|\bnpu\b|unsupported op|not supported? (on|in|by) (the )?cpu|cpu kernel|kernelmod|device_?target|"
                    r"select cpu operator|backend")
NUMBERS = {"numpy float64": "float", "numpy int64": "int", "numpy bool": "bool"}
ABSENT = re.compile(r"adjoint has no (?:module )?'|has no attribute '|, which is not here>|of type complex\b|dtype complex\d")


@dataclass(frozen=True)
class Verdict:
    """What became of an example, and both outputs, or exceptions, where they differ."""

    kind: str
    ours: str = ""
    theirs: str = ""


def is_here(full: str) -> bool:
    """Return whether a name, dotted as the page has it, is there for a program that imports mindspore from us."""
    importlib.import_module("adjoint.compat").install()
    path = "mindspore"
    found: Any = importlib.import_module(path)
    for part in full.split("."):
        path += f".{part}"
        try:
            found = getattr(found, part)
        except NotImplementedError:
            return False
        except AttributeError:
            if not isinstance(found, ModuleType):
                return False
            try:
                found = importlib.import_module(path)  # a module that nothing has imported yet
            except ModuleNotFoundError:
                return False
    return type(found).__name__ != "OutOfScope"


def verdict(example: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> Verdict:
    """Compare the two answers to an example; `theirs` has another one, with other seeds, as `again`."""
    if "crashed" in theirs or "error" in theirs:
        text = _ending(theirs)
        elsewhere = example["platforms"] and "CPU" not in example["platforms"]
        return Verdict("device" if elsewhere or DEVICE.search(text) else "fails", "", text)
    if "crashed" in ours:
        return Verdict("raises", _ending(ours))
    if "error" in ours:
        return Verdict("missing" if ABSENT.search(ours["error"]["text"]) else "raises", _ending(ours))
    again = theirs["again"]
    if any(found.get("text") for found in theirs["statements"]) or not theirs.get("left"):
        mine, other, another = (_by_line(answer) for answer in (ours, theirs, again))
    else:
        mine, other, another = (answer.get("left", {}) for answer in (ours, theirs, again))
        mine = {name: mine[name] for name in other if name in mine}
    for place in sorted({*mine, *other}, key=str):
        nothing: dict[str, Any] = {}
        here, there, drawn = mine.get(place, nothing), other.get(place, nothing), another.get(place, nothing)
        if here.get("raised", [""])[0] != there.get("raised", [""])[0] and there.get("raised", [""])[0] not in here.get("raised", ()):
            return Verdict("differs", _shown(here), _shown(there))
        if _types(here) != _types(there):
            return Verdict("differs", f"{_forms(here)} {_shown(here)}", f"{_forms(there)} {_shown(there)}")
        same = _agree(there, drawn) and not RANDOM.search(f"{example['name']}(")
        if (same and not _agree(here, there)) or (not same and not there.get("forms") and _fragments(here) != _fragments(there)):
            return Verdict("differs", *_apart(_shown(here), _shown(there)))
    name = example["name"].partition(" (")[0].removeprefix("mindspore.")
    return Verdict("the same") if is_here(name) else Verdict("missing", f"{name}, which its example does not use")


def _by_line(answer: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    return {found["line"]: found for found in answer["statements"]}


def _ending(answer: dict[str, Any]) -> str:
    if "crashed" in answer:
        return str(answer["crashed"])
    error = answer["error"]
    return f"{error['error'][0]}: {' '.join(error['text'].split())}"


def _agree(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two outputs are the same text, with numbers that are equal within rounding and the printed precision."""
    first, second = (NUMBER.split(ADDRESS.sub("", found.get("text", ""))) for found in (one, two))
    if len(first) != len(second) or any("".join(a.split()) != "".join(b.split()) for a, b in zip(first[::2], second[::2])):
        return False
    values = [[float(number) for number in found[1::2]] for found in (first, second)]
    epsilon = max((EPSILON.get(form[0].removeprefix("numpy ").capitalize(), 0.0) for form in one.get("forms", [])), default=0.0)
    largest = max((abs(value) for found in values for value in found if abs(value) < float("inf")), default=0.0)
    rounding = RELATIVE * (epsilon or EPSILON["Float32"]) * largest
    for (a, b), (written, other) in zip(zip(*values), zip(first[1::2], second[1::2])):
        whole = written.lstrip("+-").isdigit() and other.lstrip("+-").isdigit()
        if a == b or (a != a and b != b):
            continue
        if whole or not abs(a - b) <= max(rounding, min(max(_unit(written), _unit(other)), abs(a))):
            return False
    return True


def _unit(written: str) -> float:
    """The value of one unit in the last digit of a number; 0 where zeros may have been left out."""
    mantissa, _, exponent = written.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals else 0.0


def _fragments(found: dict[str, Any]) -> list[str]:
    """A text without its numbers and blanks."""
    return ["".join(part.split()) for part in NUMBER.split(ADDRESS.sub("", found.get("text", "")))[::2]]


def _shown(found: dict[str, Any]) -> str:
    return " ".join(found.get("text", "").split()) if not found.get("raised") else found["raised"][0]


def _types(found: dict[str, Any]) -> list[Any]:
    """The forms of an output, where Python's numbers and those of NumPy count as the same."""
    return [[NUMBERS.get(dtype, dtype), shape] if not shape else [dtype, shape] for dtype, shape in found.get("forms", [])]


def _forms(found: dict[str, Any]) -> str:
    return ", ".join(f"{dtype}{shape}" if shape else dtype for dtype, shape in found.get("forms", [])) or "nothing"


def _apart(ours: str, theirs: str) -> tuple[str, str]:
    """Two texts from shortly before the place where they differ."""
    place = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    start = max(0, place - 30)
    return (ours, theirs) if place < LONGEST // 2 else (f"...{ours[start:]}", f"...{theirs[start:]}")


def found_of(examples: list[dict[str, Any]], ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts, the names by verdict, and a row for each example that differs or raises here."""
    counts: Counter[str] = Counter()
    names: dict[str, dict[str, list[str]]] = {}
    rows: list[dict[str, str]] = []
    for example, mine, other in zip(examples, ours, theirs, strict=True):
        found = verdict(example, mine, other)
        counts[found.kind] += 1
        place, _, name = example["name"].rpartition(".")
        names.setdefault(found.kind, {}).setdefault(place or "mindspore", []).append(name)
        if found.kind in ("differs", "raises"):
            why = example_reason(example["name"], found.ours, found.theirs)
            rows.append({"name": example["name"], "kind": found.kind, "why": why, "ours": found.ours, "theirs": found.theirs})
        elif found.kind != "the same":
            rows.append({"name": example["name"], "kind": found.kind, "why": "", "ours": found.ours, "theirs": found.theirs})
    return {"examples": len(examples), "counts": {kind: counts[kind] for kind in VERDICTS}, "words": VERDICTS, "names": names, "rows": rows}


def _name(place: str, name: str) -> str:
    """The name of an example by the place and the name under which the written file has it."""
    return name if place == "mindspore" else f"{place}.{name}"


def names_of(found: dict[str, Any], kind: str) -> set[str]:
    """Return the names of the examples with one verdict, from what was read of the written file."""
    return {_name(place, name) for place, names in found["names"].get(kind, {}).items() for name in names.split(", ")}


def renewed(before: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what was read of the written file, with the verdicts of some examples replaced by those found now."""
    now = {_name(place, name): kind for kind, places in found["names"].items() for place, names in places.items() for name in names}
    names: dict[str, dict[str, list[str]]] = {kind: {} for kind in VERDICTS}
    for kind in VERDICTS:
        for place, texts in before["names"].get(kind, {}).items():
            for name in texts.split(", "):
                names[now.get(_name(place, name), kind)].setdefault(place, []).append(name)
    counts = {kind: sum(map(len, places.values())) for kind, places in names.items()}
    ordered = {kind: {place: sorted(each, key=str.lower) for place, each in sorted(places.items(), key=lambda item: item[0].lower())}
               for kind, places in names.items()}
    rows = [*(row for row in before["rows"] if row["name"] not in now), *found["rows"]]
    return {"examples": before["examples"], "counts": counts, "words": VERDICTS, "names": ordered,
            "rows": sorted(rows, key=lambda row: row["name"].lower())}


def written_file(found: dict[str, Any]) -> str:
    """The verdicts as JSON: the names by place, one line each; then the rows of what differs or raises."""
    head = json.dumps({key: found[key] for key in ("examples", "counts", "words")}, ensure_ascii=False)
    kinds = ",\n".join(f"{json.dumps(kind)}: {{\n" + ",\n".join(f"{json.dumps(place)}: {json.dumps(', '.join(names))}"
                       for place, names in found["names"].get(kind, {}).items()) + "\n}" for kind in VERDICTS)
    rows = ",\n".join(json.dumps({key: _cut(text) for key, text in row.items()}, ensure_ascii=False)
                      for row in found["rows"] if row["kind"] in ("differs", "raises"))
    return f'{head[:-1]}, "names": {{\n{kinds}\n}}, "rows": [\n{rows}\n]}}\n'


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def summary(found: dict[str, Any]) -> str:
    """How many examples there are of each kind."""
    meant = sum(bool(row["why"]) for row in found["rows"] if row["kind"] == "differs")
    counted = [f"{count:7} {VERDICTS[kind]}" for kind, count in found["counts"].items()]
    return "\n".join([f"{found['examples']} examples", *counted, f"{meant:7} of those that differ have a reason"])


def in_words(found: dict[str, Any]) -> str:
    """The names by verdict, with outputs and exceptions, for a reader at a terminal."""
    lines: list[str] = []
    for kind, words in VERDICTS.items():
        lines += ["", f"## {words} ({found['counts'][kind]})", ""]
        rows = [row for row in found["rows"] if row["kind"] == kind]
        if kind == "the same":
            lines += [f"**{place}** ({len(names)}): {' '.join(names)}\n" for place, names in found["names"].get(kind, {}).items()]
        for row in rows:
            lines.append(f"- `{row['name']}`{': ' + row['why'] if row['why'] else ''}")
            lines += [f"    - {side}: `{row[key][:300]}`" for side, key in (("here", "ours"), ("there", "theirs")) if row[key]]
    return "\n".join(lines).strip() + "\n"
