"""Dry runs: select hosts without claiming or storing anything."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.accept.dry_runs import DryRuns


class DryRunsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, dry_runs: DryRuns) -> None:
        self._dry_runs = dry_runs

    def dry_run(
        self, context: RequestContext, request: dict[str, Any], with_hosts: bool
    ) -> dict[str, Any]:
        return self._dry_runs.run(context, request, with_hosts=with_hosts)
