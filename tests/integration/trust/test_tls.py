"""TLS everywhere: a deployment whose broker, database server and API speak nothing else.

The authority is the test's own; the broker wants to see a certificate of each client. Its programs
are started as an operator starts them, those of most other deployments are forked.
"""

import datetime
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy as sa
from oslo_config import cfg

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.super_conductor.zones.interface import ZoneAPI
from rpc.notifications.event_feed import connection_to
from rpc.transport import Bus
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import (
    assert_all_active,
    assert_nothing_is_lost,
    delete_everything,
)
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.deployment import BIN, Cell, Deployment, running
from tests.fixtures.messages.interfaces import part_of
from tests.fixtures.programs import forked_servers
from tests.fixtures.signing.authority import Certificate, CertificateAuthority
from tests.fixtures.waiting import seconds
from tests.integration.trust.tls_stores import TlsBroker, TlsDatabases, tls_mariadb, tls_stores

pytestmark = pytest.mark.sampled_file(every=3)

TOP, CELL = "top", "cell1"
TIMEOUT_SECONDS = 300
DATABASES = ("api", "cell0", "placement", CELL)
SIMULATED = "[simulated]\nbuild_delay_seconds_min = 0.1\nbuild_delay_seconds_max = 0.2\n"

Stores = tuple[TlsBroker, TlsDatabases, CertificateAuthority]


def broker_options(authority: CertificateAuthority, mine: Certificate) -> dict[str, Any]:
    return {
        "ssl": True,
        "ssl_ca_file": str(authority.ca_file),
        "ssl_cert_file": str(mine.cert_file),
        "ssl_key_file": str(mine.key_file),
    }


class TlsDeployment(Deployment):
    """Its APIs speak HTTPS; placement's asks clients for a certificate."""

    def __init__(self, folder: Path, authority: CertificateAuthority, **arguments: Any) -> None:
        lines = [
            f"{name} = {value}"
            for name, value in broker_options(authority, authority.issue("services")).items()
        ]
        options = "\n".join([SIMULATED, "[oslo_messaging_rabbit]", *lines, ""])
        super().__init__(
            folder, options=options, schedulers=1, start_program=forked_servers.run, **arguments
        )
        self.api_url = self.api_url.replace("http:", "https:")
        self._session.verify = str(authority.ca_file)
        self._session.trust_env = False
        self.authority = authority
        self._mine = authority.issue("api")

    def renew(self) -> str:
        """Give the APIs another certificate, in the files of the former one; return it."""
        return self.authority.issue("api").cert_file.read_text()

    def _add(self, name: str, binary: str, options: str, *, transport_url: str = "") -> None:
        if binary == "api":
            options += f"cert_file = {self._mine.cert_file}\nkey_file = {self._mine.key_file}\n"
        if binary == "placement":
            self.placement_port = int(options.rpartition("rest_bind_port = ")[2])
            options += (
                f"rest_cert_file = {self._mine.cert_file}\nrest_key_file = {self._mine.key_file}\n"
                f"rest_ca_file = {self.authority.ca_file}\n"
            )
        super()._add(name, binary, options, transport_url=transport_url)


@pytest.fixture(scope="module")
def stores() -> Iterator[Stores]:
    with tls_stores((TOP, CELL), DATABASES) as lent:
        yield lent


@pytest.fixture(scope="module")
def deployment(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsDeployment]:
    broker, databases, authority = stores
    cell = Cell(
        name=CELL,
        transport_url=broker.url(CELL),
        database_url=databases.url(CELL),
        agents={"agent-1": ["name=host-{1..4}:vcpus=16:memory_mb=32768:disk_gb=500"]},
    )
    made = TlsDeployment(
        tmp_path_factory.mktemp("tls"),
        authority,
        top_url=broker.url(TOP),
        databases={name: databases.url(name) for name in DATABASES if name != CELL},
        cells=[cell],
    )
    with running(made):
        yield made


def conf_with(**options: Any) -> cfg.ConfigOpts:
    """Return a configuration with these options of the broker's driver."""
    conf: cfg.ConfigOpts = messaging_conf()
    Bus(conf, "kombu+memory:////options").close()  # registers the options of messaging
    for name, value in options.items():
        conf.set_override(name, value, group="oslo_messaging_rabbit")
    return conf


def test_everything_works_over_tls(deployment: Deployment, stores: Stores) -> None:
    """Builds and deletes, with the broker, the databases and the API."""
    small = deployment.create_flavor("small", vcpus=1, ram=512, disk=2)
    uuids = [uuid for _ in range(3) for uuid in deployment.create_servers(small, 3)]
    assert_all_active(deployment, uuids)
    assert_nothing_is_lost(deployment, uuids)
    delete_everything(deployment)
    assert all(stores[1].is_encrypted(name) for name in DATABASES)


def test_the_api_speaks_to_no_client_without_tls(deployment: Deployment) -> None:
    """It says so."""
    answer = requests.get(deployment.api_url.replace("https:", "http:"), timeout=TIMEOUT_SECONDS)
    assert answer.status_code == 400


def test_placement_lets_in_who_has_a_certificate(deployment: TlsDeployment) -> None:
    """And no other client, before it even looks at a token."""
    url, believed = f"https://127.0.0.1:{deployment.placement_port}/", deployment.authority.ca_file
    mine = deployment.authority.issue("client")
    shown = (str(mine.cert_file), str(mine.key_file))
    assert requests.get(url, verify=str(believed), cert=shown, timeout=TIMEOUT_SECONDS).ok
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(url, verify=str(believed), timeout=TIMEOUT_SECONDS)


def test_a_renewed_certificate_is_shown_without_a_restart(deployment: TlsDeployment) -> None:
    """By the API and by placement, from the next connection on; open ones stay."""
    assert deployment.get("/flavors")
    renewed = deployment.renew()
    for port in (int(deployment.api_url.rpartition(":")[2]), deployment.placement_port):
        wait_for(
            lambda port=port: (
                ssl.get_server_certificate(("127.0.0.1", port)).split()  # type: ignore[misc]
                == renewed.split()
            ),
            f"port {port} shows the renewed certificate",
            30,
        )
    assert deployment.get("/flavors")
    logs = [each.log.read_text(errors="replace") for each in deployment.processes.values()]
    assert not any("stays in use" in log for log in logs)


def test_the_security_check_asks_the_broker_and_the_databases(deployment: TlsDeployment) -> None:
    """As the services do: with the certificate of the client."""
    command = [BIN / "armillary-status", "--config-file", deployment.folder / "super.conf"]
    check = ["security", "check", "--connect", "-f", "json"]
    ran = subprocess.run(
        [*map(str, command), *check], capture_output=True, text=True, timeout=waiting.seconds(120)
    )
    details = {row["Check"]: row["Details"] for row in json.loads(ran.stdout)}
    assert "lets guest in" in details["Broker guest account"]
    assert "cannot be asked" not in details["Broker guest account"]
    assert "superuser" in details["Database accounts"]


def test_each_program_ends_when_it_is_told_to(deployment: TlsDeployment) -> None:
    """By itself, with the code 0; each was started by the command that is installed.

    The deployment is not used again: this is the last test of it.
    """
    commands = {Path(each.command[0]).name for each in deployment.processes.values()}
    services = ("api", "compute", "conductor", "placement", "scheduler")
    assert commands == {f"armillary-{name}" for name in services}
    assert deployment.end() == dict.fromkeys(deployment.processes, 0)


def test_the_broker_has_to_be_of_our_authority(stores: Stores, tmp_path: Path) -> None:
    """Else no message is sent to it, and none of the event feed either."""
    broker, _, authority = stores
    mine = authority.issue("a-client")
    good = conf_with(**broker_options(authority, mine))
    with connection_to(good, broker.url(TOP), heartbeat=0) as connection:
        connection.connect()
    other = CertificateAuthority(tmp_path / "other")
    bad = conf_with(**{**broker_options(authority, mine), "ssl_ca_file": str(other.ca_file)})
    with (
        connection_to(bad, broker.url(TOP), heartbeat=0) as connection,
        pytest.raises(OSError, match="certificate verify failed"),
    ):
        connection.connect()


def test_the_broker_has_to_prove_its_name(stores: Stores) -> None:
    """A certificate of the right authority for another machine is not enough."""
    broker, _, authority = stores
    conf = conf_with(**broker_options(authority, authority.issue("a-client")))
    with connection_to(conf, broker.url(TOP), heartbeat=0) as connection:
        assert connection.ssl["server_hostname"] == "127.0.0.1"
        connection.ssl["server_hostname"] = "another.example"
        with pytest.raises(OSError, match="certificate is not valid for 'another"):
            connection.connect()


@pytest.mark.parametrize("kind", ["none", "expired", "of another authority"])
def test_the_broker_accepts_no_client_without_a_certificate_of_ours(
    kind: str, stores: Stores, tmp_path: Path
) -> None:
    """Whatever the account and its password."""
    broker, _, authority = stores
    options: dict[str, Any] = {"ssl": True, "ssl_ca_file": str(authority.ca_file)}
    if kind == "expired":
        late = authority.issue("late", ends_in=datetime.timedelta(hours=-1))
        options = broker_options(authority, late)
    elif kind == "of another authority":
        stranger = CertificateAuthority(tmp_path / "other").issue("stranger")
        options = broker_options(authority, stranger)
    with (
        connection_to(conf_with(**options), broker.url(TOP), heartbeat=0) as connection,
        pytest.raises(OSError),  # noqa: PT011 - what the broken handshake looks like varies
    ):
        connection.connect()


def test_a_renewed_certificate_is_shown_to_the_broker(
    stores: Stores, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A service that is refused for its expired one is let in with its next attempt."""
    broker, _, authority = stores
    late = authority.issue("renewed", ends_in=datetime.timedelta(hours=-1))
    conf = conf_with(**broker_options(authority, late))
    bus = Bus(conf, broker.url(TOP), process_name="renewed", lock_directory=tmp_path)
    server = bus.server(part_of(ZoneAPI), "renewed", [])
    starting = threading.Thread(target=server.start)
    starting.start()
    try:
        wait_for(lambda: "retrying" in caplog.text, "the service is not let in, and says so", 30)
        assert starting.is_alive()
        authority.issue("renewed")
        starting.join(seconds(60))
        assert not starting.is_alive()
        ZoneAPI(bus, timeout_seconds=30).ping(admin_context(), server="renewed")
    finally:
        authority.issue("renewed")  # else it would neither start nor stop
        server.stop()
        server.wait()
        bus.close()


def test_a_renewed_certificate_is_shown_to_the_database(stores: Stores) -> None:
    """With the next connection, by an engine that was made when it had expired."""
    _, databases, authority = stores
    late = authority.issue("renewed-too", ends_in=datetime.timedelta(hours=-1))
    url = f"{databases.url('api')}&sslcert={late.cert_file}&sslkey={late.key_file}"
    database = Database(url, name="API")
    with pytest.raises(exception.DatabaseUnavailable):
        database.ping()
    authority.issue("renewed-too")
    database.ping()


def test_the_database_has_to_be_of_our_authority(stores: Stores, tmp_path: Path) -> None:
    """And plain connections are refused by it."""
    _, databases, authority = stores
    other = CertificateAuthority(tmp_path / "other")
    tmp_path.chmod(0o755)
    url = databases.url("api")
    Database(url, name="API").ping()
    for wrong in (
        url.replace(str(authority.ca_file), str(other.ca_file)),
        databases.plain_url("api"),
    ):
        with pytest.raises(exception.DatabaseUnavailable):
            Database(wrong, name="API").ping()


def test_a_renewed_certificate_is_shown_to_mariadb() -> None:
    """As to PostgreSQL."""
    with tls_mariadb() as (server, authority):
        late = authority.issue("renewed", ends_in=datetime.timedelta(hours=-1))
        url = f"{server.url()}&ssl_cert={late.cert_file}&ssl_key={late.key_file}"
        database = Database(url, name="API")
        with pytest.raises((exception.DatabaseUnavailable, sa.exc.OperationalError)):
            database.ping()
        authority.issue("renewed")
        database.ping()


def test_mariadb_has_to_be_of_our_authority(tmp_path: Path) -> None:
    """By the driver for MySQL; a plain connection is refused by the server."""
    other = CertificateAuthority(tmp_path / "other")
    with tls_mariadb() as (server, _authority):
        Database(server.url(), name="API").ping()
        with Database(server.url(), name="API").engine.connect() as connection:
            cipher = connection.execute(sa.text("SHOW STATUS LIKE 'Ssl_cipher'")).one()
        assert cipher[1]
        for wrong in (server.url(other.ca_file), server.plain_url()):
            with pytest.raises((exception.DatabaseUnavailable, sa.exc.OperationalError)):
                Database(wrong, name="API").ping()
