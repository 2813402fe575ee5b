"""What the library `safetensors` reads of the files in `safetensors_files.py`, and which it refuses.

    python tests/oracle/record_safetensors.py

in an environment with `safetensors==0.8.0` writes `safetensors.json`: for each file that it accepts, its tensors.
"""

# pyright: reportMissingImports=false

import json
from pathlib import Path

import safetensors
from safetensors_files import files

FOUND = {}
for name, data in files().items():
    try:
        tensors = safetensors.deserialize(data)
    except safetensors.SafetensorError:
        continue
    FOUND[name] = {title: [about["dtype"], about["shape"], bytes(about["data"]).hex()] for title, about in sorted(tensors)}
file = Path(__file__).with_name("safetensors.json")
rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(tensors)}" for name, tensors in FOUND.items())
file.write_text(f'{{"safetensors": "{safetensors.__version__}", "files": {len(files())}, "accepted": {{\n{rows}\n}}}}\n')
