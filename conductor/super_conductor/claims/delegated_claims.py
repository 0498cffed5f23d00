"""Claims that this zone makes for a parent zone, which counts them against its quota."""

import dataclasses
from collections.abc import Callable
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.builds import decision_traces
from conductor.super_conductor.claims.endpoint import ClaimsEndpoint
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.zones.forwarded import decode_arguments, encode_answer
from objects.claims.resource_claim import ClaimExplanation, NewClaim, ResourceClaim
from objects.zones.zone_request import ZoneRequest


class DelegatedClaims:
    """Serves the requests of parent zones about claims."""

    def __init__(
        self, database: Database, endpoint: ClaimsEndpoint, *, hides_pools: bool = False
    ) -> None:
        self._database = database
        self._endpoint = endpoint
        self._hides_pools = hides_pools
        self._served: dict[str, Callable[..., Any]] = {
            "get_claim": endpoint.get_delegated,
            "delete_claim": endpoint.delete_delegated,
            "explain_claim": endpoint.explain_delegated,
        }
        self.methods = frozenset({"create_claim", *self._served})

    def forward(self, context: RequestContext, request: ZoneRequest) -> Any:
        """Carry out a request of a parent zone; return its answer in wire form."""
        given = decode_arguments(request)
        if request.operation == "create_claim":
            claim = self._with_own_server(context, given["claim"], request.instance_uuid)
            answer: Any = self._endpoint.create_delegated(context, claim)
        else:
            answer = self._served[request.operation](context, **given)
        return encode_answer(request.operation, self._told(answer))

    def _told(self, answer: Any) -> Any:
        """Return an answer as the parent gets it: perhaps with a pool's UUID instead of its name.

        Errors and faults name no pool but those that the claim names.
        """
        if not self._hides_pools:
            return answer
        if isinstance(answer, ClaimExplanation):
            trace = None if answer.trace is None else decision_traces.without_hosts(answer.trace)
            return ClaimExplanation(self._told(answer.claim), trace)
        if isinstance(answer, ResourceClaim):
            return dataclasses.replace(answer, pool_name=answer.pool_uuid, alternates=[])
        return answer

    def _with_own_server(
        self, context: RequestContext, claim: NewClaim, server_uuid: str | None
    ) -> NewClaim:
        """Return a claim with this zone's UUID of its server. Raises InstanceNotFound."""
        if server_uuid is None:
            return claim
        delegated = self._database.read(
            zone_attempts.find_living, server_uuid, zone_attempts.parent_of(context)
        )
        if delegated is None or delegated.local_uuid is None:
            raise exception.InstanceNotFound(instance_uuid=server_uuid)
        return dataclasses.replace(claim, server_uuid=delegated.local_uuid)
