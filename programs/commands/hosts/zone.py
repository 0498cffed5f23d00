"""Zones: the deployments below this one, their capabilities and whether they are up."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

from armillary.table_columns import printable
from programs.application import secret_in
from programs.commands import base
from programs.http_client import Document

PATH = ("armillary", "zones")
INDENT = "  "
NAMED_CAPABILITIES = ("resources", "traits", "attributes")
"""Capabilities shown in fields of their own."""


class Tree(FormattableColumn[Sequence[Document]]):
    """The zones below a zone: one line each with its state, indented by its depth."""

    def human_readable(self) -> str:
        return "\n".join(_tree_lines(self._value, ""))


def _tree_lines(zones: Sequence[Document], indent: str) -> Iterator[str]:
    for zone in zones:
        yield printable(f"{indent}{zone['name']} ({zone['state']})")
        yield from _tree_lines(zone["zones"], f"{indent}{INDENT}")


def _inherited(zone: Document) -> int | None:
    """Return the number of a zone's hosts that belong to zones below it."""
    if zone["hosts"] is None or zone["own_hosts"] is None:
        return None
    return int(zone["hosts"]) - int(zone["own_hosts"])


def _capability(name: str) -> Callable[[Document], Any]:
    return lambda zone: (zone["capabilities"] or {}).get(name)


def _others(zone: Document) -> Mapping[str, Any] | None:
    capabilities = zone["capabilities"] or {}
    return _in_lines(
        {name: value for name, value in capabilities.items() if name not in NAMED_CAPABILITIES}
    )


def _in_lines(values: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return values as table cells; lists in one line."""
    if not values:
        return None
    return {
        name: ", ".join(_as_list(value)) if isinstance(value, list | dict) else value
        for name, value in values.items()
    }


def _as_list(value: list[Any] | Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of a cell; of a histogram, each range with its number of hosts."""
    if isinstance(value, list):
        yield from map(str, value)
        return
    yield from (f"{name}: {hosts}" for name, hosts in value.items())


COLUMNS: base.Columns = {
    "Name": "name",
    "State": "state",
    "Last seen": "last_seen",
    "Hosts up": "hosts_up",
    "Hosts": "hosts",
    "Own hosts": "own_hosts",
    "Inherited": _inherited,
    "Zones": "zones_total",
}
FIELDS: base.Columns = {
    "name": "name",
    "state": "state",
    "last_seen": "last_seen",
    "hosts": "hosts",
    "hosts_up": "hosts_up",
    "hosts_disabled": "hosts_disabled",
    "own_hosts": "own_hosts",
    "inherited_hosts": _inherited,
    "depth": "depth",
    "most_free_on_one_host": _capability("resources"),
    "traits": lambda zone: sorted(_capability("traits")(zone) or []),
    "attributes": lambda zone: _in_lines(_capability("attributes")(zone)),
    "other_capabilities": _others,
    "zones": lambda zone: Tree(zone["zones"]),
}


class ListZones(base.ApiLister):
    """List the direct child zones, after this zone if it is part of a tree."""

    def take_action(self, parsed_args: Namespace) -> base.Table:
        listed = self.api.get(*PATH)
        own = [] if listed["own"] is None else [listed["own"]]
        return base.table(COLUMNS, [*own, *listed["zones"]])


class ShowZone(base.ApiShow):
    """Show the capabilities of a zone, and the zones below it."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("zone", help="name")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        return base.record(FIELDS, self.api.get(*PATH, parsed_args.zone)["zone"])


RECORD: base.Columns = {
    name: name
    for name in (
        "uuid", "name", "disabled", "weight_offset", "weight_scale", "created_at", "updated_at",
    )
}  # fmt: skip


def _add_settings(parser: ArgumentParser, *, is_new: bool) -> None:
    parser.add_argument(
        "--transport-url-file",
        required=is_new,
        metavar="FILE",
        type=secret_in,
        help="file with the transport URL of the child's broker, with the account there; '-' is "
        "standard input",
    )
    enabling = parser.add_mutually_exclusive_group()
    enabling.add_argument(
        "--disable", dest="disabled", action="store_const", const=True, help="no new servers there"
    )
    enabling.add_argument(
        "--enable", dest="disabled", action="store_const", const=False, help="new servers there"
    )
    parser.add_argument("--weight-offset", type=float, metavar="NUMBER", help="0 unless given")
    parser.add_argument("--weight-scale", type=float, metavar="NUMBER", help="1 unless given")
    parser.add_argument(
        "--no-verify", dest="verify", action="store_const", const=False,
        help="do not connect to the broker to try the URL",
    )  # fmt: skip


def _settings(parsed_args: Namespace) -> Document:
    names = ("disabled", "weight_offset", "weight_scale", "verify")
    given = {name: getattr(parsed_args, name) for name in names}
    if parsed_args.transport_url_file is not None:
        given["transport_url"] = parsed_args.transport_url_file
    return {name: value for name, value in given.items() if value is not None}


class CreateZone(base.ApiShow):
    """Put a zone below this one. Its transport URL is a secret: no command shows it."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="[zones] name of the child")
        _add_settings(parser, is_new=True)

    def take_action(self, parsed_args: Namespace) -> base.Record:
        zone = {"name": parsed_args.name, **_settings(parsed_args)}
        return base.record(RECORD, self.api.post(*PATH, body={"zone": zone})["zone"])


class SetZone(base.ApiShow):
    """Change how a child zone is reached and weighed, or turn it off and on."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("zone", help="name or UUID")
        _add_settings(parser, is_new=False)

    def take_action(self, parsed_args: Namespace) -> base.Record:
        body = {"zone": _settings(parsed_args)}
        return base.record(RECORD, self.api.put(*PATH, parsed_args.zone, body=body)["zone"])


class DeleteZone(base.ApiCommand):
    """Take a child zone out of the tree; nothing is changed in the zone itself."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("zone", help="name or UUID")
        parser.add_argument(
            "--force", action="store_true", help="also remove mappings of deleted servers"
        )

    def take_action(self, parsed_args: Namespace) -> int:
        query = {"force": "true"} if parsed_args.force else None
        self.api.delete(*PATH, parsed_args.zone, query=query)
        return 0


class RefreshZones(base.ApiCommand):
    """Make all zones below push their summaries now."""

    def take_action(self, parsed_args: Namespace) -> int:
        self.api.post(*PATH, body={"refresh": {}})
        return 0
