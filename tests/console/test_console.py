"""Views of the console, compared with the API of a running deployment."""

import contextlib
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.console.browser import COLOURS, Tab, violations
from tests.console.deployment import HOSTS_TOTAL, MORTAL, Deployment, image_of, token_of
from tests.console.tables import rows
from tests.fixtures.asking import wait_for

pytestmark = pytest.mark.sampled_tests(every=2)

OpenTab = Callable[..., Tab]

ALIKE = ("table", "server", "refused", "claims", "claim")
"""Views of the same parts as others."""


def test_a_printed_link_logs_in_once(site: Deployment, open_tab: OpenTab) -> None:
    """The second time it says so, and asks for a login."""
    link = site.apis["root"].post("/armillary/console-links", {})["link"]
    tab = open_tab(None)
    tab.page.goto(site.url + link)
    tab.page.wait_for_selector("header.bar")
    assert "root" in tab.page.inner_text("header.bar")
    assert "#" not in tab.page.url
    tab.context.clear_cookies()
    tab.page.goto(site.url + link)
    assert "was opened before" in tab.page.get_by_role("alert").inner_text()


@pytest.mark.long
def test_a_session_ends_with_its_logout(open_tab: OpenTab) -> None:
    """A view that is opened afterwards asks for a login; a logout that fails is said to have."""
    tab = open_tab("root", is_own_session=True)
    tab.open("/fleet")
    tab.page.route("**/ui/session", lambda route: route.abort())
    tab.page.get_by_role("button", name="Log out").click()
    tab.page.get_by_text("You are still logged in").wait_for()
    tab.page.unroute("**/ui/session")
    tab.page.get_by_role("button", name="Log out").click()
    tab.page.get_by_role("heading", name="Log in").wait_for()
    tab.open("/fleet")
    assert tab.page.get_by_role("heading", name="Log in").is_visible()


def test_the_fleet_shows_what_the_api_says(site: Deployment, placed: str, tab: Tab) -> None:
    """The same hosts, states and servers, as a map and as a table."""
    page = tab.open("/fleet")
    page.get_by_label(f"{HOSTS_TOTAL} hosts by use of vCPU").wait_for()
    page.get_by_role("button", name="Table").click()
    page.wait_for_selector("tbody tr")

    def answered() -> dict[str, tuple[str, int]]:
        hosts = site.apis["root"].get("/armillary/fleet")["hosts"]
        each = zip(hosts["name"], hosts["state"], hosts["servers"], strict=True)
        return {name: (state, servers) for name, state, servers in each}

    def shown() -> dict[str, tuple[str, int]]:
        return {row[0]: (row[1], int(row[3])) for row in rows(page)}

    with contextlib.suppress(AssertionError):  # a server may just have been built
        wait_for(lambda: shown() == answered(), "both say the same")
    assert shown() == answered()


def test_the_first_view_is_asked_for_once(tab: Tab) -> None:
    """While its modules are loaded; they and the styles are not asked for again."""
    asked: list[str] = []

    def note(request: Any) -> None:
        path = urlsplit(request.url).path
        if "/assets/" not in path and "if-none-match" not in request.headers:
            asked.append(path)

    tab.page.on("request", note)
    tab.open("/fleet").locator("canvas").wait_for()
    assert asked == ["/ui/fleet", "/ui/session", "/v2.1/armillary/fleet"]
    tab.open("/fleet").locator("canvas").wait_for()
    files = tab.page.evaluate(
        "() => performance.getEntriesByType('resource').map(each => [each.name, each.transferSize])"
    )
    assert [name for name, sent_bytes in files if "/assets/" in name and sent_bytes] == []


def test_a_part_of_the_map_is_in_the_address(tab: Tab) -> None:
    """Who opens it sees the same hosts, and other groups are shown whole."""
    page = tab.open("/fleet?by=none")
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**zoom=**")
    assert parse_qs(urlsplit(page.url).query)["at"][0] in {
        *(f"sim-{number}" for number in range(1, 6)), "numa-1", MORTAL
    }  # fmt: skip
    page = tab.open("/fleet?by=none&at=sim-2&zoom=240")
    box = page.locator(".heat-map canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_role("status").get_by_text("sim-2", exact=True).wait_for()
    page.get_by_label("Group by").select_option("zone")
    page.wait_for_url(lambda url: "zoom" not in url)


@pytest.mark.long
def test_hosts_are_filtered_by_the_address(tab: Tab) -> None:
    """An address can be sent to a colleague."""
    page = tab.open("/fleet?as=table&q=numa-*")
    page.wait_for_selector("tbody tr")
    assert [row[0] for row in rows(page)] == ["numa-1"]


@pytest.mark.long
def test_the_heat_map_is_used_by_keyboard(tab: Tab) -> None:
    """Arrow keys go from host to host, Enter opens one."""
    page = tab.open("/fleet?by=none")
    canvas = page.get_by_label(f"{HOSTS_TOTAL} hosts by use of vCPU")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.get_by_role("status").filter(has_text="numa-1").or_(
        page.get_by_role("status").filter(has_text="sim-1")
    ).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/hosts/*")


@pytest.mark.long
def test_a_host_shows_its_providers_and_numa_cells(site: Deployment, tab: Tab) -> None:
    """With the amounts of placement, and a picture of its CPUs and devices."""
    page = tab.open("/hosts/numa-1")
    host = site.apis["root"].get("/armillary/hosts/numa-1")
    capacity = host["providers"][0]["inventories"]["VCPU"]["capacity"]
    assert f"of {capacity:g} vCPU" in page.inner_text("main")
    assert page.get_by_label("NUMA cell 1").is_visible()
    assert page.get_by_label("Devices 10de:20b0: 0 of 2 reserved").count() == 2


def test_a_host_shows_what_happened_on_it(site: Deployment, tab: Tab) -> None:
    """Servers that came, and what operators did, in pages that have addresses."""
    root = site.apis["root"]
    server = root.get(f"/servers/{site.create('came-here')}")["server"]
    host = site.wait_for_status(server["id"], "ACTIVE")["OS-EXT-SRV-ATTR:host"]
    (service,) = root.get("/os-services", host=host, binary="armillary-compute")["services"]
    for number in range(10):
        change = {"status": "disabled", "disabled_reason": f"reason {number}"}
        root.put(f"/os-services/{service['id']}", change)
        root.put(f"/os-services/{service['id']}", {"status": "enabled"})
    page = tab.open(f"/hosts/{host}")
    events = page.get_by_role("region", name="Events of this host")
    events.get_by_text("reason 9").wait_for()
    assert events.locator("tbody tr").count() == 20
    page.get_by_role("button", name="Older").click()
    events.get_by_role("link", name="came-here").wait_for()
    assert events.get_by_text("Added to the fleet").count() == 1
    page.reload()
    events.get_by_role("link", name="came-here").wait_for()
    assert events.get_by_text("reason 9").count() == 0


@pytest.mark.long
def test_a_host_that_dies_turns(site: Deployment, tab: Tab) -> None:
    """Within its heartbeat, without a reload."""
    page = tab.open(f"/hosts/{MORTAL}")
    page.locator("h1 .badge", has_text="up").wait_for()
    site.mortal.stop(0)
    page.locator("h1 .badge", has_text="down").wait_for()
    assert "Its heartbeat is missing" in page.inner_text("main")
    page.get_by_text("Down: its heartbeat is missing").wait_for()


def test_a_create_is_seen_from_the_dry_run_to_active(site: Deployment, tab: Tab) -> None:
    """Asked as a dry run, created from there, and followed."""
    page = tab.open("/what-if")
    page.get_by_role("combobox", name="Flavor").select_option(site.flavor)
    page.get_by_role("button", name="Ask the scheduler").click()
    page.get_by_text("It would go to").first.wait_for()
    page.get_by_role("button", name="Create it…").click()
    page.get_by_label("Name", exact=True).fill("made-in-the-console")
    page.get_by_role("button", name="Create", exact=True).click()
    page.locator("h1 .badge", has_text=re.compile("BUILD|ACTIVE")).wait_for()  # it may be quick
    page.locator("h1 .badge", has_text="ACTIVE").wait_for()
    page.get_by_text("Attempt 1 on").wait_for()


def test_a_server_shows_the_name_of_its_image(site: Deployment, placed: str, tab: Tab) -> None:
    """Beside its ID, which is left when the image is deleted."""
    page = tab.open(f"/servers/{placed}")
    page.locator("dl.facts", has_text=f"sleeper {site.image}").wait_for()


def test_an_image_that_is_gone_is_asked_for_once(site: Deployment, tab: Tab) -> None:
    """Not each time that the page brings the server up to date."""
    image = image_of(site.apis["root"])
    server = site.create("without-its-image", image=image)
    site.wait_for_status(server, "ACTIVE")
    site.apis["root"].request("DELETE", f"/images/{image}")
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page = tab.open(f"/servers/{server}")
    page.locator("dl.facts", has_text=image).wait_for()
    for _ in range(3):
        with page.expect_request(f"**/servers/{server}"):
            pass
    assert asked.count(f"/v2.1/images/{image}") == 1


@pytest.mark.long
def test_free_amounts_are_built_with_a_flavor_of_their_own(site: Deployment, tab: Tab) -> None:
    """Which has the amounts that were asked for."""
    page = tab.open("/what-if?amounts=free&VCPU=1&MEMORY_MB=640&DISK_GB=2")
    page.get_by_role("button", name="Create it…").click()
    page.get_by_label("Name of the new flavor").fill("of-free-amounts")
    page.get_by_label("Name", exact=True).fill("of-free-amounts")
    page.get_by_role("button", name="Create", exact=True).click()
    page.locator("h1 .badge", has_text="ACTIVE").wait_for()
    assert "1 vCPU, 640 MiB memory, 2 GiB disk" in page.inner_text("main")


def test_a_failed_request_shows_its_funnel(site: Deployment, refused: str, tab: Tab) -> None:
    """The sentence of the API, and steps whose counts add up."""
    page = tab.open(f"/why/{refused}")
    trace = site.apis["root"].get(f"/armillary/servers/{refused}/explain")["explanation"]["trace"]
    assert trace["sentence"] in page.inner_text(".sentence")
    left = page.eval_on_selector_all(
        ".funnel .left", "all => all.map(each => parseInt(each.innerText.match(/\\d+/)[0]))"
    )
    assert (left[0], left[-1]) == (trace["hosts_total"], 0)
    removed = page.locator(".funnel .removed").all_inner_texts()
    counts = [re.search(r"\d+", text) for text in removed]
    assert sum(int(each[0]) for each in counts if each) == trace["hosts_total"]
    page.locator(".funnel button.label").first.click()
    page.locator(".funnel .hosts a").first.wait_for()
    assert page.locator(".funnel .hosts a").all_inner_texts() == trace["ruled_out"][0]["hosts"]


@pytest.mark.long
def test_a_decision_shows_the_weights_of_the_winner(
    site: Deployment, placed: str, tab: Tab
) -> None:
    """And of the runners-up, each with its total."""
    page = tab.open(f"/why/{placed}")
    trace = site.apis["root"].get(f"/armillary/servers/{placed}/explain")["explanation"]["trace"]
    choice = trace["choices"][0]
    shown = page.locator(".weights .bars li").all_inner_texts()
    hosts = [choice, *choice["runners_up"]]
    assert [host["host"] in text for host, text in zip(hosts, shown, strict=True)] == [True] * len(
        hosts
    )
    assert f"{choice['weight']:.3f}" in shown[0]
    assert choice["alternates"]
    assert ", ".join(choice["alternates"]) in page.inner_text("main")


@pytest.mark.long
def test_builds_that_failed_are_named_before_the_decision(placed: str, tab: Tab) -> None:
    """Else a reader wonders why the server is not on the host that was selected."""

    def answer(route: Any) -> None:
        found = route.fetch()
        document = found.json()
        document["explanation"]["server"] |= {"attempt": 2, "host": "sim-2"}
        document["explanation"]["attempts"] = [
            {"attempt": 1, "host": "sim-1", "result": "Error", "reason": "The disk is full."},
            {"attempt": 2, "host": "sim-2", "result": "Success", "reason": None},
        ]
        route.fulfill(response=found, json=document)

    tab.page.route("**/explain*", answer)
    page = tab.open(f"/why/{placed}")
    said = page.inner_text(".sentence")
    assert "The build failed on sim-1; the next alternate was used." in said
    heads = page.locator("main h2").all_inner_texts()
    assert heads.index("Attempts") < heads.index("Weights")


@pytest.mark.long
@pytest.mark.parametrize(
    ("zone", "name"), [(None, "eu/eu-1:0adaf8fd-0ba6-4a57"), ("eu", "eu-host")], ids=["own", "eu"]
)
def test_hosts_of_other_zones_have_no_link(
    zone: str | None, name: str, placed: str, tab: Tab
) -> None:
    """Their pages are in the consoles of their deployments."""

    def answer(route: Any) -> None:
        found = route.fetch()
        document = found.json()
        document["explanation"]["server"]["zone"] = zone
        for runner_up in document["explanation"]["trace"]["choices"][0]["runners_up"]:
            runner_up["host"] = name
        route.fulfill(response=found, json=document)

    tab.page.route("**/explain*", answer)
    page = tab.open(f"/why/{placed}")
    page.locator(".weights .name", has_text=name).first.wait_for()
    assert page.get_by_role("link", name=name).count() == 0
    assert (f"(zone {zone})" in page.inner_text(".sentence")) == bool(zone)


def test_users_see_only_their_own(site: Deployment, open_tab: OpenTab) -> None:
    """Two projects, two tables, no view of the fleet; an administrator sorts both by a column."""
    for user, other in (("alice", "bob"), ("bob", "alice")):
        site.create(f"of-{user}", user=user)
        tab = open_tab(user)
        page = tab.open("/servers")
        page.get_by_role("link", name=f"of-{user}").wait_for()
        names = {row[0].split()[0] for row in rows(page)}
        assert names == {f"of-{user}"}, other
        assert page.get_by_role("link", name="Fleet").count() == 0
        assert "for administrators" in tab.page.inner_text("body") or tab.page.url.endswith(
            "servers"
        )
    page = open_tab("root").open("/servers?name=of-&sort_key=project_id&sort_dir=desc")
    page.locator("tbody tr:first-child", has_text="of-bob").wait_for()
    page.get_by_role("button", name="Name").click()
    page.locator("tbody tr:first-child", has_text="of-alice").wait_for()
    sorted_by = page.locator("th[aria-sort=ascending]").inner_text()
    assert (sorted_by, "sort_key=display_name&sort_dir=asc" in page.url) == ("Name ↑", True)


@pytest.mark.long
def test_what_a_user_may_not_do_is_not_offered(site: Deployment, open_tab: OpenTab) -> None:
    """A reader has no button that changes anything; a member creates, and asks for no dry run."""
    site.wait_for_status(site.create("of-astronomy", user="alice"), "ACTIVE")
    page = open_tab("rita").open("/servers")
    page.get_by_role("link", name="of-astronomy").wait_for()
    offered = page.get_by_role("navigation", name="Views").get_by_role("link").all_inner_texts()
    assert offered == ["Servers", "Claims"]
    assert page.locator("main").get_by_text(re.compile("Actions|New server")).count() == 0
    page = open_tab("alice").open("/servers")
    page.get_by_role("link", name="New server…").click()
    page.get_by_role("combobox", name="Flavor").select_option(site.flavor)
    page.get_by_role("button", name="Create it…").click()
    page.get_by_label("Name", exact=True).fill("made-by-alice")
    page.get_by_role("button", name="Create", exact=True).click()
    page.locator("h1 .badge", has_text="ACTIVE").wait_for()
    assert page.get_by_role("button", name="Ask the scheduler").count() == 0


@pytest.mark.long
def test_a_session_that_ends_goes_on_where_it_was(open_tab: OpenTab) -> None:
    """The page says so, and shows the same view after the login."""
    tab = open_tab("root", is_own_session=True)
    page = tab.open("/servers?status=SHUTOFF")
    tab.context.clear_cookies()
    page.get_by_text("Your session has ended").wait_for()
    page.get_by_role("button", name="Token", exact=True).click()
    page.get_by_label("Token").fill(token_of("root"))
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Servers").wait_for()
    assert page.get_by_role("combobox", name="Status").input_value() == "SHUTOFF"


@pytest.mark.long
def test_an_api_that_fails_is_named_above_the_older_data(tab: Tab) -> None:
    """And goes from the page once it answers again, without a reload."""
    page = tab.open("/servers")
    said = '{"serviceUnavailable": {"code": 503, "message": "placement restarts"}}'
    refuse = {"status": 503, "body": said, "content_type": "application/json"}
    page.route("**/v2.1/servers/detail*", lambda route: route.fulfill(**refuse))
    page.get_by_role("alert").get_by_text("placement restarts").wait_for()
    assert page.get_by_role("region", name="Table of servers").is_visible()
    assert violations(page) == []
    page.unroute("**/v2.1/servers/detail*")
    page.get_by_role("alert").wait_for(state="detached")


@pytest.fixture
def addresses(placed: str, refused: str, held: str) -> dict[str, str]:
    return {
        "fleet": "/fleet", "table": "/fleet?as=table", "host": "/hosts/numa-1",
        "servers": "/servers", "server": f"/servers/{placed}", "why": f"/why/{placed}",
        "refused": f"/why/{refused}", "what-if": "/what-if?amounts=free&VCPU=1", "now": "/now",
        "claims": "/claims", "claim": f"/claims/{held}", "pools": "/pools",
    }  # fmt: skip


def test_axe_finds_nothing_in_any_view(addresses: dict[str, str], tab: Tab) -> None:
    """In light; the views that have parts of these only are looked at beside the dark ones."""
    tab.page.emulate_media(color_scheme="light")
    views = {name: each for name, each in addresses.items() if name not in ALIKE}
    found = {name: violations(tab.open(address)) for name, address in views.items()}
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.long
def test_no_view_is_wider_than_a_phone(addresses: dict[str, str], tab: Tab) -> None:
    """Tables scroll inside the page, which itself does not."""
    size = tab.page.viewport_size
    tab.page.set_viewport_size({"width": 390, "height": 844})
    wide = [
        name
        for name, address in addresses.items()
        if tab.open(address).evaluate("() => document.documentElement.scrollWidth > innerWidth")
    ]
    tab.page.set_viewport_size(size)
    assert wide == []


@pytest.mark.long
def test_axe_finds_nothing_in_dark(addresses: dict[str, str], tab: Tab) -> None:
    """The colours differ, and nothing else."""
    found = {name: violations(tab.open(addresses[name])) for name in ALIKE}
    tab.page.emulate_media(color_scheme="dark")
    for name, address in addresses.items():
        found[f"{name}, dark"] = violations(tab.open(address), COLOURS)
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_dialogs_and_empty_views(
    site: Deployment, tab: Tab, scheme: str
) -> None:
    """What is seen when something is asked, missing or refused."""
    server = site.create(f"asked-{scheme}")
    site.wait_for_status(server, "ACTIVE")
    tab.page.emulate_media(color_scheme=scheme)
    found = {}
    for address in ("/servers?name=nowhere", "/fleet?q=nowhere", "/servers/nowhere", "/nowhere"):
        tab.page.goto(f"{tab.url}/ui{address}")
        tab.page.locator("main .empty, main [role=alert]").first.wait_for()
        found[address] = violations(tab.page)
    page = tab.open("/hosts/numa-1")
    page.get_by_role("button", name="Disable…").click()
    found["disable"] = violations(page)
    page = tab.open(f"/servers/{server}")
    page.get_by_label(f"Actions on asked-{scheme}").click()
    found["menu"] = violations(page)
    page.get_by_role("button", name="Delete…").click()
    found["delete"] = violations(page)
    page = tab.open("/what-if?amounts=free&VCPU=1")
    page.get_by_role("button", name="Create it…").click()
    found["create"] = violations(page)
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.long
def test_axe_finds_nothing_in_the_login(open_tab: OpenTab) -> None:
    """The form is the first thing that is seen."""
    tab = open_tab(None)
    assert violations(tab.open("/login")) == []
