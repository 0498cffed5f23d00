"""The request spec of a claim, as the scheduler sees it."""

from collections.abc import Sequence

from objects.claims.resource_claim import NewClaim, ResourceClaim
from objects.claims.resource_kinds import ResourceKind
from objects.flavor import Flavor
from objects.request_spec import Destination, RequestLevelParams, RequestSpec


def spec_of(
    claim: ResourceClaim, kind: ResourceKind, *, aggregates: Sequence[str] | None
) -> RequestSpec:
    """Return the spec. The pool must be in one of ``aggregates``; None allows any.

    The scheduler of the kind adds what makes a provider one of its pools.
    """
    asked = claim.asked
    member_of = [] if aggregates is None else [list(aggregates)]
    return RequestSpec.from_values(
        instance_uuid=asked.uuid,
        project_id=claim.project_id,
        user_id=claim.user_id,
        kind=kind.name,
        flavor=_flavor(asked),
        request_level_params=RequestLevelParams.from_values(member_of=member_of),
        requested_destination=_destination(asked),
    )


def _flavor(asked: NewClaim) -> Flavor:
    """Return a flavor without a size, which asks for the resources and traits by name."""
    wanted = {f"resources:{name}": str(amount) for name, amount in asked.resources.items()}
    required = {f"trait:{name}": "required" for name in asked.required_traits}
    forbidden = {f"trait:{name}": "forbidden" for name in asked.forbidden_traits}
    return Flavor.from_values(
        vcpus=0, memory_mb=0, flavorid=asked.kind, name=asked.kind,
        extra_specs={**wanted, **required, **forbidden},
    )  # fmt: skip


def _destination(asked: NewClaim) -> Destination | None:
    if asked.pool is None:
        return None
    return Destination.from_values(host=asked.pool)
