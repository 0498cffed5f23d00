"""Tests of storing which cell a host is in."""

from collections.abc import Iterator

import pytest
from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.super_conductor.db import cells, host_mappings
from tests.fixtures.control_plane import NOW


@pytest.fixture
def session(api_database: Database) -> Iterator[Session]:
    with api_database.writer() as session:
        yield session


@pytest.fixture
def two(session: Session) -> tuple[str, str]:
    """Return the UUIDs of two cells."""
    first, second = (
        cells.create_cell(session, name=name, transport_url="x", now=NOW).uuid for name in "ab"
    )
    return first, second


def test_a_host_stays_in_the_cell_that_it_was_mapped_to(
    session: Session, two: tuple[str, str]
) -> None:
    """A second cell that claims it gets nothing."""
    host_mappings.map_hosts(session, two[0], {"h1": ["n1"]})
    host_mappings.map_hosts(session, two[1], {"h1": ["n2"], "h2": []})
    found = {one.host: one.cell_uuid for one in host_mappings.list_host_mappings(session)}
    assert found == {"h1": two[0], "h2": two[1]}
    assert host_mappings.list_node_uuids(session, two[0]) == {"h1": ["n1"]}


def test_mappings_of_one_cell_can_be_listed(session: Session, two: tuple[str, str]) -> None:
    """Ordered by host."""
    host_mappings.map_hosts(session, two[0], {"h2": [], "h1": []})
    host_mappings.map_hosts(session, two[1], {"h3": []})
    found = host_mappings.list_host_mappings(session, two[0])
    assert [one.host for one in found] == ["h1", "h2"]


def test_nodes_are_those_of_the_own_cell(session: Session, two: tuple[str, str]) -> None:
    """Another cell cannot change them."""
    host_mappings.map_hosts(session, two[0], {"h1": []})
    host_mappings.set_node_uuids(session, "h1", two[0], ["n2", "n1"])
    host_mappings.set_node_uuids(session, "h1", two[1], ["other"])
    assert host_mappings.node_uuids_of(session, ["h1", "unknown"]) == ["n1", "n2"]


def test_a_host_can_be_forgotten(session: Session, two: tuple[str, str]) -> None:
    """Once."""
    host_mappings.map_hosts(session, two[0], {"h1": []})
    assert host_mappings.delete_host_mapping(session, "h1")
    assert not host_mappings.delete_host_mapping(session, "h1")
    assert host_mappings.find_host_mapping(session, "h1") is None
