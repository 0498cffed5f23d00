"""RPC interface of the super conductor."""

from collections.abc import Mapping, Sequence

from armillary.context import RequestContext
from armillary.idempotency import IdempotencyRecord
from objects.aggregate import Aggregate, AggregateChanges
from objects.allocation import AllocationPage
from objects.cluster_facts import ClusterFacts
from objects.flavor import Flavor
from objects.hosts.activity import Activity
from objects.hosts.fleet import FleetPage
from objects.hosts.host_answers import (
    AvailabilityZone,
    ComputeNodeDetails,
    ComputeNodePage,
    ServiceChanges,
    ServicePage,
)
from objects.hosts.host_details import HostDetails
from objects.hosts.service import Service
from objects.image_meta import ImageMeta
from objects.image_record import ImageRecord, NewSnapshot, StoredImage
from objects.instance import Instance
from objects.instance_fault import InstanceFault
from objects.instances.diagnostics import Diagnostics
from objects.instances.explanation import DryRun, Explanation
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_command import CommandAnswer, CommandId, InstanceCommand
from objects.instances.instance_group import InstanceGroup
from objects.instances.new_servers import DryRunRequest, NewServers
from objects.instances.operation_arguments import OperationArguments
from objects.instances.serial_console import SerialConsole
from objects.instances.server_answers import (
    CellServerMarker,
    CellServerPage,
    CreatedServers,
    MigrationPage,
    ServerPage,
)
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.instances.server_record import ServerRecord
from objects.instances.server_topology import ServerTopology
from objects.key_pair import KeyPair
from objects.pool import Pool
from objects.repair_answers import AggregateSyncResult, OrphanSearch
from objects.resource_claim import ClaimExplanation, NewClaim, ResourceClaim
from objects.zones.zone_record import ZoneRecord, ZoneSettings
from objects.zones.zone_status import ZoneList, ZoneStatus
from rpc.callers import API, CELL, CELL_ITSELF, CONDUCTOR, OPERATOR, PLACEMENT, SCHEDULER
from rpc.interface import Idempotent, Interface, call


class SuperConductorAPI(Interface):
    """The super conductor, on the top broker; used by the API and the schedulers.

    All methods are calls. Errors are the classes of ``armillary.exception`` named after each noun
    (XNotFound, XExists, QuotaExceeded, Invalid …). A caller without the admin role sees only the
    servers and groups of its own project.
    """

    TOPIC = "conductor"
    SERVED_BY = "conductor"

    # Servers

    @call(API, idempotent=Idempotent.BY_KEY)
    def create_servers(self, context: RequestContext, servers: NewServers) -> CreatedServers:
        """Accept a request durably: once it is answered, it is never lost.

        Raises FlavorNotFound, ImageNotFound, AvailabilityZoneNotFound, ServerGroupNotFound,
        HostNotFound, QuotaExceeded, Invalid.
        """

    @call(API, OPERATOR)
    def get_server(
        self, context: RequestContext, instance_uuid: str, *, for_display: bool = False
    ) -> Instance:
        """Return an instance, whether it is a build request, in a cell or in cell0.

        With ``for_display`` it has its pinned availability zone and hints, and one whose cell or
        zone does not answer is ``UNKNOWN``, with the fields that are known here.

        Raises InstanceNotFound; CellUnavailable or ZoneUnavailable unless ``for_display``.
        """

    @call(API, OPERATOR)
    def list_servers(
        self,
        context: RequestContext,
        *,
        filters: ServerFilters,
        limit: int,
        marker: str | None = None,
        for_display: bool = False,
    ) -> ServerPage:
        """Return a page of servers, in the order of ``filters``.

        ``marker``: UUID of the last server of the previous page. A cell that does not answer is
        listed in ``down_cells``. Its servers are left out, or ``UNKNOWN`` with ``for_display``,
        unless filters ask for what is not known. ``for_display`` is as for ``get_server``.
        """

    @call(API)
    def delete_server(self, context: RequestContext, instance_uuid: str) -> None:
        """Accept the delete of a server in any state; once accepted, it will be carried out.

        Raises InstanceNotFound.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def operate_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: OperationArguments,
    ) -> None:
        """Accept an operation on a built server.

        Once accepted, the operation is stored and will be executed, or undone with a recorded
        reason (actions, faults). Operations: stop, start, reboot, lock, unlock, rebuild, resize,
        confirm_resize, revert_resize, migrate, live_migrate, evacuate, shelve, shelve_offload,
        unshelve, soft_delete, restore, force_delete, pause, unpause, suspend, resume, rescue,
        unrescue, reset_state, update; delete, for a server whose cell or zone is silent.

        What needs nothing but the server is accepted while its cell or zone does not answer; it is
        done, or refused with the reason in the actions, when that is back.

        Raises InstanceNotFound; InstanceInvalidState, HostIsUp, InstanceLocked; FlavorNotFound,
        ImageNotFound, HostNotFound, QuotaExceeded; NoValidHost if that is known at once; Invalid;
        CellUnavailable.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_snapshot(
        self, context: RequestContext, instance_uuid: str, snapshot: NewSnapshot
    ) -> ImageRecord:
        """Store an image with the status ``saving``, which the server's host stores the data of.

        It becomes active, or is deleted if that fails. Raises InstanceNotFound,
        InstanceInvalidState, InstanceLocked, QuotaExceeded, CellUnavailable.
        """

    @call(API)
    def get_console_output(
        self, context: RequestContext, instance_uuid: str, *, lines: int | None = None
    ) -> str:
        """Return a server's last console output.

        Raises InstanceNotFound, InstanceInvalidState, OperationFailed, OperationUnsupported,
        CellUnavailable.
        """

    @call(API)
    def get_diagnostics(self, context: RequestContext, instance_uuid: str) -> Diagnostics:
        """Return what the driver measures of a server. Raises as ``get_console_output``."""

    @call(API)
    def get_topology(self, context: RequestContext, instance_uuid: str) -> ServerTopology:
        """Return the NUMA topology of a server, without cells if it is on no host.

        Raises InstanceNotFound, InstanceInvalidState (its host is down), CellUnavailable.
        """

    @call(API)
    def create_serial_console(self, context: RequestContext, instance_uuid: str) -> SerialConsole:
        """Return how to reach a server's serial console, once. Raises as ``get_console_output``."""

    @call(API)
    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, *, password: str
    ) -> None:
        """Set the administrator's password in an active server.

        Raises InstanceLocked, and as ``get_console_output``.
        """

    @call(API)
    def list_migrations(
        self, context: RequestContext, *, filters: MigrationFilters, limit: int
    ) -> MigrationPage:
        """Return a page of migrations, newest first."""

    @call(API)
    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Abort a running live migration.

        Raises InstanceNotFound, MigrationNotFound, InstanceInvalidState, CellUnavailable.
        """

    @call(API)
    def force_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Complete a running live migration at once. Raises as ``abort_migration``."""

    @call(API)
    def list_server_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        """Return the actions with their events, newest first. Raises InstanceNotFound."""

    @call(API)
    def explain_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        *,
        with_hosts: bool | None = None,
        decision_of: str | None = None,
    ) -> Explanation:
        """Return why an instance is on its host.

        The trace is that of the last decision, or of the one made for the request ``decision_of``.

        Without ``with_hosts``, names of hosts and values that may contain them are left out. With
        None they are included for administrators only. Raises InstanceNotFound, DecisionNotFound,
        CellUnavailable.
        """

    @call(API)
    def dry_run(
        self, context: RequestContext, request: DryRunRequest, *, with_hosts: bool
    ) -> DryRun:
        """Return where servers would be built now; nothing is claimed, stored or counted.

        Of ``servers`` the maximum number is tried; for the fields of ``request_spec`` see
        ``conductor.super_conductor.accept.plain_specs``. Names of hosts and zones are left out
        without ``with_hosts``.
        Raises as ``create_servers`` except QuotaExceeded, and UnsupportedPolicy, CellUnavailable,
        Unavailable.
        """

    # Repeated HTTP requests, see ``armillary.idempotency.Records``

    @call(API)
    def begin_request(
        self, context: RequestContext, key: str, fingerprint: str
    ) -> IdempotencyRecord:
        """Store that a request is being handled, unless it was before; return its record.

        Raises QuotaExceeded for a project with very many records.
        """

    @call(API)
    def keep_answer(self, context: RequestContext, key: str, answer: str) -> None:
        """Store the answer to a request for its repeats."""

    @call(API)
    def abandon_request(self, context: RequestContext, key: str) -> None:
        """Have the next repeat handled again: the outcome of the request is unknown."""

    @call(API)
    def forget_request(self, context: RequestContext, key: str) -> None:
        """Delete the record of a request that was refused."""

    # Flavors and images

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_flavor(self, context: RequestContext, flavor: Flavor) -> Flavor:
        """Store a flavor; an empty flavorid gets a UUID. Raises FlavorExists."""

    @call(API)
    def get_flavor(self, context: RequestContext, flavor: str) -> Flavor:
        """Return a flavor by ID, else by name.

        Raises FlavorNotFound, also for a private flavor of other projects.
        """

    @call(API)
    def list_flavors(
        self, context: RequestContext, *, is_public: bool | None = True
    ) -> list[Flavor]:
        """Return the public flavors and those of the caller's project, sorted by ID.

        False: return the private ones only, None: all; each that the caller may use, as
        administrators may any.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def set_extra_specs(
        self, context: RequestContext, flavor: str, extra_specs: dict[str, str]
    ) -> Flavor:
        """Replace the extra specs of a flavor. Raises FlavorNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def set_flavor_description(
        self, context: RequestContext, flavor: str, description: str | None
    ) -> Flavor:
        """Replace the description of a flavor. Raises FlavorNotFound."""

    @call(API)
    def list_flavor_access(self, context: RequestContext, flavor: str) -> list[str]:
        """Return the projects that may use a private flavor, sorted. Raises FlavorNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def add_flavor_access(self, context: RequestContext, flavor: str, project_id: str) -> list[str]:
        """Let a project use a private flavor; return all that may.

        Raises FlavorNotFound, FlavorIsPublic, FlavorAccessExists.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def remove_flavor_access(
        self, context: RequestContext, flavor: str, project_id: str
    ) -> list[str]:
        """Take a private flavor from a project; return all that may use it.

        Raises FlavorNotFound, FlavorAccessNotFound.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_flavor(self, context: RequestContext, flavor: str) -> None:
        """Delete a flavor; instances keep their copy. Raises FlavorNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_key_pair(self, context: RequestContext, key_pair: KeyPair) -> KeyPair:
        """Store a user's public key. Raises KeyPairExists, QuotaExceeded."""

    @call(API)
    def get_key_pair(self, context: RequestContext, user_id: str, name: str) -> KeyPair:
        """Return a user's key pair. Raises KeyPairNotFound."""

    @call(API)
    def list_key_pairs(self, context: RequestContext, user_id: str) -> list[KeyPair]:
        """Return a user's key pairs, sorted by name."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_key_pair(self, context: RequestContext, user_id: str, name: str) -> None:
        """Delete a user's key pair. Raises KeyPairNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_image(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        """Store an image record of the caller's project. Raises ImageExists.

        The caller sets the ID.
        """

    @call(API)
    def get_image(self, context: RequestContext, image: str) -> ImageMeta:
        """Return an image by ID, else by name.

        Its private properties are there for administrators and its owner's project only. Raises
        ImageNotFound, Invalid for an ambiguous name.
        """

    @call(API)
    def list_images(self, context: RequestContext) -> list[ImageMeta]:
        """Return all images, sorted by name and ID; for private properties see ``get_image``."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_image(self, context: RequestContext, image: str) -> None:
        """Delete an image record; instances keep their copy.

        Raises ImageNotFound, ImageProtected.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_image_record(
        self, context: RequestContext, record: ImageRecord, of_owner_max: int
    ) -> ImageRecord:
        """Store an image with all that the image service knows; its ID is set by the caller.

        An owner may have ``of_owner_max`` images. Raises ImageExists, QuotaExceeded.
        """

    @call(API)
    def get_image_record(self, context: RequestContext, image: str) -> ImageRecord:
        """Return an image that the user may use, by ID, else by name.

        Private properties and members are those that the user may see. Raises ImageNotFound,
        Invalid for an ambiguous name.
        """

    @call(API)
    def list_image_records(self, context: RequestContext) -> list[ImageRecord]:
        """Return all images that the user may use, sorted by name and ID."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_image_record(self, context: RequestContext, record: ImageRecord) -> ImageRecord:
        """Replace an image that was read, if it is still of that generation.

        Raises ImageNotFound, ImageChanged.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def answer_image_sharing(
        self, context: RequestContext, image: str, member: str, status: str
    ) -> ImageRecord:
        """Store whether the project ``member`` accepts an image that is shared with it.

        Raises ImageNotFound, also if it is not shared with that project, and ImageChanged.
        """

    @call(API)
    def get_host_id_key(self, context: RequestContext) -> str:
        """Return the deployment's secret key of hosts' opaque ids, as text."""

    # Aggregates, zones, server groups

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_aggregate(
        self, context: RequestContext, name: str, availability_zone: str | None
    ) -> Aggregate:
        """Create an aggregate without hosts. Raises AggregateExists, Invalid."""

    @call(API, OPERATOR)
    def list_aggregates(self, context: RequestContext) -> list[Aggregate]:
        """Return all aggregates, sorted by ID."""

    @call(API)
    def get_aggregate(self, context: RequestContext, aggregate: str) -> Aggregate:
        """Return an aggregate by ID or UUID (as text). Raises AggregateNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_aggregate(
        self, context: RequestContext, aggregate: str, changes: AggregateChanges
    ) -> Aggregate:
        """Change an aggregate.

        Raises AggregateNotFound, AggregateExists, HostInOtherZone, ZoneInUseByServers,
        ZoneKeptByServer.
        """

    @call(API)
    def delete_aggregate(self, context: RequestContext, aggregate: str) -> None:
        """Delete an aggregate. Raises AggregateNotFound, AggregateInUse while it has hosts."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def add_aggregate_host(self, context: RequestContext, aggregate: str, host: str) -> Aggregate:
        """Add a host to an aggregate.

        Raises AggregateNotFound, HostNotFound, AggregateHostExists, HostInOtherZone,
        ZoneInUseByServers.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def remove_aggregate_host(
        self, context: RequestContext, aggregate: str, host: str
    ) -> Aggregate:
        """Remove a host from an aggregate. Raises AggregateNotFound, AggregateHostNotFound."""

    @call(API)
    def list_availability_zones(self, context: RequestContext) -> list[AvailabilityZone]:
        """Return all availability zones, sorted by name."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_server_group(
        self, context: RequestContext, name: str, policy: str, rules: dict[str, str]
    ) -> InstanceGroup:
        """Create a server group without members. Raises Invalid, QuotaExceeded."""

    @call(API)
    def list_server_groups(
        self, context: RequestContext, *, all_projects: bool = False
    ) -> list[InstanceGroup]:
        """Return the project's groups, or all for an administrator."""

    @call(API)
    def get_server_group(self, context: RequestContext, group: str) -> InstanceGroup:
        """Return one group. Raises ServerGroupNotFound."""

    @call(API)
    def delete_server_group(self, context: RequestContext, group: str) -> None:
        """Delete a group; its members are not changed. Raises ServerGroupNotFound."""

    # Claims on pools

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_claim(self, context: RequestContext, claim: NewClaim) -> ResourceClaim:
        """Accept a claim durably; it is PENDING until a scheduler has found a pool for it.

        Raises Invalid, InstanceNotFound, QuotaExceeded.
        """

    @call(API)
    def get_claim(self, context: RequestContext, claim_uuid: str) -> ResourceClaim:
        """Return a claim. Raises ClaimNotFound."""

    @call(API)
    def explain_claim(
        self, context: RequestContext, claim_uuid: str, *, with_pools: bool = False
    ) -> ClaimExplanation:
        """Return a claim and why it has its pool, or none; perhaps with the names of pools.

        Raises ClaimNotFound.
        """

    @call(API)
    def list_claims(
        self,
        context: RequestContext,
        *,
        all_projects: bool = False,
        server_uuid: str | None = None,
        kind: str | None = None,
        limit: int = 1000,
        marker: str | None = None,
    ) -> list[ResourceClaim]:
        """Return a page of the project's claims, newest first; for an administrator of all.

        ``marker`` is the last claim of the previous page. Raises ClaimNotFound for an unknown one.
        """

    @call(API)
    def delete_claim(self, context: RequestContext, claim_uuid: str) -> None:
        """Accept the end of a claim; once accepted, its resources will be released.

        Raises ClaimNotFound.
        """

    @call(API)
    def get_claim_quotas(
        self, context: RequestContext, project_id: str
    ) -> dict[str, dict[str, int]]:
        """Return resource -> {"limit", "in_use"}: ``claims``, and ``claims:CLASS`` for amounts."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_claim_quotas(
        self, context: RequestContext, project_id: str, limits: dict[str, int]
    ) -> dict[str, dict[str, int]]:
        """Set limits of a project's claims. Raises Invalid."""

    @call(API)
    def list_pools(
        self, context: RequestContext, *, kind: str | None = None
    ) -> dict[str, list[Pool]]:
        """Return the pools of this zone by kind, of all kinds or of one. Raises Invalid."""

    # Hosts

    @call(API)
    def list_services(self, context: RequestContext) -> ServicePage:
        """Return the services of all cells and those on the top broker, whose cell is cell0."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_service(
        self, context: RequestContext, service_uuid: str, changes: ServiceChanges
    ) -> Service:
        """Change a compute service. Raises ServiceNotFound, Invalid for other services."""

    @call(API)
    def delete_service(self, context: RequestContext, service_uuid: str) -> None:
        """Delete record, compute nodes, providers, mapping. Raises ServiceNotFound, InUse."""

    @call(API, CONDUCTOR, PLACEMENT, SCHEDULER, timeout_seconds=15.0)
    def report_service(
        self,
        context: RequestContext,
        host: str,
        binary: str,
        *,
        service_version: int,
        worker: int = 0,
        figures: Mapping[str, float] | None = None,
    ) -> dict[str, int]:
        """Send the heartbeat of a service that has no other record, with figures of a worker.

        See ``armillary.service_figures``. Answers as ``get_oldest_services``. Raises ServiceTooOld,
        Invalid.
        """

    @call(API, CELL, CONDUCTOR, OPERATOR, PLACEMENT, SCHEDULER)
    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        """Return the oldest service version by interface.

        Interfaces of the top broker, named as in ``[upgrade_levels]``; those without a living
        service record are left out.
        """

    @call(API, OPERATOR)
    def list_compute_nodes(self, context: RequestContext) -> ComputeNodePage:
        """Return all hypervisors with their usage."""

    @call(API)
    def get_compute_node(self, context: RequestContext, node: str) -> ComputeNodeDetails:
        """Return one compute node by UUID or node name. Raises ComputeNodeNotFound."""

    @call(API)
    def get_host(self, context: RequestContext, host: str) -> HostDetails:
        """Return one host with its providers, servers and migrations.

        Raises HostNotFound, CellUnavailable.
        """

    @call(API)
    def get_activity(self, context: RequestContext) -> Activity:
        """Return what the services do now; its size does not depend on the number of hosts."""

    @call(API)
    def get_fleet(
        self,
        context: RequestContext,
        *,
        limit: int,
        marker: str | None = None,
        known_epoch: str | None = None,
    ) -> FleetPage:
        """Return a page of all hosts as columns, with capacity and use, at most 2 seconds old.

        ``marker``: the last node of the previous page. Without rows if the page is that of
        ``known_epoch``. Raises Invalid, Unavailable.
        """

    # Zones

    @call(API, OPERATOR)
    def list_zones(self, context: RequestContext) -> ZoneList:
        """Return this zone and its child zones."""

    @call(API, OPERATOR)
    def get_zone(self, context: RequestContext, zone: str) -> ZoneStatus:
        """Return this zone or a child zone by name. Raises ZoneNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_zone(
        self, context: RequestContext, name: str, settings: ZoneSettings, *, verify: bool
    ) -> ZoneRecord:
        """Put a zone below this one. Raises ZoneExists, Invalid.

        ``verify``: connect to its broker first; one that refuses is Invalid, too.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_zone(
        self, context: RequestContext, zone: str, settings: ZoneSettings, *, verify: bool
    ) -> ZoneRecord:
        """Change the given settings of a child zone. Raises ZoneNotFound, Invalid."""

    @call(API)
    def delete_zone(self, context: RequestContext, zone: str, *, force: bool) -> None:
        """Take a child zone out of the tree. Raises ZoneNotFound, ZoneInUse.

        ``force`` also removes the mappings of deleted servers.
        """

    @call(API, OPERATOR)
    def refresh_zones(self, context: RequestContext) -> None:
        """Refresh and push the summaries of all zones in the tree."""

    # Quotas, allocations, cells

    @call(API)
    def get_quotas(self, context: RequestContext, project_id: str) -> dict[str, dict[str, int]]:
        """Return resource -> {"limit", "in_use"}; -1 is unlimited.

        Without a project's id: the defaults for all projects.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_quotas(
        self, context: RequestContext, project_id: str, limits: dict[str, int]
    ) -> dict[str, dict[str, int]]:
        """Set limits of a project, without its id the defaults for all projects.

        Raises Invalid for an unknown resource or an invalid limit.
        """

    @call(API)
    def reset_quotas(self, context: RequestContext, project_id: str) -> None:
        """Delete the limits set for a project: the defaults are its limits again."""

    @call(API, OPERATOR)
    def list_allocations(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> AllocationPage:
        """Return what PlacementAPI.list_allocations and get_usage_totals return."""

    @call(OPERATOR)
    def find_orphans(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        """Return which of at most 1,000 consumers of the server type are orphans.

        ``consumers``: UUID -> UUIDs of the providers that it has allocations on. A server that is
        being deleted exists until that is done. Raises Invalid.
        """

    @call(OPERATOR)
    def find_orphan_migrations(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        """Return which of these consumers belong to no migration that is still running.

        As ``find_orphans``, for consumers of the type MIGRATION.
        """

    @call(OPERATOR)
    def find_orphan_claims(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        """Return which of these consumers belong to no claim; as ``find_orphans``, for CLAIM."""

    @call(OPERATOR)
    def list_cell_servers(
        self, context: RequestContext, *, limit: int, marker: CellServerMarker | None = None
    ) -> CellServerPage:
        """Return a page of living servers as their cell has them.

        Each has the UUID of its consumer in placement. Servers in other zones, and those being
        built or deleted, are left out. Raises Invalid for a limit above 1000.
        """

    @call(OPERATOR)
    def sync_aggregate(
        self, context: RequestContext, aggregate: str, *, dry_run: bool
    ) -> AggregateSyncResult:
        """Set placement's aggregate to exactly the compute nodes of an aggregate's hosts.

        A dry run changes nothing. Raises AggregateNotFound.
        """

    @call(SCHEDULER, CONDUCTOR)
    def get_cluster_metadata(self, context: RequestContext) -> ClusterFacts:
        """Return the metadata that every scheduler needs."""

    # Between cells, called by the conductor of the cell ``cell_uuid``. They raise
    # CellUnavailable, Conflict when the instance does not (or no longer) change cells in that
    # move, and NotItsOwn when the cell does not take part in it.

    @call(CELL_ITSELF)
    def execute_in_other_cell(
        self,
        context: RequestContext,
        cell_uuid: str,
        to_cell_uuid: str,
        record: ServerRecord,
        command: InstanceCommand,
    ) -> str | None:
        """Send a command to a host of the move's other cell; return why that failed, or None."""

    @call(CELL_ITSELF)
    def report_to_other_cell(
        self,
        context: RequestContext,
        cell_uuid: str,
        migration_uuid: str,
        command: CommandId,
        *,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        """Send the other cell the answer to its command; return "accepted" or "stale"."""

    @call(CELL_ITSELF)
    def is_command_wanted_by_other_cell(
        self, context: RequestContext, cell_uuid: str, migration_uuid: str, command: CommandId
    ) -> bool:
        """Return whether the other cell still waits for the answer to a command."""

    @call(CELL_ITSELF)
    def hand_over_instance(
        self, context: RequestContext, cell_uuid: str, record: ServerRecord
    ) -> None:
        """Hand an instance over to the other cell and map it there. Idempotent."""

    @call(CELL_ITSELF)
    def end_cell_change(
        self, context: RequestContext, cell_uuid: str, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Remove the copy in the other cell, soon. Idempotent; never raises Conflict."""

    @call(CELL_ITSELF)
    def create_shelved_image(
        self, context: RequestContext, cell_uuid: str, instance_uuid: str, image: ImageMeta
    ) -> bool:
        """Create the image that keeps the disk of a shelved server of this cell.

        Its owner is the server's project. Idempotent. Returns False if the server is not the
        cell's, or the image is not for it.
        """

    @call(CELL_ITSELF)
    def end_snapshot(
        self,
        context: RequestContext,
        cell_uuid: str,
        instance_uuid: str,
        image_id: str,
        stored: StoredImage | None,
    ) -> bool:
        """Make a snapshot of an instance of this cell active, or delete it without data.

        Without data, that of a shelved server is marked as pending deletion, even if it is active:
        the image service deletes it with its data. Idempotent. Returns False if the image is gone,
        or is not such a snapshot.
        """

    @call(CELL)
    def list_cell_changes(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        """Return which of these migrations (at most 1,000) move between cells.

        Raises Invalid.
        """

    @call(CELL)
    def list_deleted_instances(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> list[str]:
        """Return which of these instances (at most 1,000) were deleted, or are unknown.

        A cell asks before it releases what an instance holds that its own records call deleted.
        Raises Invalid.
        """

    @call(CELL)
    def list_moves(self, context: RequestContext, migration_uuids: Sequence[str]) -> list[str]:
        """Return which of these moves (at most 1,000) are still being scheduled.

        Raises Invalid.
        """
