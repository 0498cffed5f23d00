"""Reach of the console beside what axe-core sees: focus, contrast, moves without a mouse, tabs."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment, token_of
from tests.console.test_unusual_answers import a_fleet, is_wider_than_the_window

pytestmark = pytest.mark.sampled_tests(every=2)

OpenTab = Callable[..., Tab]

ZOOMED = {"width": 320, "height": 256}
"""A window of 1280 by 1024 pixels at 400 %."""
PHONE = {"width": 390, "height": 640}
IS_COVERED = """
  () => {
    const own = document.activeElement;
    if (own === document.body) return false; // the browser's own bar has the focus
    const { left, top, width, height } = own.getBoundingClientRect();
    const ends = [[0.5, 0.5], [0.2, 0.2], [0.8, 0.8], [0.2, 0.8], [0.8, 0.2]];
    return !ends.some(([x, y]) => {
      const found = document.elementFromPoint(left + x * width, top + y * height);
      return found && (own.contains(found) || found.contains(own));
    });
  }
"""
FOCUSED = "() => document.activeElement.outerHTML.slice(0, 120)"
COLOURS_OF_THE_MAP = """
  (names) => {
    const canvas = document.querySelector(".heat-map canvas");
    const style = getComputedStyle(document.documentElement);
    const wanted = names.map((name) => style.getPropertyValue(`--${name}`).trim());
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    const hex = (value) => value.toString(16).padStart(2, "0");
    for (let at = 0; at < data.length; at += 4) {
      seen.add(`#${hex(data[at])}${hex(data[at + 1])}${hex(data[at + 2])}`);
    }
    return names.filter((name, at) => seen.has(wanted[at]));
  }
"""


@pytest.fixture
def small(tab: Tab) -> Iterator[Tab]:
    size = tab.page.viewport_size
    yield tab
    tab.page.set_viewport_size(size)


def covered_stops(page: Any) -> list[str]:
    """Return the controls that are covered when they get the focus, by Tab or Shift and Tab."""
    found = []
    for key in ("Tab", "Shift+Tab"):
        page.evaluate("() => { document.activeElement.blur(); }")
        seen: set[str] = set()
        while True:
            page.keyboard.press(key)
            stop = page.evaluate(FOCUSED)
            if stop in seen or len(seen) > 60:
                break
            seen.add(stop)
            if page.evaluate(IS_COVERED):
                found.append(f"{key}: {stop}")
        assert seen
    return found


@pytest.mark.long
@pytest.mark.parametrize("size", [ZOOMED, PHONE], ids=["zoomed", "phone"])
def test_nothing_covers_what_has_the_focus(
    size: dict[str, int], placed: str, held: str, small: Tab
) -> None:
    """Neither the bar on top nor, on a phone, the one at the bottom."""
    small.page.set_viewport_size(size)
    addresses = ("/servers", f"/servers/{placed}", "/claims", "/what-if?amounts=free&VCPU=1")
    found = {each: covered_stops(small.open(each)) for each in addresses}
    assert {each: stops for each, stops in found.items() if stops} == {}


@pytest.mark.long
def test_open_details_make_no_view_wider(placed: str, small: Tab) -> None:
    """Weights in numbers scroll inside their card, at 400 % too."""
    small.page.set_viewport_size(ZOOMED)
    page = small.open(f"/why/{placed}")
    page.get_by_text("The numbers").click()
    page.get_by_role("region", name="Weights in numbers").wait_for()
    assert not is_wider_than_the_window(page)


def test_a_map_is_moved_by_buttons(tab: Tab) -> None:
    """Not by dragging alone; where all is shown, there is nowhere to go."""
    tab.answer_with("fleet", a_fleet(400, ["VCPU"]))
    page = tab.open("/fleet?by=none")
    page.get_by_role("button", name="Zoom in").wait_for()
    assert page.get_by_role("button", name="Move").count() == 0
    page = tab.open("/fleet?by=none&at=host-210&zoom=200")
    page.get_by_role("button", name="Move right").click()
    page.wait_for_url(lambda url: "at=host-210&" not in url)


def test_the_map_is_seen_with_little_contrast(tab: Tab) -> None:
    """Cells of unused hosts have an outline, and the frame of the host in focus two colours."""
    fleet = a_fleet(4, ["VCPU"])
    fleet["hosts"]["used"]["VCPU"] = [0, 8, 8, 8]
    tab.answer_with("fleet", fleet)
    page = tab.open("/fleet?by=none")
    canvas = page.get_by_label("4 hosts by use of vCPU")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("status").get_by_text("host-0").wait_for()
    wanted = ["line-strong", "ink", "surface"]
    page.wait_for_function(f"(names) => ({COLOURS_OF_THE_MAP})(names).length === 3", arg=wanted)


def test_hints_belong_to_their_fields(tab: Tab) -> None:
    """A screen reader reads them with the field."""
    page = tab.open("/what-if?amounts=free&VCPU=1")
    for name in ("Required traits", "Scheduler hints"):
        field = page.get_by_label(name, exact=True)
        described = field.get_attribute("aria-describedby")
        assert "separated by commas" in page.locator(f"#{described}").inner_text().lower()


@pytest.mark.long
def test_a_refused_login_is_tied_to_its_field(open_tab: OpenTab) -> None:
    """The field is marked as wrong, and described by what is wrong with it."""
    page = open_tab(None).open("/login")
    page.get_by_role("button", name="Token", exact=True).click()
    field = page.get_by_label("Token")
    assert field.get_attribute("aria-invalid") == "false"
    field.fill("not-a-token")
    page.get_by_role("button", name="Log in").click()
    said = page.get_by_role("alert")
    said.wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    assert str(said.get_attribute("id")) in str(field.get_attribute("aria-describedby")).split()


@pytest.mark.long
def test_states_are_told_apart_in_colours_of_the_system(tab: Tab) -> None:
    """Which view is open and which button is pressed, and parts of bars and pictures."""
    tab.page.emulate_media(forced_colors="active")
    page = tab.open("/fleet")
    background = "each => getComputedStyle(each).backgroundColor"
    pressed, free = (
        page.locator(f".segments button[aria-pressed={value}]").first.evaluate(background)
        for value in ("true", "false")
    )
    current = page.locator(".bar nav a[aria-current=page]").evaluate(background)
    other = page.locator(".bar nav a:not([aria-current])").first.evaluate(background)
    scale = page.eval_on_selector_all(
        ".scale i", "all => new Set(all.map(each => getComputedStyle(each).backgroundColor)).size"
    )
    tab.page.emulate_media(forced_colors="none")
    assert pressed != free
    assert current != other
    assert scale == 7


@pytest.mark.long
def test_tabs_of_a_browser_follow_its_session(site: Deployment, open_tab: OpenTab) -> None:
    """A tab shows what the user sees who logged in last, not what another one may."""
    first = open_tab("root", is_own_session=True)
    first.open("/fleet")
    second = Tab(None, first.url, first.context)
    second.open("/servers").get_by_role("button", name="Log out").click()
    first.page.get_by_text("Your session has ended").wait_for()
    second.log_in(token_of("alice"))
    first.page.locator(".who", has_text="alice").wait_for()
    assert first.page.get_by_role("link", name="Fleet").count() == 0
    link = site.apis["root"].post("/armillary/console-links", {})["link"]
    second.page.goto(site.url + link)
    first.page.locator(".who", has_text="root").wait_for()
    assert second.faults == []


@pytest.mark.long
def test_lists_that_a_policy_refuses_are_not_offered(tab: Tab) -> None:
    """A dry run with free amounts needs neither flavors, images nor zones."""
    refused = {"status": 403, "body": '{"forbidden": {"message": "Policy says no"}}'}
    lists = re.compile(r"/v2.1/(flavors/detail|images/detail|os-availability-zone)")
    tab.page.route(lists, lambda route: route.fulfill(**refused))
    page = tab.open("/what-if?amounts=free&VCPU=1&MEMORY_MB=64&DISK_GB=1")
    page.get_by_text("It would go to").first.wait_for()
    tab.page.unroute(lists)


def refuse(tab: Tab, *rules: str) -> None:
    """Have the session say that the policy refuses these."""

    def answer(route: Any) -> None:
        found = route.fetch()
        document = found.json()
        document["session"]["allowed"] |= dict.fromkeys(rules, False)
        route.fulfill(response=found, json=document)

    tab.page.route("**/ui/session", answer)


@pytest.mark.long
def test_views_that_a_policy_refuses_are_not_linked(placed: str, open_tab: OpenTab) -> None:
    """Neither the fleet from a host and from Now, nor explanations from a server."""
    tab = open_tab("root", is_own_session=True)
    refuse(tab, "os_compute_api:armillary:fleet:list", "os_compute_api:armillary:explain")
    page = tab.open(f"/servers/{placed}")
    page.locator(".timeline li").first.wait_for()
    assert page.get_by_role("link", name="Why").count() == 0
    links = "all => all.map(each => each.getAttribute('href').split('?')[0])"
    for address, heading in (("/hosts/sim-1", "Resources"), ("/now", "Services")):
        page = tab.open(address)
        page.get_by_role("heading", name=heading).wait_for()
        assert "/ui/fleet" not in page.eval_on_selector_all("main a", links)
    tab.open(f"/why/{placed}").get_by_text("This view is for administrators").wait_for()


def test_hosts_without_a_view_have_no_link(placed: str, open_tab: OpenTab) -> None:
    """Where the policy lets a user see the fleet, but no single host."""
    tab = open_tab("root", is_own_session=True)
    refuse(tab, "os_compute_api:armillary:fleet:show_host")
    page = tab.open("/fleet?as=table")
    page.get_by_role("rowheader", name="sim-1").wait_for()
    assert page.get_by_role("link", name="sim-1").count() == 0
    page = tab.open("/fleet?by=none")
    page.get_by_label("hosts by use of vCPU").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("status").get_by_text("mortal-1").wait_for()
    page.keyboard.press("Enter")
    assert "/fleet" in page.url


@pytest.mark.long
def test_a_long_life_is_shown_to_its_beginning(placed: str, tab: Tab) -> None:
    """The steps of old operations are left out, not the operations."""
    made = [
        {
            "action": f"number-{number}", "request_id": f"req-{number}", "message": None,
            "start_time": "2030-01-01T00:00:00Z", "updated_at": "2030-01-01T00:00:01Z",
        }
        for number in range(300)
    ]  # fmt: skip
    said = {"json": {"instanceActions": made}}
    tab.page.route("**/os-instance-actions", lambda route: route.fulfill(**said))
    page = tab.open(f"/servers/{placed}")
    page.get_by_text("Number 299", exact=True).wait_for()
    assert page.locator(".timeline > li").count() == 300
    tab.page.unroute("**/os-instance-actions")


def test_a_deep_tree_of_providers_scrolls(site: Deployment, small: Tab) -> None:
    """Its leaves keep a width that can be read."""
    host = site.apis["root"].get("/armillary/hosts/sim-1")
    (top,) = host["providers"]
    for depth in range(20):
        child = {**top, "uuid": f"u{depth}", "parent_uuid": host["providers"][-1]["uuid"]}
        host["providers"].append(child)
    small.answer_with("hosts/sim-1", host)
    small.page.set_viewport_size(PHONE)
    page = small.open("/hosts/sim-1")
    assert page.locator(".provider").last.bounding_box()["width"] >= 180
    assert not is_wider_than_the_window(page)
