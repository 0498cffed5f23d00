"""Request filter for the encryption of local disks."""

import os_traits

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements


class EphemeralEncryption(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_EPHEMERAL_ENCRYPTION``, and the trait of the format, if requested.

    The request comes from the flavor's ``hw:ephemeral_encryption`` and
    ``hw:ephemeral_encryption_format``, or the image properties of the same names with ``hw_``. An
    unknown format fails the request.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if not requirements.is_demanded(spec, "hw:ephemeral_encryption", "hw_ephemeral_encryption"):
            return
        requirements.require(spec, os_traits.COMPUTE_EPHEMERAL_ENCRYPTION)
        word = requirements.demand(
            spec, "hw:ephemeral_encryption_format", "hw_ephemeral_encryption_format"
        )
        if word is None:
            return
        trait = requirements.trait_of(os_traits.COMPUTE_EPHEMERAL_ENCRYPTION, word)
        if trait is None:
            raise exception.RequestFilterFailed(
                reason=f"unknown encryption format for local disks: {word}"
            )
        requirements.require(spec, trait)
