"""``armillary-serialproxy``: connect users' terminals to the serial consoles of their servers."""

import argparse
import ipaddress
import logging
import signal
import ssl
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from armillary import exception
from armillary.consoles import console_links
from armillary.http.wsgi.tls import tls_files
from armillary.logs import log_lines
from programs import EXIT_CONFIGURATION

PROGRAM = "armillary-serialproxy"
READY = "listens on "


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; return the exit code."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    log_lines.protect(logging.getLogger())
    logging.getLogger("websockets").setLevel(logging.WARNING)
    try:
        if arguments.make_key is not None:
            console_links.make_key(arguments.make_key)
            return 0
        return _run(arguments)
    except (exception.ConfigurationError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)  # noqa: T201 - for who started it
        return EXIT_CONFIGURATION


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return this program's arguments."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__, allow_abbrev=False)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--make-key", type=Path, metavar="FILE", help="write a new key, and end")
    task.add_argument(
        "--key-file", type=Path, metavar="FILE", help="the API's [serial_console] key_file"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=6083, help="port to listen on (default: 6083)")
    parser.add_argument("--connections-max", type=int, default=500, metavar="N")
    parser.add_argument("--cert-file", help="certificate for users (PEM): wss:// instead of ws://")
    parser.add_argument("--tls-key-file", help="private key of --cert-file, if not in it")
    parser.add_argument(
        "--api-url", metavar="URL",
        help="address of the API, which is asked whether open consoles are still granted, such as "
        "https://api.example.org:8774; default: the one in links of the API",
    )  # fmt: skip
    parser.add_argument(
        "--api-ca-file", help="authorities of the API's certificate; default: the system's"
    )
    parser.add_argument("--api-cert-file", help="certificate to show to the API, with its key")
    parser.add_argument("--agent-ca-file", help="authorities of the agents' certificates: use TLS")
    parser.add_argument(
        "--agent-network", action="append", default=[], type=ipaddress.ip_network, metavar="CIDR",
        dest="agent_networks",
        help="network that agents are in, such as 10.0.0.0/8; may be repeated; default: any, "
        "so that the key of an agent makes the proxy connect to any address",
    )  # fmt: skip
    parser.add_argument("--agent-cert-file", help="certificate to show to agents, with its key")
    return parser.parse_args(argv)


def _run(arguments: argparse.Namespace) -> int:
    from armillary.consoles.grant_checks import GrantChecks
    from armillary.consoles.serial_proxy import ProxyOptions, SerialProxy

    users = tls_files(
        PROGRAM, cert_file=arguments.cert_file, key_file=arguments.tls_key_file, ca_file=None
    )
    proxy = SerialProxy(
        ProxyOptions(
            host=arguments.host,
            port=arguments.port,
            keys=console_links.ConsoleKeys(arguments.key_file),
            grants=GrantChecks(
                api_url=arguments.api_url,
                ca_file=arguments.api_ca_file,
                cert_file=arguments.api_cert_file,
            ),
            connections_max=max(1, arguments.connections_max),
            users_tls=None if users is None else users.context(),
            agents_tls=_agents_tls(arguments),
            agent_networks=arguments.agent_networks,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=proxy.stop).start())
    if not arguments.agent_networks:
        logging.warning(
            "There is no --agent-network: who has the key of an agent makes this proxy connect to "
            "any address that it reaches"
        )
    logging.info("%s %s%s port %d", PROGRAM, READY, *proxy.address)
    proxy.run()
    return 0


def _agents_tls(arguments: argparse.Namespace) -> ssl.SSLContext | None:
    """Return the TLS context towards agents. Raises ConfigurationError."""
    if arguments.agent_ca_file is None:
        return None
    try:
        context = ssl.create_default_context(cafile=arguments.agent_ca_file)
        if arguments.agent_cert_file is not None:
            context.load_cert_chain(arguments.agent_cert_file)
    except (OSError, ssl.SSLError) as error:
        raise exception.ConfigurationError(
            reason=f"--agent-ca-file or --agent-cert-file cannot be used: {error}"
        ) from error
    return context


if __name__ == "__main__":
    sys.exit(main())
