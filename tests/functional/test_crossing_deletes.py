"""Deletes that cross the builds of their servers: they end by themselves, without any recovery."""

from __future__ import annotations

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.embedded import embedded_system

pytestmark = pytest.mark.long

NEVER = 3600
ROUNDS, SERVERS = 6, 8


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """Return a system in which what was left undone stays so for longer than any test waits."""
    with embedded_system(
        tmp_path_factory.mktemp("crossing"),
        conductor__lease_seconds=float(NEVER),
        conductor__recovery_interval_seconds=float(NEVER),
        compute__reconcile_interval_seconds=NEVER,
        cell__self_heal_interval_seconds=float(NEVER),
    ) as api:
        yield api


def test_a_delete_that_crosses_the_report_of_a_build_ends_at_once(system):
    """Each comes as soon as its server has a host: before, with or after the agent's report."""
    flavor = system.create_flavor("short", vcpus=1, ram=64)
    for _ in range(ROUNDS):
        uuids = system.create_servers(flavor, SERVERS)
        for uuid in uuids:
            wait_for(lambda uuid=uuid: _has_host(system, uuid), "it has a host", 30, 0.002)
            assert system.request("DELETE", f"/servers/{uuid}").status_code == 204
    wait_for(lambda: not system.servers(), "all servers are gone", 60)
    wait_for(lambda: system.allocations() == {}, "nothing is held", 60)


def _has_host(system, uuid):
    server = system.get(f"/servers/{uuid}")["server"]
    assert server["status"] in ("BUILD", "ACTIVE")
    return server["OS-EXT-SRV-ATTR:host"] is not None
