"""Shared by both workers: the protocol, and how a call is timed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def best_of(call: Callable[[], Any], seconds: float) -> float:
    """Microseconds of one call: the best of many samples, each of at least about 2 ms."""
    call()
    begin = time.perf_counter()
    call()
    once = max(time.perf_counter() - begin, 1e-7)
    count = max(1, int(0.002 / once))
    best, end = 1e30, time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        now = time.perf_counter()
        best = min(best, (now - begin) / count)
        if now > end:
            return best * 1e6


def serve(cases: dict[str, Callable[[], Any]]) -> None:
    """Say which cases there are, then time what is asked for, line by line."""
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        case, seconds = json.loads(line)
        print(json.dumps(best_of(cases[case], seconds)), flush=True)
