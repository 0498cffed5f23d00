"""Request filter for the secret security of virtual TPMs."""

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements

_PREFIX = "COMPUTE_SECURITY_TPM_SECRET_SECURITY"


class TPMSecretSecurity(request_filters.BaseRequestFilter):
    """Require the trait of the secret security that a request with a virtual TPM needs.

    A virtual TPM is requested by the flavor's ``hw:tpm_version`` or the image's ``hw_tpm_version``.
    The flavor's ``hw:tpm_secret_security`` is ``user`` (the default), ``host`` or ``deployment``.
    Any other value fails the request.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if requirements.demand(spec, "hw:tpm_version", "hw_tpm_version") is None:
            return
        word = spec.flavor.extra_specs.get("hw:tpm_secret_security", "user")
        trait = requirements.trait_of(_PREFIX, word)
        if trait is None:
            raise exception.RequestFilterFailed(
                reason=f"hw:tpm_secret_security must be user, host or deployment, not {word}"
            )
        requirements.require(spec, trait)
