"""``armillary-manage deploy remove-host`` and ``remove-cell``."""

from argparse import ArgumentParser, Namespace

from armillary import exception
from programs.operator.deploy import cell_removal
from programs.operator.deploy.commands import NO_HOST, WithServices, choose, record_of
from programs.operator.deploy.deployment import Deployment
from programs.operator.deploy.option_values import cell_name, host_name


class DeployRemoveHost(WithServices):
    """Remove agents of other machines: account, key and entry. May be repeated.

    Before, stop the agent and delete its services with "armillary service delete", which is refused
    while servers are there. What it has on its own machine stays.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "hosts", nargs="+", metavar="host", type=host_name, help="the agent's host"
        )

    def take_action(self, parsed_args: Namespace) -> None:
        layout = self.layout(parsed_args)
        wanted = record_of(layout)
        choose(wanted.settings, parsed_args)
        if wanted.settings.host in parsed_args.hosts:
            raise exception.Invalid(
                reason=f"{wanted.settings.host} is this machine's own agent; run deploy single "
                f"--host {NO_HOST}"
            )
        known = sorted(wanted.hosts)
        for host in parsed_args.hosts:
            wanted.remove_host(host)
        self.deploy(parsed_args, layout, wanted, removed_hosts=parsed_args.hosts)
        unknown = [host for host in parsed_args.hosts if host not in known]
        if unknown:
            self.app.stdout.write(
                f"Not in the record of this deployment: {', '.join(unknown)}. It had agents on "
                f"other machines: {', '.join(known) or 'none'}\n"
            )


class DeployRemoveCell(WithServices):
    """Remove a cell: its conductor, virtual host, database, accounts and files. May be repeated.

    It is refused while the cell has agents, hosts or servers. Of deleted servers, all records go
    with the database. What a conductor on another machine has there stays.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("cell", type=cell_name, help="name of the cell")

    def take_action(self, parsed_args: Namespace) -> None:
        layout, cell = self.layout(parsed_args), parsed_args.cell
        wanted = record_of(layout)
        choose(wanted.settings, parsed_args)
        known, steps = sorted(wanted.cells), None
        if cell in wanted.cells:
            cell_removal.check(wanted, cell)
            before = Deployment(
                layout, wanted, self.app.stdout,
                is_dry_run=parsed_args.dry_run, starts=not parsed_args.no_start,
            )  # fmt: skip
            cell_removal.remove(before, cell)
            wanted.remove_cell(cell)
            steps = before.steps
        self.deploy(parsed_args, layout, wanted, removed_cells=[cell], earlier_steps=steps)
        if cell not in known:
            self.app.stdout.write(
                f"Not in the record of this deployment: {cell}. It has the cells: "
                f"{', '.join(known)}\n"
            )
