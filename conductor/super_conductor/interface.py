"""RPC interface of the super conductor: its methods by subject, in ``declarations``."""

from conductor.super_conductor.declarations.aggregates_and_groups import AggregatesAndGroupsAPI
from conductor.super_conductor.declarations.cell_moves import CellMovesAPI
from conductor.super_conductor.declarations.claims import ClaimsAPI
from conductor.super_conductor.declarations.flavors_and_images import FlavorsAndImagesAPI
from conductor.super_conductor.declarations.hosts import HostsAPI
from conductor.super_conductor.declarations.idempotency import IdempotencyAPI
from conductor.super_conductor.declarations.quotas_and_repair import QuotasAndRepairAPI
from conductor.super_conductor.declarations.servers import ServersAPI
from conductor.super_conductor.declarations.zones import ZonesAPI


class SuperConductorAPI(
    ServersAPI,
    IdempotencyAPI,
    FlavorsAndImagesAPI,
    AggregatesAndGroupsAPI,
    ClaimsAPI,
    HostsAPI,
    ZonesAPI,
    QuotasAndRepairAPI,
    CellMovesAPI,
):
    """The super conductor, on the top broker; used by the API and the schedulers.

    All methods are calls. Errors are the classes of ``armillary.exception`` named after each noun
    (XNotFound, XExists, QuotaExceeded, Invalid …). A caller without the admin role sees only the
    servers and groups of its own project.
    """

    TOPIC = "conductor"
    SERVED_BY = "conductor"
