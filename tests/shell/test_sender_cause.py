"""A transaction that the broker ended is told by what ended it, whichever of its batches is heard of first."""

import asyncio

import pytest
from aiokafka.errors import IllegalOperation, InvalidTxnState, TopicAuthorizationFailedError

from plangate.shell.sender import cause_of


@pytest.mark.parametrize("heard", [InvalidTxnState(), IllegalOperation(), ValueError()])
@pytest.mark.parametrize("place", [0, 2])
def test_the_cause_is_named_and_not_its_consequences(heard: Exception, place: int) -> None:
    cause = TopicAuthorizationFailedError("t")

    async def scenario() -> BaseException:
        answers: list[BaseException] = [InvalidTxnState(), InvalidTxnState()]
        answers.insert(place, cause)
        sent = []
        for answer in answers:
            future: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()
            future.set_exception(answer)
            sent.append(future)
        return await cause_of(heard, sent)

    assert asyncio.run(scenario()) is (heard if isinstance(heard, ValueError) else cause)
