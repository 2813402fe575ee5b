"""Errors found by code generation: E160 to E169, explained like those of the IR text."""

from __future__ import annotations

from adjoint.ir.errors import MISTAKES, Mistake

__all__ = ["NOT_STANDALONE"]

NOT_STANDALONE = MISTAKES["E160"] = Mistake("E160", "cannot be written as standalone C", """
`dump-ir --standalone` writes C for straight-line code on tensors of known size. It supports no hooks, prints or other calls of Python,
no branches and loops that depend on tensors, and no writes of state. Remove them, pass Python numbers for the conditions of
branches (--args "f32[3], 2"), or dump what one run did, with --trace.
""")
