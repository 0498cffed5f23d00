"""Live events, as a stream until the client disconnects."""

import json
import time
from collections.abc import Callable, Generator, Iterator

from api.call import Call
from api.events.event_backlog import Line
from api.events.event_hub import ALIVE, NOTICE, EventFilter, Follower
from api.policies import event as policies
from api.schemas import event as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes

VALIDITY_SECONDS = 10.0
"""How often a stream looks whether its caller's token is still valid."""
STREAM_SECONDS_MAX = 3600.0
NO_LONGER_VALID = "The token is no longer valid, or has other roles; the stream ends."
OVER = "A stream of events ends after an hour; follow again."


def follow(call: Call) -> Answer:
    """Follow live events: server-sent events, each with a JSON object."""
    hub = call.site.events
    if hub is None:
        raise exception.NotFound(what="An event feed")
    types = tuple(part for part in call.query.get("type", "").split(",") if part)
    wanted = EventFilter(call.query.get("server"), call.query.get("host"), types)
    follower = hub.follow(wanted, call.query.get("after"), call.is_client_gone)
    stream = _Stream(follower, call.is_still_valid)
    return Answer(stream=stream, headers={"Cache-Control": "no-store"})


class _Stream:
    """The bytes of a stream; closed when the client disconnects, possibly before its first step.

    It ends when the caller's token is no longer valid, and after an hour: not every identity
    service tells that a token was revoked, but each is asked when a client follows again.
    """

    def __init__(self, follower: Follower, is_still_valid: Callable[[], bool]) -> None:
        self._follower = follower
        self._bytes = _as_bytes(follower, is_still_valid)

    def __iter__(self) -> Iterator[bytes]:
        return self._bytes

    def close(self) -> None:
        self._bytes.close()
        self._follower.close()


def _as_bytes(follower: Follower, is_still_valid: Callable[[], bool]) -> Generator[bytes]:
    yield f": armillary events\nid: {follower.position}\n\n".encode()
    began = looked = time.monotonic()
    for kind, line in follower:
        now = time.monotonic()
        if now - looked >= VALIDITY_SECONDS:
            looked = now
            if not is_still_valid():
                yield _sent(NOTICE, {"message": NO_LONGER_VALID, "last": True}, follower)
                return
        if now - began >= STREAM_SECONDS_MAX:
            yield _sent(NOTICE, {"message": OVER, "last": True}, follower)
            return
        if kind == ALIVE:
            yield b": alive\n\n"
            continue
        yield _sent(kind, line, follower)


def _sent(kind: str, line: Line, follower: Follower) -> bytes:
    data = json.dumps(line)
    return f"id: {follower.position}\nevent: {kind}\ndata: {data}\n\n".encode()


ROUTES: Routes[Call] = {
    "/v2.1/armillary/events": {
        "GET": Action(
            follow,
            policies.FOLLOW,
            schemas.FOLLOW_ANSWER,
            query=schemas.FOLLOW_QUERY,
            media_type=schemas.EVENT_STREAM,
        )
    }
}
