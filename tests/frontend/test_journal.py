"""Changes inside of branches: recorded, undone, and made again."""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from types import CellType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adjoint.foundation.diagnostics import At
from adjoint.frontend.changes.journal import AttributePlace, CellPlace, ContentsPlace, ItemPlace, Journal, NamesPlace, ObjectPlace


def test_changes_of_a_branch_are_undone() -> None:
    journal, items, names, holder, cell, space = Journal(), [1, 2], {"a": 1}, SimpleNamespace(x=1), CellType(5), {"g": 1}
    journal.open()
    journal.touch(ContentsPlace(items))
    items.append(3)
    journal.write(NamesPlace(names), {"a": 2, "b": 3})
    journal.write(AttributePlace(holder, "x"), 2)
    journal.write(AttributePlace(holder, "new"), 3)
    journal.write(CellPlace(cell), 6)
    journal.write(ItemPlace(space, "g"), 2)
    journal.write(ItemPlace(space, "new"), 3)
    assert (items, names, holder.x, holder.new, cell.cell_contents, space) == ([1, 2, 3], {"a": 2, "b": 3}, 2, 3, 6, {"g": 2, "new": 3})
    changes = journal.close()
    assert (items, names, vars(holder), cell.cell_contents, space) == ([1, 2], {"a": 1}, {"x": 1}, 5, {"g": 1})
    assert len(changes) == 7


def test_a_branch_goes_on_where_it_ended() -> None:
    journal, items = Journal(), [1]
    journal.open()
    journal.touch(ContentsPlace(items))
    items.append(2)
    changes = journal.close()
    journal.open(changes)
    assert items == [1, 2]
    items.append(3)
    ((_, before, after),) = journal.close().values()
    assert (items, before, after) == ([1], [1], [1, 2, 3])


def test_the_very_object_keeps_its_contents() -> None:
    journal, names = Journal(), {"a": 1}
    again = names
    journal.open()
    journal.write(NamesPlace(names), {"b": 1})
    journal.close()
    assert again is names and names == {"a": 1}


def test_what_is_as_before_is_no_change() -> None:
    journal, value, items = Journal(), object(), [1]
    names = {"a": value}
    journal.open()
    journal.touch(NamesPlace(names))
    names["b"] = 1
    del names["b"]
    journal.touch(ContentsPlace(items))
    items.append(items.pop())
    assert journal.close() == {}


def test_what_a_branch_has_made_is_its_own() -> None:
    journal, made = Journal(), [1]
    journal.open()
    journal.born(ContentsPlace(made))
    journal.touch(ContentsPlace(made))
    made.append(2)
    assert journal.close() == {} and made == [1, 2]


def test_what_an_inner_branch_has_made_belongs_to_the_outer_one_after_it() -> None:
    journal, made = Journal(), [1]
    journal.open()
    journal.open()
    journal.born(ContentsPlace(made))
    journal.close()
    journal.touch(ContentsPlace(made))
    made.append(2)
    assert journal.close() == {}


def test_branches_in_branches() -> None:
    journal, items = Journal(), [1]
    journal.open()
    journal.touch(ContentsPlace(items))
    items.append(2)
    journal.open()
    journal.touch(ContentsPlace(items))
    items.append(3)
    inner = journal.close()
    assert items == [1, 2]
    for place, _, after in inner.values():
        journal.write(place, after)
    assert items == [1, 2, 3]
    ((_, before, after),) = journal.close().values()
    assert (items, before, after) == ([1], [1], [1, 2, 3])


def test_places_that_did_not_exist() -> None:
    journal, holder = Journal(), SimpleNamespace()
    journal.open()
    journal.write(AttributePlace(holder, "x"), 1)
    journal.write(AttributePlace(holder, "x"), 2)
    changes = journal.close()
    assert not vars(holder)
    journal.open(changes)
    assert holder.x == 2
    journal.close()


def test_sets_and_dicts() -> None:
    journal, items, table = Journal(), {1}, {"a": 1}
    journal.open()
    for container in (items, table):
        journal.touch(ContentsPlace(container))
    items.add(2)
    table.clear()
    assert {repr(after) for _, _, after in journal.close().values()} == {"{1, 2}", "{}"}
    assert (items, table) == ({1}, {"a": 1})


def test_everything_touched_is_remembered_with_its_first_state() -> None:
    places = iter([At("f.py", 1, 1), At("f.py", 2, 1)])
    journal, items, names = Journal(lambda: next(places)), [1], {"a": 1}
    journal.touch(ContentsPlace(items))
    items.append(2)
    journal.touch(ContentsPlace(items))
    journal.touch(NamesPlace(names))
    ((_, before, loc),) = journal.touched.values()
    assert (before, loc) == ([1], At("f.py", 1, 1))


@pytest.mark.parametrize("container", [
    deque([1, 2], 2), defaultdict(int, {1: 2}), bytearray(b"ab"), array("d", [1, 2]), np.ones((2, 2)), np.array([1, None], object)])
def test_contents_of_any_container_are_put_back(container: Any) -> None:
    journal, place = Journal(), ContentsPlace(container)
    before = place.get()
    journal.open()
    journal.touch(place)
    container[1] = 7
    ((_, first, last),) = journal.close().values()
    np.testing.assert_equal((first, place.get()), (before, before))
    place.set(last)
    assert np.all(container[1] == 7)


def test_attributes_of_an_object_made_in_a_branch_are_no_changes() -> None:
    journal, outer, inner = Journal(), SimpleNamespace(), SimpleNamespace()
    journal.open()
    journal.born(ObjectPlace(inner))
    journal.write(AttributePlace(outer, "x"), 1)
    journal.write(AttributePlace(inner, "x"), 1)
    assert list(journal.close()) == [AttributePlace(outer, "x").key]
    assert vars(inner) == {"x": 1} and vars(outer) == {}
