"""Fencing: make sure that a host runs nothing before its instances run elsewhere."""

import logging
import shlex
import subprocess
import threading
from collections.abc import Mapping
from datetime import datetime

from oslo_config import cfg

from armillary import exception
from armillary.db import Database
from conductor.common.cell_db import models, services
from conductor.common.clock import Clock, moment

LOG = logging.getLogger(__name__)

OUTPUT_CHARS_MAX = 500
NEVER = datetime.min
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class Fencing:
    """Calls ``[cell] fencing_command``, once for each time that a host went down.

    Without a command a host is fenced when it counts as down: its agent holds its guests before
    that (``[compute] guest_lease``).
    """

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._now = now
        self._locks: dict[str, threading.Lock] = {}
        self._fenced: dict[str, datetime | None] = {}
        """Host -> its last heartbeat when it was fenced."""

    def fence(self, host: str, node: str | None) -> str | None:
        """Fence a host; return why that is impossible, or None. Raises Unavailable: try again."""
        with self._locks.setdefault(host, threading.Lock()):
            service = self._find(host)
            if service is None:
                return None
            if not service.forced_down and self._is_alive(service):
                return f"host {host} is back; its servers run there"
            conf = self._conf.cell
            command, seconds = conf.fencing_command, conf.fencing_timeout_seconds
            if not command or self._fenced.get(host, NEVER) == service.last_seen_up:
                return None
            try:
                self._run(command, {"host": host, "node": node or host}, seconds)
            except exception.Unavailable as error:
                if not service.forced_down:
                    raise
                LOG.warning("%s; going on, because an operator has forced it down", error)
                return None
            self._fenced[host] = service.last_seen_up
            return None

    def _find(self, host: str) -> models.Service | None:
        with self._database.reader() as session:
            return services.find_by_hosts(session, {host}).get(host)

    def _is_alive(self, service: models.Service) -> bool:
        return services.has_fresh_heartbeat(
            service, now=moment(self._now()), down_time_seconds=self._conf.service_down_time
        )

    def _run(self, command: str, values: Mapping[str, str], seconds: float) -> None:
        """Run the command without a shell. Raises Unavailable if it fails."""
        host = values["host"]
        argv = [part.format_map(values) for part in shlex.split(command)]
        LOG.warning("Fencing host %s: %s", host, shlex.join(argv))
        try:
            done = subprocess.run(  # noqa: S603 - the operator's own command, no shell
                argv, check=False, capture_output=True, timeout=seconds, env=_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise exception.Unavailable(
                reason=f"host {host} could not be fenced: {error}"
            ) from error
        if done.returncode:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise exception.Unavailable(
                reason=f"host {host} could not be fenced: the command ended with "
                f"{done.returncode}: {said[:OUTPUT_CHARS_MAX]}"
            )
        LOG.warning("Host %s is fenced", host)
