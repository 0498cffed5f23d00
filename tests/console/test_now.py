"""The charts of the console's page Now."""

from typing import Any

from tests.console.browser import Tab

DRAWN = """
() => [...document.querySelectorAll(".figure canvas")].some(canvas => canvas.width
  && canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean))
"""


def test_charts_begin_with_the_first_answer(tab: Tab) -> None:
    """Before there is a second one to draw a line to."""
    answered: list[str] = []

    def answer_once(route: Any) -> None:
        if not answered:
            answered.append(route.request.url)
            route.continue_()

    tab.page.route("**/v2.1/armillary/now", answer_once)
    page = tab.open("/now")
    page.wait_for_function(DRAWN)


NONE = "\N{EN DASH}"
ZONES = [
    {
        "path": "world", "state": "own", "summary_age_seconds": None, "hosts": 41, "hosts_up": 40,
        "zones": [{"name": "eu", "state": "online", "zones": []}],
    },
    {
        "path": "eu", "state": "online", "summary_age_seconds": 4.2, "hosts": 30, "hosts_up": 29,
        "zones": [{"name": "eu-1", "state": "stale", "zones": []}],
    },
    {
        "path": "us", "state": "offline", "summary_age_seconds": None, "hosts": None,
        "hosts_up": None, "zones": [],
    },
]  # fmt: skip


def test_zones_are_shown_to_the_last_one(tab: Tab) -> None:
    """With the age of each summary; this zone's own is for its parents."""

    def answer(route: Any) -> None:
        found = route.fetch()
        route.fulfill(response=found, json={**found.json(), "zones": ZONES})

    tab.page.route("**/v2.1/armillary/now", answer)
    table = tab.open("/now").get_by_role("region", name="Table of zones")
    shown = [row.split("\t") for row in table.locator("tbody tr").all_inner_texts()]
    assert shown == [
        ["world", "this zone", "40 of 41", NONE], ["eu", "online", "29 of 30", "4.2 s"],
        ["eu/eu-1", "stale", NONE, NONE], ["us", "offline", NONE, "none yet"],
    ]  # fmt: skip
