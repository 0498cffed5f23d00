"""Reasons that rule out hosts, in words."""

from objects.traces import ruled_out

ONE = "aaaaaaaa-0000-0000-0000-000000000001"


def test_names_take_the_place_of_uuids() -> None:
    """Wherever they stand; unknown ones stay."""
    assert ruled_out.named(f"{ONE} or {ONE[:-1]}2", {ONE: "ssd"}) == f"ssd or {ONE[:-1]}2"
