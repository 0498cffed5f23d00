"""Serial consoles that are open when their login, their server or its place ends."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import requests
import yaml
from oslo_config import cfg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from api.front import make_front
from armillary.consoles import console_links
from armillary.consoles.console_links import ConsoleKeys
from armillary.consoles.grant_checks import (
    CHECK_PATH,
    GRANT_HEADER,
    NO_ANSWER,
    NO_LONGER_GRANTED,
    GrantChecks,
)
from armillary.consoles.serial_proxy import ProxyOptions
from tests.fixtures.agent.serial_consoles import Terminal, running_port, serving_proxy
from tests.fixtures.asking import wait_for
from tests.fixtures.programs.serving import serving
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient
from tests.fixtures.waiting import seconds
from tests.unit.api.console.conftest import PASSWORD, SERVERS, SESSION
from tests.unit.api.console.conftest import Browser as Tab

SECONDS_MAX = 60
OFTEN_SECONDS = 0.05
TOKENS = "/v3/auth/tokens"
KEY = "serial-console.key"


def terminal_of(host: str, instance_uuid: str) -> Terminal:
    return Terminal()


@pytest.fixture
def front_conf(
    front_conf: cfg.ConfigOpts, conductor: SuperConductor, tmp_path: Path
) -> Iterator[cfg.ConfigOpts]:
    """Return the configuration of an API before an agent's port and a proxy."""
    console_links.make_key(tmp_path / KEY)
    options = ProxyOptions(
        host="127.0.0.1",
        port=0,
        keys=ConsoleKeys(tmp_path / KEY),
        grants=GrantChecks(interval_seconds=OFTEN_SECONDS, silence_seconds_max=0.0),
        connections_max=2,
    )
    with running_port(terminal_of) as port, serving_proxy(options) as number:
        conductor.grant_console = port.grant
        for name, value in {
            "enabled": True,
            "key_file": str(tmp_path / KEY),
            "base_url": f"ws://127.0.0.1:{number}/",
        }.items():
            front_conf.set_override(name, value, group="serial_console")
        yield front_conf


def link_to(send: Callable[..., requests.Response], server: str) -> str:
    """Return a link to a server's console, as its user gets it."""
    wanted = {"remote_console": {"protocol": "serial", "type": "serial"}}
    answer = send("POST", f"{SERVERS}/{server}/remote-consoles", json=wanted)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["remote_console"]["url"])


@contextmanager
def opened(link: str) -> Iterator[ClientConnection]:
    """Return an open console at which a user has typed."""
    with connect(link) as user:
        user.send("root\r")
        assert user.recv(SECONDS_MAX) == b"ROOT\r"
        yield user


def closing_reason(user: ClientConnection) -> str:
    """Return why a console is closed."""
    with pytest.raises(ConnectionClosed) as closed:
        user.recv(seconds(SECONDS_MAX))
    assert closed.value.rcvd is not None
    return closed.value.rcvd.reason


@pytest.fixture
def at_version(browser: Tab) -> Tab:
    """Return a browser that speaks the version with paths of consoles."""
    browser.session.headers["OpenStack-API-Version"] = "compute 2.90"
    return browser


def test_an_open_console_ends_with_the_session_of_the_web_console(
    at_version: Tab, alices: str
) -> None:
    """A copied link, too, is worth nothing after the logout, though it was not used before."""
    at_version.log_in("alice")
    with opened(link_to(at_version.send, alices)) as user:
        unused = link_to(at_version.send, alices)
        assert at_version.send("DELETE", SESSION).status_code == 204
        assert closing_reason(user) == NO_LONGER_GRANTED
    with connect(unused) as late:
        assert closing_reason(late) == NO_LONGER_GRANTED


class Client:
    """A user's program, with a token."""

    def __init__(self, url: str, user: str) -> None:
        self._url = url
        who = {"name": user, "domain": {"name": "Default"}, "password": PASSWORD}
        auth = {"identity": {"methods": ["password"], "password": {"user": who}}}
        answer = self.send("POST", TOKENS, json={"auth": auth})
        assert answer.status_code == 201, answer.text
        self._token = answer.headers["X-Subject-Token"]

    _token = ""

    def send(self, method: str, path: str, **more: Any) -> requests.Response:
        headers = {"X-Auth-Token": self._token, "OpenStack-API-Version": "compute 2.90"}
        headers |= more.pop("headers", {})
        return requests.request(
            method, self._url + path, headers=headers, timeout=seconds(10), **more
        )

    def revoke(self) -> None:
        """End the token."""
        answer = self.send("DELETE", TOKENS, headers={"X-Subject-Token": self._token})
        assert answer.status_code == 204, answer.text


@pytest.fixture
def alice(front: str, alices: str) -> Client:
    return Client(front, "alice")


@pytest.fixture
def console(alice: Client, alices: str) -> Iterator[ClientConnection]:
    """Return an open console of alice's server."""
    with opened(link_to(alice.send, alices)) as user:
        yield user


def test_an_open_console_ends_with_its_token(alice: Client, console: ClientConnection) -> None:
    """Whose user has revoked it."""
    alice.revoke()
    assert closing_reason(console) == NO_LONGER_GRANTED


@pytest.mark.parametrize("roles", [["reader"], []], ids=["reader", "none"])
def test_an_open_console_ends_with_the_role(
    roles: list[str], console: ClientConnection, accounts: str, front_conf: cfg.ConfigOpts
) -> None:
    """Which an administrator took from the user; the token is still valid."""
    changed = yaml.safe_load(accounts)
    changed["users"][0]["projects"] = {"stars": roles} if roles else {}
    Path(front_conf.api.token_file).write_text(yaml.safe_dump(changed))
    assert closing_reason(console) == NO_LONGER_GRANTED


def test_an_open_console_ends_with_its_server(
    console: ClientConnection, conductor: SuperConductor
) -> None:
    """Whatever the driver still has of it."""
    conductor.servers.clear()
    assert closing_reason(console) == NO_LONGER_GRANTED


def test_an_open_console_ends_when_its_server_moves(
    console: ClientConnection, conductor: SuperConductor, alices: str
) -> None:
    (server,) = (each for each in conductor.servers if each.uuid == alices)
    server.host = "another"
    assert closing_reason(console) == NO_LONGER_GRANTED


def test_a_console_stays_open_as_long_as_it_is_granted(
    console: ClientConnection, client: SuperConductorClient
) -> None:
    """After the API was asked some times."""
    asked = len(client.calls)
    wait_for(lambda: len(client.calls) >= asked + 3, "the proxy asks", SECONDS_MAX)
    console.send("still here\r")
    assert console.recv(SECONDS_MAX) == b"STILL HERE\r"


def test_a_console_is_closed_if_the_api_is_silent_for_long(
    front_conf: cfg.ConfigOpts, client: SuperConductorClient, alices: str
) -> None:
    """Who cuts the proxy off from the API keeps no console open; a new one is not opened."""
    with ExitStack() as until_closed:
        with serving(make_front(front_conf, conductor=client)) as server:
            alice = Client("http://{}:{}".format(*server.address), "alice")
            unused = link_to(alice.send, alices)
            user = until_closed.enter_context(opened(link_to(alice.send, alices)))
        assert closing_reason(user) == NO_ANSWER
    with connect(unused) as late:
        assert closing_reason(late) == NO_ANSWER


@pytest.mark.parametrize("grant", ["", "x", "gAAAAA" + "x" * 100])
def test_what_the_api_did_not_seal_is_refused(grant: str, front: str) -> None:
    answer = requests.get(
        f"{front}{CHECK_PATH}", headers={GRANT_HEADER: grant}, timeout=seconds(10)
    )
    assert answer.status_code == 400


def test_a_cookie_is_not_taken_for_a_grant_nor_a_grant_for_a_cookie(
    at_version: Tab, front: str, front_conf: cfg.ConfigOpts, alices: str
) -> None:
    """They are sealed with the same keys."""
    at_version.log_in("alice")
    sealed = link_to(at_version.send, alices).partition("?token=")[2]
    link = console_links.open_sealed(
        unquote(sealed), ConsoleKeys(Path(front_conf.serial_console.key_file))
    )
    cookie = {"armillary_console": link.grant}
    assert requests.get(front + SERVERS, cookies=cookie, timeout=seconds(10)).status_code == 401
    asked = {GRANT_HEADER: at_version.cookie}
    answer = requests.get(f"{front}{CHECK_PATH}", headers=asked, timeout=seconds(10))
    assert answer.status_code == 400


def test_a_link_has_no_token_that_the_proxy_could_use(
    alice: Client, front_conf: cfg.ConfigOpts, alices: str
) -> None:
    """What it opens with its key is sealed once more."""
    sealed = unquote(link_to(alice.send, alices).partition("?token=")[2])
    keys = ConsoleKeys(Path(front_conf.serial_console.key_file))
    assert alice._token not in keys.current().decrypt(sealed.encode()).decode()
