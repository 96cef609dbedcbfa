"""A worker that hangs at a place until a file is there: `recovery FILE`, `revocation FILE` or `publishing FILE`."""

import asyncio
import os
import sys
from typing import Any

from plangate.shell import process
from plangate.shell.logs import configure_logs
from plangate.shell.publish import TransactionalPublisher
from plangate.shell.settings import load_settings
from plangate.shell.store import Recovery

PLACES = {
    "recovery": (Recovery, "run"),
    "revocation": (TransactionalPublisher, "stop"),
    "publishing": (TransactionalPublisher, "publish"),
}


def hold(where: type, name: str, file: str) -> None:
    method = getattr(where, name)

    async def held(*args: Any) -> Any:
        while not os.path.exists(file):  # noqa: ASYNC110, ASYNC240 the test is another process
            await asyncio.sleep(0.05)
        return await method(*args)

    setattr(where, name, held)


if __name__ == "__main__":
    settings = load_settings(os.environ)
    configure_logs(settings.log_level, settings.log_format)
    hold(*PLACES[sys.argv[1]], sys.argv[2])
    process.run(settings)
