"""Attacks on the cookie: requests that a browser sends for another page, and forged cookies."""

import time
from pathlib import Path

import pytest
from oslo_config import cfg

from api.console import cookie
from api.console.sessions import Seal, Sessions
from tests.fixtures.super_conductor import SuperConductor
from tests.unit.api.console.conftest import COOKIE, FLAVOR, FLAVORS, SERVERS, SESSION, TOKEN
from tests.unit.api.console.conftest import Browser as Tab

FROM_EVIL = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}


@pytest.fixture
def admin(browser: Tab) -> Tab:
    """Return the browser of an administrator who is logged in."""
    browser.log_in("root")
    return browser


def test_the_page_changes_something(admin: Tab, conductor: SuperConductor) -> None:
    """With the cookie and the token of the session."""
    assert admin.send("POST", FLAVORS, json=FLAVOR).status_code == 200
    assert [flavor.name for flavor in conductor.flavors] == ["tiny"]


def test_another_page_changes_nothing(admin: Tab, conductor: SuperConductor) -> None:
    """Wherever it is: another site, another port of this machine, or an opaque origin."""
    port_of_others = admin.url.rpartition(":")[0] + ":1"
    pages = [
        FROM_EVIL,
        {"Origin": port_of_others, "Sec-Fetch-Site": "same-site"},
        {"Origin": "null"},
        {"Origin": port_of_others},
        {"Sec-Fetch-Site": "same-site"},
    ]
    for headers in pages:
        # It has found out the token, which is more than it can.
        known = {**headers, "X-CSRF-Token": admin.csrf}
        answer = admin.send("POST", FLAVORS, json=FLAVOR, headers=known)
        assert answer.status_code == 403, headers
    assert conductor.flavors == []


@pytest.mark.parametrize("token", ["", "0" * 64, "ü"])
def test_a_change_without_the_sessions_token_is_refused(
    admin: Tab, conductor: SuperConductor, token: str
) -> None:
    """A form of another page sends the cookie, and cannot send this."""
    headers = {"X-CSRF-Token": token.encode()} if token else {}
    assert admin.send("POST", FLAVORS, json=FLAVOR, headers=headers).status_code == 403
    assert conductor.flavors == []


def test_the_token_of_another_session_does_not_count(
    admin: Tab, new_browser: object, conductor: SuperConductor
) -> None:
    """An attacker's own token is of no use to him."""
    assert callable(new_browser)
    attacker = new_browser()
    attacker.log_in("alice")
    headers = {"X-CSRF-Token": attacker.csrf}
    assert admin.send("POST", FLAVORS, json=FLAVOR, headers=headers).status_code == 403
    assert conductor.flavors == []


def test_a_cookie_of_another_key_is_worth_nothing(admin: Tab, tmp_path: Path) -> None:
    """As is any that was changed."""
    forged = Sessions(Seal(tmp_path / "other-keys"), tmp_path, lifetime_seconds=600)
    value, _ = forged.begin(TOKEN, "root", expires_at=None, is_issued=False)
    own = admin.cookie
    changed = own[:50] + ("B" if own[50] == "A" else "A") + own[51:]
    for wrong in (value, changed, own[:-4], own.swapcase(), "x" * 5000, TOKEN, '"', "ü"):
        headers = {"Cookie": f"{COOKIE}={wrong}".encode()}
        assert admin.send("GET", SERVERS, headers=headers).status_code == 401, wrong
        assert admin.send("GET", SESSION, headers=headers).json()["session"] is None


def test_a_cookie_that_another_host_put_beside_does_not_count(
    admin: Tab, new_browser: object
) -> None:
    """An attacker's session, set for the domain or for some paths: no user acts in it unknowingly.

    Over TLS no other host can set a cookie of the name, and one of a plain page does not count.
    """
    assert callable(new_browser)
    attacker = new_browser()
    attacker.log_in("alice")
    both = {"Cookie": f"{COOKIE}={attacker.cookie}; {COOKIE}={admin.cookie}"}
    assert admin.send("GET", SERVERS, headers=both).status_code == 401
    same = {"Cookie": f"{COOKIE}={admin.cookie}; {COOKIE}={admin.cookie}"}
    assert admin.send("GET", SERVERS, headers=same).status_code == 200
    header = cookie.header_of("mine", max_age_seconds=9, is_secure=True)
    assert header.startswith(f"__Host-{COOKIE}=mine; Path=/; ")
    assert header.endswith("; Secure")
    assert "Domain" not in header
    sent = {"HTTP_COOKIE": f"{COOKIE}=theirs; __Host-{COOKIE}=mine"}
    assert cookie.value_in({**sent, "wsgi.url_scheme": "https"}) == "mine"


def test_an_expired_cookie_is_worth_nothing(front_conf: cfg.ConfigOpts, browser: Tab) -> None:
    """Whatever the browser does with it."""
    ago = time.time() - front_conf.console.session_lifetime_seconds - 1
    old = Sessions.from_conf(front_conf, clock=lambda: ago)
    value, _ = old.begin(TOKEN, "root", expires_at=None, is_issued=False)
    headers = {"Cookie": f"{COOKIE}={value}"}
    assert browser.send("GET", SERVERS, headers=headers).status_code == 401


def test_a_session_ends_with_its_token(
    admin: Tab, front_conf: cfg.ConfigOpts, accounts: str
) -> None:
    """A user who is removed is out immediately."""
    path = Path(front_conf.api.token_file)
    path.write_text(accounts.replace("name: root", "name: toor").replace("user: root", "user: x"))
    assert admin.send("GET", SERVERS).status_code == 401


def test_the_cookie_counts_for_the_compute_api_alone(admin: Tab) -> None:
    """Accounts and images are not the page's."""
    assert admin.send("GET", "/v3/users").status_code == 401
    assert admin.send("GET", "/image/v2/images").status_code == 401


def test_a_token_in_the_header_comes_first(admin: Tab) -> None:
    """A program's request is not the cookie's, and needs no other token."""
    headers = {"X-Auth-Token": "wrong"}
    assert admin.send("GET", SERVERS, headers=headers).status_code == 401
    headers = {"X-Auth-Token": TOKEN}
    assert admin.send("POST", FLAVORS, json=FLAVOR, headers=headers).status_code == 200
