"""Expressions and statements.

Each module runs some kinds of nodes of the syntax tree, with the operations and calls of the packages before.

    conditions       `and`, `or`, `not`, comparisons
    comprehensions   comprehensions and generator expressions
    expressions      all other expressions
    assignment       assignment and `del`
    patterns         patterns of `match`
    if_statements    `if` and `match`
    loop_statements  `for` and `while`
    statements       blocks, and all other statements
"""
