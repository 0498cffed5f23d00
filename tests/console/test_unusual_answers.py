"""Unusual answers, names, addresses and clocks in the console."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment

pytestmark = pytest.mark.sampled_tests(every=2)

NAMES = {
    "markup": "<img src=x onerror=alert(1)>&amp;<b>",
    "emoji": "🛰🚀 " * 9,
    "right-to-left": "خادم الويب 12 (שרת)",
    "one long word": "w" * 200,
    "quotes": "\"'`${1+1}\\",
}
PHONE = {"width": 390, "height": 844}
CLASSES = [f"CUSTOM_RESOURCE_CLASS_WITH_A_LONG_NAME_{number:02}" for number in range(40)]
FORMATTED = """
  async (values) => {
    const main = document.querySelector("[type=module]").src;
    const format = await import(new URL("format.js", main));
    return values.map(format.FUNCTION);
  }
"""
PERCENTS = FORMATTED.replace("FUNCTION", "percent")
WRITTEN = """
  let frame;
  window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (frame !== document.timeline.currentTime) window.written = [];
    frame = document.timeline.currentTime;
    if (text) window.written.push([y, x, x + this.measureText(text).width]);
    write.call(this, text, x, y);
  };
"""
"""Notes the line, the beginning and the end of each text on the map in the frame drawn last."""
FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def a_fleet(hosts: int, classes: list[str]) -> dict[str, Any]:
    """Return an answer of the API."""
    return {
        "epoch": "e",
        "hosts": {
            "name": [f"host-{number}" for number in range(hosts)],
            "cell": [0] * hosts,
            "zone": [0] * hosts,
            "state": ["up"] * hosts,
            "servers": [1] * hosts,
            "aggregates": [[]] * hosts,
            "capacity": {name: [8] * hosts for name in classes},
            "used": {name: [3] * hosts for name in classes},
        },
        "names": {"cells": ["cell1"], "zones": ["az1"], "aggregates": []},
        "traits": {"names": [], "sets": [[]], "hosts": [0] * hosts},
        "next_marker": None,
    }


@pytest.fixture
def phone(tab: Tab) -> Iterator[Tab]:
    size = tab.page.viewport_size
    tab.page.set_viewport_size(PHONE)
    yield tab
    tab.page.set_viewport_size(size)


def is_wider_than_the_window(page: Any) -> bool:
    return bool(page.evaluate("() => document.documentElement.scrollWidth > innerWidth"))


def test_hosts_may_have_no_inventory_yet(tab: Tab) -> None:
    """Agents that have just started are known before their resources are."""
    tab.answer_with("fleet", a_fleet(2, []))
    page = tab.open("/fleet")
    page.get_by_label("2 hosts by use of vCPU").wait_for()
    assert tab.open("/fleet?as=table").get_by_role("link", name="host-1").is_visible()


@pytest.mark.long
def test_names_of_many_small_groups_do_not_overlap(tab: Tab) -> None:
    """A name for which there is no room is left out."""
    fleet = a_fleet(1000, ["VCPU"])
    fleet["names"]["aggregates"] = [{"name": f"rack-{n:03}", "metadata": {}} for n in range(500)]
    fleet["hosts"]["aggregates"] = [[number % 500] for number in range(1000)]
    tab.answer_with("fleet", fleet)
    tab.page.add_init_script(WRITTEN)
    size, seen = tab.page.viewport_size, 0
    for shown in (PHONE, size):
        tab.page.set_viewport_size(shown)
        page = tab.open("/fleet?by=aggregate")
        page.get_by_label("1,000 hosts").wait_for()
        for _ in range(4):
            page.evaluate("() => { window.written = []; }")
            page.get_by_role("button", name="Zoom in").click()
            page.evaluate(FRAME)
            lines: dict[float, set[tuple[float, ...]]] = {}
            for line, *ends in page.evaluate("() => window.written"):  # perhaps drawn twice
                lines.setdefault(line, set()).add(tuple(ends))
            assert all(other - one >= 10 for one, other in itertools.pairwise(sorted(lines)))
            for ends in map(sorted, lines.values()):
                assert all(one[1] <= other[0] for one, other in itertools.pairwise(ends))
            seen += len(lines)
    assert seen


@pytest.mark.long
def test_hosts_may_have_many_resource_classes(phone: Tab) -> None:
    """Each can be chosen, and none makes the page wider."""
    phone.answer_with("fleet", a_fleet(1, CLASSES))
    page = phone.open("/fleet?as=table")
    offered = page.get_by_label("Colour by use of").locator("option").count()
    assert offered == len(CLASSES)
    assert not is_wider_than_the_window(page)


@pytest.mark.long
def test_a_host_may_have_much_of_everything(site: Deployment, phone: Tab) -> None:
    """Names as long as they may be, and more aggregates, classes and traits than fit a page."""
    host = site.apis["root"].get("/armillary/hosts/sim-1")
    (root,) = host["providers"]
    inventory = root["inventories"]["VCPU"]
    root["name"] = "w" * 200
    root["inventories"] = {name: {**inventory, "total": 10**9, "used": 5} for name in CLASSES}
    root["traits"] = [f"CUSTOM_{'T' * 240}_{number}" for number in range(30)]
    server = {"id": "s", "name": "w" * 255, "status": "VERIFY_RESIZE", "flavor": "f" * 255}
    host |= {
        "name": "w" * 255,
        "zone": "z" * 255,
        "aggregates": {str(number): f"rack-{number}-{'x' * 100}" for number in range(500)},
        "servers": [server] * 3,
    }
    phone.answer_with("hosts/sim-1", host)
    page = phone.open("/hosts/sim-1")
    page.get_by_text("500 aggregates").click()
    page.get_by_role("link", name="rack-499-").scroll_into_view_if_needed()
    page.get_by_text("30 traits").click()
    for width in (PHONE["width"], 1280):
        page.set_viewport_size({**PHONE, "width": width})
        assert not is_wider_than_the_window(page), width


def test_an_address_of_no_view_says_so(tab: Tab) -> None:
    """Also one whose word every object of the language has."""
    for address in ("/constructor", "/toString/x", "/server"):
        tab.open(address).get_by_text("View not found").wait_for()


def test_a_view_that_cannot_be_drawn_says_so(tab: Tab) -> None:
    """The bar stays, and the view comes back with the next answer that can be drawn."""
    tab.answer_with("now", {"at": "2030-01-01T00:00:00Z", "totals": {}, "down_cells": None})
    page = tab.open("/now")
    page.get_by_role("alert").get_by_text("This view cannot be shown.").wait_for()
    tab.page.unroute("**/v2.1/armillary/now*")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="Services").wait_for()
    assert all("null" in each for each in tab.faults)  # in the browser's log, for a report
    assert tab.faults
    tab.faults.clear()


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_shown_as_it_is(name: str, site: Deployment, phone: Tab) -> None:
    """In every view of the server, none of which it makes wider than a phone."""
    server = site.create(name.strip(), flavor=site.greedy_flavor)
    site.wait_for_status(server, "ERROR")
    shown = re.sub(r"\s+", " ", name.strip())
    for address in (f"/servers/{server}", f"/why/{server}", "/servers"):
        page = phone.open(address)
        page.get_by_text(shown).first.wait_for()
        assert not is_wider_than_the_window(page), address
    page.get_by_label(f"Actions on {name.strip()}", exact=True).click()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_text(shown).first.wait_for()
    assert not is_wider_than_the_window(page)


def test_only_all_of_it_is_a_hundred_percent(tab: Tab) -> None:
    """A host with one CPU left of a thousand has one left."""
    parts = {0: "0 %", 0.001: "<1 %", 0.5: "50 %", 0.999: ">99 %", 1: "100 %", 1.004: "100 %"}
    assert tab.open("/what-if").evaluate(PERCENTS, [*parts]) == [*parts.values()]


@pytest.mark.long
def test_a_service_in_trouble_is_asked_when_it_said(tab: Tab) -> None:
    """The page stays, and says what is wrong."""
    asked: list[str] = []

    def refuse(route: Any) -> None:
        asked.append(route.request.url)
        route.fulfill(status=429, headers={"Retry-After": "600"}, body="{}")

    tab.page.clock.install()
    page = tab.open("/servers")
    page.route("**/v2.1/servers/detail*", refuse)
    page.clock.run_for(20_000)
    page.get_by_role("alert").get_by_text("Too many requests.").wait_for()
    page.clock.run_for(300_000)
    assert len(asked) == 1
    with page.expect_request("**/v2.1/servers/detail*"):
        page.clock.run_for(300_000)


@pytest.mark.long
def test_only_changed_pages_of_a_large_fleet_are_asked_for_again(tab: Tab) -> None:
    """A change on a page behind the first one is seen, and the first one is not sent again."""
    pages = {"": a_fleet(2, ["VCPU"]), "second": a_fleet(1, ["VCPU"])}
    pages[""]["next_marker"] = "second"
    pages["second"]["hosts"]["name"] = ["host-2"]
    sent: list[str] = []

    def answer(route: Any) -> None:
        marker = route.request.url.partition("marker=")[2]
        body = json.dumps(pages[marker])
        etag = f'"{len(body)}"'
        if route.request.headers.get("if-none-match") == etag:
            route.fulfill(status=304, headers={"ETag": etag})
            return
        sent.append(marker)
        route.fulfill(body=body, headers={"ETag": etag, "Content-Type": "application/json"})

    tab.page.route("**/v2.1/armillary/fleet*", answer)
    page = tab.open("/fleet?as=table")
    page.get_by_role("link", name="host-2").wait_for()
    pages["second"]["hosts"]["state"] = ["disabled"]
    page.locator("tbody .badge", has_text="disabled").wait_for()
    assert sent == ["", "second", "second"]


@pytest.mark.long
def test_a_server_of_a_silent_cell_is_not_told_as_if_it_were_new(placed: str, tab: Tab) -> None:
    """The API knows little of it until the cell answers again."""

    def answer(route: Any) -> None:
        found = route.fetch()
        server = found.json()["server"]
        known = ("id", "tenant_id", "user_id", "created", "image", "flavor", "links")
        shown = {name: server[name] for name in known} | {"status": "UNKNOWN"}
        route.fulfill(response=found, json={"server": shown})

    tab.page.route(f"**/v2.1/servers/{placed}", answer)
    tab.page.route("**/os-instance-actions", lambda route: route.fulfill(status=503, body="{}"))
    page = tab.open(f"/servers/{placed}")
    page.get_by_text("Its cell does not answer").wait_for()
    said = page.inner_text("main")
    assert "Its life cannot be shown" in said
    assert "Running since" not in said
    assert "undefined" not in said
