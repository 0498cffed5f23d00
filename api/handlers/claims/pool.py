"""Pools: the providers that serve claims."""

import dataclasses

import os_traits

from api.call import Call
from api.policies.claims import pool as policies
from api.schemas.claims import pool as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.claims.pool import Pool


def index(call: Call) -> Answer:
    """List the pools of this zone; one of several kinds is listed for each."""
    found = call.conductor.list_pools(call.context, kind=call.query.get("kind"))
    return Answer({"pools": [_shown(kind, each) for kind, some in found.items() for each in some]})


def _shown(kind: str, pool: Pool) -> Document:
    is_disabled = os_traits.COMPUTE_STATUS_DISABLED in pool.traits
    return {
        "id": pool.uuid,
        "name": pool.name,
        "kind": kind,
        "status": "disabled" if is_disabled else "enabled",
        "claims": pool.claims,
        "traits": pool.traits,
        "aggregates": pool.aggregates,
        "resources": {
            name: {**dataclasses.asdict(each), "free": each.free}
            for name, each in pool.inventories.items()
        },
    }


ROUTES: Routes[Call] = {
    "/v2.1/armillary/pools": {
        "GET": Action(index, policies.INDEX, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY)
    }
}
