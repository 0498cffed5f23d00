"""Quotas that QEMU or libvirt would refuse on each host are refused before one is chosen."""

from __future__ import annotations

import pytest

from objects.images import guest_quotas

OF_DISKS = {
    "quota:disk_total_iops_sec": "9",
    "quota:disk_total_iops_sec_max": "9",
    "quota:disk_total_iops_sec_max_length": "2",
    "quota:disk_read_bytes_sec": "5",
    "quota:disk_write_bytes_sec": "7",
}


@pytest.mark.parametrize(
    "specs",
    [
        OF_DISKS,
        {"quota:vif_inbound_average": "9", "quota:vif_inbound_peak": "12"},
        {"quota:cpu_shares": "2", "quota:cpu_period": "1000", "quota:cpu_quota": "2147483647"},
        {"hw:cpu_policy": "shared"},
    ],
    ids=["disks", "interface", "processors", "others"],
)
def test_quotas_that_guests_can_have(specs: dict[str, str]) -> None:
    assert list(guest_quotas.problems(specs)) == []


@pytest.mark.parametrize(
    ("specs", "reason"),
    [
        ("memory_limit=1", "quota:memory_limit is not supported"),
        ("cpu_shares=1", "quota:cpu_shares is 1; expected a number from 2 to 262144"),
        ("cpu_period=999", "quota:cpu_period is 999; expected a number from 1000 to 1000000"),
        ("cpu_quota=-1", "quota:cpu_quota is -1; expected a number from 1000 to 2147483647"),
        ("disk_read_iops_sec=many", "is many; expected a number from 1 to 2147483647"),
        ("disk_read_iops_sec=²", "expected a number"),
        ("vif_inbound_peak=9", "vif_inbound_peak needs quota:vif_inbound_average"),
        ("vif_outbound_burst=9", "vif_outbound_burst needs quota:vif_outbound_average"),
        ("disk_read_iops_sec_max=9", "sec_max needs quota:disk_read_iops_sec"),
        (
            "disk_read_iops_sec=9 disk_read_iops_sec_max_length=2",
            "max_length needs quota:disk_read_iops_sec_max",
        ),
        (
            "disk_read_iops_sec=9 disk_read_iops_sec_max=8",
            "quota:disk_read_iops_sec_max is lower than quota:disk_read_iops_sec",
        ),
        (
            "disk_read_iops_sec=9 disk_total_iops_sec=9",
            "quota:disk_total_iops_sec and quota:disk_read_iops_sec exclude each other",
        ),
        ("disk_read_iops_sec=x disk_read_iops_sec_max=8", "disk_read_iops_sec is x; expected"),
    ],
)
def test_quotas_that_no_guest_can_have(specs: str, reason: str) -> None:
    given = dict(spec.split("=") for spec in specs.split())
    (problem,) = guest_quotas.problems({f"quota:{key}": value for key, value in given.items()})
    assert reason in problem
