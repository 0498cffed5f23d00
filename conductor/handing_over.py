"""Hand instances over to their cells: what waits for a cell goes there in one message."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from armillary.combining import KeyedCombiner
from armillary.context import RequestContext, admin_context
from conductor.cell_rpcapi import CellConductorAPI
from objects.build_request import BuildRequest

_WAITING_MAX = 100_000


@dataclasses.dataclass(frozen=True, slots=True)
class _Handed:
    context: RequestContext
    cell: CellConductorAPI
    requests: Sequence[BuildRequest]
    timeout_seconds: float


class HandingOver:
    """Calls a cell's ``build_instances`` for concurrent callers, each of which learns the outcome.

    While a message to a cell is under way those that come for the same cell wait, and go together
    in the next one, up to ``instances_max`` instances. Nothing is kept between calls.
    """

    def __init__(self, *, instances_max: int) -> None:
        self._combiner = KeyedCombiner[_Handed, None](
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

        A message that is not answered in time leaves the outcome of all in it unknown.
        """
        handed = _Handed(context, cell, requests, timeout_seconds)
        self._combiner.submit(cell_uuid, handed, len(requests))

    def _hand_over(self, group: Sequence[_Handed]) -> list[None]:
        first = group[0]
        first.cell.build_instances(
            first.context if len(group) == 1 else admin_context(),
            [request for each in group for request in each.requests],
            timeout_seconds=max(each.timeout_seconds for each in group),
        )
        return [None] * len(group)
