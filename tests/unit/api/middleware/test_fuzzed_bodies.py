"""Odd bodies at the HTTP APIs: every one is answered, and none with a server error."""

from typing import Any

from hypothesis import strategies as st

from tests.fixtures.checks.fuzzing import altered, fuzzed
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
SERVER = {
    "server": {
        "name": "s", "flavorRef": "1", "imageRef": "i", "networks": "none", "metadata": {"a": "b"},
        "min_count": 1, "tags": ["t"], "key_name": "k", "user_data": "YQ==",
    },
    "OS-SCH-HNT:scheduler_hints": {
        "group": "5f3a4b1e-0000-4000-8000-000000000001",
        "same_host": ["5f3a4b1e-0000-4000-8000-000000000002"],
        "build_near_host_ip": "10.0.0.1", "cidr": "/24",
        "query": '["and", [">=", "$free_ram_mb", 1024]]',
    },
}  # fmt: skip
CLAIM = {
    "claim": {
        "kind": "storage", "resources": {"DISK_GB": 5}, "name": "c", "lifetime_seconds": 60,
        "required": ["STORAGE_DISK_SSD"], "forbidden": ["CUSTOM_SLOW"],
        "server_id": "5f3a4b1e-0000-4000-8000-000000000001",
    }
}  # fmt: skip
QUOTAS = {"claim_quotas": {"claims": 5, "claims:DISK_GB": -1}}
OPERATIONS = {
    "resize": {"flavorRef": "1", "OS-DCF:diskConfig": "AUTO"}, "reboot": {"type": "SOFT"},
    "shelve": None, "lock": {"locked_reason": "r"}, "forceDelete": None, "os-stop": None,
}  # fmt: skip
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


@fuzzed(altered(SERVER))
def test_odd_servers_and_hints_are_answered(api: Api, value: Any) -> None:
    assert api.post("/v2.1/servers", value).status_code < 500


@fuzzed(altered(CLAIM))
def test_odd_claims_are_answered(api: Api, value: Any) -> None:
    assert api.post("/v2.1/armillary/claims", value).status_code < 500


@fuzzed(altered(QUOTAS))
def test_odd_quotas_of_claims_are_answered(api: Api, value: Any) -> None:
    path = "/v2.1/armillary/claim-quotas/p1"
    assert api.send("PUT", path, json=value).status_code < 500


@fuzzed(st.sampled_from(sorted(OPERATIONS)).flatmap(lambda name: altered({name: OPERATIONS[name]})))
def test_odd_operations_are_answered(api: Api, value: Any) -> None:
    """Those that are accepted while the server's cell is silent are stored as they came."""
    server = "5f3a4b1e-0000-4000-8000-000000000001"
    assert api.post(f"/v2.1/servers/{server}/action", value).status_code < 500
