"""Programs written for `mindspore`: `import mindspore` gives this package, and a script is run with it.

    paths         the table: for each module of MindSpore 2.10, its names and where they stand here
    out_of_scope  names that are importable, and say at their first use that they are not here
    modules       `mindspore` and its modules, made from the table when they are imported
    running       a script as `__main__`
"""

from adjoint.compat.modules import install
from adjoint.compat.running import own_frames, run

__all__ = ["install", "own_frames", "run"]
