"""``armillary-manage broker``: what the accounts of the services may do on RabbitMQ."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator
from typing import Any

from cliff.command import Command

from armillary import exception
from rpc import broker_accounts
from rpc.broker_accounts import (
    CELL,
    CELL_CONDUCTOR,
    COMPUTE,
    MONITOR,
    NAMED_AFTER,
    SERVICES,
    TABLE,
    TOP,
    Permissions,
)

RABBITMQCTL, DEFINITIONS = "rabbitmqctl", "definitions"


class BrokerPermissions(Command):
    """Print what each account needs on the broker, for rabbitmqctl or for a definitions file.

    Each role has an account of its own; agents and conductors of cells one each, which is named
    after the agent's [DEFAULT] host, or after the cell's UUID. The user names in transport URLs
    have to be these names.
    """

    app: Any

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--role", action="append", dest="roles", choices=sorted(TABLE),
            help="a role; may be repeated; default: those of all services, of the agents and the "
            "conductors of cells those named",
        )  # fmt: skip
        parser.add_argument(
            "--host", action="append", default=[],
            help="an agent's [DEFAULT] host, for role compute; may be repeated",
        )  # fmt: skip
        parser.add_argument(
            "--cell", metavar="UUID", help="the cell's UUID, for role cell-conductor"
        )
        parser.add_argument(
            "--top-vhost", default="top", metavar="NAME",
            help="virtual host of the top broker; default: %(default)s",
        )  # fmt: skip
        parser.add_argument(
            "--cell-vhost", metavar="NAME",
            help="virtual host of the cell's broker; default: nothing is printed of a cell",
        )  # fmt: skip
        parser.add_argument(
            "--prefix", default="",
            help="begins each account's name, where deployments share a RabbitMQ",
        )  # fmt: skip
        parser.add_argument(
            "--format", choices=(RABBITMQCTL, DEFINITIONS), default=RABBITMQCTL,
            help="commands to run, or the parts of a file for load_definitions; default: "
            "%(default)s",
        )  # fmt: skip
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        found = list(_wanted(parsed_args))
        if not found:
            raise exception.Invalid(
                reason="nothing to print: name the virtual host, and what the role is named after "
                "(--cell-vhost, --host, --cell)"
            )
        if parsed_args.format == DEFINITIONS:
            self.app.stdout.write(json.dumps(definitions(found), indent=2) + "\n")
        else:
            for vhost, each in found:
                self.app.stdout.writelines(f"{line}\n" for line in _commands(vhost, each))


def definitions(found: list[tuple[str, Permissions]]) -> dict[str, list[dict[str, str]]]:
    """Return the permissions of pairs of virtual host and account as RabbitMQ's file has them."""
    return {
        "permissions": [
            {
                "user": each.account,
                "vhost": vhost,
                "configure": each.access.configure,
                "write": each.access.write,
                "read": each.access.read,
            }
            for vhost, each in found
        ],
        "topic_permissions": [
            {
                "user": each.account,
                "vhost": vhost,
                "exchange": exchange,
                "write": write,
                "read": read,
            }
            for vhost, each in found
            for exchange, (write, read) in each.by_exchange.items()
        ],
    }


def _wanted(arguments: argparse.Namespace) -> Iterator[tuple[str, Permissions]]:
    vhosts = {TOP: arguments.top_vhost, CELL: arguments.cell_vhost}
    scopes = {COMPUTE: arguments.host, CELL_CONDUCTOR: [arguments.cell] if arguments.cell else []}
    for role in arguments.roles or SERVICES:
        parts = TABLE[role]
        for scope in scopes[role] if role in NAMED_AFTER else [None]:
            for broker in parts:
                if vhosts[broker]:
                    yield (
                        vhosts[broker],
                        broker_accounts.permissions(
                            role, broker, scope=scope, prefix=arguments.prefix
                        ),
                    )


def _commands(vhost: str, found: Permissions) -> Iterator[str]:
    where = ["rabbitmqctl", "set_permissions", "-p", vhost, found.account]
    access = found.access
    yield shlex.join([*where, access.configure, access.write, access.read])
    where[1] = "set_topic_permissions"
    for exchange, keys in found.by_exchange.items():
        yield shlex.join([*where, exchange, *keys])
    if found.account.endswith(MONITOR):
        yield shlex.join(["rabbitmqctl", "set_user_tags", found.account, "monitoring"])
