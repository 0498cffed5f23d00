"""A scheduler believes a cell about its own hosts alone, in whatever order cells push."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import prometheus_client
import pytest

from armillary import exception
from objects.hosts.host_states import HostStateBatch
from scheduler.hosts.store.host_store import HostStore
from scheduler.hosts.store.state_sync import StateSync
from tests.builders import a_uuid
from tests.fixtures.waiting import Deadline
from tests.fleets import CELL, OTHER_CELL, Host, a_batch, a_host, scheduling_conf

NODE = a_uuid()
SECONDS_MAX = 60.0


class Conductors:
    """A super conductor whose mappings a test sets, and cells that answer what they last pushed."""

    def __init__(self) -> None:
        self.owner_of = {"host1": CELL, "host2": OTHER_CELL}
        """Host -> its cell; a host that is not here may be had by neither."""
        self.node_owner = {NODE: CELL}
        self.answers: dict[str, HostStateBatch] = {
            cell: a_batch([], cell=cell, full=True) for cell in (CELL, OTHER_CELL)
        }
        self.seq = self.hosts_seq = 1
        self.is_away = False
        self.checks: list[list[str]] = []

    def get_cluster_metadata(self, context: object) -> dict[str, Any]:
        cells = [
            {"uuid": uuid, "name": name, "disabled": False}
            for uuid, name in ((CELL, "one"), (OTHER_CELL, "two"))
        ]
        return {"seq": self.seq, "hosts_seq": self.hosts_seq, "cells": cells, "aggregates": []}

    def map_hosts(self, context: object, cell_uuid: str, hosts: dict[str, list[str]]) -> list[str]:
        if self.is_away:
            raise exception.RpcTimeout(method="map_hosts", topic="conductor", timeout_seconds=1)
        self.checks.append(sorted(hosts))
        return [
            node
            for host, nodes in hosts.items()
            for node in nodes
            if self.owner_of.get(host) != cell_uuid
            or self.node_owner.get(node, cell_uuid) != cell_uuid
        ]

    def get_host_states(
        self, context: object, cell_uuid: str, *, after_seq: int, timeout_seconds: float
    ) -> HostStateBatch:
        return self.answers[cell_uuid]


class Deployment:
    """A scheduler's hosts, and two cells that push."""

    def __init__(self) -> None:
        self.conductors = Conductors()
        self.store = HostStore(scheduling_conf(), clock=lambda: 0.0)
        self.sync = StateSync(
            scheduling_conf(),
            host_store=self.store,
            super_conductor=self.conductors,  # type: ignore[arg-type]
            host_states=self.conductors,  # type: ignore[arg-type]
        )
        self._seqs = {CELL: 1, OTHER_CELL: 1}
        self.sync.start()
        assert self.sync.wait_ready(SECONDS_MAX)

    def push(self, cell: str, *hosts: Host) -> None:
        seq = self._seqs[cell] = self._seqs[cell] + 1
        self.conductors.answers[cell] = a_batch(hosts, cell=cell, full=True, last_seq=seq)
        self.sync.apply_batch(a_batch(hosts, cell=cell, first_seq=seq - 1, last_seq=seq))

    def hosts(self) -> dict[str, tuple[str, str]]:
        """Return node -> host and cell."""
        return {node: (host, cell) for node, (cell, host) in self.store.owners().items()}

    def wait_for(self, condition: Callable[[], Any]) -> None:
        deadline = Deadline(SECONDS_MAX)
        while not condition():
            assert not deadline.has_passed, self.hosts()
            threading.Event().wait(0.01)

    def remap(self, **owners: str) -> None:
        """Map hosts in another way, and tell the scheduler that the metadata changed."""
        self.conductors.owner_of.update(owners)
        self.conductors.seq += 1
        self.conductors.hosts_seq = self.conductors.seq
        self.sync.take_cluster_metadata(self.conductors.get_cluster_metadata(None))


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    made = Deployment()
    yield made
    made.sync.stop(SECONDS_MAX)


def a_node(host: str, node: str = NODE) -> Host:
    made = a_host(host)
    made.uuid = node
    return made


def refused() -> float:
    name = "armillary_scheduler_hosts_refused_total"
    return prometheus_client.REGISTRY.get_sample_value(name) or 0.0


@pytest.mark.parametrize(
    "claimed", [a_node("host1"), a_node("host2"), a_node("host1", a_uuid())],
    ids=["same name and node", "same node", "same name"],
)  # fmt: skip
@pytest.mark.parametrize("order", [(CELL, OTHER_CELL), (OTHER_CELL, CELL)], ids=["owner", "thief"])
def test_the_owner_has_its_host_whichever_cell_pushes_first(
    deployment: Deployment, claimed: Host, order: tuple[str, str]
) -> None:
    """And what is refused is counted."""
    before = refused()
    pushed = {CELL: a_node("host1"), OTHER_CELL: claimed}
    for cell in order:
        asked = len(deployment.conductors.checks)
        deployment.push(cell, pushed[cell])
        deployment.wait_for(lambda: len(deployment.conductors.checks) > asked)  # noqa: B023
    deployment.wait_for(lambda: deployment.hosts() == {NODE: ("host1", CELL)})
    deployment.wait_for(lambda: refused() > before)
    deployment.push(OTHER_CELL, claimed)
    assert deployment.hosts() == {NODE: ("host1", CELL)}


def test_a_refused_host_is_logged_once_and_counted_each_time(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    """By the names of host and cell."""
    before = refused()
    with caplog.at_level(logging.WARNING):
        deployment.push(OTHER_CELL, a_node("host1"))
        deployment.wait_for(lambda: refused() > before)
        for _ in range(3):
            deployment.push(OTHER_CELL, a_node("host1"))
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "Ignored the state of host host1 reported by cell two"
    ]
    assert refused() == before + 4


def test_hosts_that_are_known_are_not_checked_again(deployment: Deployment) -> None:
    """Their pushes ask nothing."""
    deployment.push(CELL, a_node("host1"))
    deployment.wait_for(deployment.hosts)
    checks = len(deployment.conductors.checks)
    for _ in range(3):
        deployment.push(CELL, a_node("host1"))
    assert len(deployment.conductors.checks) == checks


def test_a_host_that_an_operator_approves_is_had_soon(deployment: Deployment) -> None:
    """What was refused is checked again periodically."""
    before = refused()
    deployment.push(CELL, a_node("host3", uuid := a_uuid()))
    deployment.wait_for(lambda: refused() > before)
    assert deployment.hosts() == {}
    deployment.conductors.owner_of["host3"] = CELL

    def is_there() -> bool:
        deployment.sync.fetch_missing()
        return deployment.hosts() == {uuid: ("host3", CELL)}

    deployment.wait_for(is_there)


def test_a_host_that_is_mapped_to_another_cell_leaves_the_first(deployment: Deployment) -> None:
    """Although that goes on pushing it."""
    node = a_uuid()
    deployment.push(CELL, a_node("host1", node))
    deployment.wait_for(deployment.hosts)
    deployment.remap(host1=OTHER_CELL)
    deployment.wait_for(lambda: not deployment.hosts())
    deployment.push(CELL, a_node("host1", node))
    assert deployment.hosts() == {}
    deployment.push(OTHER_CELL, a_node("host1", node))
    deployment.wait_for(lambda: deployment.hosts() == {node: ("host1", OTHER_CELL)})


def test_a_change_that_takes_no_host_checks_none(deployment: Deployment) -> None:
    """Such as another aggregate; after one that did, or a restored database, each is checked."""
    deployment.push(CELL, a_node("host1"))
    deployment.wait_for(deployment.hosts)
    conductors, checks = deployment.conductors, deployment.conductors.checks
    before = len(checks)
    conductors.seq = 2
    deployment.sync.take_cluster_metadata(conductors.get_cluster_metadata(None))
    conductors.seq, conductors.hosts_seq = 4, 3
    deployment.sync.take_cluster_metadata(conductors.get_cluster_metadata(None))
    deployment.wait_for(lambda: len(checks) > before)
    conductors.seq = 3
    deployment.sync.take_cluster_metadata(conductors.get_cluster_metadata(None), is_newest=True)
    deployment.wait_for(lambda: len(checks) > before + 1)
    assert checks[before:] == [["host1"], ["host1"]]


def test_a_host_moves_even_before_the_metadata_says_so(deployment: Deployment) -> None:
    """The super conductor's word for the new cell ends the old one's."""
    node = a_uuid()
    deployment.push(CELL, a_node("host1", node))
    deployment.wait_for(deployment.hosts)
    deployment.conductors.owner_of["host1"] = OTHER_CELL
    deployment.push(OTHER_CELL, a_node("host1", node))
    deployment.wait_for(lambda: deployment.hosts() == {node: ("host1", OTHER_CELL)})


def test_without_a_super_conductor_new_hosts_wait_and_known_ones_are_heard(
    deployment: Deployment,
) -> None:
    """The new one is had once that answers."""
    deployment.push(CELL, a_node("host1"))
    deployment.wait_for(deployment.hosts)
    deployment.conductors.is_away = True
    deployment.push(CELL, a_node("host1"))
    deployment.push(OTHER_CELL, a_node("host2", other := a_uuid()))
    assert deployment.hosts() == {NODE: ("host1", CELL)}
    deployment.conductors.is_away = False

    def are_there() -> bool:
        deployment.sync.fetch_missing()
        return deployment.hosts() == {NODE: ("host1", CELL), other: ("host2", OTHER_CELL)}

    deployment.wait_for(are_there)


def test_many_refused_hosts_fill_neither_log_nor_memory(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the first hundred."""
    before = refused()
    deployment.push(OTHER_CELL, *(a_node(f"no-{number}", a_uuid()) for number in range(12_000)))
    deployment.wait_for(lambda: refused() >= before + 12_000)
    assert sum("reported by cell two" in text for text in caplog.messages) == 100
    assert max(map(len, deployment.conductors.checks)) == 1000
    assert deployment.hosts() == {}


def test_columns_of_different_lengths_are_refused_before_any_row(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where a row would be left out."""
    before = len(deployment.conductors.checks)
    broken = a_batch([a_node("host1")], cell=OTHER_CELL, full=True, last_seq=5)
    broken.attributes = {**broken.attributes, "vcpus_total": []}
    deployment.conductors.answers[OTHER_CELL] = broken
    deployment.sync.ask_cells([OTHER_CELL])
    deployment.wait_for(lambda: len(deployment.conductors.checks) > before)
    deployment.wait_for(lambda: "values of vcpus_total" in caplog.text)
    assert "Traceback" not in caplog.text
    assert deployment.hosts() == {}
