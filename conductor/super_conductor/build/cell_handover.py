"""Batched handover of instances to cells: concurrent requests for a cell share a message."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from armillary.context import RequestContext, admin_context
from armillary.group_commit import KeyedGroupCommit
from conductor.cell_conductor.interface import CellConductorAPI
from objects.instances.build_request import BuildRequest

_WAITING_MAX = 100_000


@dataclasses.dataclass(frozen=True, slots=True)
class _Handover:
    context: RequestContext
    cell: CellConductorAPI
    requests: Sequence[BuildRequest]
    timeout_seconds: float


class CellHandover:
    """Calls a cell's ``build_instances`` for concurrent callers; each gets its own result.

    While a message to a cell is in progress, further requests for the cell wait. They are sent
    together in the next message, up to ``instances_max`` instances. Nothing is kept between calls.
    """

    def __init__(self, *, instances_max: int) -> None:
        self._combiner = KeyedGroupCommit[_Handover, None](
            self._hand_over, weight_max=instances_max, waiting_max=_WAITING_MAX
        )

    def build_instances(
        self,
        context: RequestContext,
        cell_uuid: str,
        cell: CellConductorAPI,
        requests: Sequence[BuildRequest],
        *,
        timeout_seconds: float,
    ) -> None:
        """Do what ``CellConductorAPI.build_instances`` does, and raise what it raises.

        After a timeout the outcome of all requests in the message is unknown.
        """
        handed = _Handover(context, cell, requests, timeout_seconds)
        self._combiner.submit(cell_uuid, handed, len(requests))

    def _hand_over(self, group: Sequence[_Handover]) -> list[None]:
        first = group[0]
        first.cell.build_instances(
            first.context if len(group) == 1 else admin_context(),
            [request for each in group for request in each.requests],
            timeout_seconds=max(each.timeout_seconds for each in group),
        )
        return [None] * len(group)
