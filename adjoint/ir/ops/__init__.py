"""The ops, one class each.  A module is loaded when one of its ops is looked up (`adjoint.ir.op.registry`), or when it is used."""

from typing import Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.op import registry
from adjoint.ir.ops.index import OPS, PACKS

__all__ = [*OPS]  # pyright: ignore[reportUnsupportedDunderAll] - they are modules

registry().expect(lazy.homes(__name__, OPS), {pack: names.split() for pack, names in PACKS.items()})


def __getattr__(name: str) -> Any:
    module = lazy.deferred(globals(), name)
    if module is None:
        raise missing_name(__name__, name, globals())
    return module
