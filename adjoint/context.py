"""The user's context by MindSpore's name; see `adjoint.runtime.context`."""

from adjoint.runtime.context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context

__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "get_context", "set_context"]
