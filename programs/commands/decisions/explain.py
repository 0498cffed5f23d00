"""``explain``: why a server is on its host, as text or as the API's JSON."""

import json
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence

from armillary.table_columns import printable
from programs.commands import arguments
from programs.commands.base import ApiCommand
from programs.commands.decisions.trace_text import INDENT, UNKNOWN_HOST, aligned, fitted, lines_of
from programs.commands.lookup import find_server
from programs.display.text_table import screen_width
from programs.http_client import Document

_CREATE = "create"
_DETAIL_LINES_MAX = 5


class Explain(ApiCommand):
    """Explain why a server is on its host, or why it has none.

    Shows how many hosts each rule rejected, the contribution of each weigher, and the outcome of
    each attempt. For a moved server it explains the last move and lists the earlier decisions.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", help="id or name")
        parser.add_argument(
            "--request",
            metavar="REQ_ID",
            help="show the decision for this request (default: the last one)",
        )
        arguments.add_format(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        server = find_server(self.api, parsed_args.server)["id"]
        query = {"request_id": parsed_args.request} if parsed_args.request else None
        answer = self.api.get("armillary", "servers", server, "explain", query=query)
        explanation = answer["explanation"]
        if parsed_args.format == arguments.JSON:
            self.application.stdout.write(f"{json.dumps(explanation, indent=2)}\n")
        else:
            self.application.stdout.write(text_of(explanation))
        return 0


def text_of(explanation: Document) -> str:
    return "".join(f"{line}\n" for line in _lines(explanation))


def _lines(explanation: Document) -> Iterator[str]:
    trace = explanation["trace"]
    decision, decisions = explanation.get("decision"), explanation.get("decisions", [])
    yield from textwrap.wrap(_headline(explanation), screen_width())
    if wait := explanation.get("wait"):
        yield from textwrap.wrap(_wait(wait), screen_width())
    is_of_create = decision is None or decision["operation"] == _CREATE
    if decision and not (is_of_create and len(decisions) == 1):
        yield from textwrap.wrap(_about(decision), screen_width())
    if trace and trace.get("sentence"):
        yield from textwrap.wrap(f"Why: {printable(trace['sentence'])}", screen_width())
    if is_of_create and _adds_to_headline(explanation["attempts"]):
        yield from _section("Attempts:", _attempts(explanation))
    yield from _section("Faults:", _other_faults(explanation))
    if trace:
        yield from lines_of(trace, explanation["server"].get("host"))
    else:
        yield ""
        yield "The decision trace is not available, or no longer."
    if len(decisions) > 1:
        yield from _section("All decisions; use --request to show another one:", _table(decisions))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a titled section, or nothing if it has no lines."""
    body = list(lines)
    if body:
        yield ""
        yield title
        yield from fitted(body, INDENT)


def _adds_to_headline(attempts: Sequence[Document]) -> bool:
    """Return whether attempts add to the headline; they do not if the first one succeeded."""
    return len(attempts) != 1 or attempts[0]["result"] != "Success"


def _headline(explanation: Document) -> str:
    server = explanation["server"]
    name = printable(server["name"])
    attempts = len(explanation["attempts"])
    on_host = f" on {server['host']}" if server.get("host") else ""
    which = f", attempt {server['attempt']} of {max(attempts, server['attempt'])}"
    where = f"{on_host}{which if server['attempt'] else ''}"
    if server["status"] == "BUILD":
        return f"{name} ({server['id']}) is being built{where}."
    if server["status"] == "ERROR":
        faults = explanation["faults"]
        why = f": {printable(faults[-1]['message'])}" if faults else "."
        return f"{name} ({server['id']}) is in ERROR{why}"
    return f"{name} ({server['id']}) is {server['status']}{where}."


def _wait(wait: Document) -> str:
    error = f" Last error: {printable(wait['reason'])}" if wait.get("reason") else ""
    return f"Waiting since {wait['since']}: {wait['message']}{error}"


def _about(decision: Document) -> str:
    request = printable(decision["request_id"] or "an unknown request")
    when = f" at {decision['decided_at']}" if decision["decided_at"] else ""
    return f"Decided{when} about its {decision['operation']} ({request}): {_found(decision)}."


def _table(decisions: Sequence[Document]) -> Iterator[str]:
    rows = [
        (
            decision["decided_at"] or "",
            decision["operation"],
            printable(decision["request_id"] or ""),
            _found(decision),
        )
        for decision in decisions
    ]
    return aligned(rows, right=())


def _found(decision: Document) -> str:
    if decision["sentence"]:
        return "no host was found"
    return decision.get("host") or UNKNOWN_HOST


def _attempts(explanation: Document) -> Iterator[str]:
    details = {fault["attempt"]: fault.get("details") for fault in explanation["faults"]}
    for attempt in explanation["attempts"]:
        where = attempt.get("host") or UNKNOWN_HOST
        yield f"{attempt['attempt']}  {where}  {_outcome(attempt)}"
        yield from _detail_lines(details.get(attempt["attempt"]), attempt["reason"])


def _outcome(attempt: Document) -> str:
    if attempt["result"] == "Success":
        return "built"
    if attempt["result"] is None:
        return "under way"
    return f"failed: {printable(attempt['reason'] or 'no reason is known')}"


def _other_faults(explanation: Document) -> Iterator[str]:
    """Yield the faults that add to the headline, the sentence and the attempts."""
    shown = {attempt["attempt"] for attempt in explanation["attempts"]}
    sentence = (explanation["trace"] or {}).get("sentence")
    faults = explanation["faults"]
    for fault in faults:
        details = list(_detail_lines(fault.get("details"), sentence))
        if fault["attempt"] not in shown and (details or fault is not faults[-1]):
            yield printable(fault["message"])
            yield from details


def _detail_lines(details: str | None, said: str | None) -> Iterator[str]:
    """Yield the details for administrators that were not shown already."""
    if details and details != said:
        lines = printable(details).splitlines()
        yield from (f"{INDENT}{line}" for line in lines[:_DETAIL_LINES_MAX])
