"""The directory from which compiled code is loaded: nobody else can place code in it."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cffi import FFI
from compilers import REAL, needs_compiler

from adjoint.codegen import loading, private_folder
from adjoint.codegen.cache import Store
from adjoint.codegen.private_folder import PrivateFolder, UntrustedError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
OURS, THEIRS = 61234, 61235
"""Two users, neither of them root."""


def others_may_read(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)


def others_may_write(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def a_link(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "elsewhere")


def a_link_inside(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder.parent / "elsewhere").mkdir(mode=0o700)
    (folder / "library").symlink_to(folder.parent / "elsewhere")


def a_file(folder: Path) -> None:
    folder.write_text("")


@pytest.mark.parametrize(("prepare", "reason"), [
    (others_may_read, "has mode 0755, must be 0700"),
    (others_may_write, "has mode 0777, must be 0700"),
    (a_link, "is a link"),
    (a_link_inside, "is a link"),
    (a_file, "is not a directory"),
])
def test_untrusted_directories_are_passed_over(prepare, reason: str, cache: Path, tmp_path: Path) -> None:
    cache.mkdir()
    prepare(cache / "kernels")
    refused: list[str] = []
    assert next(Store.candidates(refused)).root == tmp_path / "xdg/adjoint/kernels"
    assert len(refused) == 1
    assert refused[0].startswith(str(cache / "kernels"))
    assert refused[0].endswith(reason)


@needs_root
def test_a_directory_of_another_user_is_passed_over(cache: Path, tmp_path: Path) -> None:
    (cache / "kernels").mkdir(parents=True, mode=0o700)
    os.chown(cache / "kernels", THEIRS, THEIRS)
    refused: list[str] = []
    assert next(Store.candidates(refused)).root == tmp_path / "xdg/adjoint/kernels"
    assert refused == [f"{cache / 'kernels'}: belongs to another user"]


def test_a_home_that_a_group_may_write_to_keeps_its_cache(cache: Path) -> None:
    """Only the directory itself must be private: its descriptor leads to no other."""
    cache.mkdir()
    cache.chmod(0o2775)
    assert next(Store.candidates()).root == cache / "kernels"


@needs_root
def test_files_of_another_user_are_not_read(cache: Path) -> None:
    store = next(Store.candidates())
    store.add_entry("a1", "unit.so")
    os.chown(store.root / "kernel/a1", THEIRS, THEIRS)
    assert store.entry("a1") is None


def library(path: Path, number: int) -> bytes:
    """A library whose function `answer` returns a number."""
    source = f'const char adjoint_table[] = "key answer\\n"; int answer(void) {{ return {number}; }}'
    subprocess.run([str(REAL), "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)], input=source.encode(), check=True)
    return path.read_bytes()


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A directory that another user owns and everybody may write to."""
    base = Path("/tmp", f"adjoint-test-{os.getpid()}-{os.urandom(4).hex()}")
    base.mkdir()
    base.chmod(0o777)
    yield base
    subprocess.run(["rm", "-rf", str(base)], check=True)


@needs_root
@needs_compiler
def test_another_user_cannot_exchange_the_code(shared: Path, tmp_path: Path) -> None:
    """The owner of the parent directory waits for our check, then replaces our directory by one with a library of the right name."""
    good, evil = library(tmp_path / "good.so", 42), library(tmp_path / "evil.so", 666)
    os.chown(shared, THEIRS, THEIRS)
    ready, go = os.pipe(), os.pipe()
    victim = os.fork()
    if victim == 0:
        status = 1
        try:
            os.setgid(OURS)
            os.setuid(OURS)
            store = Store(PrivateFolder.make(shared / "kernels"))
            store.folder.create("work/made", good)
            name = store.add_library("unit", "work/made")
            os.write(ready[1], name.encode())
            os.read(go[0], 1)
            loaded = loading.load(store, name)
            assert loaded is not None
            (answer,) = loaded.functions("key")
            assert FFI().cast("int (*)(void)", answer)() == 42
            try:
                Store(PrivateFolder.make(shared / "kernels"))
            except UntrustedError as refusal:
                assert str(refusal) == f"{shared}/kernels: belongs to another user"
                status = 0
        finally:
            os._exit(status)
    name = os.read(ready[0], 200).decode()
    attacker = os.fork()
    if attacker == 0:
        status = 1
        try:
            os.setgid(THEIRS)
            os.setuid(THEIRS)
            os.rename(shared / "kernels", shared / "before")
            (shared / "kernels/library").mkdir(parents=True, mode=0o755)
            (shared / "kernels/library" / name).write_bytes(evil)
            with pytest.raises(PermissionError):
                os.listdir(shared / "before")
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(attacker, 0)[1] == 0
    os.write(go[1], b".")
    assert os.waitpid(victim, 0)[1] == 0


def test_descriptors_that_were_closed_are_opened_again(cache: Path, tmp_path: Path) -> None:
    """Programs that become daemons close all descriptors; the number may then belong to another directory."""
    store = next(Store.candidates())
    store.add_entry("a1", "unit.so")
    other = os.open(tmp_path, os.O_RDONLY)
    os.dup2(other, store.folder._descriptor)
    assert store.entry("a1") == "unit.so"
    os.close(store.folder._descriptor)
    assert store.entry("a1") == "unit.so"
    os.close(other)


def test_a_directory_that_is_opened_to_others_is_trusted_no_more(cache: Path) -> None:
    store = next(Store.candidates())
    store.add_entry("a1", "unit.so")
    store.root.chmod(0o755)
    assert store.entry("a1") is None
    with pytest.raises(UntrustedError, match="mode 0755"):
        store.add_entry("b2", "unit.so")


def test_where_descriptors_have_no_names_the_parents_count(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_folder, "DESCRIPTORS", "")
    store = next(Store.candidates())
    assert store.root == cache / "kernels"
    assert store.folder.place("library/x") == f"{cache}/kernels/library/x"
    cache.chmod(0o775)
    refused: list[str] = []
    assert next(Store.candidates(refused)).root == tmp_path / "xdg/adjoint/kernels"
    assert refused == [f"{cache}/kernels: others can write to {cache} (mode 0775)"]
    cache.chmod(0o1777)  # as /tmp: nobody can exchange what is another's
    assert next(Store.candidates()).root == cache / "kernels"
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700
