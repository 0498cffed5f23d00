"""Leave hosts out that keep the secrets of virtual TPMs in another way."""

from __future__ import annotations

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands

_PREFIX = "COMPUTE_SECURITY_TPM_SECRET_SECURITY"


class TPMSecretSecurity(request_filters.BaseRequestFilter):
    """Require the trait of the secret security that a request with a virtual TPM asks for.

    A virtual TPM is asked for by the flavor's ``hw:tpm_version`` or the image's ``hw_tpm_version``;
    the flavor's ``hw:tpm_secret_security`` is ``user`` unless given, ``host`` or ``deployment``.
    Another word fails the request.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if demands.demand(spec, "hw:tpm_version", "hw_tpm_version") is None:
            return
        word = spec.flavor.extra_specs.get("hw:tpm_secret_security", "user")
        trait = demands.trait_of(_PREFIX, word)
        if trait is None:
            raise exception.RequestFilterFailed(
                reason=f"hw:tpm_secret_security is user, host or deployment, not {word}"
            )
        demands.require(spec, trait)
