"""Results and gradients of PyTorch for the calls in `mint_calls.py`: MindSpore's CPU wheel lacks the kernels of most of `mint`.

python tests/oracle/record_mint.py     in an environment with torch; writes mint.json and mint_kinks.json beside this file
"""

# pyright: reportMissingImports=false

import json
from pathlib import Path
from typing import Any

import mint_calls
import numpy as np
import torch


def filled(layer: Any) -> Any:
    for parameter in layer.parameters():
        count = parameter.numel()
        parameter.data = torch.tensor(np.cos(np.arange(count) * 0.7 + count), dtype=torch.get_default_dtype()).reshape(parameter.shape)
    return layer


def stepped(optimizer: Any, **options: Any) -> Any:
    parameter = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    chosen = optimizer([parameter], **options)
    for step in range(3):
        parameter.grad = torch.cos(parameter.detach() * (step + 1))
        chosen.step()
    return parameter.detach()


def space(dtype: Any, values: dict[str, Any] = mint_calls.VALUES) -> dict[str, Any]:
    torch.set_default_dtype(dtype)
    arrays = {name: torch.tensor(v, dtype=dtype, requires_grad=dtype is torch.float64) for name, v in values.items()}
    arrays |= {name: torch.tensor(v, dtype=dtype) for name, v in mint_calls.CONSTANTS.items()}
    arrays |= {name: torch.tensor(v) for name, v in mint_calls.INTEGERS.items()}
    return {"mint": torch, "F": torch.nn.functional, "nn": torch.nn, "optim": torch.optim, "filled": filled,
            "resting": torch.nn.Module.eval, "stepped": stepped, **arrays}


def encoded(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return {str(value.dtype).removeprefix("torch."): rounded(value.detach().tolist()), "shape": list(value.shape)}
    if isinstance(value, tuple | list):
        return {"tuple": [encoded(item) for item in value]}
    return value


def rounded(value: Any) -> Any:
    """Numbers of nine digits; those that are not finite as text."""
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if np.isfinite(value) else str(value)
    return value


def floats(value: Any) -> list[Any]:
    """The results that a gradient flows through."""
    if isinstance(value, tuple | list):
        return [x for item in value for x in floats(item)]
    return [value] if isinstance(value, torch.Tensor) and value.requires_grad else []


def gradients(expression: str, values: dict[str, Any] = mint_calls.VALUES) -> Any:
    """The gradients of the sum of the sines of the results by each of the arrays, in Float64; None where there are none."""
    names = space(torch.float64, values)
    results = floats(eval(expression, names))
    if not results:
        return None
    arrays = [names[name] for name in mint_calls.VALUES]
    found = torch.autograd.grad(sum(torch.sin(x).sum() for x in results), arrays, allow_unused=True)
    return {name: rounded(g.flatten().tolist()) for name, g in zip(mint_calls.VALUES, found, strict=True) if g is not None}


def gradients_at(expression: str, values: dict[str, Any]) -> Any:
    """The gradients at these values; None where there is no result, such as the inverse of zeros."""
    try:
        return gradients(expression, values)
    except (RuntimeError, ValueError):
        return None


def main() -> None:
    calls = {e: {"result": encoded(eval(e, space(torch.float32))), "gradients": gradients(e)} for e in mint_calls.expressions()}
    lines = ",\n  ".join(f"{json.dumps(e)}: {json.dumps(fact)}" for e, fact in calls.items())
    text = f'{{\n "torch": {json.dumps(torch.__version__)},\n "calls": {{\n  {lines}\n }}\n}}\n'
    Path(__file__).with_name("mint.json").write_text(text, encoding="utf-8")
    kinks = {kind: {e: found for e in mint_calls.at_kinks() if (found := gradients_at(e, values))}
             for kind, values in mint_calls.HARD_VALUES.items()}
    blocks = ",\n ".join(f"{json.dumps(kind)}: {{\n  " + ",\n  ".join(f"{json.dumps(e)}: {json.dumps(fact)}" for e, fact in facts.items())
                         + "\n }" for kind, facts in kinks.items())
    text = f'{{\n "torch": {json.dumps(torch.__version__)},\n {blocks}\n}}\n'
    Path(__file__).with_name("mint_kinks.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
