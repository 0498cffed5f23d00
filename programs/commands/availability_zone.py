"""Availability zones: sets of hosts that users choose among."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from armillary.table_columns import cells
from programs.commands.base import ApiLister

PATH = "os-availability-zone"


class ListAvailabilityZones(ApiLister):
    """List availability zones."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--long", action="store_true", help="show the hosts (administrators)")
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        path = (PATH, "detail") if parsed_args.long else (PATH,)
        zones = self.api.get(*path)["availabilityZoneInfo"]
        states = [(zone["zoneName"], _state(zone["zoneState"]["available"])) for zone in zones]
        if not parsed_args.long:
            return ("Zone", "State"), [cells(state) for state in states]
        rows = [
            cells((*state, _hosts(zone["hosts"])))
            for zone, state in zip(zones, states, strict=True)
        ]
        return ("Zone", "State", "Hosts"), rows


def _state(is_available: bool) -> str:
    return "available" if is_available else "not available"


def _hosts(hosts: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return for each host whether any of its services is up and enabled."""
    return {
        host: "up"
        if any(s["active"] and s["available"] for s in services.values())
        else "not in use"
        for host, services in hosts.items()
    }
