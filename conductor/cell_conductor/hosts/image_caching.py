"""Images that hosts are asked to fetch: passed on to their agents."""

from collections.abc import Sequence

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from compute_agent.interface import ComputeAPI
from conductor.common.cell_db import services
from objects.hosts.image_fetches import ImageFetches
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import ImageTicket


class ImageCaching:
    """Endpoint, see ``CellConductorAPI``; nothing is kept, since the super conductor asks again."""

    def __init__(self, database: Database, compute: ComputeAPI) -> None:
        self._database = database
        self._compute = compute

    def cache_images(
        self,
        context: RequestContext,
        host: str,
        images: Sequence[ImageMeta],
        tickets: Sequence[ImageTicket],
    ) -> ImageFetches:
        """Have a host fetch images, or ask how far it is.

        Raises HostNotFound, Unavailable for a host that is down, and what the agent raises.
        """
        with self._database.reader() as session:
            service = services.find_by_hosts(session, {host}).get(host)
        if service is None or service.agent is None:
            raise exception.HostNotFound(host=host)
        if not service.is_up:
            raise exception.Unavailable(reason=f"host {host} is down")
        return self._compute.cache_images(context, service.agent, host, images, tickets)
