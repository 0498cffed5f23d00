"""Times of messages: by topic and method, and an outcome for each."""

import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import oslo_messaging
import prometheus_client
import pytest

from rpc.timing import SENT_AT, ClientTimes, ServerTimes


@pytest.fixture
def topic() -> str:
    """Return a topic that no other test counts."""
    return f"topic-{uuid.uuid4()}"


class Ticks:
    """A clock that goes on by a second with each check."""

    def __init__(self) -> None:
        self._ticks: Iterator[int] = iter(range(1000))

    def __call__(self) -> float:
        return float(next(self._ticks))


def value(name: str, **labels: str) -> float | None:
    return prometheus_client.REGISTRY.get_sample_value(f"armillary_{name}", labels)


def a_message(method: str = "build", **context: Any) -> Any:
    return SimpleNamespace(message={"method": method}, ctxt=context)


def timed(topic: str, dispatch: Any) -> Any:
    return ServerTimes(topic, clock=Ticks()).timed(dispatch, now=lambda: 1000.0)


def refuse(_message: Any) -> None:
    raise oslo_messaging.ExpectedException


def break_down(_message: Any) -> None:
    raise KeyError


def not_served(_message: Any) -> None:
    raise oslo_messaging.NoSuchMethod("whatever")


def test_a_message_is_timed_and_answered(topic: str) -> None:
    """The clock changes nothing about the answer."""
    assert timed(topic, lambda message: message.message["method"])(a_message()) == "build"
    assert value("rpc_server_seconds_sum", topic=topic, method="build") == 1.0
    assert value("rpc_server_calls_total", topic=topic, method="build", outcome="ok") == 1


@pytest.mark.parametrize(
    ("dispatch", "method", "outcome"),
    [
        (refuse, "build", "refused"),
        (break_down, "build", "error"),
        (not_served, "unknown", "error"),
    ],
    ids=["refused", "broken", "not served"],
)
def test_an_error_goes_on_and_is_counted(
    topic: str, dispatch: Any, method: str, outcome: str
) -> None:
    """A name that is not served makes no series of its own: anybody could invent any number."""
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it is, it goes on
        timed(topic, dispatch)(a_message())
    labels = {"topic": topic, "method": method, "outcome": outcome}
    assert value("rpc_server_calls_total", **labels) == 1


def test_the_age_of_a_message_is_seen_where_it_is_known(topic: str) -> None:
    """Older peers do not say when they sent it; clocks that disagree make no negative age."""
    serve = timed(topic, lambda _message: None)
    for context in ({SENT_AT: 997.5}, {SENT_AT: 2000.0}, {}, {SENT_AT: "soon"}):
        serve(a_message(**context))
    assert value("rpc_queue_seconds_count", topic=topic) == 2
    assert value("rpc_queue_seconds_sum", topic=topic) == 2.5


def test_a_call_is_counted_by_its_outcome(topic: str) -> None:
    """Time and count are of one topic and method."""
    times = ClientTimes(topic)
    times.ended("build", "ok", 0.25)
    times.ended("build", "timeout", 60.0)
    assert value("rpc_client_seconds_sum", topic=topic, method="build") == 60.25
    assert value("rpc_client_calls_total", topic=topic, method="build", outcome="timeout") == 1
