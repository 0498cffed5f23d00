"""Conversion of a scheduler's answer to database rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from objects.destinations import Destinations
from objects.fence import Fence


def of(
    destinations: Destinations,
    instance_uuids: Sequence[str],
    fence: Fence,
    wire_forms: dict[int, dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return a row of ``BuildSelection`` for each instance, in their order.

    ``wire_forms`` caches the hosts' wire forms by ``id``, so that answers which share a host
    convert it once. It is valid as long as these hosts live.
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
            {
                "instance_uuid": uuid,
                "cell_uuid": hosts[indexes[0]].cell_uuid,
                "fence": int(fence),
                "selections": [primitives[index] for index in indexes],
            }
        )
    return rows
