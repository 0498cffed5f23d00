"""Operations that users request on built servers: validated here, executed by their cells."""

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.common.cell_db.services import COMPUTE
from conductor.common.clock import Clock, moment
from conductor.super_conductor.accept import quotas
from conductor.super_conductor.accept.placed_usage import PlacedUsageReader
from conductor.super_conductor.accept.server_requests import check_root_disk
from conductor.super_conductor.builds.cell0 import Cell0
from conductor.super_conductor.db import cell_changes, instance_mappings, moves
from conductor.super_conductor.delete.delete_task import Deletes
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.move.move_task import Moves
from conductor.super_conductor.servers.requested_operation import RequestedOperation, resolved
from conductor.super_conductor.servers.resize_quota import ResizeQuota
from conductor.super_conductor.servers.server_moves import MOVES, ServerMoves
from conductor.super_conductor.servers.server_views import ServerReader
from objects.cell_mapping import CELL0_UUID
from objects.images.image_meta import ImageMeta
from objects.instance import ADMIN, Instance
from objects.instances.operation_arguments import CellOperation, OperationArguments
from objects.instances.operation_rules import check_unlocked
from objects.instances.server_changes import ServerChanges
from objects.instances.server_filters import MigrationFilters

AT_ONCE = frozenset(
    {"stop", "start", "reboot", "restore", "shelve", "shelve_offload",
     "pause", "unpause", "suspend", "resume", "unrescue"}
)  # fmt: skip
"""Operations that need only the server's cell."""
SOFT_DELETED, SOFT_DELETING = "soft-delete", "soft-deleting"
"""State of a server that is kept after its delete, and its task state before."""
ENDS_OF_RESIZES = frozenset({"confirm_resize", "revert_resize"})
UNLOCKED = frozenset({"lock", "unlock"})
UNSCHEDULED = frozenset({"force_delete"})
"""Operations on servers that no cell has yet."""
WITHOUT_HOST = frozenset({"force_delete", "update"})
"""Operations on servers in cell0."""

DeferSoftDelete = Callable[[RequestContext, str, str], None]
"""Stores the soft delete of a busy server, and the reason why it waits."""

RebuildCheck = Callable[[RequestContext, Instance, ImageMeta], None]
"""Raises NoValidHost if an instance's host cannot run an image."""


def is_soft_deleted(server: Instance) -> bool:
    """Return whether a server is deleted softly, or is about to be."""
    return server.vm_state == SOFT_DELETED or server.task_state == SOFT_DELETING


def is_busy(server: Instance) -> bool:
    """Return whether an operation is running on a server that was built and can be kept."""
    is_kept = server.host is not None and server.vm_state != "building"
    return is_kept and server.task_state not in (None, "deleting")


class ServerOperations:
    """Accepts operations; see ``SuperConductorAPI.operate_server``.

    ``defer_soft_delete`` is set once the parts that it needs are there.
    """

    defer_soft_delete: DeferSoftDelete

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        cells: Cells,
        *,
        cell0: Cell0,
        servers: ServerReader,
        deletes: Deletes,
        moves: Moves,
        rebuild_check: RebuildCheck,
        now: Clock,
        placed_usage: PlacedUsageReader,
        resize_ends: Callable[[str], None] = lambda instance_uuid: None,
    ) -> None:
        """``resize_ends`` is called for each instance whose resize is confirmed or reverted."""
        self._conf = conf
        self._database = database
        self._cells = cells
        self._quota = ResizeQuota(conf, now)
        self._cell0 = cell0
        self._servers = servers
        self._deletes = deletes
        self._moves = ServerMoves(
            conf, database, cells, moves=moves, quota=self._quota, now=now,
            placed_usage=placed_usage,
        )  # fmt: skip
        self._rebuild_check = rebuild_check
        self._now = now
        self._placed_usage = placed_usage
        self._resize_ends = resize_ends
        self._handlers: dict[str, Callable[[RequestedOperation], None]] = {
            **dict.fromkeys(AT_ONCE, self._at_once),
            **dict.fromkeys(ENDS_OF_RESIZES, self._end_resize),
            **dict.fromkeys(MOVES, self._moves.move),
            "soft_delete": self._soft_delete,
            "evacuate": self._moves.evacuate,
            "rebuild": self._rebuild,
            "rescue": self._rescue,
            "snapshot": self._snapshot,
            "backup": self._snapshot,
            "reset_state": self._reset_state,
            "unshelve": self._unshelve,
            "lock": self._lock,
            "unlock": self._unlock,
            "update": self._update,
            "force_delete": self._force_delete,
        }

    def operate(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: OperationArguments,
        *,
        is_delegated: bool = False,
    ) -> None:
        """Accept an operation. Raises what ``operate_server`` promises.

        ``is_delegated``: another zone requested it and has checked the quota.
        """
        handler = self._handlers.get(operation)
        if handler is None:
            raise exception.Invalid(
                reason=f"unknown operation {operation!r}; "
                f"known: {', '.join(sorted(self._handlers))}"
            )
        instance = self._servers.get_server(context, instance_uuid)
        if operation not in UNLOCKED:
            check_unlocked(context, instance)
        if instance.cell_uuid is None and operation not in UNSCHEDULED:
            raise exception.InstanceInvalidState(
                instance_uuid=instance_uuid, operation=operation, reason="it is being scheduled"
            )
        if instance.cell_uuid == CELL0_UUID and operation not in WITHOUT_HOST:
            raise exception.InstanceInvalidState(
                instance_uuid=instance_uuid, operation=operation, reason="it has no host"
            )
        handler(
            RequestedOperation(
                context, instance, instance.cell_uuid or "", operation, arguments, is_delegated
            )
        )

    def remote_arguments(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: OperationArguments,
    ) -> OperationArguments:
        """Return an operation's arguments as they are sent to the server's zone.

        A resize is counted against the quota from now on, until the zone reports the server's size.
        Raises FlavorNotFound, ImageNotFound, QuotaExceeded.
        """
        named = resolved(self._database, context, arguments)
        flavor = named.new_flavor
        if operation == "resize" and flavor is not None:
            mapping = self._database.read(instance_mappings.find_mapping, instance_uuid)
            if mapping is not None:
                self._placed_usage.store_within(
                    context,
                    mapping.project_id,
                    lambda placed: self._database.run_in_writer(
                        self._quota.reserve_remote, mapping, flavor, placed
                    ),
                )
        return named

    def soft_delete(self, context: RequestContext, instance_uuid: str) -> bool:
        """Soft-delete a server if that is enabled and possible; return whether it was accepted.

        False means that the server has to be deleted now. Nothing is done to one that is deleted
        softly already: a repeated request must not end what the first one keeps. One that another
        operation is running on is soft-deleted after that.
        """
        if self._conf.reclaim_instance_interval <= 0:
            return False
        server = self._servers.get_server(context, instance_uuid)
        if is_soft_deleted(server):
            return True
        try:
            self.operate(context, instance_uuid, "soft_delete", OperationArguments())
        except exception.MigrationNotFound:
            return False
        except exception.InstanceInvalidState as refusal:
            if not is_busy(server):
                return False
            self.defer_soft_delete(context, instance_uuid, refusal.message)
        return True

    def is_reclaimable(self, deleted_at: datetime) -> bool:
        """Return whether a server that was deleted at a time need not be kept any longer."""
        kept = timedelta(seconds=self._conf.reclaim_instance_interval)
        return moment(self._now()) - deleted_at >= kept

    def check_references(self, context: RequestContext, arguments: OperationArguments) -> None:
        """Raise FlavorNotFound or ImageNotFound if the arguments name what does not exist."""
        resolved(self._database, context, arguments)

    def is_move_stored(self, context: RequestContext, instance_uuid: str) -> bool:
        """Return whether this request has stored a move of the server, which is then resumed."""
        move = self._database.read(moves.find_of, instance_uuid)
        return move is not None and move.context.request_id == context.request_id

    def record_refusal(
        self, context: RequestContext, instance_uuid: str, operation: str, reason: str
    ) -> None:
        """Record in a server's actions why an operation was refused after it was accepted."""
        cell_uuid = self._servers.get_server(context, instance_uuid).cell_uuid
        if cell_uuid in (None, CELL0_UUID):
            return
        self._cells.call(
            str(cell_uuid),
            lambda cell: cell.record_refusal(context, instance_uuid, operation, reason),
        )

    # Handlers

    def _at_once(self, asked: RequestedOperation) -> None:
        self._begin(asked, CellOperation(is_hard=asked.arguments.is_hard))

    def _begin(self, asked: RequestedOperation, arguments: CellOperation) -> None:
        self._cells.call(
            asked.cell_uuid,
            lambda cell: cell.begin_operation(
                asked.context, asked.instance.uuid, asked.operation, arguments
            ),
        )

    def _soft_delete(self, asked: RequestedOperation) -> None:
        """Soft-delete a server, which confirms a resize that waits for it."""
        self._at_once(asked)
        if asked.instance.vm_state == "resized":
            self._resize_ends(asked.instance.uuid)

    def _end_resize(self, asked: RequestedOperation) -> None:
        """Confirm or revert a resize, if the server's former cell answers.

        Raises InstanceInvalidState for a revert while the former host is down.
        """
        changes = self._database.read(cell_changes.list_of, asked.instance.uuid)
        for change in changes:
            former = change.other(asked.cell_uuid)
            if former is not None:
                self._check_former_host(asked, change.migration_uuid, former)
        self._at_once(asked)
        self._resize_ends(asked.instance.uuid)

    def _check_former_host(
        self, asked: RequestedOperation, migration_uuid: str, cell_uuid: str
    ) -> None:
        services = self._cells.call(cell_uuid, lambda cell: cell.list_services(asked.context))
        if asked.operation != "revert_resize":
            return
        (move,) = self._cells.call(
            asked.cell_uuid,
            lambda cell: cell.list_migrations(
                asked.context, filters=MigrationFilters(uuid=migration_uuid), limit=1
            ),
        ) or (None,)
        host = None if move is None else move.source_host
        if any(one.host == host and not one.up for one in services if one.binary == COMPUTE):
            raise exception.InstanceInvalidState(
                instance_uuid=asked.instance.uuid,
                operation=asked.operation,
                reason="its former host is down; wait until it is back, or confirm",
            )

    def _lock(self, asked: RequestedOperation) -> None:
        self._set_lock(asked, locked=True)

    def _unlock(self, asked: RequestedOperation) -> None:
        """Unlock a server.

        Raises Forbidden for an administrator's lock, unless ``override`` is set.
        """
        override = asked.arguments.override
        may_override = asked.context.is_admin if override is None else override
        if asked.instance.locked_by == ADMIN and not may_override:
            raise exception.Forbidden(
                reason=f"server {asked.instance.uuid} was locked by an administrator and can "
                "be unlocked by administrators only"
            )
        self._set_lock(asked, locked=False)

    def _set_lock(self, asked: RequestedOperation, *, locked: bool) -> None:
        reason = asked.arguments.reason
        self._in_its_cell(
            asked,
            lambda cell: cell.set_lock(
                asked.context, asked.instance.uuid, locked=locked, reason=reason
            ),
        )

    def _update(self, asked: RequestedOperation) -> None:
        """Change name, metadata, tags and settings."""
        changes = self._limited(asked) or ServerChanges()
        if asked.cell_uuid == CELL0_UUID:
            self._cell0.update_instance(asked.instance.uuid, changes)
            return
        self._in_its_cell(
            asked,
            lambda cell: cell.update_instance(asked.context, asked.instance.uuid, changes=changes),
        )

    def _limited(self, asked: RequestedOperation) -> ServerChanges | None:
        """Return the requested changes with the project's limit of metadata.

        Raises QuotaExceeded for files beyond the project's limits.
        """
        changes = asked.arguments.changes
        if changes is None or not (changes.metadata or changes.files):
            return changes
        limits = self._database.read(quotas.limits_of, self._conf, asked.instance.project_id)
        quotas.check_files(limits, changes.files or {})
        return dataclasses.replace(changes, metadata_items_max=limits["metadata_items"])

    def _in_its_cell(
        self, asked: RequestedOperation, change: Callable[[CellConductorAPI], None]
    ) -> None:
        try:
            self._cells.call(asked.cell_uuid, change)
        except exception.InstanceNotFound:
            found = self._servers.get_server(asked.context, asked.instance.uuid)
            if found.cell_uuid in (None, asked.cell_uuid):
                raise
            there = dataclasses.replace(asked, instance=found, cell_uuid=found.cell_uuid)
            self._in_its_cell(there, change)  # it has just moved there

    def _force_delete(self, asked: RequestedOperation) -> None:
        self._deletes.delete(asked.context, asked.instance.uuid)

    def _rebuild(self, asked: RequestedOperation) -> None:
        """Rebuild from the same image, or from one that the host can run."""
        if asked.instance.boots_from_volume:
            raise exception.Invalid(
                reason=f"server {asked.instance.uuid} boots from a volume and cannot be rebuilt "
                "from an image"
            )
        image = self._new_image(asked)
        if image is not None:
            self._check_rebuild(asked, image)
        self._begin(asked, CellOperation(image=image, changes=self._limited(asked)))

    def _rescue(self, asked: RequestedOperation) -> None:
        """Run an image, by default the server's own, in place of its guest."""
        image = self._new_image(asked)
        self._begin(asked, CellOperation(image=image))

    def _snapshot(self, asked: RequestedOperation) -> None:
        """Store the data of an image that has a record already. Raises Invalid without one."""
        if asked.arguments.new_image is None:
            raise exception.Invalid(reason="a snapshot is requested by create_snapshot")
        self._begin(asked, CellOperation(image=asked.arguments.new_image))

    def _reset_state(self, asked: RequestedOperation) -> None:
        """Set the state that a server has in the records."""
        vm_state = asked.arguments.vm_state or "error"
        self._in_its_cell(
            asked,
            lambda cell: cell.reset_state(asked.context, asked.instance.uuid, vm_state=vm_state),
        )

    def _check_rebuild(self, asked: RequestedOperation, image: ImageMeta) -> None:
        """Raise NoValidHost if the server's host cannot run another image."""
        present = asked.instance.image
        if present is not None and present.id == image.id:
            return
        self._rebuild_check(asked.context, asked.instance, image)

    def _unshelve(self, asked: RequestedOperation) -> None:
        """Power on a shelved server, or find a host if it was offloaded."""
        if asked.instance.vm_state == "shelved_offloaded":
            self._moves.unshelve(asked)
            return
        if asked.arguments.host or asked.arguments.changes_zone:
            raise exception.InstanceInvalidState(
                instance_uuid=asked.instance.uuid,
                operation="unshelve to another place",
                reason="it is not offloaded",
            )
        self._at_once(dataclasses.replace(asked, operation="unshelve_here"))

    def _new_image(self, asked: RequestedOperation) -> ImageMeta | None:
        """Return the requested image, if any.

        Raises ImageNotFound; Invalid if it is not active, Forbidden if it needs a root disk.
        """
        context, instance, arguments = asked.context, asked.instance, asked.arguments
        image = resolved(self._database, context, arguments).new_image
        if image is not None and image.status != "active":
            raise exception.Invalid(reason=f"image {image.name} is {image.status}, not active")
        if arguments.needs_root_disk:
            check_root_disk(instance.flavor, image)
        return image
