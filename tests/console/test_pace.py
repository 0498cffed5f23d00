"""How often a page that stays open asks again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.browser import Tab

pytestmark = pytest.mark.sampled_tests(every=2)

SLOW = """
  const now = performance.now.bind(performance);
  const send = window.fetch;
  let waited = 0;
  performance.now = () => now() + waited;
  window.fetch = async (url, options) => {
    const answer = await send(url, options);
    if (url.startsWith("/v2.1/servers/detail")) waited += 200;
    return answer;
  };
"""
"""Makes answers seem to take the services a fifth of a second."""
PAUSES = """
  async () => {
    const main = document.querySelector("[type=module]").src;
    const { pause, spend } = await import(new URL("pace.js", main));
    const pauses = () => [pause(false), pause(true)].map((each) => Math.round(each / 1000));
    const fresh = pauses();
    spend(210);
    const used = pauses();
    spend(60_000);
    return [fresh, used, pauses()];
  }
"""
STEPS, STEP_MS, ANSWER_MS = 60, 2000, 50


def test_a_costly_view_is_asked_for_less_often(tab: Tab) -> None:
    """Services work 0.8 % of the time for it, beyond the first answers: every 25 s here, not 4."""
    asked: list[str] = []
    tab.page.clock.install()
    tab.page.add_init_script(SLOW)
    page = tab.open("/servers")
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(STEPS):
        page.clock.run_for(STEP_MS)
        page.wait_for_timeout(ANSWER_MS)
    assert 4 <= len([url for url in asked if "/servers/detail" in url]) <= 8


def test_what_an_event_announces_is_asked_for_sooner(tab: Tab) -> None:
    """No pause lasts longer than half a minute, whatever an answer took."""
    pauses: list[Any] = tab.open("/what-if").evaluate(PAUSES)
    assert pauses == [[0, 0], [14, 0], [30, 11]]
