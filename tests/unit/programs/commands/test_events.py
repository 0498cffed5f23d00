"""``armillary events``: lines for people or for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from objects.instance import Instance
from programs import event_stream
from programs.commands.events import line_of
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

    monkeypatch.setattr(event_stream, "follow", follow)
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
    armillary: Armillary,
    conductor: BuildingSuperConductor,
    a_server: Callable[..., Instance],
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
