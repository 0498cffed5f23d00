"""Periodic healing: adds allocations that servers on a host lack in placement.

A server that cannot be healed is logged, such as one with allocations on another host than its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.repair.heal_allocations import (
    Amounts,
    Heal,
    HealOptions,
    HealResult,
    HealSources,
)
from conductor.super_conductor.servers.cell_server_pages import CellServers
from objects.instance import Instance
from objects.request_spec import RequestSpec
from placement.interface import PlacementAPI
from scheduler.interface import SchedulerAPI

PAGE_SIZE = 200


class MissingAllocations:
    """Checks all servers that are on a host and have no operation in progress."""

    def __init__(
        self,
        *,
        cells: Cells,
        servers: CellServers,
        scheduler: SchedulerAPI,
        placement: PlacementAPI,
    ) -> None:
        self._cells = cells
        self._servers = servers
        self._scheduler = scheduler
        self._placement = placement

    def heal(
        self, context: RequestContext, *, say: Callable[[str], None], tell: Callable[[str], None]
    ) -> HealResult | None:
        """Heal all servers; return None if none needs allocations.

        Raises Unavailable and RpcFailed.
        """
        if self._scheduler.get_expected_allocations(context, []) is None:
            return None  # its driver claims nothing
        sources = HealSources(
            nodes=lambda: self._nodes(context),
            pages=lambda: self._servers.pages(context, limit=PAGE_SIZE),
            expected_allocations=lambda instances: self._expected_allocations(context, instances),
        )
        return Heal(context, self._placement, sources, HealOptions(), say=say, tell=tell).run()

    def _nodes(self, context: RequestContext) -> Mapping[str, Any]:
        answers = self._cells.ask_all(lambda cell: cell.list_compute_nodes(context))
        nodes = [node for found in answers.by_cell.values() for node in found]
        return {"nodes": nodes, "down_cells": answers.down_cells}

    def _expected_allocations(
        self, context: RequestContext, instances: Sequence[Instance]
    ) -> list[Sequence[Amounts]]:
        """Ask once for each combination of flavor and image: most servers share one."""
        keys = [_key(one) for one in instances]
        unlike = dict(zip(keys, instances, strict=True))
        asked = [
            RequestSpec.from_values(project_id="", user_id="", flavor=one.flavor, image=one.image)
            for one in unlike.values()
        ]
        found = self._scheduler.get_expected_allocations(context, asked) or [[] for _ in asked]
        ways = dict(zip(unlike, found, strict=True))
        return [ways[key] for key in keys]


def _key(instance: Instance) -> str:
    image = None if instance.image is None else instance.image.obj_to_primitive()
    return json.dumps([instance.flavor.obj_to_primitive(), image], sort_keys=True, default=str)
