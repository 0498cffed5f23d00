"""Attacks on serial consoles where everything is encrypted, signed, and by accounts of its own.

Agents, the proxy and the services are processes; the guests are simulated, and their consoles say
whose they are. The attacker has another user's token, a used or old link, or neither.
"""

import contextlib
import json
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from cryptography.fernet import Fernet
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.frames import CloseCode
from websockets.sync.client import ClientConnection, connect

from armillary.consoles import console_links, handshake
from armillary.consoles.console_links import ConsoleKeys, ConsoleLink
from armillary.consoles.grant_checks import NO_LONGER_GRANTED
from armillary.consoles.serial_proxy import MESSAGE_BYTES_MAX
from compute_agent.consoles.console_port import REFUSED, UNAVAILABLE
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.deployment import BIN, START_SECONDS_MAX, Process, deployed
from tests.fixtures.programs import forked_servers
from tests.fixtures.services.ports import free_port
from tests.fixtures.waiting import seconds
from tests.integration.trust.token_deployment import ADMINISTRATOR, Account, TokenDeployment
from tests.integration.trust.trusted_deployment import TrustedDeployment

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

SECONDS_MAX = 60
CONSOLES_MAX = 8  # two connections each for one address: those just refused are ending still
AGENT_PROGRAM = "tests.integration.console_agent:main"
OWNER, READER, OTHER = "alice", "rita", "bob"
ACCOUNTS = {
    ADMINISTRATOR: Account(ADMINISTRATOR, "ops", ("admin",)),
    OWNER: Account(OWNER, "stars", ("member",)),
    READER: Account(READER, "stars", ("reader",)),
    OTHER: Account(OTHER, "moons", ("member",)),
}
CELLS = {
    "cell1": {
        f"agent-{number}": [f"name=host-{number}:vcpus=16:memory_mb=32768:disk_gb=500"]
        for number in (1, 2)
    }
}
OPTIONS = """
[serial_console]
enabled = true
base_url = wss://127.0.0.1:{port}/
key_file = {key_file}
bind_host = 127.0.0.1
bind_port = 0
cert_file = {agent.cert_file}
tls_key_file = {agent.key_file}
client_ca_file = {ca_file}
"""


def start(command: Sequence[str], output: int, environment: Mapping[str, str]) -> Any:
    """Start a program, agents with consoles for their guests."""
    if Path(command[0]).name == "armillary-compute":
        return forked_servers.fork(AGENT_PROGRAM, command[1:], output, environment)
    return forked_servers.start(command, output, environment)


class ConsoleDeployment(TokenDeployment, TrustedDeployment):
    """With a proxy of consoles, which speaks TLS to users and to agents."""

    def __init__(self, folder: Path, **arguments: Any) -> None:
        super().__init__(folder, accounts=ACCOUNTS, start_program=start, **arguments)
        self.port = free_port()
        self.key_file = folder / "serial-console.key"
        console_links.make_key(self.key_file)
        agent = self.certificates.issue("agent")
        self._options += OPTIONS.format(
            port=self.port, key_file=self.key_file, agent=agent, ca_file=self.certificates.ca_file
        )
        self.trusted = ssl.create_default_context(cafile=self.certificates.ca_file)

    def prepare(self) -> None:
        super().prepare()
        mine = self.certificates.issue("proxy")
        both = self.folder / "proxy-both.pem"
        both.write_text(mine.cert_file.read_text() + mine.key_file.read_text())
        words = {
            "--key-file": self.key_file, "--port": self.port, "--connections-max": CONSOLES_MAX,
            "--cert-file": both, "--agent-ca-file": self.certificates.ca_file,
            "--agent-cert-file": both, "--agent-network": "127.0.0.0/8", "--api-url": self.api_url,
        }  # fmt: skip
        self.processes["proxy"] = Process(
            name="proxy",
            command=[
                str(BIN / "armillary-serialproxy"),
                *(str(w) for each in words.items() for w in each),
            ],
            log=self.folder / "proxy.log",
            environment={"PYTHONUNBUFFERED": "1"},
            start_program=forked_servers.run,
        )

    def wait_until_ready(self) -> None:
        super().wait_until_ready()
        log = self.processes["proxy"].log
        wait_for(lambda: "listens on" in log.read_text(), "the proxy listens", START_SECONDS_MAX)

    def open(self, link: str, **more: Any) -> ClientConnection:
        """Open a console, or what else a link leads to."""
        return connect(link, ssl=self.trusted, open_timeout=seconds(SECONDS_MAX), **more)

    def sealed_in(self, link: str) -> ConsoleLink:
        """Return what API and proxy know of a link, and users do not."""
        return console_links.open_sealed(token_of(link), ConsoleKeys(self.key_file))

    @contextlib.contextmanager
    def at_agent(self, port: int, *, name: str | None) -> Iterator[socket.socket]:
        """Lend a connection to an agent's port, with the certificate of a name or with none."""
        context = ssl.create_default_context(cafile=self.certificates.ca_file)
        if name is not None:
            mine = self.certificates.issue(name)
            context.load_cert_chain(mine.cert_file, mine.key_file)
        with (
            socket.create_connection(("127.0.0.1", port), seconds(SECONDS_MAX)) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
        ):
            yield encrypted

    def answer_of_agent(self, port: int, token: str) -> bytes:
        """Return what an agent answers to a token from another one with a certificate."""
        with self.at_agent(port, name="thief") as agent:
            agent.sendall(handshake.GREETING + token.encode() + b"\n")
            return handshake.read_line(agent)


def token_of(link: str) -> str:
    return unquote(link.partition("?token=")[2])


def link_to(api: Api, server: str) -> str:
    """Return a link to a server's console, as a user gets it."""
    wanted = {"remote_console": {"protocol": "serial", "type": "serial"}}
    return str(api.post(f"/servers/{server}/remote-consoles", wanted)["remote_console"]["url"])


def refusal_by(deployment: ConsoleDeployment, link: str) -> str:
    """Return why a console is closed as soon as it is open."""
    with deployment.open(link) as user:
        return closing_reason(user)


def closing_reason(user: ClientConnection) -> str:
    """Return why a console is closed, after whatever it shows before."""
    try:
        while True:
            user.recv(seconds(SECONDS_MAX))
    except ConnectionClosed as closed:
        return "" if closed.rcvd is None else closed.rcvd.reason


def status_of(deployment: ConsoleDeployment, link: str, **more: Any) -> int:
    """Return the status by which the proxy refuses a connection."""
    with pytest.raises(InvalidStatus) as refused:
        deployment.open(link, **more)
    return refused.value.response.status_code


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleDeployment]:
    folder = tmp_path_factory.mktemp("consoles")
    with deployed(folder, CELLS, kind=ConsoleDeployment, schedulers=1) as running:
        running.create_flavor("small", vcpus=1, ram=64, disk=1)
        yield running


@pytest.fixture(autouse=True)
def quiet(deployment: ConsoleDeployment) -> Iterator[None]:
    """No attack leaves an error or a traceback in a log, or ends a process."""
    before = len(deployment.errors())
    yield
    assert deployment.errors()[before:] == []
    assert all(each.is_alive() for each in deployment.processes.values())


@pytest.fixture(scope="module")
def alice(deployment: ConsoleDeployment) -> Api:
    return deployment.as_user(OWNER)


@pytest.fixture
def server(deployment: ConsoleDeployment, alice: Api) -> Iterator[str]:
    """Lend a running server of alice's."""
    flavors = alice.get("/flavors")["flavors"]
    (small,) = [each["id"] for each in flavors if each["name"] == "small"]
    (uuid,) = alice.create_servers(small, 1)
    assert alice.wait_for_status(uuid, "ACTIVE", "ERROR")["status"] == "ACTIVE", deployment.logs()
    yield uuid
    deployment.delete_servers(uuid)


@contextlib.contextmanager
def used(deployment: ConsoleDeployment, link: str, server: str) -> Iterator[ClientConnection]:
    """Lend an open console, which is that server's."""
    with deployment.open(link) as user:
        assert user.recv(seconds(SECONDS_MAX)) == server.encode()
        user.send("root\r")
        assert user.recv(seconds(SECONDS_MAX)) == b"ROOT\r"
        yield user


def test_a_link_opens_its_server_s_console_once(
    deployment: ConsoleDeployment, alice: Api, server: str
) -> None:
    """While it is open, afterwards, and as the token that is in it, at the agent itself."""
    link = link_to(alice, server)
    inside = deployment.sealed_in(link)
    with used(deployment, link, server):
        assert "was used before" in refusal_by(deployment, link)
    assert "was used before" in refusal_by(deployment, link)
    assert deployment.answer_of_agent(inside.port, inside.token) == REFUSED


@pytest.mark.parametrize("user", [OTHER, READER])
def test_no_link_is_made_for_who_may_not_use_the_server(
    user: str, deployment: ConsoleDeployment, server: str
) -> None:
    """By neither form of the request; of another project's server it is not said that it exists."""
    api = deployment.as_user(user)
    path = f"/servers/{server}/remote-consoles"
    wanted = {"remote_console": {"protocol": "serial", "type": "serial"}}
    old = {"OpenStack-API-Version": "compute 2.1"}
    answers = [
        api.request("POST", path, json=wanted),
        api.request(
            "POST", f"/servers/{server}/action", headers=old,
            json={"os-getSerialConsole": {"type": "serial"}},
        ),
    ]  # fmt: skip
    assert {each.status_code for each in answers} == {404 if user == OTHER else 403}
    assert not any("wss://" in each.text for each in answers)


def test_a_link_that_is_not_the_api_s_is_refused(
    deployment: ConsoleDeployment, alice: Api, server: str
) -> None:
    """Nor an altered link, one that is too old, or the cookie of a browser, from whatever page."""
    link = link_to(alice, server)
    token, inside = token_of(link), deployment.sealed_in(link)
    front = link.partition("?")[0]
    (key,) = deployment.key_file.read_text().split()
    contents = Fernet(key).decrypt(token.encode())
    hour_ago = int(time.time()) - 3600
    old = Fernet(key).encrypt_at_time(contents, hour_ago).decode()
    foreign = Fernet(Fernet.generate_key()).encrypt(contents).decode()
    for wrong in (
        "", "x", token[:-2], token[:60] + "AAAA" + token[64:], old, foreign,
        inside.token, inside.grant, json.dumps({"instance_uuid": server}), "x" * 6_000,
    ):  # fmt: skip
        assert status_of(deployment, f"{front}?token={quote(wrong)}") == 403, wrong
    by_a_page = {"Cookie": f"armillary_console={token}", "Origin": "https://evil.example"}
    assert status_of(deployment, front, additional_headers=by_a_page) == 403
    with used(deployment, link, server):
        pass


def test_a_link_is_worth_nothing_when_its_server_is_off_gone_or_elsewhere(
    deployment: ConsoleDeployment, alice: Api, server: str
) -> None:
    """Made before, used after; an open console ends with the move and with the server."""
    unused = [link_to(alice, server) for _ in range(3)]
    alice.act(server, "os-stop")
    alice.wait_for_status(server, "SHUTOFF")
    assert refusal_by(deployment, unused[0]) == UNAVAILABLE.decode().strip()
    alice.act(server, "os-start")
    alice.wait_for_status(server, "ACTIVE")
    with used(deployment, link_to(alice, server), server) as user:
        deployment.act(server, "migrate")
        deployment.wait_for_status(server, "VERIFY_RESIZE")
        assert closing_reason(user) == NO_LONGER_GRANTED
    assert refusal_by(deployment, unused[1]) == NO_LONGER_GRANTED
    deployment.act(server, "confirmResize")
    deployment.wait_for_status(server, "ACTIVE")
    with used(deployment, link_to(alice, server), server) as user:
        late = link_to(alice, server)
        deployment.delete_servers(server)
        assert closing_reason(user) == NO_LONGER_GRANTED
    assert refusal_by(deployment, late) == NO_LONGER_GRANTED


def test_a_token_of_one_agent_is_none_at_another(
    deployment: ConsoleDeployment, alice: Api, server: str
) -> None:
    """Nor a guessed one; and who shows no certificate is not heard."""
    first = deployment.sealed_in(link_to(alice, server))
    move(deployment, server)
    second = deployment.sealed_in(link_to(alice, server))
    assert first.port != second.port
    for token in (first.token, "0" * 64, ""):
        assert deployment.answer_of_agent(second.port, token) == REFUSED
    assert deployment.answer_of_agent(first.port, first.token) == UNAVAILABLE
    with pytest.raises((ssl.SSLError, ConnectionError)):
        present_without_a_certificate(deployment, second)


def move(deployment: ConsoleDeployment, server: str) -> None:
    """Move a server to the other agent's host."""
    deployment.act(server, "migrate")
    deployment.wait_for_status(server, "VERIFY_RESIZE")
    deployment.act(server, "confirmResize")
    deployment.wait_for_status(server, "ACTIVE")


def present_without_a_certificate(deployment: ConsoleDeployment, console: ConsoleLink) -> None:
    with deployment.at_agent(console.port, name=None) as agent:
        agent.sendall(handshake.GREETING + console.token.encode() + b"\n")
        handshake.read_line(agent)


def test_clients_that_stay_silent_speak_plainly_or_too_much_keep_no_user_out(
    deployment: ConsoleDeployment, alice: Api, server: str
) -> None:
    """More of them than the proxy has places; each is left in time, or immediately."""
    address = ("127.0.0.1", deployment.port)
    with contextlib.ExitStack() as open_ones:
        for number in range(4 * CONSOLES_MAX):
            caller = open_ones.enter_context(
                socket.create_connection(address, seconds(SECONDS_MAX))
            )
            with contextlib.suppress(OSError):  # closed, as there are too many
                caller.sendall(b"GET / HTTP/1.1\r\n" if number % 2 else b"\x16\x03\x01\x02")

        def console() -> ClientConnection | None:
            try:
                return deployment.open(link_to(alice, server))
            except (OSError, EOFError, InvalidMessage):
                return None

        with wait_for(console, "a user gets in", SECONDS_MAX) as user:
            assert user.recv(seconds(SECONDS_MAX)) == server.encode()
            user.send(b"x" * (4 * MESSAGE_BYTES_MAX))
            closing_reason(user)
            assert user.close_code == CloseCode.MESSAGE_TOO_BIG
    with used(deployment, link_to(alice, server), server):
        pass


def test_more_consoles_than_there_may_be_are_refused(
    deployment: ConsoleDeployment, alice: Api, server: str
) -> None:
    """Until others are left."""
    with contextlib.ExitStack() as open_ones:
        for _ in range(CONSOLES_MAX):
            open_ones.enter_context(used(deployment, link_to(alice, server), server))
        assert "too many consoles" in refusal_by(deployment, link_to(alice, server))

    def is_open() -> bool:
        with deployment.open(link_to(alice, server)) as user:
            try:
                return user.recv(seconds(SECONDS_MAX)) == server.encode()
            except ConnectionClosed:
                return False

    wait_for(is_open, "there is room again", SECONDS_MAX)
