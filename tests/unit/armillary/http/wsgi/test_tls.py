"""HTTPS on our HTTP server, with real handshakes: accepted certificates, errors for others."""

import datetime
import io
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from armillary import exception
from armillary.http.wsgi.server import HttpServer
from armillary.http.wsgi.tls import ReloadingContext, TlsFiles, tls_files
from programs.access.errors import ApiNotTrusted, NotAnArmillaryApi
from programs.commands.app import CACERT_VARIABLE, URL_VARIABLE, ClientApp
from programs.http_client import ApiClient
from tests.fixtures import waiting
from tests.fixtures.http_api.slow_clients import leave_immediately
from tests.fixtures.programs.serving import serving
from tests.fixtures.signing.authority import Certificate, CertificateAuthority

pytestmark = pytest.mark.sampled_tests(every=2)

SECONDS_MAX = 60
STAYS = "The previous certificate stays in use"

Serve = Callable[..., str]


class Clock:
    """A clock by which a second has gone by each time a connection has looked at files."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def scheme(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"scheme": environ["wsgi.url_scheme"]}).encode()]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves with a certificate and returns the port's address."""
    with ExitStack() as running:

        def start(certificate: Certificate, ca_file: Path | None = None, threads: int = 4) -> str:
            files = TlsFiles(
                str(certificate.cert_file),
                str(certificate.key_file),
                str(ca_file) if ca_file else None,
            )
            server = running.enter_context(
                serving(scheme, threads=threads, tls=files, clock=Clock())
            )
            return f"https://127.0.0.1:{server.address[1]}"

        yield start


@pytest.fixture
def authority(certificate_authority: CertificateAuthority) -> CertificateAuthority:
    return certificate_authority


def get(url: str, authority: CertificateAuthority) -> dict[str, str]:
    """Ask as the command line does."""
    client = ApiClient(url, cacert=str(authority.ca_file), timeout_seconds=SECONDS_MAX)
    try:
        return client.get("x")
    finally:
        client.close()


def test_who_knows_the_authority_is_served(serve: Serve, authority: CertificateAuthority) -> None:
    """The application learns that it was asked over HTTPS."""
    assert get(serve(authority.issue("api")), authority) == {"scheme": "https"}


def test_a_connection_serves_several_requests(
    serve: Serve, authority: CertificateAuthority
) -> None:
    """The handshake is done once."""
    url, believed = serve(authority.issue("api")), str(authority.ca_file)
    with requests.Session() as session:
        for _ in range(3):
            assert session.get(url, verify=believed, timeout=SECONDS_MAX).status_code == 200


def test_another_authority_is_not_believed(
    serve: Serve, authority: CertificateAuthority, tmp_path: Path
) -> None:
    """The error says what to do."""
    url = serve(CertificateAuthority(tmp_path / "other").issue("api"))
    with pytest.raises(ApiNotTrusted, match="ARMILLARY_CACERT"):
        get(url, authority)


def test_without_cacert_an_authority_of_ones_own_is_not_believed(
    serve: Serve, authority: CertificateAuthority
) -> None:
    """Those of this machine count."""
    client = ApiClient(serve(authority.issue("api")), timeout_seconds=SECONDS_MAX)
    with pytest.raises(ApiNotTrusted):
        client.get("x")


@pytest.mark.parametrize(
    ("hosts", "ends_in", "reason"),
    [
        (("127.0.0.1",), datetime.timedelta(hours=-1), "expired"),
        (("another.example",), datetime.timedelta(days=1), "127.0.0.1"),
    ],
    ids=["expired", "of another host"],
)
def test_a_certificate_that_does_not_fit_is_not_believed(
    hosts: tuple[str, ...],
    ends_in: datetime.timedelta,
    reason: str,
    serve: Serve,
    authority: CertificateAuthority,
) -> None:
    """Although the authority is the right one."""
    url = serve(authority.issue("api", hosts=hosts, ends_in=ends_in))
    with pytest.raises(ApiNotTrusted, match=reason):
        get(url, authority)


def test_who_speaks_plain_http_is_told(serve: Serve, authority: CertificateAuthority) -> None:
    """In plain words, as it would not understand others."""
    url = serve(authority.issue("api")).replace("https:", "http:")
    for _ in range(3):  # and the server serves on
        answer = requests.get(url, timeout=SECONDS_MAX)
        assert answer.status_code == 400
        assert "https://" in answer.text


def test_https_to_a_plain_port_is_one_clear_error(authority: CertificateAuthority) -> None:
    """It names TLS as what failed."""
    with serving(scheme) as server, pytest.raises(NotAnArmillaryApi, match="TLS"):
        get(f"https://127.0.0.1:{server.address[1]}", authority)


def test_old_versions_of_tls_are_refused(serve: Serve, authority: CertificateAuthority) -> None:
    """Nothing before 1.2."""
    port = int(serve(authority.issue("api")).rpartition(":")[2])
    context = ssl.create_default_context(cafile=authority.ca_file)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(("127.0.0.1", port), SECONDS_MAX) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context.wrap_socket(plain, server_hostname="127.0.0.1")


def test_clients_may_have_to_show_a_certificate(
    serve: Serve, authority: CertificateAuthority
) -> None:
    """Who has one of the right authority is let in, who has none is not."""
    url = serve(authority.issue("api"), ca_file=authority.ca_file)
    mine = authority.issue("a-client")
    shown = (str(mine.cert_file), str(mine.key_file))
    let_in = requests.get(url, verify=str(authority.ca_file), cert=shown, timeout=SECONDS_MAX)
    assert let_in.status_code == 200
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(url, verify=str(authority.ca_file), timeout=SECONDS_MAX)


def test_a_client_without_a_handshake_keeps_no_other_waiting(
    serve: Serve, authority: CertificateAuthority
) -> None:
    """Neither who says nothing nor who stops in the middle holds up the next connection."""
    url = serve(authority.issue("api"), threads=3)
    port = int(url.rpartition(":")[2])
    with ExitStack() as idle:
        for words in (b"", b"\x16\x03\x01"):
            idler = idle.enter_context(socket.create_connection(("127.0.0.1", port)))
            idler.sendall(words)
        answers: list[dict[str, str]] = []
        asking = threading.Thread(target=lambda: answers.append(get(url, authority)))
        asking.start()
        asking.join(SECONDS_MAX)
        assert answers == [{"scheme": "https"}]


def test_clients_that_leave_before_a_handshake_log_no_error(
    serve: Serve, authority: CertificateAuthority, caplog: pytest.LogCaptureFixture
) -> None:
    """Any client can do that, as often as it likes: no traceback for each fills the log."""
    url = serve(authority.issue("api"))
    for _ in range(10):
        leave_immediately(("127.0.0.1", int(url.rpartition(":")[2])))
    assert get(url, authority) == {"scheme": "https"}
    assert [each for each in caplog.records if each.exc_info] == []


@pytest.mark.parametrize("broken", ["cert_file", "key_file", "ca_file"])
@pytest.mark.parametrize("how", ["missing", "no PEM"])
def test_files_of_no_use_are_a_configuration_error(
    broken: str, how: str, authority: CertificateAuthority, tmp_path: Path
) -> None:
    """Said when the server is made, with the file's name."""
    mine = authority.issue("api")
    files = {"cert_file": mine.cert_file, "key_file": mine.key_file, "ca_file": authority.ca_file}
    files[broken] = tmp_path / "broken.pem"
    if how == "no PEM":
        files[broken].write_text("nothing")
    given = TlsFiles(**{name: str(path) for name, path in files.items()})
    with pytest.raises(exception.ConfigurationError, match=r"broken\.pem"):
        HttpServer(scheme, host="127.0.0.1", port=0, threads=1, tls=given)


def test_a_key_of_another_certificate_is_a_configuration_error(
    authority: CertificateAuthority,
) -> None:
    """The two have to fit."""
    mixed = TlsFiles(str(authority.issue("one").cert_file), str(authority.issue("two").key_file))
    with pytest.raises(exception.ConfigurationError, match="cannot be used"):
        mixed.context()


def test_a_key_without_certificate_is_a_configuration_error() -> None:
    """Else the port would speak plain HTTP unnoticed."""
    with pytest.raises(exception.ConfigurationError, match=r"\[api\]"):
        tls_files("api", cert_file=None, key_file="a.key", ca_file=None)
    assert tls_files("api", cert_file=None, key_file=None, ca_file=None) is None


def test_a_cacert_of_no_use_is_said(tmp_path: Path) -> None:
    """Before anything is asked."""
    with pytest.raises(exception.Invalid, match="nothing-here"):
        ApiClient("https://127.0.0.1:1", cacert=str(tmp_path / "nothing-here.pem"))


# Renewal


def shown(url: str, authority: CertificateAuthority) -> bytes:
    """Return the certificate that a new connection is shown."""
    context = ssl.create_default_context(cafile=authority.ca_file)
    port = int(url.rpartition(":")[2])
    with (
        socket.create_connection(("127.0.0.1", port), SECONDS_MAX) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        return connection.getpeercert(binary_form=True) or b""


def der(certificate: Certificate) -> bytes:
    return ssl.PEM_cert_to_DER_cert(certificate.cert_file.read_text())


def test_a_renewed_certificate_is_shown_to_the_next_connection(
    serve: Serve, authority: CertificateAuthority
) -> None:
    """The one that is there goes on with the former one, and is served."""
    url, believed = serve(authority.issue("api")), str(authority.ca_file)
    with requests.Session() as session:
        assert session.get(url, verify=believed, timeout=SECONDS_MAX).ok
        (kept,) = _connections(session)
        renewed = authority.issue("api")
        assert shown(url, authority) == der(renewed)
        assert session.get(url, verify=believed, timeout=SECONDS_MAX).ok
        assert _connections(session) == [kept]
        assert kept.sock.getpeercert(binary_form=True) != der(renewed)


def _connections(session: requests.Session) -> list[Any]:
    """Return the connections that a session keeps for its next request."""
    adapter: Any = session.get_adapter("https://")
    (pool,) = adapter.poolmanager.pools._container.values()
    return [each for each in pool.pool.queue if each is not None]


def test_an_expired_certificate_may_be_replaced_while_serving(
    serve: Serve, authority: CertificateAuthority
) -> None:
    """Who was not served is, without a restart."""
    url = serve(authority.issue("api", ends_in=datetime.timedelta(hours=-1)))
    with pytest.raises(ApiNotTrusted, match="expired"):
        get(url, authority)
    authority.issue("api")
    assert get(url, authority) == {"scheme": "https"}


@pytest.mark.parametrize("broken", ["cert_file", "key_file", "ca_file"])
@pytest.mark.parametrize("how", ["missing", "no PEM", "another's"])
def test_new_files_of_no_use_change_nothing(
    broken: str,
    how: str,
    serve: Serve,
    authority: CertificateAuthority,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One log line says so, however many connect; the next good ones are taken."""
    mine, client = authority.issue("api"), authority.issue("a-client")
    clients = CertificateAuthority(mine.cert_file.parent / "clients")
    believed = clients.ca_file
    believed.write_bytes(authority.ca_file.read_bytes())
    url = serve(mine, ca_file=believed)
    files = {"cert_file": mine.cert_file, "key_file": mine.key_file, "ca_file": believed}
    path = files[broken]
    before, good = der(mine), path.read_bytes()
    _spoil(path, how, authority.issue("another").key_file)
    asked: dict[str, Any] = {
        "verify": str(authority.ca_file),
        "cert": (str(client.cert_file), str(client.key_file)),
        "timeout": SECONDS_MAX,
    }
    for _ in range(4):
        assert requests.get(url, **asked).ok
    (line,) = [record.getMessage() for record in caplog.records if STAYS in record.getMessage()]
    assert path.name in line
    path.write_bytes(good)
    assert requests.get(url, **asked).ok
    assert der(mine) == before
    assert [record.getMessage() for record in caplog.records if STAYS in record.getMessage()] == [
        line
    ]


def _spoil(path: Path, how: str, other: Path) -> None:
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(b"nothing" if how == "no PEM" else other.read_bytes())


def test_a_certificate_without_its_key_waits_for_it(
    serve: Serve, authority: CertificateAuthority, caplog: pytest.LogCaptureFixture
) -> None:
    """They are replaced one after the other; a connection between does not log an error."""
    mine = authority.issue("api")
    url, before = serve(mine), der(mine)
    key = mine.key_file.read_bytes()
    authority.issue("api")
    renewed_key = mine.key_file.read_bytes()
    mine.key_file.write_bytes(key)
    assert shown(url, authority) == before
    mine.key_file.write_bytes(renewed_key)
    assert shown(url, authority) == der(mine)
    assert STAYS not in caplog.text


def test_other_authorities_count_for_the_next_client(
    serve: Serve, authority: CertificateAuthority, tmp_path: Path
) -> None:
    """Who has a certificate of the former ones alone is not let in any more."""
    others = CertificateAuthority(tmp_path / "others")
    believed = tmp_path / "clients.pem"
    believed.write_bytes(authority.ca_file.read_bytes())
    url = serve(authority.issue("api"), ca_file=believed)
    believed.write_bytes(others.ca_file.read_bytes())
    for issuer, is_let_in in ((others, True), (authority, False)):
        mine = issuer.issue("a-client")
        cert, verify = (str(mine.cert_file), str(mine.key_file)), str(authority.ca_file)
        try:
            assert requests.get(url, verify=verify, cert=cert, timeout=SECONDS_MAX).ok is is_let_in
        except requests.exceptions.ConnectionError:
            assert not is_let_in


def test_files_are_looked_at_once_a_second(
    authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many connections come."""
    mine, now, looks = authority.issue("api"), [0.0], []
    stamp = TlsFiles.stamp

    def look(files: TlsFiles) -> Any:
        looks.append(files)
        return stamp(files)

    monkeypatch.setattr(TlsFiles, "stamp", look)
    renewed = ReloadingContext(TlsFiles(str(mine.cert_file), str(mine.key_file)), lambda: now[0])
    for second in (0.0, 0.3, 0.9, 1.0, 1.5, 1.9, 2.0):
        now[0] = second
        renewed.current()
    assert len(looks) == 3  # when it was made, and at 1.0 and 2.0


EVENTLET_PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
from armillary import concurrency
concurrency.bootstrap(["x"], "x")
import threading
from programs.commands.app import CACERT_VARIABLE, URL_VARIABLE, ClientApp
from programs.http_client import ApiClient
from armillary.http.wsgi.server import HttpServer
from armillary.http.wsgi.tls import TlsFiles
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [b'{"scheme": "%s"}' % environ["wsgi.url_scheme"].encode()]
cert, key, ca = sys.argv[1:]
server = HttpServer(app, host="127.0.0.1", port=0, threads=3, tls=TlsFiles(cert, key))
server.start()
schemes = []
def ask():
    client = ApiClient(f"https://127.0.0.1:{server.address[1]}", cacert=ca, timeout_seconds=10)
    schemes.append(client.get("x")["scheme"])
    client.close()
threads = [threading.Thread(target=ask) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
server.stop()
server.wait()
print(concurrency.backend(), *schemes)
"""


@pytest.mark.parametrize("backend", ["threading", "eventlet"])
def test_it_works_with_either_concurrency_backend(
    backend: str, authority: CertificateAuthority
) -> None:
    """Server and clients in one process."""
    mine = authority.issue("api")
    files = map(str, (mine.cert_file, mine.key_file, authority.ca_file))
    result = subprocess.run(
        [sys.executable, "-c", EVENTLET_PROGRAM, *files],
        env={**os.environ, "ARMILLARY_CONCURRENCY_BACKEND": backend},
        capture_output=True, text=True, timeout=waiting.seconds(60), check=False,
    )  # fmt: skip
    assert result.stdout.split() == [backend, "https", "https", "https"], result.stderr


@pytest.mark.parametrize("said_by", ["option", "variable", "nothing"])
def test_the_command_line_takes_an_authority(
    said_by: str, serve: Serve, authority: CertificateAuthority
) -> None:
    """By --cacert or from the environment; without it a private authority is unknown."""
    url, path = serve(authority.issue("api")), str(authority.ca_file)
    out, err = io.StringIO(), io.StringIO()
    environment = {CACERT_VARIABLE: path} if said_by == "variable" else {}
    options = ["--cacert", path] if said_by == "option" else []
    app = ClientApp(out, err, {URL_VARIABLE: url, **environment})
    code = app.run([*options, "flavor", "list"])
    assert code == (1 if said_by == "nothing" else 0)
    assert ("is not trusted" in err.getvalue()) is (said_by == "nothing")
