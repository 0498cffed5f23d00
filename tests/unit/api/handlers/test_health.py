"""Health: of this process, and of the others."""

from __future__ import annotations

from armillary import exception
from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/armillary/health"


def test_this_process_answers_for_itself(api: Api, client: SuperConductorClient) -> None:
    """A load balancer must not take all APIs out because a conductor is away."""
    assert api.get("/healthcheck").json == {"status": "ok"}
    assert client.calls == []


def test_all_is_well(api: Api, conductor: SuperConductor) -> None:
    """Disabled is not unwell."""
    conductor.services = [builders.a_service("a"), builders.a_service("b", disabled=True)]
    health = api.get(PATH).json["health"]
    assert health["healthy"] is True
    assert health["services"] == {"total": 2, "up": 2, "disabled": 1, "down": []}


def test_what_is_down_is_named(api: Api, conductor: SuperConductor) -> None:
    """Services and cells."""
    conductor.services = [builders.a_service("a", up=False)]
    conductor.down_cells = ["cell7"]
    health = api.get(PATH).json["health"]
    assert health["healthy"] is False
    assert [service["host"] for service in health["services"]["down"]] == ["a"]
    assert health["down_cells"] == ["cell7"]


def test_without_a_conductor_nothing_is_well(api: Api, conductor: SuperConductor) -> None:
    """504 says that no conductor answered."""
    conductor.errors["list_services"] = exception.RpcTimeout(
        method="list_services", topic="conductor", timeout_seconds=60
    )
    assert api.get(PATH).status_code == 504
