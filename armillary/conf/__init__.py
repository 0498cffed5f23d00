"""Configuration: one module per option group or room of groups, all listed here.

Name, default and bounds of an option stand on one line, so these modules are not formatted.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from oslo_config import cfg

# In the order of the sample configuration. Imported on demand, not here: see concurrency.
OPTION_MODULES = (
    "base", "database", "rpc", "signing", "api", "console", "identity", "image",
    "scheduling.scheduler", "scheduling.filter_scheduler", "scheduling.zones",
    "scheduling.trusted_computing", "scheduling.claims", "scheduling.accelerators",
    "scheduling.workarounds",
    "conductor", "compute", "drivers.libvirt", "serial_console", "quota", "placement",
    "scheduling.metrics", "tracing", "notifications", "audit",
)  # fmt: skip


class OptionModule(Protocol):
    """Interface of each options module."""

    OPTIONS: dict[str, list[cfg.Opt]]
    """Group -> its options."""


def option_modules() -> list[OptionModule]:
    """Import and return all option modules."""
    return [
        cast("OptionModule", importlib.import_module(f"armillary.conf.{name}"))
        for name in OPTION_MODULES
    ]


def register(conf: cfg.ConfigOpts, *modules: OptionModule) -> None:
    """Register the options of these modules on ``conf``. Idempotent."""
    from armillary.conf.former_names import attach  # on demand, as the modules

    for module in modules:
        for group, options in module.OPTIONS.items():
            attach(group, options)
            conf.register_opts(options, group=None if group == "DEFAULT" else group)


def register_all(conf: cfg.ConfigOpts) -> None:
    """Register every option of every service on ``conf``. Idempotent."""
    register(conf, *option_modules())
