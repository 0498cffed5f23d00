"""RPC interfaces of a cell: of its conductor, and of its host states."""

from collections.abc import Sequence

from armillary.context import RequestContext
from objects.base import ArmillaryObject, Primitive
from objects.hosts.activity import CellActivity
from objects.hosts.agent_run import AgentRun
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import HostRequest, NodeReportResult, ServiceChanges, ZoneUse
from objects.hosts.host_details import HostRecords
from objects.hosts.host_event import HostEvent
from objects.hosts.host_states import HostStateBatch
from objects.hosts.image_fetches import ImageFetches
from objects.hosts.service import Service
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import ImageTicket
from objects.instance import Instance
from objects.instance_fault import InstanceFault
from objects.instances.build_request import BuildRequest
from objects.instances.diagnostics import Diagnostics
from objects.instances.guest_addresses import GuestAddresses
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_command import (
    BuiltReport,
    CommandAnswer,
    CommandId,
    InstanceCommand,
)
from objects.instances.migration import Migration
from objects.instances.operation_arguments import CellOperation
from objects.instances.serial_console import SerialConsole
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_changes import ServerChanges
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.instances.server_record import ServerRecord
from objects.instances.server_topology import ServerTopology
from objects.request_spec import RequestSpec
from objects.selection import Selection
from rpc.callers import AGENT, AGENT_ITSELF, API, CONDUCTOR, OPERATOR, SCHEDULER
from rpc.interface import Idempotent, Interface, call, cast

REPORT_TIMEOUT_SECONDS = 15.0
"""Timeout of reports; they are repeated sooner than other calls would time out."""


class CellConductorAPI(Interface):
    """A cell's conductor, on that cell's broker.

    Its callers are the super conductor and the cell's agents. A host speaks for itself only: every
    report names its host and is checked against the sender's agent.
    """

    TOPIC = "cell_conductor"
    SERVED_BY = "cell_conductor"

    # From the super conductor

    @call(CONDUCTOR)
    def build_instances(
        self,
        context: RequestContext,
        build_requests: Sequence[BuildRequest],
        *,
        timeout_seconds: float | None = None,
    ) -> None:
        """Store the build requests, then answer. Idempotent."""

    @call(CONDUCTOR, OPERATOR)
    def get_instance(self, context: RequestContext, instance_uuid: str) -> Instance:
        """Return one instance. Raises InstanceNotFound, also for a deleted one."""

    @call(CONDUCTOR, OPERATOR)
    def list_instances(
        self,
        context: RequestContext,
        *,
        filters: ServerFilters,
        limit: int,
        marker: InstanceMarker | None = None,
        timeout_seconds: float | None = None,
    ) -> list[Instance]:
        """Return instances in the order of ``filters``."""

    @call(CONDUCTOR)
    def delete_instance(self, context: RequestContext, instance_uuid: str) -> None:
        """Store the intent to delete, then answer. Unknown and deleted instances are ignored."""

    @call(CONDUCTOR, idempotent=Idempotent.BY_KEY)
    def begin_operation(
        self, context: RequestContext, instance_uuid: str, operation: str, arguments: CellOperation
    ) -> int:
        """Store an operation on an instance, then answer.

        ``operation`` is a name of ``conductor.cell_conductor.operations.flows``. Operations that
        move an instance have a ``migration_uuid`` and are idempotent; they wait for
        :meth:`continue_operation`. Returns the first fence of the operation's writes to
        placement. Raises InstanceNotFound, InstanceInvalidState, Invalid.
        """

    @call(CONDUCTOR)
    def record_refusal(
        self, context: RequestContext, instance_uuid: str, operation: str, reason: str
    ) -> None:
        """Record in an instance's actions why an accepted operation was not started.

        Does nothing if the request has started this operation. Raises InstanceNotFound.
        """

    @call(CONDUCTOR)
    def continue_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        migration_uuid: str,
        selections: Sequence[Selection],
        request_spec: RequestSpec,
    ) -> None:
        """Give a move its destination: the selected host and its alternates.

        Idempotent. Raises Conflict when the instance is no longer in that move.
        """

    @call(CONDUCTOR)
    def fail_operation(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str, fault: InstanceFault
    ) -> None:
        """Undo a move for which no host was found. As ``continue_operation``."""

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def set_lock(
        self, context: RequestContext, instance_uuid: str, *, locked: bool, reason: str | None
    ) -> None:
        """Lock or unlock an instance. Raises InstanceNotFound, InstanceInvalidState."""

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def reset_state(self, context: RequestContext, instance_uuid: str, *, vm_state: str) -> None:
        """Set the recorded state of an instance that is on a host.

        Raises InstanceNotFound, InstanceInvalidState.
        """

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def update_instance(
        self, context: RequestContext, instance_uuid: str, *, changes: ServerChanges
    ) -> None:
        """Change name, metadata, tags and settings; idempotent.

        Raises InstanceNotFound, InstanceInvalidState, QuotaExceeded, Invalid.
        """

    @call(CONDUCTOR)
    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Abort a running live migration.

        Raises MigrationNotFound, InstanceInvalidState when it cannot be aborted any more.
        """

    @call(CONDUCTOR)
    def force_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Complete a running live migration at once.

        Raises MigrationNotFound, InstanceInvalidState when it is not being copied.
        """

    @call(CONDUCTOR)
    def list_migrations(
        self,
        context: RequestContext,
        *,
        filters: MigrationFilters,
        limit: int,
        timeout_seconds: float | None = None,
    ) -> list[Migration]:
        """Return migrations, newest first."""

    @call(CONDUCTOR)
    def get_console_output(
        self, context: RequestContext, instance_uuid: str, *, lines: int | None
    ) -> str:
        """Return the last console output of the guest.

        Raises InstanceNotFound, InstanceInvalidState (without a host that can be asked),
        OperationFailed, OperationUnsupported.
        """

    @call(CONDUCTOR)
    def get_diagnostics(self, context: RequestContext, instance_uuid: str) -> Diagnostics:
        """Return what the driver measures of a guest. Raises as ``get_console_output``."""

    @call(CONDUCTOR)
    def get_topology(self, context: RequestContext, instance_uuid: str) -> ServerTopology:
        """Return the NUMA topology of an instance, without cells if it is on no host.

        Raises InstanceNotFound, InstanceInvalidState (its host is down).
        """

    @call(CONDUCTOR)
    def create_serial_console(self, context: RequestContext, instance_uuid: str) -> SerialConsole:
        """Return how to reach a guest's serial console, once. Raises as ``get_console_output``."""

    @call(CONDUCTOR)
    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, *, password: str
    ) -> None:
        """Set the administrator's password in an active guest. Raises as ``get_console_output``."""

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def trigger_crash_dump(self, context: RequestContext, instance_uuid: str) -> None:
        """Have a guest's kernel dump its memory. Raises as ``get_console_output``."""

    @call(CONDUCTOR)
    def list_instance_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        """Return the actions, newest first; empty for an unknown instance."""

    @call(CONDUCTOR)
    def list_instance_faults(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceFault]:
        """Return a fault for each failed attempt, oldest first; empty for an unknown instance."""

    # Between cells, relayed by the super conductor

    @call(CONDUCTOR)
    def execute_for_other_cell(
        self, context: RequestContext, record: ServerRecord, command: InstanceCommand
    ) -> str | None:
        """Store a copy of another cell's instance, and send a command to one of this cell's hosts.

        Returns why the command could not be sent, None when it was; a repeated call sends it again.
        The answer goes to the other cell. Raises Conflict when the move has ended here, or the
        instance is not a copy.
        """

    @call(CONDUCTOR)
    def other_cell_command_answered(
        self,
        context: RequestContext,
        migration_uuid: str,
        command: CommandId,
        *,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        """Process the answer of another cell's host to a command; return "accepted" or "stale"."""

    @call(CONDUCTOR)
    def is_other_cell_command_wanted(
        self, context: RequestContext, migration_uuid: str, command: CommandId
    ) -> bool:
        """Return whether the answer of another cell's host to a command is still expected."""

    @call(CONDUCTOR)
    def take_over_instance(self, context: RequestContext, record: ServerRecord) -> None:
        """Turn the copy into the instance. Idempotent. Raises Conflict when there is no copy."""

    @call(CONDUCTOR)
    def drop_copy(self, context: RequestContext, instance_uuid: str, migration_uuid: str) -> None:
        """Remove a copy left here after a move; an instance that lives here is kept."""

    # Instances and hosts

    @call(CONDUCTOR)
    def find_living_migrations(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        """Return the given migrations that have not ended."""

    @call(CONDUCTOR, OPERATOR)
    def find_instance_hosts(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> dict[str, str]:
        """Return instance -> host for instances that live here and have a host."""

    @call(CONDUCTOR)
    def find_hosts_in_use(self, context: RequestContext, hosts: Sequence[str]) -> dict[str, str]:
        """Return those of these hosts that have instances, each with one of them.

        Instances that live or are built there, may be built there next (alternates), or are moved
        from or to there, resizes that wait for their confirmation included.
        """

    @call(CONDUCTOR, OPERATOR)
    def list_zone_uses(self, context: RequestContext) -> list[ZoneUse]:
        """Return for each pair of host and availability zone that instances have, how many."""

    @call(CONDUCTOR)
    def list_services(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> list[Service]:
        """Return all service records of the cell, with ``up`` computed."""

    @call(CONDUCTOR)
    def get_activity(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> CellActivity:
        """Return what the cell does now: its conductors, figures, works, and counts of hosts."""

    @call(CONDUCTOR)
    def get_host_records(self, context: RequestContext, host: str) -> HostRecords:
        """Return the compute service and the nodes of a host. Raises HostNotFound."""

    @call(CONDUCTOR)
    def list_host_events(
        self, context: RequestContext, host: str, *, limit: int, marker: str | None = None
    ) -> list[HostEvent]:
        """Return the events of a host, newest first, after the one of a marker. Raises Invalid."""

    @call(CONDUCTOR)
    def cache_images(
        self,
        context: RequestContext,
        host: str,
        images: Sequence[ImageMeta],
        tickets: Sequence[ImageTicket],
    ) -> ImageFetches:
        """Have a host fetch images; the same request again returns how far it is.

        ``tickets`` are for those of our own image service.

        Raises HostNotFound, Unavailable for a host that is down, OperationUnsupported.
        """

    @call(CONDUCTOR)
    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        """Return the oldest service version of the cell's conductors and of its agents.

        {"cell_conductor": number, "compute": number}; a kind without a record is left out.
        """

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def update_service(
        self, context: RequestContext, service_uuid: str, changes: ServiceChanges
    ) -> Service:
        """Change a service; disabling also sets COMPUTE_STATUS_DISABLED in placement.

        Raises ServiceNotFound; Invalid for a service without hosts.
        """

    @call(CONDUCTOR)
    def delete_service(self, context: RequestContext, service_uuid: str) -> str:
        """Remove a service, its nodes and providers; return the host.

        Raises ServiceNotFound, InUse.
        """

    @call(CONDUCTOR)
    def list_compute_nodes(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> list[ComputeNode]:
        """Return all compute nodes of the cell."""

    @call(CONDUCTOR, OPERATOR)
    def list_known_hosts(self, context: RequestContext) -> dict[str, list[str]]:
        """Return host -> sorted UUIDs of its nodes, for hosts with a compute service or a node."""

    @call(OPERATOR)
    def list_host_requests(self, context: RequestContext) -> list[HostRequest]:
        """Return the hosts that agents asked for and were refused, by host and agent."""

    @call(OPERATOR)
    def approve_host(self, context: RequestContext, host: str, agent: str) -> None:
        """Give a host to an agent, also one of another agent or without a record. Idempotent."""

    @call(OPERATOR)
    def release_host(self, context: RequestContext, host: str) -> None:
        """Let the next agent have a host that is enrolled or approved for it.

        Idempotent. Raises HostNotFound.
        """

    # From compute agents

    @call(AGENT_ITSELF)
    def report_services(
        self,
        context: RequestContext,
        agent: str,
        hosts: Sequence[str],
        builds: dict[str, int],
        *,
        service_version: int,
        run: AgentRun | None = None,
    ) -> dict[str, int]:
        """Send the heartbeat of an agent and its hosts, every ``report_interval``.

        Missing records are created. ``builds`` (instance UUID -> attempt) are builds in progress:
        their leases are renewed. Of the runs of one agent, one at a time is admitted; one that
        ``is_over`` says good-bye. Answers as ``get_oldest_services``. Raises AgentNotAdmitted,
        Conflict, HostsNotApproved, ServiceTooOld.
        """

    @call(AGENT_ITSELF)
    def report_compute_nodes(
        self,
        context: RequestContext,
        agent: str,
        nodes: Sequence[ComputeNode],
        *,
        reshape: Sequence[str] = (),
    ) -> list[NodeReportResult]:
        """Store inventories and usage of the hosts' nodes, and send inventories to placement.

        ``reshape`` lists UUIDs of nodes whose allocations placement may move when the shape of
        their provider trees changes: in an agent's first report after its start.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def build_succeeded(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        power_state: str,
    ) -> str:
        """Report a finished build; return "accepted" (also when repeated) or "stale".

        After "stale" the agent destroys the guest: another attempt owns the instance.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def builds_succeeded(
        self, context: RequestContext, agent: str, built: Sequence[BuiltReport]
    ) -> list[str]:
        """Report several finished builds; return the answer to each, in the same order."""

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def build_failed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        fault: InstanceFault,
        retry: bool,
    ) -> str:
        """Report a failed build; return "accepted" or "stale".

        With ``retry`` the next alternate is tried, else the instance ends in ERROR.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def instance_deleted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str
    ) -> str:
        """Report that the guest has been destroyed on the host.

        Returns "accepted", or "stale" for an instance that was not being deleted.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def instance_ended(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        exit_code: int | None,
        reason: str | None = None,
    ) -> str:
        """Report that the workload has ended by itself: the instance becomes stopped.

        With a ``reason`` it crashed. Returns "accepted" or "stale".
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def power_changed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        power_state: str,
        reason: str | None,
    ) -> str:
        """Report that the workload runs, or is paused, other than by request.

        Without an operation the instance becomes active, paused or suspended. Returns "accepted"
        or "stale".
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def report_addresses(
        self, context: RequestContext, agent: str, found: Sequence[GuestAddresses]
    ) -> None:
        """Store the addresses of guests; those of earlier attempts are ignored. Raises Invalid."""

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def command_answered(
        self,
        context: RequestContext,
        agent: str,
        command: CommandId,
        *,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        """Report the result of a command; ``fault`` gives the reason of a failure.

        Returns "accepted", or "stale" when the answer is no longer expected.
        """

    @cast(AGENT_ITSELF)
    def migration_progress(
        self,
        context: RequestContext,
        agent: str,
        command: CommandId,
        *,
        total_mb: int,
        remaining_mb: int,
    ) -> None:
        """Report the remaining memory of a live migration (may be lost)."""

    @call(AGENT_ITSELF)
    def is_build_wanted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str, attempt: int
    ) -> bool:
        """Return whether the agent still has to build this attempt on its host."""

    @call(AGENT_ITSELF)
    def is_command_wanted(self, context: RequestContext, agent: str, command: CommandId) -> bool:
        """Return whether the agent's answer to this command is still expected."""

    @call(AGENT_ITSELF)
    def list_migrating_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[dict[str, str]]:
        """Return {"instance_uuid", "host"} of moves from or to these hosts.

        The agent must not touch the guests of these instances there.
        """

    @call(AGENT_ITSELF)
    def list_host_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[Instance]:
        """Return living instances whose current attempt is on these hosts.

        Agents call it at their start to reconcile their guests.
        """

    @call(AGENT_ITSELF)
    def list_group_members(
        self, context: RequestContext, agent: str, group_uuid: str
    ) -> dict[str, str]:
        """Return instance -> host of the group's living members here, for the late check."""

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def get_image_ticket(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        image_id: str,
        access: str,
    ) -> ImageTicket | None:
        """Return a ticket to ``read`` an image of an instance here, or to ``write`` its snapshot.

        It expires soon; the agent asks for another one when it tries again. Returns None if hosts
        find images by themselves. Raises Forbidden if the host does nothing with that image now,
        and what ``issue_image_ticket`` of the super conductor raises.
        """

    # Objects

    @call(AGENT, SCHEDULER, CONDUCTOR, API)
    def object_backport_versions(
        self, context: RequestContext, objinst: ArmillaryObject, object_versions: dict[str, str]
    ) -> Primitive:
        """Return a newer object in wire form, in the versions that the caller knows."""


class HostStatesAPI(Interface):
    """A cell's host states, served by its conductors on the top broker, by the cell's UUID."""

    TOPIC = "host_states"
    SERVED_BY = "cell_conductor"
    ADDRESSED_BY = "cell_uuid"

    @call(SCHEDULER, CONDUCTOR)
    def get_host_states(
        self,
        context: RequestContext,
        cell_uuid: str,
        *,
        after_seq: int,
        timeout_seconds: float | None = None,
    ) -> HostStateBatch:
        """Return all rows changed after a sequence number; 0 returns all rows (``full``)."""
