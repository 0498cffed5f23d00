"""Client of placement over RPC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from objects.allocation import AllocationClaim, ClaimResult
from objects.allocation_candidates import AllocationCandidates
from objects.resource_query import ResourceQuery
from rpc.client import RpcClient


class PlacementAPI(RpcClient):
    """Placement, on the top broker. Any number of processes answer; all from the same truth.

    Version history: 1.0 initial.
    """

    TOPIC = "placement"
    VERSION = "1.0"

    def get_allocation_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> AllocationCandidates:
        """Return the providers that fit a query; none is a normal answer.

        Raises InvalidResourceQuery.
        """
        result: AllocationCandidates = self._call(context, "get_allocation_candidates", query=query)
        return result

    def claim(
        self, context: RequestContext, claims: Sequence[AllocationClaim]
    ) -> list[ClaimResult]:
        """Write the claims in one transaction, each succeeding or failing on its own.

        Results in order.
        """
        results: list[ClaimResult] = self._call(context, "claim", claims=list(claims))
        return results

    def release(self, context: RequestContext, consumers: dict[str, int]) -> None:
        """Drop all allocations of these consumers (UUID -> fence); none there is fine.

        Claims with a fence below the given one are refused from then on.
        """
        self._call(context, "release", consumers=consumers)

    def move_allocations(
        self, context: RequestContext, source: str, target: str, *, fence: int
    ) -> None:
        """Give all that consumer ``source`` holds to ``target``, in one step.

        Doing it twice is fine. Raises ConsumerNotFound when neither holds anything,
        ConsumerGenerationConflict when ``target`` holds something else.
        """
        self._call(context, "move_allocations", source=source, target=target, fence=fence)

    def get_allocations(
        self, context: RequestContext, consumers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """Return consumer -> provider -> "resources" -> class -> amount, of those that hold any."""
        result: dict[str, Any] = self._call(context, "get_allocations", consumers=list(consumers))
        return result

    def list_allocations(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Return a page of all allocations, ordered by consumer, for audits.

        Each is a dict with consumer_uuid, consumer_type, project_id, user_id, provider_uuid,
        provider_name and resources (class -> amount). ``marker`` is the last consumer of the page
        before; a consumer is never split over pages.
        """
        result: list[dict[str, Any]] = self._call(
            context, "list_allocations", marker=marker, limit=limit
        )
        return result

    def get_usage_totals(self, context: RequestContext) -> dict[str, Any]:
        """Return {"consumers": n, "providers": n, "resources": {class: {"used", "capacity"}}}."""
        result: dict[str, Any] = self._call(context, "get_usage_totals")
        return result

    def get_provider_usages(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, float]]]:
        """Return provider -> class -> {total, reserved, allocation_ratio, used, capacity}."""
        result: dict[str, Any] = self._call(
            context, "get_provider_usages", providers=list(providers)
        )
        return result

    def set_providers(
        self, context: RequestContext, providers: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Create or update providers; doing it twice is fine. Results in order, each on its own.

        A provider is a dict with uuid, name, inventories (as in ``ComputeNode``) and traits (the
        full set of standard traits; CUSTOM_ traits that somebody else put there survive unless
        named in ``managed_custom_traits``). An allocation_ratio may be null: then the present value
        is kept, or ``initial_allocation_ratio`` is used for a new inventory. A result is a dict
        with uuid, generation, inventories as they now stand, and error (null or a sentence; then
        nothing was changed for this provider).
        """
        result: list[dict[str, Any]] = self._call(
            context, "set_providers", providers=list(providers)
        )
        return result

    def set_trait(
        self, context: RequestContext, provider: str, trait: str, *, present: bool
    ) -> None:
        """Add or remove one trait of a provider; no change is fine.

        Raises ResourceProviderNotFound.
        """
        self._call(context, "set_trait", provider=provider, trait=trait, present=present)

    def delete_provider(self, context: RequestContext, provider: str) -> None:
        """Remove a provider; gone already is fine. Raises ResourceProviderInUse."""
        self._call(context, "delete_provider", provider=provider)

    def set_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> None:
        """Make the aggregate hold exactly these providers; unknown ones are skipped."""
        self._call(context, "set_aggregate_members", aggregate=aggregate, providers=list(providers))
