"""All settings: the environment variables that are read, and the names that `set_context` accepts.

`adjoint doctor` shows them with their current values, and `docs/settings.md` is generated from them. A test checks that no other variable
is read.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SETTINGS", "Setting"]


class Setting(NamedTuple):
    """One setting; a value given to `set_context` takes precedence over the environment.

    context   its name in `set_context` and `get_context`; "" if it has none there
    variable  the environment variable that sets it; "" if there is none
    values    the allowed values, in words
    default   the value if nothing sets it, in words
    about     what it controls
    """

    context: str
    variable: str
    values: str
    default: str
    about: str

    @property
    def name(self) -> str:
        """Return its name: the one in `set_context`, or the environment variable."""
        return self.context or self.variable


SETTINGS = (
    Setting("mode", "", "PYNATIVE_MODE (1) or GRAPH_MODE (0)", "1",
            "whether cells, and functions whose gradient is taken, run as Python or as graphs"),
    Setting("hook_signature", "ADJOINT_HOOK_SIGNATURE", "cell or cell_id", "cell",
            "what backward hooks of cells are given: the cell, or as in the older manual its name"),
    Setting("num_threads", "ADJOINT_NUM_THREADS", "a positive number", "the CPUs this process may use",
            "threads of the kernels; the processes that MPI starts on a machine divide its CPUs"),
    Setting("program_cache_bytes", "ADJOINT_PROGRAM_CACHE_BYTES", "a number of bytes", "100000000",
            "how much of recorded gradients, graphs and plans a process keeps"),
    Setting("background_compile", "ADJOINT_BACKGROUND_COMPILE", "True (1), False (0), wait or plain", "True",
            "whether missing kernels are plain at first, then tuned, and those of graphs and gradients that run often fused; "
            "all compiled behind the scenes; False: the first call waits for tuned kernels, and nothing is fused; "
            "wait: the first run waits for tuned and fused ones; plain: missing kernels stay plain"),
    Setting("check_finite", "ADJOINT_CHECK_FINITE", "True (1) or False (0)", "False",
            "whether the first operator that gives a NaN or an infinity raises, as in a block of `watch.check_finite()`"),
    Setting("save_graphs", "", "0, 1, 2 or 3", "0", "which stages of each graph are written to files"),
    Setting("save_graphs_path", "", "a directory", ".", "where they are written"),
    Setting("max_call_depth", "", "a positive number", "1000", "how deep calls of parsed functions may be nested"),
    Setting("device_target", "", "CPU, GPU or Ascend", "CPU", "accepted: everything runs on the CPU"),
    Setting("device_id", "", "0 or more", "0", "accepted: there is one CPU"),
    Setting("deterministic", "", "ON or OFF", "ON", "accepted: the same input always gives the same bits"),
    Setting("pynative_synchronize", "", "True or False", "False", "accepted: operators always run at once"),
    Setting("", "ADJOINT_CACHE_DIR", "a directory", "~/.cache/adjoint", "where compiled kernels are kept"),
    Setting("", "ADJOINT_CACHE_BYTES", "a number of bytes", "500000000", "how much of them is kept"),
    Setting("", "ADJOINT_CPU", "native, avx2 or baseline", "native",
            "whether kernels use what this processor has beyond others of its family; avx2: all but AVX-512"),
    Setting("", "ADJOINT_FORBID_INTERPRETER", "0 or 1", "0", "1: an operator without a compiled kernel raises"),
    Setting("", "ADJOINT_MPI_TIMEOUT", "a number of seconds", "600",
            "how long a process waits for another one in a collective; 0: for ever"),
    Setting("", "ADJOINT_FULL_TRACEBACK", "0 or 1", "0", "1: errors are shown with the frames of adjoint too"),
    Setting("", "ADJOINT_LOG", "graphs", "not set",
            "graphs: each graph that is made, and each change of the way in which its calls run, is written to stderr"),
    Setting("", "ADJOINT_PROGRESS", "0 or 1", "1", "0: `Model` shows no bar on terminals"),
    Setting("", "CC", "a command", "cc, gcc, clang, the zig wheel", "the C compiler to try first"),
    Setting("", "PMI_SIZE", "a number", "not set",
            "set by MPI's launchers, as are PMI_RANK, PMI_FD, PMIX_RANK, OMPI_COMM_WORLD_SIZE, MV2_COMM_WORLD_SIZE and MPI_LOCALNRANKS: "
            "`communication.init` looks for other processes"),
    Setting("", "XDG_CACHE_HOME", "a directory", "~/.cache", "the user's cache directory: kernels are kept in `adjoint` in it"),
    Setting("", "NO_COLOR", "anything", "not set", "no colours on terminals"),
)
