"""Expressions and statements.

    conditions       `and`, `or`, `not`, comparisons
    comprehensions   comprehensions
    expressions      all other expressions
    assignment       assignment and `del`
    patterns         patterns of `match`
    if_statements    `if` and `match`
    loop_statements  `for` and `while`
    statements       blocks, and all other statements
"""
