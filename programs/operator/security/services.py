"""Security of services themselves: HTTP APIs, metrics, signatures, quotas, workloads."""

import ipaddress
from urllib.parse import urlsplit

from armillary.http.trusted_hosts import UNAUTHENTICATED
from armillary.http.wsgi.server import is_loopback
from programs.operator.check_results import Code, Result
from programs.operator.security.inspected import (
    API,
    CELL_CONDUCTOR,
    COMPUTE,
    CONDUCTOR,
    PLACEMENT,
    SUCCESS,
    Inspected,
    result_of,
)

TICKET_SECONDS_MAX = 3600


def check_authentication(of: Inspected) -> Result | None:
    """Check that HTTP APIs ask for tokens."""
    if not of.serves(API, PLACEMENT):
        return None
    strategy = of.conf.api.auth_strategy
    if strategy not in UNAUTHENTICATED:
        return SUCCESS
    open_to = [f"{where} {address}" for where, address, _ in _apis(of) if not is_loopback(address)]
    advice = f"[api] auth_strategy is {strategy}; use token_file or keystone"
    if open_to:
        return Result(Code.FAILURE, f"{advice}: every client that reaches {', '.join(open_to)} "
                      "may do everything")  # fmt: skip
    return Result(Code.WARNING, f"{advice}: every program of this machine may do everything")


def check_api_tls(of: Inspected) -> Result | None:
    """Check that HTTP APIs on a network use TLS."""
    if not of.serves(API, PLACEMENT):
        return None
    return result_of([
        f"{where} is {address} without TLS, so that tokens can be read on the network; set {option}"
        for where, address, option in _apis(of)
        if not is_loopback(address) and not _certificate(of, option)
    ])  # fmt: skip


def check_cors(of: Inspected) -> Result | None:
    """Check that not every web page may use an API."""
    if not of.serves(API, PLACEMENT):
        return None
    is_open = "*" in (of.conf.cors.allowed_origin or [])
    return result_of([], ["[cors] allowed_origin has *: name the origins"] if is_open else [])


def check_metrics(of: Inspected) -> Result | None:
    """Check that metrics, which need no token, are on a private address."""
    if of.conf.metrics.port == 0:
        return None
    address = of.conf.metrics.listen
    if _is_private(address):
        return SUCCESS
    return Result(Code.WARNING, f"[metrics] listen is {address}, and there is no authentication; "
                  "use an address of a private network")  # fmt: skip


def check_signing(of: Inspected) -> Result | None:
    """Check that messages need the signature of a trusted key."""
    options = of.conf.signing
    advice = {
        "off": "[signing] mode is off: an account on the broker is enough to send every command",
        "accept": "[signing] mode is accept: messages without a signature are accepted",
    }.get(options.mode)
    return result_of([f"{advice}; set it to required"] if advice else [], [])


def check_heartbeat_store(of: Inspected) -> Result | None:
    """Check that few programs reach the store of heartbeats, which has no accounts."""
    if not of.serves(CELL_CONDUCTOR) or of.conf.servicegroup_driver != "mc":
        return None
    others = [
        server for server in of.conf.servicegroup.memcache_servers
        if not is_loopback(server.rpartition(":")[0])
    ]  # fmt: skip
    return result_of([], [
        f"[servicegroup] memcache_servers has {server}: who reaches it keeps dead hosts up; let "
        "only the cell's conductors reach it" for server in others
    ])  # fmt: skip


def check_images(of: Inspected) -> Result | None:
    """Check that images go to hosts over TLS, by tickets that expire soon."""
    options = of.conf.image
    if not of.serves(CONDUCTOR) or not options.endpoint:
        return None
    warnings = []
    parts = urlsplit(options.endpoint)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        warnings.append(f"[image] endpoint is {options.endpoint}: images of all projects, and the "
                        "tickets for them, can be read on the network; use https")  # fmt: skip
    seconds = options.ticket_lifetime_seconds
    if seconds > TICKET_SECONDS_MAX:
        warnings.append(f"[image] ticket_lifetime_seconds is {seconds}: a stolen ticket opens its "
                        f"image for so long; {TICKET_SECONDS_MAX} or less are enough")  # fmt: skip
    return result_of([], warnings)


def check_quotas(of: Inspected) -> Result | None:
    """Check that each project is limited."""
    if not of.serves(CONDUCTOR):
        return None
    unlimited = [name for name in ("instances", "cores", "ram") if of.conf.quota[name] < 0]
    if not unlimited:
        return SUCCESS
    return Result(Code.WARNING, f"[quota] {', '.join(unlimited)}: unlimited, so that one project "
                  "can use up all hosts")  # fmt: skip


def check_workloads(of: Inspected) -> Result | None:
    """Check that workloads of the process driver are kept apart from their host."""
    if not of.serves(COMPUTE) or "process" not in of.conf.compute.driver:
        return None
    options = of.conf.process
    failures = []
    if options.workload_user == "root":
        failures.append("[process] workload_user is root: workloads own this machine")
    warnings = [
        f"[process] {name} is host: workloads have the {name} of this machine"
        for name in ("mounts", "network")
        if options[name] == "host"
    ]
    if options.limits == "rlimit":
        warnings.append(
            "[process] limits is rlimit, which a workload can evade; use auto or cgroup"
        )
    return result_of(failures, warnings)


def _apis(of: Inspected) -> list[tuple[str, str, str]]:
    """Return the option, address and certificate option of each API that is served."""
    found = []
    if of.serves(API):
        found.append(("[api] bind_host", of.conf.api.bind_host, "[api] cert_file"))
    if of.serves(PLACEMENT):
        option = "[placement] rest_cert_file"
        found.append(("[placement] rest_bind_host", of.conf.placement.rest_bind_host, option))
    return found


def _certificate(of: Inspected, option: str) -> str | None:
    group, _, name = option.partition(" ")
    found: str | None = of.conf[group.strip("[]")][name]
    return found


def _is_private(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address == "localhost"
    return found.is_private and not found.is_unspecified
