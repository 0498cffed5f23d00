"""Destinations: the answer of select_destinations, as columns.

Selections are created from it on demand.
"""

from collections.abc import Sequence

import numpy as np

from objects import base, fields
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace
from objects.zones.zone_answer import OfferedHost


@base.ArmillaryObjectRegistry.register
class Destinations(base.ArmillaryObject):
    """For each instance the claimed host, then its alternates.

    ``hosts`` contains each host once. Row i of ``choices`` (int64, one row per instance in the
    order of the request, padded with -1) holds indexes into it: the selected host first, then the
    alternates, all in its cell. ``trace`` has the reasons.

    If other zones offer hosts, too, nothing is claimed and both are empty. ``zone_entries`` then
    has the hosts of all zones, best first, as ``ZoneAnswer.entries`` returns them, to be tried in
    turn. In a dry run, own hosts also have names: ``host``, ``node`` and ``availability_zone``.
    """

    hosts: list[Selection] = fields.ListOfObjectsField("Selection", default=[])
    choices: np.ndarray = fields.ColumnField()
    trace: DecisionTrace = fields.ObjectField("DecisionTrace")
    zone_entries: list[OfferedHost] = fields.JSONField(default=[])

    def selections_of(self, instance_uuids: Sequence[str]) -> dict[str, list[Selection]]:
        """Return the selections by instance, given in the order of the request."""
        return dict(zip(instance_uuids, self.selections(), strict=True))

    def selections(self) -> list[list[Selection]]:
        """Return for each instance the list of its host and its alternates."""
        return [[self.hosts[index] for index in row if index >= 0] for row in self.choices.tolist()]
