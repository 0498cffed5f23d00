"""Checks of what a deployment runs on: brokers, central services, configuration, policies."""

from collections.abc import Iterator

from oslo_config import cfg

import api.policies
import placement.rest.policies
from armillary import exception
from armillary.conf import loader
from armillary.context import admin_context
from armillary.policy import Enforcer
from conductor.super_conductor.db import cells
from conductor.super_conductor.interface import SuperConductorAPI
from placement.interface import PlacementAPI
from programs.bus_factory import bus_maker
from programs.operator.check_results import SUCCESS, Code, Result
from programs.operator.databases import API, is_configured, open_api
from rpc import broker_check
from rpc.interface import Interface
from rpc.signing.place import TOP
from rpc.transport import configured_url
from scheduler.interface import SchedulerAPI

PING_SECONDS = 5.0
WARNINGS_SHOWN_MAX = 5

TOP_SERVICES: dict[str, type[Interface]] = {
    "super conductor": SuperConductorAPI,
    "placement": PlacementAPI,
    "scheduler": SchedulerAPI,
}


def check_configuration(conf: cfg.ConfigOpts) -> Result:
    """Check whether all options in the files are known; their values are checked on reading."""
    files = [str(path) for path in conf.config_file or ()]
    warnings = loader.read_files(files)[1] if files else []
    if not warnings:
        return SUCCESS
    more = len(warnings) - WARNINGS_SHOWN_MAX
    shown = "; ".join(warnings[:WARNINGS_SHOWN_MAX])
    return Result(Code.WARNING, f"{shown}; and {more} more" if more > 0 else shown)


def check_policies(conf: cfg.ConfigOpts) -> Result:
    """Check whether the policy file can be used, and names only rules that exist."""
    rules = [*api.policies.list_rules(), *placement.rest.policies.list_rules()]
    enforcer = Enforcer(conf, rules)
    names = {name for name in enforcer.names_in_file() if ":" in name}  # others are abbreviations
    unknown = sorted(names - {rule.name for rule in rules})
    if unknown:
        return Result(
            Code.WARNING,
            f"{conf.oslo_policy.policy_file} has rules that no service reads: {', '.join(unknown)}",
        )
    return SUCCESS


def check_brokers(conf: cfg.ConfigOpts) -> Result:
    """Log in at the top broker and at each enabled cell's."""
    problems = list(_broken_brokers(conf))
    return Result(Code.FAILURE, "; ".join(problems)) if problems else SUCCESS


def check_top_services(conf: cfg.ConfigOpts) -> Result:
    """Ask whether a super conductor, a placement service and a scheduler answer."""
    url = _top_url(conf)
    if url is None:
        return Result(Code.SUCCESS, "not checked: no [DEFAULT] transport_url is configured here")
    bus = bus_maker(conf, "armillary-status")(url, TOP)
    silent = []
    try:
        for name, interface in TOP_SERVICES.items():
            if name == "scheduler" and conf.scheduler.in_process:
                continue
            try:
                interface(bus).ping(admin_context(), timeout_seconds=PING_SECONDS)
            except exception.Unavailable as error:
                silent.append(f"no {name} answers ({error.message})")
    finally:
        bus.close()
    if silent:
        return Result(Code.FAILURE, f"{'; '.join(silent)}. Start it, or look at its log")
    return SUCCESS


def _broken_brokers(conf: cfg.ConfigOpts) -> Iterator[str]:
    urls = {"top": _top_url(conf)}
    if is_configured(conf, API):
        with open_api(conf).reader() as session:
            enabled = [cell for cell in cells.list_cells(session) if not cell.disabled]
        urls |= {f"cell {cell.name}": cell.transport_url for cell in enabled}
    for name, url in urls.items():
        if url is None:
            continue
        try:
            broker_check.check_url(conf, url)
            broker_check.try_broker(conf, url)
        except (exception.Invalid, exception.Unavailable) as error:
            yield f"{name}: {error.message}"


def _top_url(conf: cfg.ConfigOpts) -> str | None:
    try:
        return configured_url(conf)
    except exception.ConfigurationError:
        return None
