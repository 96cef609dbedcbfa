"""(d) A Faust agent that only takes batches: one table write for each window touched, all sends of a batch gathered."""

from __future__ import annotations

import asyncio
import tempfile

import faust

from bench.kafka.peers.job import BROKER, OUTPUTS, PARTITIONS, PREFIX, SOURCE, Gate
from plangate.wire.state import take_patch

app = faust.App(
    f"{PREFIX}take",
    broker=f"kafka://{BROKER}",
    topic_partitions=PARTITIONS,
    store="memory://",
    web_enabled=False,
    key_serializer="raw",
    value_serializer="raw",
    datadir=tempfile.mkdtemp(),
    producer_linger=0.005,
    producer_max_request_size=9_000_000,
)
raw = {"key_serializer": "raw", "value_serializer": "raw"}
types = {"key_type": bytes, "value_type": bytes}
source = app.topic(SOURCE, **types, **raw)
outputs = {name: app.topic(topic, **types, **raw) for name, topic in OUTPUTS.items()}
table = app.Table("windows", partitions=PARTITIONS, use_partitioner=True, **types)
gate = Gate()


@app.agent(source)
async def decide(stream):
    async for events in stream.take_events(500, within=0.05):
        touched, outs = {}, []
        for event in events:
            message = event.message
            outs += gate.process(message.partition, message.offset, message.key, message.value)
            touched[message.key] = message.partition
        for key, partition in touched.items():
            table[key] = take_patch(gate.window(partition, key), full=True)
        sends = (outputs[out.topic].send(key=out.key, value=out.value, headers=dict(out.headers)) for out in outs)
        await asyncio.gather(*await asyncio.gather(*sends))


if __name__ == "__main__":
    app.main()
