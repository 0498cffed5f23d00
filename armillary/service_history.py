"""Service version history: what each number in a service record means.

A release that changes an RPC interface, or adds behaviour that others rely on, appends a row. Rows
of past releases never change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

COMPUTE = "armillary-compute"
CONDUCTOR = "armillary-conductor"
SCHEDULER = "armillary-scheduler"
PLACEMENT = "armillary-placement"
API = "armillary-api"

AUTO = "auto"
"""Value of an ``[upgrade_levels]`` option that derives the cap from the service records."""


@dataclasses.dataclass(frozen=True)
class ServiceVersion:
    """A service version: the RPC interfaces it serves and what it introduced.

    ``interfaces`` are named as in ``[upgrade_levels]``.
    """

    number: int
    interfaces: Mapping[str, str]
    brings: str


HISTORY: tuple[ServiceVersion, ...] = (
    ServiceVersion(
        1,
        {
            "scheduler": "1.0", "conductor": "1.1", "cell_conductor": "1.0", "compute": "1.0",
            "placement": "1.1",
        },
        "builds and deletes",
    ),
    ServiceVersion(
        2,
        {
            "scheduler": "1.1", "conductor": "1.2", "cell_conductor": "1.1", "compute": "1.0",
            "placement": "1.1",
        },
        "agents report the trait OWNER_NOVA",
    ),
    ServiceVersion(
        3,
        {
            "scheduler": "1.2", "conductor": "1.4", "cell_conductor": "1.3", "compute": "1.2",
            "placement": "1.2",
        },
        "agents execute the commands of operations; every service has a record",
    ),
    ServiceVersion(
        4,
        {
            "scheduler": "1.3", "conductor": "1.5", "cell_conductor": "1.4", "compute": "1.2",
            "placement": "1.3",
        },
        "zones, and moves between cells",
    ),
    ServiceVersion(
        5,
        {
            "scheduler": "1.4", "conductor": "1.7", "cell_conductor": "1.5", "compute": "1.2",
            "placement": "1.4",
        },
        "audits that heal, reshaping of provider trees",
    ),
)  # fmt: skip

CURRENT_VERSION = HISTORY[-1].number
"""The version in the service records of this release."""

OLDEST_SUPPORTED = 1
"""Services of older versions are rejected, and a service refuses to start next to them."""

REPORTS_OWNER = 2
"""Agents report the trait OWNER_NOVA since this version."""
TAKES_ORDERS = 3
"""Agents execute the commands of operations since this version."""
BEFORE_RECORDS = 2
"""The last version whose conductors, schedulers and placement had no service record."""

INTERFACES: tuple[str, ...] = tuple(HISTORY[-1].interfaces)


def rpc_version(interface: str, service_version: int) -> str:
    """Return the RPC version of a service version; unknown numbers map to the nearest known."""
    known = [row for row in HISTORY if row.number <= service_version]
    return (known[-1] if known else HISTORY[0]).interfaces[interface]


def rpc_versions(interface: str) -> list[str]:
    """Return all released versions of an interface, oldest first."""
    return list(dict.fromkeys(row.interfaces[interface] for row in HISTORY))


def first_with(interface: str, version: str) -> int:
    """Return the first service version that serves a version of an interface."""
    minor = _minor(version)
    return next(row.number for row in HISTORY if _minor(row.interfaces[interface]) >= minor)


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
