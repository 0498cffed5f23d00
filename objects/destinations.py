"""Destinations: the answer of select_destinations, as columns.

Selections are made from it on demand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from oslo_utils import versionutils

from objects import base, fields, version_by_need
from objects.decision_trace import DecisionTrace
from objects.selection import Selection


@base.ArmillaryObjectRegistry.register
class Destinations(version_by_need.VersionByNeed):
    """For each instance the claimed host, then its alternates.

    ``hosts`` holds each host named once; row i of ``choices`` (int64, one row an instance in the
    order of the question, padded with -1) holds indexes into it: the selected host first, then the
    alternates, all in its cell. ``trace`` says why.

    Where other zones offer hosts, too, nothing is claimed and both are empty: ``zone_entries`` has
    the hosts of all, the best first, as ``ZoneAnswer.entries`` gives them, to be tried in turn; in
    a dry run own ones have names, ``host``, ``node`` and ``availability_zone``, as well.

    Version history: 1.0 initial; 1.1 adds zone_entries, and travels as 1.0 without these.
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
        """Leave out what is empty for whoever knows of no zones: such are never sent any."""
        super().obj_make_compatible(primitive, target_version)
        if versionutils.convert_version_to_tuple(target_version) < (1, 1):
            primitive.pop("zone_entries", None)

    def selections(self) -> list[list[Selection]]:
        """Return the list of lists: for each instance its host, then the alternates."""
        return [[self.hosts[index] for index in row if index >= 0] for row in self.choices.tolist()]
