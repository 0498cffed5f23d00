"""A running front with the console, users of two projects, and their browsers."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from oslo_config import cfg

from api.front import make_front
from armillary.identity import passwords
from tests import builders
from tests.fixtures import waiting
from tests.fixtures.programs.serving import serving
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PASSWORD = "correct horse"
TOKEN = "a-token-of-the-file"
SESSION = "/ui/session"
SERVERS = "/v2.1/servers"
FLAVORS = "/v2.1/flavors"
COOKIE = "armillary_console"
FLAVOR = {"flavor": {"name": "tiny", "ram": 128, "vcpus": 1, "disk": 1}}


@dataclass
class Browser:
    """A browser with one tab, which shows the page; ``csrf`` is what the page knows."""

    url: str
    session: requests.Session = field(default_factory=requests.Session)
    csrf: str = ""

    def send(self, method: str, path: str, **more: Any) -> requests.Response:
        """Send a request as the page does; ``headers`` replace those of the page."""
        own = {"Origin": self.url, "Sec-Fetch-Site": "same-origin", "X-CSRF-Token": self.csrf}
        headers = more.pop("headers", own)
        return self.session.request(
            method, self.url + path, headers=headers, timeout=waiting.seconds(10), **more
        )

    def log_in(self, user: str, **more: Any) -> dict[str, Any]:
        """Log in with a password; return the session as the page sees it."""
        body = {"username": user, "password": PASSWORD, **more}
        return self.accepted(self.send("POST", SESSION, json=body))

    def accepted(self, answer: requests.Response) -> dict[str, Any]:
        """Note the CSRF token of a session that began."""
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["session"]
        self.csrf = found["csrf_token"]
        return found

    @property
    def cookie(self) -> str:
        """The value of the session's cookie."""
        return str(self.session.cookies[COOKIE])


@pytest.fixture(scope="session")
def accounts() -> str:
    """Return a token file with users of two projects, and an administrator."""
    line = passwords.hash_password(PASSWORD, n=16)
    users = [
        {"name": "alice", "password": line, "projects": {"stars": ["member"]}},
        {"name": "bob", "password": line, "projects": {"moons": ["member"]}},
        {"name": "root", "password": line, "projects": {"ops": ["admin"]}},
    ]
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    token = {"sha256": digest, "user": "root", "project": "ops", "roles": ["admin"]}
    return yaml.safe_dump({"users": users, "tokens": [token]})


@pytest.fixture
def front_conf(conf: cfg.ConfigOpts, accounts: str, tmp_path: Path) -> cfg.ConfigOpts:
    """Return the configuration of an API with users."""
    (tmp_path / "tokens.yaml").write_text(accounts)
    conf.set_override("auth_strategy", "token_file", group="api")
    conf.set_override("token_file", str(tmp_path / "tokens.yaml"), group="api")
    return conf


@pytest.fixture
def front(front_conf: cfg.ConfigOpts, client: SuperConductorClient) -> Iterator[str]:
    """Run all APIs of one process, and return their address: no pause after failed logins ends."""
    with serving(make_front(front_conf, conductor=client, clock=lambda: 0.0)) as server:
        yield "http://{}:{}".format(*server.address)


@pytest.fixture
def new_browser(front: str) -> Iterator[Callable[[], Browser]]:
    """Return what opens another browser."""
    opened: list[Browser] = []

    def make() -> Browser:
        opened.append(Browser(front))
        return opened[-1]

    yield make
    for browser in opened:
        browser.session.close()


@pytest.fixture
def browser(new_browser: Callable[[], Browser]) -> Browser:
    return new_browser()


@pytest.fixture
def alices(conductor: SuperConductor) -> str:
    """Return the id of a server of alice's project; bob's has one, too."""
    hers = builders.an_instance("hers", project_id="stars")
    conductor.servers = [hers, builders.an_instance("his", project_id="moons")]
    return str(hers.uuid)
