"""Shared by both workers: the protocol, and how a call is timed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

WARM = 5
"""Calls before the first that is timed: the third call of a function of the library fuses its kernels."""


def best_of(call: Callable[[], Any], seconds: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Microseconds of one call by `clock`: the best of many samples, each of at least about 2 ms."""
    for _ in range(WARM):
        call()
    begin = clock()
    call()
    once = max(clock() - begin, 1e-7)
    count = max(1, int(0.002 / once))
    best, end = 1e30, time.perf_counter() + seconds
    while True:
        begin = clock()
        for _ in range(count):
            call()
        best = min(best, (clock() - begin) / count)
        if time.perf_counter() > end:
            return best * 1e6


def serve(cases: dict[str, Callable[[], Any]], threads: int = 0) -> None:
    """Say which cases there are, then time what is asked for, line by line.

    One thread is timed by the processor time of the process: what other programs take of the processor does not count.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        case, seconds = json.loads(line)
        print(json.dumps(best_of(cases[case], seconds, clock)), flush=True)
