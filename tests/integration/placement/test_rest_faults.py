"""The REST API when things break: its database goes away, others write too, it dies in a write."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import text
from sqlalchemy.engine import make_url

from armillary.db import Database
from placement.providers import names
from tests.builders import a_uuid
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.placement import SCHEMA
from tests.fixtures.programs import forked_servers
from tests.fixtures.services import POSTGRESQL, administrator
from tests.fixtures.services.databases import fresh_database
from tests.fixtures.services.ports import free_port
from tests.fixtures.waiting import seconds

PROGRAM = Path(sys.executable).parent / "armillary-placement-rest"
SECONDS_MAX = 30
HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement latest",
}
CONF = """
[api]
auth_strategy = noauth2
[placement]
workers = 1
[placement_database]
connection = {url}
max_retries = 2
"""


class Server:
    def __init__(self, folder: Path, url: str) -> None:
        self._log = folder / "placement.log"
        self._conf = folder / "placement.conf"
        self._conf.write_text(CONF.format(url=url))
        self._process: forked_servers.Running | None = None
        self._url = ""

    def start(self) -> None:
        if self.is_running():
            return
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        with self._log.open("ab") as log:
            command = [str(PROGRAM), f"--port={port}", f"--config-file={self._conf}"]
            self._process = forked_servers.start(command, log.fileno(), os.environ)
        wait_for(self._answers, "the server answers", SECONDS_MAX, 0.05)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(waiting.seconds(SECONDS_MAX))

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        return requests.request(
            method, f"{self._url}{path}", json=body, headers=HEADERS, timeout=seconds(SECONDS_MAX)
        )

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def change(self, method: str, path: str, body: Any = None) -> None:
        """Ask for a change that is made."""
        answer = self.ask(method, path, body)
        assert answer.status_code < 300, answer.text

    def _answers(self) -> bool:
        assert self.is_running(), self._log.read_text()
        try:
            return self.ask("GET", "/").ok
        except requests.ConnectionError:
            return False


class OneDatabase:
    """The database of some servers, as its administrator sees it."""

    def __init__(self, url: str) -> None:
        database = Database(url, name="placement")
        database.sync(SCHEMA)
        database.dispose()
        self._name = make_url(url).database
        self._engine = administrator(make_url(url))

    def go_away(self) -> None:
        """Cut all connections, and take no new ones."""
        with administrator(POSTGRESQL.url).connect() as connection:
            connection.execute(text(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS false"))
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :n"),
                {"n": self._name},
            )

    def come_back(self) -> None:
        with administrator(POSTGRESQL.url).connect() as connection:
            connection.execute(text(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS true"))

    @contextmanager
    def writes_held_at(self, table: str) -> Iterator[None]:
        """Let every writer of a table wait; all others go on."""
        with self._engine.execution_options(isolation_level="READ COMMITTED").begin() as holder:
            holder.execute(text(f"LOCK TABLE {table} IN SHARE MODE"))
            yield

    def waiting_writers(self) -> list[int]:
        """Return the processes of the database that wait for a lock in the middle of a write.

        Preparing a statement takes the same lock, before anything is written.
        """
        return self._column(
            "SELECT pid FROM pg_stat_activity WHERE datname = :name AND wait_event_type = 'Lock' "
            "AND query NOT LIKE '%PREPARE%'"
        )

    def cut(self, pid: int) -> None:
        self._column(f"SELECT pg_terminate_backend({pid})")

    def count(self, table: str) -> int:
        (number,) = self._column(f"SELECT count(*) FROM {table}")
        return number

    def _column(self, statement: str) -> list[int]:
        with self._engine.connect() as connection:
            values = {"name": self._name} if ":name" in statement else {}
            return list(connection.execute(text(statement), values).scalars())


pytestmark = [pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

ROUNDS = 8
CONSUMERS = 300
HOSTS = 3
STANDARD_TRAITS = sorted(names.standard_traits())
SMALL, LARGE = ({"VCPU": {"total": total}} for total in (10_000, 20_000))
OWNER = {
    "project_id": "p1", "user_id": "u1", "consumer_type": "INSTANCE", "consumer_generation": None,
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    one: Server
    other: Server
    database: OneDatabase


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database(POSTGRESQL))
        one, other = (Server(tmp_path_factory.mktemp("server"), url) for _ in range(2))
        for server in (one, other):
            stack.callback(server.kill)
        yield Site(one, other, OneDatabase(url))


@pytest.fixture
def site(running: Site) -> Site:
    """Return a site that is whole."""
    running.database.come_back()
    running.one.start()
    running.other.start()
    return running


def prepare_writes(server: Server) -> None:
    """Let a server's connection learn what it asks: that takes locks, too."""
    uuid, consumer = make_provider(server), a_uuid()
    held = {**OWNER, "allocations": {uuid: {"resources": {"VCPU": 1}}}}
    server.change("PUT", f"/allocations/{consumer}", held)


def make_provider(server: Server) -> str:
    uuid = a_uuid()
    server.change("POST", "/resource_providers", {"name": uuid, "uuid": uuid})
    server.change("PUT", f"/resource_providers/{uuid}/inventories", of_inventories(SMALL, 0))
    return uuid


def of_inventories(inventories: Any, generation: int) -> dict[str, Any]:
    return {"inventories": inventories, "resource_provider_generation": generation}


def test_while_the_database_is_away_there_is_a_503(site: Site) -> None:
    """It says when to come again; when the database is back, so is the service."""
    uuid, other = make_provider(site.one), make_provider(site.one)
    path = f"/resource_providers/{uuid}"
    asked = [
        ("GET", "/resource_providers", None),
        ("GET", path, None),
        ("GET", "/allocation_candidates?resources=VCPU:1", None),
        ("GET", "/healthcheck", None),
        ("PUT", f"{path}/inventories", of_inventories(LARGE, 1)),
        ("PUT", f"/resource_providers/{other}/traits",
         {"traits": ["HW_CPU_X86_AVX"], "resource_provider_generation": 1}),
        ("PUT", "/traits/CUSTOM_LATE", None),
        ("PUT", f"/allocations/{a_uuid()}",
         {"allocations": {uuid: {"resources": {"VCPU": 1}}}, **OWNER}),
        ("DELETE", path, None),
    ]  # fmt: skip
    site.database.go_away()
    for method, where, body in asked:
        answer = site.one.ask(method, where, body)
        assert answer.status_code == 503, f"{method} {where}: {answer.text}"
        assert int(answer.headers["Retry-After"]) > 0
        (error,) = answer.json()["errors"]
        assert error["title"] == "Service Unavailable"
        assert "armillary_test" not in error["detail"]  # nor any other thing of the driver's
    assert site.one.ask("GET", "/").status_code == 200

    site.database.come_back()
    for method, where, body in asked:
        wait_for(lambda: site.one.ask(method, where, body).status_code < 300,  # noqa: B023
                 f"{method} {where} is served again", SECONDS_MAX)  # fmt: skip
        if where.startswith("/allocations"):
            site.one.change("DELETE", where)
    assert site.one.get(f"/resource_providers/{other}")["generation"] == 2  # written once


def twice_together(
    site: Site, method: str, path: str, bodies: list[Any]
) -> list[requests.Response]:
    """Send two writes at the same time, each to a server of its own."""
    barrier = threading.Barrier(2)
    answers: list[requests.Response] = []

    def send(server: Server, body: Any) -> None:
        barrier.wait(seconds(SECONDS_MAX))
        answers.append(server.ask(method, path, body))

    pairs = zip((site.one, site.other), bodies, strict=True)
    threads = [threading.Thread(target=send, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds(SECONDS_MAX))
    return sorted(answers, key=lambda answer: answer.status_code)


def inventories(generation: int, number: int) -> Any:
    return of_inventories(LARGE if number else SMALL, generation)


def traits(generation: int, number: int) -> Any:
    wanted = STANDARD_TRAITS[2 * generation + number]  # writing what is there changes nothing
    return {"traits": [wanted], "resource_provider_generation": generation}


def aggregates(generation: int, number: int) -> Any:
    return {"aggregates": [a_uuid()], "resource_provider_generation": generation}


@pytest.mark.parametrize("body", [inventories, traits, aggregates])
def test_of_two_writers_on_one_generation_one_wins(
    site: Site, body: Callable[[int, int], Any]
) -> None:
    """The other client gets a conflict, through whichever server they came."""
    path = f"/resource_providers/{make_provider(site.one)}"
    for generation in range(1, ROUNDS + 1):
        bodies = [body(generation, number) for number in range(2)]
        won, lost = twice_together(site, "PUT", f"{path}/{body.__name__}", bodies)
        assert (won.status_code, lost.status_code) == (200, 409), won.text + lost.text
        assert lost.json()["errors"][0]["code"] == "placement.concurrent_update"
        assert site.other.get(path)["generation"] == generation + 1
        assert won.json() == site.one.get(f"{path}/{body.__name__}")


def test_of_two_writers_on_one_consumer_one_wins(site: Site) -> None:
    """Both had seen none, or the same one."""
    uuid = make_provider(site.one)
    path = f"/allocations/{a_uuid()}"
    for generation in (None, *range(1, ROUNDS)):
        bodies = [
            {**OWNER, "allocations": {uuid: {"resources": {"VCPU": amount}}},
             "consumer_generation": generation}
            for amount in (1, 2)
        ]  # fmt: skip
        won, lost = twice_together(site, "PUT", path, bodies)
        assert (won.status_code, lost.status_code) == (204, 409), won.text + lost.text
        assert lost.json()["errors"][0]["code"] == "placement.concurrent_update"
        assert site.other.get(path)["consumer_generation"] == (generation or 0) + 1


def many_allocations(hosts: list[str]) -> dict[str, Any]:
    """Return consumers that hold something of every host."""
    held = {uuid: {"resources": {"VCPU": 1}} for uuid in hosts}
    return {a_uuid(): {"allocations": held, **OWNER} for _ in range(CONSUMERS)}


def a_reshape(hosts: list[str]) -> dict[str, Any]:
    return {
        "inventories": {uuid: of_inventories(LARGE, 1) for uuid in hosts},
        "allocations": many_allocations(hosts),
    }


WRITES: dict[str, Callable[[list[str]], Any]] = {
    "/allocations": many_allocations,
    "/reshaper": a_reshape,
}


def seen(server: Server, hosts: list[str]) -> list[Any]:
    """Return what the writes change, as everybody sees it."""
    parts = ("", "/inventories", "/usages", "/allocations")
    return [server.get(f"/resource_providers/{uuid}{part}") for uuid in hosts for part in parts]


def begin(server: Server, path: str, body: Any) -> tuple[threading.Thread, list[Any]]:
    """Send a write; return who waits for the answer, and where that will be."""
    answers: list[Any] = []

    def send() -> None:
        try:
            answers.append(server.ask("POST", path, body))
        except requests.ConnectionError as error:
            answers.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    return thread, answers


def test_a_write_whose_connection_is_cut_is_made_up_for(site: Site) -> None:
    """Once, and the client notices nothing."""
    hosts = [make_provider(site.one) for _ in range(HOSTS)]
    prepare_writes(site.one)
    with site.database.writes_held_at("usages"):
        thread, answers = begin(site.one, "/allocations", many_allocations(hosts))
        (first,) = wait_for(site.database.waiting_writers, "it is half-way", SECONDS_MAX, 0.02)
        site.database.cut(first)
        wait_for(lambda: first not in site.database.waiting_writers(), "it is cut",
                 SECONDS_MAX, 0.02)  # fmt: skip
    thread.join(seconds(SECONDS_MAX))
    assert answers[0].status_code == 204, answers[0].text
    usages = [site.other.get(f"/resource_providers/{uuid}/usages")["usages"] for uuid in hosts]
    assert usages == [{"VCPU": CONSUMERS}] * HOSTS


@pytest.mark.parametrize(
    ("path", "table"),
    [
        ("/allocations", "consumers"),
        ("/allocations", "usages"),
        ("/reshaper", "allocations"),
        ("/reshaper", "resource_providers"),
    ],
)
def test_a_write_that_is_killed_half_way_leaves_nothing(site: Site, path: str, table: str) -> None:
    """And no lock: the same write goes through another server."""
    prepare_writes(site.one)
    hosts = [make_provider(site.one) for _ in range(HOSTS)]
    body = WRITES[path](hosts)
    before = seen(site.other, hosts)
    consumers = site.database.count("consumers")
    with site.database.writes_held_at(table):
        thread, answers = begin(site.one, path, body)
        wait_for(site.database.waiting_writers, "it is half-way", SECONDS_MAX, 0.02)
        site.one.kill()
    thread.join(seconds(SECONDS_MAX))
    assert isinstance(answers[0], requests.ConnectionError)

    assert seen(site.other, hosts) == before
    assert site.database.count("consumers") == consumers
    site.other.change("POST", path, body)
    usages = [site.other.get(f"/resource_providers/{uuid}/usages")["usages"] for uuid in hosts]
    assert usages == [{"VCPU": CONSUMERS}] * HOSTS
    assert site.database.count("consumers") == consumers + CONSUMERS
