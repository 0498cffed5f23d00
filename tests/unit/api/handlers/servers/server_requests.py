"""Flavors, images and hosts of a cloud for requests for servers, and such requests."""

from typing import Any

import pytest

from objects.hosts.host_answers import AvailabilityZone
from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor

NETWORK = "4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c12"
PATH = "/v2.1/servers"


@pytest.fixture(autouse=True)
def stock(conductor: SuperConductor) -> None:
    conductor.flavors = [builders.a_flavor("small")]
    conductor.images = [builders.an_image("loop")]
    conductor.zones = [AvailabilityZone("north", {})]
    conductor.services = [builders.a_service("host1")]
    conductor.nodes = [builders.a_compute_node("host1", node="node1")]
    conductor.groups = [builders.an_instance_group()]


def ask(api: Api, *, token: str | None = MEMBER, hints: Any = None, **server: Any) -> Any:
    """Ask for a server with what the test is about."""
    body: dict[str, Any] = {"server": {"name": "web", "flavorRef": "small", **server}}
    if hints is not None:
        body["os:scheduler_hints"] = hints
    return api.post(PATH, body, token=token)
