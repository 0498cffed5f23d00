"""Odd bodies at the Compute API: every one is answered, and none with a server error."""

from __future__ import annotations

from typing import Any

from tests.fixtures.fuzzing import altered, fuzzed
from tests.fixtures.http_api import Api

FLAVOR = {"flavor": {"name": "f", "ram": 1, "vcpus": 1, "disk": 0, "id": "auto", "swap": 0}}
SPECS = {
    "extra_specs": {
        "hw:numa_nodes": "1",
        "resources:VCPU": "4",
        "trait:HW_CPU_X86_AVX": "required",
        "capabilities:free_ram_mb": ">= 4",
        "hw:mem_page_size": "2MB",
    }
}
AGGREGATE = {"aggregate": {"name": "a", "availability_zone": "z"}}


@fuzzed(altered(FLAVOR))
def test_odd_flavors_are_answered(api: Api, value: Any) -> None:
    assert api.post("/v2.1/flavors", value).status_code < 500


@fuzzed(altered(SPECS))
def test_odd_extra_specs_are_answered(api: Api, value: Any) -> None:
    assert api.post("/v2.1/flavors/1/os-extra_specs", value).status_code < 500


@fuzzed(altered(AGGREGATE))
def test_odd_aggregates_are_answered(api: Api, value: Any) -> None:
    assert api.post("/v2.1/os-aggregates", value).status_code < 500
