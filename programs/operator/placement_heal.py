"""``placement heal-allocations``: lookup of the servers and hosts that are healed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from conductor.super_conductor.repair.heal_allocations import Heal, HealOptions, HealSources, Show
from objects.instance import Instance
from objects.request_spec import RequestSpec
from programs.operator.service_clients import Peers
from scheduler.request.expected_allocations import expected_allocations

PAGE_SIZE = 200


def make_heal(
    peers: Peers,
    options: HealOptions,
    *,
    instance: str | None,
    say: Callable[[str], None],
    tell: Callable[[str], None],
    show: Show,
) -> Heal:
    """Return a function that heals one server, or all servers.

    For a named server it raises InstanceNotFound and CellUnavailable.
    """

    def pages() -> Iterator[dict[str, Any]]:
        if instance is not None:
            yield {"instances": [_named(peers, instance)], "down_cells": []}
        else:
            yield from _pages(peers)

    sources = HealSources(
        nodes=lambda: peers.conductor.list_compute_nodes(peers.context),
        pages=pages,
        expected_allocations=lambda found: [expected_allocations(_spec(one)) for one in found],
    )
    return Heal(peers.context, peers.placement, sources, options, say=say, tell=tell, show=show)


def _named(peers: Peers, uuid: str) -> Instance:
    return peers.conductor.get_server(peers.context, uuid)


def _pages(peers: Peers) -> Iterator[dict[str, Any]]:
    marker = None
    while True:
        page = peers.conductor.list_cell_servers(peers.context, limit=PAGE_SIZE, marker=marker)
        yield page
        marker = page["marker"]
        if marker is None:
            return


def _spec(instance: Instance) -> RequestSpec:
    return RequestSpec.from_values(
        project_id="", user_id="", flavor=instance.flavor, image=instance.image
    )
