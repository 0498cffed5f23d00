"""Records of services that carry no host: conductors, and who reports to them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from oslo_config import cfg
from oslo_db import exception as db_exception
from sqlalchemy.orm import Session

from armillary import exception, service_history
from armillary.db import Database
from conductor.cell_db import services
from conductor.moments import Now, moment
from objects.service import Service

LOG = logging.getLogger(__name__)

NAMED_MAX = 10
"""So many services are named in an error."""
LATELY_SECONDS = 5.0
"""So old may be what is said of the oldest services: it is asked with every sign of life."""

IN_CELL: Mapping[str, str] = {
    service_history.COMPUTE: "compute",
    service_history.CONDUCTOR: "cell_conductor",
}
"""Binary -> the interface that it serves, of those with a record in a cell's database."""
ON_TOP: Mapping[str, str] = {
    service_history.CONDUCTOR: "conductor",
    service_history.SCHEDULER: "scheduler",
    service_history.PLACEMENT: "placement",
}
"""The same of those with a record in cell0's."""
_REPORTING = frozenset({*ON_TOP, service_history.API})


class ServiceRecords:
    """The records of one database: a cell's, or cell0's for the services on the top broker.

    ``interfaces`` is one of ``IN_CELL`` and ``ON_TOP``.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        interfaces: Mapping[str, str],
        now: Now,
        cell_uuid: str | None,
        oldest_supported: int = service_history.OLDEST_SUPPORTED,
    ) -> None:
        self._conf = conf
        self._database = database
        self._interfaces = interfaces
        self._now = now
        self._cell_uuid = cell_uuid
        self._oldest_supported = oldest_supported
        self._lately: tuple[float, dict[str, int]] | None = None

    def check_supported(self) -> None:
        """Raise ConfigurationError while a record is of a version that is not supported any more.

        ``[workarounds] disable_compute_service_check_for_ffu`` makes it a warning.
        """
        with self._database.reader() as session:
            found = services.list_before(session, self._oldest_supported, limit=NAMED_MAX + 1)
            named = [f"{row.binary} on {row.host} ({row.version})" for row in found[:NAMED_MAX]]
        if not named:
            return
        more = " and others" if len(found) > NAMED_MAX else ""
        reason = (
            f"services older than version {self._oldest_supported}, which this release does not "
            f"work with: {', '.join(named)}{more}. Upgrade them with the release before, or "
            "delete the services that are gone"
        )
        if not self._conf.workarounds.disable_compute_service_check_for_ffu:
            raise exception.ConfigurationError(reason=reason)
        LOG.warning("There are %s", reason)

    def note_alive(self, host: str, binary: str, version: int) -> None:
        """Store a sign of life. Raises ServiceTooOld; Invalid for a binary without records here."""
        if binary not in _REPORTING:
            raise exception.Invalid(reason=f"no record is kept of {str(binary)[:80]!r}")
        check_version(host, binary, version, self._oldest_supported)
        now = moment(self._now())

        def write() -> None:
            self._database.run_in_writer(
                lambda session: services.note_alive(session, host, binary, version=version, now=now)
            )

        try:
            write()
        except db_exception.DBDuplicateEntry:  # two workers of it for the first time, at once
            write()

    def note_me(self) -> None:
        """Store a sign of life of the conductor that this is."""
        self.note_alive(self._conf.host, service_history.CONDUCTOR, service_history.CURRENT_VERSION)

    def oldest(self) -> dict[str, int]:
        """Return interface -> the oldest version of the services that serve it."""
        with self._database.reader() as session:
            found = services.oldest_versions(
                session, now=moment(self._now()), down_time_seconds=self._conf.service_down_time
            )
        return {
            self._interfaces[binary]: version
            for binary, version in found.items()
            if binary in self._interfaces
        }

    def oldest_lately(self) -> dict[str, int]:
        """Return the same as it was at most ``LATELY_SECONDS`` ago."""
        now = self._now()
        if self._lately is None or not 0 <= now - self._lately[0] < LATELY_SECONDS:
            self._lately = (now, self.oldest())
        return self._lately[1]

    def list_all(self) -> list[Service]:
        """Return all records, with ``up`` worked out."""
        with self._database.reader() as session:
            return services.list_all(
                session, now=moment(self._now()),
                down_time_seconds=self._conf.service_down_time, cell_uuid=self._cell_uuid,
            )  # fmt: skip

    def remove(self, service_uuid: str) -> None:
        """Remove a record; the service makes it again if it lives. Raises ServiceNotFound."""

        def write(session: Session) -> None:
            services.get(session, service_uuid)
            services.remove(session, service_uuid)

        self._database.run_in_writer(write)


def check_version(
    host: str, binary: str, version: int, oldest: int = service_history.OLDEST_SUPPORTED
) -> None:
    """Raise ServiceTooOld for a service of a release that this one does not work with."""
    if version < oldest:
        raise exception.ServiceTooOld(binary=binary, host=host, version=version, oldest=oldest)
