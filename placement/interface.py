"""RPC interface of placement."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from armillary.context import RequestContext
from objects.allocation_candidates import AllocationCandidates
from objects.packed.claim_batch import AnyClaim, AnyResult, ClaimAnswers, ClaimBatch
from objects.packed.provider_uuids import Ids, ProviderUUIDs, UUIDCache, complete
from objects.resource_query import ResourceQuery
from rpc.authority import CELL, CONDUCTOR, OPERATOR, SCHEDULER
from rpc.interface import Interface, call


class PlacementAPI(Interface):
    """Placement, on the top broker. Any process may answer, all from one database."""

    TOPIC = "placement"
    SERVED_BY = "placement"

    @functools.cached_property
    def _uuids(self) -> UUIDCache:
        return UUIDCache()

    def get_allocation_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> AllocationCandidates:
        """Return the providers that fit a query, by UUID; an empty result is not an error.

        Raises InvalidResourceQuery.
        """

        def uuids_of(ids: Ids) -> ProviderUUIDs:
            return self.get_provider_uuids(context, ProviderUUIDs.from_values(ids=ids))

        found = self.get_candidates(context, query, by_id=True)
        if complete(found, self._uuids, uuids_of):
            return found
        return self.get_candidates(context, query, by_id=False)

    @call(SCHEDULER)
    def get_candidates(
        self, context: RequestContext, query: ResourceQuery, *, by_id: bool
    ) -> AllocationCandidates:
        """Return the providers that fit a query, by the ids of placement's database or by UUID.

        Raises InvalidResourceQuery.
        """

    @call(SCHEDULER)
    def get_provider_uuids(
        self, context: RequestContext, providers: ProviderUUIDs
    ) -> ProviderUUIDs:
        """Return the UUIDs of providers given by id; deleted ones are left out."""

    @call(SCHEDULER)
    def explain_candidates(self, context: RequestContext, query: ResourceQuery) -> dict[str, Any]:
        """Explain why a query has no or few candidates; slower than the query itself.

        Returns a dict with ``sentence``, ``has_candidates``, ``providers_total`` (those with an
        inventory; a tree counts as one), ``providers_left`` (those that have something for each
        part), ``ruled_out`` (as in ``DecisionTrace``), ``root`` (parts) and ``groups``: dicts with
        ``suffix``, ``parts`` and ``nearest``. A part is a dict with ``kind``, ``name`` and
        ``count``, the number of providers that it alone rejects; for resources also ``asked`` and
        ``best``. Each of the nearest misses has ``provider`` (uuid, name, root_provider_uuid) and
        ``lacks``: dicts with ``kind`` and ``name``, for resources also ``asked``, ``free`` and
        ``short``. Raises InvalidResourceQuery.
        """

    @call(SCHEDULER)
    def get_summary(
        self,
        context: RequestContext,
        *,
        excluded: Sequence[str] = (),
        without_traits: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return the capabilities of all providers, for a zone summary.

        Returns {"resources": {class: most free on one provider}, "traits": [...], "providers": n},
        without the trees of ``excluded`` providers (UUIDs of roots; unknown ones are ignored) and
        those whose root has one of ``without_traits``.
        """

    def claim(self, context: RequestContext, claims: Sequence[AnyClaim]) -> Sequence[AnyResult]:
        """Write the claims in one transaction, each accepted or refused independently.

        Returns the results in order.
        """
        answers = self.claim_batch(context, ClaimBatch.of(claims))
        return answers.unpacked([claim.consumer_uuid for claim in claims])

    @call(SCHEDULER, CONDUCTOR, CELL, OPERATOR)
    def claim_batch(self, context: RequestContext, batch: ClaimBatch) -> ClaimAnswers:
        """Write packed claims as ``claim`` does. Raises Invalid for a malformed batch."""

    @call(SCHEDULER, CONDUCTOR, CELL, OPERATOR)
    def release(self, context: RequestContext, consumers: dict[str, int]) -> None:
        """Delete all allocations of these consumers (UUID -> fence). Idempotent.

        Claims with a lower fence are refused from then on.
        """

    @call(CONDUCTOR, CELL)
    def move_allocations(
        self,
        context: RequestContext,
        source: str,
        target: str,
        *,
        fence: int,
        replace: bool = False,
        consumer_type: str | None = None,
    ) -> None:
        """Move all allocations of consumer ``source`` to ``target``, atomically.

        With ``replace``, existing allocations of ``target`` are deleted in the same step.
        ``target`` gets the ``consumer_type`` (such as "MIGRATION"), or that of ``source``.

        Idempotent. Raises ConsumerNotFound if neither has allocations, ConsumerGenerationConflict
        if ``target`` has other allocations and ``replace`` is not set.
        """

    @call(CONDUCTOR, CELL, OPERATOR)
    def get_allocations(
        self, context: RequestContext, consumers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """Return consumer -> provider -> "resources" -> class -> amount, for consumers with any."""

    @call(CELL)
    def get_provider_allocations(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """Return provider -> consumer -> allocations, for providers with any.

        Allocations are a dict with ``generation`` and ``consumer_type`` of the consumer and
        ``resources`` (class -> amount). Raises Invalid for more than 1000 providers.
        """

    @call(CELL)
    def release_unchanged(self, context: RequestContext, consumers: Mapping[str, int]) -> list[str]:
        """Delete all allocations of consumers (UUID -> generation) whose generation is unchanged.

        Returns the consumers without allocations; others are left alone.
        """

    @call(CONDUCTOR, OPERATOR)
    def list_allocations(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Return a page of all allocations, ordered by consumer, for audits.

        Each item is a dict with consumer_uuid, consumer_type, project_id, user_id, provider_uuid,
        provider_name, updated_at (of the consumer, ISO text in UTC) and resources (class
        -> amount). ``marker`` is the last consumer of the previous page; a consumer is never split
        over pages.
        """

    @call(CONDUCTOR, OPERATOR)
    def get_usage_totals(self, context: RequestContext) -> dict[str, Any]:
        """Return {"consumers": n, "providers": n, "resources": {class: {"used", "capacity"}}}."""

    @call(CONDUCTOR)
    def get_provider_usages(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, float]]]:
        """Return provider -> class -> {total, reserved, allocation_ratio, used, capacity}."""

    @call(CELL)
    def set_providers(
        self, context: RequestContext, providers: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Create or update providers, each independently; return results in order. Idempotent.

        A provider is a dict with uuid, name, inventories (as in ``ComputeNode``) and traits (the
        full set of standard traits; CUSTOM_ traits set by others are kept unless named in
        ``managed_custom_traits``). An allocation_ratio may be null: then the present value is kept,
        or ``initial_allocation_ratio`` is used for a new inventory. A result is a dict with uuid,
        generation, the new inventories, and error (null or a sentence; then nothing was changed for
        this provider).

        It may have ``children`` (its descendants, parents before their children: dicts
        with uuid, name, parent_uuid, inventories, traits and managed_custom_traits) and
        ``former_children`` (UUIDs of some reported before; those that are no longer children are
        deleted). A tree is accepted or refused as a whole.

        It may have ``reshape``: true. If something to be removed has allocations, and the
        reported tree has room for them elsewhere, they move there in the same transaction;
        otherwise the report is refused as it is without.
        """

    @call(CELL)
    def set_trait(
        self, context: RequestContext, provider: str, trait: str, *, present: bool
    ) -> None:
        """Add or remove one trait of a provider. Idempotent.

        Raises ResourceProviderNotFound.
        """

    @call(CELL, CONDUCTOR)
    def delete_provider(self, context: RequestContext, provider: str) -> None:
        """Delete a provider. Idempotent. Raises ResourceProviderInUse."""

    @call(CONDUCTOR)
    def set_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> None:
        """Set the members of an aggregate to exactly these providers; skip unknown ones.

        Its sharing providers stay.
        """

    @call(CONDUCTOR)
    def get_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> dict[str, list[str]]:
        """Return {"members": providers in an aggregate, "unknown": those that do not exist}.

        ``providers`` are those whose existence is checked.
        """
