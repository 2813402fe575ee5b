"""`explore`: the page of a function or Cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.explorer.data import as_json
from adjoint.explorer.page import page
from adjoint.explorer.running import measure
from adjoint.explorer.stages import explored
from adjoint.foundation.files import write_file
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.inputs.callables import title_of
from adjoint.runtime.process.jitted import parsed_function
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["explore", "program_data", "write_page"]


def explore(
    fn: Callable[..., Any] | Cell, /, *inputs: Any, path: str | os.PathLike[str] = "explorer.html", wrt: Sequence[str] = (),
    run: bool = False,
) -> str:
    """Write the explorer of a function or Cell: one HTML file, without network, which shows it as Python, IR, adjoint and C side by side.

    Touching a line marks the lines of the other columns that came from it.  `docs/explorer.md` describes the page.

    fn      a function (jitted or not), a method or a Cell; its source is parsed as `jit` does it
    inputs  its arguments: their types count, and with `run` their values
    path    the file to write; an older one is replaced, once the new one is complete
    wrt     what to differentiate by: arguments by name, parameters as `@name`; by default floating arguments and the parameters that are
            trained
    run     True to run it as well, some times: the page then has the time of each kernel, and for each node the range of its numbers, and
            the numbers themselves if there are at most 16.  Parameters are not changed; other effects of the code happen

    Return the path as text.

    TypeError if `fn` cannot be called with these inputs, CompileError if its source cannot be parsed or `wrt` has an unknown name, OSError
    if the file cannot be written.  Then no file is written.
    """
    path = os.fspath(path)
    if not isinstance(path, str):
        raise TypeError(f"For 'explore', the argument 'path' must be a path as text, but got {path!r}.")
    if not callable(fn):
        raise TypeError(f"For 'explore', the argument 'fn' must be a function or a Cell, but got {type(fn).__name__}.")
    arguments = ", ".join(str(x.type) if isinstance(x, Tensor) else repr(x) for x in inputs)
    write_page(path, program_data(fn, inputs, title_of(parsed_function(fn)), arguments, wrt, run=run))
    return path


def program_data(
    fn: Any, inputs: Sequence[Any], title: str, arguments: str, wrt: Sequence[str] = (), *, run: bool = False
) -> dict[str, Any]:
    """Return what the page of a function or Cell shows, as an object for `json.dumps`; for the arguments see `explore`.

    title      the name of the program
    arguments  its inputs as text
    """
    program = explored(fn, inputs, wrt, run=run)
    if run:
        measure(program, inputs)
    return as_json(program, title, arguments)


def write_page(path: str, data: dict[str, Any]) -> int:
    """Write the page that shows `data`, and return its size in bytes.  OSError if it cannot be written."""
    text = page(data).encode()
    write_file(path, [text])
    return len(text)
