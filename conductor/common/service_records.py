"""Records of services without hosts: conductors, and the services that report to them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception, service_history
from armillary.context import RequestContext
from armillary.db import Database
from armillary.metrics import service_figures
from armillary.metrics.service_figures import FigureReporter
from conductor.common.cell_db import service_figures as rows
from conductor.common.cell_db import services
from conductor.common.clock import Clock, moment
from objects.hosts.service import Service

LOG = logging.getLogger(__name__)

NAMED_MAX = 10
"""Maximum number of services named in an error."""
FIGURES_KEPT_FACTOR = 10
"""Factor of ``service_down_time`` for which the figures of a silent worker are kept."""
CACHE_SECONDS = 5.0
"""Seconds to cache the oldest versions, which are returned for every heartbeat."""

IN_CELL: Mapping[str, str] = {
    service_history.COMPUTE: "compute",
    service_history.CONDUCTOR: "cell_conductor",
}
"""Binary -> the interface that it serves, for services with records in a cell's database."""
ON_TOP: Mapping[str, str] = {
    service_history.CONDUCTOR: "conductor",
    service_history.SCHEDULER: "scheduler",
    service_history.PLACEMENT: "placement",
}
"""The same for services with records in cell0's database."""
ROLE_OF: Mapping[str, str] = {**ON_TOP, service_history.API: "api"}
"""Binary -> the role of its key, for services that report to the super conductor."""


class ServiceRecords:
    """Service records of one database: a cell's, or cell0's for services on the top broker.

    ``interfaces`` is ``IN_CELL`` or ``ON_TOP``. ``figures`` are reported with the own heartbeat.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        interfaces: Mapping[str, str],
        now: Clock,
        cell_uuid: str | None,
        figures: FigureReporter | None = None,
        oldest_supported: int = service_history.OLDEST_SUPPORTED,
    ) -> None:
        self._conf = conf
        self._database = database
        self._interfaces = interfaces
        self._now = now
        self._cell_uuid = cell_uuid
        self._oldest_supported = oldest_supported
        self._figures = figures
        self._cached: tuple[float, dict[str, int]] | None = None

    def check_supported(self) -> None:
        """Raise ConfigurationError if a record has a version that is no longer supported.

        ``[workarounds] disable_compute_service_check_for_ffu`` turns the error into a warning.
        """
        with self._database.reader() as session:
            found = services.list_before(session, self._oldest_supported, limit=NAMED_MAX + 1)
            named = [f"{row.binary} on {row.host} ({row.version})" for row in found[:NAMED_MAX]]
        if not named:
            return
        more = " and others" if len(found) > NAMED_MAX else ""
        reason = (
            f"services older than version {self._oldest_supported}, which this release does not "
            f"support: {', '.join(named)}{more}. Upgrade them with the previous release, or "
            "delete the services that are gone"
        )
        if not self._conf.workarounds.disable_compute_service_check_for_ffu:
            raise exception.ConfigurationError(reason=reason)
        LOG.warning("Found %s", reason)

    def record_heartbeat(
        self,
        host: str,
        binary: str,
        version: int,
        worker: int = 0,
        figures: Mapping[str, float] | None = None,
    ) -> None:
        """Store a heartbeat, and the figures of a worker.

        Raises ServiceTooOld; Invalid for a binary without records here, or a worker's number out of
        bounds. Figures that are unknown or out of bounds are left out.
        """
        if binary not in ROLE_OF:
            raise exception.Invalid(reason=f"services of {str(binary)[:80]!r} have no record here")
        check_version(host, binary, version, self._oldest_supported)
        self._store(host, binary, version, worker, figures)

    def _store(
        self,
        host: str,
        binary: str,
        version: int,
        worker: int,
        figures: Mapping[str, float] | None,
        *,
        forgets_stale: bool = False,
    ) -> None:
        if not 0 <= worker < service_figures.WORKERS_MAX:
            raise exception.Invalid(
                reason=f"a worker's number is below {service_figures.WORKERS_MAX}, not {worker}"
            )
        known = service_figures.checked(figures or {})
        now = moment(self._now())

        def write(session: Session) -> None:
            services.record_heartbeat(session, host, binary, version=version, now=now)
            if known:
                rows.store(session, host, binary, worker, known, now=now)
            if forgets_stale:
                seconds = FIGURES_KEPT_FACTOR * self._conf.service_down_time
                rows.remove_stale(session, now=now, seconds=seconds)

        self._database.insert_in_writer(write)

    def record_own_heartbeat(self) -> None:
        """Store the heartbeat of this process; forget the figures of workers that are gone."""
        self._store(
            self._conf.host,
            service_history.CONDUCTOR,
            service_history.CURRENT_VERSION,
            service_figures.worker_number(),
            None if self._figures is None else self._figures.read(),
            forgets_stale=True,
        )

    def oldest(self) -> dict[str, int]:
        """Return interface -> the oldest version of the services that serve it."""
        found = self._database.read(
            services.oldest_versions,
            now=moment(self._now()),
            down_time_seconds=self._conf.service_down_time,
        )
        return {
            self._interfaces[binary]: version
            for binary, version in found.items()
            if binary in self._interfaces
        }

    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        """Return the same, cached for up to ``CACHE_SECONDS``; an endpoint of both conductors."""
        now = self._now()
        if self._cached is None or not 0 <= now - self._cached[0] < CACHE_SECONDS:
            self._cached = (now, self.oldest())
        return self._cached[1]

    def list_all(self) -> list[Service]:
        with self._database.reader() as session:
            at = services.AsOf.present(self._conf, self._now, self._cell_uuid)
            return services.list_all(session, at)

    def remove(self, service_uuid: str) -> None:
        """Delete a record; a living service creates it again. Raises ServiceNotFound."""

        def write(session: Session) -> None:
            services.get(session, service_uuid)
            services.remove(session, service_uuid)

        self._database.run_in_writer(write)


def check_version(
    host: str, binary: str, version: int, oldest: int = service_history.OLDEST_SUPPORTED
) -> None:
    """Raise ServiceTooOld for a service of a release that is no longer supported."""
    if version < oldest:
        raise exception.ServiceTooOld(binary=binary, host=host, version=version, oldest=oldest)
