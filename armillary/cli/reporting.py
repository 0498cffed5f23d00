"""Signs of life of services that own no record: told to the super conductor, which keeps one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import admin_context
from armillary.log_once import OutageLog
from armillary.periodic import PeriodicTask
from armillary.service_history import BEFORE_RECORDS, CURRENT_VERSION
from conductor.rpcapi import SuperConductorAPI
from rpc.transport import Bus
from rpc.version_caps import OldestServices, is_too_new

LOG = logging.getLogger(__name__)

TIMEOUT_SECONDS = 15.0
"""A sign of life that is not answered is given again sooner than other calls."""
FIRST_SECONDS = 1.0
"""Until the first report: in one process the super conductor serves a moment after the others."""


class Reporting:
    """A manager whose service reports every ``[DEFAULT] report_interval``.

    The answers, how old the others are, go to ``oldest``. While nobody answers the service works
    on.
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
        self._conductor = SuperConductorAPI(bus, timeout_seconds=TIMEOUT_SECONDS)
        self._oldest = oldest or OldestServices()
        self._outage = OutageLog(LOG, "The super conductor, for signs of life,")

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
        """Look anew how old the others are."""
        self._manager.reload()
        self.report()

    def report(self) -> None:
        """Report once."""
        try:
            versions = self._conductor.report_service(
                admin_context(), self._conf.host, self._binary, service_version=CURRENT_VERSION
            )
        except exception.RpcFailed as error:
            if is_too_new(error):  # it keeps no records yet
                self._oldest.take({"conductor": BEFORE_RECORDS})
            self._outage.failed(error)
        except exception.ArmillaryError as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()
            self._oldest.take(versions)
