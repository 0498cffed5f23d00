"""Arguments of operations on servers: as users request them, and as cells begin them."""

from dataclasses import dataclass

from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.instances.server_changes import ServerChanges


@dataclass(frozen=True, slots=True)
class OperationArguments:
    """Arguments of a user's request; each operation reads its own, others are ignored.

    - reboot: is_hard; lock: reason; unlock: override (also removes an administrator's lock;
      default: for administrators);
    - rebuild: image (reference), changes, needs_root_disk (as for new servers); update: changes;
      rescue: image, needs_root_disk;
    - reset_state: vm_state ("active" or "error");
    - resize: flavor (reference, required), is_cross_cell (it may go to another cell);
    - migrate: host, is_cross_cell;
    - unshelve: host, availability_zone (which it is pinned to from then on), or unpins_zone;
    - live_migrate: host; evacuate: host, stays_off (it is not started at its destination).

    For a server in another zone, ``new_flavor`` and ``new_image`` are what the references name in
    the zone that its users know.
    """

    is_hard: bool = False
    reason: str | None = None
    override: bool | None = None
    image: str | None = None
    changes: ServerChanges | None = None
    flavor: str | None = None
    is_cross_cell: bool = False
    host: str | None = None
    vm_state: str | None = None
    availability_zone: str | None = None
    unpins_zone: bool = False
    stays_off: bool = False
    new_flavor: Flavor | None = None
    new_image: ImageMeta | None = None
    needs_root_disk: bool = False

    @property
    def changes_zone(self) -> bool:
        """Whether an unshelved server is pinned to another availability zone, or to none."""
        return self.unpins_zone or self.availability_zone is not None


@dataclass(frozen=True, slots=True)
class CellOperation:
    """Arguments of an operation in a cell.

    Operations that move an instance have a ``migration_uuid``; those between hosts also a
    ``migration_type`` and, if it changes, the new flavor. A rebuild leaves what is None.
    ``stays_off``: an evacuated server is not started at its destination.
    """

    is_hard: bool = False
    image: ImageMeta | None = None
    changes: ServerChanges | None = None
    migration_uuid: str | None = None
    migration_type: str | None = None
    new_flavor: Flavor | None = None
    stays_off: bool = False
