"""Options of [api]: listening address, authentication and request limits of the HTTP API.

``auth_strategy`` and ``token_file`` apply to the Placement REST API, too, in the configuration of
the programs that serve it.
"""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "api": [
        cfg.HostAddressOpt(
            "bind_host", default="127.0.0.1",
            help="""
Address to listen on. With ``auth_strategy = noauth`` only a loopback address (127.0.0.1, ::1,
localhost) is accepted, unless allow_network_without_authentication is set: without authentication,
every client that reaches the port may do everything.
""",
        ),
        cfg.PortOpt(
            "bind_port", default=8774,
            help="Port to listen on. 0 lets the system choose a free port, for tests.",
        ),
        cfg.StrOpt(
            "cert_file",
            help="""
PEM file with the API's certificate and any intermediate certificates. If set, the API serves HTTPS
only, TLS 1.2 or newer. Certificate, key and CA file are reloaded when they change.
""",
        ),
        cfg.StrOpt(
            "key_file",
            help="PEM file with the private key of cert_file. Unset: the key is in cert_file.",
        ),
        cfg.StrOpt(
            "ca_file",
            help="""
PEM file with the certificate authorities of clients. If set, a client must present a certificate
signed by one of them, and a token as well. Unset: clients need no certificate.
""",
        ),
        cfg.IntOpt(
            "workers", min=0, max=512,
            help="""
Number of worker processes. All of them listen on the same port. Unset or 0: ``[DEFAULT] workers``.
""",
        ),
        cfg.IntOpt(
            "threads", default=16, min=1, max=1000,
            help="Maximum number of requests that one worker process handles at the same time.",
        ),
        cfg.StrOpt(
            "auth_strategy", default="noauth",
            choices=[
                (
                    "noauth",
                    "No authentication. A request without a token acts as the "
                    "administrator, in project admin. The token USER:PROJECT acts as that "
                    "user, who is an administrator if called admin. For a single machine "
                    "and for tests; bind_host must be a loopback address.",
                ),
                (
                    "noauth2",
                    "Only for the Placement REST API: a token is required but not "
                    "verified, USER or USER:PROJECT. X-Roles, X-Project-Id and "
                    "OpenStack-System-Scope are trusted as well. For tests.",
                ),
                (
                    "token_file",
                    "The header X-Auth-Token must contain a token whose hash is in token_file, "
                    "or one issued by the built-in identity to a user of that file.",
                ),
                ("keystone", "Keystone validates tokens, as configured in [keystone_authtoken]."),
            ],
            help="""
How requests are authenticated: by the HTTP API in the configuration of armillary-api, by the
Placement REST API in that of armillary-placement and armillary-placement-rest. If the programs
share a configuration, it applies to all of them.
""",
        ),
        cfg.BoolOpt(
            "allow_network_without_authentication", default=False,
            help="""
Listen on addresses other than loopback although ``auth_strategy`` is noauth or noauth2: every
client that reaches the port may do everything. Only for a network without untrusted clients.
Applies to the Placement REST API, too.
""",
        ),
        cfg.StrOpt(
            "token_file",
            help="""
Path of a YAML file with the accepted tokens, and with users and projects of the built-in identity
(docs/operating/identity.md). Required with ``auth_strategy = token_file``. Changes
are picked up automatically. If the file becomes invalid, the old tokens stay in force; if it is
gone, all tokens are rejected. The file contains only the SHA-256 of each token (``printf %s TOKEN |
sha256sum``). ``roles`` are admin, member, reader or what the policy file uses; ``expires`` is
optional::

  tokens:
    - sha256: 8a9de562cbbd55e5ff5d8d1f3a7d8d8b3f9d9c0f2a1f6f9f1e4a9c0b9d1c2e3f
      user: alice
      project: astronomy
      roles: [member]
      expires: 2030-01-01T00:00:00Z
""",
        ),
        cfg.ListOpt(
            "allowed_hosts", default=[],
            help="""
Host names and addresses, without a port, that the headers ``Host`` and ``Origin`` of a request may
name in addition to the loopback interface and ``compute_link_prefix``. Requests with other hosts
are rejected with status 403 while the API listens on the loopback interface, and wherever
``auth_strategy`` requires no authentication. This prevents web pages in a browser of this machine
from using the API (DNS rebinding). Applies to the Placement REST API, too. Add the name that a
proxy in front of the API passes on.
""",
        ),
        cfg.IntOpt(
            "max_body_bytes", default=1048576, min=1024, max=16777216,
            help=(
                "Maximum size of a request body, in bytes. A larger one is rejected with "
                "status 413."
            ),
        ),
        cfg.IntOpt(
            "max_limit", default=1000, min=1, max=10000,
            help="""
Maximum number of items in one response. A longer list ends with a link to its next page.
""",
        ),
        cfg.URIOpt(
            "compute_link_prefix", schemes=["http", "https"],
            help="""
Base URL of the links in responses, such as ``https://cloud.example.org``, for an API that clients
reach by a name or through a proxy. Unset: the local address at which the request arrived. The
header ``Host`` of a request is never used.
""",
        ),
    ]
}
