"""[api]: where the HTTP API listens, who may come in, and how much one request may ask.

``auth_strategy`` and ``token_file`` hold for the Placement REST API, too, in the configuration of
the programs that serve it.
"""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "api": [
        cfg.HostAddressOpt(
            "bind_host",
            default="127.0.0.1",
            help="""
Address to listen on. With ``auth_strategy = noauth`` only an address of the
machine itself (127.0.0.1, ::1, localhost) is taken: without authentication
everybody who reaches the port may do everything.
""",
        ),
        cfg.PortOpt(
            "bind_port",
            default=8774,
            help="Port to listen on; 0 lets the system choose one, for tests.",
        ),
        cfg.StrOpt(
            "cert_file",
            help="""
PEM file with the certificate of this API and those between it and its authority. With it the API
speaks HTTPS alone, TLS 1.2 or newer. The three files are read anew when they change.
""",
        ),
        cfg.StrOpt(
            "key_file",
            help="PEM file with the private key of cert_file; unset, it is in cert_file.",
        ),
        cfg.StrOpt(
            "ca_file",
            help="""
PEM file with authorities of clients: only who shows a certificate signed by one of them is let in,
and is then asked for a token as ever. Unset, clients need no certificate.
""",
        ),
        cfg.IntOpt(
            "workers",
            min=1,
            max=512,
            help="""
Number of worker processes; all of them listen on the same port. Unset means
``[DEFAULT] workers``.
""",
        ),
        cfg.IntOpt(
            "threads",
            default=16,
            min=1,
            max=1000,
            help="Number of requests that one worker process serves at the same time.",
        ),
        cfg.StrOpt(
            "auth_strategy",
            default="noauth",
            choices=[
                (
                    "noauth",
                    "Nobody is asked for a proof. A request without token is the administrator's, "
                    "in project admin; the token USER:PROJECT stands for that user, who is an "
                    "administrator if called admin. For one machine and for tests; bind_host must "
                    "be an address of the machine itself.",
                ),
                (
                    "noauth2",
                    "Only for the Placement REST API: a token is needed and believed, USER or "
                    "USER:PROJECT, as are X-Roles, X-Project-Id and OpenStack-System-Scope beside "
                    "it. For tests.",
                ),
                (
                    "token_file",
                    "The header X-Auth-Token must hold a token whose hash is in token_file.",
                ),
                (
                    "keystone",
                    "Only for the Placement REST API: Keystone checks tokens, as the section "
                    "[keystone_authtoken] says.",
                ),
            ],
            help="""
How a request proves whose it is: to the HTTP API in the configuration of armillary-api, to the
Placement REST API in that of armillary-placement and armillary-placement-rest. A configuration
that several of them share is for all of them.
""",
        ),
        cfg.StrOpt(
            "token_file",
            help="""
Path of a YAML file with the tokens that are let in; needed with
``auth_strategy = token_file``. A change of the file is noticed by itself; if
it cannot be understood any more the old tokens stay, if it is gone nobody
gets in. Only the SHA-256 of a token is kept (``printf %s TOKEN | sha256sum``);
``roles`` are admin, member, reader or what the policy file uses, and
``expires`` may be left out::

  tokens:
    - sha256: 8a9de562cbbd55e5ff5d8d1f3a7d8d8b3f9d9c0f2a1f6f9f1e4a9c0b9d1c2e3f
      user: alice
      project: astronomy
      roles: [member]
      expires: 2030-01-01T00:00:00Z
""",
        ),
        cfg.IntOpt(
            "max_body_bytes",
            default=1048576,
            min=1024,
            max=16777216,
            help="Largest body of a request, in bytes; a larger one is refused with status 413.",
        ),
        cfg.IntOpt(
            "max_limit",
            default=1000,
            min=1,
            max=10000,
            help="""
Largest number of things in one answer. A list that is longer ends with a link
to its next page.
""",
        ),
        cfg.URIOpt(
            "compute_link_prefix",
            schemes=["http", "https"],
            help="""
What links in answers begin with, such as ``https://cloud.example.org``, where a
proxy stands before the API. Unset takes the address that the request was sent
to.
""",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["api"], group="api")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
