"""Tickets for images: fetched from the conductor, or received with a request."""

import functools
import threading
from collections.abc import Iterable

from armillary.context import admin_context
from compute_agent.virt.image_service import GetTicket
from conductor.cell_conductor.interface import CellConductorAPI
from objects.images.image_ticket import ImageTicket


class ImageTickets:
    """Tickets of an agent's hosts: for instances, and for images to fetch in advance."""

    def __init__(self, agent: str, conductor: CellConductorAPI) -> None:
        self._agent = agent
        self._conductor = conductor
        self._lock = threading.Lock()
        self._given: dict[tuple[str, str], ImageTicket] = {}

    def of_host(self, host: str) -> GetTicket:
        """Return the function by which a host gets its tickets."""
        return functools.partial(self._get, host)

    def give(self, host: str, tickets: Iterable[ImageTicket]) -> None:
        """Keep tickets for images that a host is to fetch in advance; newer ones replace them."""
        with self._lock:
            self._given |= {(host, ticket.image_id): ticket for ticket in tickets}

    def withdraw(self, host: str, image_id: str) -> None:
        """Forget the ticket of an image that was fetched in advance, or could not be."""
        with self._lock:
            self._given.pop((host, image_id), None)

    def _get(
        self, host: str, image_id: str, access: str, instance_uuid: str | None
    ) -> ImageTicket | None:
        if instance_uuid is None:
            with self._lock:
                return self._given.get((host, image_id))
        context = admin_context().for_instance(instance_uuid)
        return self._conductor.get_image_ticket(
            context, self._agent, host, instance_uuid, image_id, access
        )
