"""Allocations: who holds what of which host, as placement has it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary.cli.commands.base import ApiLister
from armillary.cli.commands.columns import cells

PATH = ("armillary", "allocations")


class ListAllocations(ApiLister):
    """List all allocations (administrators)."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--totals", action="store_true", help="what all of them hold together, of what there is"
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
