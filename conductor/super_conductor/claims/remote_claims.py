"""Claims that other zones make for this zone: forwarded by the path of the zone.

The zone keeps a claim of its own under the same UUID. A zone that is asked for one without a server
may pass it on to its own children, so the path of such a claim has one step.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.db import zones as zones_db
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.zones import paths
from conductor.super_conductor.zones.forwarded import decode_answer, request_for
from objects.resource_claim import ClaimExplanation, NewClaim, ResourceClaim


def asked_zone(claim: ResourceClaim) -> str | None:
    """Return the path of the zone that was asked for a claim, None for this zone.

    That of a claim of a server is the server's; that of another one is a child of this zone.
    """
    if not claim.zone or claim.asked.server_uuid is not None:
        return claim.zone or None
    return paths.from_text(claim.zone)[0]


class RemoteClaims:
    """Makes, shows and ends claims in other zones. Each may raise ZoneUnavailable, ZoneNotFound."""

    def __init__(self, env: Environment, peers: Peers) -> None:
        self._database = env.database
        self._zones = peers.zones

    def children(self) -> list[str]:
        """Return the names of the child zones that may get claims, in a fixed order."""
        with self._database.reader() as session:
            found = zones_db.list_zones(session)
        return sorted(zone.name for zone in found if not zone.disabled)

    def find(self, context: RequestContext, path: str, claim_uuid: str) -> ResourceClaim | None:
        """Return a zone's claim; None if it has none of this UUID."""
        try:
            found: ResourceClaim = self._forward(context, path, "get_claim", claim_uuid=claim_uuid)
        except exception.ClaimNotFound:
            return None
        return found

    def create(self, context: RequestContext, path: str, asked: NewClaim) -> None:
        """Have a zone accept a claim; it gets its pool later. Idempotent.

        Raises what refuses it there: Invalid, NotFound.
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
