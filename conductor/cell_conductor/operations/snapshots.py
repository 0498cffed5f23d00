"""Records of snapshots, which the super conductor has: their end is reported to it."""

from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI
from objects.image_record import StoredImage


class Snapshots:
    """Client for the records of this cell's snapshots. Raises what ``SuperConductorAPI`` raises."""

    def __init__(self, cell_uuid: str, top: SuperConductorAPI) -> None:
        self._cell_uuid = cell_uuid
        self._top = top

    def end(
        self, context: RequestContext, instance_uuid: str, image_id: str, stored: StoredImage | None
    ) -> bool:
        """Report the data of a snapshot, or that there is none; False if its image is gone."""
        return self._top.end_snapshot(context, self._cell_uuid, instance_uuid, image_id, stored)
