"""Claims: resources of pools that a project holds."""

import json
import textwrap
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from armillary import exception
from armillary.table_columns import printable
from programs.access.errors import ApiNotFound
from programs.commands import arguments, base, lookup
from programs.commands.decisions.trace_text import lines_of
from programs.commands.placement.base import amount
from programs.commands.wait import Pace
from programs.display.text_table import screen_width
from programs.http_client import Document

PATH = ("armillary", "claims")
QUOTAS = ("armillary", "claim-quotas")
KEY = "claims"

PENDING, ERROR = "PENDING", "ERROR"

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}


class ClaimFailed(exception.ArmillaryError):
    """No pool serves the claim."""

    template = (
        "Claim %(claim)s is in ERROR: %(fault)s To see more: armillary claim explain %(claim)s"
    )


class ClaimWaitTimeout(exception.ArmillaryError):
    """The claim is not in its final state in time."""

    template = "Timeout after %(timeout_seconds)g s: claim %(claim)s is still %(status)s."


def _resources(claim: Document) -> str:
    return ", ".join(f"{name}={count}" for name, count in sorted(claim["resources"].items()))


FIELDS: base.Columns = {
    "id": "id",
    "name": "name",
    "kind": "kind",
    "status": "status",
    "resources": _resources,
    "required": lambda claim: ", ".join(claim["required"]),
    "forbidden": lambda claim: ", ".join(claim["forbidden"]),
    "pool": lambda claim: claim.get("pool"),
    "zone": lambda claim: claim.get("zone"),
    "alternates": lambda claim: ", ".join(claim.get("alternates", [])),
    "server": "server_id",
    "ends_at": "ends_at",
    "fault": "fault",
    "created_at": "created_at",
    "project": "project_id",
}
COLUMNS: base.Columns = {
    "ID": base.short_id,
    "Name": "name",
    "Kind": "kind",
    "Resources": _resources,
    "Status": "status",
    "Pool": lambda claim: claim.get("pool"),
    "Ends at": "ends_at",
}
CLAIM = base.Noun("claim", "/".join(PATH), lookup.find_claim, FIELDS)


class CreateClaim(base.ApiShow):
    """Claim resources of a pool.

    For example: claim create --kind storage --resources DISK_GB=500 --trait STORAGE_DISK_SSD. Shows
    the accepted claim; with --wait, when it has its pool.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="name")
        parser.add_argument("--kind", required=True, help="kind of resource, such as storage")
        parser.add_argument(
            "--resources", metavar="CLASS=AMOUNT", type=amount, action="append", required=True,
            help="amount of a resource class; may be repeated",
        )  # fmt: skip
        arguments.add_list(parser, "--trait", "required", "TRAIT", "trait that the pool has")
        arguments.add_list(
            parser, "--forbidden-trait", "forbidden", "TRAIT", "trait that the pool has not"
        )
        parser.add_argument("--pool", help="name of the only acceptable pool (administrators)")
        parser.add_argument(
            "--server",
            help="server (id or name) that the claim belongs to: it is on a pool that shares an "
            "aggregate with the server's host, and ends with the server",
        )
        ends = parser.add_mutually_exclusive_group()
        ends.add_argument(
            "--ends-in", metavar="DURATION", type=duration, help="lifetime: 30m, 12h, 7d"
        )
        ends.add_argument("--ends-at", metavar="TIME", help="end, such as 2030-01-31T12:00:00Z")
        arguments.add_wait(parser)

    def take_action(self, parsed_args: Namespace) -> base.Record:
        server = lookup.find_server(self.api, parsed_args.server) if parsed_args.server else None
        body = arguments.given(
            name=parsed_args.name,
            kind=parsed_args.kind,
            resources=dict(parsed_args.resources),
            required=parsed_args.required or None,
            forbidden=parsed_args.forbidden or None,
            pool=parsed_args.pool,
            server_id=server and server["id"],
            ends_at=parsed_args.ends_at,
            lifetime_seconds=parsed_args.ends_in,
        )
        claim: Document = self.api.post(*PATH, body={"claim": body})["claim"]
        if parsed_args.wait:
            claim = self._final(claim, parsed_args.timeout)
        return base.record(FIELDS, claim)

    def _final(self, claim: Document, timeout_seconds: float) -> Document:
        pace = Pace(timeout_seconds)
        self.waits = True
        while claim["status"] == PENDING:
            if not pace.pause():
                raise ClaimWaitTimeout(
                    timeout_seconds=timeout_seconds, claim=claim["id"], status=claim["status"]
                )
            claim = self.api.get(*PATH, claim["id"])["claim"]
        if claim["status"] == ERROR:
            raise ClaimFailed(claim=claim["id"], fault=claim["fault"])
        return claim


class ListClaims(base.ApiLister):
    """List claims, newest first."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--kind", help="only those of this kind")
        parser.add_argument("--server", help="only those of this server (id or name)")
        parser.add_argument("--pool", help="only those on this pool, id or name (administrators)")
        parser.add_argument(
            "--all-projects", action="store_true", help="list all projects (administrators)"
        )

    def take_action(self, parsed_args: Namespace) -> base.Table:
        server = lookup.find_server(self.api, parsed_args.server) if parsed_args.server else None
        query = arguments.given(
            kind=parsed_args.kind,
            server_id=server and server["id"],
            pool=parsed_args.pool,
            all_projects="true" if parsed_args.all_projects else None,
        )
        return base.table(COLUMNS, self.items(KEY, *PATH, query=query))


class ShowClaim(base.ShowNamed):
    """Show a claim."""

    noun = CLAIM


class DeleteClaims(base.ApiCommand):
    """End claims and release what they hold; none if one of them is unknown."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("wanted", nargs="+", metavar="claim", help="id or name")
        arguments.add_wait(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        found = [lookup.find_claim(self.api, wanted) for wanted in parsed_args.wanted]
        for claim in found:
            self.api.delete(*PATH, str(claim["id"]))
        pace = Pace(parsed_args.timeout)
        for claim in found if parsed_args.wait else ():
            while not self._is_gone(claim):
                if not pace.pause():
                    raise ClaimWaitTimeout(
                        timeout_seconds=parsed_args.timeout, claim=claim["id"], status="there"
                    )
        return 0

    def _is_gone(self, claim: Document) -> bool:
        try:
            self.api.get(*PATH, str(claim["id"]))
        except ApiNotFound:
            return True
        return False


class ExplainClaim(base.ApiCommand):
    """Explain why a claim has its pool, or none."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("claim", help="id or name")
        arguments.add_format(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        claim = lookup.find_claim(self.api, parsed_args.claim)
        explanation = self.api.get(*PATH, claim["id"], "explain")["explanation"]
        if parsed_args.format == arguments.JSON:
            self.application.stdout.write(f"{json.dumps(explanation, indent=2)}\n")
        else:
            self.application.stdout.write("".join(f"{line}\n" for line in _lines(explanation)))
        return 0


class ShowClaimQuota(base.ApiLister):
    """Show the limits (-1 is unlimited) and usage of a project's claims."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="id of the project")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        return _quota_table(self.api.get(*QUOTAS, parsed_args.project)["claim_quotas"])


class SetClaimQuota(base.ApiLister):
    """Set limits of a project's claims; -1 is unlimited. Other limits are unchanged."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="id of the project")
        parser.add_argument("--claims", metavar="N", type=arguments.limit, help="number of claims")
        parser.add_argument(
            "--amount", metavar="CLASS=N", type=_class_limit, action="append", default=[],
            help="total amount of a resource class; may be repeated",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> base.Table:
        limits = {f"{KEY}:{name}": limit for name, limit in parsed_args.amount}
        if parsed_args.claims is not None:
            limits[KEY] = parsed_args.claims
        if not limits:
            raise exception.Invalid("No limit given.")
        path = (*QUOTAS, parsed_args.project)
        return _quota_table(self.api.put(*path, body={"claim_quotas": limits})["claim_quotas"])


def duration(text: str) -> int:
    """Parse a duration: ``90s``, ``30m``, ``12h`` or ``7d``; without a unit, seconds."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "s")
    if not (number.isascii() and number.isdigit() and int(number)):
        raise ArgumentTypeError(f"'{text}' is not a duration such as 30m, 12h or 7d")
    return int(number) * _UNITS[unit]


def _class_limit(text: str) -> tuple[str, int]:
    name, value = arguments.pair(text)
    return name, arguments.limit(value)


def _quota_table(quotas: Mapping[str, Document]) -> base.Table:
    rows = [(name, quota["in_use"], quota["limit"]) for name, quota in sorted(quotas.items())]
    return ("Resource", "Used", "Limit"), rows


def _lines(explanation: Document) -> Iterator[str]:
    claim, trace = explanation["claim"], explanation["trace"]
    name = printable(claim["name"] or claim["kind"])
    where = f" on pool {printable(claim['pool'])}" if claim.get("pool") else ""
    why = f": {printable(claim['fault'])}" if claim["fault"] else f"{where}."
    headline = f"{name} ({claim['id']}): {_resources(claim)}, is {claim['status']}{why}"
    yield from textwrap.wrap(headline, screen_width())
    if claim["ends_at"]:
        yield f"It ends at {claim['ends_at']}{_in_words(claim['ends_at'])}."
    if claim.get("alternates"):
        alternates = ", ".join(map(printable, claim["alternates"]))
        yield from textwrap.wrap(f"Alternates: {alternates}", screen_width())
    if trace:
        yield from lines_of(trace, claim.get("pool"), noun="pool")
    else:
        yield ""
        yield "The decision trace is not available (yet)."


def _in_words(moment: str) -> str:
    left = datetime.fromisoformat(moment) - datetime.now(UTC)
    seconds = int(left.total_seconds())
    return f", in {timedelta(seconds=seconds)}" if seconds > 0 else ""
