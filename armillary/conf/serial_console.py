"""Options of [serial_console]: terminals of guests, from the agent's port to a user."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "serial_console": [
        cfg.BoolOpt(
            "enabled", default=False,
            help="""
Whether users can connect to the serial consoles of their servers. Set it for the API, and for the
agents, which then listen on ``bind_port``. ``armillary-serialproxy`` connects the two.
""",
        ),
        cfg.StrOpt(
            "base_url", default="ws://127.0.0.1:6083/",
            help="""
Address of ``armillary-serialproxy`` as users reach it (``ws://`` or ``wss://``); the API appends a
token to it.
""",
        ),
        cfg.URIOpt(
            "api_url", schemes=["http", "https"],
            help="""
Address of the API as ``armillary-serialproxy`` reaches it, which asks there whether the login of an
open console is still valid. Unset: ``[api] compute_link_prefix`` or, without it, the local address
at which the request for the console arrived. The API appends it to its links, sealed.
""",
        ),
        cfg.StrOpt(
            "key_file", default="$state_path/serial-console.key",
            help="""
File with the keys, in Base64, one a line, by which ``armillary-serialproxy`` recognises the tokens
of the API: the first line seals, each opens. Both notice a change. Make one with
``armillary-serialproxy --make-key FILE``, and give it to both.
""",
        ),
        cfg.IntOpt(
            "token_seconds", default=600, min=1, max=86_400, mutable=True,
            help="Seconds during which a token can be used, once.",
        ),
        cfg.HostAddressOpt(
            "bind_host", sample_default="<my_ip>",
            help=(
                "Address on which the agent listens for ``armillary-serialproxy``. Unset: my_ip, "
                "or the address of the default route's interface."
            ),
        ),
        cfg.PortOpt(
            "bind_port", default=6084,
            help="Port on which the agent listens for ``armillary-serialproxy``; 0: any free one.",
        ),
        cfg.StrOpt(
            "cert_file",
            help="""
The agent's certificate (PEM), with its intermediate certificates: consoles are then encrypted
between the agent and ``armillary-serialproxy``, which needs ``--agent-ca-file``.
""",
        ),
        cfg.StrOpt("tls_key_file", help="Private key of ``cert_file``; unset: it is in that file."),
        cfg.StrOpt(
            "client_ca_file",
            help="Authorities that must have signed the certificate of ``armillary-serialproxy``.",
        ),
        cfg.IntOpt(
            "connections_max", default=100, min=1, max=10_000,
            help="Maximum number of connections to the agent's port at the same time.",
        ),
    ]
}
