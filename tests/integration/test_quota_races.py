"""Requests that arrive at the same time, at two APIs with two conductors: none exceeds a quota."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.fixtures.asking import Api
from tests.fixtures.deployment import deployed
from tests.fixtures.services.ports import free_port
from tests.fixtures.waiting import seconds
from tests.integration.pools import add_pool
from tests.integration.trust.hostile_world import a_public_key
from tests.integration.trust.token_deployment import ADMINISTRATOR, Account, TokenDeployment

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

CONCURRENT, LIMIT = 12, 3
USER, AGAIN = "alice", "alice-elsewhere"
ACCOUNTS = {
    ADMINISTRATOR: Account(ADMINISTRATOR, "ops", ("admin",)),
    USER: Account("alice", "stars", ("member",)),
    AGAIN: Account("alice", "moons", ("member",)),
}
HOSTS = {"cell1": {"agent-1": ["name=host-{1..2}:vcpus=64:memory_mb=131072:disk_gb=2000"]}}
OPTIONS = f"[image]\nimages_per_project_max = {LIMIT}\n"


class TwoOfEach(TokenDeployment):
    """With a second API and a second super conductor."""

    def prepare(self) -> None:
        port = free_port()
        self._add("api-2", "api", f"[api]\nbind_port = {port}\n")
        self._add("super-2", "conductor", self._top_databases())
        super().prepare()
        self.urls = [self.api_url, f"http://127.0.0.1:{port}"]

    def ask_together(
        self, users: list[str], method: str, path: str, body_of: Callable[[int], Any]
    ) -> list[requests.Response]:
        """Return the answers to requests that are sent at the same time, to each API in turn."""
        ready = threading.Barrier(CONCURRENT)

        def send(number: int) -> requests.Response:
            token = self.accounts[users[number % len(users)]].token
            headers = {"X-Auth-Token": token, "OpenStack-API-Version": "compute 2.96"}
            url = f"{self.urls[number // len(users) % 2]}{path}"
            ready.wait(seconds(60))
            return requests.request(
                method, url, json=body_of(number), headers=headers, timeout=seconds(60)
            )

        with ThreadPoolExecutor(CONCURRENT) as pool:
            return list(pool.map(send, range(CONCURRENT)))


def accepted(answers: list[requests.Response], refusals: tuple[int, ...] = (403,)) -> int:
    """Return how many were accepted; the others were refused for the quota."""
    others = [each for each in answers if not each.ok]
    assert all(each.status_code in refusals for each in others), [each.text for each in others]
    return len(answers) - len(others)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoOfEach]:
    folder = tmp_path_factory.mktemp("races")
    kind = functools.partial(TwoOfEach, accounts=ACCOUNTS)
    with deployed(folder, HOSTS, kind=kind, schedulers=1, options=OPTIONS) as running:
        yield running
        assert running.errors() == []


@pytest.fixture(scope="module")
def flavor(deployment: TwoOfEach) -> str:
    return deployment.create_flavor("small", vcpus=1, ram=64, disk=1)


@pytest.fixture(scope="module")
def alice(deployment: TwoOfEach) -> Api:
    return deployment.as_user(USER)


def limit(deployment: TwoOfEach, **limits: int) -> None:
    for project in ("stars", "moons"):
        deployment.put(f"/os-quota-sets/{project}", {"quota_set": limits})


def a_server(flavor: str, number: int) -> dict[str, Any]:
    return {"name": f"vm-{number}", "flavorRef": flavor, "networks": "none"}


def test_servers_do_not_exceed_their_number(deployment: TwoOfEach, alice: Api, flavor: str) -> None:
    """Nor their CPUs; what was refused was not made."""
    limit(deployment, instances=LIMIT, cores=LIMIT + 1)
    answers = deployment.ask_together(
        [USER], "POST", "/v2.1/servers", lambda number: {"server": a_server(flavor, number)}
    )
    made = [each["id"] for each in alice.get("/servers")["servers"]]
    assert (accepted(answers), len(made)) == (LIMIT, LIMIT)
    alice.delete_servers(*made)


def test_server_groups_and_their_members_do_not_exceed_theirs(
    deployment: TwoOfEach, alice: Api, flavor: str
) -> None:
    """A group is locked while it is counted, as a project is."""
    limit(deployment, instances=-1, cores=-1, server_groups=LIMIT, server_group_members=LIMIT)
    answers = deployment.ask_together(
        [USER], "POST", "/v2.1/os-server-groups",
        lambda number: {"server_group": {"name": f"g{number}", "policy": "soft-affinity"}},
    )  # fmt: skip
    groups = alice.get("/os-server-groups")["server_groups"]
    assert (accepted(answers), len(groups)) == (LIMIT, LIMIT)
    hint = {"os:scheduler_hints": {"group": groups[0]["id"]}}
    answers = deployment.ask_together(
        [USER], "POST", "/v2.1/servers",
        lambda number: {"server": a_server(flavor, number), **hint},
    )  # fmt: skip
    made = [each["id"] for each in alice.get("/servers")["servers"]]
    assert (accepted(answers), len(made)) == (LIMIT, LIMIT)
    alice.delete_servers(*made)


def test_metadata_do_not_exceed_theirs(deployment: TwoOfEach, alice: Api, flavor: str) -> None:
    """Each request adds another item to one server."""
    limit(deployment, metadata_items=LIMIT)
    (server,) = alice.create_servers(flavor, 1)
    alice.wait_for_status(server, "ACTIVE", "ERROR")
    answers = deployment.ask_together(
        [USER], "POST", f"/v2.1/servers/{server}/metadata",
        lambda number: {"metadata": {f"key{number}": "x"}},
    )  # fmt: skip
    kept = alice.get(f"/servers/{server}/metadata")["metadata"]
    assert (accepted(answers), len(kept)) == (LIMIT, LIMIT)
    alice.delete_servers(server)


def test_key_pairs_of_a_user_do_not_exceed_theirs_in_two_projects(
    deployment: TwoOfEach, alice: Api
) -> None:
    """They are the user's, whichever project a token is for."""
    limit(deployment, key_pairs=LIMIT)
    keys = [a_public_key() for _ in range(CONCURRENT)]
    answers = deployment.ask_together(
        [USER, AGAIN], "POST", "/v2.1/os-keypairs",
        lambda number: {"keypair": {"name": f"key{number}", "public_key": keys[number]}},
    )  # fmt: skip
    kept = alice.get("/os-keypairs")["keypairs"]
    assert (accepted(answers), len(kept)) == (LIMIT, LIMIT)


def test_claims_exceed_neither_their_number_nor_their_amounts(
    deployment: TwoOfEach, alice: Api
) -> None:
    """Of a pool that would have room for all of them."""
    add_pool(deployment, "shelf", ACCOUNTS[ADMINISTRATOR].token)
    limits = {"claims": CONCURRENT, "claims:DISK_GB": LIMIT}
    deployment.put("/armillary/claim-quotas/stars", {"claim_quotas": limits})
    answers = deployment.ask_together(
        [USER], "POST", "/v2.1/armillary/claims",
        lambda _number: {"claim": {"kind": "storage", "resources": {"DISK_GB": 1}}},
    )  # fmt: skip
    kept = alice.get("/armillary/claims")["claims"]
    assert (accepted(answers), len(kept)) == (LIMIT, LIMIT)


def test_images_of_a_project_do_not_exceed_theirs(deployment: TwoOfEach) -> None:
    """Nor do those of a member who asks both APIs."""
    answers = deployment.ask_together(
        [USER], "POST", "/image/v2/images", lambda number: {"name": f"image{number}"}
    )
    assert accepted(answers, (403, 413)) == LIMIT
