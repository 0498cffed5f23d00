"""Who asks placement: over HTTP with a connection kept open, or over RPC; the same questions."""

import http.client
import json
import uuid
from collections.abc import Mapping
from typing import Any

from armillary.context import admin_context
from objects.allocations.allocation import AllocationClaim
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from placement.interface import PlacementAPI
from tests.bench.placement.placement_fleet import RESOURCES, TRAIT_OF_HALF

PROJECT, USER = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
ANSWER_SECONDS_MAX = 600

_PLAIN: dict[str, Any] = {"groups": {"": RESOURCES}}
QUESTIONS: dict[str, dict[str, Any]] = {
    "limit_1": {**_PLAIN, "limit": 1},
    "limit_1000": {**_PLAIN, "limit": 1000},
    "no_limit": _PLAIN,
    "trait_limit_1000": {**_PLAIN, "required": TRAIT_OF_HALF, "limit": 1000},
}
"""Under the names that the reference's results have."""

_IN_A_CELL: dict[str, Any] = {
    "groups": {"_CELL": {"VCPU": 2, "MEMORY_MB": 1024}, "_GPU": {"VGPU": 1}},
    "same_subtree": ["_CELL", "_GPU"],
}
TREE_QUESTIONS: dict[str, dict[str, Any]] = {
    "tree_limit_1000": {**_PLAIN, "limit": 1000},
    "tree_no_limit": _PLAIN,
    "granular_limit_1000": {**_IN_A_CELL, "limit": 1000},
    "granular_no_limit": _IN_A_CELL,
}


def path_of(question: Mapping[str, Any]) -> str:
    parts = [f"resources{suffix}={_joined(wanted)}" for suffix, wanted in _groups(question)]
    if len(parts) > 1:
        parts.append("group_policy=none")
    if "same_subtree" in question:
        parts.append(f"same_subtree={','.join(question['same_subtree'])}")
    parts += [f"{name}={question[name]}" for name in ("required", "limit") if name in question]
    return "/allocation_candidates?" + "&".join(parts)


def query_of(question: Mapping[str, Any]) -> ResourceQuery:
    required = [[question["required"]]] if "required" in question else []
    return ResourceQuery.from_values(
        groups=[
            RequestGroup.from_values(suffix=suffix, resources=wanted, required_traits=required)
            for suffix, wanted in _groups(question)
        ],
        group_policy="none" if len(question["groups"]) > 1 else None,
        same_subtree=[question["same_subtree"]] if "same_subtree" in question else [],
        limit=question.get("limit"),
    )


def _groups(question: Mapping[str, Any]) -> list[tuple[str, dict[str, int]]]:
    return list(question["groups"].items())


def _joined(resources: Mapping[str, int]) -> str:
    return ",".join(f"{name}:{amount}" for name, amount in resources.items())


_HEADERS = {
    "X-Auth-Token": "admin",
    "OpenStack-API-Version": "placement 1.36",
    "Accept": "application/json",
    "Content-Type": "application/json",
}


class RestClient:
    """One connection, kept open; one thread's own."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS_MAX)

    def get(self, path: str) -> bytes:
        return self._request("GET", path, None, 200)

    def ask(self, question: Mapping[str, Any]) -> bytes:
        """Return the candidates, not yet parsed."""
        return self.get(path_of(question))

    def claim(self, provider_uuid: str) -> None:
        body = {
            "allocations": {provider_uuid: {"resources": RESOURCES}},
            "project_id": PROJECT,
            "user_id": USER,
            "consumer_generation": None,
        }
        self._request("PUT", f"/allocations/{uuid.uuid4()}", body, 204)

    def close(self) -> None:
        self._connection.close()

    def _request(self, method: str, path: str, body: Any, expected: int) -> bytes:
        self._connection.request(method, path, body and json.dumps(body), _HEADERS)
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status != expected:
            raise RuntimeError(f"{method} {path}: {answer.status} {data[:300]!r}")
        return data


class RpcClient:
    """The client every service uses; any number of threads."""

    def __init__(self, api: PlacementAPI) -> None:
        self._api = api
        self._context = admin_context()

    def ping(self) -> None:
        self._api.ping(self._context)

    def ask(self, question: Mapping[str, Any]) -> int:
        """Return how many candidates there are, in columns that can be worked with."""
        found = self._api.get_allocation_candidates(self._context, query_of(question))
        return len(found.provider_uuids)

    def claim(self, provider_uuid: str) -> None:
        claim = AllocationClaim(
            consumer_uuid=str(uuid.uuid4()),
            project_id=PROJECT,
            user_id=USER,
            allocations={provider_uuid: {"resources": RESOURCES}},
            fence=1000,
        )
        (result,) = self._api.claim(self._context, [claim])
        if not result.is_claimed:
            raise RuntimeError(f"claim on {provider_uuid}: {result.status} {result.reason}")
