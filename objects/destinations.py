"""Destinations: the answer of select_destinations, as columns.

Selections are made from it on demand.
"""

from __future__ import annotations

import numpy as np

from objects import base, fields
from objects.decision_trace import DecisionTrace
from objects.selection import Selection


@base.ArmillaryObjectRegistry.register
class Destinations(base.ArmillaryObject):
    """For each instance the claimed host, then its alternates.

    ``hosts`` holds each host named once; row i of ``choices`` (int64, one row an instance in the
    order of the question, padded with -1) holds indexes into it: the selected host first, then the
    alternates, all in its cell. ``trace`` says why.
    """

    VERSION = "1.0"

    fields = {
        "hosts": fields.ListOfObjectsField("Selection", default=[]),
        "choices": fields.ColumnField(),
        "trace": fields.ObjectField("DecisionTrace"),
    }

    hosts: list[Selection]
    choices: np.ndarray
    trace: DecisionTrace

    def selections(self) -> list[list[Selection]]:
        """Return the list of lists: for each instance its host, then the alternates."""
        return [[self.hosts[index] for index in row if index >= 0] for row in self.choices.tolist()]
