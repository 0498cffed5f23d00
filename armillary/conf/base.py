"""Options of [DEFAULT]: identity of the service, workers, heartbeats and periodic tasks."""

import socket

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        cfg.StrOpt(  # its form is checked by the loader: the default may be malformed, too
            "host", default=socket.gethostname(), sample_default="<the machine's host name>",
            help="""
Name of this host. It addresses the host's queue and identifies the host to instances, services and
placement. It must be unique and must not change during the life of the host. It has at most 255
letters, digits and ``. _ : @ -``, and begins and ends with a letter, a digit or ``_``.
""",
        ),
        cfg.StrOpt(
            "state_path", default="/var/lib/armillary",
            help="""
Directory for a service's local state: SQLite databases of the embedded setup, the compute agent's
journal, workloads' files. Other options may refer to it as ``$state_path``.
""",
        ),
        cfg.StrOpt(
            "concurrency_backend", default="threading",
            choices=[
                ("threading", "Operating-system threads."),
                ("eventlet", "Green threads on a patched standard library."),
            ],
            help="""
Concurrency backend of the service. It is read before anything else is loaded; the environment
variable ARMILLARY_CONCURRENCY_BACKEND overrides it. A change requires a restart.
""",
        ),
        cfg.IntOpt(
            "workers", min=0, max=512, sample_default="<number of CPUs>",
            help="""
Number of worker processes of a service whose own section does not set it. Unset or 0: as many as
the process may use CPUs. A worker that dies is replaced. A compute agent has one process.
""",
        ),
        cfg.IntOpt(
            "report_interval", default=10, min=1,
            help="""
Seconds between two heartbeats of a service to its conductor. ``service_down_time`` should be
several times as long.
""",
        ),
        cfg.IntOpt(
            "service_down_time", default=60, min=2, mutable=True,
            help="""
Seconds since its last heartbeat after which a service counts as down. If it is not greater than
``report_interval``, 2.5 times that interval is used instead, with a warning.
""",
        ),
        cfg.BoolOpt(
            "periodic_enable", default=True,
            help="""
Whether periodic tasks run. Without them, work that a dead process left behind is never resumed.
Turn them off for debugging only.
""",
        ),
    ]
}
