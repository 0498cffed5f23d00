"""[DEFAULT]: who this service is, how it runs, and how services notice each other."""

from __future__ import annotations

import socket

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        cfg.HostDomainOpt(
            "host",
            default=socket.gethostname(),
            sample_default="<the machine's host name>",
            help="""
Name of this host. It is the address of its queue, and what instances, services and placement know
the host by, so it must be unique and stay the same for the life of the host.
""",
        ),
        cfg.StrOpt(
            "state_path",
            default="/var/lib/armillary",
            help="""
Directory for what a service keeps on this machine: SQLite databases of the embedded set-up, the
compute agent's journal, workloads' files. Other options may name it as ``$state_path``.
""",
        ),
        cfg.StrOpt(
            "concurrency_backend",
            default="threading",
            choices=[
                ("threading", "Operating-system threads."),
                ("eventlet", "Green threads on a patched standard library."),
            ],
            help="""
How a service does several things at once. It is read before anything else is loaded; the
environment variable ARMILLARY_CONCURRENCY_BACKEND overrides it. Changing it needs a restart.
""",
        ),
        cfg.IntOpt(
            "workers",
            default=1,
            min=1,
            max=512,
            help="""
Number of worker processes of a service whose own section does not say. A worker that dies is
replaced.
""",
        ),
        cfg.IntOpt(
            "report_interval",
            default=10,
            min=1,
            help="""
Seconds between two reports of a service to its conductor that it is alive. Must be less than
``service_down_time``.
""",
        ),
        cfg.IntOpt(
            "service_down_time",
            default=60,
            min=2,
            mutable=True,
            help="""
Seconds since its last report after which a service counts as down.
""",
        ),
        cfg.BoolOpt(
            "periodic_enable",
            default=True,
            help="""
Whether periodic tasks run. Without them nothing that a dead process left lying is taken up again;
it is for debugging.
""",
        ),
        cfg.IntOpt(
            "periodic_fuzzy_delay",
            default=10,
            min=0,
            help="""
Seconds; each periodic task is first delayed by a random part of this, so that services which start
together do not act together. 0 turns it off.
""",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["DEFAULT"])


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
