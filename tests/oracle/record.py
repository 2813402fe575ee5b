"""Asks MindSpore for facts and writes them beside this file as JSON. Needs mindspore; the tests need only the JSON.

python tests/oracle/record.py             every file
python tests/oracle/record.py promotion   one of them
"""

# pyright: reportMissingImports=false

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("GLOG_v", "3")

import mindspore as ms
import record_cells
import record_copying
import record_errors
import record_everyday
import record_gradients
import record_initializers
import record_layers
import record_layouts
import record_losses
import record_matrices
import record_members
import record_mindrecord
import record_names
import record_naming
import record_numpy
import record_picking
import record_promotion
import record_repr
import record_schedules
import record_sequences
import record_signatures
import record_steps
import record_training

RECORDERS = {
    "signatures": record_signatures.record,
    "promotion": record_promotion.record,
    "initializers": record_initializers.record,
    "gradients": record_gradients.record,
    "repr": record_repr.record,
    "errors": record_errors.record,
    "cells": record_cells.record,
    "layers": record_layers.record,
    "layouts": record_layouts.record,
    "losses": record_losses.record,
    "matrices": record_matrices.record,
    "mindrecord": record_mindrecord.record,
    "naming": record_naming.record,
    "copying": record_copying.record,
    "numpy": record_numpy.record,
    "sequences": record_sequences.record,
    "picking": record_picking.record,
    "everyday": record_everyday.record,
    "steps": record_steps.record,
    "schedules": record_schedules.record,
    "training": record_training.record,
    "names": record_names.record,
    "kinds": record_names.record_kinds,
    "members": record_members.record,
}
ELSEWHERE = {"names": "../../adjoint/compat"}
"""Facts that are part of the package: the folder to write them to."""


def rows(value: object, depth: int) -> str:
    """JSON text that spreads the outer `depth` levels over lines, so that one fact is one line."""
    if depth == 0 or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {rows(item, depth - 1)}" for key, item in value.items()]
        left, right = "{", "}"
    else:
        items = [rows(item, depth - 1) for item in value]
        left, right = "[", "]"
    inner = ",\n".join(items).replace("\n", "\n ")
    return f"{left}\n {inner}\n{right}"


def main() -> None:
    folder = Path(__file__).resolve().parent
    os.chdir(tempfile.mkdtemp())  # MindSpore leaves files in the working directory
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
    ms.runtime.launch_blocking()
    for name in sys.argv[1:] or RECORDERS:
        facts = {"mindspore": ms.__version__, **RECORDERS[name]()}
        (folder / ELSEWHERE.get(name, ".") / f"{name}.json").write_text(rows(facts, depth=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
