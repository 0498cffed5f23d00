"""Client of placement over RPC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from objects.allocation import AllocationClaim, ClaimResult
from objects.allocation_candidates import AllocationCandidates
from objects.provider_uuids import Ids, ProviderUUIDs, UUIDBook, complete
from objects.resource_query import ResourceQuery
from rpc.client import RpcClient
from rpc.transport import Bus


class PlacementAPI(RpcClient):
    """Placement, on the top broker. Any number of processes answer; all from the same truth.

    Version history: 1.0 initial; 1.1 get_allocation_candidates takes by_id and queries of trees,
    adds explain_candidates, get_provider_uuids, get_aggregate_members, updated_at in
    list_allocations.
    """

    TOPIC = "placement"
    VERSION = "1.1"

    def __init__(self, bus: Bus, **options: Any) -> None:
        super().__init__(bus, **options)
        self._book = UUIDBook()

    def get_allocation_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> AllocationCandidates:
        """Return the providers that fit a query; none is a normal answer.

        Raises InvalidResourceQuery.
        """
        method = "get_allocation_candidates"
        if not self.can_send("1.1"):
            versions = {"ResourceQuery": "1.0", "RequestGroup": "1.0"}
            older = query.obj_to_primitive("1.0", versions)
            plain: AllocationCandidates = self._call(context, method, query=older)
            plain.obj_set_defaults_quietly()
            return plain
        found: AllocationCandidates = self._call(
            context, method, version="1.1", query=query, by_id=True
        )
        if not complete(found, self._book, lambda ids: self._uuids_of(context, ids)):
            found = self._call(context, method, version="1.1", query=query, by_id=False)
        return found

    def explain_candidates(self, context: RequestContext, query: ResourceQuery) -> dict[str, Any]:
        """Return why a query has no candidates, or so few; for people, it takes a little longer.

        A dict with ``sentence``, ``has_candidates``, ``providers_total`` (those with an inventory;
        a tree counts as one), ``providers_left`` (that have something for each part),
        ``ruled_out`` (as in ``DecisionTrace``), ``root`` (parts) and ``groups``: dicts with
        ``suffix``, ``parts`` and ``nearest``. A part is a dict with ``kind``, ``name`` and
        ``count``, the providers that it alone rules out; for resources also ``asked`` and
        ``best``. Of the nearest misses each has ``provider`` (uuid, name, root_provider_uuid) and
        ``lacks``: dicts with ``kind`` and ``name``, for resources also ``asked``, ``free`` and
        ``short``. Raises InvalidResourceQuery.
        """
        result: dict[str, Any] = self._call(
            context, "explain_candidates", version="1.1", query=query
        )
        return result

    def _uuids_of(self, context: RequestContext, ids: Ids) -> ProviderUUIDs:
        asked = ProviderUUIDs.from_values(ids=ids)
        result: ProviderUUIDs = self._call(
            context, "get_provider_uuids", version="1.1", providers=asked
        )
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
        provider_name, updated_at (of the consumer, ISO text in UTC; since 1.1) and resources (class
        -> amount). ``marker`` is the last consumer of the page before; a consumer is never split
        over pages.
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
        """Make the aggregate hold exactly these providers; unknown ones are skipped.

        Sharing providers that are in it stay.
        """
        self._call(context, "set_aggregate_members", aggregate=aggregate, providers=list(providers))

    def get_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> dict[str, list[str]]:
        """Return {"members": providers in an aggregate, "unknown": those that do not exist}.

        ``providers`` are those whose existence is asked about.
        """
        result: dict[str, list[str]] = self._call(
            context,
            "get_aggregate_members",
            version="1.1",
            aggregate=aggregate,
            providers=list(providers),
        )
        return result
