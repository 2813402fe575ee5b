"""The store of libraries: what it trusts, what it refuses, and that nothing it finds can do harm."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.codegen.cache import Entry, Store


def first(refused: list[str] | None = None) -> Store:
    return next(Store.candidates(refused))


def test_the_directory_is_ours_alone(cache: Path) -> None:
    store = first()
    assert store.root == cache / "kernels"
    for path in (store.root, *store.root.iterdir()):
        assert stat.S_IMODE(path.lstat().st_mode) == 0o700


def test_order_of_directories(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = [store.root for store in Store.candidates()]
    assert roots[:3] == [cache / "kernels", tmp_path / "xdg/adjoint/kernels", tmp_path / "home/.cache/adjoint/kernels"]
    monkeypatch.delenv("ADJOINT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    assert first().root == tmp_path / "home/.cache/adjoint/kernels"


def others_may_write(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)


def others_may_read_inside(cache: Path) -> None:
    (cache / "kernels").mkdir(parents=True)
    (cache / "kernels").chmod(0o755)


def link(cache: Path) -> None:
    (cache.parent / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(cache.parent / "elsewhere")


def link_inside(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    (cache.parent / "elsewhere").mkdir(mode=0o700)
    (cache / "kernels").symlink_to(cache.parent / "elsewhere")


def link_within(cache: Path) -> None:
    (cache / "kernels").mkdir(parents=True, mode=0o700)
    (cache.parent / "elsewhere").mkdir(mode=0o700)
    (cache / "kernels" / "library").symlink_to(cache.parent / "elsewhere")


def a_file(cache: Path) -> None:
    cache.write_text("")


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (others_may_write, "others can write to it"),
        (others_may_read_inside, "mode 0755"),
        (link, "is a link"),
        (link_inside, "is a link"),
        (link_within, "is a link"),
        (a_file, ""),
    ],
)
def test_untrusted_directories_are_passed_over(prepare, reason: str, cache: Path, tmp_path: Path) -> None:
    prepare(cache)
    refused: list[str] = []
    assert first(refused).root == tmp_path / "xdg/adjoint/kernels"
    assert len(refused) == 1
    assert str(cache) in refused[0]
    assert reason in refused[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_passed_over(cache: Path, tmp_path: Path) -> None:
    (cache / "kernels").mkdir(parents=True, mode=0o700)
    os.chown(cache / "kernels", 65534, 65534)
    refused: list[str] = []
    assert first(refused).root == tmp_path / "xdg/adjoint/kernels"
    assert "belongs to another user" in refused[0]


def test_a_temporary_directory_is_the_last_resort(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("xdg", "home", "cache"):
        (tmp_path / name).write_text("in the way")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = first()
    assert store.temporary
    assert store.root.parent == tmp_path
    assert stat.S_IMODE(store.root.lstat().st_mode) == 0o700


def test_an_entry_is_found_again(cache: Path) -> None:
    first().add_entry("a1", Entry("unit.0f.so", ("f_1", "f_2")))
    assert first().entry("a1") == Entry("unit.0f.so", ("f_1", "f_2"))
    assert first().entry("b2") is None


@pytest.mark.parametrize(
    "content",
    ["", "unit.0f.so\nf", "../../evil.so\nf\n", "/evil.so\nf\n", ".evil\n", "\n", "unit.so\n\n", "unit.so\0\n", "\xff\n/"],
)
def test_bad_entries_are_not_found(content: str, cache: Path) -> None:
    store = first()
    (store.root / "kernel" / "a1").write_text(content)
    assert store.entry("a1") is None


def test_a_library_must_be_what_its_name_says(cache: Path) -> None:
    store = first()
    made = store.temporary_path("unit")
    made.write_bytes(b"content")
    name = store.add_library("unit-1", made)
    path = store.library(name)
    assert path is not None
    assert not made.exists()
    assert store.damaged() == []

    for change in (b"", b"conten", b"Content"):
        path.write_bytes(change)
        assert store.library(name) is None
    path.write_bytes(b"content")
    assert store.library(name) == path

    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))
    assert store.library(name) is None  # links are not followed
    path.unlink()
    path.mkdir()
    assert store.library(name) is None


def test_writing_is_whole_or_not_at_all(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = first()

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adjoint.codegen.cache.os.replace", full)
    with pytest.raises(OSError, match="space"):
        store.write("kernel/a1", "text\n")
    assert list((store.root / "kernel").iterdir()) == []


def test_usage_damage_and_clearing(cache: Path) -> None:
    store = first()
    made = store.temporary_path("unit")
    made.write_bytes(b"content")
    name = store.add_library("unit-1", made)
    store.add_entry("a1", Entry(name, ("f",)))
    store.add_entry("b2", Entry("gone.00.so", ("f",)))
    usage = store.usage()
    assert (usage.libraries, usage.kernels) == (1, 2)
    assert usage.bytes > 7
    assert store.damaged() == ["gone.00.so"]
    store.clear()
    assert store.usage().bytes == 0


def test_sweeping_removes_what_the_dead_left(cache: Path) -> None:
    store = first()
    old, new = store.temporary_path("old"), store.temporary_path("new")
    for path in (old, new):
        path.write_bytes(b"half a lib")
    os.utime(old, (1, 1))
    store.sweep()
    assert not old.exists()
    assert new.exists()


def test_usage_while_another_process_writes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary file that is listed, and has its name by the time its size is asked for, does not count."""
    store = first()
    gone = store.temporary_path("unit")
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda folder: [*listed(folder), *([gone] if folder == gone.parent else [])])
    assert store.usage().libraries == 0


TURNS = """
import os, sys
from pathlib import Path
from adjoint.codegen.cache import Store
store = Store(Path(sys.argv[1]))
count = Path(sys.argv[1], "count")
for _ in range(200):
    with store.turn("unit", lambda: False):
        count.write_text(str(int(count.read_text()) + 1))
"""


def test_processes_take_turns(cache: Path) -> None:
    store = first()
    (store.root / "count").write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", TURNS, str(store.root)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert (store.root / "count").read_text() == "600"
    assert list(store.root.glob("*/.*")) == []


def test_a_turn_is_done_without(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one who has given up, one who has waited long enough, and where nothing can be locked; a child that was forked holds none."""
    store = first()
    held, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with store.turn("unit", lambda: False):
            os.write(held[1], b".")
            os.read(done[0], 1)
        os._exit(0)
    os.read(held[0], 1)
    with store.turn("unit", lambda: True):
        pass
    monkeypatch.setattr("adjoint.codegen.cache.PATIENCE", 0.0)
    with store.turn("unit", lambda: False):
        pass
    os.write(done[1], b".")
    assert os.waitpid(child, 0)[1] == 0
    monkeypatch.setattr("os.open", lambda *_: (_ for _ in ()).throw(OSError("no files")))
    with store.turn("unit", lambda: False):
        pass
