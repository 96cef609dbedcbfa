"""Kits of other rooms that the tests of this one use."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / room) for room in ("shell", "wire", "fuzz")]
