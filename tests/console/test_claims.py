"""Claims and pools in the console, compared with the API."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment
from tests.console.tables import rows

pytestmark = pytest.mark.sampled_tests(every=2)

OpenTab = Callable[..., Tab]

SSD = "STORAGE_DISK_SSD"


def explained(site: Deployment, claim: str) -> dict[str, Any]:
    found: dict[str, Any] = site.apis["root"].get(f"/armillary/claims/{claim}/explain")
    return dict(found["explanation"])


def test_a_claim_shows_its_pool_and_why(site: Deployment, held: str, tab: Tab) -> None:
    """From the list to its page, whose figures are those of the API, in words about pools."""
    page = tab.open("/claims")
    page.get_by_role("link", name="data", exact=True).click()
    page.locator("h1 .badge", has_text="ACTIVE").wait_for()
    known = explained(site, held)
    trace = known["trace"]
    page.get_by_role("heading", name=f"From {trace['hosts_total']} pools to one").wait_for()
    facts = page.inner_text("dl.facts")
    assert "Disk 500 GiB" in facts
    assert known["claim"]["pool"] in facts
    assert ", ".join(known["claim"]["alternates"]) in facts
    assert re.search(r"\bhosts?\b", page.inner_text("main")) is None


@pytest.mark.long
def test_a_claim_without_a_pool_says_why(site: Deployment, held: str, tab: Tab) -> None:
    """The fault of the claim, and the funnel down to none."""
    asked: dict[str, Any] = {"resources": {"DISK_GB": 900_000}, "required": [SSD]}
    claim = site.claim("too-much", kind="storage", **asked)
    page = tab.open(f"/claims/{claim}")
    page.get_by_text("None left").wait_for()
    known = explained(site, claim)
    assert str(known["claim"]["fault"]) in page.inner_text(".sentence")
    removed = page.locator(".funnel .removed").all_inner_texts()
    counts = [re.search(r"\d+", text) for text in removed]
    assert sum(int(each[0]) for each in counts if each) == known["trace"]["hosts_total"]


@pytest.mark.long
def test_pools_have_what_the_api_says(site: Deployment, held: str, tab: Tab) -> None:
    """By kind, with the units of each resource class; filters are in the address."""
    page = tab.open("/pools")
    storage = page.get_by_role("region", name="Pools of storage")
    storage.wait_for()
    found = {each["name"]: each for each in site.apis["root"].get("/armillary/pools")["pools"]}
    shown = {(*row[0].split()[:2], row[2]) for row in rows(page)}
    assert shown == {(name, each["status"], str(each["claims"])) for name, each in found.items()}
    network = page.get_by_role("region", name="Pools of network").inner_text()
    assert "0 of 250" in network
    assert "0 of 10 Gbit/s" in network
    pool = explained(site, held)["claim"]["pool"]
    storage.get_by_role("link", name=f"on {pool}").click()
    page.get_by_role("link", name="data", exact=True).wait_for()
    assert page.url.endswith(f"/claims?kind=storage&pool={pool}")
    assert {row[5] for row in rows(page)} == {pool}
    page.go_back()
    page.get_by_label("Kind").select_option("network")
    storage.wait_for(state="detached")
    assert page.url.endswith("/pools?kind=network")


@pytest.mark.long
def test_a_claim_of_a_server_is_on_its_page(site: Deployment, pools: None, tab: Tab) -> None:
    """And leads back to it."""
    root = site.apis["root"]
    beside = root.post("/os-aggregates", {"aggregate": {"name": "beside-sim-1"}})["aggregate"]
    root.post(f"/os-aggregates/{beside['id']}/action", {"add_host": {"host": "sim-1"}})
    site.add_pool("beside", "storage", {"DISK_GB": 100}, aggregates=[beside["uuid"]])
    server = site.create("with-a-volume", host="sim-1")
    site.wait_for_status(server, "ACTIVE")
    site.claim("volume", kind="storage", resources={"DISK_GB": 10}, server_id=server)
    page = tab.open(f"/servers/{server}")
    page.get_by_role("region", name="Claims of this server").get_by_role(
        "link", name="volume"
    ).click()
    page.locator("dd", has_text="with its server").wait_for()
    page.get_by_role("link", name="with-a-volume").click()
    page.get_by_role("heading", name="with-a-volume").wait_for()


def test_users_see_their_own_claims_and_no_pools(
    site: Deployment, pools: None, open_tab: OpenTab
) -> None:
    """A reader ends none."""
    site.claim("of-alice", user="alice", kind="storage", resources={"DISK_GB": 1})
    site.claim("of-bob", user="bob", kind="storage", resources={"DISK_GB": 1})
    page = open_tab("rita").open("/claims")
    page.get_by_role("link", name="of-alice").wait_for()
    assert [row[0] for row in rows(page)] == ["of-alice"]
    assert page.locator("main").get_by_role("link", name="Pools").count() == 0
    page.get_by_role("link", name="of-alice").click()
    page.get_by_role("heading", name=re.compile(r"From \d pools to one")).wait_for()
    assert re.search("array|beside", page.inner_text("main")) is None
    assert page.get_by_role("button", name="End it…").count() == 0
    assert "for administrators" in open_tab("alice").open("/pools").inner_text("main")


def test_a_claim_is_ended_on_its_page(site: Deployment, pools: None, tab: Tab) -> None:
    """It asks before, and says afterwards that the claim has ended."""
    claim = site.claim("to-be-ended", kind="storage", resources={"DISK_GB": 2})
    page = tab.open(f"/claims/{claim}")
    page.get_by_role("button", name="End it…").click()
    page.get_by_role("dialog").get_by_text("Disk 2 GiB").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="End it", exact=True).click()
    page.get_by_text("to-be-ended has ended").wait_for()
    assert page.get_by_role("button", name="End it…").count() == 0


@pytest.mark.long
def test_a_page_whose_start_has_ended_becomes_the_first_one(held: str, tab: Tab) -> None:
    """Claims end while a user looks at the list."""
    page = tab.open("/claims?kind=storage&marker=00000000-0000-0000-0000-000000000000")
    page.get_by_role("link", name="data", exact=True).wait_for()
    assert page.url.endswith("/claims?kind=storage")
