"""[trusted_computing]: the attestation service that TrustedFilter goes by."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "trusted_computing": [
        cfg.HostAddressOpt(
            "attestation_server",
            help="""
Host name or address of the attestation service. Unset, the level of every host is unknown.
""",
        ),
        cfg.PortOpt(
            "attestation_port",
            default=8443,
            min=1,
            help="Port on which it answers HTTPS.",
        ),
        cfg.StrOpt(
            "attestation_server_ca_file",
            help="""
File with the certificates (PEM) of the authorities that its certificate may come from. Unset, the
authorities that come with Python's ``requests``.
""",
        ),
        cfg.StrOpt(
            "attestation_api_url",
            default="/OpenAttestationWebServices/V1.0",
            help="Path of its API; ``/PollHosts`` is appended.",
        ),
        cfg.StrOpt(
            "attestation_auth_blob",
            secret=True,
            help="Sent as the header ``x-auth-blob``, by which the service knows who asks.",
        ),
        cfg.IntOpt(
            "attestation_auth_timeout",
            default=60,
            min=1,
            max=86400,
            mutable=True,
            help="Seconds for which the level of a host is kept before the service is asked again.",
        ),
        cfg.BoolOpt(
            "attestation_insecure_ssl",
            default=False,
            help="Whether its certificate is not checked at all.",
        ),
        cfg.FloatOpt(
            "attestation_wait_seconds",
            default=2.0,
            min=0.0,
            max=5.0,
            mutable=True,
            help="""
Seconds that one decision waits at most for levels that are not known yet; far less than
[scheduler] plugin_timeout_seconds. What comes later is there for the next decision.
""",
        ),
        cfg.IntOpt(
            "attestation_call_seconds",
            default=30,
            min=1,
            max=600,
            help="Seconds after which a call to the service is given up.",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["trusted_computing"], group="trusted_computing")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
