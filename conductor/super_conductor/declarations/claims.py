"""Claims on pools."""

from armillary.context import RequestContext
from objects.claims.pool import Pool
from objects.claims.resource_claim import ClaimExplanation, NewClaim, ResourceClaim
from rpc.callers import API
from rpc.interface import Idempotent, Interface, call


class ClaimsAPI(Interface):
    """Claims on pools."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_claim(self, context: RequestContext, claim: NewClaim) -> ResourceClaim:
        """Accept a claim durably; it is PENDING until a scheduler has found a pool for it.

        Raises Invalid, InstanceNotFound, QuotaExceeded.
        """

    @call(API)
    def get_claim(self, context: RequestContext, claim_uuid: str) -> ResourceClaim:
        """Return a claim. Raises ClaimNotFound."""

    @call(API)
    def explain_claim(
        self, context: RequestContext, claim_uuid: str, *, with_pools: bool = False
    ) -> ClaimExplanation:
        """Return a claim and why it has its pool, or none; perhaps with the names of pools.

        Raises ClaimNotFound.
        """

    @call(API)
    def list_claims(
        self,
        context: RequestContext,
        *,
        all_projects: bool = False,
        server_uuid: str | None = None,
        kind: str | None = None,
        pool: str | None = None,
        limit: int = 1000,
        marker: str | None = None,
    ) -> list[ResourceClaim]:
        """Return a page of the project's claims, newest first; for an administrator of all.

        ``pool`` is a name or UUID. ``marker`` is the last claim of the previous page. Raises
        ClaimNotFound for an unknown one.
        """

    @call(API)
    def delete_claim(self, context: RequestContext, claim_uuid: str) -> None:
        """Accept the end of a claim; once accepted, its resources will be released.

        Raises ClaimNotFound.
        """

    @call(API)
    def get_claim_quotas(
        self, context: RequestContext, project_id: str
    ) -> dict[str, dict[str, int]]:
        """Return resource -> {"limit", "in_use"}: ``claims``, and ``claims:CLASS`` for amounts."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_claim_quotas(
        self, context: RequestContext, project_id: str, limits: dict[str, int]
    ) -> dict[str, dict[str, int]]:
        """Set limits of a project's claims. Raises Invalid."""

    @call(API)
    def list_pools(
        self, context: RequestContext, *, kind: str | None = None
    ) -> dict[str, list[Pool]]:
        """Return the pools of this zone by kind, of all kinds or of one. Raises Invalid."""
