"""The log: which messages are written, and in which form."""

from __future__ import annotations

import re

import pytest

from adjoint import log


def written() -> None:
    for write in (log.debug, log.info, log.warning, log.error, log.critical):
        write("%s steps", 3)


@pytest.mark.parametrize(("level", "names"), [
    (None, ["WARNING", "ERROR", "CRITICAL"]), ("0", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]), ("4", ["CRITICAL"]),
])
def test_messages_from_the_level_on_go_to_stderr(
    level: str | None, names: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GLOG_v", raising=False)
    if level is not None:
        monkeypatch.setenv("GLOG_v", level)
    written()
    lines = capsys.readouterr().err.splitlines()
    assert [line[1 : line.index("]")] for line in lines] == names
    form = r"\[\w+\] ME\(\d+:\d+,MainProcess\):\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.000 \[.*test_log\.py:14\] 3 steps"
    assert all(re.fullmatch(form, line) for line in lines)
    assert log.get_level() == (level or "2") and log.get_log_config()["GLOG_v"] == (level or "2")


def test_an_invalid_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOG_v", "loud")
    with pytest.raises(ValueError, match="GLOG_v must be one of 0, 1, 2, 3, 4, but it is 'loud'"):
        log.warning("x")
