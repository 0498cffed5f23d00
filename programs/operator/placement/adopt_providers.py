"""``armillary-manage placement adopt-providers``: say which cell owns which providers."""

from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Mapping, Sequence

from armillary import exception
from programs.operator.placement.placement_command import PlacementCommand, parse_uuid
from programs.operator.service_clients import Peers

BATCH_SIZE = 500


class PlacementAdoptProviders(PlacementCommand):
    """Give resource providers, with those below them, to the cells that may change them.

    Without options: the compute nodes of all hosts that no cell owns, to the cells of the hosts. A
    provider has an owner if its cell's conductor registered it with signed messages. Exit codes: 0
    success; 1 failed; 2 cells did not answer.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cell", help="UUID of the cell; needed with --provider")
        parser.add_argument(
            "--provider", action="append", default=[], dest="providers", metavar="UUID",
            help="provider to adopt; may be repeated; default: compute nodes",
        )  # fmt: skip
        parser.add_argument(
            "--replace", action="store_true", help="also take them from another cell"
        )

    def work(self, parsed_args: Namespace, found: Peers) -> int:
        cell = parse_uuid(parsed_args.cell)
        code = 0
        if parsed_args.providers:
            if cell is None:
                raise exception.Invalid(reason="--provider needs --cell")
            wanted: Mapping[str, Sequence[str]] = {
                cell: [str(parse_uuid(each)) for each in parsed_args.providers]
            }
        else:
            wanted, down_cells = _compute_nodes(found, cell)
            for name in down_cells:
                self.app.stderr.write(f"cell {name} does not answer; its hosts are skipped\n")
                code = 2
        self._adopt(found, wanted, is_replacing=parsed_args.replace)
        return code

    def _adopt(
        self, found: Peers, wanted: Mapping[str, Sequence[str]], *, is_replacing: bool
    ) -> None:
        for cell, providers in sorted(wanted.items()):
            count = 0
            for first in range(0, len(providers), BATCH_SIZE):
                adopted = found.placement.adopt_providers(
                    found.context, cell, providers[first : first + BATCH_SIZE], replace=is_replacing
                )
                count += len(adopted)
                for uuid in adopted:
                    self.tell(f"{uuid}: belongs to cell {cell}")
            self.say(f"Cell {cell}: {count} providers adopted")


def _compute_nodes(
    found: Peers, only_cell: str | None
) -> tuple[dict[str, list[str]], Sequence[str]]:
    """Return cell -> UUIDs of its compute nodes, and the names of cells that do not answer."""
    page = found.conductor.list_compute_nodes(found.context)
    nodes: dict[str, list[str]] = defaultdict(list)
    for node in page.nodes:
        if node.cell_uuid is not None and only_cell in (None, node.cell_uuid):
            nodes[node.cell_uuid].append(node.uuid)
    return nodes, page.down_cells
