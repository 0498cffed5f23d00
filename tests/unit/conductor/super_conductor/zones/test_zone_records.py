"""Child zones set up over the API: stored, checked, and told without their secrets."""

import pytest

from armillary import exception
from conductor.super_conductor.db.zones import zone_records
from conductor.super_conductor.endpoints.zone_records import ZoneRecordsEndpoint
from objects.zones.zone_record import ZoneSettings
from tests.fixtures.control_plane import an_admin
from tests.fixtures.zones import Zone, root

__all__ = ["root"]

URL = "rabbit://world:geheim@127.0.0.1:1/top"


@pytest.fixture
def records(root: Zone) -> ZoneRecordsEndpoint:
    return ZoneRecordsEndpoint(root.conf, root.database, root.clock)


def test_a_zone_is_stored_and_told_without_its_url(
    root: Zone, records: ZoneRecordsEndpoint
) -> None:
    """What is not given is as it was, or as usual."""
    settings = ZoneSettings(URL, weight_offset=3.0)
    made = records.create_zone(an_admin(), "asia", settings, verify=False)
    assert (made.name, made.disabled, made.weight_offset, made.weight_scale) == (
        "asia", False, 3.0, 1.0,
    )  # fmt: skip
    assert "geheim" not in str(made)
    changed = records.update_zone(an_admin(), "asia", ZoneSettings(disabled=True), verify=True)
    assert (changed.disabled, changed.weight_offset) == (True, 3.0)
    with root.database.reader() as session:
        assert zone_records.get_zone(session, "asia").transport_url == URL
    records.delete_zone(an_admin(), "asia", force=False)
    with pytest.raises(exception.ZoneNotFound):
        records.update_zone(an_admin(), "asia", ZoneSettings(disabled=True), verify=True)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("asia", ZoneSettings("not a url"), "transport URL"),
        ("asia", ZoneSettings(), "needs the transport_url"),
        ("asia", ZoneSettings(URL), 'No connection to .* "verify": false'),
        ("root", ZoneSettings("kombu+memory:////x"), "this zone itself"),
    ],
)
def test_what_leads_to_no_zone_is_refused(
    name: str, settings: ZoneSettings, message: str, records: ZoneRecordsEndpoint
) -> None:
    """Before anything is stored; the password is in no message."""
    with pytest.raises(exception.Invalid, match=message) as caught:
        records.create_zone(an_admin(), name, settings, verify=True)
    assert "geheim" not in caught.value.message
