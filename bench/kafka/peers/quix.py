"""(b) The same job in Quix Streams: a stateful function, RocksDB with a changelog, checkpoints by the library."""

from __future__ import annotations

import tempfile

from quixstreams import Application, State, message_context

from bench.kafka.peers.job import BROKER, OUTPUTS, PREFIX, SOURCE, Gate
from plangate.wire.state import take_patch

app = Application(
    broker_address=BROKER,
    consumer_group=f"{PREFIX}quix",
    auto_offset_reset="earliest",
    auto_create_topics=True,
    use_changelog_topics=True,
    state_dir=tempfile.mkdtemp(),
    loglevel="WARNING",
    processing_guarantee="at-least-once",
)
gate = Gate()
source = app.topic(SOURCE, key_deserializer="bytes", value_deserializer="bytes")


def decide(value: bytes, key: bytes, timestamp: int, headers: object, state: State) -> list[tuple]:
    at = message_context()
    outs = gate.process(at.partition, at.offset, key, value)
    state.set_bytes("window", take_patch(gate.window(at.partition, key), full=True))
    return [tuple(out) for out in outs]


stream = app.dataframe(source).apply(decide, stateful=True, metadata=True, expand=True)
for name, topic in OUTPUTS.items():
    out = app.topic(topic, key_serializer="bytes", value_serializer="bytes")
    branch = stream.filter(lambda out, name=name: out[0] == name)
    branch.set_headers(lambda out, *_: out[3]).apply(lambda out: out[2]).to_topic(out)

if __name__ == "__main__":
    app.run()
