"""[trusted_computing] has the defaults that operators know."""

import pytest

from tests.fleets import scheduling_conf


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("attestation_server", None),
        ("attestation_port", 8443),
        ("attestation_server_ca_file", None),
        ("attestation_api_url", "/OpenAttestationWebServices/V1.0"),
        ("attestation_auth_blob", None),
        ("attestation_auth_timeout", 60),
        ("attestation_insecure_ssl", False),
    ],
)
def test_defaults_are_the_known_ones(name: str, default: object) -> None:
    """A configuration that was made elsewhere means the same here."""
    assert scheduling_conf().trusted_computing[name] == default


def test_a_decision_never_waits_without_a_bound() -> None:
    """Five seconds at most, two unless told otherwise."""
    assert scheduling_conf().trusted_computing.attestation_wait_seconds == 2.0
    with pytest.raises(ValueError, match="Should be less than or equal to 5"):
        scheduling_conf(trusted_computing__attestation_wait_seconds=5.1)
