"""Chromium, driven by Playwright; what a page must never do is noted for every test."""

import contextlib
import importlib
import importlib.resources
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fixtures import waiting
from tests.fixtures.services import leave_out

TITLE = "Chromium"
WIDE = {"width": 1280, "height": 800}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOURS = ("color-contrast",)
WAIT_MS_MIN = 60_000
WAIT_MS = 30_000  # on an idle machine; until a host counts as down takes half of it


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Lend a browser; leave the running test out where there is none."""
    program = os.environ.get("ARMILLARY_TEST_CHROMIUM") or shutil.which("chromium")
    if program is None:
        leave_out(TITLE, "there is no program chromium")
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError as error:
        leave_out(TITLE, f"playwright is not installed ({error})")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page in a browser context; it notes errors and requests to other addresses.

    Pages of one context share cookies and cache; without one, the page has a context of its own.
    """

    def __init__(self, browser: Any, url: str, context: Any = None, **options: Any) -> None:
        self.url = url
        self.faults: list[str] = []
        self._is_own = context is None
        if context is None:
            context = browser.new_context(viewport=WIDE, reduced_motion="reduce", **options)
            context.set_default_timeout(max(WAIT_MS_MIN, waiting.seconds(WAIT_MS)))
        self.context = context
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._on_message)
        self.page.on("request", self._on_request)

    def open(self, path: str) -> Any:
        """Open a view and return its page, with all that it loads at first."""
        self.page.goto(f"{self.url}/ui{path}")
        self.page.wait_for_selector("main h1")
        self.page.wait_for_selector("main .loading", state="detached")
        return self.page

    def log_in(self, token: str) -> None:
        self.page.goto(f"{self.url}/ui/login")
        self.page.get_by_role("button", name="Token", exact=True).click()
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_selector("header.bar")

    def answer_with(self, path: str, body: Any) -> None:
        """Answer the page's requests below ``/v2.1/armillary`` that begin so with a document."""
        said = {"body": json.dumps(body), "content_type": "application/json"}
        self.page.route(f"**/v2.1/armillary/{path}*", lambda route: route.fulfill(**said))

    def lend(self) -> Any:
        """Return the context for other tabs, and leave it open."""
        self._is_own = False
        return self.context

    def close(self) -> None:
        self.page.close()
        if self._is_own:
            self.context.close()

    def _on_message(self, message: Any) -> None:
        # A refused login or a missing server is an error for the browser, too: it is an answer.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "file:", "blob:")):
            self.faults.append(f"asked {request.url}")


def violations(page: Any, rules: Sequence[str] = RULES) -> list[str]:
    """Return what axe-core finds in a page, one line each; ``rules`` are tags or single rules."""
    if not page.evaluate("() => Boolean(window.axe)"):
        source = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js")
        page.evaluate(source.read_text(encoding="utf-8"))
    found = page.evaluate(
        "rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", list(rules)
    )
    return [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
