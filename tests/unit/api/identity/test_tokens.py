"""Issued tokens at the border: log in, use, show, exchange, revoke."""

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import falcon
import pytest
from falcon import testing
from oslo_config import cfg

from api.front import make_front
from api.identity.login_guard import FREE_FAILURES_OF_USER, HASHES_MAX, LoginGuard
from armillary.identity import passwords
from armillary.identity.builtin import BuiltInIdentity
from tests.fixtures.checks import go_types
from tests.fixtures.super_conductor import SuperConductorClient
from tests.unit.api.identity.conftest import (
    PASSWORD,
    Client,
    WriteAccounts,
    asked,
    get,
    log_in,
    of_project,
)

TOKENS = "/identity/v3/auth/tokens"
FLAVORS = "/v2.1/flavors"


def test_a_token_acts_for_its_user_in_its_project(
    web: Client, client: SuperConductorClient
) -> None:
    """With the roles of that project, and the roles that they imply."""
    token = log_in(web, scope=of_project("moons"))
    assert get(web, FLAVORS, token).status_code == 200
    context = client.calls[-1][1]
    assert (context.user_id, context.project_id, context.roles) == ("alice", "moons", ["reader"])


@pytest.mark.parametrize(
    ("scope", "project"),
    [(None, "stars"), (of_project("moons"), "moons"), ("unscoped", None)],
    ids=["default", "named", "unscoped"],
)
def test_a_token_says_what_it_is_for(scope: Any, project: str | None, web: Client) -> None:
    """Without a scope it is for the default project; the catalogue comes with a project."""
    auth = {} if scope is None else {"scope": scope}
    result = web.simulate_post(TOKENS, json=asked(**auth))
    token = result.json["token"]
    assert token["user"]["name"] == "alice"
    assert go_types.misfits(token, go_types.TOKEN) == []
    assert token.get("project", {}).get("id") == project
    kinds = {service["type"] for service in token.get("catalog", [])}
    expected = {"identity", "compute", "placement", "image"} if project else set()
    assert kinds == expected


@pytest.mark.parametrize(
    "body",
    [
        asked(password="wrong"),
        asked(user="nobody"),
        asked(scope=of_project("ops")),
        asked(scope=of_project("nothing")),
        asked(scope={"domain": {"id": "default"}}),
        asked(scope={"system": {"all": True}}),
        {"auth": {"identity": {"methods": ["totp"]}}},
        {"auth": {"identity": {"methods": ["token"], "token": {"id": "guess"}}}},
        {
            "auth": {
                "identity": {
                    "methods": ["password"],
                    "password": {
                        "user": {"name": "alice", "domain": {"id": "x"}, "password": PASSWORD}
                    },
                }
            }
        },
    ],
    ids=[
        "password", "user", "foreign-project", "no-project", "domain", "system", "method", "token",
        "other-domain",
    ],
)  # fmt: skip
def test_a_login_without_proof_or_role_is_refused(body: dict[str, Any], web: Client) -> None:
    """With status 401 and an error in the identity API's form."""
    result = web.simulate_post(TOKENS, json=body)
    assert result.status_code == 401
    assert result.json["error"]["code"] == 401


def test_a_broken_login_names_the_field(web: Client) -> None:
    result = web.simulate_post(TOKENS, json={"auth": {}})
    assert result.status_code == 400
    assert "auth.identity" in result.json["error"]["message"]


def test_a_token_is_exchanged_for_one_of_another_project(web: Client) -> None:
    """The new one does not live longer than the old one."""
    first = web.simulate_post(TOKENS, json=asked())
    identity = {"methods": ["token"], "token": {"id": first.headers["X-Subject-Token"]}}
    second = web.simulate_post(
        TOKENS, json={"auth": {"identity": identity, "scope": of_project("moons")}}
    )
    assert second.status_code == 201
    assert second.json["token"]["project"]["id"] == "moons"
    assert second.json["token"]["expires_at"] <= first.json["token"]["expires_at"]
    assert set(second.json["token"]["methods"]) == {"password", "token"}


def test_a_changed_token_is_worth_nothing(web: Client) -> None:
    """In its content or its signature."""
    token = log_in(web)
    head, payload, mac = token.split(".")
    swapped = payload[:-1] + ("A" if payload[-1] != "A" else "B")
    for forged in (
        f"{head}.{swapped}.{mac}",
        f"{head}.{payload}.{mac[:-2]}AA",
        f"{head}.{payload}.",
    ):
        assert get(web, FLAVORS, forged).status_code == 401


@pytest.mark.parametrize(("seconds", "is_valid"), [(14390, True), (14401, False)])
def test_tokens_end_with_time(
    seconds: int, is_valid: bool, web: Client, conf: cfg.ConfigOpts
) -> None:
    """After their lifetime."""
    token = log_in(web)
    then = time.time() + seconds
    identity = BuiltInIdentity.from_conf(conf, clock=lambda: then)
    assert (identity.find(token) is not None) is is_valid


@pytest.mark.parametrize(
    "changes",
    [{"enabled": False}, {"projects": {"stars": ["member"]}}, {"password": None}],
    ids=["disabled", "role-lost", "password-changed"],
)
def test_tokens_end_with_what_they_stand_on(
    changes: dict[str, Any], web: Client, write_accounts: WriteAccounts, password_line: str
) -> None:
    """A disabled user, a lost role, another password: immediately, without a restart."""
    token = log_in(web, scope=of_project("moons"))
    if "password" in changes:
        first, _, last = password_line.rpartition(":")
        changes = {"password": f"{first}:{last[::-1]}"}
    write_accounts(**changes)
    assert get(web, FLAVORS, token).status_code == 401


def test_another_process_accepts_and_revokes_the_same_tokens(
    web: Client, conf: cfg.ConfigOpts, client: SuperConductorClient
) -> None:
    """Keys and revocations are in the state directory, not in the process."""
    token, kept = log_in(web), log_in(web)
    other = Client(make_front(conf, conductor=client))
    assert get(other, FLAVORS, token).status_code == 200
    headers = {"X-Auth-Token": kept, "X-Subject-Token": token}
    assert other.simulate_delete(TOKENS, headers=headers).status_code == 204
    assert get(web, FLAVORS, token).status_code == 401
    assert get(web, FLAVORS, kept).status_code == 200


@pytest.mark.parametrize(("caller", "status"), [("alice", 200), ("root", 200)])
def test_own_tokens_and_an_administrators_view(caller: str, status: int, web: Client) -> None:
    """A user sees what an own token is for, an administrator sees any."""
    subject = log_in(web)
    result = get(web, TOKENS, log_in(web, caller), **{"X-Subject-Token": subject})
    assert result.status_code == status
    assert result.json["token"]["user"]["id"] == "alice"


def test_the_tokens_of_others_are_hidden(web: Client) -> None:
    subject = log_in(web, "root")
    headers = {"X-Auth-Token": log_in(web), "X-Subject-Token": subject}
    assert web.simulate_get(TOKENS, headers=headers).status_code == 403
    assert web.simulate_delete(TOKENS, headers=headers).status_code == 403
    assert web.simulate_head(TOKENS, headers={**headers, "X-Subject-Token": "x"}).status_code == 404


def test_guesses_are_slowed_down(web: Client) -> None:
    """After some failures the next attempt must wait, and even the right password is not tried."""
    codes = [
        web.simulate_post(TOKENS, json=asked(password=f"guess {n}")).status_code for n in range(7)
    ]
    assert codes[:5] == [401] * 5
    assert codes[6] == 429
    result = web.simulate_post(TOKENS, json=asked())
    assert result.status_code == 429
    assert int(result.headers["Retry-After"]) >= 1
    assert web.simulate_post(TOKENS, json=asked("root")).status_code == 201


def test_guesses_by_name_and_by_id_are_counted_together(
    web: Client, write_accounts: WriteAccounts
) -> None:
    write_accounts(id="a-l-i-c-e")
    named = asked(password="guess")
    by_id = {"id": "a-l-i-c-e", "password": "guess"}
    identified = {"auth": {"identity": {"methods": ["password"], "password": {"user": by_id}}}}
    bodies = [named, identified] * FREE_FAILURES_OF_USER
    assert web.simulate_post(TOKENS, json=identified).status_code == 401
    assert 429 in [web.simulate_post(TOKENS, json=body).status_code for body in bodies]


def refusals(web: Client, *guesses: dict[str, Any]) -> list[int]:
    """Return the status of each of these attempts to log in."""
    codes = []
    for guess in guesses:
        identity = {"methods": ["password"], "password": {"user": {**guess, "password": "x"}}}
        codes.append(web.simulate_post(TOKENS, json={"auth": {"identity": identity}}).status_code)
    return codes


@pytest.mark.parametrize("odd", [{"id": "{name}"}, {"name": "{name}", "domain": {"id": "none"}}])
def test_pauses_do_not_say_which_users_exist(
    odd: dict[str, Any], web: Client, write_accounts: WriteAccounts
) -> None:
    """A name is guessed at in one way, then in another that finds no user."""
    write_accounts(id="a-l-i-c-e")
    seen = []
    for name in ("alice", "unknown"):
        known = {"name": name, "domain": {"id": "default"}}
        other = {**odd, next(iter(odd)): name}
        seen.append(refusals(web, *[known] * 3, *[other] * 4, known, other))
    assert seen[0] == seen[1]
    assert 429 in seen[0]


def test_the_time_of_a_refusal_does_not_say_which_users_exist(
    web: Client, write_accounts: WriteAccounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Costs of hashes are as frequent among unknown names as among the users."""
    compared: list[str] = []
    compare = passwords.is_right

    def is_right(password: str, line: str) -> bool:
        compared.append(passwords.cost(line))
        return compare(password, line)

    monkeypatch.setattr(passwords, "is_right", is_right)
    write_accounts(password=passwords.hash_password(PASSWORD, n=32))
    unknown = [{"name": f"user-{number}", "domain": {"id": "default"}} for number in range(40)]
    refusals(web, *unknown)
    first, compared = compared, []
    assert set(first) == {"scrypt:16:8:1", "scrypt:32:8:1"}
    write_accounts(password=passwords.hash_password(PASSWORD, n=16))
    refusals(web, unknown[0])
    assert compared == ["scrypt:16:8:1"]


def test_guesses_from_all_addresses_of_a_network_are_counted_together(web: Client) -> None:
    """A machine has a whole IPv6 network: a new address for each guess changes nothing."""

    def guess(address: str) -> int:
        return web.simulate_post(
            TOKENS, json=asked(password="guess"), remote_addr=address
        ).status_code

    own = [guess(f"2001:db8:0:1::{n:x}") for n in range(1, FREE_FAILURES_OF_USER + 3)]
    assert own[-1] == 429
    assert guess("2001:db8:0:2::1") == 401


@pytest.fixture
def behind_a_proxy(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """Have the API believe a proxy's headers."""
    with (tmp_path / "api.conf").open("a") as file:
        file.write("[oslo_middleware]\nenable_proxy_headers_parsing = true\n")
    conf.reload_config_files()


@pytest.mark.usefixtures("behind_a_proxy")
@pytest.mark.parametrize(
    "forged",
    [
        lambda n: {"X-Forwarded-For": f"203.0.113.{n}, 198.51.100.7"},
        lambda n: {"Forwarded": f"for=203.0.113.{n}, for=198.51.100.7"},
        lambda n: {"Forwarded": f"for=203.0.113.{n}", "X-Forwarded-For": "198.51.100.7"},
        lambda n: {"X-Forwarded-For": f"nowhere-{n}"},
    ],
    ids=["listed", "described", "both", "no-address"],
)
def test_guesses_are_counted_whatever_address_a_client_forges(
    web: Client, forged: Callable[[int], dict[str, str]]
) -> None:
    """The proxy appends the address that it sees to what the client sent."""
    codes = [
        web.simulate_post(TOKENS, json=asked(password="guess"), headers=forged(n)).status_code
        for n in range(1, FREE_FAILURES_OF_USER + 3)
    ]
    assert codes[-1] == 429


def test_a_guess_that_waits_for_its_turn_is_refused_after_others_failed() -> None:
    """Else all that arrive before the first has failed are tried."""
    has_looked = threading.Event()

    def clock() -> float:
        has_looked.set()
        return 0.0

    guard = LoginGuard(clock)

    def guess() -> None:
        with guard.attempt("alice", None, "::1"):
            pytest.fail("it was tried")

    with ThreadPoolExecutor(1) as pool:
        with ExitStack() as busy:
            for _ in range(HASHES_MAX):
                busy.enter_context(guard.attempt("alice", None, "::1"))
            has_looked.clear()
            late = pool.submit(guess)
            has_looked.wait()
            for _ in range(FREE_FAILURES_OF_USER + 1):
                guard.failed("alice", None, "::1")
        with pytest.raises(falcon.HTTPTooManyRequests):
            late.result()


def test_a_token_of_the_file_gives_no_more_than_itself(
    web: Client, write_accounts: WriteAccounts
) -> None:
    """Neither the user's other roles nor projects are got with it, and what is ends with it."""
    limited = [{"sha256": _sha256("narrow"), "user": "alice", "project": "stars",
                "roles": ["reader"]}]  # fmt: skip
    write_accounts(tokens=limited)

    def exchanged(token: str, **auth: Any) -> testing.Result:
        identity = {"methods": ["token"], "token": {"id": token}}
        return web.simulate_post(TOKENS, json={"auth": {"identity": identity, **auth}})

    for scope in ({"scope": of_project("moons")}, {"scope": {"project": {"id": "moons"}}}):
        assert exchanged("narrow", **scope).status_code == 401
    first = exchanged("narrow")
    unscoped = exchanged(first.headers["X-Subject-Token"], scope="unscoped")
    assert (
        exchanged(unscoped.headers["X-Subject-Token"], scope=of_project("moons")).status_code == 401
    )
    again = exchanged(unscoped.headers["X-Subject-Token"], scope=of_project("stars"))
    for issued in (first, again):
        assert [role["id"] for role in issued.json["token"]["roles"]] == ["reader"]
        assert get(web, FLAVORS, issued.headers["X-Subject-Token"]).status_code == 200
    write_accounts()
    for issued in (first, unscoped, again):
        assert get(web, FLAVORS, issued.headers["X-Subject-Token"]).status_code == 401


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
