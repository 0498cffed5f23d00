"""Records of snapshots, which the super conductor has: their end is reported to it."""

from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI
from objects.images.image_meta import ImageMeta
from objects.images.image_record import StoredImage


class Snapshots:
    """Client for the records of this cell's snapshots. Raises what ``SuperConductorAPI`` raises."""

    def __init__(self, cell_uuid: str, top: SuperConductorAPI) -> None:
        self._cell_uuid = cell_uuid
        self._top = top

    def create(self, context: RequestContext, instance_uuid: str, image: ImageMeta) -> bool:
        """Create the record of a shelved server's image; False if that is not possible."""
        return self._top.create_shelved_image(context, self._cell_uuid, instance_uuid, image)

    def forget(self, context: RequestContext, instance_uuid: str, image_id: str) -> None:
        """Delete the record of a shelved server's image; a missing one is ignored."""
        self.end(context, instance_uuid, image_id, None)

    def end(
        self, context: RequestContext, instance_uuid: str, image_id: str, stored: StoredImage | None
    ) -> bool:
        """Report the data of a snapshot, or that there is none; False if its image is gone."""
        return self._top.end_snapshot(context, self._cell_uuid, instance_uuid, image_id, stored)
