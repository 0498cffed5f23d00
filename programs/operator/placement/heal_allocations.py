"""``armillary-manage placement heal-allocations``: create missing allocations of servers."""

import dataclasses
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from armillary import exception
from conductor.super_conductor.repair.heal_allocations import (
    Heal,
    HealOptions,
    HealResult,
    HealSources,
)
from objects.instance import Instance
from objects.instances.server_answers import CellServerPage
from objects.request_spec import RequestSpec
from programs.display.progress import counted
from programs.operator.placement.placement_command import (
    EXIT_INCOMPLETE,
    BadInput,
    PlacementCommand,
    parse_number,
    parse_uuid,
)
from programs.operator.service_clients import Peers
from scheduler.request.resource_query import expected_allocations

PAGE_SIZE = 200


class PlacementHealAllocations(PlacementCommand):
    """Create missing allocations of servers from their flavors.

    Skips servers with a task in progress; --verbose names them. Exit codes: 0 some were healed; 1
    --max-count was reached and there are more; 2 a server's compute node is unknown; 3 placement
    refused an allocation, or a server has allocations on another host; 4 nothing was healed, as in
    a dry run; 10 a cell did not answer, its servers were skipped; 127 invalid input, or no such
    server; 255 failed.
    """

    exit_unexpected = 255

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--instance", metavar="UUID", help="only this server")
        parser.add_argument("--cell", metavar="UUID", help="only the servers of this cell")
        parser.add_argument(
            "--max-count", metavar="N", help="maximum number of servers to heal (default: all)"
        )
        parser.add_argument("--dry-run", action="store_true", help="only show what would be done")

    def work(self, parsed_args: Namespace, found: Peers) -> int:
        options = HealOptions(max_count=_max_count(parsed_args), dry_run=parsed_args.dry_run)
        instance, cell_uuid = parse_uuid(parsed_args.instance), parse_uuid(parsed_args.cell)
        if instance is not None and cell_uuid is not None:
            raise BadInput("--cell and --instance are mutually exclusive")
        if cell_uuid is not None:
            _check_cell(found, cell_uuid)
        with self.progress("servers", None) as show:
            heal = Heal(
                found.context,
                found.placement,
                _sources(found, instance, cell_uuid),
                options,
                say=self.say,
                tell=self.tell,
                show=show,
            )
            try:
                result = heal.run()
            except exception.InstanceNotFound as error:
                raise BadInput(str(error)) from error
            except exception.CellUnavailable as error:  # of the server named by --instance
                self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
                return EXIT_INCOMPLETE
        would = "would be " if options.dry_run else ""
        self.say(f"{counted(result.looked_at, 'server')} checked: {result.healed} {would}healed")
        self.warn_of(result.down_cells)
        return heal_code(result, dry_run=options.dry_run)


def _max_count(parsed_args: Namespace) -> int | None:
    if parsed_args.max_count is None:
        return None
    if parsed_args.instance is not None:
        raise BadInput("--max-count and --instance are mutually exclusive")
    return parse_number(parsed_args.max_count, "--max-count", 1, 2**31 - 1)


def heal_code(result: HealResult, *, dry_run: bool) -> int:
    by_code = {
        3: result.refused + result.misplaced,
        2: result.without_node,
        EXIT_INCOMPLETE: result.down_cells,
        1: result.is_cut_short,
    }
    worst = next((code for code, is_so in by_code.items() if is_so), None)
    if worst is not None:
        return worst
    return 0 if result.healed and not dry_run else 4


def _check_cell(peers: Peers, cell_uuid: str) -> None:
    """Raise BadInput for a cell that no host is in; servers there have nothing to be healed."""
    listed = peers.conductor.list_compute_nodes(peers.context)
    if not listed.down_cells and cell_uuid not in {node.cell_uuid for node in listed.nodes}:
        raise BadInput(f"no host is in a cell {cell_uuid}")


def _sources(peers: Peers, instance: str | None, cell_uuid: str | None) -> HealSources:
    """Return the sources of one server, of the servers of a cell, or of all.

    For a named server they raise InstanceNotFound and CellUnavailable.
    """

    def pages() -> Iterator[CellServerPage]:
        if instance is not None:
            server = peers.conductor.get_server(peers.context, instance)
            yield CellServerPage([server], [])
        else:
            for page in _pages(peers):
                ours = [one for one in page.instances if cell_uuid in (None, one.cell_uuid)]
                yield dataclasses.replace(page, instances=ours)

    return HealSources(
        nodes=lambda: peers.conductor.list_compute_nodes(peers.context),
        pages=pages,
        expected_allocations=lambda found: [expected_allocations(_spec(one)) for one in found],
    )


def _pages(peers: Peers) -> Iterator[CellServerPage]:
    marker = None
    while True:
        page = peers.conductor.list_cell_servers(peers.context, limit=PAGE_SIZE, marker=marker)
        yield page
        marker = page.marker
        if marker is None:
            return


def _spec(instance: Instance) -> RequestSpec:
    return RequestSpec.from_values(
        project_id="", user_id="", flavor=instance.flavor, image=instance.image
    )
