"""Errors found by code generation: E160 to E169, explained like those of the IR text."""

from __future__ import annotations

from adjoint.ir.errors import MISTAKES, Mistake

__all__ = ["NOT_STANDALONE"]

NOT_STANDALONE = MISTAKES["E160"] = Mistake("E160", "cannot be written as standalone C", """
`export` and `dump-ir --standalone` write C for code on tensors of known size, with branches, loops and writes of state. C has no prints and
other calls of Python, no `bprop` that is Python, and no sizes that values decide. Write that part with operators, pass Python numbers for
what is constant (--args "f32[3], 2"), or dump what one run did, with --trace. A loop whose gradient is taken needs a known number of
rounds, or the largest one: max_steps=100 (--max-steps 100). A batch that differs from call to call needs the largest one: max_batch=32
(--max-batch 32). What Python does for each row of its own is another program for each batch: write it with operators on all rows.
""")
