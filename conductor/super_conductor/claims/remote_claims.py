"""Claims that other zones make for this zone: forwarded by the path of the zone.

The zone keeps a claim of its own under the same UUID; zones between only pass messages on.
"""

import dataclasses
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.peers import Peers
from conductor.super_conductor.zones import paths
from conductor.super_conductor.zones.forwarded import decode_answer, request_for
from objects.claims.resource_claim import ClaimExplanation, NewClaim, ResourceClaim


class RemoteClaims:
    """Makes, shows and ends claims in other zones. Each may raise ZoneUnavailable, ZoneNotFound."""

    def __init__(self, peers: Peers) -> None:
        self._zones = peers.zones

    def find(self, context: RequestContext, path: str, claim_uuid: str) -> ResourceClaim | None:
        """Return a zone's claim; None if it has none of this UUID."""
        try:
            found: ResourceClaim = self._forward(context, path, "get_claim", claim_uuid=claim_uuid)
        except exception.ClaimNotFound:
            return None
        return found

    def create(self, context: RequestContext, path: str, asked: NewClaim) -> None:
        """Have a zone accept a claim; it gets its pool later. Idempotent.

        Raises Invalid or NotFound if the zone refuses it.
        """
        claim = dataclasses.replace(asked, is_delegated=True)
        self._forward(context, path, "create_claim", server_uuid=asked.server_uuid, claim=claim)

    def end(self, context: RequestContext, path: str, claim_uuid: str) -> None:
        """Have a zone end a claim, and refuse to make it later. Idempotent."""
        self._forward(context, path, "delete_claim", claim_uuid=claim_uuid)

    def explain(
        self, context: RequestContext, path: str, claim_uuid: str, *, with_pools: bool
    ) -> ClaimExplanation:
        """Return a zone's explanation of its claim. Raises ClaimNotFound."""
        found: ClaimExplanation = self._forward(
            context, path, "explain_claim", claim_uuid=claim_uuid, with_pools=with_pools
        )
        return found

    def _forward(
        self,
        context: RequestContext,
        path: str,
        method: str,
        server_uuid: str | None = None,
        **arguments: Any,
    ) -> Any:
        request = request_for(method, server_uuid, **arguments)
        answer = self._zones.forward(context, paths.from_text(path), request).wait()
        return decode_answer(method, answer)
