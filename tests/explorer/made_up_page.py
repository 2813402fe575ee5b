"""A made-up program in the form that the explorer's page reads: small and known in each line, or of hundreds of layers.

Layer `n` is called on line 20 + n of `net.py`, and computes a product, whose identity is 10 n, and a sum, whose identity is 10 n + 1.  A
hook stands on the product of the first layer.  What a run measures is made up as well.
"""

from __future__ import annotations

from typing import Any

HOSTILE = "</script><img src=x onerror=alert(1)>"
"""The name of the program, of its hook and of a string in it, if it is to be hostile."""

Line = dict[str, Any]
TYPE = "f32[8, 4]"
SEEN = {"smallest": -1.5, "largest": 2.0, "zeros": 0.25, "not_finite": 3, "norm": 3.25}


def made_up(layers: int = 3, run: bool = False, hostile: bool = False) -> dict[str, Any]:
    """Return a program of some layers; `run`: with what a run measures."""
    source = [f"# line {number}" for number in range(1, 20)]
    source += [f'x = self.layer{layer}(x)  # "{HOSTILE if hostile else "layer"}"' for layer in range(layers)]
    locations = [[0, 19, 1, 8, -1]]
    for layer in range(layers):
        locations += [[0, 20 + layer, 5, 25, 0], [1, 7, 9, 30, len(locations)]]
    return {
        "format": "adjoint-explorer 1", "title": HOSTILE if hostile else "net.py:Net", "arguments": TYPE, "version": "0",
        "notes": [f"A note with {HOSTILE}."] if hostile else [],
        "files": [
            {"path": "net.py", "user": True, "first": 1, "lines": source},
            {
                "path": "lib/dense.py", "user": False, "first": 5,
                "lines": ["def construct(self, x):", "    # multiply", "    return x @ w + b"],
            },
        ],
        "cells": _cells(layers, run), "locations": locations, "stages": _stages(layers, run, HOSTILE if hostile else "show"),
    }


def _cells(layers: int, run: bool) -> list[dict[str, Any]]:
    whole = {"path": "", "type": "Net", "parent": -1, "location": 0, "parameters": 20 * layers, "bytes": 80 * layers, "nodes": 2 * layers}
    cells = [whole]
    for layer in range(layers):
        for name, parent, nodes in (("", 0, 2), (".product", 1 + 3 * layer, 1), (".sum", 1 + 3 * layer, 1)):
            cells.append({
                "path": f"layer{layer}{name}", "type": "Block", "parent": parent, "location": 1 + 2 * layer, "parameters": 10 * nodes,
                "bytes": 40 * nodes, "nodes": nodes,
            })
    return [{**cell, **dict.fromkeys(("seconds", "backward"), 0.001 * cell["nodes"] if run else None)} for cell in cells]


def _node(layer: int, node: int, *text: tuple[str, str], **more: Any) -> Line:
    """Return a line that stands for a node of a layer."""
    return {"text": text, "id": [10 * layer + node], "at": 2 + 2 * layer, "cell": 2 + 3 * layer + node, **more}


def _computed(value: str, op: str, operand: str) -> list[tuple[str, str]]:
    return [
        ("value", value), ("punctuation", ": "), ("type", TYPE), ("punctuation", " = "),
        ("op", op), ("punctuation", "("), ("value", operand), ("punctuation", ")"),
    ]


def _stages(layers: int, run: bool, hook: str) -> list[dict[str, Any]]:
    seen = {"seen": SEEN, "numbers": "[1. 2. 3.]"} if run else {}
    head = {"text": [("keyword", "func"), ("symbol", " @Net"), ("punctuation", "() {")], "at": 0}
    parsed, inlined, reverse = [head], [head], []
    plan: list[Line] = [{"text": [("heading", "launches")]}]
    kernels: list[Line] = []
    former = "x"
    for layer in range(layers):
        product, total = f"p{layer}", f"s{layer}"
        nodes = [
            _node(layer, 0, *_computed(product, "matmul", former), value=product, type=TYPE, **seen),
            _node(layer, 1, *_computed(total, "add", product), value=total, type=TYPE, **seen),
        ]
        back = [_node(layer, 0, *_computed(f"{product}'", "matmul_gradient", former))]
        if layer == 0:
            nodes.insert(1, _node(0, 0, ("op", "attach!"), ("symbol", f' @"{hook}"'), hook=True))
            back.insert(0, _node(0, 0, ("op", "callback!"), ("symbol", f' @"{hook}"'), hook=True))
        cell = {"text": [("keyword", "cell"), ("string", f' "layer{layer}"')], "at": 1 + 2 * layer, "cell": 0, "type": TYPE}
        parsed += [cell, *nodes, {"text": [("keyword", "yield")]}]
        inlined += nodes
        reverse[:0] = back
        fused = _node(layer, 0, ("op", "fused"), ("punctuation", f" {product} {total}"))
        fused["id"] = [10 * layer, 10 * layer + 1]
        runs = {"seconds": 1e-5 * (1 + layer), "bytes": 4096, "flops": 1e6, "calls": 1}
        plan.append(fused | ({"runs": runs} if run else {}))
        kernels += [
            fused | {"text": [("comment", f"/* kernel {layer} */")]},
            _node(layer, 0, ("type", "    float"), ("plain", " p = x[i] * w[i];")), _node(layer, 1, ("plain", "    out[i] = p + b[i];")),
            {"text": []},
        ]
        former = total
    gone = [number for number, line in enumerate(parsed) if number and "id" not in line]
    new = range(len(inlined), len(inlined) + len(reverse))
    return [
        _stage("parsed", "ir", "Parsed graph", parsed),
        _stage("inlined", "ir", "Without cells", inlined, {"from": "parsed", "removed": [[line, line] for line in gone], "added": []}),
        _stage("adjoint", "adjoint", "Adjoint", [*inlined, *reverse], {"from": "inlined", "removed": [], "added": list(new)}),
        _stage("plan", "c", "Plan", plan, kind="plan"),
        _stage("c", "c", "Kernels", kernels, kind="c"),
    ]


def _stage(name: str, column: str, title: str, lines: list[Line], changes: Any = None, kind: str = "ir") -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "column": column, "title": title, "about": f"About {name}.", "notes": [], "lines": lines,
        "changes": changes,
    }
