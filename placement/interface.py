"""RPC interface of placement."""

import functools
from collections.abc import Mapping, Sequence

from armillary.context import RequestContext
from objects.allocations.allocation import (
    AllocationClaim,
    ClaimResult,
    ConsumerHolding,
    ProviderAllocation,
    UsageTotals,
)
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.claims.pool import Pool
from objects.hosts.fleet import FleetUsage
from objects.hosts.host_details import ProviderDetails
from objects.hosts.provider_report import ProviderReport, ProviderResult
from objects.instances.group_claim import GroupMember
from objects.packed.claim_batch import ClaimAnswers, ClaimBatch
from objects.packed.provider_uuids import Ids, ProviderUUIDs, UUIDCache, complete
from objects.traces.explanation import CandidatesExplanation
from objects.zones.zone_summary import ProviderCapabilities
from rpc.callers import CELL, CONDUCTOR, OPERATOR, SCHEDULER
from rpc.interface import Idempotent, Interface, call


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

    @call(SCHEDULER, CONDUCTOR)
    def get_candidates(
        self, context: RequestContext, query: ResourceQuery, *, by_id: bool
    ) -> AllocationCandidates:
        """Return the providers that fit a query, by the ids of placement's database or by UUID.

        Raises InvalidResourceQuery.
        """

    @call(SCHEDULER, CONDUCTOR)
    def get_provider_uuids(
        self, context: RequestContext, providers: ProviderUUIDs
    ) -> ProviderUUIDs:
        """Return the UUIDs of providers given by id; deleted ones are left out."""

    @call(SCHEDULER, CONDUCTOR)
    def explain_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> CandidatesExplanation:
        """Explain why a query has no or few candidates; slower than the query itself.

        Raises InvalidResourceQuery.
        """

    @call(SCHEDULER, CONDUCTOR)
    def get_summary(
        self,
        context: RequestContext,
        *,
        excluded: Sequence[str] = (),
        without_traits: Sequence[str] = (),
    ) -> ProviderCapabilities:
        """Return the capabilities of all providers, for a zone summary.

        Left out are the trees of ``excluded`` providers (UUIDs of roots; unknown ones are ignored)
        and those whose root has one of ``without_traits``.
        """

    @call(SCHEDULER, CONDUCTOR)
    def list_pools(self, context: RequestContext, trait: str) -> list[Pool]:
        """Return the pools of a kind: the providers with its trait, oldest first."""

    def claim(
        self, context: RequestContext, claims: Sequence[AllocationClaim]
    ) -> Sequence[ClaimResult]:
        """Write the claims in one transaction, each accepted or refused independently.

        Returns the results in order.
        """
        answers = self.claim_batch(context, ClaimBatch.of(claims))
        return answers.unpacked([claim.consumer_uuid for claim in claims])

    @call(SCHEDULER, CONDUCTOR, CELL, OPERATOR)
    def claim_batch(self, context: RequestContext, batch: ClaimBatch) -> ClaimAnswers:
        """Write packed claims as ``claim`` does. Raises Invalid for a malformed batch.

        Claims of a cell's conductor are refused as FOREIGN unless consumer and providers are of its
        cell; its other writes of what is of another cell raise NotItsOwn and change nothing.
        """

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

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def set_consumer_cells(
        self, context: RequestContext, consumers: Sequence[str], cells: Sequence[str]
    ) -> None:
        """Say which cell consumers are in, or between which two they move. Idempotent.

        The conductors of both may write them, on providers of both. Raises Invalid unless there
        are one or two cells.
        """

    @call(SCHEDULER, CONDUCTOR)
    def list_group_members(self, context: RequestContext, group_uuid: str) -> list[GroupMember]:
        """Return where the members of a server group have allocations.

        A member that moves has two hosts until the move is confirmed or reverted.
        """

    @call(CONDUCTOR, CELL, OPERATOR)
    def get_allocations(
        self, context: RequestContext, consumers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """Return consumer -> provider -> "resources" -> class -> amount, for consumers with any.

        A cell's conductor sees those with a provider of its cell, or moving to or from it.
        """

    @call(CELL)
    def get_provider_allocations(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, ConsumerHolding]]:
        """Return provider -> consumer -> allocations, for providers with any, of the cell alone.

        Raises Invalid for more than 1000 providers.
        """

    @call(CELL)
    def release_unchanged(self, context: RequestContext, consumers: Mapping[str, int]) -> list[str]:
        """Delete all allocations of consumers (UUID -> generation) whose generation is unchanged.

        Returns the consumers without allocations; others are left alone.
        """

    @call(CONDUCTOR, OPERATOR)
    def list_allocations(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> list[ProviderAllocation]:
        """Return a page of all allocations, ordered by consumer, for audits.

        ``marker`` is the last consumer of the previous page; a consumer is never split over pages.
        """

    @call(CONDUCTOR, OPERATOR)
    def get_usage_totals(self, context: RequestContext) -> UsageTotals:
        """Return the numbers of consumers and providers, and the usage of each resource class."""

    @call(CONDUCTOR)
    def get_project_usage(
        self, context: RequestContext, project_id: str, *, without: Sequence[str] = ()
    ) -> dict[str, int]:
        """Return resource class -> amount held by a project's servers and their migrations.

        The servers of ``without`` are not counted.
        """

    @call(CONDUCTOR)
    def get_provider_usages(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, float]]]:
        """Return provider -> class -> {total, reserved, allocation_ratio, used, capacity}."""

    @call(CONDUCTOR)
    def get_provider_trees(
        self, context: RequestContext, providers: Sequence[str]
    ) -> list[ProviderDetails]:
        """Return the trees of these root providers, parents first, at most 1000 providers.

        Unknown ones are left out.
        """

    @call(CONDUCTOR, timeout_seconds=10.0)
    def get_fleet_usage(
        self, context: RequestContext, *, known_epoch: int | None = None
    ) -> FleetUsage:
        """Return capacity and use of all root providers, each with those below it, as columns.

        Without rows if nothing was written after ``known_epoch``.
        """

    @call(CELL)
    def set_providers(
        self, context: RequestContext, providers: Sequence[ProviderReport]
    ) -> list[ProviderResult]:
        """Create or update providers, each independently; return results in order. Idempotent.

        A tree is accepted or refused as a whole. Null as an allocation_ratio keeps the present
        value; a new inventory then gets its ``initial_allocation_ratio``.
        """

    @call(OPERATOR, idempotent=Idempotent.BY_RECORD)
    def adopt_providers(
        self,
        context: RequestContext,
        cell_uuid: str,
        providers: Sequence[str],
        *,
        replace: bool = False,
    ) -> list[str]:
        """Give providers and those below them to a cell; return those that it did not have before.

        Those of another cell are kept there unless ``replace`` is set; unknown ones are ignored.
        Idempotent.
        """

    @call(CELL)
    def set_trait(
        self,
        context: RequestContext,
        provider: str,
        trait: str,
        *,
        present: bool,
        order: int | None = None,
    ) -> bool:
        """Add or remove one trait of a provider, unless a report of a higher order was faster.

        Returns whether it was the last. Idempotent. Raises ResourceProviderNotFound.
        """

    @call(CELL)
    def delete_provider(
        self, context: RequestContext, provider: str, *, order: int | None = None
    ) -> int | None:
        """Delete a provider, unless a report of a higher order was faster: return that order.

        Reports of a lower order are late from then on. Idempotent. Raises ResourceProviderInUse.
        """

    @call(CONDUCTOR)
    def set_aggregate_members(
        self,
        context: RequestContext,
        aggregate: str,
        providers: Sequence[str],
        *,
        order: int | None = None,
    ) -> int | None:
        """Set the members of an aggregate to exactly these providers; skip unknown ones.

        Its sharing providers and pools stay. Nothing changes if a call of a higher ``order`` was
        faster: returns that order.
        """

    @call(CONDUCTOR)
    def get_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> dict[str, list[str]]:
        """Return {"members": providers in an aggregate, "unknown": those that do not exist}.

        ``providers`` are those whose existence is checked.
        """
