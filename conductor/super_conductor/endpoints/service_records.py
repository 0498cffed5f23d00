"""Records of the services on the top broker: heartbeats, and the oldest version of each kind."""

from __future__ import annotations

from armillary.context import RequestContext
from conductor.common.service_records import ServiceRecords


class ServiceRecordsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, records: ServiceRecords) -> None:
        self._records = records

    def report_service(
        self, context: RequestContext, host: str, binary: str, service_version: int
    ) -> dict[str, int]:
        self._records.record_heartbeat(host, binary, service_version)
        return self._records.oldest_cached()

    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        return self._records.oldest_cached()
