"""The ops, one class each.  A module is loaded when one of its ops is looked up (`adjoint.ir.op.registry`), or when it is used."""

from adjoint.foundation import lazy
from adjoint.ir.op import registry
from adjoint.ir.ops.index import OPS, PACKS

__all__ = [*OPS]  # pyright: ignore[reportUnsupportedDunderAll] - they are modules

registry().expect(lazy.homes(__name__, OPS), {pack: names.split() for pack, names in PACKS.items()})

__getattr__ = lazy.deferring(__name__)
