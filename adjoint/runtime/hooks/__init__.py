"""Hooks of tensors and cells: their handles, and how they fire.

    watchers       who is told when hooks are registered, removed and called
    handles        the hook functions in order, and the handles that remove them
    firing         runs hooks: the arguments and the result of each kind, and the note on an exception
    saved_tensors  `saved_tensors_hooks`: hooks on the tensors that gradients read
"""
