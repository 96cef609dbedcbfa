"""Log lines can't repeat input: neither our own nor those of libraries, whatever is thrown."""

import asyncio
import gc
import io
import json
import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from plangate.shell.logs import configure_logs, log_loop_error, logger

CANARY = "c4n4ry"


@pytest.fixture(params=["debug", "info"])
def lines(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """Where the logs go; logging is put back afterwards."""
    root = logging.getLogger()
    before = root.handlers[:], root.level, sys.excepthook, threading.excepthook, sys.unraisablehook
    stream = io.StringIO()
    configure_logs(request.param, "json", stream)
    yield stream
    root.handlers[:], root.level, sys.excepthook, threading.excepthook, sys.unraisablehook = before


def throw() -> None:
    try:
        CANARY.encode().decode("utf-16").encode("ascii")
    except UnicodeError as error:
        raise ValueError(f"no number: {CANARY}") from error


def test_own_lines_name_types_and_our_frames(lines: io.StringIO) -> None:
    from plangate.wire.policy import load_policy

    try:
        load_policy(f'{{"{CANARY}": '.encode())
    except Exception:
        logger.error("stopped", exc_info=True, status=70)
    [line] = map(json.loads, lines.getvalue().splitlines())
    assert (line["event"], line["status"], line["exception"]) == ("stopped", 70, "PolicyError")
    assert "JSONDecodeError" in line["causes"]
    assert [frame.split()[-1] for frame in line["frames"]] == ["load_policy"]
    assert CANARY not in lines.getvalue()


@pytest.mark.parametrize("name", ["faust.app.base", "aiokafka.consumer.fetcher", "mode.services", "asyncio", "other"])
def test_lines_of_libraries_have_no_exception_text(lines: io.StringIO, name: str) -> None:
    library = logging.getLogger(name)
    try:
        throw()
    except ValueError as error:
        library.exception("Crashed reason=%r", error)
        library.error("Got exception: %(error)s", {"error": error})
        library.warning("stack", stack_info=True)
    library.debug("Sending (key=%s value=%s)", CANARY, CANARY)
    text = lines.getvalue()
    assert CANARY not in text
    first = json.loads(text.splitlines()[0])
    assert (first["event"], first["exception"]) == ("Crashed reason='ValueError'", "ValueError")


def test_tasks_that_die_unseen_have_no_exception_text(lines: io.StringIO) -> None:
    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(log_loop_error)

        async def die() -> None:
            throw()

        task = asyncio.ensure_future(die())
        await asyncio.sleep(0.01)
        del task

    asyncio.run(scenario())
    assert "loop_error" in lines.getvalue()
    assert CANARY not in lines.getvalue()


def test_uncaught_exceptions_have_no_text(lines: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        throw()
    except ValueError:
        sys.excepthook(*sys.exc_info())
    assert json.loads(lines.getvalue())["event"] == "uncaught"
    captured = capsys.readouterr()
    assert CANARY not in lines.getvalue() + captured.out + captured.err


def test_threads_and_finalizers_that_die_have_no_text(lines: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    """Python's own hooks print the traceback, with the text, past all logging."""

    class Dying:
        def __del__(self) -> None:
            throw()

    thread = threading.Thread(target=throw)
    thread.start()
    thread.join()
    Dying()
    gc.collect()
    events = [json.loads(line)["event"] for line in lines.getvalue().splitlines()]
    assert events == ["uncaught_in_thread", "unraisable"]
    captured = capsys.readouterr()
    assert CANARY not in lines.getvalue() + captured.out + captured.err
    assert (captured.out, captured.err) == ("", "")


def test_a_line_that_cant_be_formatted_is_not_printed(lines: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("other").error("two %s %s", CANARY)
    captured = capsys.readouterr()
    assert CANARY not in captured.out + captured.err
