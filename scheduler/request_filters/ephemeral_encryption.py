"""Leave hosts out that cannot encrypt local disks."""

from __future__ import annotations

import os_traits

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands


class EphemeralEncryption(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_EPHEMERAL_ENCRYPTION``, and the trait of the format, when it is asked for.

    That is by the flavor's ``hw:ephemeral_encryption`` and ``hw:ephemeral_encryption_format``, or
    the image's properties of the same names with ``hw_``. A format that nobody knows fails the
    request.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if not demands.is_demanded(spec, "hw:ephemeral_encryption", "hw_ephemeral_encryption"):
            return
        demands.require(spec, os_traits.COMPUTE_EPHEMERAL_ENCRYPTION)
        word = demands.demand(
            spec, "hw:ephemeral_encryption_format", "hw_ephemeral_encryption_format"
        )
        if word is None:
            return
        trait = demands.trait_of(os_traits.COMPUTE_EPHEMERAL_ENCRYPTION, word)
        if trait is None:
            raise exception.RequestFilterFailed(
                reason=f"there is no format {word} for the encryption of local disks"
            )
        demands.require(spec, trait)
