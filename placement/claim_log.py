"""Log lines of claims: who claimed what of which providers, and what was refused."""

import logging
from collections.abc import Sequence

from objects.allocations.allocation import AllocationClaim, ClaimResult

LOG = logging.getLogger(__name__)

_NAMED_MAX = 100
"""Maximum number of consumers in one line."""


def log_claims(claims: Sequence[AllocationClaim], results: Sequence[ClaimResult]) -> None:
    """Log the claims of one message: the granted ones in one line, each refused one in its own."""
    granted = [claim for claim, result in zip(claims, results, strict=True) if result.is_claimed]
    if granted:
        more = "" if len(granted) <= _NAMED_MAX else f" and {len(granted) - _NAMED_MAX:,} more"
        named = "; ".join(_text(claim) for claim in granted[:_NAMED_MAX])
        LOG.info("%d claimed: %s%s", len(granted), named, more)
    refused = [pair for pair in zip(claims, results, strict=True) if not pair[1].is_claimed]
    for claim, result in refused[:_NAMED_MAX]:
        LOG.info("%s: claim refused (%s): %s", _text(claim), result.status, result.reason)
    if len(refused) > _NAMED_MAX:
        LOG.info("%d more claims of this message were refused", len(refused) - _NAMED_MAX)


def _text(claim: AllocationClaim) -> str:
    providers = ", ".join(
        f"{' '.join(f'{name}={amount}' for name, amount in taken['resources'].items())} of {uuid}"
        for uuid, taken in claim.allocations.items()
    )
    return f"{claim.consumer_uuid}: {providers or 'nothing'}"
