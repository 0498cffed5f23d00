"""Which version an agent is of: kept for a while, and looked at anew where it was older."""

from __future__ import annotations

from armillary.service_history import CURRENT_VERSION
from conductor.cell_conductor.hosts.agent_versions import CACHE_SECONDS, AgentVersions
from tests.fixtures.cell import Cell, counted_statements


def report(cell: Cell, agent: str, version: int) -> None:
    cell.services.report(agent, [f"host-of-{agent}"], {}, version=version)


def test_each_agent_has_its_own(cell: Cell) -> None:
    """Without a name the oldest counts; who is not known is 0."""
    report(cell, "old", 2)
    report(cell, "new", CURRENT_VERSION)
    versions = AgentVersions(cell.database, monotonic=cell.clock)
    assert (versions.of("old"), versions.of("new"), versions.of("none")) == (2, CURRENT_VERSION, 0)
    assert versions.of(None) == 2


def test_nothing_is_read_for_agents_of_today(cell: Cell) -> None:
    """For a while: a message to an agent costs no statement."""
    report(cell, "new", CURRENT_VERSION)
    versions = AgentVersions(cell.database, monotonic=cell.clock)
    versions.of("new")
    with counted_statements(cell.database) as statements:
        versions.of("new")
    assert statements == []
    report(cell, "new", 2)
    cell.clock.advance(CACHE_SECONDS)
    assert versions.of("new") == 2


def test_an_upgraded_agent_counts_at_once(cell: Cell) -> None:
    """Also where another conductor was told."""
    report(cell, "a", 2)
    versions = AgentVersions(cell.database, monotonic=cell.clock)
    assert versions.of("a") == 2
    report(cell, "a", CURRENT_VERSION)
    assert versions.of("a") == CURRENT_VERSION


def test_a_report_of_another_version_is_heard(cell: Cell) -> None:
    """Once; the same again is no news."""
    heard: list[str] = []
    cell.services._on_version = lambda: heard.append("news")
    for version in (2, 2, 3):
        report(cell, "a", version)
    assert heard == ["news", "news"]
