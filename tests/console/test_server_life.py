"""The life of a server: how its operations ended."""

from typing import Any

import pytest

from tests.console.browser import Tab
from tests.console.deployment import Deployment

pytestmark = pytest.mark.sampled_tests(every=2)

CREATE = {
    "action": "create", "request_id": "req-1", "message": None,
    "start_time": "2030-01-01T00:00:00Z", "updated_at": "2030-01-01T00:00:09Z",
}  # fmt: skip
OPEN = {**CREATE, "updated_at": CREATE["start_time"]}
REFUSED = {**CREATE, "message": "Error"}


def an_attempt(number: int, result: str | None) -> dict[str, Any]:
    """Return the step of an attempt; without a result, it is under way."""
    ended = "2030-01-01T00:00:04Z" if result else None
    return {
        "event": "compute_build_instance", "armillary:attempt": number, "host": f"sim-{number}",
        "start_time": "2030-01-01T00:00:00Z", "finish_time": ended, "result": result,
    }  # fmt: skip


LIVES = {
    "second attempt succeeded": (CREATE, [(1, "Error"), (2, "Success")], "done"),
    "second attempt under way": (OPEN, [(1, "Error"), (2, None)], "under way"),
    "before the second attempt": (OPEN, [(1, "Error")], "under way"),
    "all attempts failed": (REFUSED, [(1, "Error"), (2, "Error")], "failed"),
}
"""Operation, results of its attempts, and how it is told."""


@pytest.mark.parametrize(("action", "attempts", "told"), LIVES.values(), ids=LIVES)
def test_a_failed_attempt_is_not_the_end(
    action: dict[str, Any], attempts: list[tuple[int, str | None]], told: str, placed: str, tab: Tab
) -> None:
    """The operation itself says how it ended."""
    steps = [an_attempt(number, result) for number, result in attempts]

    def answer(route: Any) -> None:
        one = {"instanceAction": {**action, "events": steps}}
        is_list = route.request.url.endswith("os-instance-actions")
        route.fulfill(json={"instanceActions": [action]} if is_list else one)

    def build(route: Any) -> None:
        document = route.fetch().json()
        document["server"] |= {"status": "BUILD", "OS-EXT-STS:task_state": "spawning"}
        route.fulfill(json=document)

    tab.page.route("**/os-instance-actions**", answer)
    if told == "under way":
        tab.page.route(f"**/v2.1/servers/{placed}", build)
    page = tab.open(f"/servers/{placed}")
    entry = page.locator(".timeline li", has_text="Create").first
    assert entry.locator(".badge").inner_text() == told


def test_a_decision_follows_its_server(site: Deployment, tab: Tab) -> None:
    """What happened to it after the page was opened is seen on the page."""
    server = site.create("stopped-later")
    site.wait_for_status(server, "ACTIVE")
    tab.page.clock.install()
    page = tab.open(f"/why/{server}")
    page.locator("h1 .badge", has_text="ACTIVE").wait_for()
    site.apis["root"].act(server, "os-stop")
    site.wait_for_status(server, "SHUTOFF")
    page.clock.run_for(30_000)
    page.locator("h1 .badge", has_text="SHUTOFF").wait_for()
