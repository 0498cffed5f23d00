"""Service version history: what each number in a service record means.

A release that changes an RPC interface, or adds behaviour that others rely on, appends a row. Rows
of past releases never change.
"""

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


_AT_1_0 = dict.fromkeys(("scheduler", "conductor", "cell_conductor", "compute", "placement"), "1.0")

HISTORY: tuple[ServiceVersion, ...] = (
    ServiceVersion(
        1,
        _AT_1_0,
        "first release",
    ),
)  # fmt: skip

CURRENT_VERSION = HISTORY[-1].number
"""The version in the service records of this release."""

OLDEST_SUPPORTED = 1
"""Services of older versions are rejected, and a service refuses to start next to them."""


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
