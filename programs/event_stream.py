"""Event stream of the API as followed by the command line, with reconnection."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from armillary import exception
from armillary.backoff import Backoff
from programs.http_client import ApiClient, ApiRefused, Document

LOG = logging.getLogger(__name__)

PATH = ("armillary", "events")
SILENCE_SECONDS_MAX = 30.0  # the API sends a keep-alive every ten seconds
BACKOFF = Backoff(1.0, 15.0)

EVENT = "event"
NOTICE = "notice"


def follow(
    api: ApiClient,
    query: Mapping[str, Any],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Document]:
    """Yield events without end; log connection losses.

    Raises the error of the first connection attempt; later connections are retried with
    a backoff.
    """
    failures = 0
    was_connected = False
    while True:
        try:
            for kind, document in parsed(
                api.stream(*PATH, query=query, silence=SILENCE_SECONDS_MAX)
            ):
                was_connected, failures = True, 0
                if kind == EVENT:
                    yield document
                elif kind == NOTICE:
                    LOG.warning("%s", document.get("message"))
            LOG.warning("The event stream has ended; reconnecting.")
        except (exception.Unavailable, ApiRefused) as error:
            if not (was_connected and _may_pass(error)):
                raise
            LOG.warning("%s Reconnecting.", error)
        sleep(BACKOFF.seconds(failures))
        failures += 1


def _may_pass(error: exception.ArmillaryError) -> bool:
    """Return whether a retry may succeed; not if the policy or the token forbids it."""
    return not (isinstance(error, ApiRefused) and error.status in (400, 401, 403, 404))


def parsed(lines: Iterable[str]) -> Iterator[tuple[str, Document]]:
    """Yield kind and data of server-sent events; skip comments and data other than objects."""
    kind, data = "", ""
    for line in lines:
        if not line:
            document = _object(data)
            if document is not None:
                yield kind, document
            kind, data = "", ""
            continue
        name, _, value = line.partition(":")
        if name == "event":
            kind = value.strip()
        elif name == "data":
            data += value.strip()


def _object(text: str) -> Document | None:
    if not text:
        return None
    try:
        document = json.loads(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
