"""Structured logs that can't repeat input (contract section 7).

Our own lines have a fixed event name and fields that are names, numbers and closed words. Of an exception only its
type and our own frames are written, never its text: decoders put the bytes they choke on into theirs. The same holds
for the lines of libraries: exceptions among their arguments become type names, and they never log below INFO, where
Kafka clients print records.
"""

import logging
import os
import sys
import threading
import traceback
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, NoReturn, TextIO

import structlog

# With our subclasses of Faust's services, whose lines are Faust's.
LIBRARIES = ("faust", "mode", "aiokafka", "kafka", "asyncio", "aiohttp", "plangate.shell.worker")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

logger = structlog.stdlib.get_logger("plangate")


def configure_logs(level: str, form: str, stream: TextIO = sys.stderr) -> None:
    """Send all logs of the process to `stream`: `form` is json or console."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        name_exception,
    ]
    renderer = structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(hide_exception_texts)
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(logging.WARNING)
    logging.getLogger("plangate").setLevel(level.upper())
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.INFO if level == "debug" else logging.WARNING)
    logging.raiseExceptions = False  # else a line that can't be formatted is printed with its arguments
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda caught: _log_unseen("uncaught_in_thread", caught.exc_value)
    sys.unraisablehook = lambda caught: _log_unseen("unraisable", caught.exc_value)


def name_exception(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor: `exc_info` becomes the exception's type, its causes' types and our frames."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event |= exception_fields(error)
    return event


def exception_fields(error: BaseException) -> dict[str, Any]:
    """What may be told of an exception."""
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < 5:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    return {"exception": kinds[0], "causes": kinds[1:], "frames": _our_frames(error.__traceback__)}


def _our_frames(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)
    ours = [frame for frame in frames if os.path.abspath(frame.filename).startswith(_PACKAGE + os.sep)]
    return [f"{os.path.relpath(frame.filename, _PACKAGE)}:{frame.lineno} {frame.name}" for frame in ours]


def hide_exception_texts(record: logging.LogRecord) -> bool:
    """logging filter: exceptions among a line's arguments become the names of their types."""
    if isinstance(record.args, tuple):
        record.args = tuple(_safe(argument) for argument in record.args)
    elif isinstance(record.args, dict):
        record.args = {name: _safe(argument) for name, argument in record.args.items()}
    record.exc_text = None
    record.stack_info = None
    return True


def _safe(argument: object) -> object:
    return type(argument).__name__ if isinstance(argument, BaseException) else argument


def log_loop_error(loop: Any, context: dict[str, Any]) -> None:
    """asyncio exception handler: its own prints the exception and the repr of the task."""
    error = context.get("exception")
    logger.error("loop_error", exc_info=error if isinstance(error, BaseException) else None)


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    logger.critical("uncaught", exc_info=(kind, error, trace))


def _log_unseen(event: str, error: BaseException | None) -> None:
    logger.error(event, exc_info=error)


def end_process(status: int, reason: str, error: BaseException | None = None, **fields: Any) -> NoReturn:
    """End at once, without clean-up that could still publish, and say why, whatever the level of the logs.

    `reason` and `fields` are closed words and numbers, never an exception's text that is not our own.
    """
    logging.getLogger("plangate").setLevel(logging.INFO)
    (logger.critical if status else logger.info)("stopped", status=status, reason=reason, exc_info=error, **fields)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
