"""Tests of servers that are called otherwise in their zone: their users read the name they know."""

import dataclasses
import json
from typing import Any

import pytest

from armillary import exception
from conductor.super_conductor.db.zones.zone_attempts import DelegatedAttempt
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.hosts.host_views import Hosts
from conductor.super_conductor.zones.uuid_translation import UuidTranslation
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_fault import InstanceFault
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_filters import MigrationFilters, ServerFilters
from rpc.wire.dataclass_codec import codec_of
from rpc.wire.serializer import ObjectSerializer
from tests.builders import A_TIME, a_migration, a_uuid
from tests.fixtures.control_plane import a_user, an_admin
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor
from tests.fixtures.zones import Zone, root
from tests.unit.conductor.super_conductor.zones.test_walk import child, create, show

__all__ = ["root"]

pytestmark = pytest.mark.sampled(every=3)

PLACES = {"a child": "us", "a grandchild": "eu/eu-1", "this zone": ""}


@dataclasses.dataclass
class Renamed:
    """A server whose first attempt failed in the zone where the second one succeeded."""

    root: Zone
    uuid: str
    cell: CellConductor

    @property
    def local_uuid(self) -> str:
        """What it is called where it lives."""
        (found,) = (one.uuid for one in self.cell.instances.values() if one.vm_state != "error")
        return found

    def refuse(self, error: exception.ArmillaryError) -> exception.ArmillaryError:
        """Have its zone refuse to stop it; return what its user is told."""
        self.cell.refusal = error
        with pytest.raises(type(error)) as told:
            self.operate("stop")
        assert isinstance(told.value, exception.ArmillaryError)
        return told.value

    def operate(self, operation: str) -> None:
        self.root.endpoint.operate_server(a_user(), self.uuid, operation, OperationArguments())

    def break_down(self, reason: str) -> None:
        """Have it in ERROR, with a fault."""
        local = self.local_uuid
        fault = InstanceFault.from_values(instance_uuid=local, message=reason, details=reason)
        self.cell.faults = [fault]
        self.cell.instances[local] = self.cell.instances[local].with_values(
            vm_state="error", fault=fault
        )


@pytest.fixture(params=list(PLACES.values()), ids=list(PLACES))
def renamed(root: Zone, request: pytest.FixtureRequest) -> Renamed:
    """Lend one in each place that a server may be in."""
    path: str = request.param
    cell = child(root, path.rpartition("/")[2] or "root").cell()
    cell.failing_hosts = {"cell1-host1"}
    (uuid,) = create(root, f"{path}:cell1-host1", f"{path}:cell1-host2")
    root.walk()
    root.settle_all()
    made = Renamed(root, uuid, cell)
    assert made.local_uuid != uuid
    return made


def text_of(answer: Any) -> str:
    if (codec := codec_of(type(answer))) is not None:
        answer = codec.encode(answer)
    return json.dumps(ObjectSerializer().serialize_entity(None, answer))


def assert_speaks_of(answer: Any, renamed: Renamed) -> None:
    """Check that an answer names a server as its user does, and in no other way."""
    assert renamed.uuid in text_of(answer)
    assert renamed.local_uuid not in text_of(answer)


# Errors


def test_an_error_names_the_server_that_was_asked_for(renamed: Renamed) -> None:
    """In its sentence and in its facts, and it is the same kind of error."""
    local = renamed.local_uuid
    told = renamed.refuse(
        exception.InstanceInvalidState(
            instance_uuid=local, operation="stop", reason=f"consumer {local} holds nothing"
        )
    )
    uuid = renamed.uuid
    assert told.message == f"Server {uuid} cannot stop: consumer {uuid} holds nothing."
    assert told.kwargs["instance_uuid"] == uuid
    assert told.kwargs["reason"] == f"consumer {uuid} holds nothing"


def test_an_error_that_was_found_at_the_border_does(renamed: Renamed) -> None:
    """Such as that of a lock, which no cell was asked about."""
    renamed.root.endpoint.operate_server(an_admin(), renamed.uuid, "lock", OperationArguments())
    with pytest.raises(exception.InstanceLocked) as told:
        renamed.operate("stop")
    assert told.value.message == f"Server {renamed.uuid} is locked; unlock it first."


def test_what_an_error_says_of_others_stays(renamed: Renamed) -> None:
    """Another server, a host, a number."""
    other = a_uuid()
    error = exception.Conflict(reason=f"{other} is on host7, 3 times", others=[other], times=3)
    told = renamed.refuse(error)
    assert (told.message, told.kwargs) == (error.message, error.kwargs)


# What is told of it


def test_its_fault_names_it(renamed: Renamed) -> None:
    """Where it is shown, listed and explained."""
    renamed.break_down(f"Build of instance {renamed.local_uuid} failed on cell1-host2")
    local = next(one.uuid for one in renamed.cell.instances.values() if one.fault is not None)
    endpoint = renamed.root.endpoint
    for answer in (
        show(renamed.root, renamed.uuid),
        endpoint.list_servers(a_user(), ServerFilters(), 10),
        endpoint.explain_server(an_admin(), renamed.uuid),
    ):
        assert f"instance {renamed.uuid} failed" in text_of(answer)
        assert local not in text_of(answer)


def test_its_actions_and_migrations_name_it(renamed: Renamed) -> None:
    """As they are its own."""
    renamed.cell.actions = [
        InstanceAction.from_values(
            instance_uuid=renamed.local_uuid, action="stop", request_id="req-1", events=[]
        )
    ]
    renamed.cell.migrations = [a_migration(renamed.local_uuid)]
    asked_for = MigrationFilters(instance_uuid=renamed.uuid)
    for answer in (
        renamed.root.endpoint.list_server_actions(a_user(), renamed.uuid),
        renamed.root.endpoint.list_migrations(an_admin(), asked_for, 10),
    ):
        assert_speaks_of(answer, renamed)


@pytest.mark.parametrize("renamed", [""], ids=["this zone"], indirect=True)
def test_its_own_zones_lists_name_it(renamed: Renamed) -> None:
    """Where its users are those of the zone that it lives in: migrations, servers of a host."""
    zone, cell = renamed.root, renamed.cell
    cell.migrations = [a_migration(renamed.local_uuid)]
    assert zone.links is not None
    hosts = Hosts(
        zone.conf, zone.database, zone.links, zone.peers.placement,
        MetadataPublisher(zone.database, zone.peers.scheduler, zone.peers.placement),
        own_records=zone.records,
    )  # fmt: skip
    node = next(node for node in cell.nodes if node.host == "cell1-host2")
    for answer in (
        zone.endpoint.list_migrations(an_admin(), MigrationFilters(), 10),
        hosts.get_compute_node(an_admin(), node.uuid).instances,
    ):
        assert_speaks_of(answer, renamed)


@pytest.mark.parametrize("renamed", ["us"], ids=["a child"], indirect=True)
def test_the_zone_of_a_guest_names_it_as_it_knows_it(renamed: Renamed) -> None:
    """To its own administrators: the other name is its origin's."""
    renamed.cell.migrations = [a_migration(renamed.local_uuid)]
    there = child(renamed.root, "us").endpoint
    (found,) = there.list_migrations(an_admin(), MigrationFilters(), 10).migrations
    assert found.instance_uuid == renamed.local_uuid


@pytest.mark.parametrize("path", PLACES.values(), ids=list(PLACES))
def test_what_failed_on_the_way_names_it(root: Zone, path: str) -> None:
    """Each attempt's reason, where all failed: in the fault, and in the explanation."""
    cell = child(root, path.rpartition("/")[2] or "root").cell()
    cell.failing_hosts = {"cell1-host1", "cell1-host2"}
    cell.failure = "Build of instance {uuid} failed on {host}"
    (uuid,) = create(root, f"{path}:cell1-host1", f"{path}:cell1-host2")
    root.walk()
    root.settle_all()
    fault = show(root, uuid).fault
    assert fault is not None
    assert fault.details is not None
    assert fault.details.count(f"Build of instance {uuid} failed on cell1-host") == 2
    assert "2 attempts failed" in fault.details
    assert "Build of instance" in text_of(root.endpoint.explain_server(an_admin(), uuid))


def test_notifications_of_its_zone_can_be_told_to_be_of_it(renamed: Renamed) -> None:
    """They have the UUID that it has there, but request and reservation of its origin."""
    there = renamed.cell.instances[renamed.local_uuid]
    here = show(renamed.root, renamed.uuid)
    assert there.reservation_id == here.reservation_id
    assert there.request_id == here.request_id
    assert here.request_id
    assert there.uuid[:24] == here.uuid[:24]


# The names themselves


def test_who_has_one_name_costs_nothing() -> None:
    """What is said about it is handed on as it is."""
    uuid = a_uuid()
    names = UuidTranslation(
        [DelegatedAttempt(uuid, 1, uuid, "world", is_cancelled=False, created_at=A_TIME)]
    )
    answer = {"instance": uuid}
    assert names.in_answer(answer) is answer
    error = exception.InstanceLocked(instance_uuid=uuid)
    with pytest.raises(exception.InstanceLocked) as told, names.in_errors():
        raise error
    assert told.value is error
