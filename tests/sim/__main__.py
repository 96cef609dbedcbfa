"""`python -m tests.sim SEED`: run one seed again and show what happened."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "property"), str(HERE.parent / "wire")]

from sim_command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
