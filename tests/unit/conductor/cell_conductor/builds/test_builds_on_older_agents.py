"""Builds on agents that know less: sent as they understand, or given to the next host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary.service_history import CURRENT_VERSION
from compute_agent.rpcapi import ComputeAPI
from conductor.cell_conductor.builds.build_task import Build
from conductor.cell_conductor.hosts.agent_versions import AgentVersions
from conductor.common.cell_db import models
from rpc.version_caps import ConfiguredCap
from tests.fixtures.cell import Cell, a_build_request


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    """Return a cell with an older agent, of host a, and one of today, of host b."""
    made = Cell(tmp_path)
    for name, version in (("a", 2), ("b", CURRENT_VERSION)):
        made.add_agent(name).version = version
        made.agents[name].heartbeat()
    versions = AgentVersions(made.database, monotonic=made.clock)
    compute = ComputeAPI(
        made.cell_bus, version_cap=ConfiguredCap(made.conf, "compute", versions.of)
    )
    made.build = Build(
        made.conf, placement=made.build._placement, compute=compute, database=made.database,
        now=made.clock, may_mark_down=lambda: True,
    )  # fmt: skip
    made.reports._build = made.build
    yield made
    made.database.dispose()


def sent_versions(cell: Cell) -> list[tuple[str, str]]:
    """Have the versions of what the wire carries noted, each that is sent."""
    found: list[tuple[str, str]] = []
    send = cell.cell_bus.serializer.deserialize_entity

    def note(context: object, entity: object) -> object:
        if isinstance(entity, dict) and "armillary_object.name" in entity:
            found.append((entity["armillary_object.name"], entity["armillary_object.version"]))
        return send(context, entity)

    cell.cell_bus.serializer.deserialize_entity = note  # type: ignore[method-assign]
    return found


@pytest.mark.parametrize(("host", "is_older"), [("a", True), ("b", False)])
def test_an_agent_is_sent_objects_that_it_knows(cell: Cell, host: str, is_older: bool) -> None:
    """Each as its record says, in the same cell."""
    found = sent_versions(cell)
    request = a_build_request(host)
    cell.hand_over(request)
    versions = {version for name, version in found if name in ("Instance", "RequestSpec")}
    assert versions
    assert (versions == {"1.0"}) == is_older
    cell.settle()
    assert cell.get(request.instance_uuid).vm_state == "active"


def test_what_an_older_agent_cannot_be_asked_goes_to_the_next_host(cell: Cell) -> None:
    """With the reason in the attempt's fault."""
    request = a_build_request("a", "b")
    request.request_spec.numa_topology = {"cells": [{"id": 0}]}
    cell.hand_over(request)
    cell.settle()
    made = cell.get(request.instance_uuid)
    assert (made.vm_state, made.host) == ("active", "b")
    (fault,) = cell.rows(models.InstanceFault)
    assert "host a cannot be reached" in fault.details
    assert "numa_topology" in fault.details
