"""The API's stream of events as the command line reads it: it breaks, and goes on by itself."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from armillary import exception
from armillary.cli.http_client import ApiClient, ApiRefused, Document

LOG = logging.getLogger(__name__)

PATH = ("armillary", "events")
SILENCE_SECONDS_MAX = 30.0  # the API says every ten seconds that it is there
PAUSE_SECONDS = 1.0
PAUSE_SECONDS_MAX = 15.0

EVENT = "event"
NOTICE = "notice"


def follow(
    api: ApiClient,
    query: Mapping[str, Any],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Document]:
    """Yield events without end; what there is to say about the stream goes to the log.

    Raises what keeps the first connection from being made; later ones are tried again, with pauses
    that grow.
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
            LOG.warning("The stream of events has ended; following again.")
        except (exception.Unavailable, ApiRefused) as error:
            if not (was_connected and _may_pass(error)):
                raise
            LOG.warning("%s Following again.", error)
        failures += 1
        sleep(min(PAUSE_SECONDS * 2 ** (failures - 1), PAUSE_SECONDS_MAX))


def _may_pass(error: exception.ArmillaryError) -> bool:
    """Tell whether a later try may fare better: not where the policy or the token says no."""
    return not (isinstance(error, ApiRefused) and error.status in (400, 401, 403, 404))


def parsed(lines: Iterable[str]) -> Iterator[tuple[str, Document]]:
    """Yield kind and data of server-sent events; comments, and what is no JSON object, are not."""
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
