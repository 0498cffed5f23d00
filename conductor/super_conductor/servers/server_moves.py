"""Operations on servers that need a new host: resize, migrations, evacuation, unshelving."""

import dataclasses
import uuid
from collections.abc import Callable

from oslo_config import cfg
from oslo_db import exception as db_exception
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from conductor.common.cell_db.services import COMPUTE
from conductor.common.clock import Clock, moment
from conductor.super_conductor.accept import pinned_zones
from conductor.super_conductor.accept.placed_usage import PlacedUsageReader
from conductor.super_conductor.db import cells, host_mappings
from conductor.super_conductor.db.catalogue.quotas import PlacedUsage
from conductor.super_conductor.db.moves import Move, MoveArguments
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.move.move_task import Moves, write_nothing
from conductor.super_conductor.servers.requested_operation import RequestedOperation, resolved
from conductor.super_conductor.servers.resize_quota import ResizeQuota
from objects.flavor import Flavor
from objects.instances.migration import MigrationType

MOVES = {
    "resize": MigrationType.RESIZE,
    "migrate": MigrationType.MIGRATION,
    "live_migrate": MigrationType.LIVE_MIGRATION,
    "evacuate": MigrationType.EVACUATION,
}
"""Operations that need a new host."""
CHANGES_CELL = frozenset({"resize", "migrate"})
"""Moves that may go to another cell, if the caller may request that."""


class ServerMoves:
    """Checks what a move needs, stores it and starts it."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        cells: Cells,
        *,
        moves: Moves,
        quota: ResizeQuota,
        now: Clock,
        placed_usage: PlacedUsageReader,
    ) -> None:
        self._conf = conf
        self._database = database
        self._cells = cells
        self._moves = moves
        self._quota = quota
        self._now = now
        self._placed_usage = placed_usage

    def move(self, asked: RequestedOperation) -> None:
        """Resize or migrate a server, within its quota if it has to be counted."""
        asked = dataclasses.replace(asked, is_cross_cell=self._may_change_cell(asked))
        arguments = MoveArguments(
            migration_type=MOVES[asked.operation].value,
            ignore_hosts=self._ignored(asked),
            is_cross_cell=asked.is_cross_cell,
            host=self._host_asked(asked),
            stays_off=asked.arguments.stays_off,
        )
        if asked.operation != "resize":
            self._accept_move(asked, arguments)
            return
        flavor = self._new_flavor(asked)
        arguments = dataclasses.replace(arguments, new_flavor=flavor.obj_to_primitive())
        self._placed_usage.store_within(
            asked.context,
            asked.instance.project_id,
            lambda placed: self._accept_move(
                asked,
                arguments,
                within=lambda session: self._quota.reserve(
                    session, asked.instance, flavor, placed, is_counted=not asked.is_delegated
                ),
            ),
        )

    def evacuate(self, asked: RequestedOperation) -> None:
        """Move a server off a host that is down. Raises HostIsUp if it is not."""
        services = self._cells.call(asked.cell_uuid, lambda cell: cell.list_services(asked.context))
        host = asked.instance.host
        if any(each.host == host and each.up for each in services if each.binary == COMPUTE):
            raise exception.HostIsUp(instance_uuid=asked.instance.uuid, host=host)
        self.move(asked)

    def unshelve(self, asked: RequestedOperation) -> None:
        """Find a host for a server that was offloaded."""
        given, uuid = asked.arguments, asked.instance.uuid
        host = self._host_asked(asked)
        self._check_pinned_zone(asked, host)

        def within(session: Session, placed: PlacedUsage | None) -> None:
            if not asked.is_delegated:
                self._quota.check_unshelve(session, asked.instance, placed)
            if given.changes_zone:
                pinned_zones.pin(session, uuid, given.availability_zone)

        self._placed_usage.store_within(
            asked.context,
            asked.instance.project_id,
            lambda placed: self._accept_move(
                asked, MoveArguments(host=host), lambda session: within(session, placed)
            ),
        )

    def _check_pinned_zone(self, asked: RequestedOperation, host: str | None) -> None:
        """Raise AvailabilityZoneNotFound, or Invalid for a host outside the server's zone."""
        given, uuid = asked.arguments, asked.instance.uuid
        with self._database.reader() as session:
            zone = given.availability_zone
            if zone is not None:
                pinned_zones.check_known(session, self._conf, zone)
            elif not given.unpins_zone:
                zone = pinned_zones.find(session, uuid)
            if host is not None:
                pinned_zones.check_host(session, self._conf, uuid, zone=zone, host=host)

    def _accept_move(
        self,
        asked: RequestedOperation,
        arguments: MoveArguments,
        within: Callable[[Session], None] = write_nothing,
    ) -> None:
        """Store a move together with what ``within`` writes, and start it.

        Raises InstanceInvalidState while another move is in progress, and what ``within`` raises.
        """
        move = Move(
            migration_uuid=str(uuid.uuid4()),
            instance_uuid=asked.instance.uuid,
            cell_uuid=asked.cell_uuid,
            operation=asked.operation,
            arguments=arguments,
            context=asked.context,
            takes=1,
            accepted_at=moment(self._now()),
        )
        try:
            self._moves.accept(move, within)
        except db_exception.DBDuplicateEntry as error:
            raise exception.InstanceInvalidState(
                instance_uuid=asked.instance.uuid,
                operation=asked.operation,
                reason="it is already being moved",
            ) from error

    def _ignored(self, asked: RequestedOperation) -> list[str]:
        """Return the hosts to exclude: the current one, unless the server may stay there."""
        may_stay = asked.operation == "resize" and self._conf.allow_resize_to_same_host
        host = asked.instance.host
        return [] if may_stay or host is None else [host]

    def _may_change_cell(self, asked: RequestedOperation) -> bool:
        """Return whether a move may change cells: if requested, and if there are several."""
        if not asked.arguments.is_cross_cell or asked.operation not in CHANGES_CELL:
            return False
        return len(self._cells.list_cells()) > 1

    def _host_asked(self, asked: RequestedOperation) -> str | None:
        """Return the requested host, if any. Raises HostNotFound, CellDisabled, Invalid."""
        host = asked.arguments.host
        if host is None:
            return None
        with self._database.reader() as session:
            mapping = host_mappings.find_host_mapping(session, host)
            if mapping is not None and asked.is_cross_cell and mapping.cell_uuid != asked.cell_uuid:
                cells.check_enabled(session, mapping)
        if mapping is None:
            raise exception.HostNotFound(host=host)
        if mapping.cell_uuid != asked.cell_uuid and not asked.is_cross_cell:
            raise exception.Invalid(
                reason=f"host {host} is in another cell than server {asked.instance.uuid}"
            )
        if host == asked.instance.host and asked.operation != "resize":
            raise exception.Invalid(
                reason=f"server {asked.instance.uuid} is already on host {host}"
            )
        return host

    def _new_flavor(self, asked: RequestedOperation) -> Flavor:
        """Return the requested flavor. Raises FlavorNotFound; Invalid for the current one."""
        flavor = resolved(self._database, asked.context, asked.arguments).new_flavor
        if flavor is None:
            raise exception.Invalid(reason="a resize needs a flavor")
        if flavor.disabled:
            raise exception.Invalid(reason=f"flavor {flavor.name} is disabled")
        if flavor.flavorid == asked.instance.flavor.flavorid:
            raise exception.Invalid(
                reason=f"server {asked.instance.uuid} already has the flavor {flavor.name}"
            )
        return flavor
