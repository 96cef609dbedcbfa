"""(c) The bound: plain aiokafka, batches, no durable state at all. What it decided is gone when it ends."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bench.kafka.peers.job import BROKER, OUTPUTS, PREFIX, SOURCE, Gate


async def main() -> None:
    gate = Gate()
    consumer = AIOKafkaConsumer(
        SOURCE,
        bootstrap_servers=BROKER,
        group_id=f"{PREFIX}plain",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=2 * 1024 * 1024,
    )
    producer = AIOKafkaProducer(bootstrap_servers=BROKER, linger_ms=5, max_batch_size=262_144)
    await consumer.start()
    await producer.start()
    while True:
        batches = await consumer.getmany(timeout_ms=200, max_records=2000)
        sent = []
        for place, records in batches.items():
            for record in records:
                for out in gate.process(place.partition, record.offset, record.key, record.value):
                    sent.append(await producer.send(OUTPUTS[out.topic], out.value, out.key, headers=out.headers))
        if sent:
            await asyncio.gather(*sent)
            await consumer.commit()


if __name__ == "__main__":
    asyncio.run(main())
