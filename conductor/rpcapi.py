"""Clients of the conductors over RPC.

The super conductor, a cell's conductor, a cell's host states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from armillary.context import RequestContext
from objects.aggregate import Aggregate
from objects.build_request import BuildRequest
from objects.compute_node import ComputeNode
from objects.flavor import Flavor
from objects.host_states import HostStateBatch
from objects.image_meta import ImageMeta
from objects.instance import Instance
from objects.instance_action import InstanceAction
from objects.instance_fault import InstanceFault
from objects.instance_group import InstanceGroup
from objects.migration import Migration
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
}
"""What an older cell conductor knows: version of its API -> object -> version."""


class SuperConductorAPI(RpcClient):
    """The super conductor, on the top broker; what the API and the schedulers ask. All are calls.

    Errors are the classes of ``armillary.exception`` that each noun names (XNotFound, XExists,
    QuotaExceeded, Invalid …). A caller without the admin role sees its own project's servers and
    groups only. Version history: 1.0 initial; 1.1 find_orphans, sync_aggregate;
    1.2 dry_run, with_hosts in explain_server; 1.3 operations on servers, their console and
    migrations.
    """

    TOPIC = "conductor"
    VERSION = "1.3"

    # Servers

    def create_servers(self, context: RequestContext, request: dict[str, Any]) -> dict[str, Any]:
        """Accept a request; from its answer on nothing is lost.

        ``request``: name, flavor (id or name), image (id or name, may be null), min_count,
        max_count, availability_zone ("zone", "zone:host" or "zone:host:node"; admin for the
        latter), metadata, hints (name -> list of texts; "group" names a server group's UUID), host,
        node (requested destination). Answers {"reservation_id": text, "instances": [Instance]};
        max_count is lowered to what the quota allows if that is at least min_count. Raises
        FlavorNotFound, ImageNotFound, AvailabilityZoneNotFound, ServerGroupNotFound, HostNotFound,
        QuotaExceeded, Invalid.
        """
        result: dict[str, Any] = self._call(context, "create_servers", request=request)
        return result

    def get_server(self, context: RequestContext, instance_uuid: str) -> Instance:
        """Return the instance wherever it is: build request, cell, cell0.

        Raises InstanceNotFound.
        """
        result: Instance = self._call(context, "get_server", instance_uuid=instance_uuid)
        return result

    def list_servers(
        self,
        context: RequestContext,
        *,
        filters: dict[str, Any],
        limit: int,
        marker: str | None = None,
    ) -> dict[str, Any]:
        """Return {"instances": [Instance], "down_cells": [names]}, newest first (created_at, uuid).

        ``filters``: name (substring), status (ACTIVE, BUILD, ERROR, SHUTOFF), host, reservation_id,
        all_projects (admin). ``marker``: UUID of the last one of the page before. A cell that does
        not answer is left out and named.
        """
        result: dict[str, Any] = self._call(
            context, "list_servers", filters=filters, limit=limit, marker=marker
        )
        return result

    def delete_server(self, context: RequestContext, instance_uuid: str) -> None:
        """Delete at any moment of its life; accepted means it will be gone.

        Raises InstanceNotFound.
        """
        self._call(context, "delete_server", instance_uuid=instance_uuid)

    def operate_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Accept something that is to be done to a server after its build; since 1.3.

        Accepted means that its intent is stored and somebody will bring it about, or undo it and
        say why (actions, faults). ``arguments``, all optional unless said:

        - stop, start, restore, shelve_offload, confirm_resize, revert_resize, force_delete,
          soft_delete, unlock, shelve: none;
        - reboot: is_hard; lock: reason;
        - rebuild: image (reference), name, metadata;
        - resize: flavor (reference, required); migrate: host; unshelve: host, availability_zone;
        - live_migrate: host; evacuate: host.

        Raises InstanceNotFound; InstanceInvalidState, InstanceLocked; FlavorNotFound,
        ImageNotFound, HostNotFound, QuotaExceeded; NoValidHost where that is known at once;
        Invalid; CellUnavailable.
        """
        self._call(
            context,
            "operate_server",
            version="1.3",
            instance_uuid=instance_uuid,
            operation=operation,
            arguments=dict(arguments or {}),
        )

    def get_console_output(
        self, context: RequestContext, instance_uuid: str, *, lines: int | None = None
    ) -> str:
        """Return what a server wrote last to its console; since 1.3.

        Raises InstanceNotFound, InstanceInvalidState, OperationFailed, OperationUnsupported,
        CellUnavailable.
        """
        result: str = self._call(
            context,
            "get_console_output",
            version="1.3",
            instance_uuid=instance_uuid,
            lines=lines,
        )
        return result

    def list_migrations(
        self, context: RequestContext, *, filters: Mapping[str, Any], limit: int
    ) -> dict[str, Any]:
        """Return {"migrations": [Migration], "down_cells": [names]}, newest first; since 1.3.

        ``filters``: uuid, instance_uuid, status, migration_type, source_host, dest_host, host.
        Raises Invalid for another one.
        """
        result: dict[str, Any] = self._call(
            context, "list_migrations", version="1.3", filters=dict(filters), limit=limit
        )
        return result

    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Ask for the end of a live migration under way; since 1.3.

        Raises InstanceNotFound, MigrationNotFound, InstanceInvalidState, CellUnavailable.
        """
        self._call(
            context,
            "abort_migration",
            version="1.3",
            instance_uuid=instance_uuid,
            migration_uuid=migration_uuid,
        )

    def list_server_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        """Return the actions with their events, newest first. Raises InstanceNotFound."""
        result: list[InstanceAction] = self._call(
            context, "list_server_actions", instance_uuid=instance_uuid
        )
        return result

    def explain_server(
        self, context: RequestContext, instance_uuid: str, *, with_hosts: bool | None = None
    ) -> dict[str, Any]:
        """Return why an instance is where it is.

        {"instance": Instance, "trace": primitive dict of DecisionTrace's fields with ``choices``
        cut down to this instance, or null, "faults": [InstanceFault] of every attempt, "attempts":
        [{"attempt", "host", "result", "reason"}]}. Names of hosts, and what may hold them, are left
        out without ``with_hosts``; unless that is said, and with an older conductor, they are for
        administrators.
        """
        newer: dict[str, Any] = {}
        if with_hosts is not None and self.can_send("1.2"):
            newer = {"version": "1.2", "with_hosts": with_hosts}
        result: dict[str, Any] = self._call(
            context, "explain_server", instance_uuid=instance_uuid, **newer
        )
        return result

    def dry_run(
        self, context: RequestContext, request: dict[str, Any], *, with_hosts: bool
    ) -> dict[str, Any]:
        """Return where servers would go now; nothing is claimed, stored or held against a quota.

        ``request`` has ``server``, a dict as ``create_servers`` takes it (the name may be left
        out; max_count counts), or ``request_spec``, a dict of RequestSpec's fields (see
        ``conductor.plain_specs``). Answers {"hosts": for each instance a dict with host, node,
        availability_zone, allocations, alternates (hosts), "trace": primitive dict of
        DecisionTrace's fields}; no hosts, and a sentence in the trace, when none fits. Names of
        hosts are left out without ``with_hosts``. Raises as ``create_servers`` but QuotaExceeded,
        and UnsupportedPolicy, CellUnavailable, Unavailable.
        """
        result: dict[str, Any] = self._call(
            context, "dry_run", version="1.2", request=request, with_hosts=with_hosts
        )
        return result

    # Flavors and images

    def create_flavor(self, context: RequestContext, flavor: Flavor) -> Flavor:
        """Store a flavor; an empty flavorid gets a UUID. Raises FlavorExists."""
        result: Flavor = self._call(context, "create_flavor", flavor=flavor)
        return result

    def get_flavor(self, context: RequestContext, flavor: str) -> Flavor:
        """Find by id, else by name. Raises FlavorNotFound."""
        result: Flavor = self._call(context, "get_flavor", flavor=flavor)
        return result

    def list_flavors(self, context: RequestContext) -> list[Flavor]:
        """Return all flavors ordered by id."""
        result: list[Flavor] = self._call(context, "list_flavors")
        return result

    def update_flavor(self, context: RequestContext, flavor: str, values: dict[str, Any]) -> Flavor:
        """Change ``description`` or ``extra_specs`` (the whole dict). Raises FlavorNotFound."""
        result: Flavor = self._call(context, "update_flavor", flavor=flavor, values=values)
        return result

    def delete_flavor(self, context: RequestContext, flavor: str) -> None:
        """Remove it; instances keep their copy. Raises FlavorNotFound."""
        self._call(context, "delete_flavor", flavor=flavor)

    def create_image(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        """Store an image record (id set by the caller). Raises ImageExists."""
        result: ImageMeta = self._call(context, "create_image", image=image)
        return result

    def get_image(self, context: RequestContext, image: str) -> ImageMeta:
        """Find by id, else by name. Raises ImageNotFound, Invalid for an ambiguous name."""
        result: ImageMeta = self._call(context, "get_image", image=image)
        return result

    def list_images(self, context: RequestContext) -> list[ImageMeta]:
        """Return all images ordered by name and id."""
        result: list[ImageMeta] = self._call(context, "list_images")
        return result

    def delete_image(self, context: RequestContext, image: str) -> None:
        """Remove it; instances keep their copy. Raises ImageNotFound."""
        self._call(context, "delete_image", image=image)

    # Aggregates, zones, server groups

    def create_aggregate(
        self, context: RequestContext, name: str, availability_zone: str | None
    ) -> Aggregate:
        """Make an aggregate without hosts. Raises AggregateExists, Invalid."""
        result: Aggregate = self._call(
            context, "create_aggregate", name=name, availability_zone=availability_zone
        )
        return result

    def list_aggregates(self, context: RequestContext) -> list[Aggregate]:
        """Return all aggregates ordered by id."""
        result: list[Aggregate] = self._call(context, "list_aggregates")
        return result

    def get_aggregate(self, context: RequestContext, aggregate: str) -> Aggregate:
        """Find by id or UUID (as text). Raises AggregateNotFound."""
        result: Aggregate = self._call(context, "get_aggregate", aggregate=aggregate)
        return result

    def update_aggregate(
        self, context: RequestContext, aggregate: str, values: dict[str, Any]
    ) -> Aggregate:
        """Change ``name`` or ``metadata`` (a null value removes the key).

        Raises AggregateNotFound, AggregateExists, HostInOtherZone.
        """
        result: Aggregate = self._call(
            context, "update_aggregate", aggregate=aggregate, values=values
        )
        return result

    def delete_aggregate(self, context: RequestContext, aggregate: str) -> None:
        """Remove an aggregate. Raises AggregateNotFound, AggregateInUse while it has hosts."""
        self._call(context, "delete_aggregate", aggregate=aggregate)

    def add_aggregate_host(self, context: RequestContext, aggregate: str, host: str) -> Aggregate:
        """Put a host in.

        Raises AggregateNotFound, HostNotFound, AggregateHostExists, HostInOtherZone.
        """
        result: Aggregate = self._call(
            context, "add_aggregate_host", aggregate=aggregate, host=host
        )
        return result

    def remove_aggregate_host(
        self, context: RequestContext, aggregate: str, host: str
    ) -> Aggregate:
        """Take a host out. Raises AggregateNotFound, AggregateHostNotFound."""
        result: Aggregate = self._call(
            context, "remove_aggregate_host", aggregate=aggregate, host=host
        )
        return result

    def list_availability_zones(self, context: RequestContext) -> list[dict[str, Any]]:
        """Return [{"name", "available": bool, "hosts": {host: {"up": bool, "disabled": bool}}}]."""
        result: list[dict[str, Any]] = self._call(context, "list_availability_zones")
        return result

    def create_server_group(
        self, context: RequestContext, name: str, policy: str, rules: dict[str, str]
    ) -> InstanceGroup:
        """Make a group without members. Raises Invalid, QuotaExceeded."""
        result: InstanceGroup = self._call(
            context, "create_server_group", name=name, policy=policy, rules=rules
        )
        return result

    def list_server_groups(
        self, context: RequestContext, *, all_projects: bool = False
    ) -> list[InstanceGroup]:
        """Return the project's groups, or all for an administrator."""
        result: list[InstanceGroup] = self._call(
            context, "list_server_groups", all_projects=all_projects
        )
        return result

    def get_server_group(self, context: RequestContext, group: str) -> InstanceGroup:
        """Return one group. Raises ServerGroupNotFound."""
        result: InstanceGroup = self._call(context, "get_server_group", group=group)
        return result

    def delete_server_group(self, context: RequestContext, group: str) -> None:
        """Remove a group; its members stay as they are. Raises ServerGroupNotFound."""
        self._call(context, "delete_server_group", group=group)

    # Hosts

    def list_services(self, context: RequestContext) -> dict[str, Any]:
        """Return {"services": [Service], "down_cells".

        [names]}, all cells, ordered by host and binary.
        """
        result: dict[str, Any] = self._call(context, "list_services")
        return result

    def update_service(
        self, context: RequestContext, service_uuid: str, values: dict[str, Any]
    ) -> Service:
        """Change disabled, disabled_reason, forced_down. Raises ServiceNotFound."""
        result: Service = self._call(
            context, "update_service", service_uuid=service_uuid, values=values
        )
        return result

    def delete_service(self, context: RequestContext, service_uuid: str) -> None:
        """Remove record, compute nodes, providers, mapping. Raises ServiceNotFound, InUse."""
        self._call(context, "delete_service", service_uuid=service_uuid)

    def list_compute_nodes(self, context: RequestContext) -> dict[str, Any]:
        """Return all hypervisors with what is used of them, ordered by host and node.

        {"nodes": [ComputeNode], "services": {host: Service}, "usages": {node uuid: as
        PlacementAPI.get_provider_usages}, "down_cells": [names]}
        """
        result: dict[str, Any] = self._call(context, "list_compute_nodes")
        return result

    def get_compute_node(self, context: RequestContext, node: str) -> dict[str, Any]:
        """Return one of the above by UUID or node name.

        {"node", "service", "usages", "instances": [Instance]}. Raises ComputeNodeNotFound.
        """
        result: dict[str, Any] = self._call(context, "get_compute_node", node=node)
        return result

    # Quotas, allocations, cells

    def get_quotas(self, context: RequestContext, project_id: str) -> dict[str, dict[str, int]]:
        """Return resource -> {"limit", "in_use"}; -1 is unlimited."""
        result: dict[str, dict[str, int]] = self._call(context, "get_quotas", project_id=project_id)
        return result

    def update_quotas(
        self, context: RequestContext, project_id: str, limits: dict[str, int]
    ) -> dict[str, dict[str, int]]:
        """Set limits of a project. Raises Invalid for an unknown resource or a limit under -1."""
        result: dict[str, dict[str, int]] = self._call(
            context, "update_quotas", project_id=project_id, limits=limits
        )
        return result

    def list_allocations(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> dict[str, Any]:
        """Return {"allocations": as PlacementAPI.list_allocations, "totals".

        As get_usage_totals}.
        """
        result: dict[str, Any] = self._call(context, "list_allocations", marker=marker, limit=limit)
        return result

    def find_orphans(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> dict[str, Any]:
        """Tell which of these consumers, said to be servers, are none; at most 1,000.

        ``consumers``: UUID -> UUIDs of the providers that it holds something of. Answers
        {"orphans": UUIDs that no build request and no cell knows, "foreign": those of them that
        hold nothing of a host of ours, which are not among the orphans, "unsure": those that may be
        in a cell that did not answer, "down_cells": names}. A server that is being deleted is one
        until that is done.
        """
        result: dict[str, Any] = self._call(
            context,
            "find_orphans",
            version="1.1",
            consumers={uuid: list(providers) for uuid, providers in consumers.items()},
        )
        return result

    def sync_aggregate(
        self, context: RequestContext, aggregate: str, *, dry_run: bool
    ) -> dict[str, Any]:
        """Make placement's aggregate hold exactly the compute nodes of an aggregate's hosts.

        Answers {"name", "added", "removed": UUIDs of providers; "unmapped_hosts",
        "hosts_without_nodes": names; "unknown_providers": nodes that placement does not know;
        "error": null or a sentence, "failed": "read" or "write" with an error}. A dry run changes
        nothing. Raises AggregateNotFound.
        """
        result: dict[str, Any] = self._call(
            context, "sync_aggregate", version="1.1", aggregate=aggregate, dry_run=dry_run
        )
        return result

    def get_facts(self, context: RequestContext) -> dict[str, Any]:
        """Return what every scheduler has to know.

        {"seq": int, "cells": [{"uuid", "name", "disabled"}], "aggregates": [Aggregate]}; ``seq``
        grows with every change.
        """
        result: dict[str, Any] = self._call(context, "get_facts")
        return result


class CellConductorAPI(RpcClient):
    """A cell's conductor, on that cell's broker.

    It is asked by the super conductor and by the cell's agents. A host speaks for itself only:
    every report names its host and is checked against the sender's agent. Version history: 1.0
    initial; 1.1 build_instances takes RequestSpec 1.1; 1.2 adds operations and migrations, and
    build_instances takes Instance 1.1.
    """

    TOPIC = "cell_conductor"
    VERSION = "1.2"

    # From the super conductor

    def build_instances(
        self,
        context: RequestContext,
        build_requests: Sequence[BuildRequest],
        *,
        timeout_seconds: float | None = None,
    ) -> None:
        """Store the build requests, then answer; handing the same over twice is fine.

        Raises Invalid for what an older cell cannot be given.
        """
        version = next(one for one in ("1.2", "1.1", "1.0") if self.can_send(one))
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
        """Living instances, newest first. ``filters`` as in list_servers plus project_id.

        ``marker`` is {"created_at", "uuid"} of the last one before.
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
        """Store the intent to delete, then answer. Unknown or deleted is fine: raises nothing."""
        self._call(context, "delete_instance", instance_uuid=instance_uuid)

    def begin_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: Mapping[str, Any],
    ) -> int:
        """Store what is to be done to an instance, then answer; since 1.2.

        ``operation`` is a name of ``conductor.cell_tasks.operations.flows``. Those that move an
        instance take ``migration_uuid`` and may be asked twice; they wait for
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
        """Give a move what was scheduled: "selections", "request_spec" (wire forms); since 1.2.

        Twice is fine. Raises Conflict when the instance is not in that move any more.
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
        """Have a move undone that found no host; since 1.2. As ``go_on_with_operation``."""
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
        """Lock or unlock an instance; since 1.2. Raises InstanceNotFound."""
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
        """Ask for the end of a live migration under way; since 1.2.

        Raises MigrationNotFound, InstanceInvalidState when it cannot be ended any more.
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
        of both). Raises Invalid for another one.
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
        """Return what the guest wrote last; since 1.2.

        Raises InstanceNotFound, InstanceInvalidState (it is on no host that can be asked),
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
        """Newest first; empty when unknown."""
        result: list[InstanceAction] = self._call(
            context, "list_instance_actions", instance_uuid=instance_uuid
        )
        return result

    def list_instance_faults(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceFault]:
        """Oldest first, one for each failed attempt; empty when unknown."""
        result: list[InstanceFault] = self._call(
            context, "list_instance_faults", instance_uuid=instance_uuid
        )
        return result

    def find_instance_hosts(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> dict[str, str]:
        """Return instance -> host for those that live here and have a host."""
        result: dict[str, str] = self._call(
            context, "find_instance_hosts", instance_uuids=list(instance_uuids)
        )
        return result

    def list_services(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> list[Service]:
        """All service records of the cell with ``up`` worked out."""
        result: list[Service] = self._call(
            context, "list_services", timeout_seconds=timeout_seconds
        )
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
        """Remove record, nodes and providers; return the host. Raises ServiceNotFound, InUse."""
        result: str = self._call(context, "delete_service", service_uuid=service_uuid)
        return result

    def list_compute_nodes(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> list[ComputeNode]:
        """All compute nodes of the cell."""
        result: list[ComputeNode] = self._call(
            context, "list_compute_nodes", timeout_seconds=timeout_seconds
        )
        return result

    # From compute agents

    def report_services(
        self,
        context: RequestContext,
        agent: str,
        hosts: Sequence[str],
        builds: dict[str, int],
        *,
        version: int,
    ) -> None:
        """Report that an agent and its hosts live, every ``report_interval``.

        Missing records are created. ``builds`` (instance UUID -> attempt) are builds in hand: their
        leases are renewed.
        """
        self._call(
            context,
            "report_services",
            agent=agent,
            hosts=list(hosts),
            builds=builds,
            service_version=version,
        )

    def report_compute_nodes(
        self, context: RequestContext, agent: str, nodes: Sequence[ComputeNode]
    ) -> list[dict[str, Any]]:
        """Store what the hosts have and use, pass inventories on to placement.

        Returns for each node {"uuid", "error": null or a sentence, "allocation_ratios": {class:
        ratio as it stands in placement}}.
        """
        is_older = not self.can_send("1.2")
        result: list[dict[str, Any]] = self._call(
            context,
            "report_compute_nodes",
            version="1.0" if is_older else "1.2",
            agent=agent,
            nodes=[node.obj_to_primitive("1.0") if is_older else node for node in nodes],
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
        """Return "accepted" (also the second time), or "stale".

        Destroy it, another attempt owns it.
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
        """Try the next alternate (``retry``) or end in ERROR. Returns "accepted" or "stale"."""
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
        """Report that the guest is gone from the host.

        Returns "accepted", or "stale": it was not being deleted.
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
        """Report that the workload ended by itself: the instance becomes stopped.

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
        """Report how an order went, since 1.2: ``fault`` says why the host could not.

        Returns "accepted", or "stale": nobody waits for it any more.
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
        """Tell how much memory of a live migration is left (a cast, may be lost); since 1.2."""
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

    def list_moving(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[dict[str, str]]:
        """Return {"instance_uuid", "host"} of what is under way to or from these hosts; since 1.2.

        Whatever the agent has there of these instances it leaves alone.
        """
        result: list[dict[str, str]] = self._call(
            context, "list_moving", version="1.2", agent=agent, hosts=list(hosts)
        )
        return result

    def list_host_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[Instance]:
        """Living instances whose current attempt is on these hosts, for reconciliation at start."""
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

    def object_action(
        self,
        context: RequestContext,
        agent: str,
        objinst: Any,
        objmethod: str,
        args: Any,
        kwargs: Any,
    ) -> tuple[dict[str, Any], Any]:
        """Run a remotable method where the database is; return changed fields and the result.

        Raises Forbidden unless the instance is on a host of ``agent``, and what the method raises.
        """
        updates, result = self._call(
            context,
            "object_action",
            agent=agent,
            objinst=objinst,
            objmethod=objmethod,
            args=list(args),
            kwargs=kwargs,
        )
        return updates, result

    def object_backport_versions(
        self, context: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> Any:
        """Return a newer object in the versions that the caller knows."""
        return self._call(
            context, "object_backport_versions", objinst=objinst, object_versions=object_versions
        )


class AgentObjects:
    """Where the remotable methods of an agent's objects run: in its cell's conductor.

    It is the ``indirection`` of the ``Binding`` that an agent gives to its bus.
    """

    def __init__(self, conductor: CellConductorAPI, agent: str) -> None:
        self._conductor = conductor
        self._agent = agent

    def object_action(
        self, context: RequestContext, objinst: Any, objmethod: str, args: Any, kwargs: Any
    ) -> tuple[dict[str, Any], Any]:
        """Run a remotable method on behalf of this agent."""
        return self._conductor.object_action(context, self._agent, objinst, objmethod, args, kwargs)


class HostStatesAPI(RpcClient):
    """A cell's host states, served by its conductors on the top broker, by the cell's UUID.

    Version history: 1.0 initial.
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
        """Return all rows that changed after a sequence number; 0 returns all rows (``full``)."""
        result: HostStateBatch = self._call(
            context,
            "get_host_states",
            server=cell_uuid,
            timeout_seconds=timeout_seconds,
            after_seq=after_seq,
        )
        return result
