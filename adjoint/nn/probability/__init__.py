"""`mindspore.nn.probability`: distributions and bijectors with parameters that are kept or given with each call.

The layers of Bayesian networks, `bnn_layers`, are not here.
"""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.nn.probability import bijector, distribution

__all__ = ["bijector", "distribution"]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
