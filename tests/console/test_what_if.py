"""The form of a dry run: what it asks for."""

import json
from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment
from tests.fixtures.asking import wait_for

pytestmark = pytest.mark.sampled_tests(every=2)

QUERY = '[">=","$free_ram_mb",1024]'


def asked_by(page: Any) -> dict[str, Any]:
    """Ask the scheduler; return the body that was sent."""
    with page.expect_request("**/armillary/dry-run") as sent:
        page.get_by_role("button", name="Ask the scheduler").click()
    body: dict[str, Any] = json.loads(sent.value.post_data)
    return body


@pytest.mark.long
def test_hints_may_have_commas_and_come_twice(site: Deployment, tab: Tab) -> None:
    """As the query of JsonFilter has, and other servers to keep away from."""
    page = tab.open("/what-if")
    hints = f"different_host=a, query={QUERY}, different_host=b, constructor=c"
    page.get_by_label("Scheduler hints").fill(hints)
    assert asked_by(page)["os:scheduler_hints"] == {
        "different_host": ["a", "b"], "query": QUERY, "constructor": "c",
    }  # fmt: skip


def test_a_server_group_counts_for_free_amounts(site: Deployment, tab: Tab) -> None:
    """Its servers go to one host, where the weights alone would spread them."""
    group = {"name": "together", "policy": "affinity"}
    made = site.apis["root"].post("/os-server-groups", {"server_group": group})["server_group"]
    page = tab.open("/what-if?amounts=free&VCPU=1&MEMORY_MB=64&DISK_GB=1&count=2")
    page.get_by_label("Scheduler hints").fill(f"group={made['id']}")
    asked_by(page)
    hosts = page.get_by_role("region", name="Selected hosts and alternates").locator("tbody th")

    def are_together() -> bool:  # the address was asked before, without the group
        names = hosts.all_inner_texts()
        return len(names) == 2 and len(set(names)) == 1

    wait_for(are_together, "both servers would go to one host", 30)


@pytest.mark.long
def test_free_amounts_begin_with_those_of_the_flavor(site: Deployment, tab: Tab) -> None:
    """With its traits and extra specs, of which one may be changed."""
    root = site.apis["root"]
    asked = {"name": "special", "vcpus": 4, "ram": 96, "disk": 7, "OS-FLV-EXT-DATA:ephemeral": 2}
    flavor = root.post("/flavors", {"flavor": asked})["flavor"]["id"]
    specs = {
        "trait:CUSTOM_SSD": "required", "trait:CUSTOM_OLD": "forbidden",
        "hw:cpu_policy": "dedicated", "hw:numa_nodes": "2",
    }  # fmt: skip
    root.post(f"/flavors/{flavor}/os-extra_specs", {"extra_specs": specs})
    page = tab.open("/what-if")
    page.get_by_role("combobox", name="Flavor").select_option(flavor)
    page.get_by_role("button", name="Free amounts").click()
    spec = asked_by(page)["request_spec"]
    assert spec["flavor"] == {
        "vcpus": 4, "memory_mb": 96, "root_gb": 9, "extra_specs": specs,
    }  # fmt: skip
    page.get_by_label("Forbidden traits").fill("")
    changed = asked_by(page)["request_spec"]["flavor"]["extra_specs"]
    assert changed.keys() == specs.keys() - {"trait:CUSTOM_OLD"}
