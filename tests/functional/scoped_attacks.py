"""Attacks with the stolen key of an agent or of a cell's conductor on what is another's.

For each method that a role with a scope may call: the call, and what it raises or returns.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.zones.forwarded import request_for
from conductor.super_conductor.zones.interface import ZoneAPI
from objects.allocations.allocation import ClaimStatus
from objects.hosts.host_states import HostStateBatch
from objects.images.image_record import StoredImage
from objects.images.image_ticket import READ
from objects.instances.guest_addresses import GuestAddresses
from objects.instances.instance_command import NO_ANSWER, BuiltReport, CommandId, InstanceCommand
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_record import ServerRecord
from objects.zones.zone_attempt import AttemptState
from objects.zones.zone_query import ZoneOrder
from placement.interface import PlacementAPI
from rpc.interface import Interface
from scheduler.interface import SchedulerAPI
from tests.builders import a_claim, a_fault, a_migration, a_provider, a_uuid, an_image, an_instance
from tests.fixtures.cell import a_node
from tests.fleets import a_batch, a_host, a_request_spec
from tests.functional.signed_system import CELL, HOST, OTHER_CELL
from tests.functional.signed_system import OTHER_HOST as THIEF

CONTEXT = admin_context()
HIGH_FENCE = 2**61
SECONDS = 20.0


class Victim(NamedTuple):
    """What is attacked: a server, the provider that it is on, and its image."""

    server: str
    provider: str
    image: str


class Attack(NamedTuple):
    """A call with a stolen key, and the error that it raises, or its answer."""

    call: Callable[[Any, Victim], Any]
    outcome: Any


def command(victim: Victim) -> CommandId:
    return CommandId(HOST, victim.server, 1)


OF_AGENTS: dict[str, Attack] = {
    "report_services": Attack(
        lambda api, _: api.report_services(
            CONTEXT, THIEF, [THIEF, HOST], {}, service_version=1
        ),
        exception.HostsNotApproved,
    ),
    "report_compute_nodes": Attack(
        lambda api, victim: [
            bool(result.error)
            for uuid in (victim.provider, a_uuid())
            for result in api.report_compute_nodes(
                CONTEXT, THIEF, [a_node(HOST, uuid=uuid)], reshape=[victim.provider]
            )
        ],
        [True, True],
    ),
    "builds_succeeded": Attack(
        lambda api, victim: api.builds_succeeded(
            CONTEXT, THIEF, [BuiltReport(HOST, victim.server, 1, "running")]
        ),
        ["stale"],
    ),
    "build_failed": Attack(
        lambda api, victim: api.build_failed(
            CONTEXT, THIEF, HOST, victim.server, 1, fault=a_fault(victim.server), retry=True
        ),
        "stale",
    ),
    "instance_deleted": Attack(
        lambda api, victim: api.instance_deleted(CONTEXT, THIEF, HOST, victim.server),
        "stale",
    ),
    "instance_ended": Attack(
        lambda api, victim: api.instance_ended(
            CONTEXT, THIEF, HOST, victim.server, 1, exit_code=1
        ),
        "stale",
    ),
    "power_changed": Attack(
        lambda api, victim: api.power_changed(
            CONTEXT, THIEF, HOST, victim.server, 1, power_state="paused", reason=None
        ),
        "stale",
    ),
    "report_addresses": Attack(
        lambda api, victim: api.report_addresses(
            CONTEXT, THIEF, [GuestAddresses(HOST, victim.server, 1, ["192.0.2.66"])]
        ),
        None,
    ),
    "command_answered": Attack(
        lambda api, victim: api.command_answered(
            CONTEXT, THIEF, command(victim), answer=NO_ANSWER, fault=None
        ),
        "stale",
    ),
    "migration_progress": Attack(
        lambda api, victim: api.migration_progress(
            CONTEXT, THIEF, command(victim), total_mb=1, remaining_mb=1
        ),
        None,
    ),
    "is_build_wanted": Attack(
        lambda api, victim: api.is_build_wanted(CONTEXT, THIEF, HOST, victim.server, 1),
        False,
    ),
    "is_command_wanted": Attack(
        lambda api, victim: api.is_command_wanted(CONTEXT, THIEF, command(victim)),
        False,
    ),
    "list_migrating_instances": Attack(
        lambda api, _: api.list_migrating_instances(CONTEXT, THIEF, [HOST]),
        exception.Conflict,
    ),
    "list_host_instances": Attack(
        lambda api, _: api.list_host_instances(CONTEXT, THIEF, [HOST]),
        exception.Conflict,
    ),
    "list_group_members": Attack(
        lambda api, _: api.list_group_members(CONTEXT, THIEF, a_uuid()),
        exception.NotItsOwn,
    ),
    "get_image_ticket": Attack(
        lambda api, victim: api.get_image_ticket(
            CONTEXT, THIEF, HOST, victim.server, victim.image, READ
        ),
        exception.Forbidden,
    ),
}  # fmt: skip
"""What another agent says or asks of a host and a server that are not its own."""


def moving(victim: Victim) -> ServerRecord:
    """Return the record of a move that no super conductor has allowed."""
    return ServerRecord.from_values(
        instance=an_instance(uuid=victim.server), migration=a_migration(victim.server),
        commands_total=1,
    )  # fmt: skip


def ordered(victim: Victim) -> InstanceCommand:
    return InstanceCommand.from_values(
        instance=an_instance(uuid=victim.server), host=HOST, operation="resize", verb="drop",
        sequence=1,
    )  # fmt: skip


OF_CELLS_AT_THE_TOP: dict[str, Attack] = {
    "get_oldest_services": Attack(lambda api, _: bool(api.get_oldest_services(CONTEXT)), True),
    "execute_in_other_cell": Attack(
        lambda api, victim: api.execute_in_other_cell(
            CONTEXT, OTHER_CELL, CELL, moving(victim), ordered(victim)
        ),
        exception.Conflict,
    ),
    "report_to_other_cell": Attack(
        lambda api, victim: api.report_to_other_cell(
            CONTEXT, OTHER_CELL, a_uuid(), command(victim), answer=NO_ANSWER, fault=None
        ),
        exception.Conflict,
    ),
    "is_command_wanted_by_other_cell": Attack(
        lambda api, victim: api.is_command_wanted_by_other_cell(
            CONTEXT, OTHER_CELL, a_uuid(), command(victim)
        ),
        exception.Conflict,
    ),
    "hand_over_instance": Attack(
        lambda api, victim: api.hand_over_instance(CONTEXT, OTHER_CELL, moving(victim)),
        exception.Conflict,
    ),
    "end_cell_change": Attack(
        lambda api, victim: api.end_cell_change(CONTEXT, OTHER_CELL, victim.server, a_uuid()),
        None,
    ),
    "create_shelved_image": Attack(
        lambda api, victim: api.create_shelved_image(
            CONTEXT, OTHER_CELL, victim.server,
            an_image(properties={"instance_uuid": victim.server, "image_type": "shelved"}),
        ),
        False,
    ),
    "end_snapshot": Attack(
        lambda api, victim: api.end_snapshot(
            CONTEXT, OTHER_CELL, victim.server, a_uuid(), StoredImage(1, "0" * 32, "0" * 128)
        ),
        False,
    ),
    "issue_image_ticket": Attack(
        lambda api, victim: api.issue_image_ticket(
            CONTEXT, OTHER_CELL, victim.server, victim.image, READ
        ),
        exception.InstanceNotFound,
    ),
    "list_cell_changes": Attack(lambda api, _: api.list_cell_changes(CONTEXT, [a_uuid()]), []),
    "list_deleted_instances": Attack(
        lambda api, victim: api.list_deleted_instances(CONTEXT, [victim.server]), []
    ),
    "list_moves": Attack(lambda api, _: api.list_moves(CONTEXT, [a_uuid()]), []),
}  # fmt: skip

OF_CELLS_IN_PLACEMENT: dict[str, Attack] = {
    "claim_batch": Attack(
        lambda api, victim: [
            result.status
            for result in api.claim(
                CONTEXT,
                [
                    a_claim(victim.provider),
                    a_claim(
                        victim.provider, consumer_uuid=victim.server, fence=HIGH_FENCE, replace=True
                    ),
                ],
            )
        ],
        [ClaimStatus.FOREIGN] * 2,
    ),
    "release": Attack(
        lambda api, victim: api.release(CONTEXT, {victim.server: HIGH_FENCE}), exception.NotItsOwn
    ),
    "move_allocations": Attack(
        lambda api, victim: api.move_allocations(
            CONTEXT, victim.server, a_uuid(), fence=HIGH_FENCE
        ),
        exception.NotItsOwn,
    ),
    "get_allocations": Attack(
        lambda api, victim: api.get_allocations(CONTEXT, [victim.server]), {}
    ),
    "get_provider_allocations": Attack(
        lambda api, victim: api.get_provider_allocations(CONTEXT, [victim.provider]), {}
    ),
    "release_unchanged": Attack(
        lambda api, victim: api.release_unchanged(CONTEXT, {victim.server: 1}), exception.NotItsOwn
    ),
    "set_providers": Attack(
        lambda api, victim: [
            "belongs to another cell" in str(result.error)
            for result in api.set_providers(CONTEXT, [a_provider(HOST, uuid=victim.provider)])
        ],
        [True],
    ),
    "set_trait": Attack(
        lambda api, victim: api.set_trait(
            CONTEXT, victim.provider, "COMPUTE_STATUS_DISABLED", present=True
        ),
        exception.NotItsOwn,
    ),
    "delete_provider": Attack(
        lambda api, victim: api.delete_provider(CONTEXT, victim.provider), exception.NotItsOwn
    ),
}


def pushed(victim: Victim) -> HostStateBatch:
    """Return a push that says that the victim's host is full, and that its node is gone."""
    host = a_host(HOST, free_ram_mb=0, service_disabled=True)
    host.uuid = victim.provider
    return a_batch([host], cell=OTHER_CELL, full=True, last_seq=9, removed=[victim.provider])


def _told_by(method: str) -> Callable[[Any, Victim], Any]:
    return lambda api, _: api.call(method, hosts={HOST: [a_uuid()]})


OF_CELLS_IN_SCHEDULERS: dict[str, Attack] = {
    "update_host_states": Attack(
        lambda api, victim: api.call("update_host_states", batch=pushed(victim)), None
    ),
    **{
        method: Attack(_told_by(method), exception.NotItsOwn)
        for method in ("update_instance_info", "delete_instance_info", "sync_instance_info")
    },
}
"""Sent to one scheduler, which answers."""


def order_of(victim: Victim) -> ZoneOrder:
    """Return an order of a server of the victim's UUID, as if it were of the zone itself."""
    return ZoneOrder.from_values(
        origin="", request_spec=a_request_spec(), attempts=[1], host_ids=[victim.provider],
        instances=[an_instance(uuid=victim.server).obj_to_primitive()],
    )  # fmt: skip


def _forwarded(method: str, asked: str, **arguments: Any) -> Attack:
    return Attack(
        lambda api, victim: getattr(api, method)(
            CONTEXT, [], request_for(asked, victim.server, **arguments),
            timeout_seconds=SECONDS,
        ),
        exception.InstanceNotFound,
    )  # fmt: skip


OF_PARENT_ZONES: dict[str, Attack] = {
    "create": Attack(
        lambda api, victim: api.create(CONTEXT, [], order_of(victim), timeout_seconds=SECONDS),
        exception.Invalid,
    ),
    "get_attempts": Attack(
        lambda api, victim: api.get_attempts(CONTEXT, [], [victim.server], timeout_seconds=SECONDS),
        {},
    ),
    "cancel": Attack(
        lambda api, victim: [
            attempt.state
            for attempt in api.cancel(
                CONTEXT, [], {victim.server: 1}, timeout_seconds=SECONDS
            ).values()
        ],
        [AttemptState.GONE],
    ),
    "forward": _forwarded("forward", "get_server"),
    "forward_change": _forwarded(
        "forward_change", "operate_server", operation="stop", arguments=OperationArguments()
    ),
}
"""What a parent zone says about a server that it did not send here."""

ATTACKS: dict[tuple[str, type[Interface]], dict[str, Attack]] = {
    ("compute", CellConductorAPI): OF_AGENTS,
    ("cell_conductor", SuperConductorAPI): OF_CELLS_AT_THE_TOP,
    ("cell_conductor", PlacementAPI): OF_CELLS_IN_PLACEMENT,
    ("cell_conductor", SchedulerAPI): OF_CELLS_IN_SCHEDULERS,
    ("parent_zone", ZoneAPI): OF_PARENT_ZONES,
}
HARMLESS = {"object_backport_versions", "select_hosts", "refresh"}
"""Work on what they are sent, only, or name hosts and claim nothing, or push a summary."""
