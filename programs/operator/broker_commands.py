"""``armillary-manage broker``: RabbitMQ permissions of the services' accounts."""

import argparse
import json
import shlex
from collections.abc import Iterator
from typing import Any

from armillary import exception
from programs.application import WithOptions
from rpc.broker import broker_accounts
from rpc.broker.broker_accounts import (
    ACCOUNT_SCOPES,
    CELL,
    CELL_CONDUCTOR,
    COMPUTE,
    MONITOR,
    SERVICES,
    TABLE,
    TOP,
    Permissions,
)

RABBITMQCTL, DEFINITIONS = "rabbitmqctl", "definitions"


class BrokerPermissions(WithOptions):
    """Print the broker permissions of each account, for rabbitmqctl or a definitions file.

    Each role has an account of its own. Agents and cell conductors have one each, named after the
    agent's [DEFAULT] host or the cell's UUID. The user names in transport URLs must be these names.
    """

    app: Any

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--role", action="append", dest="roles", choices=sorted(TABLE),
            help="role; may be repeated; default: all services, and the agents and cell "
                "conductors that are named",
        )  # fmt: skip
        parser.add_argument(
            "--host", action="append", default=[],
            help="[DEFAULT] host of an agent, for role compute; may be repeated",
        )  # fmt: skip
        parser.add_argument(
            "--cell", metavar="UUID", help="UUID of the cell, for role cell-conductor"
        )
        parser.add_argument(
            "--top-vhost", default="top", metavar="NAME",
            help="virtual host of the top broker; default: %(default)s",
        )  # fmt: skip
        parser.add_argument(
            "--cell-vhost", metavar="NAME",
            help=("virtual host of the cell's broker; default: permissions of cells are not "
                "printed"),
        )  # fmt: skip
        parser.add_argument(
            "--prefix", default="",
            help="prefix of each account's name, if deployments share a RabbitMQ",
        )  # fmt: skip
        parser.add_argument(
            "--format", choices=(RABBITMQCTL, DEFINITIONS), default=RABBITMQCTL,
            help="commands to run, or sections of a file for load_definitions; default: "
                "%(default)s",
        )  # fmt: skip

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        found = list(_wanted(parsed_args))
        if not found:
            raise exception.Invalid(
                reason="nothing to print: give the virtual host, and what identifies the role "
                "(--cell-vhost, --host, --cell)"
            )
        if parsed_args.format == DEFINITIONS:
            self.app.stdout.write(json.dumps(definitions(found), indent=2) + "\n")
        else:
            for vhost, each in found:
                self.app.stdout.writelines(f"{line}\n" for line in _commands(vhost, each))


def definitions(found: list[tuple[str, Permissions]]) -> dict[str, list[dict[str, str]]]:
    """Return the permissions of virtual hosts and accounts in the format of RabbitMQ's file."""
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
        for scope in scopes[role] if role in ACCOUNT_SCOPES else [None]:
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
