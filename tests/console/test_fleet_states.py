"""States of hosts in the fleet, counted and filtered."""

from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.tables import rows

pytestmark = pytest.mark.sampled_tests(every=2)

HOSTS = {
    "roomy": ("up", 4), "full": ("up", 8), "full-and-down": ("down", 8),
    "full-and-disabled": ("draining", 8), "off": ("disabled", 0),
}  # fmt: skip
"""Name -> state and used CPUs, of eight each."""


def a_fleet() -> dict[str, Any]:
    """Return an answer of the API."""
    count = len(HOSTS)
    return {
        "epoch": "e",
        "hosts": {
            "name": list(HOSTS),
            "cell": [0] * count,
            "zone": [0] * count,
            "state": [state for state, _used in HOSTS.values()],
            "servers": [used for _state, used in HOSTS.values()],
            "aggregates": [[]] * count,
            "capacity": {"VCPU": [8] * count, "MEMORY_MB": [1024] * count},
            "used": {"VCPU": [used for _state, used in HOSTS.values()], "MEMORY_MB": [0] * count},
        },
        "names": {"cells": ["cell1"], "zones": ["az1"], "aggregates": []},
        "traits": {"names": [], "sets": [[]], "hosts": [0] * count},
        "next_marker": None,
    }


@pytest.mark.long
def test_a_count_leads_to_as_many_hosts(tab: Tab) -> None:
    """A full host is up, and one that is down or disabled is not counted as full."""
    tab.answer_with("fleet", a_fleet())
    page = tab.open("/fleet?as=table")
    found = {}
    for count in page.locator("button.count").all_inner_texts():
        page.get_by_role("button", name=count, exact=True).click()
        page.wait_for_url("**state=*")
        found[count] = {row[0] for row in rows(page)}
        page.get_by_role("combobox", name="State").select_option("")
    assert found == {
        "2 up": {"roomy", "full"}, "1 full": {"full"}, "1 draining": {"full-and-disabled"},
        "1 disabled": {"off"}, "1 down": {"full-and-down"},
    }  # fmt: skip


@pytest.mark.long
def test_a_zone_without_hosts_names_the_zones_that_have_them(tab: Tab) -> None:
    """Their hosts are not missing: another deployment has them."""
    fleet, below = a_fleet(), {"zones": [{"name": "eu", "hosts_up": 29}]}
    columns = fleet["hosts"]
    fleet["hosts"] = {name: {} if isinstance(columns[name], dict) else [] for name in columns}
    fleet["traits"]["hosts"] = []
    for path, body in {"fleet": fleet, "zones": below}.items():
        tab.answer_with(path, body)
    tab.open("/fleet").get_by_text("1 zone below it: eu with 29 hosts up").wait_for()
