"""Heartbeats of services without a record of their own, sent to the super conductor."""

import logging
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.concurrency.periodic import PeriodicTask
from armillary.context import admin_context
from armillary.logs.outage_log import OutageLog
from armillary.metrics.service_figures import FigureReporter, worker_number
from armillary.service_history import CURRENT_VERSION
from conductor.super_conductor.interface import SuperConductorAPI
from rpc.transport import Bus
from rpc.version_caps import OldestServices

LOG = logging.getLogger(__name__)

FIRST_SECONDS = 1.0
"""Until the first heartbeat: in one process the super conductor starts to serve last."""


class HeartbeatSender:
    """A manager whose service sends a heartbeat every ``[DEFAULT] report_interval``.

    The responses, the versions of the oldest services, go to ``oldest``. The service works on
    without a response.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        manager: Any,
        *,
        binary: str,
        bus: Bus,
        oldest: OldestServices | None = None,
    ) -> None:
        self._conf = conf
        self._manager = manager
        self._binary = binary
        self._conductor = SuperConductorAPI(bus)
        self._oldest = oldest or OldestServices()
        self._figures = FigureReporter(binary)
        self._outage = OutageLog(LOG, "The super conductor, for heartbeats,")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        report = PeriodicTask(
            "report-service",
            self._conf.report_interval,
            self.report,
            initial_delay_seconds=FIRST_SECONDS,
            is_waited_for=False,
        )
        return [*self._manager.periodic_tasks(), report]

    def reload(self) -> None:
        self._manager.reload()
        self.report()

    def report(self) -> None:
        try:
            versions = self._conductor.report_service(
                admin_context(), self._conf.host, self._binary, service_version=CURRENT_VERSION,
                worker=worker_number(), figures=self._figures.read(),
            )  # fmt: skip
        except exception.ArmillaryError as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()
            self._oldest.take(versions)
