"""Conversion of a scheduler's answer to database rows."""

from collections.abc import Sequence
from typing import Any

from conductor.super_conductor.db.build_requests import NewSelections
from objects.allocations.fence import Fence
from objects.destinations import Destinations

WireForms = dict[int, Any]
"""Wire form of each host by its ``id``; valid as long as these hosts live."""


def of(
    destinations: Destinations, instance_uuids: Sequence[str], fence: Fence, wire_forms: WireForms
) -> list[NewSelections]:
    """Return the row of each instance, in their order.

    Answers that share a host convert it once, with the same ``wire_forms``.
    """
    hosts = destinations.hosts
    for host in hosts:
        if id(host) not in wire_forms:
            wire_forms[id(host)] = host.obj_to_primitive()
    primitives = [wire_forms[id(host)] for host in hosts]
    rows = []
    for uuid, choices in zip(instance_uuids, destinations.choices.tolist(), strict=True):
        indexes = [index for index in choices if index >= 0]
        rows.append(
            NewSelections(
                instance_uuid=uuid,
                cell_uuid=hosts[indexes[0]].cell_uuid,
                fence=int(fence),
                selections=[primitives[index] for index in indexes],
            )
        )
    return rows
