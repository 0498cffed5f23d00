"""Actions on servers: which are offered, and that they are carried out."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment, add_flavor
from tests.fixtures.asking import wait_for

pytestmark = pytest.mark.sampled_tests(every=2)

LOST_HOST = "sim-5"


def choose(page: Any, server: str, action: str) -> None:
    """Choose an action of a server's menu, which asks before it is taken."""
    page.get_by_label(f"Actions on {server}").click()
    page.get_by_role("button", name=f"{action}…", exact=True).click()


def confirm(page: Any, action: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=action, exact=True).click()


def wait_for_badge(page: Any, status: str) -> None:
    page.locator("h1 .badge", has_text=re.compile(f"^{status}$")).wait_for()


def test_all_actions_of_a_menu_can_be_reached(site: Deployment, tab: Tab) -> None:
    """The table of one server, which is lower than its menu, does not cut it off."""
    site.wait_for_status(site.create("with-a-menu"), "ACTIVE")
    page = tab.open("/servers?name=with-a-menu")
    page.get_by_label("Actions on with-a-menu").click()
    last = page.locator(".menu .items button").last
    assert last.inner_text() == "Delete…"
    assert last.evaluate(
        """button => {
          const {left, right, top, bottom} = button.getBoundingClientRect();
          return document.elementFromPoint((left + right) / 2, (top + bottom) / 2) === button;
        }"""
    )
    page.keyboard.press("Escape")
    assert not last.is_visible()


@pytest.mark.long
def test_an_action_asks_before_it_is_taken(site: Deployment, tab: Tab) -> None:
    """And the server goes from the table."""
    site.wait_for_status(site.create("to-be-deleted"), "ACTIVE")
    page = tab.open("/servers?name=to-be-deleted")
    choose(page, "to-be-deleted", "Delete")
    confirm(page, "Cancel")
    assert page.locator(":focus").get_attribute("aria-label") == "Actions on to-be-deleted"
    choose(page, "to-be-deleted", "Delete")
    confirm(page, "Delete")
    page.get_by_text("No server matches").wait_for()
    assert page.locator(":focus").get_attribute("id") == "main"


def test_a_server_is_shelved_and_comes_back(site: Deployment, tab: Tab) -> None:
    """Each state offers what leads out of it."""
    server = site.create("to-be-shelved")
    page = tab.open(f"/servers/{server}")
    wait_for_badge(page, "ACTIVE")
    choose(page, "to-be-shelved", "Shelve")
    confirm(page, "Shelve")
    page.locator("h1 .badge", has_text="SHELVED").wait_for()
    choose(page, "to-be-shelved", "Unshelve")
    confirm(page, "Unshelve")
    wait_for_badge(page, "ACTIVE")


@pytest.mark.long
def test_a_server_is_resized_to_a_flavor_that_is_chosen(site: Deployment, tab: Tab) -> None:
    """Among all but its own; the move is confirmed here, too."""
    larger = add_flavor(site.apis["root"], "larger", 2)
    server = site.create("to-be-resized")
    page = tab.open(f"/servers/{server}")
    wait_for_badge(page, "ACTIVE")
    choose(page, "to-be-resized", "Resize")
    offered = page.get_by_role("dialog").get_by_label("New flavor")
    offered.select_option(larger)
    names = [text.partition(":")[0] for text in offered.locator("option").all_inner_texts()]
    assert "small" not in names
    confirm(page, "Resize")
    wait_for_badge(page, "VERIFY_RESIZE")
    choose(page, "to-be-resized", "Confirm the move")
    confirm(page, "Confirm the move")
    wait_for_badge(page, "ACTIVE")
    page.locator("dl.facts", has_text="larger").wait_for()


@pytest.fixture
def lose_host(site: Deployment) -> Iterator[Callable[[], None]]:
    """Return a function that forces a host down; it is up again after the test."""
    root = site.apis["root"]
    (service,) = root.get("/os-services", host=LOST_HOST, binary="armillary-compute")["services"]

    def force(is_down: bool) -> None:
        root.put(f"/os-services/{service['id']}", {"forced_down": is_down})

    yield lambda: force(True)
    force(False)


def test_a_server_is_evacuated_from_a_host_that_is_down(
    site: Deployment, tab: Tab, lose_host: Callable[[], None]
) -> None:
    """Only then is that offered."""
    server = site.create("to-be-evacuated", host=LOST_HOST)
    page = tab.open(f"/servers/{server}")
    wait_for_badge(page, "ACTIVE")
    page.get_by_label("Actions on to-be-evacuated").click()
    assert page.get_by_role("button", name="Live-migrate…").is_visible()
    assert page.get_by_role("button", name="Evacuate…").count() == 0
    page.keyboard.press("Escape")
    lose_host()
    page.locator("dd", has_text=LOST_HOST).locator(".badge", has_text="down").wait_for()
    choose(page, "to-be-evacuated", "Evacuate")
    confirm(page, "Evacuate")

    def has_left() -> bool:
        shown = site.apis["root"].get(f"/servers/{server}")["server"]
        return bool(shown["OS-EXT-SRV-ATTR:host"] != LOST_HOST and shown["status"] == "ACTIVE")

    wait_for(has_left, "the server runs on another host", 120)


@pytest.mark.long
def test_the_policy_may_show_hosts_to_other_users(
    site: Deployment, open_tab: Callable[..., Tab]
) -> None:
    """The policy decides what is shown, and no role."""
    server = site.create("audited", user="alice")
    host = site.wait_for_status(server, "ACTIVE")["OS-EXT-SRV-ATTR:host"]
    page = open_tab("audra").open("/servers?name=audited")
    page.get_by_role("cell").get_by_role("link", name=host, exact=True).wait_for()
    assert page.get_by_role("searchbox", name="Host").count() == 0
    page.get_by_role("link", name="audited").click()
    page.locator("dl.facts").get_by_role("link", name=host, exact=True).click()
    page.get_by_role("heading", name=host).wait_for()
    assert page.get_by_role("button", name="Disable…").count() == 0


def test_a_server_that_is_gone_is_not_shown_as_it_was(site: Deployment, tab: Tab) -> None:
    """A page that was open when another user deleted it says so, and offers nothing any more."""
    server = site.create("soon-gone")
    site.wait_for_status(server, "ACTIVE")
    page = tab.open(f"/servers/{server}")
    wait_for_badge(page, "ACTIVE")
    site.apis["root"].request("DELETE", f"/servers/{server}")
    page.get_by_role("alert").get_by_text("could not be found").wait_for()
    assert page.locator(".badge").count() == 0
    assert page.get_by_text("Actions").count() == 0
