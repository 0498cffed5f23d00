"""Tests of accepting a request: what is checked, counted and stored, in one transaction."""

import random
from typing import Any

import pytest
import sqlalchemy as sa

from armillary import exception
from armillary.context import RequestContext
from conductor.common.clock import moment
from conductor.super_conductor.accept import server_requests
from conductor.super_conductor.accept.acceptance import Acceptance
from conductor.super_conductor.accept.placed_usage import PlacedUsageReader
from conductor.super_conductor.db import cells, models, request_specs
from objects.allocations.fence import FIRST_FENCE
from objects.instances.new_servers import NewServers
from objects.instances.server_settings import ServerSettings
from tests.fixtures.control_plane import NOW, ControlPlane, a_user, an_admin
from tests.fixtures.stand_ins.told import Told
from tests.unit.conductor.super_conductor.accept.accepting import (
    UNKNOWN,
    Accept,
    a_group,
    accept,
    rows,
    set_limit,
    spec_of,
)

__all__ = ["accept"]


# What is stored


def test_accepted_instances_are_building(accept: Accept) -> None:
    """They are what show and list read until a cell has them."""
    (made,) = accept(metadata={"role": "db"}).instances
    assert (made.vm_state, made.task_state, made.host, made.metadata) == (
        "building",
        "scheduling",
        None,
        {"role": "db"},
    )


def test_one_server_keeps_its_name(accept: Accept) -> None:
    """Only several are numbered."""
    assert [one.name for one in accept().instances] == ["web"]


def test_several_servers_are_numbered_from_one(accept: Accept) -> None:
    """They share a name with a number and one reservation."""
    made = accept(min_count=3, max_count=3).instances
    assert [one.name for one in made] == ["web-1", "web-2", "web-3"]
    assert len({one.reservation_id for one in made}) == 1
    assert [one.launch_index for one in made] == [0, 1, 2]


def test_a_reservation_id_is_short(plane: ControlPlane) -> None:
    """It is r- and eight letters or digits, from the given random source."""
    rng = random.Random(7)
    acceptance = Acceptance(
        plane.conf, plane.database, plane.builds.leases, now=plane.clock, rng=rng,
        placed_usage=PlacedUsageReader(plane.conf, plane.database, plane.peers.placement),
    )  # fmt: skip
    accepted = acceptance.accept(a_user(), NewServers("web", "small"))
    assert accepted.answer.reservation_id.startswith("r-")
    assert len(accepted.answer.reservation_id) == 10
    assert accepted.instances[0].reservation_id == accepted.answer.reservation_id


@pytest.mark.parametrize(
    ("files", "resource"),
    [
        ({f"/{number}": "" for number in range(6)}, "injected_files"),
        ({"/a": "A" * 13660}, "injected_file_content_bytes"),
        ({"/" + "ä" * 128: ""}, "injected_file_path_bytes"),
    ],
    ids=["count", "size", "path"],
)
def test_files_for_guests_have_limits(
    plane: ControlPlane, accept: Accept, files: dict[str, str], resource: str
) -> None:
    """Each limit is the project's own; within them a request is accepted."""
    settings = ServerSettings.from_values(files=files)
    with pytest.raises(exception.QuotaExceeded, match=resource):
        accept(settings=settings)
    set_limit(plane, **{resource: -1})
    assert accept(settings=settings).instances


def test_a_request_repeated_with_another_new_password_is_the_same(accept: Accept) -> None:
    """The API makes a password each time."""
    context = a_user()
    first, second = (
        accept(context, settings=ServerSettings.from_values(admin_password=password)).answer
        for password in ("one", "two")
    )
    assert first == second


def test_an_image_may_ask_for_a_config_drive(plane: ControlPlane, accept: Accept) -> None:
    """As mandatory."""
    image = plane.add_image("told", properties={"img_config_drive": "mandatory"})
    settings = accept(image=image.id).instances[0].settings
    assert settings is not None
    assert settings.config_drive


def test_each_instance_has_a_spec_of_its_own(plane: ControlPlane, accept: Accept) -> None:
    """They differ in the instance only."""
    made = accept(min_count=2, max_count=2, availability_zone="nova").instances
    with plane.database.reader() as session:
        specs = [request_specs.get_spec(session, one.uuid) for one in made]
    assert [spec.instance_uuid for spec in specs] == [one.uuid for one in made]
    assert {(spec.num_instances, spec.availability_zone) for spec in specs} == {(2, "nova")}


def test_a_new_reservation_is_leased(plane: ControlPlane, accept: Accept) -> None:
    """The conductor that accepted it works on it; recovery leaves it alone until then."""
    lease = accept().lease
    assert lease is not None
    with plane.database.reader() as session:
        row = session.get(models.Reservation, lease.key)
        assert row is not None
        assert (row.lease_owner, row.fence) == (lease.owner, int(FIRST_FENCE))
        assert plane.builds.leases.list_free(session, limit=1) == []


def test_no_token_is_stored(plane: ControlPlane, accept: Accept) -> None:
    """The context of the request is kept without what it was proved with."""
    context = a_user()
    context.auth_token = "secret-token"
    lease = accept(context).lease
    assert lease is not None
    with plane.database.reader() as session:
        row = session.get(models.Reservation, lease.key)
        assert row is not None
        assert "secret-token" not in str(row.context)


def test_the_number_of_statements_does_not_depend_on_the_count(
    plane: ControlPlane, accept: Accept
) -> None:
    """A request for a thousand is as many statements as one for two."""

    def count_statements(count: int) -> int:
        statements: list[str] = []
        sa.event.listen(
            plane.database.engine, "before_cursor_execute",
            lambda _c, _cursor, statement, *_: statements.append(statement),
        )  # fmt: skip
        accept(min_count=count, max_count=count)
        return len(statements)

    few = count_statements(2)
    many = count_statements(1000)
    assert many == 2 * few - few  # the first listener counts for itself only
    assert few > 5


# Names that must exist


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"flavor": "none"}, exception.FlavorNotFound),
        ({"image": "none"}, exception.ImageNotFound),
        ({"availability_zone": "none"}, exception.AvailabilityZoneNotFound),
        ({"hints": {"group": [UNKNOWN]}}, exception.ServerGroupNotFound),
        ({"hints": {"group": ["a", "b"]}}, exception.Invalid),
        ({"host": "none"}, exception.HostNotFound),
        ({"min_count": 0, "max_count": 0, "name": " "}, exception.Invalid),
        ({"min_count": -1}, exception.Invalid),
        ({"min_count": 2, "max_count": 1}, exception.Invalid),
        ({"max_count": 1001}, exception.Invalid),
        ({"name": "n" * 256}, exception.Invalid),
        ({"name": "n" * 254, "max_count": 10}, exception.Invalid),
        ({"availability_zone": "a:b:c:d"}, exception.Invalid),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "-".join(value),
)
def test_a_bad_request_stores_nothing(
    plane: ControlPlane, accept: Accept, request_: dict[str, Any], error: type[Exception]
) -> None:
    """One error that names what is wrong, and no row."""
    with pytest.raises(error):
        accept(**request_)
    assert rows(plane) == 0


def test_a_request_without_a_project_is_refused(accept: Accept) -> None:
    """There is no owner whose quota it would count against."""
    with pytest.raises(exception.Invalid):
        accept(RequestContext(user_id="u1", roles=["member"]))


def test_flavor_and_image_may_be_given_by_id(plane: ControlPlane, accept: Accept) -> None:
    """As by name."""
    image = plane.add_image()
    (made,) = accept(flavor="id-small", image=image.id).instances
    assert made.image is not None
    assert (made.flavor.name, made.image.name) == ("small", "loop")


@pytest.mark.parametrize(
    "image",
    [{"min_ram_mb": 1024}, {"min_disk_gb": 2}, {"status": "queued"}],
    ids=["memory", "disk", "status"],
)
def test_an_image_that_does_not_fit_its_flavor_is_refused(
    plane: ControlPlane, accept: Accept, image: dict[str, Any]
) -> None:
    """The flavor has 512 MiB and 1 GiB."""
    plane.add_image("big", **image)
    with pytest.raises(exception.Invalid, match="image big"):
        accept(image="big")


def test_a_flavor_without_a_root_disk_runs_any_image(plane: ControlPlane, accept: Accept) -> None:
    """Its size is the image's then."""
    plane.add_image("big", min_disk_gb=50)
    plane.add_flavor("diskless", root_gb=0)
    assert accept(image="big", flavor="diskless").instances


def test_a_disk_that_is_as_large_as_its_image_needs_a_policy(
    plane: ControlPlane, accept: Accept
) -> None:
    """Neither host nor quota counts it. Programs, and disks that flavors limit, are not meant."""
    plane.add_image("disk", disk_format="qcow2")
    plane.add_image("program")
    plane.add_flavor("diskless", root_gb=0)
    with pytest.raises(exception.Forbidden, match="has no root disk"):
        accept(image="disk", flavor="diskless", needs_root_disk=True)
    assert accept(image="disk", flavor="diskless").instances
    assert accept(image="program", flavor="diskless", needs_root_disk=True).instances
    assert accept(image="disk", needs_root_disk=True).instances


def test_a_disabled_flavor_is_refused(plane: ControlPlane, accept: Accept) -> None:
    """It is there for those that have it."""
    plane.add_flavor("old", disabled=True)
    with pytest.raises(exception.Invalid, match="disabled"):
        accept(flavor="old")


# Zones and hosts


def test_the_zone_of_an_aggregate_may_be_asked_for(plane: ControlPlane, accept: Accept) -> None:
    """It exists as soon as an aggregate names it."""
    from conductor.super_conductor.db.catalogue import aggregates

    with plane.database.writer() as session:
        aggregates.create_aggregate(session, "rack", "east", now=moment(plane.clock()))
    assert spec_of(plane, accept(availability_zone="east")).availability_zone == "east"


def test_who_asks_for_no_zone_gets_the_configured_one(plane: ControlPlane, accept: Accept) -> None:
    """[DEFAULT] default_schedule_zone; unset, any will do."""
    assert spec_of(plane, accept()).availability_zone is None
    plane.conf.set_override("default_schedule_zone", "nova")
    assert spec_of(plane, accept()).availability_zone == "nova"


def test_an_administrator_may_force_a_host(plane: ControlPlane, accept: Accept) -> None:
    """zone:host:node, filters are skipped then."""
    plane.map_hosts()
    spec = spec_of(plane, accept(an_admin(), availability_zone="nova:cell1-host1:n1"))
    assert (spec.force_hosts, spec.force_nodes, spec.availability_zone) == (
        ["cell1-host1"],
        ["n1"],
        "nova",
    )


def test_an_administrator_may_force_a_node_alone(plane: ControlPlane, accept: Accept) -> None:
    """::node names no host."""
    spec = spec_of(plane, accept(an_admin(), availability_zone="::n1"))
    assert (spec.force_hosts, spec.force_nodes) == ([], ["n1"])


def test_no_other_user_may_force_a_host(plane: ControlPlane, accept: Accept) -> None:
    """Not even one that exists."""
    plane.map_hosts()
    with pytest.raises(exception.Forbidden):
        accept(availability_zone="nova:cell1-host1")


def test_an_unknown_host_cannot_be_forced(accept: Accept) -> None:
    """It is in no cell."""
    with pytest.raises(exception.HostNotFound):
        accept(an_admin(), availability_zone="nova:nowhere")


@pytest.mark.parametrize(
    ("zone", "host", "node", "noun"),
    [
        ("nova:cell1-host1", "cell1-host2", None, "host"),
        ("nova:cell1-host1:n1", "cell1-host1", "n2", "node"),
        (":cell1-host1", "cell1-host1", None, None),
        ("nova", "cell1-host2", None, None),
    ],
)
def test_zone_and_host_that_contradict_each_other_are_refused(
    plane: ControlPlane, accept: Accept, zone: str, host: str, node: str | None, noun: str | None
) -> None:
    """No host could satisfy both."""
    plane.map_hosts()
    asked = {"availability_zone": zone, "host": host, "node": node}
    if noun is None:
        accept(an_admin(), **asked)
        return
    with pytest.raises(exception.Invalid, match=f"availability_zone names the {noun}"):
        accept(an_admin(), **asked)


def test_a_host_asked_for_is_a_destination(plane: ControlPlane, accept: Accept) -> None:
    """Filters still run; no cell is named, so that a disabled one gets no new server."""
    plane.map_hosts()
    destination = spec_of(plane, accept(host="cell1-host2", node="n2")).requested_destination
    assert destination is not None
    assert (destination.host, destination.node) == ("cell1-host2", "n2")
    assert destination.cell_uuid is None


@pytest.mark.parametrize(
    "asked", [{"availability_zone": "nova:cell1-host1"}, {"host": "cell1-host1"}], ids=str
)
def test_a_host_of_a_disabled_cell_is_refused(
    plane: ControlPlane, accept: Accept, asked: dict[str, str]
) -> None:
    """The message names the cell; a host of another cell is accepted."""
    plane.add_cell("cell2")
    plane.map_hosts()
    with plane.database.writer() as session:
        cells.update_cell(session, "cell1", {"disabled": True}, now=NOW)
    with pytest.raises(exception.CellDisabled, match="cell1, which is disabled"):
        accept(an_admin(), **asked)
    accept(an_admin(), **{name: text.replace("cell1", "cell2") for name, text in asked.items()})


def test_networks_are_passed_to_the_scheduler(plane: ControlPlane, accept: Accept) -> None:
    """They choose hosts; nothing is plugged into them."""
    networks = [{"network": UNKNOWN, "remote_managed": True}]
    assert spec_of(plane, accept(networks=networks)).requested_networks == networks
    assert spec_of(plane, accept()).requested_networks == []


# NUMA cells and devices

NIC = '{"name": "nic", "vendor_id": "8086", "product_id": "10ed"}'


def test_what_a_flavor_asks_of_cells_and_devices_is_in_the_spec(
    plane: ControlPlane, accept: Accept
) -> None:
    """As the scheduler and the chosen host's agent read it."""
    plane.conf.set_override("alias", [NIC], group="pci")
    plane.add_flavor(
        "pinned", extra_specs={"hw:cpu_policy": "dedicated", "pci_passthrough:alias": "nic:2"}
    )
    spec = spec_of(plane, accept(flavor="pinned"))
    assert spec.numa_topology is not None
    assert spec.numa_topology["cpu_policy"] == "dedicated"
    assert [(each["alias_name"], each["count"]) for each in spec.pci_requests] == [("nic", 2)]
    plain = spec_of(plane, accept())
    assert (plain.numa_topology, plain.pci_requests) == (None, [])


@pytest.mark.parametrize(
    "extra_specs",
    [{"hw:numa_nodes": "x"}, {"pci_passthrough:alias": "gpu:1"}],
    ids=["cells", "devices"],
)
def test_cells_and_devices_that_cannot_be_are_refused(
    plane: ControlPlane, accept: Accept, extra_specs: dict[str, str]
) -> None:
    """Before anything is stored."""
    plane.add_flavor("odd", extra_specs=extra_specs)
    with pytest.raises(exception.InvalidNUMATopology, match="of flavor odd"):
        accept(flavor="odd")
    assert rows(plane) == 0


def test_new_members_of_a_group_are_told_of(plane: ControlPlane, accept: Accept) -> None:
    """Once they are stored: not those of a request that is refused."""
    told = Told()
    plane.database.tell(told.notifier)
    group = a_group(plane)
    first = accept(hints={"group": [group]}).instances
    second = accept(min_count=2, max_count=2, hints={"group": [group]}).instances
    with pytest.raises(exception.FlavorNotFound):
        accept(flavor="none", hints={"group": [group]})
    accept()
    assert [one.event_type for one in told.told] == ["server_group.add_member"] * 2
    assert [set(one.facts["members"]) for one in told.told] == [
        {one.uuid for one in members} for members in (first, [*first, *second])
    ]


# Hints


@pytest.mark.parametrize("hint", server_requests.SERVER_HINTS)
def test_a_hint_tells_nothing_of_another_project_s_server(
    plane: ControlPlane, accept: Accept, hint: str
) -> None:
    """No server is put beside it, nor kept from its host; administrators may ask for that."""
    own, foreign = (accept(a_user(project_id=project)).instances[0] for project in ("p1", "p2"))
    hints = {hint: [own.uuid, foreign.uuid, UNKNOWN]}
    asked = spec_of(plane, accept(hints=hints))
    assert asked.scheduler_hints == {hint: [own.uuid, server_requests.UNKNOWN_SERVER, UNKNOWN]}
    assert spec_of(plane, accept(an_admin(), hints=hints)).scheduler_hints == hints
