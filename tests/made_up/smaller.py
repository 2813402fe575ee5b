"""A failing program with all that does not matter taken out.

Statements are removed, blocks put in place of the `if` or the loop around them, and operands in place of operations, as long as the
program still fails in the same way of running it.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["reports", "smaller", "smaller_alike"]

KEPT = ("Net", "session", "WRT", "ASKED", "HEAD")


def smaller(text: str, fails: Callable[[str], bool], seconds: float = 60.0) -> str:
    """Return a program as small as could be found in so many seconds, for which `fails` is true as it is for `text`."""
    end = time.monotonic() + seconds
    tree, found = ast.parse(text), True
    while found:
        found = False
        at = 0
        while time.monotonic() < end:
            tried = copy.deepcopy(tree)
            change = next(_from(changes(tried), at), None)
            if change is None:
                break
            change()
            if fails(ast.unparse(ast.fix_missing_locations(tried))):
                tree, found = tried, True
            else:
                at += 1
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def smaller_alike(text: str, said: str, difference: Callable[[str], str | None], seconds: float) -> str:
    """Return a smaller program that differs in the same respect.

    said        in which respect `text` differs, up to the first colon
    difference  returns in which respect a program differs; "" or None if it does not
    """
    kind = said.split(":")[0]

    def fails(text: str) -> bool:
        try:
            other = difference(text)
        except Exception:  # no program any more
            return False
        return bool(other) and other.split(":")[0] == kind

    return smaller(text, fails, seconds)


def reports(
    seeds: Sequence[int], written: Callable[[int], str], difference: Callable[[str, int], str], seconds: float,
) -> list[str]:
    """Return reports of the programs of these seeds that differ, each made smaller for so many seconds.

    written     returns the text of the program of a seed
    difference  returns in which respect a program differs, given the seed of its numbers; "" if it does not
    """
    failures: list[str] = []
    for seed in seeds:
        text = written(seed)
        if said := difference(text, seed):
            small = smaller_alike(text, said, lambda text, seed=seed: difference(text, seed), seconds)
            failures.append(f"seed {seed}: {said}\n\n{small}")
    return failures


def _from(each: Iterator[Any], at: int) -> Iterator[Any]:
    for index, change in enumerate(each):
        if index >= at:
            yield change


def changes(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """Yield changes that make a program smaller, the large ones first."""
    for node in ast.walk(tree):
        for block in blocks(node):
            for size in sorted({max(1, len(block) // 2), 1}, reverse=True):
                for begin in range(len(block) - size, -1, -1):
                    if not any(named(statement) for statement in block[begin : begin + size]):
                        yield lambda block=block, begin=begin, size=size: remove(block, begin, size)
    for node in ast.walk(tree):
        for block in blocks(node):
            for i, statement in enumerate(block):
                if isinstance(statement, (ast.If, ast.For, ast.While)):
                    yield lambda block=block, i=i, body=statement.body: block.__setitem__(slice(i, i + 1), body)
    for node in ast.walk(tree):
        for name, child in ast.iter_fields(node):
            for part in parts(child):
                yield lambda node=node, name=name, part=part: setattr(node, name, part)
            if isinstance(child, list):
                for i, item in enumerate(child):
                    for part in parts(item):
                        yield lambda child=child, i=i, part=part: child.__setitem__(i, part)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block


def named(statement: ast.stmt) -> bool:
    """Return True for what each program has."""
    names = [getattr(statement, "name", ""), *(getattr(target, "id", "") for target in getattr(statement, "targets", ()))]
    return any(name in KEPT for name in names) or "super()" in ast.unparse(statement)[:7]


def remove(block: list[ast.stmt], begin: int, size: int) -> None:
    block[begin : begin + size] = [] if size < len(block) else [ast.Pass()]


def parts(node: Any) -> Iterator[ast.expr]:
    """Yield operands that may stand in the place of an expression."""
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Call):
        yield from (x for x in node.args if not isinstance(x, (ast.Constant, ast.Starred)))
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in ("ops", "nn", "self"):
            yield node.func.value  # x of x.sum()
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Tuple) and len(node.elts) > 1 and isinstance(node.ctx, ast.Load):
        yield from node.elts
