"""Addresses of one guest, as its host found them."""

from collections.abc import Sequence
from dataclasses import dataclass

ADDRESSES_MAX = 16
"""Maximum number of addresses of one guest; its own agent may name any number."""


@dataclass(frozen=True, slots=True)
class GuestAddresses:
    """``attempt`` is that of the instance when its host found the addresses."""

    host: str
    instance_uuid: str
    attempt: int
    addresses: Sequence[str]
