"""Zones on the command line."""

from pathlib import Path

import pytest

from objects.zones.zone_record import ZoneSettings
from objects.zones.zone_status import ZoneStatus
from tests.unit.api.handlers.scheduling.test_zone import a_zone
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


@pytest.fixture
def tree(conductor: BuildingSuperConductor) -> None:
    """Have a root with two children, one of them with zones of its own."""
    below = [{"name": "eu-1", "state": "online", "zones": [
        {"name": "eu-1a", "state": "stale", "zones": []}]}]  # fmt: skip
    conductor.own_zone = a_zone("world", state="own", last_seen=None)
    conductor.child_zones = [a_zone(zones=below), ZoneStatus("us", "offline")]


@pytest.mark.usefixtures("tree")
def test_zones_are_listed_the_own_one_first(armillary: Armillary) -> None:
    """What is not known is empty."""
    rows = armillary("zone", "list", "-f", "json").json
    assert [(row["Name"], row["State"], row["Own hosts"], row["Inherited"]) for row in rows] == [
        ("world", "own", 10, 20),
        ("eu", "online", 10, 20),
        ("us", "offline", None, None),
    ]


@pytest.mark.usefixtures("tree")
def test_a_zone_is_shown_with_the_tree_below_it(armillary: Armillary) -> None:
    """Indented by depth, each with its state."""
    out = armillary("zone", "show", "eu").out
    assert "eu-1 (online)" in out
    assert "  eu-1a (stale)" in out


@pytest.mark.usefixtures("tree")
def test_a_zone_is_shown_with_what_it_promises(armillary: Armillary) -> None:
    """Programs get the values as they are."""
    shown = armillary("zone", "show", "eu", "-f", "json").json
    assert (shown["most_free_on_one_host"], shown["traits"]) == ({"VCPU": 12.0}, ["HW_CPU_X86_AVX"])
    assert (shown["inherited_hosts"], shown["depth"]) == (20, 2)


@pytest.mark.usefixtures("tree")
def test_a_zone_without_a_summary_is_shown(armillary: Armillary) -> None:
    """It promises nothing."""
    shown = armillary("zone", "show", "us", "-f", "json")
    assert (shown.code, shown.json["state"], shown.json["traits"]) == (0, "offline", [])


def test_an_unknown_zone_ends_with_3(armillary: Armillary) -> None:
    """As anything that does not exist."""
    assert armillary("zone", "show", "nix").code == 3


def test_zones_are_refreshed(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """One request."""
    assert armillary("zone", "refresh").code == 0
    assert conductor.zones_refreshed == 1


def test_a_zone_is_created_changed_and_deleted(
    armillary: Armillary, conductor: BuildingSuperConductor, tmp_path: Path
) -> None:
    """L13: its secret comes from a file, and is never printed."""
    file = tmp_path / "url"
    file.write_text("rabbit://world:geheim@broker/top\n")
    made = armillary(
        "zone", "create", "eu", "--transport-url-file", str(file), "--weight-offset", "5",
        "--no-verify", "-f", "json",
    )  # fmt: skip
    assert (made.code, made.json["name"], made.json["weight_offset"]) == (0, "eu", 5.0)
    assert "geheim" not in made.out
    assert armillary("zone", "set", "eu", "--disable").code == 0
    assert armillary("zone", "delete", "eu", "--force").code == 0
    assert conductor.zone_changes == [
        ("eu", ZoneSettings("rabbit://world:geheim@broker/top", weight_offset=5.0), False),
        ("eu", ZoneSettings(disabled=True), True),
        ("eu", None, True),
    ]
