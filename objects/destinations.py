"""Destinations: the answer of select_destinations, as columns.

Selections are created from it on demand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from oslo_utils import versionutils

from objects import base, fields, minimal_version
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace


@base.ArmillaryObjectRegistry.register
class Destinations(minimal_version.MinimalVersion):
    """For each instance the claimed host, then its alternates.

    ``hosts`` contains each host once. Row i of ``choices`` (int64, one row per instance in the
    order of the request, padded with -1) holds indexes into it: the selected host first, then the
    alternates, all in its cell. ``trace`` has the reasons.

    If other zones offer hosts, too, nothing is claimed and both are empty. ``zone_entries`` then
    has the hosts of all zones, best first, as ``ZoneAnswer.entries`` returns them, to be tried in
    turn. In a dry run, own hosts also have names: ``host``, ``node`` and ``availability_zone``.

    Version history: 1.0 initial; 1.1 adds zone_entries, and is sent as 1.0 if that is empty.
    """

    VERSION = "1.1"
    NEWEST_FIELDS = ("zone_entries",)

    fields = {
        "hosts": fields.ListOfObjectsField("Selection", default=[]),
        "choices": fields.ColumnField(),
        "trace": fields.ObjectField("DecisionTrace"),
        "zone_entries": fields.JSONField(default=[]),
    }

    hosts: list[Selection]
    choices: np.ndarray
    trace: DecisionTrace
    zone_entries: list[dict[str, Any]]

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        """Leave out zone entries: receivers that do not know zones are never sent any."""
        super().obj_make_compatible(primitive, target_version)
        if versionutils.convert_version_to_tuple(target_version) < (1, 1):
            primitive.pop("zone_entries", None)

    def selections(self) -> list[list[Selection]]:
        """Return for each instance the list of its host and its alternates."""
        return [[self.hosts[index] for index in row if index >= 0] for row in self.choices.tolist()]
