"""Hooks of tensors and cells: their handles, and how they fire.

    handles  the hook functions in order, and the handles that remove them
    firing   runs hooks: the arguments and the result of each kind, and the note on an exception
"""
