"""(a) What a careful reader of Faust's guide would write: an agent, event by event; for each event one table write and
an awaited send of each output.

The table's value is the whole window. Kinder to this peer than most such agents would be: the live window stays in
memory beside the table, instead of being decoded from it for each event.
"""

from __future__ import annotations

import tempfile

import faust

from bench.kafka.peers.job import BROKER, OUTPUTS, PARTITIONS, PREFIX, SOURCE, Gate
from plangate.wire.state import take_patch

app = faust.App(
    f"{PREFIX}naive",
    broker=f"kafka://{BROKER}",
    topic_partitions=PARTITIONS,
    store="memory://",
    web_enabled=False,
    key_serializer="raw",
    value_serializer="raw",
    datadir=tempfile.mkdtemp(),
    producer_max_request_size=9_000_000,
)
raw = {"key_serializer": "raw", "value_serializer": "raw"}
types = {"key_type": bytes, "value_type": bytes}
source = app.topic(SOURCE, **types, **raw)
outputs = {name: app.topic(topic, **types, **raw) for name, topic in OUTPUTS.items()}
table = app.Table("windows", partitions=PARTITIONS, **types)
gate = Gate()


@app.agent(source)
async def decide(stream):
    async for event in stream.events():
        message = event.message
        outs = gate.process(message.partition, message.offset, message.key, message.value)
        table[message.key] = take_patch(gate.window(message.partition, message.key), full=True)
        for out in outs:
            await outputs[out.topic].send(key=out.key, value=out.value, headers=dict(out.headers))


if __name__ == "__main__":
    app.main()
