"""Isolation of workloads from this machine and each other, decided once when the agent starts.

Users, file systems and network are as private as the kernel and the agent's own user allow. What is
less than asked for is logged and shown as an attribute of the host, or stops the agent where the
configuration requires it.
"""

import dataclasses
import functools
import json
import logging
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from oslo_config import cfg

from armillary import exception
from compute_agent.virt.process import process_namespaces
from compute_agent.virt.process.process_namespaces import Namespaces

LOG = logging.getLogger(__name__)

UIDS = 65536
"""Size of the range of users of workloads."""
ROOT = "root"
FALLBACK_USER = "nobody"
PRIVATE, HOST = "private", "host"
CONFIGURATION = "/etc/armillary"
RUN = "/run"
# A machine without these directories of /run finds no programs, and no names on the network.
_ALWAYS_KEPT = ("/run/current-system", "/run/wrappers")
_KEPT_FOR_NETWORK = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
_KEYS = (
    ("signing", "key_file"), ("oslo_messaging_rabbit", "ssl_key_file"), ("api", "key_file"),
    ("api", "token_file"), ("placement", "rest_key_file"), ("compute", "journal"),
)  # fmt: skip
_NO_PIDS = "there are no cgroups v2 with the controller pids"
_PROBE_SECONDS_MAX = 20.0


@dataclasses.dataclass(frozen=True, slots=True)
class Isolation:
    """How workloads run on this host."""

    user: str | None
    """The user of all of them; None means the agent's own, or one for each."""
    uid_base: int | None
    """First of the users of which each workload has its own."""
    limits_user: bool
    """Whether ``pids_max`` can be a limit of the workload's user."""
    namespaces: Namespaces
    described: Mapping[str, str]
    """What is shown of it: user, pids, mounts, network, disk."""

    @classmethod
    def decide(cls, conf: cfg.ConfigOpts, directory: Path, *, limits_pids: bool) -> Self:
        """Return what is possible for workloads below ``directory``. Raises ConfigurationError.

        ``limits_pids`` says whether their cgroups limit their processes.
        """
        options = conf.process
        user, uid_base, whose = _user(options)
        refused = _probe(os.geteuid())
        mounts = _outcome("mounts", options.mounts, refused["mounts"])
        network = _outcome("network", options.network, refused["network"])
        namespaces = Namespaces(
            has_mounts=mounts == PRIVATE,
            has_network=network == PRIVATE,
            uses_user_namespace=os.geteuid() != 0,
            hidden=_hidden(conf, directory, as_other=bool(user or uid_base)),
            kept=[*_ALWAYS_KEPT, *(() if network == PRIVATE else _KEPT_FOR_NETWORK)],
        )
        is_alone = uid_base is not None or (
            namespaces.uses_user_namespace and PRIVATE in (mounts, network)
        )
        limits_user = is_alone or (user not in (None, ROOT) and not limits_pids)
        described = {
            "user": whose,
            "pids": _pids(options.pids_max, limits_pids, is_alone, limits_user),
            "mounts": mounts,
            "network": network,
            "disk": _disk(mounts),
        }
        LOG.info("Workload isolation: %s", "; ".join(map(": ".join, described.items())))
        return cls(user, uid_base, limits_user, namespaces, described)

    @property
    def is_other_user(self) -> bool:
        """Whether workloads run as another user than the agent."""
        return self.uid_base is not None or self.user not in (None, ROOT)

    def uid(self, uuid_number: int, had: int | None, taken: Iterable[int | None]) -> int | None:
        """Return the user for a workload, or None if they have none of their own.

        It is the one that it had, else derived from its UUID, so that a later workload hardly ever
        finds files of an earlier one.
        """
        if self.uid_base is None:
            return None
        if had is not None and had in range(self.uid_base, self.uid_base + UIDS):
            return had
        used = set(taken)
        for step in range(UIDS):
            uid = self.uid_base + (uuid_number + step) % UIDS
            if uid not in used:
                return uid
        raise OSError(f"all {UIDS} users of workloads are in use")

    def namespaces_of(self, *seen: Path, temporary: Path, shared_memory_mb: int) -> dict[str, Any]:
        """Return the namespaces for a workload, in which it sees its directories, for the shim."""
        kept = [*self.namespaces.kept, *map(str, seen)]
        if not self.namespaces.has_mounts:
            return self.namespaces._replace(kept=kept)._asdict()
        return self.namespaces._replace(
            kept=kept, temporary=str(temporary), shared_memory_mb=shared_memory_mb
        )._asdict()


def _user(options: Any) -> tuple[str | None, int | None, str]:
    """Return the user of all, else the first of own users, and a description."""
    name, base = options.workload_user, options.workload_uid_base
    if name is not None:
        _check_user(name)
        return name, None, name if name != ROOT else "root, as configured"
    if os.geteuid() != 0:
        own = _name_of(os.geteuid())
        LOG.warning("Workloads run as the agent's own user, %s: they may signal it", own)
        return None, None, f"{own}, the agent's own user"
    if _is_mapped(base) and _is_mapped(base + UIDS - 1):
        return None, base, f"one for each workload, of {base} to {base + UIDS - 1}"
    _check_user(FALLBACK_USER)
    LOG.warning(
        "Workloads run as %s: users %d to %d do not exist in this container; set [process] "
        "workload_uid_base or workload_user", FALLBACK_USER, base, base + UIDS - 1,
    )  # fmt: skip
    return FALLBACK_USER, None, f"{FALLBACK_USER}, as own users are not mapped in this container"


def _check_user(name: str) -> None:
    """Raise ConfigurationError unless workloads can run as this user."""
    try:
        uid = pwd.getpwnam(name).pw_uid
    except KeyError as error:
        raise exception.ConfigurationError(
            reason=f"[process] workload_user: user {name} does not exist on this machine"
        ) from error
    if os.geteuid() != 0:
        raise exception.ConfigurationError(
            reason="[process] workload_user requires that the agent runs as root"
        )
    if not _is_mapped(uid):
        raise exception.ConfigurationError(
            reason=f"[process] workload_user: user {name} ({uid}) is not mapped in this container"
        )


def _is_mapped(uid: int) -> bool:
    """Return whether a user exists in this user namespace."""
    lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    return any(
        int(first) <= uid < int(first) + int(count) for first, _, count in map(str.split, lines)
    )


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@functools.cache
def _probe(_euid: int) -> dict[str, str | None]:
    """Return why the kernel refuses private mounts and networks, or None for each."""
    asked = subprocess.run(  # noqa: S603 - a file of this package, no shell
        [sys.executable, "-I", "-S", process_namespaces.__file__],
        capture_output=True, timeout=_PROBE_SECONDS_MAX, check=False, text=True,
    )  # fmt: skip
    try:
        return dict(json.loads(asked.stdout))
    except ValueError:
        reason = asked.stderr.strip().rpartition("\n")[2] or f"exit code {asked.returncode}"
        return {"mounts": reason, "network": reason}


def _outcome(name: str, wanted: str, refused: str | None) -> str:
    """Return ``private``, or ``host`` with the reason. Raises ConfigurationError if it must be."""
    if wanted == HOST:
        return "host, as configured"
    if refused is None:
        return PRIVATE
    if wanted == PRIVATE:
        raise exception.ConfigurationError(
            reason=f"[process] {name} = private, but the kernel refuses it: {refused}; run the "
            f"agent as root, allow user namespaces, or set {name} = auto"
        )
    LOG.warning(
        "Workloads have the %s of this machine: the kernel refuses others: %s", name, refused
    )
    return f"host, as the kernel refuses others: {refused}"


def _pids(count: int, by_cgroup: bool, is_alone: bool, limits_user: bool) -> str:
    """Return the limit of a workload's processes, and by what; log what is less than asked for."""
    if by_cgroup:
        return f"{count} (cgroup)"
    if is_alone:
        LOG.info("Workloads have a limit of processes by their users: %s", _NO_PIDS)
        return f"{count} (rlimit), as {_NO_PIDS}"
    if limits_user:
        LOG.warning("All workloads together have one limit of processes: %s", _NO_PIDS)
        return f"{count} (rlimit) of all workloads together, as {_NO_PIDS}"
    LOG.warning("Workloads have no limit of processes: %s", _NO_PIDS)
    return f"unlimited, as {_NO_PIDS}"


def _disk(mounts: str) -> str:
    """Return what of a workload's files its flavor limits; log what it does not."""
    if mounts == PRIVATE:
        return "the flavor's, home and temporary files"
    LOG.warning("Workloads can fill the directories of this machine for temporary files")
    return "the flavor's, home only; temporary files are unlimited, as mounts are the host's"


def _hidden(conf: cfg.ConfigOpts, directory: Path, *, as_other: bool) -> list[str]:
    """Return what workloads must not see: the state, sockets, configuration and keys."""
    state = directory.parent.absolute()
    if as_other:
        closed = [path for path in (*reversed(state.parents), state) if not may_pass(path)]
        state = closed[0] if closed else state
    files = [*(conf.config_file or ()), *(conf.config_dir or ()), *_key_files(conf)]
    found = {str(state), RUN, CONFIGURATION, *(str(Path(name).absolute()) for name in files)}
    return sorted(found - {"/"})


def _key_files(conf: cfg.ConfigOpts) -> Iterator[str]:
    for group, option in _KEYS:
        try:
            value = conf[group][option]
        except (cfg.NoSuchOptError, cfg.NoSuchGroupError, KeyError):
            continue  # not an option of this program
        if value:
            yield value


def may_pass(path: Path) -> bool:
    """Return whether other users may traverse a directory."""
    return not path.exists() or bool(path.stat().st_mode & stat.S_IXOTH)
