"""Tests of ``armillary-manage zone``: which zones there are, what is kept secret, exit codes."""

import uuid
from pathlib import Path

import pytest
from oslo_config import cfg

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db.zones import zone_records
from conductor.super_conductor.interface import SuperConductorAPI
from programs.bus_factory import bus_maker
from rpc.signing.place import TOP
from tests import builders
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.super_conductor.mappings import map_instances
from tests.unit.programs.conftest import Ended
from tests.unit.programs.operator.conftest import Run

URL = "rabbit://world:geheim@broker:5671/top"
MASKED = "rabbit://world:***@broker:5671/top"


def add(run: Run, name: str = "eu", *more: str) -> Ended:
    return run("zone", "add", name, "--transport-url", URL, "--no-verify", "-f", "json", *more)


def map_instance(database: Database, zone_path: str, *, is_deleted: bool = False) -> None:
    with database.writer() as session:
        map_instances(session, builders.a_uuid(), zone_path=zone_path, is_deleted=is_deleted)


# add, list, update


@pytest.mark.usefixtures("api_database")
def test_a_zone_is_added_with_its_password_masked(run_manage: Run) -> None:
    """An onlooker learns nothing."""
    ended = add(run_manage)
    assert ended.code == 0
    assert {**ended.json, "UUID": ""} == {
        "UUID": "", "Name": "eu", "Disabled": False, "Transport URL": MASKED,
        "Weight offset": 0.0, "Weight scale": 1.0,
    }  # fmt: skip


def test_weights_of_a_zone_are_given_and_changed(run_manage: Run, api_database: Database) -> None:
    """L14: offset + scale times the weight; other than a number in bounds is refused."""
    assert add(run_manage, "eu", "--weight-offset", "-5", "--weight-scale", "0.5").code == 0
    run_manage("zone", "update", "eu", "--weight-scale", "2")
    zone = api_database.read(zone_records.get_zone, "eu")
    assert (zone.weight_offset, zone.weight_scale) == (-5.0, 2.0)
    for bad in ("-1", "nan", "inf"):
        ended = run_manage("zone", "update", "eu", "--weight-scale", bad)
        assert (ended.code, "weight_scale of a zone must be from 0" in ended.err) == (1, True)


def test_the_password_itself_is_stored(run_manage: Run, api_database: Database) -> None:
    """The parent's services need it."""
    add(run_manage)
    with api_database.reader() as session:
        assert zone_records.get_zone(session, "eu").transport_url == URL


@pytest.mark.usefixtures("api_database")
def test_a_name_is_taken_once(run_manage: Run) -> None:
    """One line says so, without the password."""
    add(run_manage)
    ended = add(run_manage)
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "eu exists already" in ended.err
    assert "geheim" not in ended.err


@pytest.mark.usefixtures("api_database")
def test_if_missing_is_content_with_the_zone_that_is_there(run_manage: Run) -> None:
    """A script may run twice; nothing is changed."""
    first = add(run_manage, "eu", "--if-missing")
    again = add(run_manage, "eu", "--if-missing", "--disabled")
    assert (again.code, again.json) == (0, first.json)


@pytest.mark.usefixtures("api_database")
@pytest.mark.parametrize("name", ["", "eu/eu-1", "ü", "x" * 65], ids=repr)
def test_a_name_that_no_zone_can_have_is_refused(name: str, run_manage: Run) -> None:
    """It would be no step of a path."""
    ended = add(run_manage, name)
    assert (ended.code, ended.err.count("\n")) == (1, 1)


@pytest.mark.usefixtures("api_database")
def test_zones_are_listed_by_name_and_masked(run_manage: Run) -> None:
    """Disabled ones, too."""
    add(run_manage, "us", "--disabled")
    add(run_manage, "eu")
    listed = run_manage("zone", "list", "-f", "json")
    assert [(zone["Name"], zone["Disabled"]) for zone in listed.json] == [
        ("eu", False),
        ("us", True),
    ]
    assert "geheim" not in listed.out


@pytest.mark.usefixtures("api_database")
def test_a_zone_is_changed(run_manage: Run) -> None:
    """A new address, no new servers; and back."""
    add(run_manage)
    url = URL.replace("broker", "elsewhere")
    changed = run_manage(
        "zone", "update", "eu", "--transport-url", url, "--no-verify", "--disable", "-f", "json"
    ).json
    assert (changed["Disabled"], changed["Transport URL"]) == (
        True,
        MASKED.replace("broker", "elsewhere"),
    )
    assert not run_manage("zone", "update", changed["UUID"], "--enable", "-f", "json").json[
        "Disabled"
    ]


@pytest.mark.usefixtures("api_database")
def test_an_update_of_nothing_is_refused(run_manage: Run) -> None:
    """It says what could be given."""
    add(run_manage)
    ended = run_manage("zone", "update", "eu")
    assert ended.code == 1
    assert "--disable" in ended.err


# remove


@pytest.mark.usefixtures("api_database")
def test_an_empty_zone_is_removed(run_manage: Run) -> None:
    """It is gone."""
    add(run_manage)
    assert run_manage("zone", "remove", "eu").code == 0
    assert run_manage("zone", "list", "-f", "json").json == []


@pytest.mark.usefixtures("api_database")
def test_removing_an_unknown_zone_ends_with_1(run_manage: Run) -> None:
    """It names what was asked for."""
    ended = run_manage("zone", "remove", "nix")
    assert (ended.code, ended.err) == (1, "armillary-manage: Zone nix could not be found.\n")


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "forced"])
@pytest.mark.parametrize("path", ["eu", "eu/eu-1"])
def test_removing_a_zone_with_servers_ends_with_3(
    path: str, force: tuple[str, ...], run_manage: Run, api_database: Database
) -> None:
    """Force does not help: no zone could reach them any more, or those further down."""
    add(run_manage)
    map_instance(api_database, path)
    assert run_manage("zone", "remove", "eu", *force).code == 3


def test_removing_a_zone_with_leftovers_ends_with_4_unless_forced(
    run_manage: Run, api_database: Database
) -> None:
    """Mappings of deleted servers."""
    add(run_manage)
    map_instance(api_database, "eu/eu-1", is_deleted=True)
    assert run_manage("zone", "remove", "eu").code == 4
    assert run_manage("zone", "remove", "eu", "--force").code == 0


def test_servers_of_another_zone_hinder_no_command(run_manage: Run, api_database: Database) -> None:
    """Also where its name begins alike."""
    add(run_manage)
    map_instance(api_database, "eu-west")
    assert run_manage("zone", "remove", "eu").code == 0


# refresh


class RefreshedConductor:
    """Notes how often it was asked for summaries."""

    def __init__(self) -> None:
        self.asked = 0

    def refresh_zones(self, context: RequestContext) -> None:
        assert context.is_admin
        self.asked += 1


def test_summaries_are_asked_for(run_manage: Run, tmp_path: Path) -> None:
    """Of the super conductor at ``transport_url``."""
    url = f"kombu+memory:////{uuid.uuid4()}"
    path = tmp_path / "top.conf"
    path.write_text(f"[DEFAULT]\ntransport_url = {url}\nstate_path = {tmp_path}\n")
    bus, conductor = bus_maker(cfg.CONF, "armillary-conductor")(url, TOP), RefreshedConductor()
    server = an_rpc_server(bus, SuperConductorAPI, "host", conductor)
    server.start()
    try:
        assert run_manage("zone", "refresh", conf_file=path).code == 0
    finally:
        server.stop()
        server.wait()
        bus.close()
    assert conductor.asked == 1


@pytest.mark.usefixtures("api_database")
def test_summaries_are_asked_for_over_a_broker_only(run_manage: Run) -> None:
    """Without one the configuration is at fault."""
    ended = run_manage("zone", "refresh")
    assert (ended.code, "[DEFAULT] transport_url" in ended.err) == (78, True)
