"""Checks of ``armillary-status upgrade-check``, each a function of the configuration."""

import time
from collections.abc import Callable, Sequence

from oslo_config import cfg

from armillary import exception
from armillary.context import admin_context
from armillary.service_history import COMPUTE, CURRENT_VERSION, OLDEST_SUPPORTED
from conductor.common.service_records import ON_TOP, ServiceRecords
from conductor.super_conductor.db import cells, host_mappings
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.hosts.host_answers import ZoneUse
from objects.hosts.service import Service
from programs.bus_factory import bus_maker
from programs.operator.check_results import NOT_HERE, SUCCESS, Code, Result
from programs.operator.databases import API, CELL0, chosen, is_configured, open_api
from programs.operator.service_checks import (
    check_brokers,
    check_configuration,
    check_policies,
    check_top_services,
)

Check = Callable[[cfg.ConfigOpts], Result]

NAMED_MAX = 20
"""Maximum number of services named in one line."""


def check_schemas(conf: cfg.ConfigOpts) -> Result:
    """Compare the schema version of every configured database with this release."""
    behind = []
    for known in chosen(conf, ()):
        database = known.open(conf)
        current, head = database.current_version(known.schema), database.head_version(known.schema)
        if current != head:
            behind.append(f"{known.name} has {current or 'no tables'}, needs {head}")
    if behind:
        return Result(Code.FAILURE, f"{'; '.join(behind)}. Run armillary-manage db sync")
    return SUCCESS


def check_cells(conf: cfg.ConfigOpts) -> Result:
    """Check whether there is an enabled cell with hosts."""
    if not is_configured(conf, API):
        return NOT_HERE
    with open_api(conf).reader() as session:
        found = cells.list_cells(session)
        hosts = host_mappings.list_host_mappings(session)
    if not found:
        return Result(Code.FAILURE, "There is no cell. Run armillary-manage cell create")
    if all(cell.disabled for cell in found):
        return Result(Code.WARNING, "All cells are disabled: no server can be created")
    if not hosts:
        return Result(Code.WARNING, "No host is mapped to any cell: start armillary-compute")
    return SUCCESS


def check_services(conf: cfg.ConfigOpts) -> Result:
    """Check whether every cell answers and all its hosts are mapped."""
    if not is_configured(conf, API):
        return NOT_HERE
    services, down_cells = _cell_services(conf)
    with open_api(conf).reader() as session:
        mapped = {mapping.host for mapping in host_mappings.list_host_mappings(session)}
    unmapped = sorted({s.host for s in services if s.binary == COMPUTE} - mapped)
    problems = []
    if down_cells:
        problems.append(f"cells that do not answer: {', '.join(sorted(down_cells))}")
    if unmapped:
        problems.append(
            f"hosts without a cell mapping: {', '.join(unmapped)}; run armillary-manage "
            "cell discover-hosts"
        )
    return Result(Code.WARNING, "; ".join(problems)) if problems else SUCCESS


def check_zones_of_servers(conf: cfg.ConfigOpts) -> Result:
    """Find servers whose availability zone does not exist, or is not that of their host."""
    if not is_configured(conf, API):
        return NOT_HERE
    database = open_api(conf)
    with database.reader() as session:
        of_hosts = aggregates.zones_of_hosts(session)
        known = aggregates.zone_names(session) | {conf.default_availability_zone}
    links = Cells(conf, database, bus_maker(conf, "armillary-status"))
    try:
        answers = links.ask_all(lambda cell: cell.list_zone_uses(admin_context()))
    finally:
        links.close()
    problems = []
    for use in (one for uses in answers.by_cell.values() for one in uses):
        zone = use.availability_zone
        of_host = of_hosts.get(use.host or "", conf.default_availability_zone)
        if zone is not None and zone not in known:
            problems.append(f"{_servers(use)} in zone {zone}, which does not exist")
        elif zone is not None and use.host is not None and zone != of_host:
            problems.append(f"{_servers(use)} in zone {zone}, but the host is in {of_host}")
    if not problems:
        return SUCCESS
    more = f"; and {len(problems) - NAMED_MAX} more" if len(problems) > NAMED_MAX else ""
    return Result(
        Code.WARNING,
        f"{'; '.join(sorted(problems)[:NAMED_MAX])}{more}. They cannot be moved or unshelved as "
        "they are: give an aggregate of empty hosts that availability zone (armillary "
        "aggregate set --zone), and migrate the servers there",
    )


def _servers(use: ZoneUse) -> str:
    where = "without a host" if use.host is None else f"on host {use.host}"
    what = f"server {use.instance_uuid} is" if use.count == 1 else (
        f"{use.count} servers such as {use.instance_uuid} are"
    )  # fmt: skip
    return f"{what} {where}"


def check_versions(conf: cfg.ConfigOpts) -> Result:
    """Compare the version of every service that has a record with this release."""
    if not is_configured(conf, API):
        return NOT_HERE
    services = [*_cell_services(conf)[0], *_top_services(conf)]
    too_old = [s for s in services if s.version < OLDEST_SUPPORTED]
    if too_old:
        return Result(
            Code.FAILURE,
            "too old for this release, whose oldest supported version is "
            f"{OLDEST_SUPPORTED}: {_named(too_old)}; upgrade them with the previous "
            "release, or delete services that are gone",
        )
    older = [s for s in services if s.version < CURRENT_VERSION]
    newer = [s for s in services if s.version > CURRENT_VERSION]
    problems = []
    if older:
        oldest = min(s.version for s in older)
        problems.append(
            f"services of an older release: {_named(older)}; the oldest has version "
            f"{oldest}, this release {CURRENT_VERSION}; upgrade and restart them, or delete "
            "services that are gone"
        )
    if newer:
        problems.append(f"services of a newer release than this program's: {_named(newer)}")
    return Result(Code.WARNING, "; ".join(problems)) if problems else SUCCESS


def _cell_services(conf: cfg.ConfigOpts) -> tuple[list[Service], list[str]]:
    """Return the services that the cells report, and the names of cells that do not answer."""
    links = Cells(conf, open_api(conf), bus_maker(conf, "armillary-status"))
    try:
        answers = links.ask_all(lambda cell: cell.list_services(admin_context()))
    finally:
        links.close()
    return [one for found in answers.by_cell.values() for one in found], answers.down_cells


def _top_services(conf: cfg.ConfigOpts) -> list[Service]:
    """Return the records of services on the top broker."""
    if not is_configured(conf, CELL0):
        return []
    records = ServiceRecords(
        conf, database=CELL0.open(conf), interfaces=ON_TOP, now=time.time, cell_uuid=CELL0_UUID
    )
    return records.list_all()


def _named(services: Sequence[Service]) -> str:
    """Return hosts with program and version, abbreviated if there are many."""
    shown = sorted({f"{s.host} ({s.binary} {s.version})" for s in services})
    more = f" and {len(shown) - NAMED_MAX} more" if len(shown) > NAMED_MAX else ""
    return ", ".join(shown[:NAMED_MAX]) + more


CHECKS: tuple[tuple[str, Check], ...] = (
    ("Configuration", check_configuration),
    ("Policies", check_policies),
    ("Brokers", check_brokers),
    ("Database schemas", check_schemas),
    ("Cells", check_cells),
    ("Central services", check_top_services),
    ("Services", check_services),
    ("Service versions", check_versions),
    ("Zones of servers", check_zones_of_servers),
)


def run_check(check: Check, conf: cfg.ConfigOpts) -> Result:
    """Run a check; an unreachable dependency is a failure with the reason."""
    try:
        return check(conf)
    except exception.ArmillaryError as error:
        return Result(Code.FAILURE, str(error))
