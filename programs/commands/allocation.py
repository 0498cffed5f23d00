"""Allocations in placement: consumers and what they use of each host."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary.table_columns import cells
from programs.commands.base import ApiLister

PATH = ("armillary", "allocations")


class ListAllocations(ApiLister):
    """List all allocations (administrators)."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--totals", action="store_true", help="show the total used and the total available"
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        if parsed_args.totals:
            return self._totals()
        rows = [
            cells(
                (
                    allocation["consumer_uuid"],
                    allocation["consumer_type"],
                    allocation["project_id"],
                    allocation["provider_name"],
                    allocation["resources"],
                )
            )
            for allocation in self.items("allocations", *PATH)
        ]
        return ("Consumer", "Type", "Project", "Host", "Resources"), rows

    def _totals(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        resources = self.api.get(*PATH, query={"limit": 1})["totals"]["resources"]
        rows = [
            cells((name, total["used"], total["capacity"]))
            for name, total in sorted(resources.items())
        ]
        return ("Resource class", "Used", "Capacity"), rows
