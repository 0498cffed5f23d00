"""The attestation service is asked over HTTPS, here one that stands in for it on loopback."""

import datetime
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from oslo_config import cfg

from scheduler.hosts.attestation_cache import AskFailed, Attestations, AttestationService
from tests.fleets import scheduling_conf

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stand-in")])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a key and a certificate for 127.0.0.1 that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(NAME)
        .issuer_name(NAME)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


class StandIn(ThreadingHTTPServer):
    """Answers every POST with what a test put there."""

    daemon_threads = True
    status = 200
    answer: bytes = b""
    asked: Any = None
    may_answer = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked = (self.path, dict(self.headers), json.loads(body))
        self.server.may_answer.wait(10)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_args: object) -> None: ...


@pytest.fixture(scope="module")
def serving(certificate: Path) -> Iterator[StandIn]:
    server = StandIn(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.fixture
def server(serving: StandIn) -> StandIn:
    serving.status = 200
    serving.may_answer.set()
    serving.answer = json.dumps(
        {"hosts": [{"host_name": "node1", "trust_lvl": "trusted", "vtime": "whenever"}]}
    ).encode()
    return serving


def conf_for(port: int, **options: Any) -> cfg.ConfigOpts:
    values = {"attestation_server": "127.0.0.1", "attestation_port": port, **options}
    return scheduling_conf(**{f"trusted_computing__{name}": each for name, each in values.items()})


def service(port: int, **options: Any) -> AttestationService:
    return AttestationService(conf_for(port, **options))


def test_levels_are_read_from_the_answer(server: StandIn, certificate: Path) -> None:
    """The service gets the names, and who asks."""
    asking = service(
        server.server_port,
        attestation_server_ca_file=str(certificate),
        attestation_auth_blob="i-am-allowed",
    )
    assert asking.poll(["node1", "node2"]) == {"node1": "trusted"}
    path, headers, body = server.asked
    assert path == "/OpenAttestationWebServices/V1.0/PollHosts"
    assert headers["x-auth-blob"] == "i-am-allowed"
    assert headers["Content-Type"] == "application/json"
    assert body == {"hosts": ["node1", "node2"]}


def test_a_certificate_of_an_unknown_authority_is_refused(server: StandIn) -> None:
    """Nothing is sent to an unknown server."""
    server.asked = None
    with pytest.raises(AskFailed, match="does not respond"):
        service(server.server_port).poll(["node1"])
    assert server.asked is None


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_the_operator_may_trust_any_certificate(server: StandIn) -> None:
    """By an option that says so."""
    asking = service(server.server_port, attestation_insecure_ssl=True)
    assert asking.poll(["node1"]) == {"node1": "trusted"}


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (401, b"{}", "responded with HTTP 401"),
        (302, b"", "responded with HTTP 302"),
        (200, b"no json", "invalid response"),
        (200, b"[]", "invalid response"),
        (200, b'{"hosts": null}', "invalid response"),
        (200, b'{"hosts": [1]}', "invalid response"),
        (200, b'{"hosts": [{"host_name": "node1"}]}', "invalid response"),
        (200, b"[" * 100_000, "invalid response"),
        (200, b" " * (5 * 1024 * 1024), "is too large"),
    ],
    ids=["refused", "elsewhere", "text", "list", "null", "number", "no level", "deep", "long"],
)
def test_an_answer_that_is_none_is_a_failure(
    server: StandIn, certificate: Path, status: int, answer: bytes, message: str
) -> None:
    """With the address, for the log."""
    server.status, server.answer = status, answer
    asking = service(server.server_port, attestation_server_ca_file=str(certificate))
    with pytest.raises(AskFailed, match=message) as caught:
        asking.poll(["node1"])
    assert f"https://127.0.0.1:{server.server_port}/" in str(caught.value)


def test_a_service_that_is_not_there_is_a_failure(certificate: Path) -> None:
    """No server listens."""
    with pytest.raises(AskFailed, match="does not respond"):
        service(1, attestation_server_ca_file=str(certificate)).poll(["node1"])


def test_a_missing_file_of_authorities_is_a_failure() -> None:
    """It is named."""
    with pytest.raises(AskFailed, match=r"/nowhere/ca\.pem"):
        service(1, attestation_server_ca_file="/nowhere/ca.pem").poll(["node1"])


def test_a_decision_gets_the_levels_of_the_service(server: StandIn, certificate: Path) -> None:
    """All the way: over HTTPS, by a worker, from what is kept."""
    conf = conf_for(
        server.server_port,
        attestation_server_ca_file=str(certificate),
        attestation_wait_seconds=5.0,
    )
    levels = Attestations(conf).levels(["node1", "node2"])
    assert levels == {"node1": "trusted", "node2": "unknown"}


def test_a_decision_does_not_wait_for_a_service_that_hangs(
    server: StandIn, certificate: Path
) -> None:
    """The call goes on without it."""
    server.may_answer.clear()
    conf = conf_for(
        server.server_port,
        attestation_server_ca_file=str(certificate),
        attestation_wait_seconds=0.05,
    )
    assert Attestations(conf).levels(["node1"]) == {"node1": "unknown"}
    server.may_answer.set()


def test_without_a_server_nothing_is_asked() -> None:
    """The log says which option is missing."""
    asking = AttestationService(scheduling_conf())
    with pytest.raises(AskFailed, match=r"\[trusted_computing\] attestation_server is not set"):
        asking.poll(["node1"])
