"""Tests of ``armillary-status upgrade-check``: each check's outcome, and the exit code of all."""

import uuid
from pathlib import Path

import pytest
from oslo_config import cfg

from armillary.db import Database
from conductor.common.cell_db.services import record_heartbeat
from conductor.super_conductor.db.catalogue import aggregates
from programs.bus_factory import bus_maker
from programs.operator import service_checks
from rpc.signing import place
from scheduler.interface import SchedulerAPI
from tests import builders
from tests.fixtures.control_plane import NOW
from tests.fixtures.made_up_releases import NEW, OLD
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.services.databases import newest_version
from tests.unit.programs.conftest import Ended
from tests.unit.programs.operator.conftest import CellConductor, Run, register

API = newest_version("conductor.super_conductor.db.schema")


def details(ended: Ended, check: str) -> tuple[str, str]:
    """Return result and details of one check."""
    (row,) = (row for row in ended.json if row["Check"] == check)
    return row["Result"], row["Details"]


def test_a_complete_deployment_ends_with_0(
    run_manage: Run, run_status: Run, cell_conductor: CellConductor
) -> None:
    """Tables, a cell, a mapped host, services of this release."""
    cell_conductor.add_host("host1")
    run_manage("cell", "discover-hosts")
    ended = run_status("upgrade", "check", "-f", "json")
    assert ended.code == 0
    assert {row["Result"] for row in ended.json} == {"Success"}


TOP = "Central services"


@pytest.fixture
def with_broker(conf_file: Path) -> str:
    """Have a top broker in the configuration; return its URL."""
    url = f"kombu+memory:////{uuid.uuid4()}"
    text = conf_file.read_text()
    conf_file.write_text(text.replace("[DEFAULT]\n", f"[DEFAULT]\ntransport_url = {url}\n"))
    return url


@pytest.mark.usefixtures("cell_conductor")
def test_services_that_do_not_answer_are_a_failure(
    run_status: Run, with_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each that is missing is named, and only these."""
    monkeypatch.setattr(service_checks, "PING_SECONDS", 0.5)
    bus = bus_maker(cfg.CONF, "armillary-scheduler")(with_broker, place.TOP)
    server = an_rpc_server(bus, SchedulerAPI, "host", object())
    server.start()
    ended = run_status("upgrade-check", "-f", "json")
    server.stop()
    server.wait()
    bus.close()
    result, text = details(ended, TOP)
    assert (ended.code, result) == (2, "Failure")
    assert "no super conductor answers" in text
    assert "no placement answers" in text
    assert "no scheduler" not in text


def test_brokers_that_cannot_be_used_are_a_failure(run_status: Run, api_database: Database) -> None:
    """A cell's, too; the password is not shown."""
    register(api_database, "gone", "rabbit://u:geheim@127.0.0.1:1/c")
    register(api_database, "bad", "not a url")
    ended = run_status("upgrade-check", "-f", "json")
    result, text = details(ended, "Brokers")
    assert result == "Failure"
    assert "cell gone: No connection to rabbit://u:***@127.0.0.1:1/c" in text
    assert "verify" not in text
    assert "cell bad: " in text
    assert "geheim" not in ended.out + ended.err


@pytest.mark.parametrize(
    ("rules", "result", "text"),
    [
        ('"compute:servers:creat": "role:admin"', "Warning", "compute:servers:creat"),
        ('"own": "role:admin"', "Success", ""),
        ('"own": [[', "Failure", "cannot be used"),
    ],
)
@pytest.mark.usefixtures("api_database")
def test_policies_are_read(
    rules: str, result: str, text: str, run_status: Run, conf_file: Path, tmp_path: Path
) -> None:
    """As a service would read them."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"{rules}\n")
    with conf_file.open("a") as file:
        file.write(f"[oslo_policy]\npolicy_file = {policy}\n")
    found = details(run_status("upgrade-check", "-f", "json"), "Policies")
    assert (found[0], text in found[1]) == (result, True), found


@pytest.mark.usefixtures("api_database")
def test_misspelt_options_are_a_warning(run_status: Run, conf_file: Path) -> None:
    """Services ignore them."""
    with conf_file.open("a") as file:
        file.write("[scheduler]\nmax_atempts = 3\n")
    result, text = details(run_status("upgrade-check", "-f", "json"), "Configuration")
    assert (result, "Unknown option [scheduler] max_atempts" in text) == ("Warning", True)


def test_missing_tables_end_with_2(run_status: Run) -> None:
    """Both databases are named, and the command that helps."""
    ended = run_status("upgrade-check", "-f", "json")
    assert ended.code == 2
    result, text = details(ended, "Database schemas")
    assert result == "Failure"
    assert text.startswith(f"api has no tables, needs {API}; cell0 has no tables")
    assert "armillary-manage db sync" in text


@pytest.mark.usefixtures("api_database")
def test_a_deployment_without_cells_ends_with_2(run_status: Run) -> None:
    """No server could be created."""
    ended = run_status("upgrade-check", "-f", "json")
    assert ended.code == 2
    assert details(ended, "Cells")[0] == "Failure"


@pytest.mark.usefixtures("cell_conductor")
def test_a_cell_without_hosts_ends_with_1(run_status: Run) -> None:
    """As right after an installation."""
    ended = run_status("upgrade-check", "-f", "json")
    assert ended.code == 1
    assert details(ended, "Cells") == (
        "Warning",
        "No host is mapped to any cell: start armillary-compute",
    )


def test_disabled_cells_are_warned_of(run_status: Run, api_database: Database) -> None:
    """When there is no other."""
    register(api_database, disabled=True)
    ended = run_status("upgrade-check", "-f", "json")
    assert details(ended, "Cells")[1] == "All cells are disabled: no server can be created"


def test_unmapped_hosts_and_silent_cells_are_named(
    run_status: Run, cell_conductor: CellConductor, api_database: Database
) -> None:
    """All in one line; a conductor is not a host."""
    cell_conductor.add_host("new")
    cell_conductor.services.append(builders.a_service("top", binary="armillary-conductor"))
    register(api_database, "silent")
    result, text = details(run_status("upgrade-check", "-f", "json"), "Services")
    assert result == "Warning"
    assert "cells that do not answer: silent" in text
    assert "hosts without a cell mapping: new; " in text


@pytest.mark.usefixtures("two_releases")
def test_services_of_mixed_versions_are_a_warning(
    run_status: Run, cell_conductor: CellConductor
) -> None:
    """Which are older, how old the oldest is, and what is newer than this program."""
    for host, version in (("present", NEW), ("old", OLD), ("newer", NEW + 1)):
        cell_conductor.add_host(host, version=version)
    ended = run_status("upgrade-check", "-f", "json")
    result, text = details(ended, "Service versions")
    assert (ended.code, result) == (1, "Warning")
    assert "older release: old (armillary-compute 1); " in text
    assert "the oldest has version 1, this release 2" in text
    assert "newer release than this program's: newer (armillary-compute 3)" in text
    assert "present" not in text


def test_services_that_are_too_old_are_a_failure(
    run_status: Run, cell_conductor: CellConductor
) -> None:
    """Services of this release would not start beside them."""
    cell_conductor.add_host("ancient", version=0)
    ended = run_status("upgrade-check", "-f", "json")
    result, text = details(ended, "Service versions")
    assert (ended.code, result) == (2, "Failure")
    assert "oldest supported version is 1: ancient (armillary-compute 0)" in text


@pytest.mark.usefixtures("cell_conductor", "two_releases")
def test_services_on_the_top_broker_count(run_status: Run, tmp_path: Path) -> None:
    """Their records are in cell0's database."""
    cell0 = Database(f"sqlite:///{tmp_path}/cell0.sqlite", name="cell0")
    with cell0.writer() as session:
        record_heartbeat(session, "top-1", "armillary-scheduler", version=OLD, now=builders.A_TIME)
    cell0.dispose()
    result, text = details(run_status("upgrade-check", "-f", "json"), "Service versions")
    assert result == "Warning"
    assert "top-1 (armillary-scheduler 1)" in text


def test_a_service_without_the_api_database_is_not_asked_for_cells(
    run_status: Run, run_manage: Run, tmp_path: Path
) -> None:
    """A cell's conductor has its own database and no other."""
    path = tmp_path / "cell.conf"
    path.write_text(
        f"[DEFAULT]\nstate_path = {tmp_path}\n"
        f"[cell_database]\nconnection = sqlite:///{tmp_path}/cell.sqlite\n"
    )
    run_manage("db", "sync", conf_file=path)
    ended = run_status("upgrade-check", "-f", "json", conf_file=path)
    assert ended.code == 0
    assert details(ended, "Cells")[1].startswith("not checked")


def test_a_database_that_does_not_answer_is_a_failure(run_status: Run, tmp_path: Path) -> None:
    """The reason is in the table, the password is not."""
    path = tmp_path / "gone.conf"
    path.write_text("[api_database]\nconnection = postgresql+psycopg2://u:geheim@127.0.0.1:1/x\n")
    ended = run_status("upgrade-check", "-f", "json", conf_file=path)
    assert ended.code == 2
    assert "unavailable" in details(ended, "Database schemas")[1]
    assert "geheim" not in ended.out + ended.err


def test_a_check_that_cannot_be_made_ends_with_255(run_status: Run, tmp_path: Path) -> None:
    """Such as for a file that is not there."""
    ended = run_status("upgrade-check", conf_file=tmp_path / "nix.conf")
    assert (ended.code, ended.err.count("\n")) == (255, 1)
    assert "nix.conf" in ended.err


@pytest.mark.parametrize(
    ("host", "zone", "problem"),
    [
        ("host1", "east", None),
        ("host2", "nova", None),
        ("host2", None, None),
        ("host1", "gone", "in zone gone, which does not exist"),
        (None, "gone", "without a host in zone gone, which does not exist"),
        ("host1", "nova", "in zone nova, but the host is in east"),
        ("host2", "east", "in zone east, but the host is in nova"),
    ],
)
def test_servers_whose_zone_was_taken_away_are_a_warning(
    host: str | None, zone: str | None, problem: str | None, run_status: Run, run_manage: Run,
    cell_conductor: CellConductor, api_database: Database,
) -> None:  # fmt: skip
    """Each is named, with what is wrong and what to do."""
    for name in ("host1", "host2"):
        cell_conductor.add_host(name)
    run_manage("cell", "discover-hosts")
    with api_database.writer() as session:
        made = aggregates.create_aggregate(session, "e", "east", now=NOW)
        aggregates.add_host(session, made.uuid, "host1", now=NOW)
    cell_conductor.instances = [builders.an_instance(host=host, availability_zone=zone)]
    ended = run_status("upgrade-check", "-f", "json")
    result, text = details(ended, "Zones of servers")
    assert result == ("Warning" if problem else "Success")
    if problem:
        assert problem in text
        assert cell_conductor.instances[0].uuid in text
        assert "aggregate set --zone" in text
