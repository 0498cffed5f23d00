"""Tests of servers whose cell does not answer: listed and shown as far as is known here."""

import dataclasses
from typing import Any

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.endpoints.servers import ServersEndpoint
from conductor.super_conductor.servers import unknown_servers
from objects.instance import UNKNOWN, Instance
from objects.instances.server_answers import ServerPage
from objects.instances.server_filters import DELETED, ServerFilters
from tests import builders
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


@pytest.fixture
def endpoint(plane: ControlPlane) -> ServersEndpoint:
    """Return what the API calls."""
    return plane.endpoint


@pytest.fixture
def silent(plane: ControlPlane) -> CellConductor:
    """Return the one cell, which answers no question about servers."""
    (cell,) = plane.cells.values()
    for method in ("get_instance", "list_instances"):
        plane.bus_of(cell).fail(method, TIMEOUT, times=20)
    return cell


def page_of(endpoint: ServersEndpoint, limit: int = 100, **asked: Any) -> ServerPage:
    marker, context = asked.pop("marker", None), asked.pop("context", a_user())
    return endpoint.list_servers(
        context, filters=ServerFilters(**asked), limit=limit, marker=marker, for_display=True
    )


def uuids(page: ServerPage) -> list[str]:
    return [one.uuid for one in page.instances]


def of_build(plane: ControlPlane, **request: Any) -> str:
    plane.clock.advance(1)
    (uuid,) = plane.build(**request)
    return uuid


def test_servers_of_a_silent_cell_are_listed_with_what_is_known(
    plane: ControlPlane, endpoint: ServersEndpoint
) -> None:
    """Among the others, by their time; without ``for_display`` they are left out."""
    cell2 = plane.add_cell("cell2")
    built = [of_build(plane) for _ in range(4)]
    plane.bus_of(cell2).fail("list_instances", TIMEOUT, times=20)
    page = page_of(endpoint)
    states = {one.uuid: one.vm_state for one in page.instances}
    assert list(states) == built[::-1]
    unknown = {uuid for uuid, state in states.items() if state == UNKNOWN}
    assert 0 < len(unknown) < 4
    assert unknown == set(cell2.instances)
    assert {(one.project_id, one.user_id) for one in page.instances} == {("p1", "u1")}
    assert page.down_cells == ["cell2"]
    listed = endpoint.list_servers(a_user(), ServerFilters(), 100)
    assert set(uuids(listed)) == set(built) - unknown


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_of_unknown_servers_are_whole(
    plane: ControlPlane, endpoint: ServersEndpoint, limit: int
) -> None:
    """Each once, newest first; the marker may be one of them."""
    built = [of_build(plane) for _ in range(3)]
    (cell,) = plane.cells.values()
    for method in ("get_instance", "list_instances"):
        plane.bus_of(cell).fail(method, TIMEOUT, times=20)
    seen: list[str] = []
    while page := uuids(page_of(endpoint, limit, marker=seen[-1] if seen else None)):
        assert len(page) <= limit
        seen += page
    assert seen == built[::-1]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, True),
        ({"user_id": "u1"}, True),
        ({"user_id": "u2"}, False),
        ({"uuid": "c0ffee00-0000-4000-8000-000000000009"}, False),
        ({"context": an_admin(), "all_projects": True}, True),
        ({"context": an_admin(), "all_projects": True, "project_id": "p2"}, False),
        ({"context": a_user("p2")}, False),
        ({"name": "web"}, False),
        ({"status": "ACTIVE"}, False),
        ({"host": "cell1-host1"}, False),
        ({"existence": DELETED}, False),
        ({"soft_deleted_is_deleted": True}, True),
    ],
    ids=[
        "all",
        "its user",
        "another user",
        "another uuid",
        "all projects",
        "another project",
        "of another project",
        "name",
        "status",
        "host",
        "deleted",
        "without soft-deleted ones",
    ],
)
def test_unknown_servers_are_listed_if_what_is_known_tells_that_they_match(
    plane: ControlPlane, endpoint: ServersEndpoint, silent: CellConductor, asked: Any, found: bool
) -> None:
    """A name or a state is not known here, and a server of another project is never seen."""
    uuid = of_build(plane)
    assert uuids(page_of(endpoint, **asked)) == ([uuid] if found else [])


def test_a_deleted_server_of_a_silent_cell_is_not_listed(
    plane: ControlPlane, endpoint: ServersEndpoint, silent: CellConductor
) -> None:
    """Its user deleted it."""
    uuid = of_build(plane)
    plane.delete(uuid)
    assert uuids(page_of(endpoint)) == []


def shown(endpoint: ServersEndpoint, uuid: str) -> Instance:
    return endpoint.get_server(a_user(), uuid, for_display=True)


def test_a_server_of_a_silent_cell_is_shown_with_what_its_request_tells(
    plane: ControlPlane, endpoint: ServersEndpoint, silent: CellConductor
) -> None:
    """Else, as for operations, the cell is said not to answer."""
    plane.add_image("loop")
    uuid = of_build(plane, image="loop", availability_zone="nova", hints={"cidr": ["/24"]})
    with pytest.raises(exception.CellUnavailable, match="cell1"):
        endpoint.get_server(a_user(), uuid)
    unknown = shown(endpoint, uuid)
    assert unknown.vm_state == UNKNOWN
    assert unknown.flavor.name == "small"
    assert unknown.image is not None
    assert unknown.image.name == "loop"
    assert (unknown.availability_zone, unknown.pinned_availability_zone) == ("nova", "nova")
    assert unknown.scheduler_hints == {"cidr": ["/24"]}
    with pytest.raises(exception.InstanceNotFound):
        endpoint.get_server(a_user("p2"), uuid, for_display=True)


def test_the_flavor_of_the_beginning_is_not_shown_after_a_resize(
    plane: ControlPlane, endpoint: ServersEndpoint, silent: CellConductor
) -> None:
    """It is not the server's any more."""
    uuid = of_build(plane)
    with plane.database.writer() as session:
        former = instance_mappings.sizes(session, [uuid])[uuid]
        larger = dataclasses.replace(former, vcpus=64)
        assert instance_mappings.replace_size(session, uuid, former, larger)
    assert not shown(endpoint, uuid).obj_attr_is_set("flavor")


def test_a_flavor_is_not_shown_after_a_resize_to_one_of_the_same_size(
    plane: ControlPlane, endpoint: ServersEndpoint, silent: CellConductor
) -> None:
    """Its disks, its name and its extra specs may be others."""
    uuid = of_build(plane)
    with plane.database.writer() as session:
        same = instance_mappings.sizes(session, [uuid])[uuid]
        instance_mappings.raise_quota_size(
            session, uuid, vcpus=same.vcpus, memory_mb=same.memory_mb, asked_at=builders.A_TIME
        )
    assert not shown(endpoint, uuid).obj_attr_is_set("flavor")


def test_pinned_zone_and_hints_are_those_of_the_request(
    plane: ControlPlane, endpoint: ServersEndpoint
) -> None:
    """Of a server that is well, too; without a request for a zone it is not pinned."""
    pinned = of_build(plane, availability_zone="nova", hints={"cidr": ["/24"]})
    free = of_build(plane)
    assert shown(endpoint, pinned).pinned_availability_zone == "nova"
    assert shown(endpoint, free).pinned_availability_zone is None
    listed = [(one.uuid, one.scheduler_hints) for one in page_of(endpoint).instances]
    assert listed == [(free, {}), (pinned, {"cidr": ["/24"]})]


def test_no_filter_that_is_new_is_taken_for_one_that_mappings_tell() -> None:
    """Each but those four, and how soft-deleted ones count, leaves unknown servers out."""
    known: dict[str, Any] = {"project_id": "p1", "all_projects": True, "uuid": "u", "user_id": "u1"}
    assert unknown_servers.may_match(ServerFilters(**known))
    for field in dataclasses.fields(ServerFilters):
        value: dict[str, Any] = {field.name: "x"}
        told = {*known, "soft_deleted_is_deleted"}
        assert unknown_servers.may_match(ServerFilters(**value)) == (field.name in told)
