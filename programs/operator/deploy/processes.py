"""Services of a machine without systemd: started in the background, found and stopped again."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from armillary import exception
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.services import Service
from programs.operator.deploy.steps import Steps

STOP_SECONDS_MAX = 200
_FAILED_AT_ONCE_SECONDS = 0.2
_LOOK_SECONDS = 0.1


def start(layout: Layout, steps: Steps, services: Sequence[Service]) -> None:
    """Start the services that do not run. Raises StepFailed."""
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


def find(layout: Layout, service: Service) -> int | None:
    """Return the process ID of a service that ``start`` started, or None.

    Its processes share a lock on the file of their ID, so a reused ID is not mistaken for theirs.
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
        lock = opened.enter_context(_pid_file(layout, service).open("w"))
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
