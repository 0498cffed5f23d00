"""Fencing: make sure that a host runs nothing before its instances run elsewhere."""

import logging
import subprocess
from datetime import datetime, timedelta

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.conf import command_template
from armillary.db import Database
from conductor.common.cell_db import host_events, models, services
from conductor.common.clock import Clock, moment
from objects.hosts.host_event import HostChange

LOG = logging.getLogger(__name__)

OUTPUT_CHARS_MAX = 500
RETRY_SECONDS = 2.0
LEASE_MARGIN_SECONDS = 10.0
"""Added to the time-out of the command, for a conductor that is stalled while it runs."""
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class Fencing:
    """Calls ``[cell] fencing_command``, once for each time that a host went down.

    The service's record says when that was, for all conductors of the cell. Without a command a
    host is fenced when it counts as down: its agent holds its guests before that
    (``[compute] guest_lease``). One that an operator forced down earlier is waited for as long.
    """

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def fence(self, host: str, node: str | None) -> str | None:
        """Fence a host; return why that is impossible, or None.

        Raises HostNotFencedYet: wait; Unavailable: try again.
        """
        service = self._find(host)
        if service is None:
            return None
        if not service.forced_down and self._has_living_agent(service):
            return f"host {host} is back; its servers run there"
        if self._conf.cell.fencing_command:
            if _is_fenced(service):
                return None
            try:
                self._run_alone(host, node or host)
            except exception.HostNotFencedYet:
                raise
            except exception.Unavailable as error:
                if not service.forced_down:
                    raise
                LOG.warning("%s; going on, because an operator has forced it down", error)
            else:
                return None
        self._await_guest_leases(service)
        return None

    def _find(self, host: str) -> models.Service | None:
        with self._database.reader() as session:
            return services.find_by_hosts(session, {host}).get(host)

    def _has_living_agent(self, service: models.Service) -> bool:
        return services.has_living_agent(
            service, now=moment(self._now()), down_time_seconds=self._conf.service_down_time
        )

    def _await_guest_leases(self, service: models.Service) -> None:
        """Raise HostNotFencedYet while guests of a host that is forced down may still run.

        Its agent may be stalled since its last message. One that keeps sending is not waited
        for longer than the same time from when the host was forced down.
        """
        seconds = self.seconds_left(service) if service.forced_down else 0.0
        if seconds > 0:
            raise exception.HostNotFencedYet(
                host=service.host,
                reason="its agent may only be stalled; it holds its guests by then",
                seconds=seconds,
            )

    def seconds_left(self, service: models.Service) -> float:
        """Return how long guests of a host may go on that is down, or was forced down."""
        since = [at for at in (services.last_contact(service), service.forced_down_at) if at]
        if not since:
            return 0.0
        passed = moment(self._now()) - min(since)
        return max(0.0, float(self._conf.service_down_time) - passed.total_seconds())

    def _run_alone(self, host: str, node: str) -> None:
        """Run the command unless another conductor does so. Raises as :meth:`fence`."""
        seconds = float(self._conf.cell.fencing_timeout_seconds)
        now = moment(self._now())
        until = now + timedelta(seconds=seconds + LEASE_MARGIN_SECONDS)
        if not self._database.run_in_writer(services.begin_fencing, host, now=now, until=until):
            raise exception.HostNotFencedYet(
                host=host, reason="another conductor is fencing it", seconds=RETRY_SECONDS
            )
        fenced_at = None
        try:
            self._run(host, node, seconds)
            fenced_at = moment(self._now())
        finally:
            self._database.run_in_writer(_end, host, fenced_at)

    def _run(self, host: str, node: str, seconds: float) -> None:
        """Run the command without a shell. Raises Unavailable if it fails.

        Its arguments may be passwords: they reach no log and no fault of a server.
        """
        argv = command_template.fill(self._conf.cell.fencing_command, host=host, node=node)
        LOG.warning("Fencing host %s with %s", host, argv[0])
        try:
            done = subprocess.run(  # noqa: S603 - the operator's own command, no shell
                argv, check=False, capture_output=True, timeout=seconds, env=_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            raise exception.Unavailable(
                reason=f"host {host} could not be fenced: {argv[0]}: {error.strerror}"
            ) from error
        except subprocess.TimeoutExpired:
            raise exception.Unavailable(
                reason=f"host {host} could not be fenced: {argv[0]} timed out after {seconds:g} s"
            ) from None
        if done.returncode:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise exception.Unavailable(
                reason=f"host {host} could not be fenced: the command ended with "
                f"{done.returncode}: {said[:OUTPUT_CHARS_MAX]}"
            )
        LOG.warning("Host %s is fenced", host)


def _is_fenced(service: models.Service) -> bool:
    """Return whether the host was fenced since its agent's last message."""
    seen, fenced = services.last_contact(service), service.fenced_at
    return fenced is not None and (seen is None or seen < fenced)


def _end(session: Session, host: str, fenced_at: datetime | None) -> None:
    """Store that the command has ended, and that it fenced the host unless the time is None."""
    services.end_fencing(session, host, fenced_at=fenced_at)
    if fenced_at is not None:
        host_events.record(session, HostChange.FENCED, [host], now=fenced_at)
