"""RPC clients of a cell: of its conductor, and of its host states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from armillary.context import RequestContext
from armillary.service_history import COMPUTE
from objects.build_request import BuildRequest
from objects.compute_node import ComputeNode
from objects.host_states import HostStateBatch
from objects.instance import Instance
from objects.instance_action import InstanceAction
from objects.instance_fault import InstanceFault
from objects.instance_order import InstanceOrder
from objects.migration import Migration
from objects.server_record import ServerRecord
from objects.service import Service
from rpc.client import RpcClient

_OBJECTS_OF_CELL = {
    "1.0": {
        "BuildRequest": "1.0",
        "Destination": "1.0",
        "Instance": "1.0",
        "RequestSpec": "1.0",
        "SchedulerLimits": "1.0",
        "Selection": "1.0",
    },
    "1.1": {"BuildRequest": "1.0", "Instance": "1.0"},
    "1.2": {"BuildRequest": "1.0", "Instance": "1.1"},
}
"""Object versions that an older cell conductor knows: API version -> object -> version."""


class CellConductorAPI(RpcClient):
    """RPC client of a cell's conductor, on that cell's broker.

    Its callers are the super conductor and the cell's agents. A host speaks for itself only: every
    report names its host and is checked against the sender's agent. Version history: 1.0 initial;
    1.1 build_instances takes RequestSpec 1.1; 1.2 adds operations and migrations, and
    build_instances takes Instance 1.1; 1.3 report_services answers, adds get_oldest_services,
    builds_succeeded, is_build_wanted and is_order_wanted; 1.4 moves between
    cells; 1.5 reshape in report_compute_nodes, list_known_hosts.
    """

    TOPIC = "cell_conductor"
    VERSION = "1.5"

    # From the super conductor

    def build_instances(
        self,
        context: RequestContext,
        build_requests: Sequence[BuildRequest],
        *,
        timeout_seconds: float | None = None,
    ) -> None:
        """Store the build requests, then answer. Idempotent.

        Raises Invalid for a request that an older cell cannot process.
        """
        version = next(one for one in ("1.3", "1.2", "1.1", "1.0") if self.can_send(one))
        known = _OBJECTS_OF_CELL.get(version)
        self._call(
            context,
            "build_instances",
            version=version,
            timeout_seconds=timeout_seconds,
            build_requests=[
                one if known is None else one.obj_to_primitive("1.0", known)
                for one in build_requests
            ],
        )

    def get_instance(self, context: RequestContext, instance_uuid: str) -> Instance:
        """Return one instance. Raises InstanceNotFound, also for a deleted one."""
        result: Instance = self._call(context, "get_instance", instance_uuid=instance_uuid)
        return result

    def list_instances(
        self,
        context: RequestContext,
        *,
        filters: dict[str, Any],
        limit: int,
        marker: dict[str, str] | None = None,
        timeout_seconds: float | None = None,
    ) -> list[Instance]:
        """Return living instances, newest first.

        ``filters`` as in list_servers plus project_id; ``marker`` is {"created_at", "uuid"} of the
        last instance of the previous page.
        """
        result: list[Instance] = self._call(
            context,
            "list_instances",
            timeout_seconds=timeout_seconds,
            filters=filters,
            limit=limit,
            marker=marker,
        )
        return result

    def delete_instance(self, context: RequestContext, instance_uuid: str) -> None:
        """Store the intent to delete, then answer. Unknown and deleted instances are ignored."""
        self._call(context, "delete_instance", instance_uuid=instance_uuid)

    def begin_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: Mapping[str, Any],
    ) -> int:
        """Store an operation on an instance, then answer; since 1.2.

        ``operation`` is a name of ``conductor.cell_conductor.operations.flows``. Operations that
        move
        an instance take ``migration_uuid`` and are idempotent; they wait for
        :meth:`go_on_with_operation`. Returns the first fence of the operation's writes to
        placement. Raises InstanceNotFound, InstanceInvalidState, Invalid.
        """
        result: int = self._call(
            context,
            "begin_operation",
            version="1.2",
            instance_uuid=instance_uuid,
            operation=operation,
            arguments=dict(arguments),
        )
        return result

    def go_on_with_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        migration_uuid: str,
        facts: Mapping[str, Any],
    ) -> None:
        """Give a move its destination: "selections", "request_spec" (wire forms); since 1.2.

        Idempotent. Raises Conflict when the instance is no longer in that move.
        """
        self._call(
            context,
            "go_on_with_operation",
            version="1.2",
            instance_uuid=instance_uuid,
            migration_uuid=migration_uuid,
            facts=dict(facts),
        )

    def fail_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        migration_uuid: str,
        fault: InstanceFault,
    ) -> None:
        """Undo a move for which no host was found; since 1.2. As ``go_on_with_operation``."""
        self._call(
            context,
            "fail_operation",
            version="1.2",
            instance_uuid=instance_uuid,
            migration_uuid=migration_uuid,
            fault=fault,
        )

    def set_lock(
        self, context: RequestContext, instance_uuid: str, *, locked: bool, reason: str | None
    ) -> None:
        """Lock or unlock an instance; since 1.2. Raises InstanceNotFound, InstanceInvalidState."""
        self._call(
            context,
            "set_lock",
            version="1.2",
            instance_uuid=instance_uuid,
            locked=locked,
            reason=reason,
        )

    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Abort a running live migration; since 1.2.

        Raises MigrationNotFound, InstanceInvalidState when it cannot be aborted any more.
        """
        self._call(
            context,
            "abort_migration",
            version="1.2",
            instance_uuid=instance_uuid,
            migration_uuid=migration_uuid,
        )

    def list_migrations(
        self,
        context: RequestContext,
        *,
        filters: Mapping[str, Any],
        limit: int,
        timeout_seconds: float | None = None,
    ) -> list[Migration]:
        """Return migrations, newest first; since 1.2.

        ``filters``: uuid, instance_uuid, status, migration_type, source_host, dest_host, host (one
        of both). Raises Invalid for an unknown filter.
        """
        result: list[Migration] = self._call(
            context,
            "list_migrations",
            version="1.2",
            timeout_seconds=timeout_seconds,
            filters=dict(filters),
            limit=limit,
        )
        return result

    def get_console_output(
        self, context: RequestContext, instance_uuid: str, *, lines: int | None
    ) -> str:
        """Return the last console output of the guest; since 1.2.

        Raises InstanceNotFound, InstanceInvalidState (without a host that can be asked),
        OperationFailed, OperationUnsupported.
        """
        result: str = self._call(
            context,
            "get_console_output",
            version="1.2",
            instance_uuid=instance_uuid,
            lines=lines,
        )
        return result

    def list_instance_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        """Return the actions, newest first; empty for an unknown instance."""
        result: list[InstanceAction] = self._call(
            context, "list_instance_actions", instance_uuid=instance_uuid
        )
        return result

    def list_instance_faults(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceFault]:
        """Return a fault for each failed attempt, oldest first; empty for an unknown instance."""
        result: list[InstanceFault] = self._call(
            context, "list_instance_faults", instance_uuid=instance_uuid
        )
        return result

    # Between cells, relayed by the super conductor. All are since 1.4.

    def order_for_other_cell(
        self, context: RequestContext, record: ServerRecord, order: InstanceOrder
    ) -> str | None:
        """Store a copy of another cell's instance, and send an order to one of this cell's hosts.

        Returns why the order could not be sent, None when it was; a repeated call sends it again.
        The answer goes to the other cell. Raises Conflict when the move has ended here, or the
        instance is not a copy.
        """
        result: str | None = self._call(
            context, "order_for_other_cell", version="1.4", record=record, order=order
        )
        return result

    def order_answered_elsewhere(
        self,
        context: RequestContext,
        host: str,
        instance_uuid: str,
        migration_uuid: str,
        sequence: int,
        *,
        answer: Mapping[str, Any],
        fault: InstanceFault | None,
    ) -> str:
        """Process the answer of another cell's host to an order; return "accepted" or "stale"."""
        result: str = self._call(
            context,
            "order_answered_elsewhere",
            version="1.4",
            host=host,
            instance_uuid=instance_uuid,
            migration_uuid=migration_uuid,
            sequence=sequence,
            answer=dict(answer),
            fault=fault,
        )
        return result

    def is_order_wanted_elsewhere(
        self,
        context: RequestContext,
        host: str,
        instance_uuid: str,
        migration_uuid: str,
        sequence: int,
    ) -> bool:
        """Return whether the answer of another cell's host to an order is still expected."""
        result: bool = self._call(
            context,
            "is_order_wanted_elsewhere",
            version="1.4",
            host=host,
            instance_uuid=instance_uuid,
            migration_uuid=migration_uuid,
            sequence=sequence,
        )
        return result

    def take_over_instance(self, context: RequestContext, record: ServerRecord) -> None:
        """Turn the copy into the instance. Idempotent. Raises Conflict when there is no copy."""
        self._call(context, "take_over_instance", version="1.4", record=record)

    def drop_copy(self, context: RequestContext, instance_uuid: str, migration_uuid: str) -> None:
        """Remove a copy left here after a move; an instance that lives here is kept."""
        self._call(
            context,
            "drop_copy",
            version="1.4",
            instance_uuid=instance_uuid,
            migration_uuid=migration_uuid,
        )

    # Instances and hosts

    def find_living_migrations(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        """Return the given migrations that have not ended; since 1.3."""
        result: list[str] = self._call(
            context,
            "find_living_migrations",
            version="1.3",
            migration_uuids=list(migration_uuids),
        )
        return result

    def find_instance_hosts(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> dict[str, str]:
        """Return instance -> host for instances that live here and have a host."""
        result: dict[str, str] = self._call(
            context, "find_instance_hosts", instance_uuids=list(instance_uuids)
        )
        return result

    def list_services(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> list[Service]:
        """Return all service records of the cell, with ``up`` computed."""
        result: list[Service] = self._call(
            context, "list_services", timeout_seconds=timeout_seconds
        )
        return result

    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        """Return the oldest service version of the cell's conductors and of its agents; since 1.3.

        {"cell_conductor": number, "compute": number}; a kind without a record is left out.
        """
        result: dict[str, int] = self._call(context, "get_oldest_services", version="1.3")
        return result

    def update_service(
        self, context: RequestContext, service_uuid: str, values: dict[str, Any]
    ) -> Service:
        """Change a service; disabling also sets COMPUTE_STATUS_DISABLED in placement.

        Raises ServiceNotFound.
        """
        result: Service = self._call(
            context, "update_service", service_uuid=service_uuid, values=values
        )
        return result

    def delete_service(self, context: RequestContext, service_uuid: str) -> str:
        """Remove a service, its nodes and providers; return the host.

        Raises ServiceNotFound, InUse.
        """
        result: str = self._call(context, "delete_service", service_uuid=service_uuid)
        return result

    def list_compute_nodes(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> list[ComputeNode]:
        """Return all compute nodes of the cell."""
        result: list[ComputeNode] = self._call(
            context, "list_compute_nodes", timeout_seconds=timeout_seconds
        )
        return result

    def list_known_hosts(self, context: RequestContext) -> dict[str, list[str]]:
        """Return host -> sorted UUIDs of its nodes, for hosts with a compute service or a node."""
        if self.can_send("1.5"):
            known: dict[str, list[str]] = self._call(context, "list_known_hosts", version="1.5")
            return known
        services, nodes = self.list_services(context), self.list_compute_nodes(context)
        found: dict[str, list[str]] = {
            service.host: [] for service in services if service.binary == COMPUTE
        }
        for node in nodes:
            found.setdefault(node.host, []).append(node.uuid)
        return {host: sorted(uuids) for host, uuids in found.items()}

    # From compute agents

    def report_services(
        self,
        context: RequestContext,
        agent: str,
        hosts: Sequence[str],
        builds: dict[str, int],
        *,
        version: int,
    ) -> dict[str, int]:
        """Send the heartbeat of an agent and its hosts, every ``report_interval``.

        Missing records are created. ``builds`` (instance UUID -> attempt) are builds in progress:
        their leases are renewed. Answers as ``get_oldest_services``. Raises Conflict,
        ServiceTooOld.
        """
        answer: dict[str, int] = self._call(
            context,
            "report_services",
            agent=agent,
            hosts=list(hosts),
            builds=builds,
            service_version=version,
        )
        return answer

    def report_compute_nodes(
        self,
        context: RequestContext,
        agent: str,
        nodes: Sequence[ComputeNode],
        *,
        reshape: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        """Store inventories and usage of the hosts' nodes, and send inventories to placement.

        ``reshape`` lists UUIDs of nodes whose allocations placement may move when the shape of
        their provider trees changes (since 1.5): in an agent's first report after its start.

        Returns for each node {"uuid", "error": null or a sentence, "allocation_ratios": {class:
        ratio in placement}}.
        """
        is_older = not self.can_send("1.2")
        more: dict[str, Any] = {}
        if reshape and self.can_send("1.5"):
            more["reshape"] = list(reshape)
        result: list[dict[str, Any]] = self._call(
            context,
            "report_compute_nodes",
            version="1.0" if is_older else "1.5" if more else "1.2",
            agent=agent,
            nodes=[node.obj_to_primitive("1.0") if is_older else node for node in nodes],
            **more,
        )
        return result

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
        result: str = self._call(
            context,
            "build_succeeded",
            agent=agent,
            host=host,
            instance_uuid=instance_uuid,
            attempt=attempt,
            power_state=power_state,
        )
        return result

    def builds_succeeded(
        self, context: RequestContext, agent: str, built: Sequence[Mapping[str, Any]]
    ) -> list[str]:
        """Report several finished builds; return the answer to each, in the same order.

        Each is {"host", "instance_uuid", "attempt", "power_state"}.
        """
        result: list[str] = self._call(
            context, "builds_succeeded", version="1.3", agent=agent, built=built
        )
        return result

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
        result: str = self._call(
            context,
            "build_failed",
            agent=agent,
            host=host,
            instance_uuid=instance_uuid,
            attempt=attempt,
            fault=fault,
            retry=retry,
        )
        return result

    def instance_deleted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str
    ) -> str:
        """Report that the guest has been destroyed on the host.

        Returns "accepted", or "stale" for an instance that was not being deleted.
        """
        result: str = self._call(
            context, "instance_deleted", agent=agent, host=host, instance_uuid=instance_uuid
        )
        return result

    def instance_ended(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        exit_code: int | None,
    ) -> str:
        """Report that the workload has ended by itself: the instance becomes stopped.

        Returns "accepted" or "stale".
        """
        result: str = self._call(
            context,
            "instance_ended",
            agent=agent,
            host=host,
            instance_uuid=instance_uuid,
            attempt=attempt,
            exit_code=exit_code,
        )
        return result

    def order_answered(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        sequence: int,
        *,
        answer: Mapping[str, Any],
        fault: InstanceFault | None,
    ) -> str:
        """Report the result of an order; ``fault`` gives the reason of a failure. Since 1.2.

        Returns "accepted", or "stale" when the answer is no longer expected.
        """
        result: str = self._call(
            context,
            "order_answered",
            version="1.2",
            agent=agent,
            host=host,
            instance_uuid=instance_uuid,
            sequence=sequence,
            answer=dict(answer),
            fault=fault,
        )
        return result

    def migration_progress(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        sequence: int,
        *,
        total_mb: int,
        remaining_mb: int,
    ) -> None:
        """Report the remaining memory of a live migration (a cast, may be lost); since 1.2."""
        self._cast(
            context,
            "migration_progress",
            version="1.2",
            agent=agent,
            host=host,
            instance_uuid=instance_uuid,
            sequence=sequence,
            total_mb=total_mb,
            remaining_mb=remaining_mb,
        )

    def is_build_wanted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str, attempt: int
    ) -> bool:
        """Return whether the agent still has to build this attempt on its host; since 1.3."""
        result: bool = self._call(
            context, "is_build_wanted", version="1.3", agent=agent, host=host,
            instance_uuid=instance_uuid, attempt=attempt,
        )  # fmt: skip
        return result

    def is_order_wanted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str, sequence: int
    ) -> bool:
        """Return whether the agent's answer to this order is still expected; since 1.3."""
        result: bool = self._call(
            context, "is_order_wanted", version="1.3", agent=agent, host=host,
            instance_uuid=instance_uuid, sequence=sequence,
        )  # fmt: skip
        return result

    def list_moving(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[dict[str, str]]:
        """Return {"instance_uuid", "host"} of moves from or to these hosts; since 1.2.

        The agent must not touch the guests of these instances there.
        """
        result: list[dict[str, str]] = self._call(
            context, "list_moving", version="1.2", agent=agent, hosts=list(hosts)
        )
        return result

    def list_host_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[Instance]:
        """Return living instances whose current attempt is on these hosts.

        Agents call it at their start to reconcile their guests.
        """
        result: list[Instance] = self._call(
            context, "list_host_instances", agent=agent, hosts=list(hosts)
        )
        return result

    def list_group_members(
        self, context: RequestContext, agent: str, group_uuid: str
    ) -> dict[str, str]:
        """Return instance -> host of the group's living members here, for the late check."""
        result: dict[str, str] = self._call(
            context, "list_group_members", agent=agent, group_uuid=group_uuid
        )
        return result

    # Objects

    def object_backport_versions(
        self, context: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> Any:
        """Return a newer object in the versions that the caller knows."""
        return self._call(
            context, "object_backport_versions", objinst=objinst, object_versions=object_versions
        )


class HostStatesAPI(RpcClient):
    """RPC client of a cell's host states, served by its conductors on the top broker.

    The RPC server's name is the cell's UUID. Version history: 1.0 initial.
    """

    TOPIC = "host_states"
    VERSION = "1.0"

    def get_host_states(
        self,
        context: RequestContext,
        cell_uuid: str,
        *,
        after_seq: int,
        timeout_seconds: float | None = None,
    ) -> HostStateBatch:
        """Return all rows changed after a sequence number; 0 returns all rows (``full``)."""
        result: HostStateBatch = self._call(
            context,
            "get_host_states",
            server=cell_uuid,
            timeout_seconds=timeout_seconds,
            after_seq=after_seq,
        )
        return result
