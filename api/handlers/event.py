"""Live events, as a stream until the client disconnects."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator

from api.call import Call
from api.event_hub import ALIVE, EVENT, EventFilter, Follower
from api.policies import event as policies
from api.schemas import event as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes


def follow(call: Call) -> Answer:
    """Follow live events: server-sent events, each with a JSON object."""
    hub = call.site.events
    if hub is None:
        raise exception.NotFound(what="An event feed")
    types = tuple(part for part in call.query.get("type", "").split(",") if part)
    wanted = EventFilter(call.query.get("server"), call.query.get("host"), types)
    return Answer(stream=_Stream(hub.follow(wanted)), headers={"Cache-Control": "no-store"})


class _Stream:
    """The bytes of a stream; closed when the client disconnects, possibly before its first step."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._bytes = _as_bytes(follower)

    def __iter__(self) -> Iterator[bytes]:
        return self._bytes

    def close(self) -> None:
        self._bytes.close()
        self._follower.close()


def _as_bytes(follower: Follower) -> Generator[bytes]:
    yield b": armillary events\n\n"
    number = 0
    for kind, line in follower:
        if kind == ALIVE:
            yield b": alive\n\n"
            continue
        number += kind == EVENT
        yield f"id: {number}\nevent: {kind}\ndata: {json.dumps(line)}\n\n".encode()


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
