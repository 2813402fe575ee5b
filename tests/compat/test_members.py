"""The members of classes against the record of MindSpore 2.10: which are here, of which kind, and what the missing ones say."""

from __future__ import annotations

import inspect
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from adjoint import Parameter, Tensor, nn, ops
from adjoint.compat import install, paths
from adjoint.foundation.diagnostics import MissingMember

install()

ROOT = Path(__file__).parents[2]
MEMBERS = runpy.run_path(str(ROOT / "docs" / "members.py"))
RECORD: dict[str, Any] = json.loads((ROOT / "tests" / "oracle" / "members.json").read_text(encoding="utf-8"))
ROWS: list[Any] = MEMBERS["rows"]()

OTHER_KINDS = {"Tensor.type": "the type, which can be called"}
"""Members that are called in MindSpore and none of ours, or the other way round, with the reason."""
OTHER_BASES = {
    "TensorType": "types of values are no dtypes here",
    "Int": "a class for `isinstance`: all dtypes are of one class here",
    **dict.fromkeys(("dataset.NumpySlicesDataset", "dataset.PaddedDataset", "dataset.SVHNDataset", "dataset.OBSMindDataset"),
                    "it reads without a generator"),
    **dict.fromkeys(("mint.optim.Adam", "mint.optim.AdamW", "mint.optim.SGD"), "an optimiser of `nn`, whose step is fused"),
    "ops.Conv2DTranspose": "the gradient of Conv2D is an operator of its own",
}
"""Classes that are not derived from our class of the base that they have in MindSpore, with the reason."""


def test_the_record_is_of_the_version_that_programs_see() -> None:
    assert RECORD["mindspore"] == paths.VERSION
    assert len(ROWS) > 1000 and {"Tensor", "Parameter", "nn.Cell", "ops.Primitive", "Model"} <= {row.place for row in ROWS}


def test_members_are_of_the_same_kind() -> None:
    """What is called in MindSpore is called here, and what is read is read."""
    wrong: set[str] = set()
    for row in ROWS:
        for name in row.here:
            found = inspect.getattr_static(row.kind, name, None)
            if found is None:
                continue  # set by `__init__`, or a dynamic attribute of the class
            called = callable(getattr(row.kind, name, None)) and not isinstance(found, property)
            if called != (name in row.methods):
                wrong.add(f"{row.place}.{name}")
    assert wrong == set(OTHER_KINDS)


def test_classes_are_derived_from_those_that_they_have_as_base() -> None:
    """A program may ask `isinstance(loss, nn.LossBase)`."""
    apart = {row.place for row in ROWS if row.base and (base := MEMBERS["ours"](row.base)) and not issubclass(row.kind, base)}
    assert apart == set(OTHER_BASES)


@pytest.mark.parametrize(("place", "kind"), [
    ("Tensor", Tensor), ("Parameter", Parameter), ("nn.Cell", nn.Cell), ("ops.Primitive", ops.Primitive)])
def test_ways_out_are_those_of_members_that_are_missing(place: str, kind: type) -> None:
    """What a class says about a member is neither about one that it has, nor about one that MindSpore lacks."""
    theirs = {name for row in RECORD["members"].values() for part in ("methods", "values") for name in row.get(part, "").split()}
    told = {name for name, value in vars(kind).items() if isinstance(value, MissingMember)}
    if kind in (nn.Cell, ops.Primitive):
        told |= set(vars(sys.modules[kind.__module__])["INSTEAD"])
    assert told and told <= theirs
    assert not [name for name in told if MEMBERS["is_here"](kind, name)]
    for row in ROWS:
        if row.place == place:
            assert all(MEMBERS["way_out"](kind, name) is not None for name in told & set(row.missing))


def test_what_is_missing_is_not_there() -> None:
    """Reading raises an AttributeError, of which `hasattr` and programs with a way of their own make something."""
    for row in ROWS:
        for name in row.missing:
            assert not hasattr(row.kind, name), f"{row.place}.{name}"
    assert not [row.place for row in ROWS if row.missing and set(row.missing) & set(row.here)]
