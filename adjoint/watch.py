"""Watch a program while it runs, without changing it or its numbers: which operator takes the time, which gives the first NaN, who holds
the memory, and how large parameters, outputs and gradients are.

    with adjoint.watch.check_finite(): ...        stops at the first result that is not finite, and names its line
    with adjoint.watch.finite_ok(): ...           allows what is not finite, such as a mask of minus infinity
    with adjoint.watch.statistics(net): ...       the size of parameters, outputs and gradients, every ten steps
    with adjoint.watch.times() as measured: ...   the time of each operator, by line; `print(measured)` shows a table
    with adjoint.watch.profile() as found: ...    the same by phase, Cell, line and operator, with bytes and operations a second
    with adjoint.watch.memory() as found: ...     the memory that is held, who made it, and what keeps it alive
    with adjoint.watch.hooks(net) as trail: ...   the calls of hooks, and why other hooks did not run; `print(trail)` shows both

`adjoint run` with `--check-finite`, `--times` or `--memory`, and `adjoint profile` do this for a whole script.  While nothing is watched,
nothing is slower.
"""

from adjoint.runtime.inspection.finite import FiniteCheck, check_finite
from adjoint.runtime.inspection.hook_trail import HookRun, HookTrail, SilentHook, hooks
from adjoint.runtime.inspection.memory_use import MemoryRow, MemoryUse, memory
from adjoint.runtime.inspection.profiling import Profile, TimeShare, profile
from adjoint.runtime.inspection.statistics import StatisticsRow, TrainingStatistics
from adjoint.runtime.inspection.statistics_output import statistics
from adjoint.runtime.inspection.times import OpTime, OpTimes, times
from adjoint.runtime.memory.finite_results import finite_ok

__all__ = [
    "FiniteCheck", "HookRun", "HookTrail", "MemoryRow", "MemoryUse", "OpTime", "OpTimes", "Profile", "SilentHook", "StatisticsRow",
    "TimeShare", "TrainingStatistics", "check_finite", "finite_ok", "hooks", "memory", "profile", "statistics", "times",
]
