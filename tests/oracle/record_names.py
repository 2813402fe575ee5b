"""The names of MindSpore's modules, each with the public modules that have the same object, and the kinds of these objects.

Importing a module by its path makes it an attribute of its package, also where the package has a function of that name
(`mindspore.common.mutable`).  So the names of each module are those that it has before anything below it is imported.
"""

# pyright: reportMissingImports=false

import functools
import importlib
import itertools
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import mindspore as ms
from object_kinds import kind

WITHOUT = (
    "mindspore.graph", "mindspore.ops.composite.multitype_ops", "mindspore.ops.auto_generate.", "mindspore.ops.tensor_method",
    "mindspore.ops_generate", "mindspore.parallel.cluster", "mindspore.profiler.", "mindspore.rewrite.", "mindspore.tools",
    "mindspore.version", "mindspore.mindrecord.core.", "mindspore.train.train_thor.", "mindspore.device_context.",
    "mindspore.nn.probability.bijector.", "mindspore.nn.probability.bnn_layers.", "mindspore.nn.probability.distribution.",
    "mindspore.multiprocessing.", "mindspore.dataset.engine.obs.", "mindspore.dataset.debug.", "mindspore.scipy.optimize.",
    "mindspore.experimental.es", "mindspore.ops.vm_impl_registry", "mindspore.ops.op_info_register",
    "mindspore.ops.functional_overload",
)
"""Modules that only MindSpore's own code imports, or that are all out of our scope: their packages are here."""
INNER = (
    "mindspore.parallel._utils", "mindspore.parallel._auto_parallel_context", "mindspore.parallel._tensor", "mindspore.train._utils",
    "mindspore.ops._primitive_cache", "mindspore.ops.operations._inner_ops", "mindspore.ops.operations._grad_ops",
    "mindspore.ops.operations._rl_inner_ops",
    "mindspore._checkparam", "mindspore._c_expression", "mindspore._c_expression.typing", "mindspore._c_expression.op_enum",
    "mindspore.communication._comm_helper", "mindspore._extends", "mindspore.common._stub_tensor", "mindspore.ops._utils.arg_handler",
    "mindspore.ops.auto_generate.gen_ops_prim", "mindspore.version", "mindspore.common._utils", "mindspore.common._decorator",
    "mindspore.ops._utils", "mindspore.common._register_for_tensor",
)
"""Modules with a private name that programs import."""
PRIVATE_PACKAGES = ("mindspore.train.callback",)
"""Packages whose private modules programs import."""
PUBLIC = (
    "mindspore", "nn", "ops", "common.initializer", "common.dtype", "common", "train", "amp", "context", "communication",
    "communication.comm_func", "log", "numpy", "mint", "mint.nn", "mint.nn.functional", "mint.optim", "mint.linalg", "mint.special",
    "mint.distributed", "dataset", "dataset.config", "dataset.transforms", "dataset.vision", "dataset.text", "dataset.audio",
    "parallel", "parallel.nn", "runtime", "hal", "ops.operations", "ops.functional", "ops.composite", "ops.primitive",
    "nn.learning_rate_schedule", "train.callback", "train.metrics", "mindrecord", "scipy.linalg", "scipy.optimize",
    "experimental.optim", "utils",
)
"""The places where programs look for an object, the first one first."""
ALIASES = {"dataset.config": "dataset.core.config"}
"""Public places that are another module's attribute."""
GENERATED = ("_c_expression", "ops.auto_generate", "ops.auto_generate.gen_ops_prim")
"""Modules whose own names, those of no public place, only MindSpore's own code imports."""


class Names(NamedTuple):
    """A module, and its attributes before modules below it are imported."""

    module: ModuleType
    present: dict[str, Any]


def walk(package: ModuleType) -> Iterator[str]:
    """The modules of a package, those of its packages after it, that can be imported."""
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        last = found.name.rpartition(".")[2]
        private = last.startswith("_") and package.__name__ not in PRIVATE_PACKAGES
        if private or last.endswith(("_pb2", "validators")) or any(found.name == w or found.name.startswith(w) for w in WITHOUT):
            continue
        module = importlib.import_module(found.name)
        yield found.name
        if found.ispkg:
            yield from walk(module)


def is_theirs(value: Any) -> bool:
    """Whether a value is MindSpore's own, or a constant."""
    if isinstance(value, ModuleType):
        return False
    if value is None or type(value) in (bool, int, float, str, bytes, tuple, list, dict, set):
        return True
    homes = (getattr(value, "__module__", None), type(value).__module__)
    return any(isinstance(home, str) and home.startswith("mindspore") for home in homes)


def short(module: str) -> str:
    return module.removeprefix("mindspore.")


def identity(name: str, value: Any) -> Any:
    """What tells an object apart: for constants the name and the value."""
    return (name, repr(value)) if type(value).__module__ == "builtins" and not callable(value) else id(value)


def belongs(name: str, value: Any, place: str, module: ModuleType) -> bool:
    """Whether programs may take the name for one of the module's: it is listed, or defined there, or in a public place that lists none."""
    listed = getattr(module, "__all__", None)
    if listed is not None and (name in listed or name.startswith("_") or not callable(value)):
        return name in listed
    home = getattr(value, "__module__", module.__name__)
    return not name.startswith("_") and (home == module.__name__ or (listed is None and place in PUBLIC))


def names_of(path: str) -> Names:
    """A module as a program finds it that imports nothing below it."""
    module = importlib.import_module(path)
    return Names(module, dict(vars(module)))


def public_homes(modules: dict[str, Names]) -> dict[Any, list[tuple[str, str]]]:
    """For each object of a public place the places and its names there, the first place first."""
    homes: dict[Any, list[tuple[str, str]]] = {}
    for place in PUBLIC:
        module, names = modules[ALIASES.get(place, place)]
        for name, value in names.items():
            if not name.startswith("__") and is_theirs(value) and belongs(name, value, place, module):
                homes.setdefault(identity(name, value), []).append((place, name))
    return homes


def row(place: str, module: ModuleType, present: dict[str, Any], homes: dict[Any, list[tuple[str, str]]],
        places: dict[int, str]) -> dict[str, Any]:
    """What is recorded of one module."""
    groups: dict[str, list[str]] = {}
    kept: set[str] = set()
    for name, value in sorted(present.items()):
        if name.startswith("__") or not is_theirs(value):
            continue
        own = belongs(name, value, place, module)
        others = [(home, called) for home, called in homes.get(identity(name, value), ()) if home != place]
        if (not others and (not own or place in GENERATED)) or (not own and name.startswith("_")):
            continue
        kept.add(name)
        same = [home for home, called in others if called == name]
        if same or not others or place in PUBLIC:
            groups.setdefault(" ".join(same), []).append(name)
        else:
            groups.setdefault(others[0][0], []).append(f"{name}={others[0][1]}")
    told: dict[str, Any] = {"names": {group: " ".join(names) for group, names in sorted(groups.items())}}
    listed = getattr(module, "__all__", None)
    if listed is not None and kept - set(listed):
        told["unlisted"] = " ".join(sorted(kept - set(listed)))
    inside = {name: places[id(value)] for name, value in sorted(present.items()) if id(value) in places}
    elsewhere = {name: other for name, other in inside.items() if other != (name if place == "mindspore" else f"{place}.{name}")}
    if elsewhere:
        told["modules"] = elsewhere
    return told


@functools.cache
def everything() -> dict[str, Names]:
    """The modules that are recorded, by the path without `mindspore.`."""
    return {short(name): names_of(name) for name in itertools.chain(("mindspore",), walk(ms), INNER)}


def record() -> dict[str, Any]:
    """For each module `names`: {"": those that only it has, "nn train": those that `mindspore.nn` and `mindspore.train` have too, ...};
    `x=y` is called `y` there.  `unlisted`: the names that `import *` does not give; `modules`: names of modules of another place."""
    modules = everything()
    homes, places = public_homes(modules), {id(module): place for place, (module, _) in modules.items()}
    return {"modules": {place: row(place, *found, homes, places) for place, found in sorted(modules.items())}}


def record_kinds() -> dict[str, Any]:
    """For each module the names of each kind: those of the table, and those of MindSpore's modules that are its attributes."""
    table, told = record()["modules"], {}
    for place, (_, present) in sorted(everything().items()):
        listed = {name.partition("=")[0] for names in table[place]["names"].values() for name in names.split()}
        kinds: dict[str, list[str]] = {}
        for name, value in sorted(present.items()):
            if name in listed or (isinstance(value, ModuleType) and value.__name__.startswith("mindspore") and not name.startswith("_")):
                kinds.setdefault(kind(value), []).append(name)
        told[place] = {found: " ".join(names) for found, names in sorted(kinds.items())}
    return {"kinds": told}
