"""Service runtime: worker processes, signals, draining, reload, reports, systemd."""

from armillary.service.in_process import ServiceGroup, run_in_process
from armillary.service.launch import launch
from armillary.service.managed import Factory, ManagedService, Manager, Server

__all__ = [
    "Factory", "ManagedService", "Manager", "Server", "ServiceGroup", "launch", "run_in_process",
]  # fmt: skip
