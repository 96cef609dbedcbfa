"""Kits of other rooms: keys and samples of every event type, and a bus in memory."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / room) for room in ("shell", "wire")]
