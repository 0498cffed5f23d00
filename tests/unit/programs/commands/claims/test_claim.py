"""Claims on the command line."""

import pytest

from objects.claims.resource_claim import ClaimState
from programs.commands.claims.claim import duration
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

CREATE = ("claim", "create", "data", "--kind", "storage", "--resources", "DISK_GB=500")


def test_a_claim_is_created_and_awaited(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """With its traits and its end."""
    made = armillary(
        *CREATE, "--trait", "STORAGE_DISK_SSD", "--forbidden-trait", "CUSTOM_OLD",
        "--ends-in", "2h", "--wait", "-f", "json",
    ).json  # fmt: skip
    assert (made["status"], made["pool"], made["alternates"]) == ("ACTIVE", "array1", "array2")
    (stored,) = conductor.claims.values()
    assert stored.asked.resources == {"DISK_GB": 500}
    assert stored.asked.required_traits == ["STORAGE_DISK_SSD"]
    assert stored.asked.forbidden_traits == ["CUSTOM_OLD"]
    assert stored.asked.ends_at is not None


def test_a_claim_in_error_is_an_error(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """With the reason, and the command that says more."""
    conductor.claim_outcome = {"state": ClaimState.ERROR, "fault": "No pool fits."}
    answer = armillary(*CREATE, "--wait")
    assert answer.code == 1
    assert "No pool fits. To see more: armillary claim explain" in answer.err


def test_claims_are_listed_shown_and_deleted_by_name(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The list shows amounts and pool."""
    armillary(*CREATE)
    (row,) = armillary("claim", "list", "-f", "json").json
    assert (row["Name"], row["Resources"], row["Pool"]) == ("data", "DISK_GB=500", "array1")
    assert armillary("claim", "list", "--pool", "array1", "-f", "json").json == [row]
    assert armillary("claim", "list", "--pool", "array2", "-f", "json").json == []
    assert armillary("claim", "show", "data", "-f", "json").json["kind"] == "storage"
    assert armillary("claim", "delete", "data", "--wait").code == 0
    assert conductor.claims == {}


def test_an_explanation_speaks_of_pools(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Not of hosts."""
    conductor.claim_trace = {
        "zones": [], "hosts_total": 2, "ruled_out": [], "unknown": 0, "candidates": 2,
        "nearest": [], "notes": [], "filters": [], "choices": [], "timings_ms": {},
    }  # fmt: skip
    armillary(*CREATE)
    out = armillary("claim", "explain", "data").out
    assert "DISK_GB=500, is ACTIVE on pool array1." in " ".join(out.split())
    assert "2 of 2 pools with resources fit." in out


def test_quotas_are_set_and_shown(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """The number of claims, and amounts of classes."""
    armillary("claim", "quota", "set", "p1", "--claims", "5", "--amount", "DISK_GB=1000")
    rows = armillary("claim", "quota", "show", "p1", "-f", "json").json
    assert [(row["Resource"], row["Limit"]) for row in rows] == [
        ("claims", 5), ("claims:DISK_GB", 1000),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90), ("90s", 90), ("30m", 1800), ("12h", 43200), ("7d", 604800),
        ("9999999999999d", 9999999999999 * 86400),  # the API says how long it may be
    ],
)  # fmt: skip
def test_durations(text: str, seconds: int) -> None:
    """A number and a unit."""
    assert duration(text) == seconds
