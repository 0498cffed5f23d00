"""Images that a host is asked to fetch reach its agent."""

import pytest

from armillary import exception
from armillary.context import admin_context
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.hosts.image_caching import ImageCaching
from objects.images.image_ticket import ImageTicket
from tests import builders
from tests.fixtures.cell import Cell, cell

__all__ = ["cell"]

IMAGE = builders.an_image()
TICKET = ImageTicket(IMAGE.id, "http://127.0.0.1:9/image", "a token")


def test_the_agent_of_a_host_is_asked(cell: Cell) -> None:
    """By the host's name, which need not be the agent's."""
    agent = cell.add_agent("a", "h1", "h2")
    caching = ImageCaching(cell.database, ComputeAPI(cell.cell_bus))
    found = caching.cache_images(admin_context(), "h2", [IMAGE], [TICKET])
    assert (found.cached, agent.fetched) == ([IMAGE.id], [("h2", [IMAGE.id], [TICKET])])


def test_a_host_that_is_down_or_unknown_is_not_asked(cell: Cell) -> None:
    agent = cell.add_agent("a", "h1")
    caching = ImageCaching(cell.database, ComputeAPI(cell.cell_bus))
    with pytest.raises(exception.HostNotFound):
        caching.cache_images(admin_context(), "h9", [IMAGE], [TICKET])
    agent.is_alive = False
    cell.clock.advance(10 * cell.conf.service_down_time)
    cell.services.watch()
    with pytest.raises(exception.Unavailable, match="host h1 is down"):
        caching.cache_images(admin_context(), "h1", [IMAGE], [TICKET])
    assert agent.fetched == []
