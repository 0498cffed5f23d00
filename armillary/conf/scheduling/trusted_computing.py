"""Options of [trusted_computing]: the attestation service used by TrustedFilter."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "trusted_computing": [
        cfg.HostAddressOpt(
            "attestation_server",
            help="""
Host name or address of the attestation service. Unset: the trust level of every host is unknown.
""",
        ),
        cfg.PortOpt(
            "attestation_port", default=8443, min=1, help="HTTPS port of the attestation service."
        ),
        cfg.StrOpt(
            "attestation_server_ca_file",
            help="""
PEM file with the certificate authorities accepted for the service's certificate. Unset: the
authorities that come with Python's ``requests``.
""",
        ),
        cfg.StrOpt(
            "attestation_api_url", default="/OpenAttestationWebServices/V1.0",
            help="Path of the service's API; ``/PollHosts`` is appended.",
        ),
        cfg.StrOpt(
            "attestation_auth_blob", secret=True,
            help=(
                "Value of the header ``x-auth-blob``, which authenticates the client to the "
                "service."
            ),
        ),
        cfg.IntOpt(
            "attestation_auth_timeout", default=60, min=1, max=86400, mutable=True,
            help="Seconds for which the trust level of a host is cached.",
        ),
        cfg.BoolOpt(
            "attestation_insecure_ssl", default=False,
            help="Whether to skip the verification of the service's certificate.",
        ),
        cfg.FloatOpt(
            "attestation_wait_seconds", default=2.0, min=0.0, max=5.0, mutable=True,
            help="""
Maximum time, in seconds, that one decision waits for unknown trust levels; must be far less than
[scheduler] plugin_timeout_seconds. Levels that arrive later are available to the next decision.
""",
        ),
        cfg.IntOpt(
            "attestation_call_seconds", default=30, min=1, max=600,
            help="Timeout of a call to the service, in seconds.",
        ),
    ]
}
