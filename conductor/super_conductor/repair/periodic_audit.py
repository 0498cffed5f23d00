"""Periodic audit of placement by a super conductor.

It reports orphaned consumers without releasing them, adds allocations that servers on a host lack,
and corrects what servers count against quota. A server that cannot be healed is logged, such as one
with allocations on another host than its own.
"""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.logs.outage_log import OutageLog
from armillary.metrics import service_metrics
from conductor.common.clock import Clock, moment
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.repair.allocation_audit import (
    CLAIM,
    MOVE,
    SERVER,
    Audit,
    AuditOptions,
    AuditResult,
)
from conductor.super_conductor.repair.heal_allocations import (
    Amounts,
    Heal,
    HealOptions,
    HealResult,
    HealSources,
)
from conductor.super_conductor.repair.orphaned_allocations import Orphans
from conductor.super_conductor.servers.cell_server_pages import CellServers
from objects.hosts.host_answers import ComputeNodePage
from objects.instance import Instance
from objects.instances.server_answers import CellServerPage
from objects.request_spec import RequestSpec
from placement.interface import PlacementAPI
from scheduler.interface import SchedulerAPI

PAGE_SIZE = 200


class MissingAllocations:
    """Checks all servers that are on a host and have no operation in progress."""

    def __init__(
        self,
        *,
        database: Database,
        cells: Cells,
        servers: CellServers,
        scheduler: SchedulerAPI,
        placement: PlacementAPI,
    ) -> None:
        self._database = database
        self._cells = cells
        self._servers = servers
        self._scheduler = scheduler
        self._placement = placement

    def heal(
        self, context: RequestContext, *, say: Callable[[str], None], tell: Callable[[str], None]
    ) -> HealResult | None:
        """Heal all servers; return None if none needs allocations.

        Raises Unavailable and RpcFailed.
        """
        if self._scheduler.get_expected_allocations(context, []) is None:
            return None  # its driver claims nothing
        sources = HealSources(
            nodes=lambda: self._nodes(context),
            pages=lambda: self._servers.pages(context, limit=PAGE_SIZE),
            expected_allocations=lambda instances: self._expected_allocations(context, instances),
        )
        return Heal(context, self._placement, sources, HealOptions(), say=say, tell=tell).run()

    def _nodes(self, context: RequestContext) -> ComputeNodePage:
        answers = self._cells.ask_all(lambda cell: cell.list_compute_nodes(context))
        with self._database.reader() as session:
            nodes = [node for _, node in cell_reports.own_nodes(session, answers.by_cell)]
        return ComputeNodePage(nodes, {}, {}, answers.down_cells)

    def _expected_allocations(
        self, context: RequestContext, instances: Sequence[Instance]
    ) -> list[Sequence[Amounts]]:
        """Ask once for each combination of flavor and image: most servers share one."""
        keys = [_key(one) for one in instances]
        unlike = dict(zip(keys, instances, strict=True))
        asked = [
            RequestSpec.from_values(
                project_id="",
                user_id="",
                flavor=one.flavor,
                image=one.image,
                is_bfv=one.boots_from_volume,
            )
            for one in unlike.values()
        ]
        found = self._scheduler.get_expected_allocations(context, asked) or [[] for _ in asked]
        ways = dict(zip(unlike, found, strict=True))
        return [ways[key] for key in keys]


def _key(instance: Instance) -> str:
    image = None if instance.image is None else instance.image.obj_to_primitive()
    told = [instance.flavor.obj_to_primitive(), image, instance.boots_from_volume]
    return json.dumps(told, sort_keys=True, default=str)


LOG = logging.getLogger(__name__)

MIN_AGE = timedelta(hours=1)
"""Consumers that changed more recently are skipped: their server may not be recorded yet."""
LOGGED_LINES_MAX = 10_000
"""Maximum number of lines remembered as logged; beyond that, lines are logged again."""


class PeriodicAudit:
    """Any number of super conductors may run it: audits only read, and heal each server once."""

    def __init__(
        self,
        placement: PlacementAPI,
        orphans: Orphans,
        missing_allocations: MissingAllocations,
        now: Clock,
        *,
        pages: Callable[[], Iterable[CellServerPage]],
        recheck: Callable[[Sequence[Instance]], list[str]],
        delete_lost: Callable[[], int],
    ) -> None:
        """``pages`` lists all servers; ``recheck`` reads again the size of those with wrong usage.

        ``delete_lost`` deletes those that count and that no cell has.
        """
        self._placement = placement
        self._orphans = orphans
        self._missing_allocations = missing_allocations
        self._now = now
        self._pages = pages
        self._recheck = recheck
        self._delete_lost = delete_lost
        self._outage_of_cells = OutageLog(LOG, "A cell (audit of quota usage)")
        self._outage = OutageLog(LOG, "Placement (audit)")
        self._outage_of_healing = OutageLog(LOG, "Placement, or a scheduler, (audit of servers)")
        self._logged: set[str] = set()

    def run(self) -> None:
        """Audit all consumers, then all servers, then what they count against quota."""
        self.look_at_consumers()
        self.look_at_servers()
        self.look_at_usage()

    def look_at_usage(self) -> int:
        """Recheck servers whose counted size is wrong, and delete lost ones.

        Returns their number.
        """
        found = sum(len(self._recheck(page.instances)) for page in self._pages())
        try:
            found += self._delete_lost()
        except (exception.Unavailable, exception.RpcFailed) as error:
            self._outage_of_cells.failed(error)
            return found
        self._outage_of_cells.succeeded()
        return found

    def look_at_servers(self) -> HealResult | None:
        """Heal servers once; return None if that failed, or if there is nothing to heal by."""
        try:
            result = self._missing_allocations.heal(
                admin_context(), say=self._say_of_server, tell=lambda line: LOG.debug("%s", line)
            )
        except (exception.Unavailable, exception.RpcFailed) as error:
            self._outage_of_healing.failed(error)
            return None
        self._outage_of_healing.succeeded()
        shown = result or HealResult()
        service_metrics.servers_audited(
            healed=shown.healed,
            refused=shown.refused,
            misplaced=shown.misplaced,
            without_node=shown.without_node,
        )
        return result

    def look_at_consumers(self) -> AuditResult | None:
        """Audit all consumers once; return None when placement does not answer."""
        audit = Audit(
            admin_context(),
            self._placement,
            {
                SERVER: self._orphans.find_orphans,
                MOVE: self._orphans.find_orphan_migrations,
                CLAIM: self._orphans.find_orphan_claims,
            },
            AuditOptions(delete=False, provider=None, min_age=MIN_AGE),
            now=lambda: moment(self._now()),
            say=self._say_orphan,
            tell=lambda line: LOG.debug("%s", line),
            show=lambda _count, _more: None,
        )
        try:
            result = audit.run()
        except (exception.Unavailable, exception.RpcFailed) as error:
            self._outage.failed(error)
            return None
        self._outage.succeeded()
        service_metrics.consumers_audited(
            orphaned=result.orphans, foreign=result.foreign, unsure=result.unsure
        )
        return result

    def _say_orphan(self, line: str) -> None:
        self._say_once(line, "run `armillary-manage placement audit --delete` to release it")

    def _say_of_server(self, line: str) -> None:
        self._say_once(line, "found by the audit of servers")

    def _say_once(self, line: str, more: str) -> None:
        if line in self._logged:
            return
        if len(self._logged) >= LOGGED_LINES_MAX:
            self._logged.clear()
        self._logged.add(line)
        LOG.warning("%s; %s", line, more)
