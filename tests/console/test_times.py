"""Times in the console: by the viewer's zone, and by the clock of the API."""

import re
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment, token_of
from tests.console.test_unusual_answers import FORMATTED

pytestmark = pytest.mark.sampled_tests(every=2)

TIME_OF_DAY = FORMATTED.replace("FUNCTION", "timeOfDay")
ZONED_TIME = FORMATTED.replace("FUNCTION", "zonedTime")
FAST_CLOCK = "const real = Date.now; Date.now = () => real() + 7_200_000;"


@pytest.mark.long
def test_times_are_in_the_zone_of_the_viewer(site: Deployment, placed: str, browser: Any) -> None:
    """The title of each names the zone."""
    created = site.apis["root"].get(f"/servers/{placed}")["server"]["created"]
    tab = Tab(browser, site.url, timezone_id="Asia/Kathmandu", locale="en-GB")
    tab.log_in(token_of("root"))
    page = tab.open(f"/servers/{placed}")
    shown = page.locator("dd time").first
    there = datetime.fromisoformat(created).astimezone(ZoneInfo("Asia/Kathmandu"))
    assert f"{there:%H:%M:%S}" in shown.inner_text()
    assert re.search(r"\(Asia/Kath?mandu, GMT\+5:45\)", str(shown.get_attribute("title")))
    tab.close()


@pytest.mark.long
def test_an_hour_that_comes_twice_is_told_apart(site: Deployment, browser: Any) -> None:
    """When summer time ends, by the offset in the title."""
    tab = Tab(browser, site.url, timezone_id="America/New_York", locale="en-GB")
    twice = ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"]
    said = tab.open("/login").evaluate(ZONED_TIME, twice)
    assert said == [
        f"1 Nov 2026, 01:30:00 (America/New_York, GMT{offset})" for offset in ("-4", "-5")
    ]
    tab.close()


@pytest.mark.long
def test_ages_are_told_by_the_clock_of_the_api(site: Deployment, tab: Tab) -> None:
    """A viewer's clock that is two hours ahead makes no heartbeat old."""
    tab.page.add_init_script(FAST_CLOCK)
    page = tab.open("/hosts/sim-1")
    said = page.locator(".head .sub time").inner_text()
    assert re.fullmatch(r"just now|[\d.]+ (ms|s|min) ago", said)


def test_a_time_of_another_day_has_its_day(tab: Tab) -> None:
    """Events of yesterday stand above those of today where a page stays open over midnight."""
    today = datetime.now().astimezone()
    times = [today, today - timedelta(days=1)]
    said = tab.open("/what-if").evaluate(TIME_OF_DAY, [each.isoformat() for each in times])
    clocks = [f"{each:%H:%M:%S}" for each in times]
    assert said == [clocks[0], f"{times[1]:%b} {times[1].day}, {clocks[1]}"]
