"""The simulation speaks with the tests' own model, and signs with the keys of the wire's tests."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE.parent / "property", HERE.parent / "wire"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
