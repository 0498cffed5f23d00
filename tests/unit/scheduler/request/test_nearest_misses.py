"""The nearest misses are placement's, in the words of a trace."""

from __future__ import annotations

from typing import Any

from armillary import exception
from armillary.context import RequestContext, admin_context
from objects.resource_query import ResourceQuery
from scheduler.request import candidates

LACKS = [{"kind": "resource", "name": "VCPU", "asked": 8, "free": 6, "short": 2}]


class Placement:
    def explain_candidates(self, context: RequestContext, query: ResourceQuery) -> dict[str, Any]:
        provider = {"uuid": "u", "name": "host1", "root_provider_uuid": "u"}
        return {
            "groups": [
                {"suffix": "", "parts": [], "nearest": [{"provider": provider, "lacks": LACKS}]},
                {"suffix": "_A", "parts": [], "nearest": []},
            ]
        }


class OldPlacement:
    def explain_candidates(self, context: RequestContext, query: ResourceQuery) -> dict[str, Any]:
        raise exception.RpcVersionTooOld(
            topic="placement", method="explain_candidates", needed="1.1", cap="1.0"
        )


def find(placement: Any) -> list[dict[str, Any]]:
    return candidates.nearest_misses(placement, admin_context(), ResourceQuery.from_values())


def test_each_has_its_part_of_the_request() -> None:
    """With what it lacks, and by how much."""
    assert find(Placement()) == [{"suffix": "", "host": "host1", "lacks": LACKS}]


def test_a_placement_that_cannot_say_does_no_harm() -> None:
    """The rest of the trace is there."""
    assert find(OldPlacement()) == []
