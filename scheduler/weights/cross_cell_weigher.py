"""Weigher that keeps moving instances within their cell."""

import numpy as np

from objects.request_spec import Destination, RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class CrossCellWeigher(weights.BaseHostWeigher):
    """Prefers the cell that an instance moves from; a negative multiplier prefers other cells.

    It applies only to moves that may leave their cell: those with a requested destination that has
    a cell and ``allow_cross_cell_move``. A host in that cell has the weight 1, any other host -1.
    """

    host_attributes = ("cell_uuid",)

    is_host_local = True
    is_steady = True

    multiplier_option = "cross_cell_move_weight_multiplier"

    def applies_to(self, spec: RequestSpec) -> bool:
        return _origin(spec.requested_destination) is not None

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        origin = _origin(spec.requested_destination)
        if origin is None:
            return 0.0
        return 1.0 if host_state.cell_uuid == origin else -1.0

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        origin = _origin(spec.requested_destination)
        if origin is None:
            return np.zeros(len(hosts))
        is_there = np.fromiter((uuid == origin for uuid in hosts.cell_uuid), np.bool_, len(hosts))
        return np.where(is_there, 1.0, -1.0)


def _origin(destination: Destination | None) -> str | None:
    """Return the source cell of a move that may leave it."""
    if destination is None or not destination.allow_cross_cell_move:
        return None
    return destination.cell_uuid
