"""Dataclasses of this package behave as the standard library's, and compile nothing when they are defined."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import math
import pickle
import re
import sys
from typing import Any

import pytest

from adjoint.foundation.dataclass import dataclass, field
from tests.test_layers import modules


@dataclass(frozen=True, slots=True)
class Frozen:
    """Frozen, with slots; pickled by name, so it is not local."""

    x: Any
    y: list[int] = field(default_factory=list, compare=False)
    z: float = 0.5


@pytest.fixture(params=[dataclasses.dataclass, dataclass], ids=["standard library", "ours"])
def made(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_fields_have_values_defaults_and_factories(made: Any) -> None:
    @made
    class Point:
        """A point."""

        x: int
        y: int = 2
        more: list[int] = field(default_factory=list)
        hidden: int = field(default=3, repr=False)

    first, second = Point(1), Point(1, more=[])
    assert (first.x, first.y, first.more, first.hidden) == (1, 2, [], 3) and first.more is not second.more
    first.more.append(4)
    assert first != second and repr(first).endswith("Point(x=1, y=2, more=[4])")
    assert dataclasses.replace(first, y=5) == Point(1, 5, [4])
    assert [f.name for f in dataclasses.fields(Point)] == ["x", "y", "more", "hidden"]
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) got an unexpected keyword argument 'z'"):
        Point(1, z=3)
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)


@pytest.mark.parametrize("slots", [False, True])
def test_frozen_instances_refuse_changes(made: Any, slots: bool) -> None:
    @made(frozen=True, slots=slots)
    class Fixed:
        """Fixed."""

        x: float

    one = Fixed(1.0)
    for change in (lambda: setattr(one, "x", 2.0), lambda: delattr(one, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
            change()
    assert one == Fixed(1.0) and hash(one) == hash(Fixed(1.0)) and one != Fixed(2.0) and one != 1.0
    missing = Fixed(math.nan)
    # As tuples compare elements, by identity first; the standard library does from Python 3.13 on without that.
    assert (missing == Fixed(missing.x)) is (made is dataclass or sys.version_info < (3, 13))
    assert hasattr(one, "__dict__") is not slots
    match one:
        case Fixed(x):
            assert x == 1.0
    assert copy.copy(one) == copy.deepcopy(one) == one


def test_instances_without_eq_are_compared_by_identity(made: Any) -> None:
    @made(frozen=True, eq=False)
    class Named:
        """Named."""

        name: str

    assert Named("a") != Named("a") and len({Named("a"), Named("a")}) == 2


def test_own_methods_are_kept_and_post_init_runs(made: Any) -> None:
    @made(frozen=True)
    class Own:
        """Own."""

        x: int

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("negative")

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    assert Own(1) == Own(2) and hash(Own(1)) == 7 and repr(Own(1)) == "own"
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            Own(-1)


def test_subclasses_begin_with_the_fields_of_their_base(made: Any) -> None:
    @made(frozen=True)
    class Base:
        """Base."""

        x: int

    @made(frozen=True)
    class Further(Base):
        """Further."""

        y: int = 2

    class Plain(Base):
        """Not a dataclass itself: it refuses changes of its base's fields, and has others."""

    assert repr(Further(1)).endswith("Further(x=1, y=2)") and Further(1) != Base(1)
    plain = Plain(1)
    plain.other = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.x = 2
    assert plain != Base(1)


def test_an_instance_that_holds_itself_is_shown(made: Any) -> None:
    @made
    class Loop:
        """A loop."""

        x: Any = None

    loop = Loop()
    loop.x = loop
    assert repr(loop).endswith("Loop(x=...)")


@pytest.mark.parametrize("option", [{"init": False, "default": 1}, {"kw_only": True}], ids=str)
def test_a_field_that_is_no_argument_by_position_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"the field .*Point\.x must be an argument by position"):

        @dataclass
        class Point:
            """A point."""

            x: int = dataclasses.field(**option)


def test_a_frozen_instance_with_slots_is_pickled() -> None:
    one = Frozen(1, [2])
    again = pickle.loads(pickle.dumps(one))
    assert again == one and again.y == [2]


def test_nothing_is_compiled_before_the_first_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    real = builtins.exec
    monkeypatch.setattr(builtins, "exec", lambda text, *rest: (ran.append(text), real(text, *rest)))

    @dataclass(frozen=True, slots=True)
    class Late:
        """Late."""

        x: int = 1

    # Python 3.13 compiles an empty function for a class for which it has to write no method.
    assert [text.split() for text in ran] == [["def", "__create_fn__():", "return", "()"]] * (sys.version_info >= (3, 13))
    ran.clear()
    assert Late() == Late(1) and len(ran) == 1


def test_all_dataclasses_of_this_package_are_these() -> None:
    theirs = re.compile(r"from dataclasses import .*\bdataclass\b|@dataclasses\.dataclass")
    assert [module for module, path in modules().items() if theirs.search(path.read_text(encoding="utf-8"))] == []
