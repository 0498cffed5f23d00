"""Live events in the console, and what becomes of them when the connection breaks."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment, token_of
from tests.console.tables import rows
from tests.faults.links import Link, Network, State
from tests.fixtures.asking import wait_for

pytestmark = pytest.mark.sampled_tests(every=2)


class LinkedTab(Tab):
    """A tab whose connection to the API can break."""

    def __init__(self, browser: Any, network: Network, link: Link) -> None:
        super().__init__(browser, f"http://127.0.0.1:{link.port}")
        self._network = network
        self._link = link

    def cut(self) -> None:
        self._network.set_state(self._link, State.REFUSING)
        self.page.get_by_role("status").filter(has_text="reconnecting").wait_for()

    def mend(self) -> None:
        self._network.set_state(self._link, State.OPEN)
        self.wait_until_live()

    def wait_until_live(self) -> None:
        self.page.get_by_role("status").filter(has_text="live").wait_for()


@pytest.fixture
def linked(site: Deployment, browser: Any) -> Iterator[LinkedTab]:
    network = Network(broker_port=0)
    link = network.link("browser", "api", int(site.url.rpartition(":")[2]))
    tab = LinkedTab(browser, network, link)
    tab.log_in(token_of("root"))
    tab.open("/now")
    tab.wait_until_live()
    yield tab
    tab.close()
    network.close()
    assert tab.faults == []


def wait_for_lock(site: Deployment, server: str, page: Any) -> None:
    """Lock a server until that is among the events shown."""

    def is_shown() -> bool:  # the stream may begin a moment after it was answered
        site.apis["root"].act(server, "lock")
        return bool(page.locator(".strip", has_text="instance.lock").count())

    wait_for(is_shown, "the event of the lock is shown", pause_seconds=0.5)


@pytest.mark.long
def test_an_outage_leaves_no_hole(site: Deployment, placed: str, linked: LinkedTab) -> None:
    """What happened meanwhile is shown once the API is reached again."""
    wait_for_lock(site, placed, linked.page)
    linked.page.locator(".chart canvas").first.wait_for()
    linked.cut()
    site.apis["root"].act(placed, "unlock")
    linked.mend()
    linked.page.locator(".strip", has_text="instance.unlock").wait_for()
    assert linked.page.locator(".strip .kind", has_text="reconnected").count() == 0


@pytest.mark.long
def test_a_hole_in_the_events_is_shown(site: Deployment, placed: str, linked: LinkedTab) -> None:
    """As after a restart of the API process, which has not what happened before."""
    linked.page.route(
        "**/armillary/events?after=*",
        lambda route: route.continue_(url=f"{linked.url}/v2.1/armillary/events?after=restarted.1"),
    )
    linked.cut()
    linked.mend()
    linked.page.locator(".strip .kind", has_text="reconnected").wait_for()
    wait_for_lock(site, placed, linked.page)


@pytest.mark.long
def test_a_hole_is_told_by_the_clock_of_the_api(linked: LinkedTab) -> None:
    """As the events around it, where the viewer's clock is ten minutes ahead."""
    hole = f"event: notice\ndata: {json.dumps({'resumed': False})}\n\n"
    linked.page.route("**/armillary/events*", lambda route: route.fulfill(body=hole))
    linked.page.clock.set_system_time(datetime.now(UTC) + timedelta(minutes=10))
    linked.open("/now")
    shown = linked.page.locator(".strip time").first
    shown.wait_for()
    said = datetime.strptime(shown.inner_text(), "%H:%M:%S")
    ahead = (said - datetime.now().replace(year=1900, month=1, day=1)).total_seconds()
    assert abs((ahead + 43200) % 86400 - 43200) < 300
    linked.page.unroute("**/armillary/events*")


@pytest.mark.long
def test_too_many_followers_are_told_so(tab: Tab) -> None:
    """Another one may leave."""
    tab.page.route("**/armillary/events*", lambda route: route.fulfill(status=409, body="{}"))
    tab.open("/now")
    tab.page.get_by_role("status").filter(has_text="as many clients").wait_for()
    tab.page.unroute("**/armillary/events*")
    tab.page.get_by_role("status").filter(has_text="live").wait_for()


@pytest.mark.long
def test_live_events_are_shown(site: Deployment, placed: str, tab: Tab) -> None:
    """With the services of the deployment beside them."""
    page = tab.open("/now")
    page.get_by_role("status").filter(has_text="live").wait_for()
    wait_for_lock(site, placed, page)
    services = site.apis["root"].get("/armillary/now")["services"]
    assert {row[0] for row in rows(page)} >= {
        each["binary"].removeprefix("armillary-") for each in services
    }
