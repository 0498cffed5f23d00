"""Tests of dry runs: asked as for a build, and nothing is left of them."""

import dataclasses
from typing import Any

import pytest
import sqlalchemy as sa

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.accept.dry_runs import DryRuns
from conductor.super_conductor.db import models
from objects.instances.new_servers import DryRunRequest, NewServers
from objects.traces.decision_trace import DecisionTrace
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin

SMALL = {"server": {"flavor": "small", "min_count": 1, "max_count": 2}}
NOBODY = "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"


def dry_run(
    plane: ControlPlane,
    request: dict[str, Any],
    context: RequestContext | None = None,
    *,
    with_hosts: bool = True,
) -> dict[str, Any]:
    assert plane.links is not None
    runs = DryRuns(plane.conf, plane.database, plane.links, plane.peers.scheduler)
    servers = request.get("server")
    asked = DryRunRequest(
        servers=None if servers is None else NewServers(**{"name": "dry-run", **servers}),
        request_spec=request.get("request_spec"),
    )
    found = runs.dry_run(context or an_admin(), asked, with_hosts=with_hosts)
    return dataclasses.asdict(found)


def test_each_instance_has_its_host_and_alternates(plane: ControlPlane) -> None:
    """In the order of the request, with what would be claimed."""
    first, second = dry_run(plane, SMALL)["hosts"]
    assert (first["host"], first["alternates"]) == ("cell1-host1", ["cell1-host2"])
    assert (second["host"], second["alternates"]) == ("cell1-host2", ["cell1-host1"])
    assert first["allocations"] == plane.scheduler.hosts[0].allocation_request


ENTRIES = [
    {"host_id": "id-a", "path": ["eu", "eu-1"]},
    {"host_id": "id-b", "path": [], "host": "b", "node": "b.org", "availability_zone": "west"},
    {"host_id": "id-c", "path": ["us"]},
]


def test_hosts_of_all_zones_are_an_answer(plane: ControlPlane) -> None:
    """Each instance begins at another one, as it would, and goes round from there."""
    plane.scheduler.zone_entries = ENTRIES
    first, second = dry_run(plane, SMALL)["hosts"]
    assert first == {
        "host": None, "node": None, "availability_zone": None, "allocations": {},
        "zone": "eu/eu-1", "host_id": "id-a",
        "alternates": ["b", None], "alternate_zones": [None, "us"],
    }  # fmt: skip
    assert second == {
        "host": "b", "node": "b.org", "availability_zone": "west", "allocations": {},
        "zone": None, "host_id": "id-b",
        "alternates": [None, None], "alternate_zones": ["us", "eu/eu-1"],
    }  # fmt: skip


def test_those_that_want_to_be_together_would_begin_at_one(plane: ControlPlane) -> None:
    """As in a build."""
    plane.scheduler.zone_entries = ENTRIES
    group = plane.add_group("soft-affinity")
    request = {"server": {**SMALL["server"], "hints": {"group": [group.uuid]}}}
    assert [host["host_id"] for host in dry_run(plane, request)["hosts"]] == ["id-a", "id-a"]


def test_no_more_alternates_are_told_than_zones_return(plane: ControlPlane) -> None:
    """[zones] entries_max, however many instances there are."""
    plane.conf.set_override("entries_max", 2, group="zones")
    plane.scheduler.zone_entries = ENTRIES
    assert [len(host["alternates"]) for host in dry_run(plane, SMALL)["hosts"]] == [1, 1]


def test_users_see_no_zones(plane: ControlPlane) -> None:
    """Nor the ids of hosts."""
    plane.scheduler.zone_entries = ENTRIES
    found = dry_run(plane, SMALL, a_user(), with_hosts=False)["hosts"]
    assert [(each["zone"], each["host_id"]) for each in found] == [(None, None)] * 2
    assert [each["alternate_zones"] for each in found] == [[None, None]] * 2


def test_nothing_is_claimed_or_stored(plane: ControlPlane) -> None:
    """Not even the trace."""
    dry_run(plane, SMALL)
    assert plane.placement.held == {}
    with plane.database.reader() as session:
        for table in models.Base.metadata.sorted_tables:
            if table.name in {"build_requests", "request_specs", "decision_traces", "reservations"}:
                assert session.scalar(sa.select(sa.func.count()).select_from(table)) == 0


def test_that_no_host_fits_is_an_answer(plane: ControlPlane) -> None:
    """With the trace of the failure."""
    trace = DecisionTrace.from_values(hosts_total=3, sentence="All 3 hosts lack VCPU.")
    plane.scheduler.error = exception.NoValidHost(
        reason=trace.sentence, trace=trace.obj_to_primitive()
    )
    found = dry_run(plane, SMALL)
    assert found["hosts"] == []
    assert found["trace"]["sentence"] == "All 3 hosts lack VCPU."


def test_other_failures_are_raised(plane: ControlPlane) -> None:
    """They say nothing about hosts."""
    plane.scheduler.error = exception.Unavailable(reason="starting")
    with pytest.raises(exception.Unavailable):
        dry_run(plane, SMALL)


def test_a_groups_members_are_read_again(plane: ControlPlane) -> None:
    """Their hosts are those of now, whatever the request was made of."""
    group = plane.add_group()
    (uuid,) = plane.build(hints={"group": [group.uuid]})
    for request in (
        {"server": {**SMALL["server"], "hints": {"group": [group.uuid]}}},
        {"request_spec": {"flavor": "small", "instance_group": group.uuid}},
    ):
        dry_run(plane, request)
        asked = plane.scheduler.specs[-1].instance_group
        assert asked is not None
        assert (asked.members, asked.hosts) == ([uuid], ["cell1-host1"])


def test_users_see_no_hosts(plane: ControlPlane) -> None:
    """Where the policy lets them ask at all."""
    found = dry_run(plane, SMALL, a_user(), with_hosts=False)
    assert [each["host"] for each in found["hosts"]] == [None, None]
    assert "cell1-host" not in str(found)


# Request specs ------------------------------------------------------------------------------------


def asked_spec(plane: ControlPlane, **spec: Any) -> Any:
    dry_run(plane, {"request_spec": spec})
    return plane.scheduler.specs[-1]


def test_a_spec_has_what_it_says_and_else_the_callers(plane: ControlPlane) -> None:
    """A flavor by its name, a hint as one text or several."""
    found = asked_spec(
        plane,
        flavor="small",
        num_instances=2,
        scheduler_hints={"same_host": "u1", "different_host": ["u2"]},
        requested_destination={"host": "cell1-host2"},
        ignore_hosts=["cell1-host1"],
    )
    assert found.flavor.name == "small"
    assert found.num_instances == 2
    assert found.scheduler_hints == {"same_host": ["u1"], "different_host": ["u2"]}
    assert found.requested_destination.host == "cell1-host2"
    assert found.ignore_hosts == ["cell1-host1"]
    assert (found.project_id, found.user_id) == (an_admin().project_id, an_admin().user_id)


def test_flavor_and_image_may_be_made_up(plane: ControlPlane) -> None:
    """With the fields that matter."""
    found = asked_spec(
        plane,
        flavor={"vcpus": 3, "memory_mb": 96, "extra_specs": {"hw:cpu_policy": "dedicated"}},
        image={"properties": {"hw_architecture": "aarch64"}},
        project_id="p9",
    )
    assert (found.flavor.vcpus, found.flavor.root_gb) == (3, 0)
    assert found.image.properties == {"hw_architecture": "aarch64"}
    assert found.project_id == "p9"


def test_cells_follow_from_the_flavor(plane: ControlPlane) -> None:
    """Unless the spec names them."""
    flavor = {"vcpus": 2, "memory_mb": 96, "extra_specs": {"hw:numa_nodes": "2"}}
    topology = asked_spec(plane, flavor=flavor).numa_topology
    assert len(topology["cells"]) == 2
    one = {**topology, "cells": topology["cells"][:1]}
    assert asked_spec(plane, flavor=flavor, numa_topology=one).numa_topology == one


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "request_spec.flavor is missing"),
        ({"flavor": 7}, "request_spec.flavor must be an object"),
        ({"flavor": {"vcpus": 1}}, "request_spec.flavor lacks memory_mb"),
        ({"flavor": {"vcpus": "many", "memory_mb": 1}}, "request_spec.flavor: "),
        ({"flavor": {"cpus": 1}}, "request_spec.flavor has no field cpus; known: created_at"),
        ({"flavor": "small", "colour": 1}, "request_spec has no field colour"),
        ({"flavor": "small", "instance_group": {}}, "instance_group must be a server group's UUID"),
        ({"flavor": "small", "scheduler_hints": []}, "scheduler_hints must be an object"),
        ({"flavor": "small", "scheduler_hints": {"a": 1}}, "scheduler_hints.a must be a string"),
        ({"flavor": "small", "limits": {"vcpu": []}}, "request_spec.limits: "),
        ({"flavor": "small", "numa_topology": {"cells": 7}}, "numa_topology must be a topology"),
        ({"flavor": "small", "numa_topology": ["x"]}, "numa_topology must be a topology"),
        ({"flavor": "small", "pci_requests": [{}]}, "pci_requests must be a list of requests"),
        ({"flavor": "small", "pci_requests": 3}, "pci_requests must be a list of requests"),
        ({"flavor": "small", "requested_networks": ["n"]}, "requested_networks must be a list"),
        (
            {"flavor": "small", "request_level_params": {"member_of": ["a"]}},
            "member_of must be a list of lists",
        ),
        ({"flavor": "small", "num_instances": 0}, "num_instances must be 1 to"),
        ({"flavor": "small", "num_instances": 10**6}, "num_instances must be 1 to"),
    ],
    ids=str,
)
def test_a_spec_that_cannot_be_read_is_refused(
    plane: ControlPlane, spec: dict[str, Any], said: str
) -> None:
    """The field is named."""
    with pytest.raises(exception.Invalid, match=said):
        dry_run(plane, {"request_spec": spec})


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"flavor": "huge"}, exception.FlavorNotFound),
        ({"flavor": "small", "image": "none"}, exception.ImageNotFound),
        ({"flavor": "small", "instance_group": NOBODY}, exception.ServerGroupNotFound),
    ],
    ids=str,
)
def test_what_a_spec_names_has_to_exist(
    plane: ControlPlane, spec: dict[str, Any], error: type[Exception]
) -> None:
    """As in any request."""
    with pytest.raises(error):
        dry_run(plane, {"request_spec": spec})
