"""Work in the console that is interrupted: by lost answers, lost modules, ended sessions."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment, token_of
from tests.console.test_server_actions import choose, confirm, wait_for_badge
from tests.console.test_unusual_answers import a_fleet

pytestmark = pytest.mark.sampled_tests(every=2)

OpenTab = Callable[..., Tab]

UNAVAILABLE = {
    "status": 503,
    "body": '{"serviceUnavailable": {"code": 503, "message": "the broker restarts"}}',
    "content_type": "application/json",
}
HALF = {"body": '{"server"', "content_type": "application/json"}
LOST: dict[str, Callable[[Any], None]] = {
    "no answer": lambda route: route.abort(),
    "unavailable": lambda route: route.fulfill(**UNAVAILABLE),
    "half an answer": lambda route: route.fulfill(**HALF),
}
"""What the page gets of an answer, after the API has done what was asked."""
FOCUSED_TEXT = "() => document.activeElement.innerText"


@pytest.mark.long
@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_a_server_is_created_once_by_asking_again(
    lose: Callable[[Any], None], site: Deployment, tab: Tab, request: pytest.FixtureRequest
) -> None:
    """The page says that the first time may have worked; the second one finds what it made."""
    name = f"once-{request.node.callspec.id.replace(' ', '-')}"
    made: list[str] = []

    def answer(route: Any) -> None:
        if made:
            route.continue_()
            return
        made.append(route.fetch().json()["server"]["id"])
        lose(route)

    page = tab.open("/what-if")
    page.get_by_role("combobox", name="Flavor").select_option(site.flavor)
    page.get_by_role("button", name="Ask the scheduler").click()
    page.get_by_role("button", name="Create it…").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.route("**/v2.1/servers", answer)
    confirm(page, "Create")
    page.get_by_role("dialog").get_by_text("It may have been done all the same.").wait_for()
    confirm(page, "Create")
    page.wait_for_url(f"**/ui/servers/{made[0]}")
    page.unroute("**/v2.1/servers")
    known = site.apis["root"].get("/servers", name=name)["servers"]
    assert [each["id"] for each in known] == made


def test_a_failure_is_told_after_its_question_was_closed(site: Deployment, tab: Tab) -> None:
    """Who closed it while the request was under way would think that it was done."""
    server = site.create("not-stopped")
    page = tab.open(f"/servers/{server}")
    wait_for_badge(page, "ACTIVE")
    held: list[Any] = []
    page.route("**/action", lambda route: held.append(route))
    choose(page, "not-stopped", "Stop")
    with page.expect_request("**/action"):
        confirm(page, "Stop")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    held[0].fulfill(**UNAVAILABLE)
    page.locator(".toasts").get_by_text("the broker restarts").wait_for()
    page.unroute("**/action")


@pytest.mark.long
def test_a_view_whose_part_did_not_come_is_asked_for_again(tab: Tab) -> None:
    """Also one that it needs in turn, and the session itself; until they come, the page stays."""
    page = tab.page
    page.route("**/ui/session", lambda route: route.abort())
    page.goto(f"{tab.url}/ui/fleet")
    page.get_by_role("alert").get_by_text("The API does not answer").wait_for()
    page.unroute("**/ui/session")
    page.get_by_role("button", name="Try again").click()
    page.locator(".heat-map canvas").wait_for()
    for module, title in (("now/now_view", "Now"), ("why/decision", "What if")):
        lost = re.compile(rf"/{module}\.js$")
        page.route(lost, lambda route: route.abort())
        page.get_by_role("link", name=title, exact=True).click()
        said = page.get_by_role("alert").filter(has_text="could not be loaded")
        said.wait_for()
        with page.expect_request(lost):
            page.get_by_role("button", name="Try again").click()
        said.wait_for()
        page.unroute(lost)
        page.get_by_role("button", name="Try again").click()
        page.get_by_role("heading", name=title, level=1).wait_for()
        page.locator("main .loading").first.wait_for(state="detached")


def test_the_way_back_leads_to_where_a_view_was_left(tab: Tab) -> None:
    """Although it is loaded again; a view that is opened begins at its top."""
    tab.answer_with("fleet", a_fleet(100, ["VCPU"]))
    page = tab.open("/fleet?as=table")
    page.get_by_role("link", name="host-90").scroll_into_view_if_needed()
    left = page.evaluate("() => scrollY")
    assert left > 500
    page.get_by_role("link", name="host-90").click()
    page.get_by_role("alert").wait_for()
    assert page.evaluate("() => scrollY") == 0
    page.go_back()
    page.wait_for_function("left => Math.abs(scrollY - left) <= 1", arg=left)
    page.get_by_role("link", name="Servers", exact=True).click()
    page.get_by_role("heading", name="Servers").wait_for()
    assert page.evaluate("() => scrollY") == 0


@pytest.mark.long
def test_what_was_filled_in_outlasts_the_session(open_tab: OpenTab) -> None:
    """Of a form that was not sent yet."""
    tab = open_tab("alice", is_own_session=True)
    page = tab.open("/what-if")
    page.get_by_label("Scheduler hints").fill("different_host=one")
    page.get_by_label("Servers", exact=True).fill("3")
    tab.context.clear_cookies()
    page.get_by_role("button", name="Create it…").click()
    page.get_by_label("Name", exact=True).fill("too-late")
    confirm(page, "Create")
    page.get_by_text("Your session has ended").wait_for()
    page.get_by_role("button", name="Token", exact=True).click()
    page.get_by_label("Token").fill(token_of("alice"))
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="New server").wait_for()
    assert page.get_by_label("Scheduler hints").input_value() == "different_host=one"
    assert page.get_by_label("Servers", exact=True).input_value() == "3"


@pytest.mark.long
def test_an_answer_of_a_proxy_is_not_taken_for_the_apis(tab: Tab) -> None:
    """Such as a page of its own with status 200."""
    said = {"body": "<!doctype html><title>Maintenance</title>", "content_type": "text/html"}
    tab.page.route("**/v2.1/servers/detail*", lambda route: route.fulfill(**said))
    page = tab.open("/servers")
    page.get_by_role("alert").get_by_text("Something other than the API answered").wait_for()
    page.unroute("**/v2.1/servers/detail*")


def test_buttons_that_lead_nowhere_keep_the_focus(tab: Tab) -> None:
    """A viewer with a keyboard who has gone to the last page need not begin at the top."""
    tab.answer_with("fleet", a_fleet(150, ["VCPU"]))
    page = tab.open("/fleet?as=table")
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    page.get_by_text("150 of 150 hosts").wait_for()
    page.keyboard.press("Enter")
    assert page.evaluate(FOCUSED_TEXT) == "Next"
    assert page.get_by_text("150 of 150 hosts").is_visible()
    page = tab.open("/what-if?amounts=free&VCPU=1&MEMORY_MB=64&DISK_GB=1")
    page.get_by_text("It would go to").first.wait_for()
    page.get_by_role("button", name="Ask the scheduler").focus()
    with page.expect_response("**/dry-run"):
        page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("It would go to").wait_for()
    assert page.evaluate(FOCUSED_TEXT) == "Ask the scheduler"
