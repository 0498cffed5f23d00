"""Run all services as processes from an installed wheel: check_services.py BIN FOLDER.

BIN has the installed programs. They talk over a RabbitMQ of their own, have SQLite files, and build
a server. Exits with 0 and says so where RabbitMQ is not installed.
"""

import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
PORTS = Path(__file__).parents[1] / "tests" / "fixtures" / "services" / "ports.py"
"""Tests that run beside this take other ports."""
SECONDS_MAX = 240
CELL = str(uuid.uuid4())
COMMON = """
[DEFAULT]
transport_url = rabbit://guest:guest@127.0.0.1:{broker}/
host = {name}
state_path = {folder}/{name}
workers = 1
report_interval = 2
[conductor]
discover_hosts_interval_seconds = 1
[metrics]
port = 0
"""
SERVICES = {
    "placement": "[placement]\nrest_bind_port = {placement}\n",
    "super-conductor": "[conductor]\nrole = super\n"
    "[api_database]\nconnection = sqlite:///{folder}/{name}/api.sqlite\n"
    "[cell0_database]\nconnection = sqlite:///{folder}/{name}/cell0.sqlite\n",
    "cell-conductor": "[conductor]\nrole = cell\n[cell]\nuuid = {cell}\n"
    "transport_url = rabbit://guest:guest@127.0.0.1:{broker}/cell\n",
    "scheduler": "",
    "api": "[api]\nbind_port = {api}\n",
    "compute": "[DEFAULT]\ntransport_url = rabbit://guest:guest@127.0.0.1:{broker}/cell\n"
    "[cell]\nuuid = {cell}\n[compute]\ndriver = simulated\n[simulated]\n"
    "hosts = name=host1:vcpus=8:memory_mb=8192:disk_gb=100\n",
}
"""Name -> its configuration; the last word is the program's."""


free_port: Callable[[], int] = runpy.run_path(str(PORTS))["free_port"]


def wait_for(what: str, is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS_MAX
    while not is_true():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {SECONDS_MAX} seconds")
        time.sleep(0.5)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Deployment:
    """Processes whose files and logs are in one folder."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._broker, self._broker_peer, self._api, self._placement = (
            free_port() for _ in range(4)
        )
        self._running: list[subprocess.Popen[bytes]] = []

    def run(self) -> None:
        self._start_broker()
        for name, options in SERVICES.items():
            self._configure(name, options)
        self._manage("super-conductor", "db", "sync", "api", "cell0")
        self._manage("placement", "db", "sync", "placement")
        self._manage("cell-conductor", "db", "sync", "cell")
        url = f"rabbit://guest:guest@127.0.0.1:{self._broker}/cell"
        create = ("cell", "create", "cell1", "--uuid", CELL, "--transport-url", url)
        self._manage("super-conductor", *create)
        for name in SERVICES:
            program = self._programs / f"armillary-{name.rpartition('-')[2]}"
            self._start(name, [str(program), "--config-file", str(self._folder / f"{name}.conf")])
        wait_for("the host is known", lambda: "host1" in self._client("host", "list"))
        self._client("flavor", "create", "tiny", "--vcpus", "1", "--ram", "64", "--disk", "1")
        self._client("image", "create", "nothing", "--property", "img_hv_type=simulated")
        words = ("server", "create", "one", "--flavor", "tiny", "--image", "nothing")
        wait_for("a server is accepted", lambda: "one" in self._client(*words))
        wait_for("it is built", lambda: "ACTIVE" in self._client("server", "list"))

    def stop(self) -> None:
        for process in reversed(self._running):
            os.killpg(process.pid, signal.SIGTERM)
        for process in self._running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def logs(self) -> str:
        found = sorted(self._folder.glob("*.log"))
        return "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in found)

    def _start_broker(self) -> None:
        configuration = self._folder / "rabbitmq.conf"
        configuration.write_text(f"listeners.tcp.1 = 127.0.0.1:{self._broker}\n")
        environment = {
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(configuration),
            "RABBITMQ_NODENAME": f"armillary-{self._broker}@localhost",
            "RABBITMQ_DIST_PORT": str(self._broker_peer),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "broker"),
            "RABBITMQ_LOG_BASE": str(self._folder / "broker"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "no-plugins"),
            "HOME": str(self._folder),
        }
        self._start("broker", [str(RABBITMQ)], environment)
        wait_for("the broker listens", lambda: is_open(self._broker))
        ctl = [str(RABBITMQ.with_name("rabbitmqctl")), "add_vhost", "cell"]
        permit = [ctl[0], "set_permissions", "-p", "cell", "guest", ".*", ".*", ".*"]
        wait_for("the broker has a virtual host", lambda: self._succeeds(ctl, environment))
        wait_for("which is guest's", lambda: self._succeeds(permit, environment))

    def _succeeds(self, command: list[str], environment: dict[str, str]) -> bool:
        ended = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, check=False
        )
        return ended.returncode == 0

    def _configure(self, name: str, options: str) -> None:
        values = {
            "name": name, "folder": self._folder, "broker": self._broker, "api": self._api,
            "placement": self._placement, "cell": CELL,
        }  # fmt: skip
        (self._folder / name).mkdir()
        (self._folder / f"{name}.conf").write_text((COMMON + options).format(**values))

    def _start(
        self, name: str, command: list[str], environment: dict[str, str] | None = None
    ) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(
                command, env={**os.environ, **(environment or {})}, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True, cwd=self._folder,
            )  # fmt: skip
        self._running.append(started)

    def _manage(self, name: str, *words: str) -> None:
        configuration = str(self._folder / f"{name}.conf")
        program = str(self._programs / "armillary-manage")
        command = [program, "--config-file", configuration, *words]
        subprocess.run(command, check=True, cwd=self._folder)

    def _client(self, *words: str) -> str:
        url = f"http://127.0.0.1:{self._api}"
        ended = subprocess.run(
            [self._programs / "armillary", "--api-url", url, *words],
            capture_output=True, text=True, check=False, cwd=self._folder,
        )  # fmt: skip
        return ended.stdout if ended.returncode == 0 else ""


def main() -> None:
    programs, folder = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    if not RABBITMQ.exists() or shutil.which("erl") is None:
        print("RabbitMQ is not installed: the services were not run from the wheel")
        return
    folder.mkdir()
    deployment = Deployment(programs, folder)
    try:
        deployment.run()
    except SystemExit:
        print(deployment.logs())
        raise
    finally:
        deployment.stop()
    print("all services ran from the wheel and built a server")


if __name__ == "__main__":
    main()
