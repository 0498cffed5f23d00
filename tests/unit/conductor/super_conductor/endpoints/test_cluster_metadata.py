"""Tests of what a scheduler asks for when it starts, over messages."""

from __future__ import annotations

from tests.fixtures.control_plane import RunningConductor, an_admin


def test_facts_are_answered(running: RunningConductor) -> None:
    """Cells, aggregates, zones and the number of the newest change."""
    facts = running.api.get_cluster_metadata(an_admin())
    assert set(facts) == {"seq", "cells", "aggregates", "zones"}
    assert [cell["name"] for cell in facts["cells"]] == ["cell1"]
