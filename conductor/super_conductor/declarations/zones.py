"""Records of child zones."""

from armillary.context import RequestContext
from objects.zones.zone_record import ZoneRecord, ZoneSettings
from objects.zones.zone_status import ZoneList, ZoneStatus
from rpc.callers import API, OPERATOR
from rpc.interface import Idempotent, Interface, call


class ZonesAPI(Interface):
    """Child zones."""

    @call(API, OPERATOR)
    def list_zones(self, context: RequestContext) -> ZoneList:
        """Return this zone and its child zones."""

    @call(API, OPERATOR)
    def get_zone(self, context: RequestContext, zone: str) -> ZoneStatus:
        """Return this zone or a child zone by name. Raises ZoneNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_zone(
        self, context: RequestContext, name: str, settings: ZoneSettings, *, verify: bool
    ) -> ZoneRecord:
        """Put a zone below this one. Raises ZoneExists, Invalid.

        ``verify``: connect to its broker first; one that refuses is Invalid, too.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_zone(
        self, context: RequestContext, zone: str, settings: ZoneSettings, *, verify: bool
    ) -> ZoneRecord:
        """Change the given settings of a child zone. Raises ZoneNotFound, Invalid."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_zone(self, context: RequestContext, zone: str, *, force: bool) -> None:
        """Take a child zone out of the tree. Raises ZoneNotFound, ZoneInUse.

        ``force`` also removes the mappings of deleted servers.
        """

    @call(API, OPERATOR)
    def refresh_zones(self, context: RequestContext) -> None:
        """Refresh and push the summaries of all zones in the tree."""
