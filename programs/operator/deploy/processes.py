"""Services of a machine without systemd: started in the background, found and stopped again."""

import contextlib
import fcntl
import functools
import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from armillary import exception
from armillary.files import private_files
from programs.access import own_token
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.services import Service, split_address
from programs.operator.deploy.steps import Steps, with_context

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 200
_FAILED_AT_ONCE_SECONDS = 0.2
_SETTLE_SECONDS = 3.0
"""How long a service may take to find that its configuration is wrong."""
_LOOK_SECONDS = 0.1


def start(layout: Layout, steps: Steps, services: Sequence[Service]) -> None:
    """Start the services that do not run, and wait until they are up. Raises StepFailed."""
    for folder in (layout.processes, layout.logs):
        if not steps.is_dry_run:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for service in services:
        steps.do(
            "start",
            f"{service.name}, log {_log(layout, service)}",
            functools.partial(_start, layout, service),
            is_done=find(layout, service) is not None,
        )
    if not steps.is_dry_run and steps.done:
        _wait_until_up(layout, services)


def stop(layout: Layout, steps: Steps, services: Sequence[Service]) -> None:
    """Stop the services that run, callers first. Raises StepFailed."""
    for service in reversed(services):
        pid = find(layout, service)
        steps.do(
            "stop",
            service.name,
            functools.partial(_stop, layout, service, pid or 0),
            is_done=pid is None,
        )


def next_steps(layout: Layout, services: Iterable[Service], changed: Set[str]) -> str:
    """Return what is left to be typed where systemd does not start services: nothing, or lines.

    ``changed`` are the names of the services whose configuration changed.
    """
    if layout.has_systemd:
        return ""
    stopped, outdated = [], []
    for service in services:
        if find(layout, service) is None:
            stopped.append(service)
        elif service.name in changed:
            outdated.append(service.name)
    lines = []
    if outdated:
        lines += [
            f"With their former configuration run: {', '.join(outdated)}. For the new one:",
            f"    {_command(layout, 'stop')}",
            f"    {_command(layout, 'start')}",
        ]
    elif stopped:
        lines += ["Services are not started by systemd here. To start those that do not run:"]
        lines += [f"    {_command(layout, 'start')}"]
    if stopped:
        lines += ["or each in its own way:"]
        lines += [f"    {shlex.join(service.command(layout))}" for service in stopped]
    return "".join(f"{line}\n" for line in lines)


def _command(layout: Layout, word: str) -> str:
    root = () if layout.is_system else ("--root", str(layout.root))
    return shlex.join(["armillary-manage", "deploy", word, *root])


def find(layout: Layout, service: Service) -> int | None:
    """Return the process ID of a service that ``start`` started, or None.

    Its processes share a lock on the file of their ID, so a reused ID is not mistaken for theirs,
    and no other account may open it, to lock it in their place.
    """
    try:
        with _pid_file(layout, service).open() as file:
            text = file.read()
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(text)
    except OSError:
        return None
    return None


def _start(layout: Layout, service: Service) -> None:
    """Start a service in a session of its own; it outlives this command."""
    is_given_away = layout.account is not None and os.geteuid() == 0 and not service.is_roots
    account = layout.account if is_given_away else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with contextlib.ExitStack() as opened:
        log = os.open(_log(layout, service), flags, 0o640)
        opened.callback(os.close, log)
        path = _pid_file(layout, service)
        lock = opened.enter_context(open(path, "w", opener=private_files.opener))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        running = subprocess.Popen(  # noqa: S603 - our own program
            service.command(layout), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd=service.state(layout), start_new_session=True, umask=0o077,
            user=account, group=account, extra_groups=[] if account else None,
            pass_fds=[lock.fileno()],
        )  # fmt: skip
        lock.write(str(running.pid))
    try:
        code = running.wait(_FAILED_AT_ONCE_SECONDS)
    except subprocess.TimeoutExpired:
        return
    raise exception.Unavailable(f"{service.name} ended with {code}; see {_log(layout, service)}")


def _wait_until_up(layout: Layout, services: Sequence[Service]) -> None:
    """Wait until HTTP ports are open and programs have read their configuration.

    Raises StepFailed for a service that has ended.
    """
    began = time.monotonic()
    for service in services:
        if service.port:
            wait = functools.partial(_wait_for_port, layout, service, began + START_SECONDS_MAX)
            with_context(f"start {service.name}", wait)
    time.sleep(max(0.0, began + _SETTLE_SECONDS - time.monotonic()))
    for service in services:
        with_context(f"start {service.name}", functools.partial(_check_runs, layout, service))


def _check_runs(layout: Layout, service: Service) -> None:
    if find(layout, service) is None:
        raise exception.Unavailable(f"it has ended; see {_log(layout, service)}")


def _wait_for_port(layout: Layout, service: Service, give_up_at: float) -> None:
    """Wait until a service takes connections, so that the next command finds it."""
    host, port = split_address(service.port)
    address = (own_token.EVERY_ADDRESS.get(host, host), int(port))
    while True:
        with contextlib.suppress(OSError), socket.create_connection(address, _LOOK_SECONDS):
            return
        _check_runs(layout, service)
        if time.monotonic() > give_up_at:
            raise exception.Unavailable(
                f"it takes no connections at {service.port} after {START_SECONDS_MAX} s; "
                f"see {_log(layout, service)}"
            )
        time.sleep(_LOOK_SECONDS)


def _stop(layout: Layout, service: Service, pid: int) -> None:
    os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + STOP_SECONDS_MAX
    while find(layout, service) == pid:
        if time.monotonic() > end:
            raise exception.Unavailable(
                f"{service.name} (process {pid}) has not ended in {STOP_SECONDS_MAX} s"
            )
        time.sleep(_LOOK_SECONDS)


def _pid_file(layout: Layout, service: Service) -> Path:
    return layout.processes / f"{service.name}.pid"


def _log(layout: Layout, service: Service) -> Path:
    return layout.logs / f"{service.name}.log"
