"""Removal of a cell from a deployment: its registration, conductor, account, database and files.

Each step looks whether it is done, and the cell stays in the deployment's record until all are, so
a failed removal is continued by the next one.
"""

import functools

from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db import cells, host_mappings
from programs.operator.deploy import broker, processes, units
from programs.operator.deploy.broker import BrokerAdmin
from programs.operator.deploy.deployment import Deployment
from programs.operator.deploy.record import Record
from programs.operator.deploy.services import Service, cell_database, cell_vhost
from rpc.broker.broker_accounts import CELL_CONDUCTOR, account_name


def check(record: Record, cell: str) -> None:
    """Raise InUse or Invalid if the record says that a cell cannot be removed."""
    agents = sorted(host for host, each in record.hosts.items() if each.cell == cell)
    if agents:
        raise exception.InUse(
            what=f"Cell {cell}",
            reason=f"it has agents; remove them first: armillary-manage deploy remove-host "
            f"{' '.join(agents)}",
        )
    if len(record.cells) == 1:
        raise exception.Invalid(reason=f"{cell} is the only cell of this deployment")
    if record.settings.host and cell == next(iter(record.cells)):
        raise exception.Invalid(
            reason=f"{cell} is the cell of this machine's own agent, {record.settings.host}; run "
            "deploy single --host none first"
        )


def remove(made: Deployment, cell: str) -> None:
    """Remove all of a cell but its entries in the record and in the list of keys.

    Raises InUse while hosts or servers are mapped to it, Unavailable and StepFailed.
    """
    service = made.services.cell_conductor(cell)
    _unregister(made, cell)
    if made.record.cells[cell].is_here:
        _stop(made, service)
    settings = made.record.settings
    admin = BrokerAdmin(settings.broker_admin)
    account = account_name(CELL_CONDUCTOR, service.scope, settings.prefix)
    broker.delete_accounts(admin, made.steps, [account])
    broker.delete_vhost(admin, made.steps, cell_vhost(made.record, cell))
    made.drop_database(cell_database(cell))
    _delete_files(made, service)


def _unregister(made: Deployment, cell: str) -> None:
    uuid = made.record.cells[cell].uuid
    with made.open_api_database() as database:
        is_registered = database.read(_is_registered, cell, uuid)
        made.steps.do(
            "unregister",
            f"cell {cell} ({uuid})",
            functools.partial(_delete, database, cell, uuid),
            is_done=not is_registered,
        )


def _is_registered(session: Session, cell: str, uuid: str) -> bool:
    """Return whether a cell is in the API database. Raises InUse unless it can be removed."""
    hosts = [each.host for each in host_mappings.list_host_mappings(session, uuid)]
    if hosts:
        raise exception.InUse(
            what=f"Cell {cell}",
            reason="hosts are mapped to it; stop their agents, then delete their services, which "
            "is refused while servers are there: armillary service delete "
            f"{' '.join(sorted(hosts))}",
        )
    try:
        cells.check_removable(session, uuid, force=True)
    except exception.CellNotFound:
        return False
    return True


def _delete(database: Database, cell: str, uuid: str) -> None:
    """Delete the cell and what is left of its deleted servers, unless it was used meanwhile."""
    with database.writer() as session:
        if _is_registered(session, cell, uuid):
            cells.delete_cell(session, uuid, force=True)


def _stop(made: Deployment, service: Service) -> None:
    layout = made.layout
    if layout.has_systemd:
        units.stop(made.steps, service)
    else:
        processes.stop(layout, made.steps, [service])


def _delete_files(made: Deployment, service: Service) -> None:
    """Delete the files of the conductor; the operator's own settings stay."""
    layout = made.layout
    made.files.delete(units.start_file(layout, service))
    made.files.delete(service.file(layout))
    made.files.delete_directory(service.state(layout))
    for folder in (units.start_file(layout, service).parent, service.own_directory(layout)):
        if folder.is_dir() and not any(folder.iterdir()):
            made.files.delete_directory(folder)
