"""Logins of the console that Keystone decides on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from api.front import make_front
from tests.fixtures.programs.serving import serving
from tests.fixtures.services.keystone import PASSWORD, StandInKeystone
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient
from tests.unit.api.conftest import make_conf
from tests.unit.api.console.conftest import FLAVORS, SESSION, Browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run an API that asks a Keystone, and return its address."""
    folder = tmp_path_factory.mktemp("keystone")
    with StandInKeystone().running() as keystone:
        conf = make_conf(folder)
        options = "".join(f"{name} = {value}\n" for name, value in keystone.client_options.items())
        path = Path(folder, "keystone.conf")
        path.write_text(f"[api]\nauth_strategy = keystone\n[keystone_authtoken]\n{options}")
        conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
        front = make_front(conf, conductor=SuperConductorClient(SuperConductor()))
        with serving(front) as server:
            yield "http://{}:{}".format(*server.address)


def log_in(address: str, **asked: str) -> tuple[Browser, requests.Response]:
    browser = Browser(address)
    return browser, browser.send("POST", SESSION, json=asked)


def test_a_password_of_keystone_opens_a_session(address: str) -> None:
    """Its cookie counts for requests, and it says who logged in; both ways are offered."""
    browser, answer = log_in(address, username="admin", password=PASSWORD, project="p1")
    session = browser.accepted(answer)
    assert (session["user"], session["project"], session["is_admin"]) == ("token-admin", "p1", True)
    assert browser.send("GET", FLAVORS).status_code == 200
    assert answer.json()["methods"] == ["password", "token"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"username": "admin", "password": "wrong"}, "the password or the project is wrong"),
        ({"username": "reader", "password": PASSWORD}, "Name one of the user's projects"),
        ({"token": "token-unknown"}, "token"),
    ],
    ids=["a wrong password", "no project", "an unknown token"],
)  # fmt: skip
def test_a_login_that_keystone_does_not_accept_is_refused(
    address: str, asked: dict[str, str], message: str
) -> None:
    """With what to do, and without a session."""
    browser, answer = log_in(address, **asked)
    assert answer.status_code == 401
    assert message in answer.json()["message"]
    assert browser.send("GET", FLAVORS).status_code == 401


def test_a_token_of_keystone_opens_a_session(address: str) -> None:
    """A user who may only read is not an administrator."""
    browser, answer = log_in(address, token="token-reader")
    assert not browser.accepted(answer)["is_admin"]
