"""Figures of the workers from their page `/metrics`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

import aiohttp

WANTED = {
    "process_cpu_seconds_total": "cpu_seconds",
    "process_resident_memory_bytes": "memory_bytes",
    "plangate_windows": "windows",
    "plangate_partitions": "partitions",
    "plangate_events_total": "events",
    "plangate_recovery_seconds": "recovery_seconds",
    "plangate_recovered_records_total": "recovered_records",
}
PATIENCE_SECONDS = 2.0


def read_metrics(page: str) -> dict[str, float]:
    """The wanted figures of a page in Prometheus' text format; lines of no use are passed over."""
    found: dict[str, float] = {}
    for line in page.splitlines():
        name, _, value = line.partition(" ")
        if name in WANTED:
            try:
                found[WANTED[name]] = float(value)
            except ValueError:
                continue
    return found


async def addresses(url: str) -> list[str]:
    """All addresses behind a worker's URL as `host:port`: the name of a scaled service stands for many workers."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    port = parts.port or 6066
    loop = asyncio.get_running_loop()
    try:
        told = await loop.getaddrinfo(parts.hostname or "", port, family=socket.AF_INET, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return sorted({f"{entry[4][0]}:{port}" for entry in told})


async def scrape(session: aiohttp.ClientSession, urls: Sequence[str]) -> dict[str, dict[str, float]]:
    """Figures by worker; one that does not answer is left out."""
    hosts = [host for found in await asyncio.gather(*map(addresses, urls)) for host in found]
    pages = await asyncio.gather(*(_page(session, host) for host in hosts))
    return {host: read_metrics(page) for host, page in zip(hosts, pages, strict=True) if page is not None}


async def _page(session: aiohttp.ClientSession, host: str) -> str | None:
    try:
        async with session.get(f"http://{host}/metrics", timeout=aiohttp.ClientTimeout(PATIENCE_SECONDS)) as answer:
            return await answer.text() if answer.status == 200 else None
    except (aiohttp.ClientError, TimeoutError, OSError):
        return None


def cpu_shares(before: dict[str, dict[str, float]], after: dict[str, dict[str, float]], seconds: float) -> Iterable:
    """Pairs of worker and the share of one core that it took in between; those that started anew are left out."""
    for host, figures in after.items():
        then, now = before.get(host, {}).get("cpu_seconds"), figures.get("cpu_seconds")
        if then is not None and now is not None and now >= then and seconds > 0:
            yield host, (now - then) / seconds
