"""Tests of what a scheduler asks for when it starts, over messages."""

from tests.fixtures.control_plane import RunningConductor, an_admin


def test_cluster_metadata_is_answered(running: RunningConductor) -> None:
    """Cells, aggregates, zones, and the numbers of the newest change and that of hosts."""
    metadata = running.api.get_cluster_metadata(an_admin())
    assert set(metadata) == {"seq", "hosts_seq", "cells", "aggregates", "zones"}
    assert [cell["name"] for cell in metadata["cells"]] == ["cell1"]
