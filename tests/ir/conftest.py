"""Modules next to these tests, and next to the golden files, are imported by name."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "golden")]
