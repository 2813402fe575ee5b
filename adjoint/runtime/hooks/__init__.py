"""Hooks of tensors and cells: their handles, and how they fire.

    handles  the functions in their order, and what takes one out again
    firing   what each kind is given and may return, and the note on what one raises
"""
