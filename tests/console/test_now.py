"""The charts of the console's page Now."""

from __future__ import annotations

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
