"""Creates while the broker is stalled: each makes one server or none, as the answer says."""

import contextlib
import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from kombu.entity import Exchange, Queue
from kombu.message import Message

from programs.http_client import VERSION_HEADERS
from rpc.queue_types import CONTROL_EXCHANGE
from tests.faults.published import Published
from tests.faults.stores import Broker, store_folder, why_missing
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import assert_nothing_is_lost, delete_everything
from tests.fixtures.deployment import SIMULATED, Cell, Deployment, running
from tests.fixtures.services import POSTGRESQL, leave_out
from tests.fixtures.services.databases import SCHEMAS, fresh_database
from tests.fixtures.waiting import seconds

pytestmark = [pytest.mark.postgresql, pytest.mark.long]

TOP, CELL = "top", "cell1"
REQUESTS = 36
BEFORE = 12
"""Requests that are on their way when the broker stops."""
STILL_SECONDS = 20.0
QUIET_SECONDS_MAX = 120.0
ANSWER_SECONDS_MAX = 90.0
ACCEPTED_SECONDS_MAX = 20.0
"""Within that after the broker went on all is accepted: no key waits for the end of a lease."""
UNKNOWN_OUTCOMES = {502, 503, 504}
UNDER_WAY = 409
ASKED = "conductor"
"""The topic whose servers create."""
SIZE = "vcpus=64:memory_mb=131072:disk_gb=1000"
AGENTS = {f"agent-{each}": [f"name=host-{each}{{1..3}}:{SIZE}"] for each in "ab"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    if why_missing() is not None:
        leave_out("RabbitMQ of our own", str(why_missing()))
    with store_folder() as folder:
        made = Broker(folder / "broker", [TOP, CELL])
        try:
            made.start()
            made.wait()
            yield made
        finally:
            made.kill()


@pytest.fixture(scope="module")
def deployment(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Lend all services, with one cell of two agents, on the broker that is stopped."""
    folder: Path = tmp_path_factory.mktemp("creates-without-broker")
    with ExitStack() as lent:
        urls = {
            kind: lent.enter_context(fresh_database(POSTGRESQL, package))
            for kind, package in SCHEMAS.items()
        }
        cell = Cell(CELL, broker.url(CELL), urls.pop("cell"), AGENTS)
        made = Deployment(
            folder, top_url=broker.url(TOP), databases=urls, cells=[cell], options=SIMULATED
        )
        yield lent.enter_context(running(made))


@pytest.fixture(scope="module")
def small(deployment: Deployment) -> str:
    return deployment.create_flavor("small", vcpus=1, ram=512, disk=1)


class User:
    """Asks for one server, by a client that repeats nothing by itself."""

    def __init__(self, deployment: Deployment, name: str, flavor: str) -> None:
        self.name = name
        self._url = f"{deployment.api_url}/v2.1/servers"
        self._body = {"server": {"name": name, "flavorRef": flavor}}
        self._key = str(uuid.uuid4())

    def ask(self, *, with_key: bool = False) -> requests.Response:
        key = {"Idempotency-Key": f'"{self._key}"'} if with_key else {}
        headers = {**VERSION_HEADERS, **key}
        return requests.post(
            self._url, json=self._body, headers=headers, timeout=waiting.seconds(ANSWER_SECONDS_MAX)
        )

    def ask_until_accepted(self) -> str:
        """Ask under one key until the answer is there; return the server's UUID."""

        def answer() -> str | None:
            response = self.ask(with_key=True)
            if response.status_code == 202:
                return str(response.json()["server"]["id"])
            assert response.status_code in {*UNKNOWN_OUTCOMES, UNDER_WAY}, response.text
            return None

        return str(wait_for(answer, f"{self.name} is accepted", QUIET_SECONDS_MAX, 0.5))


def while_broker_is_stalled(broker: Broker, users: list[User], ask: Any) -> tuple[list[Any], float]:
    """Let each user ask, a third on its way when the broker stops.

    Return what ``ask`` returns, and in how many seconds after the broker went on it had returned.
    """
    with ThreadPoolExecutor(len(users)) as pool:
        answers = [pool.submit(ask, user) for user in users[:BEFORE]]
        wait_for(lambda: any(each.done() for each in answers), "one is answered", 30, 0.002)
        broker.pause()
        try:
            stopped_at = time.monotonic()
            for number, user in enumerate(users[BEFORE:]):
                answers.append(pool.submit(ask, user))
                next_at = stopped_at + (number + 1) * STILL_SECONDS / (REQUESTS - BEFORE)
                time.sleep(max(0.0, next_at - time.monotonic()))
        finally:
            broker.go_on()
            went_on_at = time.monotonic()
        results = [each.result() for each in answers]
        return results, time.monotonic() - went_on_at


def wait_until_quiet(deployment: Deployment, broker: Broker) -> dict[str, dict[str, Any]]:
    """Wait until no message waits and no server is being built; return all servers by UUID."""

    def is_quiet() -> bool:
        waiting = [
            queue["name"] for vhost in (TOP, CELL) for queue in broker.queues(vhost)
            if queue["messages"]
        ]  # fmt: skip
        return not waiting and all(
            server["status"] in ("ACTIVE", "ERROR") for server in deployment.servers()
        )

    wait_for(deployment.answers, "the API is ready", QUIET_SECONDS_MAX)
    for _ in range(2):  # what was taken from a queue and not stored yet is stored by then
        wait_for(is_quiet, "nothing is on its way", QUIET_SECONDS_MAX, 1.0)
    return {server["id"]: server for server in deployment.servers()}


def new_users(deployment: Deployment, label: str, flavor: str) -> list[User]:
    return [User(deployment, f"{label}-{number}", flavor) for number in range(REQUESTS)]


class Copies:
    """Copies of the creates that the super conductor gets, to deliver them a second time.

    They are taken from their queue immediately: calls expire.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._taken: list[bytes] = []
        self._is_bound, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._take, name="copies", daemon=True)
        self._thread.start()
        assert self._is_bound.wait(seconds(30))

    def _take(self) -> None:
        exchange = Exchange(CONTROL_EXCHANGE, type="topic", passive=True)
        queue = Queue("copies", exchange, routing_key=ASKED, durable=False, exclusive=True)
        with (
            self._broker.connection(TOP) as connection,
            connection.Consumer(queue, on_message=self._keep, no_ack=True),
        ):
            self._is_bound.set()
            while not self._ended.is_set():
                with contextlib.suppress(TimeoutError):
                    connection.drain_events(timeout=0.5)

    def _keep(self, message: Message) -> None:
        body = message.body if isinstance(message.body, bytes) else message.body.encode()
        if json.loads(json.loads(body)["oslo.message"])["method"] == "create_servers":
            self._taken.append(body)

    def deliver(self) -> int:
        """Publish all three times more, as a broker may that got no acknowledgement.

        Return how many there are.
        """
        self._ended.set()
        self._thread.join()
        rng = random.Random(7)
        with self._broker.connection(TOP) as connection:
            channel = connection.default_channel
            for body in self._taken * 3:
                copy = Published("", ASKED, body).again(rng)
                sent = channel.prepare_message(
                    copy.body, content_type="application/json", content_encoding="utf-8"
                )
                channel.basic_publish(sent, copy.exchange, copy.routing_key)
        return len(self._taken)


def test_a_create_makes_one_server_or_none(
    deployment: Deployment, broker: Broker, small: str
) -> None:
    """Each that was answered 202 exactly one, however often its message is delivered.

    Nothing is held that no server uses.
    """
    copies = Copies(broker)
    users = new_users(deployment, "once", small)
    answers, _seconds = while_broker_is_stalled(broker, users, User.ask)
    wait_until_quiet(deployment, broker)
    assert copies.deliver() > 0
    found = wait_until_quiet(deployment, broker)
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {202, *UNKNOWN_OUTCOMES}, statuses
    assert statuses[202] < REQUESTS, "the broker was not stalled"
    accepted = {answer.json()["server"]["id"] for answer in answers if answer.status_code == 202}
    assert accepted <= set(found)
    names = Counter(server["name"] for server in found.values())
    assert max(names.values(), default=0) <= 1
    assert set(assert_nothing_is_lost(deployment, found).values()) == {"ACTIVE"}
    delete_everything(deployment)


def test_a_create_repeated_under_its_key_makes_one_server(
    deployment: Deployment, broker: Broker, small: str
) -> None:
    """However often it is repeated while the broker stands, and once more when all is done."""
    users = new_users(deployment, "keyed", small)
    uuids, took_seconds = while_broker_is_stalled(broker, users, User.ask_until_accepted)
    assert took_seconds < seconds(ACCEPTED_SECONDS_MAX)
    found = wait_until_quiet(deployment, broker)
    assert {uuid: server["name"] for uuid, server in found.items()} == dict(
        zip(uuids, (user.name for user in users), strict=True)
    )
    assert set(assert_nothing_is_lost(deployment, uuids).values()) == {"ACTIVE"}
    assert [user.ask_until_accepted() for user in users] == uuids
    assert set(uuids) == {server["id"] for server in deployment.servers()}
    delete_everything(deployment)
