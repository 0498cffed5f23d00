"""Heartbeats of a conductor, and the service versions on the top broker."""

import logging
from collections.abc import Callable, Mapping

from oslo_config import cfg

from armillary import exception
from armillary.concurrency.periodic import PeriodicTask
from armillary.context import RequestContext, admin_context
from armillary.logs.outage_log import OutageLog
from rpc.version_caps import ConfiguredCap, OldestServices, is_auto

LOG = logging.getLogger(__name__)

ASKED_FOR = ("scheduler", "placement")
"""Interfaces whose oldest service version a conductor needs to know."""


class ServiceVersions:
    """Sends the conductor's heartbeats, and keeps the version caps of the services that it calls.

    ``ask`` returns the oldest version by interface of the top broker; it is called only while one
    of ``ASKED_FOR`` is ``auto``. Its errors are logged, and the last answer is kept.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        record_own_heartbeat: Callable[[], None],
        ask: Callable[[RequestContext], Mapping[str, int]],
    ) -> None:
        self._conf = conf
        self._record_own_heartbeat = record_own_heartbeat
        self._ask = ask
        self._oldest = OldestServices()
        self._outage = OutageLog(LOG, "The super conductor, for the versions of services,")

    def cap(self, interface: str) -> ConfiguredCap:
        """Return the version cap for an interface."""
        return ConfiguredCap.by_oldest(self._conf, interface, self._oldest)

    def task(self) -> PeriodicTask:
        """Return the task to run every ``[DEFAULT] report_interval``."""
        return PeriodicTask(
            "report-service", self._conf.report_interval, self.report, initial_delay_seconds=0.0
        )

    def report(self) -> None:
        """Store a heartbeat, and read the versions of other services."""
        self._record_own_heartbeat()
        self.refresh()

    def refresh(self) -> None:
        """Read the versions of other services; keep the last ones after an error."""
        if not is_auto(self._conf, *ASKED_FOR):
            return
        try:
            self._oldest.take(self._ask(admin_context()))
        except exception.ArmillaryError as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()
