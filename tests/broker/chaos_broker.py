"""A broker of the chaos runs' own: it can be stopped, killed and started again, and it is quick to notice the dead."""

import time

from engine import fetch_image  # noqa: F401  (sets testcontainers up on import)
from kafka_container import ApacheKafka

QUICK = {
    # Lower than a deployment's: a killed worker is missed after seconds, so that a run has time for many kills.
    "KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS": "1000",
    "KAFKA_LOG_CLEANER_BACKOFF_MS": "300",
    "KAFKA_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS": "500",
}
STARTED = b"Kafka Server started"


class FaultyKafka(ApacheKafka):
    """`bounce` proves what it did: the container's exit status and how often the broker has started."""

    def __init__(self) -> None:
        super().__init__(**QUICK)

    def starts(self) -> int:
        """How often the broker came up."""
        return self.get_wrapped_container().logs().count(STARTED)

    def transactions_without_markers(self, prefix: str) -> int:
        """How many transactions it called complete without marking their end in any partition.

        It happens to those that were being committed when it was killed, if it comes back as the only broker: it then
        takes partitions that have no leader yet for deleted ones. Their records show when the same producer's next
        transaction ends.
        """
        lines = self.get_wrapped_container().logs().decode(errors="replace").splitlines()
        return sum("likely deleted already and hence can be skipped" in line and prefix in line for line in lines)

    def bounce(self, kill: bool, away_seconds: float) -> int:
        """Stop the broker cleanly or kill it, leave it away, start it again. The status it ended with (killed: 137)."""
        container, before = self.get_wrapped_container(), self.starts()
        if kill:
            container.kill()
        else:
            container.stop(timeout=60)
        status = container.wait(timeout=60)["StatusCode"]
        time.sleep(away_seconds)
        container.start()
        deadline = time.monotonic() + 120
        while self.starts() <= before:
            assert time.monotonic() < deadline, "the broker did not come back"
            time.sleep(0.1)
        return status
