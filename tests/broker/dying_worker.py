"""A worker that ends where told: `STEP N`: killed after that step of its N-th batch; `defect TEXT`: defective."""

import os
import signal
import sys
from itertools import count

from plangate.shell import process
from plangate.shell.logs import configure_logs
from plangate.shell.settings import Settings, load_settings
from plangate.wire.engine import Engine


class Defective(Engine):
    def process(self, *args: object) -> list:
        raise ValueError(f"{sys.argv[2]} {args!r}")


def defective(settings: Settings) -> Engine:
    return Defective()


if __name__ == "__main__":
    settings = load_settings(os.environ)
    configure_logs(settings.log_level, settings.log_format)
    wanted, number = sys.argv[1], count(1)

    def probe(step: str) -> None:
        if step == wanted and next(number) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    if wanted == "defect":
        process.load_engine = defective
        process.run(settings)
    process.run(settings, probe)
