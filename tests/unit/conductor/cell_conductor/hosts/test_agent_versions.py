"""Versions of agents: kept for a while, and read again where they were older."""

import pytest

from conductor.cell_conductor.hosts.agent_versions import CACHE_SECONDS, AgentVersions
from tests.fixtures.cell import Cell, counted_statements
from tests.fixtures.made_up_releases import NEW, OLD

pytestmark = pytest.mark.usefixtures("two_releases")


def report(cell: Cell, agent: str, version: int) -> None:
    cell.services.report(agent, [f"host-of-{agent}"], {}, version=version)


def test_each_agent_has_its_own(cell: Cell) -> None:
    """Without a name the oldest counts; the version of an unknown agent is 0."""
    report(cell, "old", OLD)
    report(cell, "new", NEW)
    versions = AgentVersions(cell.database, monotonic=cell.clock)
    assert (versions.of("old"), versions.of("new"), versions.of("none")) == (OLD, NEW, 0)
    assert versions.of(None) == OLD


def test_nothing_is_read_for_agents_of_today(cell: Cell) -> None:
    """For a while: a message to an agent costs no statement."""
    report(cell, "new", NEW)
    versions = AgentVersions(cell.database, monotonic=cell.clock)
    versions.of("new")
    with counted_statements(cell.database) as statements:
        versions.of("new")
    assert statements == []
    report(cell, "new", OLD)
    cell.clock.advance(CACHE_SECONDS)
    assert versions.of("new") == OLD


def test_an_upgraded_agent_counts_immediately(cell: Cell) -> None:
    """Also where another conductor was told."""
    report(cell, "a", OLD)
    versions = AgentVersions(cell.database, monotonic=cell.clock)
    assert versions.of("a") == OLD
    report(cell, "a", NEW)
    assert versions.of("a") == NEW


def test_a_report_of_another_version_is_heard(cell: Cell) -> None:
    """Once; the same again tells nothing new."""
    heard: list[str] = []
    cell.services._on_version = lambda: heard.append("news")
    for version in (OLD, OLD, NEW):
        report(cell, "a", version)
    assert heard == ["news", "news"]
