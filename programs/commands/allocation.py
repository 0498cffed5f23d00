"""Allocations in placement: consumers and what they use of each host."""

from argparse import ArgumentParser, Namespace

from armillary.table_columns import ShortId, cells
from programs.commands import base

PATH = ("armillary", "allocations")
COLUMNS: base.Columns = {
    "Consumer": lambda allocation: ShortId(allocation["consumer_uuid"]),
    "Type": "consumer_type",
    "Project": "project_id",
    "Host": "provider_name",
    "Resources": "resources",
}


class ListAllocations(base.ApiLister):
    """List all allocations (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--totals", action="store_true", help="show the total used and the total available"
        )

    def take_action(self, parsed_args: Namespace) -> base.Table:
        if not parsed_args.totals:
            return base.table(COLUMNS, self.items("allocations", *PATH))
        resources = self.api.get(*PATH, query={"limit": 1})["totals"]["resources"]
        rows = [
            cells((name, total["used"], total["capacity"]))
            for name, total in sorted(resources.items())
        ]
        return ("Resource class", "Used", "Capacity"), rows
