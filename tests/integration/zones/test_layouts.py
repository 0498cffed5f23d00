"""One API on every layout of schedulers: none, one, three layers; made by configuration alone.

And in every mode of trust: open, with accounts on the broker, signed, by TLS, and all together.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from api.handlers.servers.server_request import request_of
from armillary.context import admin_context
from conductor.super_conductor.interface import SuperConductorAPI
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_filters import ServerFilters
from tests.fixtures.asking import wait_for
from tests.fixtures.services import POSTGRESQL, administrator
from tests.fixtures.services.brokers import rabbitmqctl
from tests.integration.trust.trusted_zones import (
    AccountsZone,
    KeysZone,
    SignedZone,
    TlsZone,
    introduce,
)
from tests.integration.zones.zone_deployment import ZoneDeployment, tree

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

PATIENCE_SECONDS = 90.0
OPTIONS = """
[simulated]
build_delay_seconds_min = 0
build_delay_seconds_max = 0.1
operation_delay_seconds_min = 0
operation_delay_seconds_max = 0.1
"""
HOSTS = ["name=h{1..2}:vcpus=32:memory_mb=65536:disk_gb=500"]
TOO_SMALL = ["name=tiny:vcpus=1:memory_mb=64:disk_gb=1"]
SOLO: dict[str, tuple[str | None, list[str]]] = {"solo": (None, HOSTS)}
LAYOUTS: dict[str, tuple[dict[str, tuple[str | None, list[str]]], frozenset[str]]] = {
    "no scheduler": (SOLO, frozenset({"solo"})),
    "one scheduler": (SOLO, frozenset()),
    "three layers": (
        {"root": (None, TOO_SMALL), "mid": ("root", TOO_SMALL), "leaf": ("mid", HOSTS)},
        frozenset({"mid"}),
    ),
}
TRUST: dict[str, dict[str, Any]] = {
    "open": {},
    "accounts": {"kind": AccountsZone},
    "signed": {"kind": KeysZone, "introduce": introduce},
    "TLS": {"kind": TlsZone, "introduce": introduce},
    "signed accounts and TLS": {"kind": SignedZone, "introduce": introduce},
}
SHORT = {("no scheduler", "open"), ("no scheduler", "signed")}
"""The others are like the deployments of other tests."""
UNKNOWN = "11111111-2222-4333-8444-555555555555"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            (layout, trust),
            id=f"{layout}-{trust}".replace(" ", "-"),
            marks=pytest.mark.long if (layout, trust) not in SHORT else (),
        )
        for layout in LAYOUTS
        for trust in TRUST
    ],
)
def api(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ZoneDeployment]:
    layout, trust = request.param
    shape, in_process = LAYOUTS[layout]
    folder: Path = tmp_path_factory.mktemp("layout")
    arguments = {"options": OPTIONS, "in_process": in_process, **TRUST[trust]}
    with tree(folder, POSTGRESQL, shape, **arguments) as zones:
        root = next(iter(zones.values()))
        own = 1 if len(shape) > 1 else 2
        below = {"mid": 3} if len(shape) > 1 else {}
        vcpus = {"mid": 32} if len(shape) > 1 else {}
        wait_for(
            lambda: (
                (root.up_hosts(), root.hosts_below(), root.vcpus_below()) == (own, below, vcpus)
            ),
            "all hosts are known",
            PATIENCE_SECONDS,
        )
        yield root


@pytest.fixture(scope="module")
def sizes(api: ZoneDeployment) -> dict[str, str]:
    """Return flavors that fit the hosts, and one that does not."""
    return {
        "small": api.create_flavor("small", vcpus=2, ram=512, disk=1),
        "large": api.create_flavor("large", vcpus=4, ram=1024, disk=1),
        "huge": api.create_flavor("huge", vcpus=1000, ram=1024, disk=1),
    }


def act(api: ZoneDeployment, uuid: str, action: dict[str, Any]) -> int:
    return api.request("POST", f"/servers/{uuid}/action", json=action).status_code


def test_servers_are_created_shown_listed_and_deleted(
    api: ZoneDeployment, sizes: dict[str, str]
) -> None:
    """A request for three, from the first answer to the last trace."""
    uuids = api.create_servers(sizes["small"], 3)
    ends = [api.wait_for_status(uuid, "ACTIVE", "ERROR")["status"] for uuid in uuids]
    assert ends == ["ACTIVE"] * 3
    assert sorted(one["id"] for one in api.servers()) == sorted(uuids)
    for uuid in uuids:
        assert api.request("DELETE", f"/servers/{uuid}").status_code == 204
    wait_for(lambda: not api.servers(), "all are gone", PATIENCE_SECONDS)
    assert api.request("DELETE", f"/servers/{uuids[0]}").status_code == 404


def test_a_server_is_operated_on(api: ZoneDeployment, sizes: dict[str, str]) -> None:
    """Stopped, started, resized and confirmed."""
    (uuid,) = api.create_servers(sizes["small"], 1)
    api.wait_for_status(uuid, "ACTIVE")
    assert act(api, uuid, {"os-stop": None}) == 202
    api.wait_for_status(uuid, "SHUTOFF")
    assert act(api, uuid, {"os-start": None}) == 202
    api.wait_for_status(uuid, "ACTIVE")
    assert act(api, uuid, {"resize": {"flavorRef": sizes["large"]}}) == 202
    api.wait_for_status(uuid, "VERIFY_RESIZE")
    assert act(api, uuid, {"confirmResize": None}) in (202, 204)
    assert api.wait_for_status(uuid, "ACTIVE")["flavor"]["vcpus"] == 4
    actions = api.get(f"/servers/{uuid}/os-instance-actions")["instanceActions"]
    assert {"create", "stop", "start", "resize"} <= {one["action"] for one in actions}
    api.request("DELETE", f"/servers/{uuid}")
    wait_for(lambda: not api.servers(), "it is gone", PATIENCE_SECONDS)


def test_a_request_that_fits_nowhere_ends_with_a_reason(
    api: ZoneDeployment, sizes: dict[str, str]
) -> None:
    """ERROR with a fault, and it can be deleted."""
    (uuid,) = api.create_servers(sizes["huge"], 1)
    failed = api.wait_for_status(uuid, "ACTIVE", "ERROR")
    assert failed["fault"]["message"].startswith("No valid host")
    assert api.request("DELETE", f"/servers/{uuid}").status_code == 204
    wait_for(lambda: not api.servers(), "it is gone", PATIENCE_SECONDS)


def left(inside: SuperConductorAPI, uuid: str) -> bool:
    """Whether a server is still listed without HTTP."""
    filters = ServerFilters(all_projects=True)
    found = inside.list_servers(admin_context(), filters=filters, limit=10, marker=None)
    return uuid in [one.uuid for one in found.instances]


def test_the_interface_behind_the_api_does_what_the_api_does(
    api: ZoneDeployment, sizes: dict[str, str], tmp_path: Path
) -> None:
    """BZ-10: the same request without HTTP is built, seen, stopped and deleted like any other."""
    bus = api.inside(tmp_path)
    inside, context = SuperConductorAPI(bus), admin_context()
    asked = {"server": {"name": "inside", "flavorRef": sizes["small"], "networks": "none"}}
    (made,) = inside.create_servers(context, request_of(asked)).instance_uuids
    shown = api.wait_for_status(made, "ACTIVE", "ERROR")
    found = inside.get_server(context, made)
    assert (found.vm_state, found.host) == ("active", shown["OS-EXT-SRV-ATTR:host"])
    assert shown["flavor"]["original_name"] == found.flavor.name
    inside.operate_server(context, made, "stop", OperationArguments())
    api.wait_for_status(made, "SHUTOFF")
    inside.delete_server(context, made)
    wait_for(lambda: not api.servers(), "it is gone", PATIENCE_SECONDS)
    wait_for(lambda: not left(inside, made), "it is gone inside", PATIENCE_SECONDS)
    bus.close()


def test_each_process_reaches_the_stores_that_it_owns(api: ZoneDeployment) -> None:
    """BZ-09, BZ-11, BZ-12: by the connections and files that it has after all that was done.

    The API has none at all, so it writes nothing; hosts have none but their own journal.
    """
    (cell,) = (f"{api.name}-cell-conductor",)
    owned = {"super": {"api", "cell0"}, "placement": {"placement"}, cell: {"cell"}}
    found = {name: stores_of(api, name) for name in api.processes}
    assert found == {name: owned.get(name, set()) for name in api.processes}
    for name in api.processes:
        assert files_of(api, name) <= {api.folder / name}, name


def test_bad_requests_are_refused(api: ZoneDeployment, sizes: dict[str, str]) -> None:
    """With the same status on every layout."""
    asked = {"server": {"name": "x", "flavorRef": UNKNOWN, "networks": "none"}}
    assert api.request("POST", "/servers", json=asked).status_code in (400, 404)
    assert api.request("POST", "/servers", json={"server": {}}).status_code == 400
    assert api.request("GET", f"/servers/{UNKNOWN}").status_code == 404
    assert act(api, UNKNOWN, {"os-stop": None}) == 404
    assert api.request("DELETE", f"/servers/{UNKNOWN}").status_code == 404


def test_without_a_scheduler_there_is_no_queue_for_one(api: ZoneDeployment) -> None:
    """In the library form the super conductor decides by itself."""
    vhost = api.virtual_hosts()[0]
    listed = rabbitmqctl("list_queues", "-p", vhost, "name").split()
    has_process = any(name.startswith("scheduler") for name in api.processes)
    assert any(name.startswith("scheduler") for name in listed) == has_process


def processes_of(api: ZoneDeployment, name: str) -> list[psutil.Process]:
    """Return a service's process and its workers."""
    running = api.processes[name].running
    assert running is not None
    main = psutil.Process(running.pid)
    return [main, *main.children(recursive=True)]


def stores_of(api: ZoneDeployment, name: str) -> set[str]:
    """Return the kinds of the databases that a service is connected to, whichever zone's."""
    kinds = {make_url(url).database: kind for kind, url in api.database_urls().items()}
    listed = sa.text("SELECT client_port, datname FROM pg_stat_activity WHERE client_port > 0")
    with administrator(POSTGRESQL.url).connect() as connection:
        by_port = dict(map(tuple, connection.execute(listed)))
    server_port = make_url(POSTGRESQL.url).port or 5432
    ports = {
        one.laddr.port
        for process in processes_of(api, name)
        for one in process.net_connections("tcp")
        if one.raddr and one.raddr.port == server_port  # a port may serve another address, too
    }
    return {
        kinds.get(database, str(database)) for port, database in by_port.items() if port in ports
    }


def files_of(api: ZoneDeployment, name: str) -> set[Path]:
    """Return the folders of the database files that a service has open."""
    paths = (
        Path(file.path) for process in processes_of(api, name) for file in process.open_files()
    )
    return {path.parent for path in paths if ".sqlite" in path.name}
