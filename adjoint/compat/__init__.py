"""Programs written for `mindspore`: make `import mindspore` import this package, and run scripts with it.

    paths         the table: for each module of MindSpore 2.10, its names and where they are defined here
    out_of_scope  names that can be imported, and raise at their first use, since they are not implemented
    modules       `mindspore` and its modules, made from the table when they are imported
    running       runs a script as `__main__`
"""

from adjoint.compat.modules import install
from adjoint.compat.running import own_frames, run

__all__ = ["install", "own_frames", "run"]
