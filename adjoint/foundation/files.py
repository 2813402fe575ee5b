"""Write files for the user: a file appears complete or not at all, and an error names it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

__all__ = ["put_new", "write_file", "write_files"]


def write_file(path: str, parts: Iterable[bytes], put: Callable[[str, str], None] | None = None, *, durable: bool = False) -> None:
    """Write a file atomically: under another name in its directory, then renamed.  A pipe or a device is written to directly.

    parts    the bytes of the file, in order
    put      the function that renames the written file: `os.replace` by default, or `put_new`
    durable  True if the file must be complete even after a power failure
    OSError with the name of the file, if it cannot be written: then an older file of that name is unchanged, and no other file is left.
    """
    direct = os.path.exists(path) and not os.path.isfile(path)
    temporary = path if direct else f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        with open(temporary, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            if durable and not direct:
                os.fsync(stream.fileno())
        if not direct:
            (put or os.replace)(temporary, path)
    except BaseException as failed:
        if not direct and os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(failed, OSError) and failed.errno is not None:
            # Of a failing write Python does not say the file; of others it says the temporary one.
            raise OSError(failed.errno, failed.strerror, path) from None
        raise


def put_new(temporary: str, path: str) -> None:
    """Rename a file.  FileExistsError if the new name exists."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links: create the name first, then write the contents.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            os.replace(temporary, path)
        except BaseException:
            os.unlink(path)
            raise
    else:
        os.unlink(temporary)


def write_files(contents: Mapping[str, bytes], *, force: bool, owner: str) -> None:
    """Write several files, or none: all under other names first, then renamed.  Folders are made where there are none.

    contents  by path
    force     whether files that exist are overwritten; False: FileExistsError
    owner     the public function, for messages

    OSError with the name of the file that cannot be written.
    """
    there = [path for path in contents if os.path.lexists(path)]
    if there and not force:
        raise FileExistsError(f"For '{owner}', {', '.join(map(repr, there))} {'exist' if len(there) > 1 else 'exists'} already: "
                              f"force=True (`adjoint {owner} --force`) overwrites, or give another name or folder.")
    waiting: list[tuple[str, str]] = []
    made: list[Path] = []

    def later(temporary: str, path: str) -> None:
        waiting.append((temporary, path))

    try:
        for folder in dict.fromkeys(Path(path).parent for path in contents):
            for each in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
                each.mkdir(exist_ok=True)
                made.append(each)
        for path, content in contents.items():
            write_file(path, [content], later)
        while waiting:
            os.replace(*waiting[0])
            del waiting[0]
        made.clear()
    finally:
        for temporary, _ in waiting:
            os.unlink(temporary)
        for folder in reversed(made):
            if not any(folder.iterdir()):
                folder.rmdir()
