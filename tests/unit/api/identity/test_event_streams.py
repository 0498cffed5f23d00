"""A stream of events ends with what its client was let in by."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from falcon import testing
from oslo_config import cfg

from api.events import event_hub
from api.events.event_hub import EventHub
from api.front import make_front
from api.handlers import event
from tests.fixtures.super_conductor import SuperConductorClient
from tests.unit.api.identity.conftest import Client, WriteAccounts, asked

PATH = "/v2.1/armillary/events"
SECRET = "a-host-that-is-not-for-everybody"


class Feed:
    """A feed that says something once the client has lost its rights, and then ends."""

    def __init__(self) -> None:
        self.loses: Callable[[], object] = lambda: None
        self.hub = EventHub(self, followers_max=1, queue_size_max=10)

    def run(
        self,
        stop: threading.Event,
        on_message: Callable[[dict[str, Any]], None],
        on_gap: Callable[[bool], None],
    ) -> None:
        self.loses()
        on_message({"version": "1.0", "events": [{"type": "service.update", "host": SECRET}]})
        self.hub.stop()


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Return a feed whose followers are looked at with each event."""
    monkeypatch.setattr(event, "VALIDITY_SECONDS", 0.0)
    monkeypatch.setattr(event_hub, "ALIVE_SECONDS", 60.0)
    return Feed()


@pytest.fixture
def web(
    conf: cfg.ConfigOpts,
    client: SuperConductorClient,
    write_accounts: WriteAccounts,
    tmp_path: Path,
    feed: Feed,
) -> Client:
    """Return a client of all APIs of one process, whose events are those of the feed."""
    conf.set_override("auth_strategy", "token_file", group="api")
    conf.set_override("token_file", str(tmp_path / "tokens.yaml"), group="api")
    return Client(make_front(conf, conductor=client, events=feed.hub))


@pytest.fixture
def token(web: Client) -> str:
    """Return a token of an administrator."""
    found: str = web.simulate_post("/v3/auth/tokens", json=asked("root")).headers["X-Subject-Token"]
    return found


def test_an_administrator_follows(web: Client, token: str) -> None:
    assert SECRET in web.simulate_get(PATH, headers={"X-Auth-Token": token}).text


def test_a_stream_ends_with_its_token(web: Client, token: str, feed: Feed) -> None:
    """Not only when its client follows again."""
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    feed.loses = lambda: web.simulate_delete("/v3/auth/tokens", headers=headers)
    assert_ended(web.simulate_get(PATH, headers={"X-Auth-Token": token}))


def test_a_stream_ends_with_the_role(
    web: Client, feed: Feed, write_accounts: WriteAccounts
) -> None:
    write_accounts(projects={"stars": ["admin"]})
    login = web.simulate_post("/v3/auth/tokens", json=asked())
    feed.loses = write_accounts  # alice is a member again
    headers = {"X-Auth-Token": login.headers["X-Subject-Token"]}
    assert_ended(web.simulate_get(PATH, headers=headers))


def test_a_stream_ends_with_the_session_of_the_console(web: Client, token: str, feed: Feed) -> None:
    """The token that the user logged in with is valid on."""
    login = web.simulate_post("/ui/session", json={"token": token})
    cookie = {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}
    csrf = {"X-CSRF-Token": login.json["session"]["csrf_token"]}
    feed.loses = lambda: web.simulate_delete("/ui/session", headers={**cookie, **csrf})
    assert_ended(web.simulate_get(PATH, headers=cookie))


def test_a_stream_ends_after_a_while(
    web: Client, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keystone does not tell that a token was revoked before it is asked again."""
    monkeypatch.setattr(event, "STREAM_SECONDS_MAX", 0.0)
    followed = web.simulate_get(PATH, headers={"X-Auth-Token": token})
    assert (event.OVER in followed.text, SECRET in followed.text) == (True, False)


def assert_ended(followed: testing.Result) -> None:
    """Check that the client was let in, and heard nothing after it had lost its rights."""
    assert followed.status_code == 200
    assert (event.NO_LONGER_VALID in followed.text, SECRET in followed.text) == (True, False)
