"""Record what JAX and PyTorch answer to the calls of `transformation_calls`: 300 answers.

    JAX_VENV/bin/python tests/oracle/record_transformations.py jax
    TORCH_VENV/bin/python tests/oracle/record_transformations.py torch

Each writes its part of `transformations.json`; neither is needed for the tests.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from transformation_calls import FILE, answers


def of_jax() -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    def vjp(f: Any, x: Any) -> Any:
        result, pull = jax.vjp(f, x)
        return pull(jnp.ones_like(result))[0]

    names = {name: getattr(jnp, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs", "stack")}
    names |= {name: getattr(jax, name) for name in ("vmap", "jacrev", "jacfwd", "hessian")}
    names |= {"vjp": vjp, "jvp": lambda f, x, v: jax.jvp(f, (x,), (v,))[1]}
    return {"version": jax.__version__, **dict(answers(names, jnp.asarray, lambda x: x))}


def of_torch() -> dict[str, Any]:
    import torch

    def vjp(f: Any, x: Any) -> Any:
        result, pull = torch.func.vjp(f, x)
        return pull(torch.ones_like(result))[0]

    names = {name: getattr(torch, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs", "stack")}
    names |= {name: getattr(torch.func, name) for name in ("vmap", "jacrev", "jacfwd", "hessian")}
    names |= {"vjp": vjp, "jvp": lambda f, x, v: torch.func.jvp(f, (x,), (v,))[1]}
    return {"version": torch.__version__, **dict(answers(names, torch.tensor, lambda x: x.detach().numpy()))}


if __name__ == "__main__":
    (who,) = sys.argv[1:]
    recorded = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    recorded[who] = {"jax": of_jax, "torch": of_torch}[who]()
    lines = [f'"{name}": {{\n' + ",\n".join(f"{json.dumps(call)}: {json.dumps(value)}" for call, value in part.items()) + "\n}"
             for name, part in sorted(recorded.items())]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(who, len(recorded[who]) - 1)
