"""Tests of ``armillary-status security check``: each check fails, warns and passes; exit codes."""

import datetime
import re
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import amqp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from sqlalchemy.engine import make_url

from programs import status
from programs.operator.security import command, guests
from rpc.signing import trust
from rpc.signing.keys import SigningKey, create
from rpc.signing.trust import Identity, TrustedKey, TrustList
from tests.fixtures import services
from tests.fixtures.services import Service, administrator
from tests.fixtures.services.brokers import fresh_vhost
from tests.fixtures.services.databases import fresh_database
from tests.unit.programs.conftest import Ended
from tests.unit.programs.operator.conftest import runner

ROOT = Path(__file__).parents[4]
GOOD = "c0rrect-horse-battery"
DAY = 86400
GUEST = "Broker guest account"

Check = Callable[..., Ended]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a directory that other accounts may pass, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def check(folder: Path) -> Check:
    """Return a function that checks a configuration whose state is closed to other accounts."""
    state = folder / "state"
    state.mkdir(mode=0o700)

    def run(text: str, *options: str) -> Ended:
        file = folder / "service.conf"
        has_default = "[DEFAULT]\n" in text
        own = f"state_path = {state}\nhost = host1\n"
        full = text.replace("[DEFAULT]\n", f"[DEFAULT]\n{own}", 1)
        file.write_text(full if has_default else f"[DEFAULT]\n{own}{text}")
        file.chmod(0o600)
        return runner(file, status.make_app)("security", "check", "-f", "json", *options)

    return run


def result_of(ended: Ended, name: str) -> tuple[str, str] | None:
    """Return result and details of a check, None if it was left out."""
    for row in ended.json:
        if row["Check"] == name:
            return row["Result"], row["Details"]
    return None


CELL = "6f1c2f0e-6a0e-4a53-9f5c-0d8f3b0c7a11"
BROKER = "[DEFAULT]\ntransport_url = rabbit://{}@{}:5672/top\n"
DATABASE = "[api_database]\nconnection = {}\n"
POSTGRESQL = "postgresql+psycopg2://{}@{}/armillary_api"
PLACEMENT = "[placement_database]\nconnection = sqlite:////nowhere/placement.sqlite\n"

CASES: dict[str, list[tuple[str, str, str | None]]] = {
    # configuration, options, result
    "Authentication": [
        ("[api]\nauth_strategy = noauth\n", "api", "Warning"),
        ("[api]\nauth_strategy = noauth\nbind_host = 192.0.2.1\n", "api", "Failure"),
        (
            "[api]\nauth_strategy = noauth2\n[placement]\nrest_bind_host = ::\n",
            "placement",
            "Failure",
        ),
        ("[api]\nauth_strategy = keystone\nbind_host = 192.0.2.1\n", "api", "Success"),
        ("", "scheduler", None),
    ],
    "API TLS": [
        ("[api]\nbind_host = 0.0.0.0\n", "api", "Failure"),
        ("[placement]\nrest_bind_host = 10.0.0.1\n", "placement", "Failure"),
        ("[api]\nbind_host = 10.0.0.1\ncert_file = /nowhere.pem\n", "api", "Success"),
        ("[api]\nbind_host = ::1\n", "api", "Success"),
        ("", "conductor", None),
    ],
    "CORS": [
        ("[cors]\nallowed_origin = *\n", "placement", "Warning"),
        ("[cors]\nallowed_origin = https://a.example.org\n", "placement", "Success"),
        ("", "scheduler", None),
    ],
    "Metrics": [
        ("[metrics]\nport = 9377\nlisten = 0.0.0.0\n", "scheduler", "Warning"),
        ("[metrics]\nport = 9377\nlisten = 8.8.8.8\n", "scheduler", "Warning"),
        ("[metrics]\nport = 9377\nlisten = 10.0.0.5\n", "scheduler", "Success"),
        ("[metrics]\nlisten = 0.0.0.0\n", "scheduler", "Warning"),
        ("[metrics]\nlisten = 0.0.0.0\nport = 0\n", "scheduler", None),
    ],
    "Signatures": [
        ("", "scheduler", "Failure"),
        ("[signing]\nmode = accept\n", "scheduler", "Failure"),
        ("[signing]\nmode = required\n", "scheduler", "Success"),
    ],
    "Images": [
        ("[image]\nendpoint = http://10.0.0.5:8774/image\n", "conductor", "Warning"),
        ("[image]\nendpoint = https://api.example.org/image\n", "conductor", "Success"),
        ("[image]\nendpoint = http://127.0.0.1:8774/image\n", "conductor", "Success"),
        (
            "[image]\nendpoint = https://api.example.org/image\nticket_lifetime_seconds = 86400\n",
            "conductor",
            "Warning",
        ),
        ("", "conductor", None),
        ("[image]\nendpoint = http://10.0.0.5:8774/image\n", "compute", None),
    ],
    "Quotas": [
        ("[quota]\ncores = -1\n", "conductor", "Warning"),
        ("", "conductor", "Success"),
        ("[quota]\ncores = -1\n", "compute", None),
    ],
    "Workloads": [
        ("[compute]\ndriver = process\n[process]\nworkload_user = root\n", "compute", "Failure"),
        ("[compute]\ndriver = process\n[process]\nnetwork = host\n", "compute", "Warning"),
        ("[compute]\ndriver = process\n[process]\nmounts = host\n", "compute", "Warning"),
        ("[compute]\ndriver = process\n[process]\nlimits = rlimit\n", "compute", "Warning"),
        ("[compute]\ndriver = process\n", "compute", "Success"),
        ("[compute]\ndriver = simulated\n[process]\nworkload_user = root\n", "compute", None),
    ],
    "Migrations": [
        ("[compute]\ndriver = libvirt\n", "compute", "Warning"),
        (
            "[compute]\ndriver = libvirt\n[libvirt]\nlive_migration_with_native_tls = true\n"
            "live_migration_uri = qemu+tcp://%s/system\n",
            "compute",
            "Warning",
        ),
    ],
    "Consoles": [
        ("[compute]\ndriver = libvirt\n", "compute", None),
        ("[compute]\ndriver = libvirt\n[serial_console]\nenabled = true\n", "compute", "Warning"),
        (
            "[compute]\ndriver = libvirt\n[serial_console]\nenabled = true\n"
            "cert_file = /nowhere.pem\nclient_ca_file = /nowhere.pem\n",
            "compute",
            "Success",
        ),
        ("", "api", None),
        ("[serial_console]\nenabled = true\nbase_url = ws://10.0.0.5:6083/\n", "api", "Warning"),
        ("[serial_console]\nenabled = true\nbase_url = wss://10.0.0.5:6083/\n", "api", "Success"),
    ],
    "Heartbeats": [
        (
            "[DEFAULT]\nservicegroup_driver = mc\n[servicegroup]\n"
            "memcache_servers = 127.0.0.1:11211, 10.0.0.5:11211\n",
            "cell-conductor",
            "Warning",
        ),
        ("[DEFAULT]\nservicegroup_driver = mc\n", "cell-conductor", "Success"),
        ("", "cell-conductor", None),
    ],
    "Broker TLS": [
        (BROKER.format(f"scheduler:{GOOD}", "mq1"), "scheduler", "Failure"),
        (BROKER.format(f"scheduler:{GOOD}", "127.0.0.1"), "scheduler", "Success"),
        (
            BROKER.format(f"scheduler:{GOOD}", "mq1") + "[oslo_messaging_rabbit]\nssl = true\n",
            "scheduler",
            "Success",
        ),
    ],
    "Broker accounts": [
        (BROKER.format(f"guest:{GOOD}", "mq1"), "scheduler", "Failure"),
        (BROKER.format(f"armillary:{GOOD}", "mq1"), "scheduler", "Warning"),
        (BROKER.format(f"west-scheduler:{GOOD}", "mq1"), "scheduler", "Success"),
        (BROKER.format(f"compute-host1:{GOOD}", "mq1"), "compute", "Success"),
        (BROKER.format(f"compute-host2:{GOOD}", "mq1"), "compute", "Warning"),
        (
            BROKER.format(f"cell-conductor-{CELL}:{GOOD}", "mq1")
            + f"[cell]\nuuid = {CELL}\ntransport_url = rabbit://guest:{GOOD}@mq1/cell1\n",
            "cell-conductor",
            "Failure",
        ),
        (BROKER.format(f"api:{GOOD}", "mq1"), "api scheduler", "Warning"),
        ("", "scheduler", None),
    ],
    "Database TLS": [
        (DATABASE.format(POSTGRESQL.format(f"armillary:{GOOD}", "db1")), "conductor", "Failure"),
        (
            DATABASE.format(POSTGRESQL.format(f"armillary:{GOOD}", "db1") + "?sslmode=require"),
            "conductor",
            "Warning",
        ),
        (
            DATABASE.format(POSTGRESQL.format(f"armillary:{GOOD}", "db1") + "?sslmode=verify-full"),
            "conductor",
            "Success",
        ),
        (
            DATABASE.format(POSTGRESQL.format(f"armillary:{GOOD}", "localhost")),
            "conductor",
            "Success",
        ),
        (DATABASE.format("sqlite:////nowhere/api.sqlite"), "conductor", "Success"),
    ],
    "Database accounts": [
        (DATABASE.format(POSTGRESQL.format(f"postgres:{GOOD}", "db1")), "conductor", "Failure"),
        (DATABASE.format(POSTGRESQL.format(f"armillary:{GOOD}", "db1")), "conductor", "Success"),
    ],
    "Passwords": [
        (BROKER.format("scheduler:Secret", "mq1"), "scheduler", "Failure"),
        (BROKER.format("scheduler-long:scheduler-long", "mq1"), "scheduler", "Failure"),
        (BROKER.format("scheduler:", "mq1"), "scheduler", "Failure"),
        (BROKER.format("scheduler:Xy7-_", "mq1"), "scheduler", "Failure"),
        (BROKER.format(f"s:{GOOD}@mq0,s:guest", "mq1"), "scheduler", "Failure"),
        (DATABASE.format(POSTGRESQL.format("armillary:changeme", "db1")), "conductor", "Failure"),
        (DATABASE.format(POSTGRESQL.format("armillary", "localhost")), "conductor", "Success"),
        (BROKER.format(f"scheduler:{GOOD}", "mq1"), "scheduler", "Success"),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "roles", "result"),
    [(name, *case) for name, cases in CASES.items() for case in cases],
)
def test_a_setting_is_checked(
    name: str, text: str, roles: str, result: str | None, check: Check
) -> None:
    """Each check sees the weaker setting, the documented one, and what is not its business."""
    options = [f"--role={role}" for role in roles.split()]
    found = result_of(check(text, *options), name)
    assert (found and found[0]) == result
    assert GOOD not in str(found)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("", "scheduler"),
        ("[api]\nbind_port = 8774\n", "api"),
        (f"{PLACEMENT}[api]\nauth_strategy = token_file\ntoken_file = /x\n", "placement"),
        (DATABASE.format("sqlite:////x"), "conductor"),
        ("[cell_database]\nconnection = sqlite:////x\n", "cell-conductor"),
        ("[compute]\ndriver = simulated\n", "compute"),
        (f"{PLACEMENT}[api]\nbind_port = 8774\n", "api, placement"),
    ],
)
def test_roles_are_told_by_the_sections(text: str, roles: str, check: Check) -> None:
    """An operator need not name them."""
    assert result_of(check(text), "Roles") == ("Success", roles)


# Files --------------------------------------------------------------------------------------------


def test_a_configuration_that_others_may_read_is_a_failure(check: Check, folder: Path) -> None:
    """It has passwords; a directory that others may not pass closes it as well."""
    name, file = "Configuration files", folder / "service.conf"
    assert result_of(check(""), name) == ("Success", "")

    def run_with(mode: int) -> tuple[str, str] | None:
        file.chmod(mode)
        ended = runner(file, status.make_app)("security", "check", "-f", "json")
        return result_of(ended, name)

    assert run_with(0o644) == ("Failure", f"every account may read {file} (mode 0644)")
    assert run_with(0o602) == ("Failure", f"every account may change {file} (mode 0602)")
    assert run_with(0o660) == ("Failure", f"its group may change {file} (mode 0660)")
    assert run_with(0o640) == ("Success", "")
    policy = folder / "policy.yaml"
    policy.write_text("{}")
    policy.chmod(0o666)
    ended = check(f"[oslo_policy]\npolicy_file = {policy}\n")
    assert f"may change {policy}" in str(result_of(ended, name))
    folder.chmod(0o750)
    assert run_with(0o644) == ("Success", "")


@pytest.mark.parametrize(
    "option",
    ["[signing]\nkey_file", "[api]\nkey_file", "[api]\ntoken_file", "[placement]\nrest_key_file",
     "[oslo_messaging_rabbit]\nssl_key_file", "[serial_console]\nkey_file",
     "[serial_console]\ntls_key_file", "[console]\nsession_key_file"],
)  # fmt: skip
def test_a_key_that_others_may_read_is_a_failure(option: str, check: Check, folder: Path) -> None:
    """Whatever it is for."""
    secret = folder / "secret.key"
    secret.write_text("tokens: []\n")
    for mode, result in ((0o644, "Failure"), (0o600, "Success")):
        secret.chmod(mode)
        found = result_of(check(f"{option} = {secret}\n"), "Keys and tokens")
        assert found is not None
        assert found[0] == result


def test_a_database_that_others_may_read_is_a_failure(check: Check, folder: Path) -> None:
    """As is its write-ahead log, and all below a state directory that others may pass."""
    database = folder / "api.sqlite"
    log, journal = folder / "api.sqlite-wal", folder / "state" / "journal.sqlite"
    for path in (database, log, journal):
        path.write_text("")
        path.chmod(0o600)
    text = DATABASE.format(f"sqlite:///{database}")
    assert result_of(check(text), "State files") == ("Success", "")
    log.chmod(0o644)
    assert str(log) in str(result_of(check(text), "State files"))
    log.chmod(0o600)
    journal.chmod(0o644)
    assert result_of(check(text), "State files") == ("Success", "")
    (folder / "state").chmod(0o755)
    assert result_of(check(text), "State files") == (
        "Failure", f"every account may read {journal} (mode 0644)",
    )  # fmt: skip
    journal.chmod(0o600)
    trail = folder / "audit.log"
    trail.write_text("")
    trail.chmod(0o644)
    assert result_of(check(f"{text}[audit]\nlog_file = {trail}\n"), "State files") == (
        "Warning", f"every account may read {trail} (mode 0644)",
    )  # fmt: skip


# Expiry -------------------------------------------------------------------------------------------


def a_certificate(path: Path, days: float) -> Path:
    """Write a certificate that expires after a number of days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "service")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=100))
        .not_valid_after(now + datetime.timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(made.public_bytes(Encoding.PEM))
    return path


def test_migrations_need_certificates_that_are_valid(
    check: Check, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of libvirt and of QEMU: one is missing, all are there, one has expired."""
    monkeypatch.setattr(guests, "PKI", folder / "pki")
    text = "[compute]\ndriver = libvirt\n[libvirt]\nlive_migration_with_native_tls = true\n"
    needed = [folder / "pki" / name for name in (*guests.OF_LIBVIRT, *guests.OF_QEMU)]
    for path in needed:
        path.parent.mkdir(parents=True, exist_ok=True)
        a_certificate(path, 365)
    assert result_of(check(text), "Migrations") == ("Success", "")
    a_certificate(needed[0], -1)
    needed[-1].unlink()
    result, details = result_of(check(text), "Migrations") or ("", "")
    assert (result, f"needs {needed[-1]}" in details) == ("Failure", True)
    assert f"{needed[0]} has expired" in details


def test_a_certificate_that_expires_is_told_in_time(check: Check, folder: Path) -> None:
    """Of services, authorities and clients of databases; sooner or later, as is asked."""
    for days, result in ((-1, "Failure"), (20, "Warning"), (40, "Success")):
        path = a_certificate(folder / "a.pem", days)
        url = f"postgresql+psycopg2://a:{GOOD}@db1/x?sslmode=verify-full&sslcert={path}"
        for text in (
            f"[api]\ncert_file = {path}\n",
            f"[placement]\nrest_ca_file = {path}\n",
            f"[oslo_messaging_rabbit]\nssl_cert_file = {path}\n",
            DATABASE.format(url),
        ):
            found = result_of(check(text), "Certificates")
            assert found is not None
            assert found[0] == result
    text = f"[api]\ncert_file = {path}\n"
    assert "Warning" in str(result_of(check(text, "--expires-within=50"), "Certificates"))
    assert "Failure" in str(result_of(check("[api]\nca_file = /nowhere\n"), "Certificates"))


def test_a_service_without_a_key_soon_is_told_in_time(check: Check, folder: Path) -> None:
    """By the last of its keys: an older one that expires after a rotation is as it should be."""
    root, key = create(folder / "root.key"), create(folder / "own.key")

    def run_with(*ends: float | None, roots: SigningKey = root) -> tuple[str, str] | None:
        keys = tuple(TrustedKey(key.public, end) for end in ends)
        listed = TrustList("services", 1, [Identity("api-1", "api", None, keys)])
        (folder / "trust.json").write_text(trust.signed_document(listed, root))
        text = (
            f"[signing]\nmode = required\ntrust_file = {folder}/trust.json\n"
            f"root_keys = {roots.public.text}\n"
        )
        return result_of(check(text), "Signing keys")

    now = time.time()
    assert run_with(None) == run_with(now + 40 * DAY) == ("Success", "")
    assert run_with(now + DAY, None) == ("Success", "")
    assert "Warning" in str(run_with(now + DAY))
    assert "Failure" in str(run_with(now - DAY))
    assert "Failure" in str(run_with(None, roots=key))


def test_cells_that_may_name_any_host_or_none_are_told(check: Check, folder: Path) -> None:
    """One cell alone may name any: it takes the names of no other."""
    root, key = create(folder / "root.key"), create(folder / "own.key")

    def run_with(**hosts: tuple[str, ...]) -> tuple[str, str]:
        keys = (TrustedKey(key.public),)
        cells = [
            Identity(name, "cell_conductor", f"scope-of-{name}", keys, patterns)
            for name, patterns in hosts.items()
        ]
        document = trust.signed_document(TrustList("services", 1, cells), root)
        (folder / "trust.json").write_text(document)
        text = (
            f"[signing]\nmode = required\ntrust_file = {folder}/trust.json\n"
            f"root_keys = {root.public.text}\n"
        )
        return result_of(check(text), "Signing keys") or ("", "")

    assert run_with(cell1=("*",)) == ("Success", "")
    assert run_with(cell1=())[0] == "Warning"
    result, details = run_with(cell1=("rack1-*",), cell2=("*",))
    assert (result, "cell2 is enrolled for every name" in details) == ("Warning", True)
    assert run_with(cell1=("rack1-*",), cell2=("rack2-*",)) == ("Success", "")
    result, details = run_with(cell1=("rack*",), cell2=("rack2-*", "gen-1"))
    assert (result, "enrolled for rack*, and cell2 for rack2-*:" in details) == ("Warning", True)
    assert "cell2 is enrolled" not in details
    assert run_with(cell1=("rack2-*", "gen-1"), cell2=("rack*",))[0] == "Warning"
    result, details = run_with(cell1=("rack1-*",), cell2=())
    assert (result, "cell2 is enrolled for no names" in details) == ("Warning", True)
    assert "cell1" not in details


def test_tokens_that_never_end_or_end_soon_are_told(check: Check, folder: Path) -> None:
    """One that never ends is as good for a thief in ten years."""
    tokens = folder / "tokens.yaml"

    def run_with(expires: str) -> Any:
        digest = "0" * 64
        tokens.write_text(
            f"tokens: [{{sha256: '{digest}', user: alice, project: p, roles: [member]{expires}}}]\n"
        )
        tokens.chmod(0o600)
        return result_of(check(f"[api]\ntoken_file = {tokens}\n"), "Token expiry")

    assert run_with("") == ("Warning", f"a token of alice in {tokens} never expires")
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3)
    assert "expires on" in run_with(f", expires: {soon:%Y-%m-%dT%H:%M:%SZ}")[1]
    assert run_with(", expires: 2099-01-01T00:00:00Z") == ("Success", "")
    result, details = run_with(", expires: 2099-01-01")
    assert (result, "is not a time such as" in details) == ("Failure", True)


def test_tokens_without_a_time_zone_expire_in_utc(
    check: Check, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the API reads them, wherever the machine is."""
    tokens = folder / "tokens.yaml"
    past_limit = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=30, hours=6)
    tokens.write_text(
        f"tokens: [{{sha256: '{'0' * 64}', user: alice, project: p, roles: [member], "
        f"expires: '{past_limit:%Y-%m-%dT%H:%M:%S}'}}]\n"
    )
    tokens.chmod(0o600)
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Pacific/Kiritimati")
        time.tzset()
        found = result_of(check(f"[api]\ntoken_file = {tokens}\n"), "Token expiry")
    time.tzset()
    assert found == ("Success", "")


# The command --------------------------------------------------------------------------------------


def test_guest_is_tried_only_when_asked(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check works without broker and network otherwise."""
    tried = []

    class Connection:
        def __init__(self, host: str, userid: str, password: str, **_: Any) -> None:
            tried.append((host, userid, password))

        def connect(self) -> None:
            if tried[-1][0].startswith("mq2"):
                raise amqp.AccessRefused

        def close(self) -> None:
            pass

    monkeypatch.setattr(amqp, "Connection", Connection)
    text = BROKER.format(f"s:{GOOD}@mq2,s:{GOOD}", "mq1")
    assert result_of(check(text), GUEST) is None
    assert tried == []
    found = result_of(check(text, "--connect"), GUEST)
    assert found is not None
    assert found[0] == "Failure"
    assert "mq1" in found[1]
    assert "mq2" not in found[1]
    assert tried == [("mq2:5672", "guest", "guest"), ("mq1:5672", "guest", "guest")]


@pytest.mark.rabbitmq
def test_a_broker_is_asked_whom_it_lets_in(check: Check) -> None:
    """A known account that may not use a virtual host is one all the same; silence is told."""
    with fresh_vhost() as url:
        for vhost in (url, f"{url}-another"):
            found = result_of(check(f"[DEFAULT]\ntransport_url = {vhost}\n", "--connect"), GUEST)
            assert found is not None
            assert found[0] == "Failure"
    silent = make_url(url).set(port=1).render_as_string(hide_password=False)
    found = result_of(check(f"[DEFAULT]\ntransport_url = {silent}\n", "--connect"), GUEST)
    assert found is not None
    assert found[0] == "Warning"


@pytest.mark.parametrize(
    ("service", "make", "drop"),
    [
        pytest.param(
            services.POSTGRESQL, ["CREATE ROLE {user} LOGIN"], "DROP ROLE {user}",
            marks=pytest.mark.postgresql, id="postgresql",
        ),
        pytest.param(
            services.POSTGRESQL, ["CREATE ROLE {user} LOGIN CREATEROLE"], "DROP ROLE {user}",
            marks=pytest.mark.postgresql, id="postgresql-roles",
        ),
        pytest.param(
            services.MARIADB, ["CREATE USER {user}", "GRANT ALL ON {database}.* TO {user}"],
            "DROP USER {user}", marks=pytest.mark.mariadb, id="mariadb",
        ),
        pytest.param(
            services.MARIADB, ["CREATE USER {user}", "GRANT SELECT ON *.* TO {user}"],
            "DROP USER {user}", marks=pytest.mark.mariadb, id="mariadb-all",
        ),
    ],
)  # fmt: skip
def test_a_database_is_asked_what_an_account_may_do(
    service: Service, make: list[str], drop: str, check: Check, request: pytest.FixtureRequest
) -> None:
    """Its own database is all that it needs."""
    user = f"armillary_{uuid.uuid4().hex[:12]}"
    with fresh_database(service) as text, administrator(service.url).connect() as connection:
        url = make_url(text)
        for statement in make:
            words = statement.format(user=user, database=url.database)
            connection.exec_driver_sql(words)
        try:
            own = url.set(username=user).render_as_string(hide_password=False)
            found = result_of(check(DATABASE.format(own), "--connect"), "Database accounts")
        finally:
            connection.exec_driver_sql(drop.format(user=user))
    assert found is not None
    assert found[0] == ("Success" if "-" not in request.node.callspec.id else "Failure"), found[1]


def test_the_worst_result_is_the_exit_code(check: Check) -> None:
    """As of the upgrade check; a mistake in the configuration is neither."""
    good = "[signing]\nmode = required\n"
    assert check(good).code == 0
    assert check(f"{good}[metrics]\nport = 1\nlisten = 0.0.0.0\n").code == 1
    assert check("").code == 2
    assert check("[signing]\nmode = sometimes\n").code == 255


def test_the_operator_s_guide_describes_each_check() -> None:
    """And no others."""
    text = (ROOT / "docs" / "operating" / "security-check.md").read_text()
    rows = text[text.index("| check |") :].splitlines()[2:]
    listed = [match[1] for row in rows if (match := re.match(r"\| ([^|]+) \|", row))]
    assert listed == [name for name, _ in command.CHECKS]
