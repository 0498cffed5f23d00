"""The checks of ``armillary-status upgrade-check``, each a function of the configuration."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

from oslo_config import cfg

from armillary import exception
from armillary.cli.buses import bus_maker
from armillary.cli.operator.databases import API, chosen, is_configured, open_api
from armillary.context import admin_context
from conductor.api_db import cells, host_mappings
from conductor.cells import Cells
from objects.service import CURRENT_VERSION


class Code(enum.IntEnum):
    """How a check came out; the highest of all is the exit code."""

    SUCCESS = 0
    WARNING = 1
    FAILURE = 2


@dataclasses.dataclass(frozen=True)
class Result:
    """The outcome of a check, and for anything but a success what to do."""

    code: Code
    details: str = ""


Check = Callable[[cfg.ConfigOpts], Result]

_SUCCESS = Result(Code.SUCCESS)
_NOT_HERE = Result(Code.SUCCESS, "not checked: no [api_database] connection is configured here")


def check_schemas(conf: cfg.ConfigOpts) -> Result:
    """Compare the tables of every configured database with what this release needs."""
    behind = []
    for known in chosen(conf, ()):
        database = known.open(conf)
        current, head = database.current_version(known.schema), database.head_version(known.schema)
        if current != head:
            behind.append(f"{known.name} has {current or 'no tables'}, needs {head}")
    if behind:
        return Result(Code.FAILURE, f"{'; '.join(behind)}. Run armillary-manage db sync")
    return _SUCCESS


def check_cells(conf: cfg.ConfigOpts) -> Result:
    """Look whether there is an enabled cell with hosts."""
    if not is_configured(conf, API):
        return _NOT_HERE
    with open_api(conf).reader() as session:
        found = cells.list_cells(session)
        hosts = host_mappings.list_host_mappings(session)
    if not found:
        return Result(Code.FAILURE, "There is no cell. Run armillary-manage cell create")
    if all(cell.disabled for cell in found):
        return Result(Code.WARNING, "All cells are disabled: no server can be created")
    if not hosts:
        return Result(Code.WARNING, "No host is mapped to any cell: start armillary-compute")
    return _SUCCESS


def check_services(conf: cfg.ConfigOpts) -> Result:
    """Ask every cell for services of an older version, unmapped hosts, and an answer at all."""
    if not is_configured(conf, API):
        return _NOT_HERE
    api_database = open_api(conf)
    links = Cells(conf, api_database, bus_maker(conf, "armillary-status"))
    try:
        answers = links.ask_all(lambda cell: cell.list_services(admin_context()))
    finally:
        links.close()
    with api_database.reader() as session:
        mapped = {mapping.host for mapping in host_mappings.list_host_mappings(session)}
    services = [service for found in answers.by_cell.values() for service in found]
    old = sorted({s.host for s in services if s.version < CURRENT_VERSION})
    unmapped = sorted({s.host for s in services} - mapped)
    problems = []
    if answers.down_cells:
        problems.append(f"cells that do not answer: {', '.join(sorted(answers.down_cells))}")
    if old:
        problems.append(f"services of an older release on: {', '.join(old)}; restart them")
    if unmapped:
        problems.append(
            f"hosts that no cell mapping names: {', '.join(unmapped)}; "
            "run armillary-manage cell discover-hosts"
        )
    return Result(Code.WARNING, "; ".join(problems)) if problems else _SUCCESS


CHECKS: tuple[tuple[str, Check], ...] = (
    ("Database schemas", check_schemas),
    ("Cells", check_cells),
    ("Services", check_services),
)


def run_check(check: Check, conf: cfg.ConfigOpts) -> Result:
    """Run a check; what it cannot reach is a failure with the reason."""
    try:
        return check(conf)
    except exception.ArmillaryError as error:
        return Result(Code.FAILURE, str(error))
