"""Checks that an open console is still granted: the proxy asks the API as long as it is open."""

import contextlib
import http
import logging
import threading
import time
from collections.abc import Callable, Iterator

import requests

from armillary.consoles.console_links import ConsoleLink

LOG = logging.getLogger(__name__)

CHECK_PATH = "/v2.1/armillary/console-grant"
GRANT_HEADER = "X-Console-Grant"
INTERVAL_SECONDS = 5.0
ANSWER_SECONDS_MAX = 5.0
SILENCE_SECONDS_MAX = 60.0
"""How long a console stays open without an answer of the API, which may be restarting."""
_REASON_CHARACTERS_MAX = 200

NO_LONGER_GRANTED = "the login that this console was opened with has ended, or the server has moved"
NO_ANSWER = "the API does not say whether this console is still granted"

Close = Callable[[str], None]
"""Closes a console for a reason."""


class NoAnswer(Exception):
    """The API did not say whether a console is granted."""


class GrantChecks:
    """Asks the API about consoles; thread-safe.

    ``api_url`` replaces the address in links, if the proxy reaches the API by another one.
    ``ca_file`` has the authorities of its certificate; None: those of the system. ``cert_file`` is
    a certificate to show to it, with its key.
    """

    def __init__(
        self,
        *,
        api_url: str | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        interval_seconds: float = INTERVAL_SECONDS,
        silence_seconds_max: float = SILENCE_SECONDS_MAX,
    ) -> None:
        self._api_url = api_url
        self._verify = ca_file or True
        self._cert_file = cert_file
        self._interval_seconds = interval_seconds
        self._silence_seconds_max = silence_seconds_max

    def is_granted(self, link: ConsoleLink) -> bool:
        """Return whether a console may be used now. Raises NoAnswer."""
        url = (self._api_url or link.api_url).rstrip("/") + CHECK_PATH
        with requests.Session() as session:
            session.trust_env = False  # no proxy of the environment learns the grant
            try:
                answer = session.get(
                    url,
                    headers={GRANT_HEADER: link.grant},
                    timeout=ANSWER_SECONDS_MAX,
                    verify=self._verify,
                    cert=self._cert_file,
                    allow_redirects=False,
                )
            except requests.RequestException as error:
                reason = str(error)[:_REASON_CHARACTERS_MAX]
                raise NoAnswer(f"{url}: {reason}") from error
        if answer.status_code == http.HTTPStatus.FORBIDDEN:
            return False
        if answer.status_code != http.HTTPStatus.NO_CONTENT:
            raise NoAnswer(f"{url} answered with status {answer.status_code}")
        return True

    @contextlib.contextmanager
    def watching(self, link: ConsoleLink, close: Close) -> Iterator[None]:
        """Call ``close`` meanwhile, once, if the console is no longer granted."""
        is_over = threading.Event()
        watch = threading.Thread(
            target=self._watch, args=(link, close, is_over), name="console-grant", daemon=True
        )
        watch.start()
        try:
            yield
        finally:
            is_over.set()
            watch.join()

    def _watch(self, link: ConsoleLink, close: Close, is_over: threading.Event) -> None:
        answered_at = time.monotonic()
        while not is_over.wait(self._interval_seconds):
            try:
                if not self.is_granted(link):
                    return close(NO_LONGER_GRANTED)
                answered_at = time.monotonic()
            except NoAnswer as error:
                LOG.warning("%s: %s", link.instance_uuid, error)
                if time.monotonic() - answered_at >= self._silence_seconds_max:
                    return close(NO_ANSWER)
        return None
