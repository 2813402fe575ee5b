"""Where the statistics of a training go: a live table, JSON Lines, TensorBoard, a picture."""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.inspection.statistics import Sink, StatisticsRow, TrainingStatistics

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["mark", "statistics"]

VANISHING, EXPLODING, DEAD = 1e-7, 1e3, 0.999
"""A gradient vanishes if its norm is less than this share of the parameter's, and explodes if it is more; a cell is dead if at least this
share of its output is zero."""

_NUMBERS = ("norm", "mean", "deviation", "largest", "zeros", "not_finite", "update")


def statistics(net: Cell, every: int = 10, to: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ()) -> TrainingStatistics:
    """Return a context manager that computes statistics of a network while it trains: of parameters, outputs of cells and gradients.

    with adjoint.watch.statistics(net, every=10, to=["table", "run.jsonl"]) as found:
        for data, label in batches:
            step(data, label)

    net    the network
    every  the first step is sampled, and then each of this many
    to     one or several of: "table", a live table on the terminal that marks what vanishes, explodes or is dead; a file that ends in
           `.jsonl`, one JSON object a line; a file that ends in `.png`, norms over the steps, which needs matplotlib; a directory, for
           TensorBoard, which needs the extra `summary`.  `found.rows` has the rows in any case

    A step ends when the optimisers of the network have taken theirs; where no optimiser does, or several take turns, call `found.step()`.
    Without a step, the block is one.  The tensor of an output is the first one if a cell returns several; of several calls in a step the
    last one counts, for gradients too.  The numbers of the run keep their bits.

    Several networks may be watched at a time, in several threads as well, but each cell by one block: RuntimeError for another one.
    TypeError and ValueError for arguments that do not fit, FileNotFoundError for a file in a directory that is missing, ImportError where a
    package is missing.
    """
    if not isinstance(net, Cell):
        raise TypeError(f"For 'statistics', the 'net' must be a Cell, but got {type(net).__name__}.")
    if isinstance(every, bool) or not isinstance(every, int):
        raise TypeError(f"For 'statistics', the 'every' must be an int, but got {type(every).__name__}.")
    if every < 1:
        raise ValueError(f"For 'statistics', the 'every' must be at least 1, but got {every}.")
    named = [to] if isinstance(to, (str, os.PathLike)) else [*to]
    for each in named:
        if not isinstance(each, (str, os.PathLike)):
            raise TypeError(f"For 'statistics', the 'to' must be 'table', a file or a directory, or a list of these, but got {each!r}.")
    return TrainingStatistics(net, every, [_sink(os.fspath(each)) for each in named])


def mark(row: StatisticsRow, parameter_norm: float = math.nan) -> str:
    """Return what is wrong with a tensor: "not finite", "dead", "vanishing", "exploding", or "" if nothing is.

    parameter_norm  of a gradient the norm of its parameter
    """
    if row.not_finite > 0:
        return "not finite"
    if row.kind == "output":
        return "dead" if row.zeros >= DEAD else ""
    if row.kind == "gradient":
        if row.zeros == 1:
            return "dead"
        if row.norm < VANISHING * parameter_norm:
            return "vanishing"
        if row.norm > EXPLODING * parameter_norm > 0:
            return "exploding"
    return ""


def _marks(rows: Sequence[StatisticsRow]) -> list[str]:
    norms = {row.name: row.norm for row in rows if row.kind == "parameter"}
    return [mark(row, norms.get(row.name, math.nan)) for row in rows]


def _sink(name: str) -> Sink:
    if name == "table":
        return _LiveTable()
    if name.endswith((".jsonl", ".png")) and not os.path.isdir(folder := os.path.dirname(name) or "."):
        raise FileNotFoundError(f"For 'statistics', the 'to' names the file {name!r}, but there is no directory {folder!r}: make it first.")
    if name.endswith(".jsonl"):
        return _JsonLines(name)
    if name.endswith(".png"):
        return _Picture(name)
    return _EventFiles(name)


def _needed(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"For 'statistics', the package {package} is needed, which is not installed: pip install 'adjoint[{extra}]'.") \
            from None


class _JsonLines:
    """Writes a JSON object for each row; a number that is NaN or infinite is null."""

    def __init__(self, name: str):
        self._name = name
        self._file: TextIO | None = None

    def add(self, rows: Sequence[StatisticsRow]) -> None:
        if self._file is None:
            self._file = open(self._name, "w", encoding="utf-8")  # noqa: SIM115 - closed by `close`
        for row, marked in zip(rows, _marks(rows), strict=True):
            found: dict[str, Any] = {"step": row.step, "kind": row.kind, "name": row.name}
            found |= {name: value if math.isfinite(value := getattr(row, name)) else None for name in _NUMBERS}
            found |= {"mark": marked, "place": None if row.place is None else f"{row.place.file}:{row.place.line}"}
            self._file.write(json.dumps(found) + "\n")
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class _EventFiles:
    """Writes event files for TensorBoard: a curve for each number of each tensor."""

    def __init__(self, folder: str):
        self._writer = _needed("tensorboardX", "summary").SummaryWriter(folder)

    def add(self, rows: Sequence[StatisticsRow]) -> None:
        for row in rows:
            for name in _NUMBERS:
                value = getattr(row, name)
                if name != "update" or row.kind == "parameter":
                    self._writer.add_scalar(f"{row.kind}/{row.name}/{name}", value, row.step)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class _Picture:
    """Draws norms of outputs and gradients, and updates of parameters, over the steps."""

    def __init__(self, name: str):
        self._figure = _needed("matplotlib.figure", "demo")
        self._name = name
        self._rows: list[StatisticsRow] = []

    def add(self, rows: Sequence[StatisticsRow]) -> None:
        self._rows += rows

    def close(self) -> None:
        figure = self._figure.Figure(figsize=(14, 4), layout="constrained")
        panels = (("output", "norm", "norm of outputs"), ("gradient", "norm", "norm of gradients"),
                  ("parameter", "update", "update / weight"))
        for axes, (kind, number, title) in zip(figure.subplots(1, 3), panels, strict=True):
            curves: dict[str, list[tuple[int, float]]] = {}
            for row in self._rows:
                if row.kind == kind:
                    curves.setdefault(row.name, []).append((row.step, getattr(row, number)))
            for name, points in curves.items():
                axes.plot([step for step, _ in points], [value for _, value in points], marker=".", label=name)
            axes.set(title=title, xlabel="step", yscale="log")
            if curves:
                axes.legend(fontsize="xx-small")
        figure.savefig(self._name)


class _LiveTable:
    """Shows the latest statistics on the terminal while the program runs; elsewhere once, at the end."""

    def __init__(self) -> None:
        self._live: Any = None
        self._latest: Sequence[StatisticsRow] = ()

    def add(self, rows: Sequence[StatisticsRow]) -> None:
        from rich.console import Console
        from rich.live import Live

        self._latest = rows
        console = Console()
        if not console.is_terminal:
            return
        if self._live is None:
            self._live = Live(console=console, auto_refresh=False)
            self._live.start()
        self._live.update(_table(rows), refresh=True)

    def close(self) -> None:
        from rich.console import Console

        if self._live is not None:
            self._live.stop()
        elif self._latest:
            Console(width=140).print(_table(self._latest))


_COLOURS = {"not finite": "bold red", "exploding": "red", "dead": "yellow", "vanishing": "yellow"}


def _table(rows: Sequence[StatisticsRow]) -> Table:
    from rich.table import Table

    table = Table(title=f"step {rows[0].step}" if rows else "", box=None)
    for name in ("", "name", "norm", "mean", "deviation", "largest", "zeros", "not finite", "update", "", "line"):
        table.add_column(name, justify="left" if name in ("", "name", "line") else "right")
    for row, marked in zip(rows, _marks(rows), strict=True):
        place = "" if row.place is None else f"{os.path.basename(row.place.file)}:{row.place.line}"
        numbers = [f"{getattr(row, name):.3g}" for name in ("norm", "mean", "deviation", "largest")]
        shares = [f"{100 * row.zeros:.1f} %", f"{100 * row.not_finite:.1f} %"]
        update = "" if math.isnan(row.update) else f"{row.update:.2g}"
        table.add_row(row.kind, row.name, *numbers, *shares, update, marked, place, style=_COLOURS.get(marked))
    return table
