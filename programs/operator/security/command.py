"""``armillary-status security check``."""

import argparse
import time
from typing import Any

from armillary import exception
from programs.display.output import Lister
from programs.operator.check_results import Code, Result
from programs.operator.security import accounts, files, guests, services
from programs.operator.security.inspected import ROLES, Check, Inspected, register_options, roles_of

CHECKS: tuple[tuple[str, Check], ...] = (
    ("Authentication", services.check_authentication),
    ("API TLS", services.check_api_tls),
    ("CORS", services.check_cors),
    ("Metrics", services.check_metrics),
    ("Signatures", services.check_signing),
    ("Signing keys", files.check_signing_keys),
    ("Heartbeats", services.check_heartbeat_store),
    ("Images", services.check_images),
    ("Quotas", services.check_quotas),
    ("Workloads", services.check_workloads),
    ("Migrations", guests.check_migrations),
    ("Consoles", guests.check_consoles),
    ("Broker TLS", accounts.check_broker_tls),
    ("Broker accounts", accounts.check_broker_accounts),
    ("Broker guest account", accounts.check_guest),
    ("Database TLS", accounts.check_database_tls),
    ("Database accounts", accounts.check_database_accounts),
    ("Passwords", accounts.check_passwords),
    ("Configuration files", files.check_configuration_files),
    ("Keys and tokens", files.check_secret_files),
    ("State files", files.check_state_files),
    ("Certificates", files.check_certificates),
    ("Token expiry", files.check_tokens),
)
"""In the order in which they are shown; ``docs/operating/security-check.md`` describes each."""

EXPIRES_DAYS = 30
SECONDS_A_DAY = 86400


class SecurityCheck(Lister):
    """Show which settings of a service are weaker than the documented best practice.

    Reads its configuration and files; run it on the service's machine, with each service's
    configuration. Nothing is changed, and without --connect nothing is connected to.

    Exit codes: 0 success, 1 warnings, 2 failures that should be fixed first, 255 the check itself
    failed.
    """

    app: Any

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--role", action="append", choices=ROLES,
            help="role of the service; may be repeated; default: by the sections that are set",
        )  # fmt: skip
        parser.add_argument(
            "--expires-within", metavar="DAYS", type=_days, default=EXPIRES_DAYS,
            help="warn of what expires within these days (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--connect", action="store_true",
            help="also try the account guest on brokers, and ask databases about the account",
        )  # fmt: skip
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        conf = self.app.conf
        register_options(conf)
        inspected = Inspected(
            conf=conf,
            roles=frozenset(parsed_args.role or roles_of(conf)),
            expires_seconds=parsed_args.expires_within * SECONDS_A_DAY,
            now_seconds=time.time(),
            connects=parsed_args.connect,
        )
        results = [("Roles", Result(Code.SUCCESS, ", ".join(sorted(inspected.roles))))]
        for name, check in CHECKS:
            result = _run(check, inspected)
            if result is not None:
                results.append((name, result))
        self._worst = max(result.code for _, result in results)
        rows = [(name, result.code.name.capitalize(), result.details) for name, result in results]
        return ("Check", "Result", "Details"), rows

    def run(self, parsed_args: argparse.Namespace) -> int:
        super().run(parsed_args)
        return int(self._worst)


def _run(check: Check, inspected: Inspected) -> Result | None:
    try:
        return check(inspected)
    except exception.ArmillaryError as error:
        return Result(Code.FAILURE, str(error))


def _days(text: str) -> int:
    if not text.isdecimal() or int(text) > 36500:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 0 to 36500")
    return int(text)
