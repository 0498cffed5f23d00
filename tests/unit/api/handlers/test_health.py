"""Health: of this process, and of the others."""

import pytest

from api import readiness
from armillary import exception
from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/armillary/health"


def test_a_process_that_runs_is_alive(api: Api, client: SuperConductorClient) -> None:
    """It must not be killed because a conductor is unreachable."""
    assert api.get("/healthcheck/live").json == {"status": "ok"}
    assert client.calls == []


def test_a_process_that_can_serve_is_ready(api: Api) -> None:
    """The super conductor answers."""
    assert api.get("/healthcheck").json == {"status": "ok"}


def test_what_is_missing_is_named(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load balancer sends requests elsewhere, an operator reads where to look."""
    monkeypatch.setattr(readiness, "KEPT_SECONDS", 0.0)
    conductor.errors["ping"] = exception.RpcTimeout(
        method="ping", topic="conductor", timeout_seconds=2
    )
    answer = api.get("/healthcheck")
    assert answer.status_code == 503
    assert "No answer from the super conductor" in answer.text


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
