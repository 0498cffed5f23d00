"""A configuration as security checks see it, and the services that it is for."""

import dataclasses
import ipaddress
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from oslo_config import cfg
from oslo_middleware import cors
from oslo_policy import opts as policy_options

from programs.operator.check_results import Code, Result
from programs.operator.databases import API as API_DATABASE
from programs.operator.databases import CELL0, DATABASES, Known, is_configured
from rpc.transport import register_options as register_messaging_options

API, CONDUCTOR, CELL_CONDUCTOR = "api", "conductor", "cell-conductor"
SCHEDULER, PLACEMENT, COMPUTE = "scheduler", "placement", "compute"
ROLES = (API, CONDUCTOR, CELL_CONDUCTOR, SCHEDULER, PLACEMENT, COMPUTE)

_SHARED_WITH_PLACEMENT = frozenset({"auth_strategy", "token_file"})
"""Options of [api] that do not make a configuration one of the API."""


@dataclasses.dataclass(frozen=True)
class Inspected:
    """A configuration, the roles that it is for, and the times that dates are compared with."""

    conf: cfg.ConfigOpts
    roles: frozenset[str]
    expires_seconds: float
    """What expires sooner than this is reported."""
    now_seconds: float
    connects: bool = False
    """Whether checks may connect to brokers and databases."""

    def serves(self, *roles: str) -> bool:
        return bool(self.roles.intersection(roles))


Check = Callable[[Inspected], Result | None]
"""Returns None if it does not apply to the roles."""

SUCCESS = Result(Code.SUCCESS)


@dataclasses.dataclass(frozen=True)
class Account:
    """One ``user:password@host:port`` of a URL, and where the URL is set.

    ``vhost`` is that of a broker.
    """

    where: str
    scheme: str
    user: str
    password: str
    host: str
    port: int | None = None
    vhost: str = "/"


def result_of(failures: Sequence[str], warnings: Sequence[str] = ()) -> Result:
    """Return the worst of what was found, with all of it."""
    code = Code.FAILURE if failures else Code.WARNING if warnings else Code.SUCCESS
    return Result(code, "; ".join([*failures, *warnings]))


def roles_of(conf: cfg.ConfigOpts) -> frozenset[str]:
    """Return the roles that a configuration is for, by the sections that it sets.

    One that sets none of them is a scheduler's.
    """
    databases = {database.name for database in configured(conf)}
    found = set()
    if databases & {API_DATABASE.name, CELL0.name}:
        found.add(CONDUCTOR)
    if "cell" in databases:
        found.add(CELL_CONDUCTOR)
    if "placement" in databases:
        found.add(PLACEMENT)
    if any(_is_set(conf, group) for group in ("compute", "process", "libvirt", "simulated")):
        found.add(COMPUTE)
    shared = _SHARED_WITH_PLACEMENT if found else frozenset()
    if _is_set(conf, "api", shared):
        found.add(API)
    return frozenset(found or {SCHEDULER})


def configured(conf: cfg.ConfigOpts) -> list[Known]:
    """Return the databases whose connection is set."""
    return [database for database in DATABASES if is_configured(conf, database)]


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register options of libraries, which services register when they use them."""
    register_messaging_options(conf)
    conf.register_opts(cors.CORS_OPTS, group="cors")
    for group, options in policy_options.list_opts():
        conf.register_opts(options, group=group)


def broker_accounts_of(conf: cfg.ConfigOpts) -> list[Account]:
    """Return the accounts of all transport URLs that lead to a broker."""
    urls = [
        ("[DEFAULT] transport_url", conf.transport_url),
        ("[cell] transport_url", conf.cell.transport_url),
        (
            "[oslo_messaging_notifications] transport_url",
            conf.oslo_messaging_notifications.transport_url,
        ),
    ]
    found = []
    for where, url in urls:
        parts = urlsplit(url or "")
        if (
            not parts.netloc
            or parts.scheme.partition("+")[0] not in ("rabbit", "kombu")
            or "+memory" in parts.scheme
        ):
            continue
        for part in parts.netloc.split(","):
            credentials, _, host = part.rpartition("@")
            user, _, password = credentials.partition(":")
            place = urlsplit(f"//{host}")
            found.append(
                Account(
                    where,
                    "rabbit",
                    unquote(user),
                    unquote(password),
                    place.hostname or "",
                    place.port,
                    unquote(parts.path[1:]) or "/",
                )
            )
    return found


def database_accounts_of(conf: cfg.ConfigOpts) -> list[Account]:
    """Return the accounts of all database servers."""
    found = []
    for known in configured(conf):
        url = known.open(conf).url
        if url.get_backend_name() != "sqlite":
            where = f"[{known.group}] connection"
            password = str(url.password or "")
            found.append(
                Account(where, url.get_backend_name(), url.username or "", password, url.host or "")
            )
    return found


def is_local(host: str) -> bool:
    """Return whether an address or name is this machine; a UNIX socket has none."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("", "localhost")


def existing(paths: Iterable[str | None]) -> list[Path]:
    """Return the paths that are set and exist, each once."""
    found = dict.fromkeys(Path(path) for path in paths if path)
    return [path for path in found if path.exists()]


def _is_set(conf: cfg.ConfigOpts, group: str, without: frozenset[str] = frozenset()) -> bool:
    """Return whether a file or the environment sets an option of a group."""
    for name in conf[group]:
        location = None if name in without else conf.get_location(name, group)
        if location is not None and location.location.is_user_controlled:
            return True
    return False
