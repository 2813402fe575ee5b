"""The explorer's data as one JSON object; `FORMAT` names its form."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from adjoint.explorer.lines import Line
from adjoint.explorer.stages import Explored, Stage
from adjoint.explorer.tables import Shared
from adjoint.runtime.inspection.origins import is_gradient

__all__ = ["FORMAT", "as_json"]

FORMAT: Final = "adjoint-explorer 1"


def as_json(program: Explored, title: str, arguments: str) -> dict[str, Any]:
    """Return all that the page shows, as an object for `json.dumps`.

    title      the name of the program
    arguments  the types of its inputs
    """
    whole = program.identities.whole()
    tokens, texts, lists = Shared(), Shared(), Shared()
    numbers: dict[Line, tuple[int, ...]] = {}
    for stage in program.stages:
        for line in stage.lines:
            if texts.saw(line.text):
                for token in line.text:
                    tokens.saw(token)
            if line.chains:
                found = dict.fromkeys(program.identities.id(chain) for chain in line.chains)
                found.update((number, None) for chain in line.chains for number in whole.get(chain, ()))
                numbers[line] = tuple(found)
                lists.saw(numbers[line])
    stages = [_stage(stage, tokens, texts, lists, numbers) for stage in program.stages]
    places = {program.identities.id(chain): place for chain, place in program.places.of_chains().items()}
    return {
        "format": FORMAT, "title": title, "arguments": arguments, "version": sys.modules["adjoint"].__version__, "notes": program.notes,
        "files": program.files.as_json(), "cells": program.cells.rows, "locations": program.places.rows,
        "places": [places.get(number, -1) for number in range(max(places, default=-1) + 1)],
        "tokens": tokens.rows, "texts": [[tokens.written(token) for token in text] for text in texts.rows], "ids": lists.rows,
        "stages": stages,
    }


def _stage(stage: Stage, tokens: Shared, texts: Shared, lists: Shared, numbers: Mapping[Line, tuple[int, ...]]) -> dict[str, Any]:
    lines: list[dict[str, Any]] = []
    for line in stage.lines:
        text = texts.written(line.text)
        made: dict[str, Any] = {"text": text if isinstance(text, int) else [tokens.written(token) for token in text]}
        if line in numbers:
            made["id"] = lists.written(numbers[line])
        if line.at >= 0:
            made["at"] = line.at
        if line.cell >= 0:
            made["cell"] = line.cell
        if line.node is not None and is_gradient(line.node.loc):
            made["backward"] = True
        if line.hook:
            made["hook"] = True
        if line.value:
            made["value"] = line.value
        if line.type:
            made["type"] = line.type
        lines.append(made | line.more)
    found = stage.changes
    return {
        "name": stage.name, "kind": stage.kind, "column": stage.column, "title": stage.title, "about": stage.about,
        "notes": list(stage.notes), "lines": lines,
        "changes": None if found is None else {"from": stage.former, "removed": found.removed, "added": found.added},
    }
