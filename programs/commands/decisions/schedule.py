"""``schedule --dry-run``: where servers would be placed, and why, without building them."""

import json
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from armillary import exception
from armillary.table_columns import printable
from programs.commands import arguments
from programs.commands.base import ApiCommand
from programs.commands.decisions.trace_text import (
    INDENT,
    UNKNOWN_HOST,
    UNKNOWN_ZONE,
    aligned,
    fitted,
    lines_of,
)
from programs.commands.servers.server_create import add_placement_options, request_body
from programs.display.text_table import screen_width
from programs.http_client import Document

HOSTS_SHOWN_MAX = 10


class NoHostFits(exception.ArmillaryError):
    """A dry run found no host."""

    template = "No host fits %(count)s."


class Schedule(ApiCommand):
    """Show where servers would be placed now, and why; nothing is claimed or built.

    Takes the options of "server create", or a file with a request spec. The exit code is 1 if there
    are not enough hosts for all servers.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="required: only dry runs are supported"
        )
        add_placement_options(parser, is_flavor_required=False)
        parser.add_argument(
            "--count", metavar="N", type=arguments.positive, help="number of servers (default: 1)"
        )
        arguments.add_list(parser, "--network", "networks", "UUID", "network")
        parser.add_argument(
            "--request-spec",
            metavar="FILE",
            type=Path,
            help="JSON file with a request spec; replaces all of these options",
        )
        arguments.add_format(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        if not parsed_args.dry_run:
            raise exception.Invalid(
                reason="only dry runs are supported: add --dry-run. To build, use 'server create'"
            )
        found: Document = self.api.post("armillary", "dry-run", body=self._body(parsed_args))
        found = found["dry_run"]
        if parsed_args.format == arguments.JSON:
            self.application.stdout.write(f"{json.dumps(found, indent=2)}\n")
        else:
            self.application.stdout.write("".join(f"{line}\n" for line in text_of(found)))
        if not found["hosts"]:
            count = parsed_args.count or 1
            raise NoHostFits(count="it" if count == 1 else f"all {count:,} of them")
        return 0

    def _body(self, parsed_args: Namespace) -> Document:
        asked = _asked(parsed_args)
        if parsed_args.request_spec is not None:
            if asked:
                raise exception.Invalid(
                    reason=f"--request-spec replaces other options: remove {', '.join(asked)}"
                )
            return {"request_spec": _read(parsed_args.request_spec)}
        if parsed_args.flavor is None:
            raise exception.Invalid(reason="give --flavor or --request-spec")
        networks = [{"uuid": network} for network in parsed_args.networks]
        return request_body(self.api, parsed_args, max_count=parsed_args.count, networks=networks)


def text_of(found: Document) -> Iterator[str]:
    hosts, trace = found["hosts"], found["trace"]
    if hosts:
        servers = "1 server" if len(hosts) == 1 else f"{len(hosts):,} servers"
        yield f"{servers} would be placed on (nothing was claimed):"
        yield from fitted(_places(hosts), INDENT)
    else:
        why = printable(trace.get("sentence") or "The scheduler gave no reason.")
        yield from textwrap.wrap(f"No host fits: {why}", screen_width())
    yield from lines_of(trace, None)


def _places(hosts: list[Document]) -> Iterator[str]:
    """Yield a line per server, with zones only if other zones are involved."""
    has_zones = any(each for one in hosts for each in (one["zone"], *one["alternate_zones"]))
    rows = [("", "host", *(["of zone"] if has_zones else []), "zone", "alternates")]
    for number, one in enumerate(hosts[:HOSTS_SHOWN_MAX], 1):
        alternates = zip(one["alternates"], one["alternate_zones"], strict=True)
        rows.append(
            (
                f"{number:,}",
                _name(one["host"] or one["host_id"]),
                *([_name(one["zone"], "(this)")] if has_zones else []),
                _name(one["availability_zone"], ""),
                ", ".join(_alternate(host, zone) for host, zone in alternates),
            )
        )
    yield from aligned(rows, right=(0,))
    if len(hosts) > HOSTS_SHOWN_MAX:
        yield f"… and {len(hosts) - HOSTS_SHOWN_MAX:,} more: use -f json to see all"


def _alternate(host: str | None, zone: str | None) -> str:
    return _name(host) if zone is None else f"one of {_name(zone, UNKNOWN_ZONE)}"


def _name(name: str | None, unknown: str = UNKNOWN_HOST) -> str:
    return printable(name or unknown)


def _asked(parsed_args: Namespace) -> list[str]:
    """Return the request options given, as written on the command line."""
    options = {
        "--flavor": parsed_args.flavor,
        "--image": parsed_args.image,
        "--count": parsed_args.count,
        "--availability-zone": parsed_args.availability_zone,
        "--host": parsed_args.host,
        "--network": parsed_args.networks,
        "--hint": parsed_args.hints,
    }
    return [name for name, value in options.items() if value]


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise exception.Invalid(reason=f"{path} cannot be read as a JSON file: {error}") from error
