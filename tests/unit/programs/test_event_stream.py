"""The stream of events at its reader's end: it is parsed, it breaks, it goes on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from programs.event_stream import follow, parsed
from programs.http_client import ApiRefused, ApiTimeout, ApiUnreachable

FORBIDDEN = ApiRefused(status=403, reason="no", request_id="r")
FULL = ApiRefused(status=409, reason="4 follow events", request_id="r")
LOST = ApiTimeout(url="u", method="GET", path="p", reason="the connection broke")
AWAY = ApiUnreachable(url="u")


def lines(*numbers: int) -> list[str]:
    return [line for n in numbers for line in ("event: event", f'data: {{"number": {n}}}', "")]


class Api:
    """Answers with one stream after the other: lines, and perhaps what breaks it."""

    def __init__(self, *streams: list[Any]) -> None:
        self._streams = iter(streams)
        self.queries: list[Any] = []

    def stream(self, *path: str, query: Any, silence: float) -> Iterator[str]:
        self.queries.append(query)
        for line in next(self._streams):
            if isinstance(line, Exception):
                raise line
            yield line


def test_events_are_parsed() -> None:
    """Comments, and lines without a JSON object, are left out."""
    text = [": alive", "", "id: 1", "event: event", 'data: {"a":', "data: 1}", "", "data: no", ""]
    assert list(parsed([*text, "event: notice", 'data: {"b": 2}', ""])) == [
        ("event", {"a": 1}),
        ("notice", {"b": 2}),
    ]


def test_a_stream_that_breaks_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """With pauses that grow until it is there again; what is lost is said."""
    pauses: list[float] = []
    api: Any = Api([*lines(1), LOST], [AWAY], [AWAY], lines(2), lines(3))
    events = follow(api, {"host": "a"}, sleep=pauses.append)
    assert [event["number"] for event in itertools.islice(events, 3)] == [1, 2, 3]
    assert pauses == [1.0, 2.0, 4.0, 1.0]
    assert api.queries == [{"host": "a"}] * 5
    assert "the connection broke" in caplog.text


def test_who_may_no_longer_follow_is_told_so() -> None:
    """A full house may empty, a no stays one."""
    api: Any = Api(lines(1), [FULL], lines(2), [FORBIDDEN])
    events = follow(api, {}, sleep=lambda _seconds: None)
    assert [next(events)["number"] for _ in range(2)] == [1, 2]
    with pytest.raises(ApiRefused):
        next(events)


def test_an_api_that_was_never_there_is_an_error() -> None:
    """As with every other command."""
    api: Any = Api([AWAY])
    with pytest.raises(ApiUnreachable):
        next(follow(api, {}))
