"""``armillary-manage deploy``."""

import dataclasses
import os
import socket
from abc import abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Collection
from pathlib import Path
from typing import Any

from armillary import exception
from armillary.files import private_files
from programs.application import WithOptions
from programs.operator.deploy import bundle, option_values, processes, record
from programs.operator.deploy.bundle import Bundle
from programs.operator.deploy.deployment import Deployment
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.record import HostRecord, Record, Settings
from programs.operator.deploy.services import Service
from programs.operator.deploy.steps import Steps

DRIVERS = ("process", "libvirt", "simulated")
NO_HOST = "none"
FIRST_CELL = "cell1"


class _DeployCommand(WithOptions):
    """Common part: where files go, and what a run may do."""

    app: Any

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--root", type=option_values.directory, default=Path("/"), metavar="DIR",
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


class _WritingCommand(_DeployCommand):
    """A command that writes files and starts services."""

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--overwrite", action="store_true", help="replace files that were edited since"
        )
        parser.add_argument(
            "--no-start", action="store_true", help="do not start services by systemd"
        )


class WithServices(_WritingCommand):
    """A command that changes broker and databases."""

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
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

    def deploy(
        self,
        parsed_args: Namespace,
        layout: Layout,
        wanted: Record,
        *,
        removed_hosts: Collection[str] = (),
        removed_cells: Collection[str] = (),
        earlier_steps: Steps | None = None,
    ) -> Deployment:
        """Apply a record and return the deployment."""
        made = Deployment(
            layout,
            wanted,
            self.app.stdout,
            is_dry_run=parsed_args.dry_run,
            adopts=parsed_args.adopt,
            overwrites=parsed_args.overwrite,
            starts=not parsed_args.no_start,
            removed_hosts=removed_hosts,
            removed_cells=removed_cells,
            earlier_steps=earlier_steps,
        )
        made.apply()
        return made


class DeploySingle(WithServices):
    """Make a deployment on this machine, with RabbitMQ, and PostgreSQL or MariaDB.

    Makes virtual hosts, databases, an account with a password of its own for each service, signing
    keys, configuration files, directories and systemd units, and starts the services. A second run
    does only what is missing or was chosen otherwise.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--prefix", type=option_values.prefix,
            help="prefix of accounts, virtual hosts and databases, if deployments share a server",
        )  # fmt: skip
        parser.add_argument(
            "--broker", type=option_values.address, metavar="HOST:PORT",
            help="address of RabbitMQ for services; default: 127.0.0.1:5672",
        )  # fmt: skip
        parser.add_argument(
            "--database", type=option_values.address, metavar="HOST:PORT",
            help="address of the database server for services; default: 127.0.0.1 and its usual "
            "port",
        )  # fmt: skip
        parser.add_argument(
            "--api", type=option_values.address, metavar="HOST:PORT",
            help="address of the Compute API; default: 127.0.0.1:8774",
        )  # fmt: skip
        parser.add_argument(
            "--placement", type=option_values.address, metavar="HOST:PORT",
            help="address of the Placement API; default: 127.0.0.1:8778",
        )  # fmt: skip
        parser.add_argument(
            "--host", type=option_values.host_name,
            help=f"name of this machine's agent; {NO_HOST}: no agent; default: the machine's name",
        )  # fmt: skip
        parser.add_argument(
            "--driver", choices=DRIVERS, help="driver of this machine's agent; default: process"
        )

        _add_node_option(parser, "nodes")

    def take_action(self, parsed_args: Namespace) -> None:
        layout = self.layout(parsed_args)
        wanted = record.load(layout.record) or Record(Settings(host=socket.gethostname()))
        _refuse_new_prefix(wanted, parsed_args.prefix)
        choose(wanted.settings, parsed_args)
        if not wanted.cells:
            wanted.add_cell(FIRST_CELL, is_here=True)
        made = self.deploy(parsed_args, layout, wanted)
        if not parsed_args.dry_run:
            self.app.stdout.write(made.how_to_log_in())


def _add_node_option(parser: ArgumentParser, dest: str) -> None:
    parser.add_argument(
        "--node", action="append", dest=dest, metavar="PATTERN",
        help="further host that the agent may have, such as 'rack1-*'; may be repeated",
    )  # fmt: skip


def _refuse_new_prefix(found: Record, prefix: str | None) -> None:
    """Raise Conflict if accounts and databases were made with another prefix."""
    if found.cells and prefix not in (None, found.settings.prefix):
        raise exception.Conflict(
            reason=f"this deployment has the prefix '{found.settings.prefix}', which cannot be "
            "changed: accounts and databases are named after it"
        )


def choose(settings: Settings, parsed_args: Namespace) -> None:
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


class _AddCommand(WithServices):
    """Common part of commands that add to a deployment: the file for another machine."""

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--broker", type=option_values.address, metavar="HOST:PORT", dest="outside_broker",
            help="address of RabbitMQ for other machines; remembered",
        )  # fmt: skip

    def existing(self, parsed_args: Namespace, layout: Layout) -> Record:
        """Return the record of this machine's deployment. Raises Invalid if there is none."""
        found = record_of(layout)
        choose(found.settings, parsed_args)
        return found

    def write_bundle(self, made: Deployment, name: str, folder: Path) -> None:
        """Write what another machine needs. Raises Conflict if its key is not here any more."""
        path = folder / f"{name}.yaml"
        service = made.elsewhere()[name]
        key = made.signing.key_elsewhere(service)
        if not key.exists() and not made.is_dry_run:
            raise exception.Conflict(
                reason=f"the key of {name} is not here any more. Revoke it (armillary-manage key "
                f"revoke, with the list and the root key in {made.layout.keys}), then run this "
                "command again for a new one"
            )
        if not made.is_dry_run:
            kinds = ("services", "agents") if service.hears_agents else ("services",)
            lists = {kind: made.signing.list_text(kind) for kind in kinds}
            text = Bundle(service, made.signing.root_key(), key.read_text(), lists).text()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            private_files.write(path, text)
            self.app.stdout.write(
                f"{path} has secrets: bring it to the other machine by a safe way, run there\n"
                f"    armillary-manage deploy join {path.name}\nand delete it\n"
            )


class DeployAddHost(_AddCommand):
    """Add agents on other machines: account and key of each, and the file for its machine."""

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "hosts",
            nargs="+",
            metavar="host",
            type=option_values.host_name,
            help="the agent's host",
        )
        parser.add_argument(
            "--bundles", type=Path, default=Path(), metavar="DIR",
            help="directory for HOST.yaml, the file for that machine; default: this one",
        )  # fmt: skip
        parser.add_argument("--cell", default=FIRST_CELL, help="its cell; default: %(default)s")
        _add_node_option(parser, "agent_nodes")
        parser.add_argument(
            "--agent-driver", choices=DRIVERS, default=DRIVERS[0],
            help="driver of the agent; default: %(default)s",
        )  # fmt: skip

        parser.add_argument(
            "--api", type=option_values.url, metavar="URL", dest="outside_api",
            help="address of the API for other machines, such as https://api.example.org:8774, "
            "from which hosts fetch images; remembered; default: that of deploy single",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> None:
        layout = self.layout(parsed_args)
        wanted = self.existing(parsed_args, layout)
        if parsed_args.cell not in wanted.cells:
            raise exception.CellNotFound(cell=parsed_args.cell)
        if wanted.settings.host in parsed_args.hosts:
            raise exception.Invalid(
                reason=f"{wanted.settings.host} is this machine's own agent, of deploy single"
            )
        _require(wanted.settings.outside_broker, "RabbitMQ", "--broker")
        agent = HostRecord(
            parsed_args.cell, parsed_args.agent_nodes or [], parsed_args.agent_driver
        )
        wanted.hosts |= dict.fromkeys(parsed_args.hosts, agent)
        made = self.deploy(parsed_args, layout, wanted)
        for host in parsed_args.hosts:
            self.write_bundle(made, host, parsed_args.bundles)
        if made.services.has_local_api:
            self.app.stdout.write(
                "Hosts on other machines cannot fetch images: they do not reach the API at "
                f"{wanted.settings.api}. Give deploy single another --api, or say with add-host "
                "--api where they reach it\n"
            )


class DeployAddCell(_AddCommand):
    """Add a cell: its virtual host, its database and its conductor, here or on another machine."""

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("cell", type=option_values.cell_name, help="name of the cell")
        parser.add_argument(
            "--node", action="append", dest="cell_nodes", metavar="PATTERN",
            help="host that the cell may have besides those of add-host, such as 'rack1-*'; may be "
            "repeated; remembered",
        )  # fmt: skip
        parser.add_argument(
            "--bundles", type=Path, metavar="DIR",
            help="directory for CELL.yaml, the file for the machine of its conductor; default: "
            "this machine runs it",
        )  # fmt: skip
        parser.add_argument(
            "--database", type=option_values.address, metavar="HOST:PORT", dest="outside_database",
            help="address of the database server for other machines; remembered",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> None:
        layout = self.layout(parsed_args)
        wanted = self.existing(parsed_args, layout)
        is_here = parsed_args.bundles is None
        if not is_here:
            _require(wanted.settings.outside_broker, "RabbitMQ", "--broker")
            _require(wanted.settings.outside_database, "the database server", "--database")
        if wanted.add_cell(parsed_args.cell, is_here=is_here).is_here != is_here:
            raise exception.Conflict(
                reason=f"the conductor of {parsed_args.cell} runs "
                f"{'on another machine' if is_here else 'on this machine'}"
            )
        if parsed_args.cell_nodes is not None:
            wanted.cells[parsed_args.cell].patterns = parsed_args.cell_nodes
        made = self.deploy(parsed_args, layout, wanted)
        if not is_here:
            self.write_bundle(made, parsed_args.cell, parsed_args.bundles)


class DeployJoin(_WritingCommand):
    """Set this machine up for the service of a file that ``add-host`` or ``add-cell`` wrote."""

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("bundle", type=Path, help="the file")

    def take_action(self, parsed_args: Namespace) -> None:
        layout, found = self.layout(parsed_args), bundle.load(parsed_args.bundle)
        steps = Steps(self.app.stdout, parsed_args.dry_run)
        changed = bundle.join(
            layout, steps, found,
            overwrites=parsed_args.overwrite, starts=not parsed_args.no_start,
        )  # fmt: skip
        self.app.stdout.write(f"{steps.summary()}\n")
        if not parsed_args.dry_run:
            self.app.stdout.write(processes.next_steps(layout, [found.service], changed))


class _ProcessCommand(_DeployCommand):
    """Common part of commands on the processes of this machine."""

    def take_action(self, parsed_args: Namespace) -> None:
        layout = self.layout(parsed_args)
        if layout.has_systemd:
            raise exception.Invalid(reason="systemd runs here; use systemctl")
        services = bundle.joined(layout)
        if not services or layout.record.exists():
            made = Deployment(layout, record_of(layout), self.app.stdout)
            services = [*made.services.here(), *services]
        self.act(layout, Steps(self.app.stdout, parsed_args.dry_run), services)

    @abstractmethod
    def act(self, layout: Layout, steps: Steps, services: list[Service]) -> None:
        """Do it."""


class DeployStart(_ProcessCommand):
    """Start the services of this machine in the background, where systemd does not run."""

    def act(self, layout: Layout, steps: Steps, services: list[Service]) -> None:
        processes.start(layout, steps, services)


class DeployStop(_ProcessCommand):
    """Stop the services that ``deploy start`` started; workloads keep running."""

    def act(self, layout: Layout, steps: Steps, services: list[Service]) -> None:
        processes.stop(layout, steps, services)


def record_of(layout: Layout) -> Record:
    found = record.load(layout.record)
    if found is None:
        raise exception.Invalid(
            reason=f"there is no {layout.record}; make a deployment with armillary-manage deploy "
            "single, or give its --root"
        )
    return found


def _require(address: str, what: str, option: str) -> None:
    if not address:
        raise exception.Invalid(
            reason=f"the address of {what} for other machines is not known; give {option} HOST:PORT"
        )
