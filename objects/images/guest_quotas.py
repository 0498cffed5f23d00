"""Extra specs ``quota:*``, the limits of a guest's CPUs, disks and interface, and their check."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

QUOTA = "quota:"
CPU_QUOTAS = {"cpu_shares": "shares", "cpu_period": "period", "cpu_quota": "quota"}
"""Name -> element of libvirt."""
DISK_QUOTAS = frozenset(
    f"disk_{way}_{unit}_sec{more}"
    for way in ("read", "write", "total")
    for unit in ("bytes", "iops")
    for more in ("", "_max", "_max_length")
)
VIF_QUOTAS = frozenset(
    f"vif_{way}_{what}" for way in ("inbound", "outbound") for what in ("average", "burst", "peak")
)
NUMBER_MAX = 2**31 - 1

_KNOWN = {*CPU_QUOTAS, *DISK_QUOTAS, *VIF_QUOTAS}
_RANGES = {
    "cpu_shares": (2, 262144), "cpu_period": (1000, 1_000_000), "cpu_quota": (1000, NUMBER_MAX)
}  # fmt: skip
"""What libvirt accepts; of other quotas any number."""
_MAX, _LENGTH = "_max", "_length"
_OF_VIF = ("burst", "peak")


def problems(extra_specs: Mapping[str, str]) -> Iterator[str]:
    """Yield what no guest can have of a flavor's quotas, by its name."""
    given = {
        key.removeprefix(QUOTA): value
        for key, value in sorted(extra_specs.items())
        if key.startswith(QUOTA)
    }
    for name, value in given.items():
        least, most = _RANGES.get(name, (1, NUMBER_MAX))
        if name not in _KNOWN:
            yield f"the extra spec {QUOTA}{name} is not supported"
        elif not (value.isascii() and value.isdecimal() and least <= int(value) <= most):
            yield (
                f"the extra spec {QUOTA}{name} is {value}; expected a number from {least} to {most}"
            )
        elif (needed := _needed(name)) is not None and needed not in given:
            yield f"the extra spec {QUOTA}{name} needs {QUOTA}{needed}"
        elif _is_below(given, name):
            yield f"the extra spec {QUOTA}{name} is lower than {QUOTA}{needed}"
    yield from _of_both(given)


def _needed(name: str) -> str | None:
    """Return the quota without which another one has no effect, or is refused by QEMU."""
    kind, _, what = name.rpartition("_")
    if name in VIF_QUOTAS:
        return f"{kind}_average" if what in _OF_VIF else None
    if name in DISK_QUOTAS:
        for suffix in (_LENGTH, _MAX):
            if name.endswith(suffix):
                return name.removesuffix(suffix)
    return None


def _is_below(given: Mapping[str, str], name: str) -> bool:
    """Return whether the maximum of a disk's bursts is less than it always may."""
    usual = given.get(name.removesuffix(_MAX), "")
    is_max = name in DISK_QUOTAS and name.endswith(_MAX)
    return is_max and usual.isdecimal() and int(given[name]) < int(usual)


def _of_both(given: Mapping[str, str]) -> Iterator[str]:
    """Yield the quotas of reads or writes beside one of both together."""
    for unit, way in itertools.product(("bytes", "iops"), ("read", "write")):
        total, part = f"disk_total_{unit}_sec", f"disk_{way}_{unit}_sec"
        if total in given and part in given:
            yield f"the extra specs {QUOTA}{total} and {QUOTA}{part} exclude each other"
