"""The history of the services: what each number in a service's record means.

A release that changes an RPC interface, or that others have to wait for before they rely on it,
adds a row here; nothing is ever changed in a row of a release that is out.
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
"""The value of an option of ``[upgrade_levels]`` that goes by the records of the services."""


@dataclasses.dataclass(frozen=True)
class ServiceVersion:
    """A version of all services: what they serve, and what it brought.

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
        "agents take the orders of operations; every service has a record",
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
        "audits that heal, trees that take another shape",
    ),
)  # fmt: skip

CURRENT_VERSION = HISTORY[-1].number
"""What the services of this release write into their records."""

OLDEST_SUPPORTED = 1
"""Services of an older version are refused, and so is a start beside them."""

REPORTS_OWNER = 2
"""Since this version agents report the trait OWNER_NOVA."""
TAKES_ORDERS = 3
"""Since this version agents take the orders of operations."""
BEFORE_RECORDS = 2
"""The last version whose conductors, schedulers and placement left no record."""

INTERFACES: tuple[str, ...] = tuple(HISTORY[-1].interfaces)


def rpc_version(interface: str, service_version: int) -> str:
    """Return what services of this version serve; unknown numbers count as the nearest known."""
    known = [row for row in HISTORY if row.number <= service_version]
    return (known[-1] if known else HISTORY[0]).interfaces[interface]


def rpc_versions(interface: str) -> list[str]:
    """Return all versions that an interface ever had in a release, the oldest first."""
    return list(dict.fromkeys(row.interfaces[interface] for row in HISTORY))


def first_with(interface: str, version: str) -> int:
    """Return the first service version that serves a version of an interface."""
    minor = _minor(version)
    return next(row.number for row in HISTORY if _minor(row.interfaces[interface]) >= minor)


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
