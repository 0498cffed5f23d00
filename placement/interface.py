"""Client of placement over RPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from armillary.context import RequestContext
from objects.allocation import ClaimResult
from objects.allocation_candidates import AllocationCandidates
from objects.packed.claim_batch import AnyClaim, AnyResult, Claim, ClaimAnswers, ClaimBatch
from objects.packed.provider_uuids import Ids, ProviderUUIDs, UUIDCache, complete
from objects.resource_query import ResourceQuery
from rpc.client import RpcClient
from rpc.transport import Bus

_FAMILY = frozenset({"children", "former_children"})


class PlacementAPI(RpcClient):
    """Client of placement on the top broker. Any process may answer, all from one database.

    Version history: 1.0 initial; 1.1 get_allocation_candidates takes by_id and queries of trees,
    adds explain_candidates, get_provider_uuids, get_aggregate_members, updated_at in
    list_allocations; 1.2 claim_batch, replace and consumer_type in move_allocations, children and
    former_children in set_providers, get_provider_allocations, release_unchanged; 1.3 get_summary;
    1.4 reshape in set_providers.
    """

    TOPIC = "placement"
    VERSION = "1.4"

    def __init__(self, bus: Bus, **options: Any) -> None:
        super().__init__(bus, **options)
        self._book = UUIDCache()

    def get_allocation_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> AllocationCandidates:
        """Return the providers that fit a query; an empty result is not an error.

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

    def get_summary(
        self,
        context: RequestContext,
        *,
        excluded: Sequence[str] = (),
        without_traits: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return the capabilities of all providers, for a zone summary. Since 1.3.

        Returns {"resources": {class: most free on one provider}, "traits": [...], "providers": n},
        without the trees of ``excluded`` providers (UUIDs of roots; unknown ones are ignored) and
        those whose root has one of ``without_traits``.
        """
        result: dict[str, Any] = self._call(
            context,
            "get_summary",
            version="1.3",
            excluded=list(excluded),
            without_traits=list(without_traits),
        )
        return result

    def claim(self, context: RequestContext, claims: Sequence[AnyClaim]) -> Sequence[AnyResult]:
        """Write the claims in one transaction, each accepted or refused independently.

        Returns the results in order.
        """
        if not self.can_send("1.2"):
            older = [each.as_object() if isinstance(each, Claim) else each for each in claims]
            results: list[ClaimResult] = self._call(context, "claim", claims=older)
            return results
        answers: ClaimAnswers = self._call(
            context, "claim_batch", version="1.2", batch=ClaimBatch.of(claims)
        )
        return answers.unpacked([claim.consumer_uuid for claim in claims])

    def release(self, context: RequestContext, consumers: dict[str, int]) -> None:
        """Delete all allocations of these consumers (UUID -> fence). Idempotent.

        Claims with a lower fence are refused from then on.
        """
        self._call(context, "release", consumers=consumers)

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
        ``target`` gets the ``consumer_type`` (such as "MIGRATION"), or that of ``source`` (both
        since 1.2).

        Idempotent. Raises ConsumerNotFound if neither has allocations, ConsumerGenerationConflict
        if ``target`` has other allocations and ``replace`` is not set, RpcVersionTooOld if
        placement is too old for the arguments.
        """
        arguments: dict[str, Any] = {"source": source, "target": target, "fence": fence}
        if not replace and consumer_type is None:
            self._call(context, "move_allocations", **arguments)
            return
        arguments |= {"replace": replace, "consumer_type": consumer_type}
        self._call(context, "move_allocations", version="1.2", **arguments)

    def get_allocations(
        self, context: RequestContext, consumers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """Return consumer -> provider -> "resources" -> class -> amount, for consumers with any."""
        result: dict[str, Any] = self._call(context, "get_allocations", consumers=list(consumers))
        return result

    def get_provider_allocations(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """Return provider -> consumer -> allocations, for providers with any.

        Allocations are a dict with ``generation`` and ``consumer_type`` of the consumer and
        ``resources`` (class -> amount). Since 1.2. Raises Invalid for more than 1000 providers.
        """
        result: dict[str, Any] = self._call(
            context, "get_provider_allocations", version="1.2", providers=list(providers)
        )
        return result

    def release_unchanged(self, context: RequestContext, consumers: Mapping[str, int]) -> list[str]:
        """Delete all allocations of consumers (UUID -> generation) whose generation is unchanged.

        Returns the consumers without allocations; others are left alone. Since 1.2.
        """
        result: list[str] = self._call(
            context, "release_unchanged", version="1.2", consumers=dict(consumers)
        )
        return result

    def list_allocations(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Return a page of all allocations, ordered by consumer, for audits.

        Each item is a dict with consumer_uuid, consumer_type, project_id, user_id, provider_uuid,
        provider_name, updated_at (of the consumer, ISO text in UTC; since 1.1) and resources (class
        -> amount). ``marker`` is the last consumer of the previous page; a consumer is never split
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
        """Create or update providers, each independently; return results in order. Idempotent.

        A provider is a dict with uuid, name, inventories (as in ``ComputeNode``) and traits (the
        full set of standard traits; CUSTOM_ traits set by others are kept unless named in
        ``managed_custom_traits``). An allocation_ratio may be null: then the present value is kept,
        or ``initial_allocation_ratio`` is used for a new inventory. A result is a dict with uuid,
        generation, the new inventories, and error (null or a sentence; then nothing was changed for
        this provider).

        Since 1.2 it may have ``children`` (its descendants, parents before their children: dicts
        with uuid, name, parent_uuid, inventories, traits and managed_custom_traits) and
        ``former_children`` (UUIDs of some reported before; those that are no longer children are
        deleted). A tree is accepted or refused as a whole. Children are not sent to an older
        placement.

        Since 1.4 it may have ``reshape``: true. If something to be removed has allocations, and the
        reported tree has room for them elsewhere, they move there in the same transaction;
        otherwise the report is refused as it is without. An older placement refuses.
        """
        if not self.can_send("1.4"):
            providers = [
                {name: value for name, value in each.items() if name != "reshape"}
                for each in providers
            ]
        version = "1.2" if any(not _FAMILY.isdisjoint(each) for each in providers) else None
        if any("reshape" in each for each in providers):
            version = "1.4"
        elif version is not None and not self.can_send(version):
            version, providers = None, [_without_family(each) for each in providers]
        result: list[dict[str, Any]] = self._call(
            context, "set_providers", version=version, providers=list(providers)
        )
        return result

    def set_trait(
        self, context: RequestContext, provider: str, trait: str, *, present: bool
    ) -> None:
        """Add or remove one trait of a provider. Idempotent.

        Raises ResourceProviderNotFound.
        """
        self._call(context, "set_trait", provider=provider, trait=trait, present=present)

    def delete_provider(self, context: RequestContext, provider: str) -> None:
        """Delete a provider. Idempotent. Raises ResourceProviderInUse."""
        self._call(context, "delete_provider", provider=provider)

    def set_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> None:
        """Set the members of an aggregate to exactly these providers; skip unknown ones.

        Its sharing providers stay.
        """
        self._call(context, "set_aggregate_members", aggregate=aggregate, providers=list(providers))

    def get_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> dict[str, list[str]]:
        """Return {"members": providers in an aggregate, "unknown": those that do not exist}.

        ``providers`` are those whose existence is checked.
        """
        result: dict[str, list[str]] = self._call(
            context,
            "get_aggregate_members",
            version="1.1",
            aggregate=aggregate,
            providers=list(providers),
        )
        return result


def _without_family(provider: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in provider.items() if name not in _FAMILY}
