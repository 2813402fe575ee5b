"""The cache of libraries: its location, what it keeps and for how long, and that damaged files in it do no harm."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cffi import FFI
from compilers import REAL, needs_compiler, script
from toy_ops import Add, alone, lowered, vector

from adjoint.codegen.cache import Store, size_limit
from adjoint.codegen.compile import KernelCache
from adjoint.codegen.private_folder import PrivateFolder
from adjoint.codegen.toolchain import NoCompiler
from adjoint.codegen.workshop import Workshop, load_runtime
from adjoint.ir.types import F32, F64, I32


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


def test_a_temporary_directory_is_the_last_resort(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("xdg", "home", "cache"):
        (tmp_path / name).write_text("in the way")
    refused: list[str] = []
    store = first(refused)
    assert store.temporary
    assert store.root.parent == tmp_path
    assert stat.S_IMODE(store.root.lstat().st_mode) == 0o700
    assert len(refused) == 3
    for reason, name in zip(refused, ("cache", "xdg", "home"), strict=True):
        assert reason.startswith(str(tmp_path / name))


KILLED = """
import os, sys
from adjoint.codegen.cache import Store
print(list(Store.candidates())[-1].root, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_temporary_directory_of_a_killed_process_is_removed(cache: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    stores = list(Store.candidates())
    assert not left.exists()
    again = list(Store.candidates())
    assert all(store.root.is_dir() for store in (*stores, *again))  # those of a process that lives stay


def add(store: Store, unit: str, content: bytes, *keys: str) -> str:
    """Add a library with its source and the entries of these kernels; return its name."""
    with store.scratch.new_folder() as work:
        store.folder.create(f"{work}/made", content)
        name = store.add_library(unit, f"{work}/made")
    store.write(f"library/{unit}.c", "text")
    for key in keys:
        store.add_entry(key, name)
    return name


# ---- entries and libraries


def test_an_entry_is_found_again(cache: Path) -> None:
    first().add_entry("a1", "unit.0f.so")
    assert first().entry("a1") == "unit.0f.so"
    assert first().entry("b2") is None
    first().accept_flags("c3", ("-mavx", "-mfma"))
    first().accept_flags("d4", ())
    assert first().accepted_flags("c3") == ("-mavx", "-mfma")
    assert first().accepted_flags("d4") == ()
    assert first().accepted_flags("a2") is None


@pytest.mark.parametrize("library", ["../../evil.so", "/evil.so", ".evil", "", "a\\b", "unit.so\0"])
def test_an_entry_names_no_path(library: str, cache: Path) -> None:
    store = first()
    store.add_entry("a1", library)
    assert store.entry("a1") is None


@pytest.mark.parametrize("change", [
    lambda text: "", lambda text: text[:-1] + "0", lambda text: text[:20], lambda text: text.replace("unit", "Unit"),
    lambda text: "\n" + text, lambda text: "\xff\n/", lambda text: "\n".join(text.split("\n")[::-1]),
])
def test_an_altered_entry_is_not_found(change: Any, cache: Path) -> None:
    store = first()
    store.add_entry("a1", "unit.0f.so")
    path = store.root / "kernel" / "a1"
    path.write_text(change(path.read_text()))
    assert store.entry("a1") is None
    assert store.damaged() == ["kernel/a1"]


def test_an_entry_is_bound_to_its_key(cache: Path) -> None:
    store = first()
    store.add_entry("a1", "unit.0f.so")
    store.accept_flags("c3", ("-mavx",))
    (store.root / "kernel/a1").rename(store.root / "kernel/b2")
    (store.root / "toolchain/c3").rename(store.root / "toolchain/d4")
    assert store.entry("b2") is None
    assert store.accepted_flags("d4") is None


def test_a_library_must_be_what_its_name_says(cache: Path) -> None:
    store = first()
    name = add(store, "unit-1", b"content", "a1")
    path = store.root / "library" / name
    assert store.library(name) == b"content"
    assert store.damaged() == []

    for change in (b"", b"conten", b"Content"):
        path.write_bytes(change)
        assert store.library(name) is None
        assert store.damaged() == ["kernel/a1", f"library/{name}"]
    path.write_bytes(b"content")
    assert store.library(name) == b"content"

    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))
    assert store.library(name) is None  # links are not followed
    path.unlink()
    path.mkdir()
    assert store.library(name) is None


def test_writing_is_whole_or_not_at_all(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = first()

    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adjoint.codegen.private_folder.os.replace", full)
    with pytest.raises(OSError, match="space"):
        store.write("kernel/a1", "text\n")
    assert [path for path in store.root.rglob("*") if path.is_file()] == []


# ---- how much it keeps


def test_usage_and_clearing(cache: Path) -> None:
    store = first()
    add(store, "unit-1", b"content", "a1", "b2")
    usage = store.usage()
    assert (usage.libraries, usage.kernels) == (1, 2)
    assert usage.bytes > 7
    store.clear()
    assert store.usage().bytes == 0


def test_what_was_not_used_for_longest_goes_first(cache: Path) -> None:
    """The least recently used library is removed with its source and entries; the newest one stays, however large."""
    store = first()
    names = [add(store, f"unit-{number}", bytes(1000) + str(number).encode(), f"a{number}") for number in range(4)]
    for number, name in enumerate(names):
        for path in (store.root / "library" / name, store.root / "library" / f"unit-{number}.c", store.root / "kernel" / f"a{number}"):
            os.utime(path, (1000 * number, 1000 * number))
    store.used(names[0])
    assert (store.root / "library" / names[0]).stat().st_mtime > 1e9
    store.tidy(store.usage().bytes)
    assert store.usage().libraries == 4
    store.tidy(store.usage().bytes - 1)  # down to four fifths of it
    assert [store.entry(f"a{number}") is not None for number in range(4)] == [True, False, True, True]
    assert not (store.root / "library" / "unit-1.c").exists()
    store.tidy(1)
    assert [path.name for path in (store.root / "library").iterdir() if path.suffix == ".so"] == [names[0]]


def test_the_limit_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert size_limit() == 500_000_000
    monkeypatch.setenv("ADJOINT_CACHE_BYTES", "3000000")
    assert size_limit() == 3_000_000
    for text in ("0", "-1", "much", "1.5", "²"):
        monkeypatch.setenv("ADJOINT_CACHE_BYTES", text)
        with pytest.raises(ValueError, match="ADJOINT_CACHE_BYTES must be a positive number of bytes, but got"):
            size_limit()


@needs_compiler
def test_the_limit_holds_while_kernels_are_made(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOINT_CACHE_BYTES", str(2**20))
    store = first()
    old = add(store, "old", os.urandom(2**20), "a1")
    os.utime(store.root / "library" / old, (1, 1))
    kernels = KernelCache(FFI(), Workshop.open())
    kernels.get(alone(lowered(Add(), vector(F32, 3), vector(F32, 3))))
    assert store.library(old) is None
    assert 0 < store.usage().bytes < 2**20


def test_usage_while_another_process_writes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is removed between listing and reading its size does not count."""
    store = first()
    monkeypatch.setattr(PrivateFolder, "names", lambda folder, name: ["gone.so"])
    assert store.usage().libraries == 0


# ---- temporary files


LEFT = """
import os, sys
from pathlib import Path
from adjoint.codegen.cache import Store
from adjoint.codegen.private_folder import PrivateFolder
store = Store(PrivateFolder(Path(sys.argv[1])))
with store.scratch.new_folder() as work, store.scratch.turn("unit", lambda: False):
    store.folder.create(f"{work}/half", b"half a library")
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(1)
"""


def test_files_of_ended_processes_are_removed(cache: Path) -> None:
    """Files left by ended processes are removed; those of running processes, and of other stores and threads, stay."""
    store, other = first(), first()
    with subprocess.Popen([sys.executable, "-c", LEFT, str(store.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        with other.scratch.new_folder() as work, other.scratch.turn("other", lambda: False):
            names = sorted(os.listdir(store.root / "work"))
            assert len(names) == 6
            store.scratch.sweep()
            assert sorted(os.listdir(store.root / "work")) == names
            process.stdin.close()
            process.wait()
            store.scratch.sweep()
            assert sorted(os.listdir(store.root / "work")) == sorted([Path(work).name, f"{Path(work).name}.owner", "other.turn"])
    assert os.listdir(store.root / "work") == []


def test_without_locks_age_decides(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjoint.codegen.locks.fcntl", None)
    store = first()
    with store.scratch.turn("unit", lambda: False), store.scratch.new_folder() as work:
        store.folder.create(f"{work}/half", b"")
        (store.root / "work" / "old").mkdir()
        os.utime(store.root / "work" / "old", (1, 1))
        store.scratch.sweep()
        assert os.listdir(store.root / "work") == [Path(work).name]


TURNS = """
import os, sys
from pathlib import Path
from adjoint.codegen.cache import Store
from adjoint.codegen.private_folder import PrivateFolder
store = Store(PrivateFolder(Path(sys.argv[1])))
count = Path(sys.argv[1], "count")
for _ in range(50):
    with store.scratch.turn("unit", lambda: False):
        count.write_text(str(int(count.read_text()) + 1))
"""


def test_processes_take_turns(cache: Path) -> None:
    store = first()
    (store.root / "count").write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", TURNS, str(store.root)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert (store.root / "count").read_text() == "150"
    assert list((store.root / "work").iterdir()) == []


def test_work_goes_on_without_the_lock(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work goes on without a lock after cancelling, after the time limit, and where locks are not possible; a forked child holds none."""
    store = first()
    held, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with store.scratch.turn("unit", lambda: False):
            os.write(held[1], b".")
            os.read(done[0], 1)
        os._exit(0)
    os.read(held[0], 1)
    with store.scratch.turn("unit", lambda: True):
        pass
    monkeypatch.setattr("adjoint.codegen.scratch.PATIENCE", 0.0)
    with store.scratch.turn("unit", lambda: False):
        pass
    os.write(done[1], b".")
    assert os.waitpid(child, 0)[1] == 0
    monkeypatch.setattr("os.open", lambda *_, **__: (_ for _ in ()).throw(OSError("no files")))
    with store.scratch.turn("unit", lambda: False):
        pass


# ---- directories that are full, read-only, or not to run anything from


def mount(place: Path, options: str) -> None:
    """Mount a file system in memory; this needs root, and is not possible everywhere."""
    place.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("nothing can be mounted here")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Any]:
    """Mounts a file system with options at a place in tmp_path."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    places: list[Path] = []

    def at(name: str, options: str) -> Path:
        mount(tmp_path / name, options)
        places.append(tmp_path / name)
        return tmp_path / name

    yield at
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=False)


def use(workshop: Workshop) -> None:
    """Make and load a kernel and the run-time library."""
    ffi = FFI()
    load_runtime(ffi, workshop)
    KernelCache(ffi, workshop).get(alone(lowered(Add(), vector(F32, 3), vector(F32, 3))))


@needs_compiler
@pytest.mark.parametrize(("options", "reason"), [
    ("size=4k", "No space left on device"),
    ("size=20k", "No space left on device"),
    ("size=10m,nr_inodes=12", "No space left on device"),
    ("ro", "Read-only file system"),
    ("noexec", "noexec"),
])
def test_the_next_directory_is_used(options: str, reason: str, mounted: Any, cache: Path, tmp_path: Path) -> None:
    """If the directory is full at once or when the probe is linked, has no room for more files, is read-only or noexec, it is reported and
    skipped."""
    mounted("cache", options)
    with pytest.warns(UserWarning, match=rf"ADJOINT_CACHE_DIR is not used, .*/xdg/adjoint/kernels is: .*/cache.*: .*{reason}") as said:
        workshop = Workshop.open()
    assert len(said) == 1
    assert workshop.tried == []
    use(workshop)
    assert workshop.store.root == tmp_path / "xdg/adjoint/kernels"


@needs_compiler
def test_a_directory_that_fills_up_means_another(mounted: Any, cache: Path, tmp_path: Path) -> None:
    place = mounted("cache", "size=1m")
    workshop = Workshop.open()
    assert workshop.store.root == cache / "kernels"
    with pytest.raises(OSError, match="space"):
        (place / "filler").write_bytes(bytes(2**21))
    with pytest.warns(UserWarning, match="ADJOINT_CACHE_DIR is not used.*: No space left on device"):
        use(workshop)
    assert workshop.store.root == tmp_path / "xdg/adjoint/kernels"


@needs_compiler
def test_a_directory_that_is_named_while_the_compiler_is_tried(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another thread: the one that was chosen before is used, and nothing is said."""
    monkeypatch.setattr(Workshop, "runtime", lambda self: monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "another")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Workshop.open(with_runtime=True).store.root == cache / "kernels"


@needs_compiler
def test_a_directory_that_fills_up_during_compilation(mounted: Any, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second compiler uses the directory that the first one switched to; one warning reports both."""
    place = mounted("cache", "size=1m")
    fill = f"head -c 2000000 /dev/zero > {place}/filler 2> {tmp_path}/said; echo no >&2; exit 1"
    monkeypatch.setenv("CC", str(script(tmp_path / "fills", f'case "$*" in *runtime*) {fill};; esac; exec {REAL} "$@"')))
    with pytest.warns(UserWarning, match=r"fills: it cannot compile .* \(no\).*ADJOINT_CACHE_DIR is not used.*No space") as said:
        workshop = Workshop.open(with_runtime=True)
    assert len(said) == 1
    assert workshop.store.root == tmp_path / "xdg/adjoint/kernels"


@needs_compiler
def test_a_directory_with_every_fault(mounted: Any, cache: Path, tmp_path: Path) -> None:
    """In a full, read-only and noexec directory, libraries are loaded from memory, and found again."""
    mounted("cache", "size=4k")
    mounted("xdg", "ro")
    mounted("home", "noexec")
    with pytest.warns(UserWarning, match="ADJOINT_CACHE_DIR is not used.*/cache.*: No space.*/xdg.*: Read-only.*noexec") as said:
        workshop = Workshop.open()
    assert len(said) == 1
    use(workshop)
    assert workshop.store.root == tmp_path / "home/.cache/adjoint/kernels"
    assert not workshop.store.executable
    maps = Path("/proc/self/maps").read_text()
    assert "memfd:toy_add" in maps
    with pytest.warns(UserWarning, match="ADJOINT_CACHE_DIR"):
        again = Workshop.open()
    again.toolchain = None  # pyright: ignore[reportAttributeAccessIssue] - nothing is compiled
    use(again)


@needs_compiler
def test_libraries_in_memory_are_told_apart(cache: Path) -> None:
    """Libraries loaded from memory are distinct although their files have the same descriptor number one after the other."""
    workshop = Workshop.open()
    workshop.store.executable = False
    kernels = KernelCache(FFI(), workshop)
    for dtype in (F32, F64, I32):
        kernel = alone(lowered(Add(), vector(dtype, 3), vector(dtype, 3)))
        assert kernels.get(kernel)
    assert len({id(library.handle) for library in workshop._libraries.values()}) == 3


def test_no_directory_at_all(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "candidates", classmethod(lambda cls, refused: iter(refused.append("/cache: Read-only file system") or ())))
    with pytest.raises(NoCompiler, match="These directories cannot be used for compiled kernels: /cache: Read-only file system"):
        Workshop.open()
