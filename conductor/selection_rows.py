"""A scheduler's answer as the rows that are stored of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from objects.destinations import Destinations


def of(
    destinations: Destinations,
    instance_uuids: Sequence[str],
    fence: int,
    wire_forms: dict[int, dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return a row of ``BuildSelection`` for each instance, in their order.

    ``wire_forms`` remembers (by ``id``) those of the hosts, so that each is made once for all
    answers that share it; for as long as these live.
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
                "fence": fence,
                "selections": [primitives[index] for index in indexes],
            }
        )
    return rows
