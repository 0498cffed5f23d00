"""Tests of what schedulers are told of the hosts that a cell pushes."""

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.db import host_mappings, metadata_seq
from conductor.super_conductor.hosts.host_ownership import HostOwnershipEndpoint
from tests.builders import a_uuid
from tests.fixtures.cell import a_node
from tests.fixtures.control_plane import ControlPlane, an_admin

NODE, OTHER_NODE = a_uuid(), a_uuid()


class Enrolments:
    """Cells may have any host but these."""

    def __init__(self) -> None:
        self.forbidden: set[str] = set()

    def may_have(self, cell_uuid: str, host: str) -> bool:
        return host not in self.forbidden


class Metadata:
    """Notes whose aggregates are to be updated."""

    def __init__(self) -> None:
        self.changed: list[str] = []

    def aggregates_of_hosts_changed(self, hosts: dict[str, list[str]]) -> None:
        self.changed += hosts


class Ownership:
    """The endpoint, two cells, and what is around it."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.database = plane.database
        self.metadata = Metadata()
        self.enrolments = Enrolments()
        assert plane.links is not None
        plane.links.enrolments = self.enrolments  # type: ignore[assignment]
        self.conf = plane.conf
        self.endpoint = HostOwnershipEndpoint(
            plane.conf, plane.database, plane.links, self.metadata  # type: ignore[arg-type]
        )  # fmt: skip
        self.cell, self.other = (plane.add_cell(name, hosts=0).uuid for name in ("one", "two"))

    def map(self, cell: str, **hosts: list[str]) -> list[str]:
        """Have a cell register nodes, and return which of them a scheduler is refused."""
        if cell in self.plane.cells:
            known = self.plane.cells[cell].nodes
            known += [
                a_node(host, uuid=node)
                for host, nodes in hosts.items()
                for node in nodes
                if (host, node) not in {(each.host, each.uuid) for each in known}
            ]
        return self.told(cell, **hosts)

    def told(self, cell: str, **hosts: list[str]) -> list[str]:
        """Return which of the nodes that a scheduler names it is refused."""
        return self.endpoint.map_hosts(an_admin(), cell, hosts)

    def mapped(self) -> dict[str, tuple[str, list[str]]]:
        found = self.database.read(host_mappings.find_host_mappings, ["a", "b"])
        return {host: (one.cell_uuid, one.node_uuids) for host, one in found.items()}


@pytest.fixture
def ownership(plane: ControlPlane) -> Ownership:
    return Ownership(plane)


def test_a_new_host_is_mapped_immediately(ownership: Ownership) -> None:
    """Its aggregates learn of it, too; a second time nothing is left to do."""
    assert ownership.map(ownership.cell, a=[NODE]) == []
    assert ownership.map(ownership.cell, a=[NODE]) == []
    assert ownership.mapped() == {"a": (ownership.cell, [NODE])}
    assert ownership.metadata.changed == ["a"]


def test_a_host_of_another_cell_is_refused(ownership: Ownership) -> None:
    """Whatever nodes it is said to have."""
    ownership.map(ownership.cell, a=[NODE])
    assert ownership.map(ownership.other, a=[NODE]) == [NODE]
    assert ownership.map(ownership.other, a=[OTHER_NODE]) == [OTHER_NODE]
    assert ownership.mapped() == {"a": (ownership.cell, [NODE])}


def test_a_node_of_another_cell_is_refused(ownership: Ownership) -> None:
    """Under any name; the host's other nodes are its own."""
    ownership.map(ownership.cell, a=[NODE])
    assert ownership.map(ownership.other, b=[NODE, OTHER_NODE]) == [NODE]
    assert ownership.mapped()["b"] == (ownership.other, [OTHER_NODE])


def test_a_host_that_the_cell_may_not_have_is_refused(ownership: Ownership) -> None:
    """An operator who approves it maps it; then its nodes are the cell's."""
    ownership.enrolments.forbidden.add("a")
    assert ownership.map(ownership.cell, a=[NODE]) == [NODE]
    with ownership.database.writer() as session:
        host_mappings.map_hosts(session, ownership.cell, {"a": []})
    assert ownership.map(ownership.cell, a=[NODE]) == []


def test_a_scheduler_alone_maps_nothing(ownership: Ownership) -> None:
    """With a stolen key it could keep hosts to come out of their cells: each cell is asked."""
    ownership.map(ownership.cell, a=[NODE])
    assert ownership.told(ownership.cell, a=[OTHER_NODE], b=[NODE]) == sorted([NODE, OTHER_NODE])
    assert ownership.mapped() == {"a": (ownership.cell, [NODE])}
    assert ownership.map(ownership.other, b=[OTHER_NODE]) == []


def test_nothing_is_mapped_while_the_cell_is_silent(
    ownership: Ownership, plane: ControlPlane
) -> None:
    """The scheduler asks again."""
    silent = plane.bus_of(plane.cells[ownership.cell])
    silent.fail("list_known_hosts", oslo_messaging.MessagingTimeout("x"))
    with pytest.raises(exception.CellUnavailable):
        ownership.map(ownership.cell, a=[NODE])
    assert ownership.mapped() == {}


def test_a_further_node_of_a_host_is_added(ownership: Ownership) -> None:
    """Those that are not named stay: discovery removes nodes."""
    ownership.map(ownership.cell, a=[NODE])
    assert ownership.map(ownership.cell, a=[OTHER_NODE]) == []
    assert ownership.mapped()["a"] == (ownership.cell, sorted([NODE, OTHER_NODE]))


def test_without_discovery_an_operator_maps_hosts(ownership: Ownership) -> None:
    """With the command for that."""
    ownership.conf.set_override("discover_hosts_interval_seconds", 0.0, group="conductor")
    assert ownership.map(ownership.cell, a=[NODE]) == [NODE]
    assert ownership.mapped() == {}


def test_an_unknown_cell_has_no_hosts(ownership: Ownership) -> None:
    """A scheduler may not know of its removal yet."""
    with pytest.raises(exception.CellNotFound):
        ownership.map(a_uuid(), a=[NODE])


def test_schedulers_ask_again_after_a_mapping_is_deleted(ownership: Ownership) -> None:
    """The metadata has another number, also that of hosts."""
    ownership.map(ownership.cell, a=[NODE])

    with ownership.database.writer() as session:
        before = metadata_seq.get_seq(session)
        assert host_mappings.delete_host_mapping(session, "a")
        assert metadata_seq.get_seq(session) == before + 1
        assert metadata_seq.get_hosts_seq(session) == before + 1
