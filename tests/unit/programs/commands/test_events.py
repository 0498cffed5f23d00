"""``armillary events``: lines for people or for programs."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from objects.instance import Instance
from programs.access.errors import ApiRefused, ApiTimeout, ApiUnreachable
from programs.commands import events
from programs.commands.events import follow, line_of, parsed
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

EVENTS: list[dict[str, Any]] = [
    {
        "time": "2030-01-31T12:00:00.000+00:00", "type": "instance.create.error", "name": "web",
        "server": "s1", "servers": [], "host": "a", "state": "error", "task_state": None,
        "attempt": 2, "reason": "no space",
    },
    {"time": "2030-01-31T12:00:01.000+00:00", "type": "service.update", "host": "b"},
]  # fmt: skip


@pytest.fixture(autouse=True)
def queries(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Have two events happen; return what was asked for."""
    asked: list[Any] = []

    def follow(_api: Any, query: Any) -> Any:
        asked.append(query)
        yield from EVENTS

    monkeypatch.setattr(events, "follow", follow)
    return asked


def test_a_person_reads_a_line_an_event() -> None:
    """When, what, which, where, how it is, why."""
    first, second = (line_of(event).split("  ", 1)[1] for event in EVENTS)
    assert first == (
        "instance.create.error               web (s1)  on a  error  attempt 2  (no space)"
    )
    assert second.split() == ["service.update", "on", "b"]


def test_a_program_reads_an_object_a_line(armillary: Armillary) -> None:
    """As the API sent it."""
    ended = armillary("events", "--json")
    assert [json.loads(line) for line in ended.out.splitlines()] == EVENTS
    assert ended.code == 0


def test_a_count_ends_it(armillary: Armillary) -> None:
    """For scripts."""
    assert len(armillary("events", "--count", "1").out.splitlines()) == 1


def test_filters_go_to_the_api(armillary: Armillary, queries: list[Any]) -> None:
    """What is not wanted need not travel."""
    armillary("events", "--server", "web", "--host", "a", "--type", "x.*", "--type", "*.error")
    armillary("events")
    assert queries == [{"server": "web", "host": "a", "type": "x.*,*.error"}, {}]


def test_the_past_of_a_server_comes_first(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: Callable[..., Instance]
) -> None:
    """As far back as was asked for."""
    server = a_server()
    conductor.actions = [builders.an_action(server.uuid)]
    long_ago = armillary("events", "--server", "web", "--since", "1e10", "--json")
    types = [json.loads(line)["type"] for line in long_ago.out.splitlines()]
    assert types[0] == "create.compute_build.start"
    assert types[-2:] == [event["type"] for event in EVENTS]


def test_the_past_is_that_of_one_server(armillary: Armillary) -> None:
    """What is past of everything is not kept."""
    assert armillary("events", "--since", "60").code == 2


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


def test_a_stream_goes_on_after_the_last_event() -> None:
    api: Any = Api(
        [": alive", "id: a.1", "", "id: a.2", *lines(1), LOST], [AWAY], [*lines(2), LOST],
        ["id: b.1", *lines(3), LOST], lines(4),
    )  # fmt: skip
    events = follow(api, {"host": "a"}, sleep=lambda _seconds: None)
    assert [event["number"] for event in itertools.islice(events, 4)] == [1, 2, 3, 4]
    positions = [query.get("after") for query in api.queries]
    assert positions == [None, "a.2", "a.2", "a.2", "b.1"]
    assert {query["host"] for query in api.queries} == {"a"}


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
