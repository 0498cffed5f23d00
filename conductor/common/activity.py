"""Current activity of one database's services: a cell's, or those on the top broker."""

from collections.abc import Sequence

import sqlalchemy as sa
from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.common import unfinished_work
from conductor.common.cell_db import models, service_figures, services
from conductor.common.clock import Clock
from conductor.common.unfinished_work import Source
from objects.hosts.activity import DOWN_HOSTS_MAX, CellActivity, HostCounts


def read(
    conf: cfg.ConfigOpts,
    records: Database,
    works: Database,
    sources: Sequence[Source],
    *,
    now: Clock,
    cell_uuid: str | None,
) -> CellActivity:
    """Return the activity: service records of one database, works of ``works``.

    The number of rows read does not depend on the number of hosts.
    """
    with records.reader() as session:
        at = services.AsOf.present(conf, now, cell_uuid)
        others = services.list_all(session, at, ~services.IS_COMPUTE)
        are_down = services.IS_COMPUTE & ~models.Service.is_up
        down = services.list_all(session, at, are_down, limit=DOWN_HOSTS_MAX)
        hosts = _count_hosts(session)
        figures = service_figures.list_fresh(session, now=at.now, seconds=conf.service_down_time)
    with works.reader() as session:
        under_way = [
            count
            for source in sources
            for count in unfinished_work.counts(session, source, now_seconds=now())
        ]
    return CellActivity(others, figures, under_way, hosts, down)


def _count_hosts(session: Session) -> HostCounts:
    """Return the numbers of compute services, in the state that schedulers know."""
    row = models.Service
    query = (
        sa.select(row.is_up, row.disabled, sa.func.count())
        .where(services.IS_COMPUTE)
        .group_by(row.is_up, row.disabled)
    )
    found = [(bool(up), bool(off), count) for up, off, count in session.execute(query)]
    return HostCounts(
        total=sum(count for _up, _off, count in found),
        up=sum(count for up, _off, count in found if up),
        disabled=sum(count for _up, off, count in found if off),
    )
