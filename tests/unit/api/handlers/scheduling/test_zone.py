"""Zones: the tree below a deployment."""

from datetime import UTC, datetime
from typing import Any

import pytest

from armillary import exception
from objects.zones.zone_record import ZoneSettings
from objects.zones.zone_status import ZoneStatus
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/armillary/zones"
URL = "rabbit://root:geheim@broker/eu"


def a_zone(name: str = "eu", state: str = "online", **values: Any) -> ZoneStatus:
    """Return a zone as the super conductor tells of it, and more than the API may say."""
    return ZoneStatus(
        name,
        state,
        **{
            "last_seen": datetime(2030, 1, 31, 12, tzinfo=UTC),
            "hosts": 30,
            "hosts_up": 29,
            "hosts_disabled": 1,
            "own_hosts": 10,
            "zones_total": 3,
            "depth": 2,
            "capabilities": {"resources": {"VCPU": 12.0}, "traits": ["HW_CPU_X86_AVX"]},
            "zones": [{"name": "eu-1", "state": "stale", "zones": [], "transport_url": URL}],
            **values,
        },
    )


BRIEF = {
    "name": "eu",
    "state": "online",
    "last_seen": "2030-01-31T12:00:00Z",
    "hosts": 30,
    "hosts_up": 29,
    "hosts_disabled": 1,
    "own_hosts": 10,
    "zones_total": 3,
    "depth": 2,
}


def test_children_are_listed_beside_the_zone_itself(api: Api, conductor: SuperConductor) -> None:
    """With state, last sight and counts."""
    conductor.own_zone = a_zone("world", state="own", last_seen=None)
    conductor.child_zones = [a_zone()]
    own = {**BRIEF, "name": "world", "state": "own", "last_seen": None}
    assert api.get(PATH).json == {"own": own, "zones": [BRIEF]}


def test_a_deployment_without_a_tree_has_no_zones(api: Api) -> None:
    """It is not a zone itself."""
    assert api.get(PATH).json == {"own": None, "zones": []}


def test_a_zone_that_was_never_heard_of_has_no_figures(api: Api, conductor: SuperConductor) -> None:
    """Nothing is made up."""
    conductor.child_zones = [ZoneStatus("eu", "offline")]
    expected = {**dict.fromkeys(BRIEF), "name": "eu", "state": "offline"}
    assert api.get(PATH).json["zones"] == [expected]


def test_a_zone_shows_what_it_promises_and_what_is_below_it(
    api: Api, conductor: SuperConductor
) -> None:
    """Capabilities as they were pushed, nested zones by name and state."""
    conductor.child_zones = [a_zone()]
    assert api.get(f"{PATH}/eu").json["zone"] == {
        **BRIEF,
        "capabilities": a_zone().capabilities,
        "zones": [{"name": "eu-1", "state": "stale", "zones": []}],
    }


@pytest.mark.parametrize("path", [PATH, f"{PATH}/eu"], ids=["list", "show"])
def test_a_transport_url_is_never_shown(path: str, api: Api, conductor: SuperConductor) -> None:
    """Even if the super conductor should tell it."""
    conductor.child_zones = [a_zone()]
    assert "geheim" not in api.get(path).text


def test_an_unknown_zone_is_404(api: Api) -> None:
    """It says which."""
    answer = api.get(f"{PATH}/nix")
    assert (answer.status_code, message(answer)) == (404, "Zone nix could not be found.")


def test_summaries_are_asked_for(api: Api, conductor: SuperConductor) -> None:
    """Accepted; they come when they come."""
    assert api.post(PATH, {"refresh": {}}).status_code == 202
    assert conductor.zones_refreshed == 1


@pytest.mark.parametrize("body", [{}, {"forget": {}}, {"refresh": {"now": True}}], ids=str)
def test_another_action_is_refused(body: Any, api: Api, conductor: SuperConductor) -> None:
    """400, and nothing is done."""
    assert api.post(PATH, body).status_code == 400
    assert conductor.zones_refreshed == 0


def test_users_see_no_zones(api: Api) -> None:
    """They are for administrators."""
    assert api.get(PATH, token=MEMBER).status_code == 403


def test_no_scheduler_that_answers_is_503(api: Api, conductor: SuperConductor) -> None:
    """Try again later."""
    conductor.errors["list_zones"] = exception.Unavailable(reason="nobody")
    assert api.get(PATH).status_code == 503


def test_administrators_see_in_which_zone_a_server_lives(
    api: Api, conductor: SuperConductor
) -> None:
    """The path from here; users see the same answer whatever the layout is (BZ-03)."""
    conductor.servers = [builders.an_instance(zone="eu/eu-1", project_id="p1")]
    path = f"/v2.1/servers/{conductor.servers[0].uuid}"
    assert api.get(path).json["server"]["armillary:zone"] == "eu/eu-1"
    assert "armillary:zone" not in api.get(path, token=MEMBER).json["server"]


def test_a_zone_is_created_changed_and_deleted(api: Api, conductor: SuperConductor) -> None:
    """L13: no answer has the transport URL."""
    made = api.post(PATH, {"zone": {"name": "eu", "transport_url": URL, "weight_scale": 0.5}})
    assert made.status_code == 201
    assert (made.json["zone"]["name"], made.json["zone"]["weight_scale"]) == ("eu", 0.5)
    changed = api.put(f"{PATH}/eu", {"zone": {"transport_url": URL, "verify": False}})
    assert changed.status_code == 200
    assert api.delete(f"{PATH}/eu").status_code == 204
    assert conductor.zone_changes == [
        ("eu", ZoneSettings(URL, weight_scale=0.5), True),
        ("eu", ZoneSettings(URL), False),
        ("eu", None, False),
    ]
    assert "geheim" not in made.text + changed.text


@pytest.mark.parametrize(
    "zone",
    [
        {"name": "eu"},
        {"name": "e u", "transport_url": URL},
        {"name": "eu", "transport_url": ""},
        {"name": "eu", "transport_url": URL, "weight_scale": -1},
        {"name": "eu", "transport_url": URL, "other": 1},
    ],
    ids=["no URL", "bad name", "empty URL", "bad scale", "unknown"],
)
def test_a_bad_zone_is_refused(zone: Any, api: Api, conductor: SuperConductor) -> None:
    """400, and nothing is stored."""
    assert api.post(PATH, {"zone": zone}).status_code == 400
    assert api.put(f"{PATH}/eu", {"zone": {}}).status_code == 400
    assert conductor.zone_changes == []


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_users_change_no_zones(method: str, api: Api, conductor: SuperConductor) -> None:
    """They are for administrators."""
    body: dict[str, list[Any]] = {
        "post": [{"zone": {"name": "eu", "transport_url": URL}}],
        "put": [{"zone": {"disabled": True}}],
        "delete": [],
    }
    path = PATH if method == "post" else f"{PATH}/eu"
    assert getattr(api, method)(path, *body[method], token=MEMBER).status_code == 403
    assert conductor.zone_changes == []
