"""Sessions: how a browser logs in, what it then may do, and how it logs out."""

from collections.abc import Callable
from pathlib import Path

import pytest
from oslo_config import cfg

from api.console.links import ConsoleLinks
from api.front import make_front
from tests.fixtures.checks.audit_log import events_of, switch_on
from tests.fixtures.programs.serving import serving
from tests.fixtures.super_conductor import SuperConductorClient
from tests.unit.api.console.conftest import FLAVOR, FLAVORS, PASSWORD, SERVERS, SESSION, TOKEN
from tests.unit.api.console.conftest import Browser as Tab

NewBrowser = Callable[[], Tab]
LINKS = "/v2.1/armillary/console-links"


def names(browser: Tab) -> list[str]:
    """Return the servers that the page of a browser shows."""
    answer = browser.send("GET", SERVERS)
    assert answer.status_code == 200
    return [server["name"] for server in answer.json()["servers"]]


def test_two_users_of_two_projects_see_only_their_own(new_browser: NewBrowser, alices: str) -> None:
    """Neither lists nor opens what is the other's."""
    alice, bob = new_browser(), new_browser()
    assert alice.log_in("alice")["project"] == "stars"
    assert bob.log_in("bob")["project"] == "moons"
    assert (names(alice), names(bob)) == (["hers"], ["his"])
    assert alice.send("GET", f"{SERVERS}/{alices}").status_code == 200
    assert bob.send("GET", f"{SERVERS}/{alices}").status_code == 404
    assert bob.send("DELETE", f"{SERVERS}/{alices}").status_code == 404
    assert alice.send("DELETE", f"{SERVERS}/{alices}").status_code == 204


def test_a_page_learns_what_the_policy_allows(new_browser: NewBrowser) -> None:
    """A user may create servers and not see the fleet; an administrator may do both."""
    user, admin = new_browser().log_in("alice"), new_browser().log_in("root")
    create, fleet = "os_compute_api:servers:create", "os_compute_api:armillary:fleet:list"
    assert (user["allowed"][create], user["allowed"][fleet], user["is_admin"]) == (
        True,
        False,
        False,
    )
    assert (admin["allowed"][create], admin["allowed"][fleet], admin["is_admin"]) == (True,) * 3


def test_a_new_browser_has_no_session(browser: Tab) -> None:
    """The page learns how to log in, and nothing else."""
    answer = browser.send("GET", SESSION)
    assert answer.json() == {"methods": ["token", "password"], "session": None}
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_cookie_is_for_this_server_alone(browser: Tab) -> None:
    """Scripts cannot read it, other sites' pages do not send it, and its token is sealed."""
    answer = browser.send("POST", SESSION, json={"token": TOKEN})
    header = answer.headers["Set-Cookie"]
    assert "HttpOnly" in header
    assert "SameSite=Strict" in header
    assert TOKEN not in header


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"token": "wrong"}, 401),
        ({"username": "alice", "password": "wrong"}, 401),
        ({"username": "mallory", "password": PASSWORD}, 401),
        ({"username": "alice", "password": PASSWORD, "project": "moons"}, 401),
        ({"link": "wrong"}, 401),
        ({}, 400),
        ({"token": TOKEN, "link": "x"}, 400),
        ({"username": "alice"}, 400),
        ({"token": "x" * 10_000}, 400),
        ({"token": TOKEN, "admin": True}, 400),
    ],
)
def test_a_wrong_login_begins_no_session(browser: Tab, body: dict[str, str], status: int) -> None:
    """It is answered with a message, and without a cookie."""
    answer = browser.send("POST", SESSION, json=body)
    assert (answer.status_code, list(answer.json())) == (status, ["message"])
    assert not browser.session.cookies


def test_passwords_cannot_be_guessed_here_after_they_were_at_the_identity(browser: Tab) -> None:
    """Both count the same failures."""
    wrong = {"name": "alice", "domain": {"id": "default"}, "password": "wrong"}
    login = {"auth": {"identity": {"methods": ["password"], "password": {"user": wrong}}}}
    for _ in range(6):
        browser.send("POST", "/v3/auth/tokens", json=login)
    answer = browser.send("POST", SESSION, json={"username": "alice", "password": PASSWORD})
    assert answer.status_code == 429
    assert "Retry-After" in answer.headers


def test_who_tries_wrong_links_keeps_no_user_waiting(browser: Tab) -> None:
    """Another account of the machine, or of the same network: the address is the same."""
    made = browser.send("POST", LINKS, json={}, headers={"X-Auth-Token": TOKEN}).json()
    for _ in range(60):
        assert browser.send("POST", SESSION, json={"link": "wrong"}).status_code == 401
    code = made["link"].partition("#")[2]
    assert browser.send("POST", SESSION, json={"link": code}).status_code == 200


def test_a_link_opens_one_session(new_browser: NewBrowser) -> None:
    """A second browser with the same link, such as a thief's with the history, gets none."""
    first, thief = new_browser(), new_browser()
    made = first.send("POST", LINKS, json={}, headers={"X-Auth-Token": TOKEN}).json()
    path, code = made["link"].split("#")
    assert path == "/ui/login"
    assert first.accepted(first.send("POST", SESSION, json={"link": code}))["user"] == "root"
    assert first.send("GET", "/v2.1/armillary/fleet").status_code == 200
    assert thief.send("POST", SESSION, json={"link": code}).status_code == 401


def test_an_expired_link_opens_nothing(front_conf: cfg.ConfigOpts, browser: Tab) -> None:
    """Also one that was never opened."""
    path, _ = ConsoleLinks.from_conf(front_conf, clock=lambda: 1e9).make(TOKEN, "u1")
    code = path.partition("#")[2]
    assert browser.send("POST", SESSION, json={"link": code}).status_code == 401


def test_a_link_is_for_who_has_a_token(browser: Tab) -> None:
    """Others cannot make one."""
    assert browser.send("POST", LINKS, json={}, headers={}).status_code == 401


def test_a_session_makes_no_other_one(new_browser: NewBrowser) -> None:
    """A thief of its cookie would go on with that when the user has logged out."""
    thief = new_browser()
    token = thief.log_in("alice")["csrf_token"]
    headers = {"X-CSRF-Token": token}
    for path in (LINKS, LINKS.replace("/v2.1/", "/v2.1/stars/")):
        answer = thief.send("POST", path, json={}, headers=headers)
        assert answer.status_code == 403
        assert "link" not in answer.json()


def test_logging_out_ends_what_was_copied(new_browser: NewBrowser) -> None:
    """A stolen cookie is worth nothing after that, nor is the token that it sealed."""
    browser, thief = new_browser(), new_browser()
    browser.log_in("alice")
    thief.session.cookies.update(browser.session.cookies)
    assert names(thief) == []
    assert browser.send("DELETE", SESSION).status_code == 204
    assert not browser.session.cookies
    assert thief.send("GET", SERVERS).status_code == 401
    assert thief.send("GET", SESSION).json()["session"] is None


def test_logging_out_ends_what_was_copied_although_the_token_is_valid_on(
    new_browser: NewBrowser,
) -> None:
    """One that the user logged in with, instead of a password, is not the session's to revoke."""
    browser, thief = new_browser(), new_browser()
    browser.accepted(browser.send("POST", SESSION, json={"token": TOKEN}))
    thief.session.cookies.update(browser.session.cookies)
    assert thief.send("GET", SERVERS).status_code == 200
    assert browser.send("DELETE", SESSION).status_code == 204
    assert thief.send("GET", SERVERS).status_code == 401
    assert thief.send("GET", SERVERS, headers={"X-Auth-Token": TOKEN}).status_code == 200


def test_another_page_cannot_log_a_user_out_or_in(browser: Tab) -> None:
    """Nor make the browser use the attacker's account."""
    browser.log_in("alice")
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    body = {"token": TOKEN}
    assert browser.send("POST", SESSION, json=body, headers=foreign).status_code == 403
    assert browser.send("DELETE", SESSION, headers=foreign).status_code == 403
    assert browser.send("DELETE", SESSION, headers={}).status_code == 403
    assert browser.send("GET", SESSION).json()["session"]["user"] == "alice"


def test_without_authentication_there_is_a_session_without_login(
    conf: cfg.ConfigOpts, client: SuperConductorClient
) -> None:
    """The page asks for nothing."""
    with serving(make_front(conf, conductor=client)) as server:
        tab = Tab("http://{}:{}".format(*server.address))
        found = tab.send("GET", SESSION).json()
        assert found["methods"] == ["none"]
        assert found["session"]["is_admin"]
        made = tab.send("POST", LINKS, json={}).json()
        assert made == {"link": "/ui/", "expires_at": None}
        tab.session.close()


def test_logins_are_audited(
    front_conf: cfg.ConfigOpts, client: SuperConductorClient, tmp_path: Path
) -> None:
    """With the user and the session's id; never with the password, the token or the cookie."""
    log = switch_on(front_conf, tmp_path)
    with serving(make_front(front_conf, conductor=client)) as server:
        tab = Tab("http://{}:{}".format(*server.address))
        tab.send("POST", SESSION, json={"username": "alice", "password": "wrong"})
        tab.log_in("alice")
        cookie = tab.cookie
        tab.send("POST", FLAVORS, json=FLAVOR, headers={})
        tab.send("DELETE", SESSION)
        tab.session.close()
    refused, begun, forged, ended = events_of(log)
    assert (refused["action"], refused["outcome"]) == ("authenticate", "failure/refused")
    assert (begun["action"], begun["outcome"]) == ("authenticate", "success")
    assert begun["initiator"]["id"] == forged["initiator"]["id"] == ended["initiator"]["id"]
    assert begun["target"]["id"] == ended["target"]["id"]
    assert forged["reason"]["reasonType"] == "CsrfToken"
    assert not any(secret in log.read_text() for secret in (PASSWORD, "wrong", cookie))


def test_the_console_can_be_turned_off(
    front_conf: cfg.ConfigOpts, client: SuperConductorClient
) -> None:
    """Then there is no page, and its cookies count for nothing."""
    front_conf.set_override("enabled", False, group="console")
    with serving(make_front(front_conf, conductor=client)) as server:
        tab = Tab("http://{}:{}".format(*server.address))
        assert tab.send("GET", "/ui/").status_code == 404
        assert tab.send("POST", SESSION, json={"token": TOKEN}).status_code == 404
        asked = tab.send("POST", LINKS, json={}, headers={"X-Auth-Token": TOKEN})
        assert asked.status_code == 404
        tab.session.close()
