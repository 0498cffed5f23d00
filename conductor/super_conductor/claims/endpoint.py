"""Claims and pools over RPC: accept, show, explain, end."""

import dataclasses

from oslo_config import cfg
from oslo_db import exception as db_exception
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.common.clock import moment
from conductor.super_conductor.builds import decision_traces
from conductor.super_conductor.claims import claim_quotas
from conductor.super_conductor.claims.claim_task import LATE_SECONDS_MAX, Claims
from conductor.super_conductor.claims.remote_claims import RemoteClaims
from conductor.super_conductor.db import claims as queries
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.zones.walk_explanations import choice_at
from objects.claims.pool import Pool
from objects.claims.resource_claim import ClaimExplanation, NewClaim, ResourceClaim
from objects.claims.resource_kinds import ResourceKind, get_kind, known_kinds
from objects.extra_specs import extra_specs
from objects.traces.decision_trace import PlainTrace

PAGE_SIZE_MAX = 10_001
"""One more than a response of the API may have, to detect further claims."""


class ClaimsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, env: Environment, peers: Peers, claims: Claims) -> None:
        self._conf: cfg.ConfigOpts = env.conf
        self._database = env.database
        self._now = env.now
        self._placement = peers.placement
        self._claims = claims
        self._remote = RemoteClaims(peers)

    def create_claim(self, context: RequestContext, claim: NewClaim) -> ResourceClaim:
        return self._accept(context, claim) or self.get_claim(context, claim.uuid)

    def create_delegated(self, context: RequestContext, claim: NewClaim) -> ResourceClaim:
        """Accept a claim of a parent zone, which counts it against its quota. Idempotent."""
        known = self._find_delegated(context, claim.uuid)
        if known is not None:
            return known
        parent = zone_attempts.parent_of(context)
        own = dataclasses.replace(claim, is_delegated=True, parent_zone=parent)
        return self._accept(context, own) or self.get_delegated(context, claim.uuid)

    def _accept(self, context: RequestContext, claim: NewClaim) -> ResourceClaim | None:
        """Store a claim and start it; None if there is one, as its request was repeated."""
        _check(claim, get_kind(claim.kind))
        now = moment(self._now())
        if claim.ends_at is not None and claim.ends_at <= now:
            raise exception.Invalid(reason=f"the end of the claim, {claim.ends_at}, has passed")
        lease = self._claims.leases.held(claim.uuid)

        def accept(session: Session) -> ResourceClaim | None:
            project_id = context.project_id or ""
            quotas_db.lock_owner(session, project_id)
            if queries.known(session, [claim.uuid]):
                return None
            if claim.server_uuid is not None:
                _check_server(session, context, claim.server_uuid)
            if not claim.is_delegated:
                claim_quotas.check(session, self._conf, project_id, claim)
            queries.add(session, claim, context, lease, now=now)
            return queries.get(session, claim.uuid, None)

        try:
            accepted = self._database.run_in_writer(accept)
        except db_exception.DBDuplicateEntry:  # of another project, a moment ago
            return None
        if accepted is not None:
            self._claims.start(lease)
        return accepted

    def delete_delegated(self, context: RequestContext, claim_uuid: str) -> None:
        """Accept the end of a claim of a parent zone, whose request may still be on its way.

        Raises ClaimNotFound for one that is not a parent zone's.
        """
        if self._find_delegated(context, claim_uuid) is None:
            now = self._now()
            try:
                self._database.run_in_writer(
                    queries.add_ended,
                    claim_uuid,
                    context,
                    now=moment(now),
                    free_at=now + LATE_SECONDS_MAX,
                )
            except db_exception.DBDuplicateEntry:  # it came meanwhile, or is not the caller's
                self.get_delegated(context, claim_uuid)
            else:
                return
        self._claims.end(claim_uuid)

    def get_delegated(self, context: RequestContext, claim_uuid: str) -> ResourceClaim:
        """Return a claim of the parent zone that asks. Raises ClaimNotFound, also for others."""
        found = self.get_claim(context, claim_uuid)
        parent = zone_attempts.parent_of(context)
        is_own = zone_attempts.is_same_parent(found.asked.parent_zone, parent)
        if not (found.asked.is_delegated and is_own):
            raise exception.ClaimNotFound(claim=claim_uuid)
        return found

    def explain_delegated(
        self, context: RequestContext, claim_uuid: str, with_pools: bool = False
    ) -> ClaimExplanation:
        """Return the explanation of a claim of a parent zone. Raises ClaimNotFound."""
        self.get_delegated(context, claim_uuid)
        return self.explain_claim(context, claim_uuid, with_pools)

    def _find_delegated(self, context: RequestContext, claim_uuid: str) -> ResourceClaim | None:
        try:
            return self.get_delegated(context, claim_uuid)
        except exception.ClaimNotFound:
            return None

    def get_claim(self, context: RequestContext, claim_uuid: str) -> ResourceClaim:
        return self._database.read(queries.get, claim_uuid, context.visible_project)

    def explain_claim(
        self, context: RequestContext, claim_uuid: str, with_pools: bool = False
    ) -> ClaimExplanation:
        found = self._database.read(queries.explain, claim_uuid, context.visible_project)
        if found.trace is None:
            path = found.claim.zone
            if path is None:
                return found
            return self._explained_there(context, found, path, with_pools=with_pools)
        with self._database.reader() as session:
            trace = decision_traces.with_names(
                found.trace, lambda: aggregates.names_by_uuid(session)
            )
        if not with_pools:
            return ClaimExplanation(found.claim, decision_traces.without_hosts(trace))
        return ClaimExplanation(found.claim, _with_pool(trace, found.claim))

    def _explained_there(
        self, context: RequestContext, found: ClaimExplanation, path: str, *, with_pools: bool
    ) -> ClaimExplanation:
        """Return a claim with its zone's explanation, without one while that does not answer."""
        uuid = found.claim.uuid
        try:
            there = self._remote.explain(context, path, uuid, with_pools=with_pools)
        except (exception.Unavailable, exception.NotFound):
            return ClaimExplanation(found.claim, None)
        return ClaimExplanation(found.claim, there.trace)

    def list_claims(
        self,
        context: RequestContext,
        all_projects: bool = False,
        server_uuid: str | None = None,
        kind: str | None = None,
        pool: str | None = None,
        limit: int = PAGE_SIZE_MAX,
        marker: str | None = None,
    ) -> list[ResourceClaim]:
        project_id = context.visible_project if all_projects else context.project_id or ""
        with self._database.reader() as session:
            return queries.list_claims(
                session, project_id=project_id, server_uuid=server_uuid, kind=kind,
                pool=pool, limit=max(0, min(limit, PAGE_SIZE_MAX)), marker=marker,
            )  # fmt: skip

    def delete_claim(self, context: RequestContext, claim_uuid: str) -> None:
        self.get_claim(context, claim_uuid)
        self._claims.end(claim_uuid)

    def list_pools(self, context: RequestContext, kind: str | None = None) -> dict[str, list[Pool]]:
        kinds = known_kinds() if kind is None else {kind: get_kind(kind)}
        return {
            name: self._placement.list_pools(context, each.trait) for name, each in kinds.items()
        }

    def get_claim_quotas(
        self, context: RequestContext, project_id: str
    ) -> dict[str, dict[str, int]]:
        return self._database.read(claim_quotas.get, self._conf, project_id)

    def update_claim_quotas(
        self, context: RequestContext, project_id: str, limits: dict[str, int]
    ) -> dict[str, dict[str, int]]:
        self._database.run_in_writer(claim_quotas.set_limits, project_id, limits)
        return self.get_claim_quotas(context, project_id)


def _with_pool(trace: PlainTrace, claim: ResourceClaim) -> PlainTrace:
    """Return a decision about pools of several zones whose choice is the claim's pool, by name."""
    if claim.pool_uuid is None:
        return trace
    at = {"zone": claim.zone, "host_id": claim.pool_uuid}
    choices = [choice_at(one, at, claim.pool_name) for one in trace.get("choices", [])]
    return {**trace, "choices": choices}


def _check(claim: NewClaim, kind: ResourceKind) -> None:
    """Raise Invalid for a claim that no pool of its kind can ever serve."""
    if not claim.resources:
        raise exception.Invalid(reason="a claim needs at least one resource class and its amount")
    for name, amount in claim.resources.items():
        if not kind.has_class(name):
            known = ", ".join(kind.resource_classes)
            raise exception.Invalid(
                reason=f"pools of the kind {kind.name!r} have no {name}; they may have {known}"
            )
        if amount < 1:
            raise exception.Invalid(reason=f"the amount of {name} must be at least 1, not {amount}")
    for name in (*claim.required_traits, *claim.forbidden_traits):
        if not extra_specs.is_trait(name):
            raise exception.Invalid(reason=f"{name!r} is not a trait")
    both = set(claim.required_traits) & set(claim.forbidden_traits)
    if both:
        raise exception.Invalid(reason=f"required and forbidden: {', '.join(sorted(both))}")


def _check_server(session: Session, context: RequestContext, server_uuid: str) -> None:
    """Raise InstanceNotFound unless the server exists in the caller's project.

    Until the transaction ends it is not deleted; its delete then ends the claim.
    """
    instance_mappings.lock(session, server_uuid)
    mapping = instance_mappings.find_mapping(session, server_uuid)
    is_there = mapping is not None and not mapping.queued_for_delete
    if not is_there or (mapping is not None and mapping.project_id != context.project_id):
        raise exception.InstanceNotFound(instance_uuid=server_uuid)
