"""The audit trail of the Placement API."""

from pathlib import Path

from oslo_config import cfg

from placement.engine import PlacementEngine
from tests.fixtures.checks.audit_log import events_of, switch_on
from tests.fixtures.placement.placement_rest import PlacementApi

PROVIDER = "00000000-0000-4000-8000-00000000000a"


def test_writes_and_refusals_are_recorded(
    conf: cfg.ConfigOpts, engine: PlacementEngine, tmp_path: Path
) -> None:
    """Reads that are allowed are not."""
    log = switch_on(conf, tmp_path)
    api = PlacementApi(conf, engine)
    body = {"name": "a-secret-name", "uuid": PROVIDER}
    assert api.post("/resource_providers", body).status_code == 200
    assert api.get("/resource_providers").status_code == 200
    assert api.get("/resource_providers", token="alice:p1").status_code == 403
    assert api.send("DELETE", f"/resource_providers/{PROVIDER}").status_code == 204
    text = log.read_text()
    created, refused, deleted = events_of(log)
    assert created["target"] == {"typeURI": "placement/resource_providers", "id": PROVIDER}
    assert created["fields"] == ["name", "uuid"]
    assert (refused["action"], refused["outcome"]) == ("read", "failure/refused")
    assert refused["initiator"]["id"] == "alice"
    assert (deleted["action"], deleted["target"]["id"]) == ("delete", PROVIDER)
    assert "a-secret-name" not in text
