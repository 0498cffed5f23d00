"""Identifiers, and what is derived from them."""

import uuid

from armillary.names import identifiers


def test_a_mac_address_is_of_one_station_and_locally_administered() -> None:
    """Else it could be one of a vendor's devices, or a group of stations."""
    firsts = [int(identifiers.mac_address(str(uuid.uuid4())).split(":")[0], 16) for _ in range(200)]
    assert {first & 0b11 for first in firsts} == {0b10}


def test_a_mac_address_is_always_the_same_and_no_others() -> None:
    """All but two bits of it depend on the UUID: in 100,000 none comes twice."""
    uuids = [str(uuid.UUID(int=number)) for number in range(100_000)]
    assert identifiers.mac_address(uuids[0]) == identifiers.mac_address(uuids[0])
    assert len({identifiers.mac_address(each) for each in uuids}) == len(uuids)
