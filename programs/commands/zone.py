"""Zones: the deployments below this one, their capabilities and whether they are up."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

from armillary.table_columns import cells, printable
from programs.commands.base import ApiCommand, ApiLister, ApiShow
from programs.http_client import Document

PATH = ("armillary", "zones")
COLUMNS = ("Name", "State", "Last seen", "Hosts up", "Hosts", "Own hosts", "Inherited", "Zones")
INDENT = "  "


class ListZones(ApiLister):
    """List the direct child zones, after this zone if it is part of a tree."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        listed = self.api.get(*PATH)
        own = [] if listed["own"] is None else [listed["own"]]
        return COLUMNS, [_row(zone) for zone in [*own, *listed["zones"]]]


class ShowZone(ApiShow):
    """Show the capabilities of a zone, and the zones below it."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("zone", help="name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        fields = _fields(self.api.get(*PATH, parsed_args.zone)["zone"])
        return tuple(fields), cells(fields.values())


class RefreshZones(ApiCommand):
    """Make all zones below push their summaries now."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        self.api.post(*PATH, body={"refresh": {}})
        return 0


class Tree(FormattableColumn[Sequence[Document]]):
    """The zones below a zone: one line each with its state, indented by its depth."""

    def human_readable(self) -> str:
        return "\n".join(_tree_lines(self._value, ""))


def _tree_lines(zones: Sequence[Document], indent: str) -> Iterator[str]:
    for zone in zones:
        yield printable(f"{indent}{zone['name']} ({zone['state']})")
        yield from _tree_lines(zone["zones"], f"{indent}{INDENT}")


def _row(zone: Document) -> tuple[Any, ...]:
    return cells(
        (
            zone["name"],
            zone["state"],
            zone["last_seen"],
            zone["hosts_up"],
            zone["hosts"],
            zone["own_hosts"],
            _inherited(zone),
            zone["zones_total"],
        )
    )


def _inherited(zone: Document) -> int | None:
    """Return the number of a zone's hosts that belong to zones below it."""
    if zone["hosts"] is None or zone["own_hosts"] is None:
        return None
    return int(zone["hosts"]) - int(zone["own_hosts"])


def _fields(zone: Document) -> dict[str, Any]:
    capabilities = zone["capabilities"] or {}
    return {
        "name": zone["name"],
        "state": zone["state"],
        "last_seen": zone["last_seen"],
        "hosts": zone["hosts"],
        "hosts_up": zone["hosts_up"],
        "hosts_disabled": zone["hosts_disabled"],
        "own_hosts": zone["own_hosts"],
        "inherited_hosts": _inherited(zone),
        "depth": zone["depth"],
        "most_free_on_one_host": capabilities.get("resources"),
        "traits": sorted(capabilities.get("traits") or []),
        "attributes": _plain(capabilities.get("attributes")),
        "other_capabilities": _plain(
            {
                name: value
                for name, value in capabilities.items()
                if name not in ("resources", "traits", "attributes")
            }
        ),
        "zones": Tree(zone["zones"]),
    }


def _plain(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return values as table cells; lists in one line."""
    if not values:
        return None
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in values.items()
    }
