"""``armillary-manage deploy``."""

from __future__ import annotations

import dataclasses
import os
import re
import socket
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any

from armillary import exception
from armillary.identifiers import is_host_name
from programs.application import WithOptions
from programs.operator.deploy import processes, record
from programs.operator.deploy.deployment import Deployment
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.record import Record, Settings

DRIVERS = ("process", "libvirt", "simulated")
NO_HOST = "none"
FIRST_CELL = "cell1"
_ADDRESS = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}")
_PREFIX = re.compile(r"[a-z][a-z0-9-]{0,15}")
_CELL = re.compile(r"[a-z][a-z0-9_]{0,30}")


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text) or not 0 < int(text.rpartition(":")[2]) < 65536:
        raise ArgumentTypeError(f"{text!r} is not an address such as 127.0.0.1:5672")
    return text


def _prefix(text: str) -> str:
    if text and not _PREFIX.fullmatch(text):
        raise ArgumentTypeError(
            f"{text!r} is not a prefix: at most 16 small letters, digits and -, a letter first"
        )
    return text


def _cell(text: str) -> str:
    if not _CELL.fullmatch(text) or text == "top":
        raise ArgumentTypeError(
            f"{text!r} is not a name for a cell: at most 31 small letters, digits and _, a letter "
            "first, and not top"
        )
    return text


def _host(text: str) -> str:
    if text and not is_host_name(text):
        raise ArgumentTypeError(f"{text!r} is not a host's name: letters, digits and . _ : @ -")
    return text


class _DeployCommand(WithOptions):
    """Common part: where files go, and what a run may do."""

    app: Any

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--root", type=_directory, default=Path("/"), metavar="DIR",
            help="directory that takes the place of / for all files; default: %(default)s",
        )  # fmt: skip
        parser.add_argument(
            "--dry-run", action="store_true", help="print each step, and change nothing"
        )

    def layout(self, parsed_args: Namespace) -> Layout:
        """Return where files go. Raises Invalid if this user may not write there."""
        found = Layout(parsed_args.root)
        if found.is_system and os.geteuid() != 0:
            raise exception.Invalid(
                reason="a deployment in / is made by root; run this command as root, or give "
                "--root DIR for a directory of your own"
            )
        return found


class _WithServices(_DeployCommand):
    """A command that changes broker and databases."""

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--overwrite", action="store_true", help="replace files that were edited since"
        )
        parser.add_argument(
            "--no-start", action="store_true", help="do not start services by systemd"
        )
        parser.add_argument(
            "--adopt", action="store_true",
            help="take over accounts that exist with other passwords",
        )  # fmt: skip
        parser.add_argument(
            "--broker-admin", metavar="rabbitmqctl|URL",
            help="how virtual hosts and accounts are made: the program, or the URL of RabbitMQ's "
            "management plugin, http://USER:PASSWORD@HOST:15672; default: $ARMILLARY_BROKER_ADMIN, "
            "or rabbitmqctl",
        )  # fmt: skip
        parser.add_argument(
            "--database-admin", metavar="URL",
            help="URL of the administrator of PostgreSQL or MariaDB, such as "
            "postgresql://postgres:SECRET@db1/postgres; mysql:/// is root by this machine's "
            "socket; default: $ARMILLARY_DATABASE_ADMIN, or postgresql:///, which is postgres by "
            "this machine's socket",
        )  # fmt: skip

    def deploy(self, parsed_args: Namespace, layout: Layout, wanted: Record) -> Deployment:
        """Apply a record and return the deployment."""
        made = Deployment(
            layout,
            wanted,
            self.app.stdout,
            is_dry_run=parsed_args.dry_run,
            adopts=parsed_args.adopt,
            overwrites=parsed_args.overwrite,
            starts=not parsed_args.no_start,
        )
        made.apply()
        return made


class DeploySingle(_WithServices):
    """Make a deployment on this machine, with RabbitMQ, and PostgreSQL or MariaDB.

    Makes virtual hosts, databases, an account with a password of its own for each service, signing
    keys, configuration files, directories and systemd units, and starts the services. A second run
    does only what is missing or was chosen otherwise.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--prefix", type=_prefix,
            help="prefix of accounts, virtual hosts and databases, if deployments share a server",
        )  # fmt: skip
        parser.add_argument(
            "--broker", type=_address, metavar="HOST:PORT",
            help="address of RabbitMQ for services; default: 127.0.0.1:5672",
        )  # fmt: skip
        parser.add_argument(
            "--database", type=_address, metavar="HOST:PORT",
            help="address of the database server for services; default: 127.0.0.1 and its usual "
            "port",
        )  # fmt: skip
        parser.add_argument(
            "--api", type=_address, metavar="HOST:PORT",
            help="address of the Compute API; default: 127.0.0.1:8774",
        )  # fmt: skip
        parser.add_argument(
            "--placement", type=_address, metavar="HOST:PORT",
            help="address of the Placement API; default: 127.0.0.1:8778",
        )  # fmt: skip
        parser.add_argument(
            "--host", type=_host,
            help=f"name of this machine's agent; {NO_HOST}: no agent; default: the machine's name",
        )  # fmt: skip
        parser.add_argument(
            "--driver", choices=DRIVERS, help="driver of this machine's agent; default: process"
        )

    def take_action(self, parsed_args: Namespace) -> None:
        layout = self.layout(parsed_args)
        wanted = record.load(layout.record) or Record(Settings(host=socket.gethostname()))
        _refuse_new_prefix(wanted, parsed_args.prefix)
        _choose(wanted.settings, parsed_args)
        if not wanted.cells:
            wanted.add_cell(FIRST_CELL, is_here=True)
        made = self.deploy(parsed_args, layout, wanted)
        if not (layout.has_systemd or parsed_args.dry_run):
            self.app.stdout.write(
                "systemd does not run here; start the services with armillary-manage deploy start, "
                f"or each in its own way:\n{made.how_to_start()}\n"
            )
        self.app.stdout.write(f"The administrator's credentials: . {made.credentials}\n")


def _refuse_new_prefix(found: Record, prefix: str | None) -> None:
    """Raise Conflict if accounts and databases were made with another prefix."""
    if found.cells and prefix not in (None, found.settings.prefix):
        raise exception.Conflict(
            reason=f"this deployment has the prefix '{found.settings.prefix}', which cannot be "
            "changed: accounts and databases are named after it"
        )


def _choose(settings: Settings, parsed_args: Namespace) -> None:
    """Change the settings whose options are given; a setting is fixed once it has a name in use."""
    environment = {
        "broker_admin": os.environ.get("ARMILLARY_BROKER_ADMIN"),
        "database_admin": os.environ.get("ARMILLARY_DATABASE_ADMIN"),
    }
    for field in dataclasses.fields(settings):
        value = getattr(parsed_args, field.name, None)
        value = environment.get(field.name) if value is None else value
        if value is not None:
            setattr(settings, field.name, "" if value == NO_HOST else value)


def _directory(text: str) -> Path:
    return Path(text).resolve()


class _ServicesOf(_DeployCommand):
    """Common part of commands on the processes of this machine."""

    def deployment(self, parsed_args: Namespace) -> Deployment:
        """Return the deployment of this machine. Raises Invalid if there is none."""
        layout = self.layout(parsed_args)
        found = record.load(layout.record)
        if found is None:
            raise exception.Invalid(
                reason=f"there is no {layout.record}; make a deployment with armillary-manage "
                "deploy single, or give its --root"
            )
        if layout.has_systemd:
            raise exception.Invalid(reason="systemd runs here; use systemctl")
        return Deployment(layout, found, self.app.stdout, is_dry_run=parsed_args.dry_run)


class DeployStart(_ServicesOf):
    """Start the services of this machine in the background, where systemd does not run."""

    def take_action(self, parsed_args: Namespace) -> None:
        made = self.deployment(parsed_args)
        processes.start(made.layout, made.steps, made.services.here())


class DeployStop(_ServicesOf):
    """Stop the services that ``deploy start`` started; workloads keep running."""

    def take_action(self, parsed_args: Namespace) -> None:
        made = self.deployment(parsed_args)
        processes.stop(made.layout, made.steps, made.services.here())
