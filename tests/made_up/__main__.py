"""Show a program and check it in all ways: `python -m tests.made_up SEED`, or the name of a file with a program."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.made_up.forms import TIERS, Comparison, Differs
from tests.made_up.fuzz import made_up


def main(what: str) -> int:
    text = made_up(int(what)) if what.isdecimal() else Path(what).read_text()
    print(text)
    comparison, differences = Comparison(text), 0
    for tier in TIERS:
        for way in comparison.ways(tier):
            try:
                comparison.check(way)
            except Differs as differs:
                differences += 1
                print(differs)
    print(f"{differences} differences; {comparison.graphs} ways made graphs to the end, {comparison.refused} were refused")
    return min(differences, 1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
