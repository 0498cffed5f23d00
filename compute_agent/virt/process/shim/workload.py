"""The child that becomes the workload: its place, user, output and limits."""

import contextlib
import errno
import json
import os
import pwd
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from compute_agent.virt.process.shim.spec import ProcessSpec

PR_SET_NO_NEW_PRIVS = 38


class StartError(NamedTuple):
    """Why the workload could not be started: the step and the error."""

    errno: int
    step: str
    text: str


def become_workload(
    spec: ProcessSpec, prctl: Any, enter: Callable[[], None], output: int, errors: int, go: int
) -> NoReturn:
    """Set up this child and run the command; write a failure to ``errors``."""
    step = "start"
    try:
        if not os.read(go, 1):
            os._exit(127)
        os.setsid()
        step = "cgroup"
        _join_cgroup(spec.cgroup)
        step = "namespaces"
        enter()
        step = "directory"
        os.chdir(spec.home)  # before another user may be unable to pass a directory above it
        step = "user"
        _become_user(spec)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        os.umask(0o077)
        _connect_output(output)
        _reset_signals()
        step = "limits"
        _set_limits(spec)  # last, because memory is limited from here on
        step = "command"
        os.execvpe(spec.argv[0], spec.argv, spec.environment)  # noqa: S606 - the purpose
    except BaseException as error:
        number = getattr(error, "errno", None) or errno.EINVAL
        said = {"errno": number, "step": step, "text": str(error)}
        os.write(errors, json.dumps(said).encode()[:4096])
    os._exit(127)


def _join_cgroup(cgroup: str | None) -> None:
    if cgroup is not None:
        (Path(cgroup) / "cgroup.procs").write_text("0", encoding="ascii")


def _set_limits(spec: ProcessSpec) -> None:
    for name, value in spec.rlimits.items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if spec.cpus is not None:
        os.sched_setaffinity(0, spec.cpus)


def _become_user(spec: ProcessSpec) -> None:
    if spec.uid is not None:
        os.setgroups([])
        os.setgid(spec.uid)
        os.setuid(spec.uid)
    elif spec.user is not None:
        user = pwd.getpwnam(spec.user)
        os.initgroups(spec.user, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


def _connect_output(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
