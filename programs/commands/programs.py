"""``up`` and ``demo``: their options, and their places in the list of commands.

Both start before other commands are loaded; see ``programs.client``.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from armillary import exception
from programs.access import own_token
from programs.application import WithOptions, with_short_errors

DEMO = """
Start a control plane in a temporary directory, build real workloads on this machine and simulated
ones on simulated hosts, show where each was placed and why, and delete everything.
"""


PORT_MAX = 65535


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= PORT_MAX):
        raise ArgumentTypeError(f"'{text}' is not a port: 0 to {PORT_MAX}")
    return int(text)


def up_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="armillary up", description="Run the whole system in this process until Ctrl-C."
    )
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=own_token.user_directory(),
        help="directory of databases, journals and workloads (default: %(default)s)",
    )
    parser.add_argument(
        "--port",
        type=_port,
        metavar="PORT",
        help="port of the API; 0 takes a free port (default: 8774). With another one, "
        "other commands need ARMILLARY_API_URL or --api-url",
    )
    parser.add_argument(
        "--simulated",
        action="append",
        default=[],
        metavar="HOSTS",
        help="simulated hosts, such as "
        "name=sim-{01..20}:vcpus=16:memory_mb=65536:disk_gb=500; may be repeated",
    )
    parser.add_argument(
        "--no-process-host",
        action="store_true",
        help="do not use this machine as a host of real processes",
    )
    parser.add_argument(
        "--config-file",
        action="append",
        default=[],
        metavar="FILE",
        help="additional configuration file; may be repeated",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="log warnings only, and print no greeting"
    )
    return with_short_errors(parser)


def demo_parser() -> ArgumentParser:
    parser = ArgumentParser(prog="armillary demo", description=DEMO)
    parser.add_argument("--keep", action="store_true", help="keep the directory with the log")
    return with_short_errors(parser)


class Up(WithOptions):
    """Run a whole control plane in one process, until Ctrl-C."""

    def get_parser(self, prog_name: str) -> ArgumentParser:
        return up_parser()

    def take_action(self, parsed_args: Namespace) -> int:
        raise _not_first("up")


class Demo(WithOptions):
    """Build workloads on a temporary control plane, and show where each is placed."""

    def get_parser(self, prog_name: str) -> ArgumentParser:
        return demo_parser()

    def take_action(self, parsed_args: Namespace) -> int:
        raise _not_first("demo")


def _not_first(name: str) -> exception.Invalid:
    return exception.Invalid(
        f"'{name}' does not accept general options: put it first on the command line."
    )
