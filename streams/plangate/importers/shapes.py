"""The outer shapes that message lists come in."""

from collections.abc import Callable

from plangate.importers.model import FormatError


def as_object(value: object) -> dict:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def message_list(value: object) -> list[object]:
    """The value if it is a list. Raises FormatError."""
    if not isinstance(value, list):
        raise FormatError("no_messages")
    return value


def longest_exchange(exchanges: object, answers: Callable[[dict], bool]) -> tuple[dict, dict | None]:
    """Request body with the most messages among recorded exchanges, and its response body if `answers` takes it.

    Exchanges with other providers in the same recording are passed over: their requests have no `messages`, or another
    kind of answer. Raises FormatError if none is left.
    """
    found: list[tuple[dict, dict | None]] = []
    for exchange in exchanges if isinstance(exchanges, list) else []:
        request, response = (_body(exchange, side) for side in ("request", "response"))
        if request is not None and isinstance(request.get("messages"), list):
            found.append((request, response if response is not None and answers(response) else None))
    answered = [pair for pair in found if pair[1] is not None] or found
    if not answered:
        raise FormatError("no_messages")
    return max(answered, key=lambda pair: len(pair[0]["messages"]))


def _body(exchange: object, side: str) -> dict | None:
    body = as_object(as_object(exchange).get(side)).get("body")
    return body if isinstance(body, dict) else None
