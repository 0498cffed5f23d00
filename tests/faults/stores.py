"""A broker and a database server of a run's own, which may be killed without hurting anybody."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from kombu.connection import Connection
from sqlalchemy.pool import NullPool

from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.services.ports import free_port

START_SECONDS_MAX = 180
STOP_SECONDS_MAX = 30
USER = "guest"
BINARIES = ("/usr/lib/rabbitmq/bin", "/usr/local/sbin", "/usr/sbin")
"""Debian's in ``/usr/sbin`` changes the user; the plain script is beside the library."""


def why_missing() -> str | None:
    """Return what a run lacks on this machine, or None."""
    if _rabbitmq("rabbitmq-server") is None:
        return "rabbitmq-server is not installed"
    if _postgresql("initdb") is None:
        return "PostgreSQL's initdb is not installed"
    return None


class Store:
    """A server in a process group of its own, in a folder of its own."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it answers some time later."""
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError

    def stop(self) -> None:
        """Ask it to end, and kill it when it does not."""
        if self._running is None:
            return
        os.killpg(self._running.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._running.wait(waiting.seconds(STOP_SECONDS_MAX))
        self.kill()

    def pause(self) -> None:
        """Stop all its processes where they are."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let them continue."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._running is not None
        os.killpg(self._running.pid, number)

    def kill(self) -> None:
        """Kill it and all its children with -9."""
        if self._running is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._running.pid, signal.SIGKILL)
        self._running.wait(10)
        self._running = None

    def wait(self) -> None:
        wait_for(self.answers, f"{self.name} answers", START_SECONDS_MAX, 0.2)

    def _spawn(self, command: Sequence[str | Path], **more: Any) -> None:
        with (self.folder / "log").open("ab") as log:
            self._running = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                **more,
            )  # fmt: skip


class Broker(Store):
    """A node of RabbitMQ with some virtual hosts."""

    name = "the broker"

    def __init__(self, folder: Path, vhosts: Sequence[str]) -> None:
        super().__init__(folder)
        folder.mkdir(parents=True)
        self.vhosts = vhosts
        self._node = f"armillary-{uuid.uuid4().hex[:8]}@localhost"
        definitions = {
            "users": [{"name": USER, "password": USER, "tags": "administrator"}],
            "vhosts": [{"name": vhost} for vhost in vhosts],
            "permissions": [
                {"user": USER, "vhost": vhost, "configure": ".*", "write": ".*", "read": ".*"}
                for vhost in vhosts
            ],
        }
        (folder / "definitions.json").write_text(json.dumps(definitions))
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"load_definitions = {folder / 'definitions.json'}\n"
            "log.console.level = warning\n"
        )
        (folder / "plugins").write_text("[].\n")
        (folder / "env").write_text("")
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "RABBITMQ_NODENAME": self._node,
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "env"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_FLAGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }

    def start(self) -> None:
        self._spawn([_rabbitmq("rabbitmq-server") or ""], env=self._environment)

    def answers(self) -> bool:
        try:
            for vhost in self.vhosts:
                with self.connection(vhost) as connection:
                    connection.connect()
        except Exception:  # whatever a library raises: it does not answer
            return False
        return True

    def url(self, vhost: str) -> str:
        return f"rabbit://{USER}:{USER}@127.0.0.1:{self.port}/{vhost}"

    def connection(self, vhost: str) -> Connection:
        return Connection(
            hostname="127.0.0.1", port=self.port, userid=USER, password=USER, virtual_host=vhost,
            connect_timeout=3,
        )  # fmt: skip

    def queues(self, vhost: str) -> list[dict[str, Any]]:
        """Return name, messages and consumers of each queue that is not a stream."""
        listed = subprocess.run(
            [_rabbitmq("rabbitmqctl") or "", "-n", self._node, "--quiet", "list_queues", "-p",
             vhost, "name", "type", "messages", "consumers", "--formatter", "json"],
            env=self._environment, capture_output=True, text=True,
            timeout=waiting.seconds(300), check=True,
        ).stdout  # fmt: skip
        return [row for row in json.loads(listed) if row["type"] != "stream"]


class Databases(Store):
    """A server of PostgreSQL with some databases, all of whose processes one kill ends."""

    name = "the database server"

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        super().__init__(folder)
        self._names = names
        self._user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        folder.mkdir(parents=True)
        if self._user is not None:
            shutil.chown(folder, self._user)
        subprocess.run(
            [_postgresql("initdb") or "", "-D", folder / "data", "-U", "postgres", "-A", "trust",
             "--no-sync", "-E", "UTF8"],
            check=True, capture_output=True, timeout=waiting.seconds(60),
            user=self._user, cwd=folder,
        )  # fmt: skip

    def start(self) -> None:
        # What a killed process wrote is in the system's memory: only a power cut needs fsync.
        options = {"port": self.port, "fsync": "off", "max_connections": 500,
                   "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
                   "shared_buffers": "64MB"}  # fmt: skip
        self._spawn(
            [_postgresql("postgres") or "", "-D", self.folder / "data",
             *(f"--{name}={value}" for name, value in options.items())],
            user=self._user, cwd=self.folder,
        )  # fmt: skip

    def create(self) -> None:
        engine = sa.create_engine(
            self.url("postgres"), isolation_level="AUTOCOMMIT", poolclass=NullPool
        )
        with engine.connect() as connection:
            for name in self._names:
                connection.execute(sa.text(f"CREATE DATABASE {name}"))

    def end_backends(self) -> int:
        """End all connections of services, in whatever transaction; return their number."""
        engine = sa.create_engine(self.url("postgres"), poolclass=NullPool)
        with engine.connect() as connection:
            statement = sa.text(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname <> 'postgres'"
            )
            return int(connection.scalar(statement) or 0)

    def answers(self) -> bool:
        try:
            engine = sa.create_engine(
                self.url("postgres"), poolclass=NullPool, connect_args={"connect_timeout": 3}
            )
            with engine.connect():
                return True
        except sa.exc.OperationalError:
            return False

    def url(self, name: str) -> str:
        return f"postgresql+psycopg2://postgres@127.0.0.1:{self.port}/{name}"


@contextlib.contextmanager
def stores(vhosts: Sequence[str], names: Sequence[str]) -> Iterator[tuple[Broker, Databases]]:
    """Lend a running broker and a running database server; nothing of them is kept."""
    with store_folder() as folder:
        broker = Broker(folder / "broker", vhosts)
        databases = Databases(folder / "databases", names)
        with serving(broker, databases):
            yield broker, databases


@contextlib.contextmanager
def store_folder() -> Iterator[Path]:
    """Lend a folder that servers may read that run as other users."""
    folder = Path(tempfile.mkdtemp(prefix="armillary-stores-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def serving(broker: Broker, databases: Databases) -> Iterator[None]:
    """Start both, create the databases, and kill both in the end."""
    try:
        broker.start()
        databases.start()
        databases.wait()
        databases.create()
        broker.wait()
        yield
    finally:
        broker.kill()
        databases.kill()


def _rabbitmq(program: str) -> str | None:
    places = os.pathsep.join([*BINARIES, os.environ.get("PATH", "")])
    return shutil.which(program, path=places)


def _postgresql(program: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    return str(found[-1]) if found else shutil.which(program)
