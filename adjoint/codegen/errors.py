"""The mistakes that code generation finds: E160 to E169, explained like those of the text."""

from __future__ import annotations

from adjoint.ir.errors import MISTAKES, Mistake

__all__ = ["NOT_STANDALONE"]

NOT_STANDALONE = MISTAKES["E160"] = Mistake("E160", "no place in a C file of its own", """
`dump-ir --standalone` writes C for straight code on tensors of known size. Hooks, prints and other calls of Python, branches and
loops that depend on tensors, and state that is written have no place in it. Take them out, pass Python numbers for what decides
a branch (--args "f32[3], 2"), or dump what one run did, with --trace.
""")
