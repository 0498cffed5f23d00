"""``events``: follow live events with reconnection, as lines for people or JSON for programs."""

import itertools
import json
import logging
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from armillary import exception, times
from armillary.backoff import Backoff
from programs.access.errors import ApiRefused
from programs.commands import arguments
from programs.commands.base import ApiCommand
from programs.commands.lookup import find_server
from programs.http_client import ApiClient, Document

TYPE_WIDTH = 34
NOTHING = "-"


class Events(ApiCommand):
    """Follow live events until Ctrl-C: servers, hosts, aggregates, decisions.

    A lost connection is re-established; a warning says if events in between are missing.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--server", help="only events of this server (id or name)")
        parser.add_argument("--host", help="only events of this host")
        arguments.add_list(
            parser, "--type", "types", "PATTERN",
            "only these event types, with wildcards * and ?: 'instance.*', '*.error'",
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", help="one JSON object per line")
        parser.add_argument(
            "--since",
            metavar="SECONDS",
            type=arguments.seconds,
            help="first show the server's past events of this many seconds; requires --server",
        )
        parser.add_argument(
            "--count", metavar="N", type=arguments.positive, help="exit after this many live events"
        )

    def take_action(self, parsed_args: Namespace) -> int:
        if parsed_args.since is not None:
            self._show_past(parsed_args)
        events = follow(self.api, _query(parsed_args))
        for event in itertools.islice(events, parsed_args.count):
            self._show(event, as_json=parsed_args.json)
        return 0

    def _show_past(self, parsed_args: Namespace) -> None:
        if parsed_args.server is None:
            raise exception.Invalid(
                "--since requires --server: past events are stored per server only."
            )
        after = datetime.now(UTC) - timedelta(seconds=parsed_args.since)
        for event in self._past(parsed_args.server, after):
            self._show(event, as_json=parsed_args.json)

    def _past(self, server: str, after: datetime) -> Iterator[Document]:
        """Yield the steps of a server's actions in the order of their end or start."""
        found = find_server(self.api, server)
        path = ("servers", found["id"], "os-instance-actions")
        past = [
            event
            for action in self.api.get(*path)["instanceActions"]
            for event in _steps(self.api.get(*path, action["request_id"])["instanceAction"], found)
            if datetime.fromisoformat(event["time"]) >= after
        ]
        yield from sorted(past, key=lambda event: str(event["time"]))

    def _show(self, event: Document, *, as_json: bool) -> None:
        line = json.dumps(event) if as_json else line_of(event)
        self.application.stdout.write(f"{line}\n")
        self.application.stdout.flush()


def line_of(event: Document) -> str:
    """Return an event as a line for people: time, type, object, host, state, reason."""
    parts = [
        _clock(event.get("time")),
        str(event.get("type") or NOTHING).ljust(TYPE_WIDTH),
        _subject(event),
        f"on {event['host']}" if event.get("host") else "",
        f"on the {event['kind']} pool {event['pool']}" if event.get("pool") else "",
        _state(event),
        f"attempt {event['attempt']}" if (event.get("attempt") or 0) > 1 else "",
        f"({event['reason']})" if event.get("reason") else "",
    ]
    return "  ".join(part for part in parts if part)


def _query(parsed_args: Namespace) -> dict[str, str]:
    types = ",".join(parsed_args.types)
    return arguments.given(
        server=parsed_args.server or None, host=parsed_args.host or None, type=types or None
    )


def _steps(action: Document, server: Document) -> Iterator[Document]:
    """Yield the events of an action in the form of the feed."""
    for step in action["events"]:
        facts = {
            "server": server["id"],
            "name": server["name"],
            "host": step.get("host"),
            "request_id": action["request_id"],
            "attempt": step.get("armillary:attempt"),
        }
        kind = f"{action['action']}.{step['event']}"
        yield {**facts, "time": _utc(step["start_time"]), "type": f"{kind}.start"}
        if step["finish_time"]:
            end = "end" if step["result"] == "Success" else "error"
            reason = step.get("details")
            yield {
                **facts,
                "time": _utc(step["finish_time"]),
                "type": f"{kind}.{end}",
                "reason": reason,
            }


def _utc(text: str) -> str:
    """Return a time as the feed writes it; the Compute API omits the time zone."""
    return times.parse(text).isoformat()


def _clock(text: str | None) -> str:
    if not text:
        return NOTHING
    return datetime.fromisoformat(text).astimezone().strftime("%H:%M:%S.%f")[:-3]


def _subject(event: Document) -> str:
    server, name = event.get("server"), event.get("name")
    if server:
        return f"{name} ({server})" if name else str(server)
    servers = event.get("servers") or ()
    if servers:
        more = f" and {len(servers) - 1} more" if len(servers) > 1 else ""
        return f"{servers[0]}{more}"
    return str(name or "")


def _state(event: Document) -> str:
    state, task = event.get("state"), event.get("task_state")
    return f"{state}/{task}" if state and task else str(state or "")


LOG = logging.getLogger(__name__)

PATH = ("armillary", "events")
SILENCE_SECONDS_MAX = 30.0  # the API sends a keep-alive every ten seconds
BACKOFF = Backoff(1.0, 15.0)

EVENT = "event"
NOTICE = "notice"


def follow(
    api: ApiClient, query: Mapping[str, Any], *, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Document]:
    """Yield events without end; log connection losses.

    Raises the error of the first connection attempt; later connections are retried with
    a backoff, and go on after the last event, as far as the API has those in between.
    """
    failures = 0
    was_connected = False
    position: dict[str, str] = {}
    while True:
        try:
            lines = api.stream(*PATH, query={**query, **position}, silence=SILENCE_SECONDS_MAX)
            for kind, document in parsed(_noting_position(lines, position)):
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


def _noting_position(lines: Iterable[str], position: dict[str, str]) -> Iterator[str]:
    """Yield lines; keep the id of the last event as the query of the next connection."""
    for line in lines:
        name, _, value = line.partition(":")
        if name == "id":
            position["after"] = value.strip()
        yield line


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
