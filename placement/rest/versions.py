"""Supported versions of the Placement API, and parsing of requested versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

Version = tuple[int, int]

MIN: Version = (1, 0)
MAX: Version = (1, 39)

SERVICE = "placement"
HEADER = "OpenStack-API-Version"
LATEST = "latest"

T = TypeVar("T")

_FORM = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")


def to_text(version: Version) -> str:
    """Return the version as text, such as 1.39."""
    return f"{version[0]}.{version[1]}"


def wanted(header: str | None) -> str:
    """Return the requested version of this service, ``latest``, or by default the lowest.

    The header may name several services, each with its version.
    """
    for entry in (header or "").split(","):
        service, _, version = entry.strip().partition(" ")
        if service.lower() == SERVICE:
            return version.strip()
    return to_text(MIN)


def parse(text: str) -> Version | None:
    """Return the version in a text, None if it is malformed; it may be unsupported."""
    if text.lower() == LATEST:
        return MAX
    match = _FORM.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else None


def entry_for(version: Version, table: Mapping[Version, T]) -> T | None:
    """Return the entry of the highest version not above ``version``, None if there is none."""
    known = [since for since in table if since <= version]
    return table[max(known)] if known else None
