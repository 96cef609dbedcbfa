"""docs/worker.md names every metric."""

from pathlib import Path

from plangate.shell.metrics import Metrics

DOCS = Path(__file__).parents[2] / "docs" / "worker.md"


def test_every_metric_is_documented() -> None:
    text = DOCS.read_text()
    for family in Metrics().registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert f"`{name}" in text, name
