"""Programs made up from a seed, run in every form there is and compared with eager mode.

    choices       the decisions of one program, from its seed
    control_flow  a writer of programs: nested statements on tensors and numbers
    straight      a writer of programs: public operators in a row, on numbers with -0, infinities and NaN
    networks      a writer of programs: cells with hooks, optimisers and checks that fail
    observing     what the programs import: numbers for tensors, and hooks that report what they are given
    other_thread  a thread that uses a program's cells while the program runs
    program       the text of a program, and the module that it becomes
    forms         the ways to run a program, and the comparison
    batches       programs of one example, and their batch against the loop over the examples
    rows          loops over rows, and their gradients in graphs against eager mode's
    smaller       a failing program with all that does not matter taken out

`python -m tests.made_up SEED` shows the program of a seed and checks it; a file name instead of a seed checks that program.
"""
