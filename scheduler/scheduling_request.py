"""A request as a driver gets it: what ``select_destinations`` is asked, as one value."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from armillary import exception
from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.request_spec import RequestSpec

Outcome = Destinations | Exception
"""What a request gets: hosts, or the error that ``select_destinations`` raises for it."""


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """So many instances of one spec; see ``SchedulerAPI.select_destinations``.

    ``takes_zones`` tells whether hosts of other zones are an answer.
    """

    context: RequestContext
    request_spec: RequestSpec
    instance_uuids: Sequence[str]
    fences: Sequence[int]
    return_alternates: bool = True
    dry_run: bool = False
    takes_zones: bool = True

    def check(self) -> None:
        """Raise ``Invalid`` unless there are instances, none twice, each with its fence."""
        instances = self.instance_uuids
        if not instances or len(self.fences) != len(set(instances)):
            raise exception.Invalid(
                reason=f"{len(instances)} instances with {len(self.fences)} fences: there "
                "must be at least one, none twice, each with its fence"
            )
