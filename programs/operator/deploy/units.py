"""Systemd units of a deployment's services, and the commands that start them."""

import functools
import shlex
from collections.abc import Iterable
from pathlib import Path

from armillary import exception
from programs.operator.deploy.files import Files
from programs.operator.deploy.installed_files import installed
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.services import Service
from programs.operator.deploy.steps import Steps, run_program

_DROP_IN = "10-deploy.conf"


def write(layout: Layout, files: Files, services: Iterable[Service]) -> bool:
    """Write the units unless a package has them, and how they are started here.

    Return whether one changed.
    """
    changed = False
    for service in services:
        shipped = _template(service.unit)
        if not any((folder / shipped).exists() for folder in layout.packaged_units):
            text = installed("systemd", shipped).read_text(encoding="utf-8")
            changed |= files.write(layout.units / shipped, text, 0o644)
        words = [word.replace("%", "%%") for word in service.command(layout)]
        start = f"[Service]\nExecStart=\nExecStart={shlex.join(words)}\n"
        changed |= files.write(start_file(layout, service), start, 0o644)
    return changed


def start_file(layout: Layout, service: Service) -> Path:
    """Return the file that says how a service is started here."""
    return layout.units / f"{service.unit}.d" / _DROP_IN


def start(
    layout: Layout, steps: Steps, services: Iterable[Service], changed: set[str], *, reload: bool
) -> None:
    """Have systemd read units, start what does not run, restart what changed."""
    if reload:
        steps.do("reload", "systemd's units", lambda: _systemctl("daemon-reload"))
    for service in services:
        is_active = _says_yes("is-active", service.unit)
        is_done = is_active and _says_yes("is-enabled", service.unit)
        steps.do(
            "start",
            service.unit,
            functools.partial(_systemctl, "enable", "--now", service.unit),
            is_done=is_done,
        )
        if is_active and service.name in changed:
            steps.do(
                "restart", service.unit, functools.partial(_systemctl, "restart", service.unit)
            )


def stop(steps: Steps, service: Service) -> None:
    """Have systemd stop a service, and not start it again."""
    is_there = _says_yes("is-active", service.unit) or _says_yes("is-enabled", service.unit)
    stop = functools.partial(_systemctl, "disable", "--now", service.unit)
    steps.do("stop", service.unit, stop, is_done=not is_there)


def _template(unit: str) -> str:
    """Return the file of a unit: without the instance behind its ``@``."""
    name, at, _ = unit.partition("@")
    return f"{name}@.service" if at else unit


def _systemctl(*words: str) -> None:
    run_program(["systemctl", *words])


def _says_yes(question: str, unit: str) -> bool:
    try:
        _systemctl(question, "--quiet", unit)
    except exception.Unavailable:
        return False
    return True
