"""The page in a real browser: no error on its console, no request but for itself."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from loadkit import MemoryBus
from test_page import HOSTILE, with_names
from test_run import run

from plangate.load.page import page
from plangate.load.report import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


@contextmanager
def browser(profile: Path) -> Iterator[None]:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={profile}"]
    null = subprocess.DEVNULL
    process = subprocess.Popen([str(CHROMIUM), *options, "about:blank"], stdout=null, stderr=null)
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def visit(url: str, profile: Path) -> tuple[list[dict[str, Any]], str]:
    """What the browser reports while it loads a page, and the page's text in the end."""
    port = await debugging_port(profile)
    async with aiohttp.ClientSession() as session:
        async with session.put(f"http://127.0.0.1:{port}/json/new?about:blank") as answer:
            tab = await answer.json(content_type=None)
        async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as line:
            return await talk(line, url)


def load(file: Path) -> tuple[list[dict[str, Any]], str]:
    profile = file.parent / "profile"
    with browser(profile):
        return asyncio.run(visit(file.as_uri(), profile))


async def debugging_port(profile: Path) -> int:
    for _ in range(600):
        file = profile / "DevToolsActivePort"
        if file.exists() and (lines := file.read_text().splitlines()):
            return int(lines[0])
        await asyncio.sleep(0.1)
    raise AssertionError("the browser did not start in a minute")


async def talk(line: aiohttp.ClientWebSocketResponse, url: str) -> tuple[list[dict[str, Any]], str]:
    numbers, seen = count(1), []

    async def ask(method: str, **params: Any) -> dict[str, Any]:
        number = next(numbers)
        await line.send_json({"id": number, "method": method, "params": params})
        while True:
            told = json.loads((await line.receive(60)).data)
            if told.get("id") == number:
                return told["result"]
            seen.append(told)

    for domain in ("Network", "Log", "Runtime", "Page"):
        await ask(f"{domain}.enable")
    await ask("Page.navigate", url=url)
    while not any(told.get("method") == "Page.loadEventFired" for told in seen):
        seen.append(json.loads((await line.receive(60)).data))
    shown = await ask("Runtime.evaluate", expression="document.body.innerText")
    return seen, shown["result"]["value"]


def faults(seen: list[dict[str, Any]], url: str) -> list[Any]:
    """Console messages, exceptions, dialogs, and requests for anything but the page."""
    bad = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Page.javascriptDialogOpening")
    found = [told for told in seen if told.get("method") in bad]
    requests = [told["params"]["request"] for told in seen if told.get("method") == "Network.requestWillBeSent"]
    assert requests
    return found + [request["url"] for request in requests if request["url"] != url]


@pytest.mark.parametrize("name", ["worker-1", HOSTILE], ids=["plain", "hostile"])
def test_the_report_loads_without_error_or_request(tmp_path: Path, name: str) -> None:
    doc = with_names(report(run(MemoryBus(), ramp_factor=1.5, ramp_step=0.02), {}), name)
    file = tmp_path / "report.html"
    file.write_text(page(doc))
    seen, text = load(file)
    assert faults(seen, file.as_uri()) == []
    assert "Decision latency" in text
    assert name in text


def test_a_page_that_errs_is_found_out(tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text('<!doctype html><link rel="stylesheet" href="other.css"><script>console.error("x")</script>text')
    seen, _ = load(file)
    assert len(faults(seen, file.as_uri())) >= 2
