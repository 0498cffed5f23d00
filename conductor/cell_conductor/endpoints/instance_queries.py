"""Queries on instances, their records and their hosts, each answered from one reading session."""

from collections.abc import Sequence

from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.hosts import hosts_in_use
from conductor.common.cell_db import actions, compute_nodes, faults, instances, migrations, services
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import InstanceOnHost, ZoneUse
from objects.instance import Instance
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_fault import InstanceFault
from objects.instances.migration import Migration
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import MigrationFilters, ServerFilters


class InstanceQueries:
    """Endpoint, see ``CellConductorAPI``."""

    def __init__(self, database: Database, cell_uuid: str | None) -> None:
        self._database = database
        self._cell_uuid = cell_uuid

    def get_instance(self, context: RequestContext, instance_uuid: str) -> Instance:
        return self._database.read(instances.get, instance_uuid, cell_uuid=self._cell_uuid)

    def list_instances(
        self,
        context: RequestContext,
        filters: ServerFilters,
        limit: int,
        marker: InstanceMarker | None = None,
    ) -> list[Instance]:
        return self._database.read(
            instances.list_page,
            filters=filters,
            limit=limit,
            marker=marker,
            cell_uuid=self._cell_uuid,
        )

    def list_instance_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        return self._database.read(actions.list_of, instance_uuid)

    def list_instance_faults(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceFault]:
        return self._database.read(faults.list_of, instance_uuid)

    def list_migrations(
        self, context: RequestContext, filters: MigrationFilters, limit: int
    ) -> list[Migration]:
        return self._database.read(
            migrations.list_page, filters=filters, limit=limit, cell_uuid=self._cell_uuid
        )

    def find_living_migrations(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        return self._database.read(migrations.living, migration_uuids)

    def find_instance_hosts(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> dict[str, str]:
        return self._database.read(instances.hosts_of, instance_uuids)

    def find_hosts_in_use(self, context: RequestContext, hosts: Sequence[str]) -> dict[str, str]:
        return self._database.read(hosts_in_use.find, hosts)

    def list_zone_uses(self, context: RequestContext) -> list[ZoneUse]:
        return self._database.read(hosts_in_use.list_zone_uses)

    def list_instances_on_hosts(
        self, context: RequestContext, hosts: Sequence[str]
    ) -> list[InstanceOnHost]:
        return self._database.read(instances.names_on_hosts, hosts)

    def list_compute_nodes(self, context: RequestContext) -> list[ComputeNode]:
        return self._database.read(compute_nodes.list_all, cell_uuid=self._cell_uuid)

    def list_known_hosts(self, context: RequestContext) -> dict[str, list[str]]:
        with self._database.reader() as session:
            nodes = compute_nodes.uuids_by_host(session)
            return {host: nodes.get(host, []) for host in {*services.list_hosts(session), *nodes}}
