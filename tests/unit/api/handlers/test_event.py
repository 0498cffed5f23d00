"""Events over HTTP: a stream for administrators."""

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from oslo_config import cfg

from api.app import make_app
from api.events.event_hub import EventHub
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.programs.serving import serving
from tests.fixtures.super_conductor import SuperConductorClient

PATH = "/v2.1/armillary/events"
SECONDS_MAX = 60.0
LINES_OF_ONE_EVENT = 6
"""Lines of a stream up to the data of its first event."""


class Feed:
    """A feed that says the same to each new follower."""

    lines: tuple[dict[str, Any], ...] = (
        {"type": "instance.create.end", "server": "s1", "host": "a"},
        {"type": "service.update", "host": "b"},
    )

    def run(
        self,
        stop: threading.Event,
        on_message: Callable[[dict[str, Any]], None],
        on_gap: Callable[[bool], None],
    ) -> None:
        on_message({"version": "1.0", "events": list(self.lines)})
        stop.wait(SECONDS_MAX)


@pytest.fixture
def hub(request: pytest.FixtureRequest) -> EventHub:
    """A hub for one follower, or as many as a test asks for."""
    return EventHub(Feed(), followers_max=getattr(request, "param", 1), queue_size_max=10)


@pytest.fixture
def url(conf: cfg.ConfigOpts, client: SuperConductorClient, hub: EventHub) -> Iterator[str]:
    """Return the address of the stream."""
    app = make_app(conf, conductor=client, events=hub)
    with serving(app, threads=3) as server:
        yield "http://{}:{}{}".format(*server.address, PATH)
        hub.stop()


def data_of(answer: requests.Response, count: int) -> list[str]:
    """Return the first lines of data, then let the stream go."""
    lines = (line.decode() for line in answer.iter_lines() if line.startswith(b"data:"))
    found = [next(lines) for _ in range(count)]
    answer.close()
    return found


def test_events_arrive_while_the_stream_is_open(url: str) -> None:
    """As server-sent events."""
    answer = requests.get(url, stream=True, timeout=SECONDS_MAX)
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.headers["x-openstack-request-id"].startswith("req-")
    assert "instance.create.end" in data_of(answer, 2)[0]


def test_a_client_that_left_keeps_no_place(url: str) -> None:
    """Before there is an event whose sending would fail: a page that is loaded again finds it."""
    for _ in range(3):
        answer = requests.get(url, stream=True, timeout=SECONDS_MAX)
        assert answer.status_code == 200
        assert next(answer.iter_lines()) == b": armillary events"
        answer.close()


@pytest.mark.parametrize("hub", [2], indirect=True)
def test_a_stream_goes_on_where_another_one_ended(url: str) -> None:
    """The id of the last event that was read says where."""
    answer = requests.get(url, stream=True, timeout=SECONDS_MAX)
    lines = itertools.islice(answer.iter_lines(), LINES_OF_ONE_EVENT)
    position = [line for line in lines if line.startswith(b"id: ")][-1].decode()[4:]
    again = requests.get(url, params={"after": position}, stream=True, timeout=SECONDS_MAX)
    resumed, event = data_of(again, 2)
    answer.close()
    assert '"resumed": true' in resumed
    assert "service.update" in event


@pytest.mark.parametrize(
    "query", [{"host": "b"}, {"type": "service.*,aggregate.*"}], ids=["host", "type"]
)
def test_a_query_chooses(url: str, query: dict[str, str]) -> None:
    """What is not wanted is not sent."""
    answer = requests.get(url, params=query, stream=True, timeout=SECONDS_MAX)
    assert "service.update" in data_of(answer, 1)[0]


def test_the_end_of_the_process_ends_the_stream(url: str, hub: EventHub) -> None:
    """With a word, and immediately."""
    answer = requests.get(url, stream=True, timeout=SECONDS_MAX)
    hub.stop()
    assert "This API process is stopping" in answer.text


def test_one_too_many_is_refused(url: str) -> None:
    """There may be room again."""
    first = requests.get(url, stream=True, timeout=SECONDS_MAX)
    reading = first.iter_lines()  # kept: without it the connection would be let go
    assert next(reading) == b": armillary events"
    with requests.get(url, stream=True, timeout=SECONDS_MAX) as second:
        assert second.status_code == 409
    first.close()


def test_events_are_for_administrators(api: Api) -> None:
    """They name everybody's servers and hosts."""
    assert api.get(PATH, token=MEMBER).status_code == 403


def test_an_api_without_a_feed_says_so(api: Api) -> None:
    """It is an option."""
    assert api.get(PATH).status_code == 404
