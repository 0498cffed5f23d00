"""A workload that attacks its host: what it sees, reaches and uses up, on real processes."""

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from armillary import exception
from compute_agent.virt.process import process_isolation, process_namespaces
from compute_agent.virt.process.process_isolation import FALLBACK_USER, UIDS, Isolation
from tests import builders
from tests.fixtures.agent.processes import Processes
from tests.fixtures.asking import wait_for
from tests.fixtures.services import leave_out

BASE = 1879048192
SECRET = "the journal of all instances"


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[Processes]:
    """Return a driver with the defaults of isolation."""
    made = Processes(tmp_path)
    for name in ("mounts", "network", "workload_user"):
        made.conf.clear_override(name, group="process")
    made.restart()
    yield made
    made.clear()


def described(processes: Processes) -> dict[str, str]:
    found = processes.driver.get_attributes()["isolation"]
    assert isinstance(found, dict)
    return found


def need(processes: Processes, *names: str) -> None:
    """Leave the test out unless these are private here."""
    for name in names:
        if described(processes)[name] != "private":
            leave_out(f"Private {name}", described(processes)[name])


def need_root() -> None:
    if os.geteuid() != 0:
        leave_out("Users of workloads", "they can be taken on by root alone")


def test_each_workload_has_an_unprivileged_user_of_its_own(isolated: Processes) -> None:
    """By default, of a range that no account uses; it owns its home and nothing else."""
    need_root()
    one, other = (
        isolated.spawn_ready("sh -c 'id -u; id -G; echo mine > file; pwd; echo ready; sleep 300'")
        for _ in range(2)
    )
    users = []
    for instance in (one, other):
        workload = psutil.Process(isolated.pids(instance)["workload"])
        users.append(workload.uids().real)
        assert set(workload.uids()) == set(workload.gids()) == {users[-1]}
        assert users[-1] in range(BASE, BASE + UIDS)
        user, groups, home, _ready = isolated.console(instance).splitlines()
        assert (user, groups) == (str(users[-1]), str(users[-1]))
        assert home == str(isolated.directory(instance) / "home")
    assert users[0] != users[1]


def test_a_workload_sees_no_secrets_of_the_agent(isolated: Processes, tmp_path: Path) -> None:
    """Neither its state, keys and configuration, nor another workload's home, nor its sockets."""
    need(isolated, "mounts")
    secrets = [tmp_path / "compute-journal.sqlite", tmp_path / "signing.key"]
    for secret in secrets:
        secret.write_text(SECRET)
        secret.chmod(0o644)
    victim = isolated.spawn_ready(
        f"sh -c 'echo {SECRET} > file; chmod 644 file; echo ready; sleep 300'"
    )
    home = isolated.directory(victim) / "home"
    paths = [*secrets, home / "file", home.parent / "guest.json"]
    attack = " ".join(
        f"{path}" for path in [*paths, *(f"/proc/{os.getpid()}/root{p}" for p in paths)]
    )
    _, output = isolated.output_of(
        f"sh -c 'cat {attack}; cat /proc/{os.getpid()}/environ; ls -A /run {tmp_path}; echo over'"
    )
    assert SECRET not in output
    assert output.count("No such file") + output.count("Permission denied") >= len(paths) * 2
    listed = output.splitlines()
    assert listed[listed.index("/run:") + 1] == ""
    assert listed[-3:] == [f"{tmp_path}:", "processes", "over"]


def test_a_configuration_and_a_key_elsewhere_are_hidden(isolated: Processes) -> None:
    """Also where other users could read them."""
    need(isolated, "mounts")
    place = "/var/lib" if os.geteuid() == 0 else Path.home()  # /tmp is another one for workloads
    with tempfile.NamedTemporaryFile("w", dir=place) as journal:
        Path(journal.name).chmod(0o644)
        journal.write(SECRET)
        journal.flush()
        _, before = isolated.output_of(f"cat {journal.name}")
        isolated.conf.set_override("journal", journal.name, group="compute")
        isolated.restart()
        _, after = isolated.output_of(f"cat {journal.name}")
    assert (before, after) == (SECRET, "")


def test_a_workload_reaches_nothing_on_the_loopback_address(isolated: Processes) -> None:
    """Neither broker, databases and APIs there, nor an abstract socket; its own loopback works."""
    need(isolated, "network")
    with socket.create_server(("127.0.0.1", 0)) as service, socket.socket(socket.AF_UNIX) as bus:
        name = f"armillary-{os.getpid()}"
        bus.bind(f"\0{name}")
        bus.listen()
        attack = (
            "import socket\n"
            "def reach(kind, where):\n"
            "    try: socket.socket(kind).connect(where)\n"
            "    except OSError as error: print('refused', error.errno)\n"
            "    else: print('REACHED', where)\n"
            f"reach(socket.AF_INET, ('127.0.0.1', {service.getsockname()[1]}))\n"
            f"reach(socket.AF_UNIX, '\\0{name}')\n"
            "own = socket.create_server(('127.0.0.1', 0))\n"
            "socket.create_connection(own.getsockname()); print('own loopback works')\n"
        )
        script = isolated.instance(f"{_python()} -c {_quoted(attack)}")
        isolated.driver.spawn(script)
        isolated.wait_ended(script)
    output = isolated.console(script)
    assert output.splitlines() == ["refused 111", "refused 111", "own loopback works"]


def test_a_fork_bomb_is_stopped(isolated: Processes) -> None:
    """At the workload's own limit, and other workloads start as before."""
    if described(isolated)["pids"].startswith("unlimited"):
        leave_out("Limits of processes", described(isolated)["pids"])
    isolated.set_options(pids_max=12)
    bomb = (
        "import os, time\n"
        "for n in range(100):\n"
        "    try:\n"
        "        if not os.fork(): time.sleep(300)\n"
        "    except OSError as error: print('stopped after', n, error.errno, flush=True); break\n"
        "print('ready', flush=True); time.sleep(300)\n"
    )
    attacker = isolated.spawn_ready(f"{_python()} -c {_quoted(bomb)}")
    assert "stopped after 11 11" in isolated.console(attacker)
    _, output = isolated.output_of("sh -c 'echo fine'")
    assert output == "fine\n"


@pytest.mark.parametrize(
    ("limits_pids", "user", "expected"),
    [
        (True, None, "12 (cgroup)"),
        (False, "nobody", "12 (rlimit) of all workloads together, as there are no cgroups"),
        (False, "root", "unlimited, as there are no cgroups"),
    ],
)
def test_what_limits_the_processes_of_workloads_is_told(
    isolated: Processes,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    *,
    limits_pids: bool,
    user: str | None,
    expected: str,
) -> None:
    """In the log, and by the host; what is less than pids.max with the reason."""
    need_root()
    isolated.set_options(pids_max=12, workload_user=user)
    caplog.clear()
    caplog.set_level("INFO", logger=process_isolation.__name__)
    made = Isolation.decide(isolated.conf, tmp_path, limits_pids=limits_pids)
    assert made.described["pids"].startswith(expected)
    warned = [one for one in caplog.records if one.levelname == "WARNING" and "limit" in one.msg]
    assert bool(warned) is not limits_pids
    assert f"pids: {expected}" in caplog.text


def test_processes_of_others_are_hidden(isolated: Processes) -> None:
    """Command lines of other tenants are not its business."""
    need_root()
    need(isolated, "mounts")
    other = isolated.spawn_ready("sh -c 'echo ready; sleep 299; true'")
    _, output = isolated.output_of('sh -c \'cat /proc/[0-9]*/cmdline | tr "\\0" " "\'')
    assert "sleep 299" not in output
    assert str(isolated.pids(other)["workload"]) not in output


def test_own_users_do_without_mounts_of_their_own(
    isolated: Processes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Even if they may not pass a directory above their homes, such as that of root."""
    need_root()
    isolated.set_options(mounts="host", network="host")
    tmp_path.parent.chmod(0o700)
    isolated.restart()
    assert f"their users may not pass {tmp_path.parent}" in caplog.text
    assert isolated.state_path.stat().st_mode & 0o777 == 0o711
    _, output = isolated.output_of("sh -c 'echo mine > file; cat file; id -u'")
    mine, user = output.splitlines()
    assert mine == "mine"
    assert int(user) in range(BASE, BASE + UIDS)


def test_root_has_to_be_asked_for_by_name(isolated: Processes) -> None:
    """No other value and no fallback leads there."""
    need_root()
    isolated.set_options(workload_user="root")
    isolated.restart()
    assert described(isolated)["user"] == "root, as configured"
    _, output = isolated.output_of("id -u")
    assert output == "0\n"


def test_a_home_follows_its_user(isolated: Processes) -> None:
    """A workload of an earlier release, or of other options, gets what it had as root."""
    need_root()
    isolated.set_options(workload_user="root")
    isolated.restart()
    instance = isolated.spawn_ready(
        "sh -c 'echo kept >> file; cat file; id -u; echo ready; sleep 300'"
    )
    isolated.conf.clear_override("workload_user", group="process")
    isolated.restart()
    isolated.driver.power_off(instance.uuid, grace_seconds=0.1)
    isolated.driver.power_on(instance)
    wait_for(lambda: isolated.console(instance).count("ready") == 2, "it is ready again", 20, 0.02)
    lines = isolated.console(instance).splitlines()
    assert lines[-4:-2] == ["kept", "kept"]
    assert int(lines[-2]) in range(BASE, BASE + UIDS)


def test_what_the_kernel_refuses_is_said(
    isolated: Processes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log and in `armillary host show`; workloads run all the same, unless they must not."""
    refused = {"mounts": "Operation not permitted", "network": "Operation not permitted"}
    monkeypatch.setattr(process_isolation, "_probe", lambda _euid: refused)
    isolated.restart()
    assert described(isolated)["network"] == (
        "host, as the kernel refuses others: Operation not permitted"
    )
    assert "Workloads have the mounts of this machine" in caplog.text
    for name in ("mounts", "network"):
        isolated.set_options(**{name: "private"})
        with pytest.raises(exception.ConfigurationError, match=rf"\[process\] {name} = private"):
            isolated.restart()
        isolated.set_options(**{name: "auto"})


def test_a_container_without_those_users_has_another_unprivileged_one(
    isolated: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never as root, even if there is no range of users."""
    need_root()
    monkeypatch.setattr(process_isolation, "_is_mapped", lambda uid: uid < 65536)
    isolated.restart()
    assert described(isolated)["user"].startswith(FALLBACK_USER)
    _, output = isolated.output_of("id -un")
    assert output == f"{FALLBACK_USER}\n"


def test_users_are_not_shared_and_hardly_ever_used_again(isolated: Processes) -> None:
    """It is derived from the UUID; of two that share one by chance the later gets the next."""
    need_root()
    isolation = isolated.driver._isolation
    assert isinstance(isolation, Isolation)
    number = int(builders.a_uuid().replace("-", ""), 16)
    first = isolation.uid(number, None, [])
    assert first == BASE + number % UIDS
    assert isolation.uid(number, None, [first]) == BASE + (number + 1) % UIDS
    assert isolation.uid(number, BASE + 7, [first]) == BASE + 7
    assert isolation.uid(number, 1000, []) == first
    with pytest.raises(OSError, match="in use"):
        isolation.uid(number, None, range(BASE, BASE + UIDS))


ATTACK = """
import importlib.util, os, socket, sys
module, folder, port = sys.argv[1:]
file = importlib.util.spec_from_file_location("process_namespaces", module)
ns = importlib.util.module_from_spec(file)
file.loader.exec_module(ns)
agent = os.getpid()
secret = f"{folder}/state/secret"
os.mkdir(f"{folder}/state")
print(secret, file=open(secret, "w"))
if not os.fork():
    try:
        ns.enter(ns.Namespaces(True, True, True, [f"{folder}/state"], []))
    except OSError as error:
        print("not allowed:", error, flush=True)
        os._exit(0)
    for path in (secret, f"/proc/{agent}/root{secret}", f"/proc/{agent}/environ"):
        try:
            open(path).read()
        except OSError as error:
            print(type(error).__name__)
        else:
            print("READ", path)
    try:
        socket.create_connection(("127.0.0.1", int(port)))
    except OSError as error:
        print(type(error).__name__)
    else:
        print("REACHED")
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


def test_an_ordinary_user_s_workloads_are_isolated_too() -> None:
    """By user namespaces: not even by way of the agent's /proc, although they share its user."""
    need_root()
    if not Path("/usr/bin/python3").exists():
        leave_out("An ordinary user's workload", "there is no /usr/bin/python3")
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as service:
        Path(folder).chmod(0o777)
        module = shutil.copy(process_namespaces.__file__, folder)
        Path(module).chmod(0o644)
        done = subprocess.run(
            ["/usr/bin/env", "-i", "/usr/bin/python3", "-c", ATTACK, module, folder,
             str(service.getsockname()[1])],
            capture_output=True, text=True, check=True, user=65534, group=65534, extra_groups=[],
        )  # fmt: skip
    if done.stdout.startswith("not allowed"):
        leave_out("User namespaces", done.stdout)
    assert done.stdout.splitlines() == [
        "FileNotFoundError", "PermissionError", "PermissionError", "ConnectionRefusedError",
    ]  # fmt: skip


def _python() -> str:
    """Return an interpreter that other users may run."""
    return "/usr/bin/env python3"


def _quoted(text: str) -> str:
    return shlex.quote(text)
