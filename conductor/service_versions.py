"""What a conductor knows of the versions of others: who it is, and who is on the top broker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.log_once import OutageLog
from armillary.periodic import PeriodicTask
from rpc.version_caps import ConfiguredCap, OldestServices, is_auto

LOG = logging.getLogger(__name__)

ASKED_FOR = ("scheduler", "placement")
"""Interfaces for which a conductor needs to know how old their servers are."""


class ServiceVersions:
    """Reports the conductor itself, and keeps the caps of those that it asks.

    ``ask`` gives the oldest version for each interface of the top broker; it is called only while
    one of ``ASKED_FOR`` is ``auto``. Raises nothing of what it raises: the last answer stays.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        note_me: Callable[[], None],
        ask: Callable[[RequestContext], Mapping[str, int]],
    ) -> None:
        self._conf = conf
        self._note_me = note_me
        self._ask = ask
        self._oldest = OldestServices()
        self._outage = OutageLog(LOG, "The super conductor, for the versions of services,")

    def cap(self, interface: str) -> ConfiguredCap:
        """Return what may be sent to the servers of an interface."""
        return ConfiguredCap.by_oldest(self._conf, interface, self._oldest)

    def task(self) -> PeriodicTask:
        """Return what is done every ``[DEFAULT] report_interval``."""
        return PeriodicTask(
            "report-service", self._conf.report_interval, self.report, initial_delay_seconds=0.0
        )

    def report(self) -> None:
        """Store a sign of life, and look who else there is."""
        self._note_me()
        self.refresh()

    def refresh(self) -> None:
        """Look how old the others are; what cannot be asked now stays as it is."""
        if not is_auto(self._conf, *ASKED_FOR):
            return
        try:
            self._oldest.take(self._ask(admin_context()))
        except exception.ArmillaryError as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()
