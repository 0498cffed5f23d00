"""[conductor] and [cell]: which conductor this is, how long work may lie, which cell it serves."""

from __future__ import annotations

from oslo_config import cfg

SUPER = "super"
CELL = "cell"

_ZONES: list[cfg.Opt] = [
    cfg.StrOpt(
        "default_availability_zone",
        default="nova",
        regex=r"^[^:]+$",
        mutable=True,
        help="""
Name of the availability zone of hosts that no aggregate puts into another one. Without ``:``. Super
conductor and schedulers must have the same value.
""",
    ),
    cfg.StrOpt(
        "default_schedule_zone",
        regex=r"^[^:]+$",
        mutable=True,
        help="Availability zone of a server that asks for none. Unset, any zone will do.",
    ),
]

_OPERATIONS: list[cfg.Opt] = [
    cfg.BoolOpt(
        "allow_resize_to_same_host",
        default=False,
        mutable=True,
        help="""
Whether a resized server may stay on its host, which then has room for both flavors until the resize
is confirmed. Of the super conductor.
""",
    ),
    cfg.IntOpt(
        "resize_confirm_window",
        default=0,
        min=0,
        max=31536000,
        mutable=True,
        help="""
Seconds after which a resize or cold migration that waits is confirmed; 0 waits for the user. Of the
cell conductors.
""",
    ),
    cfg.IntOpt(
        "reclaim_instance_interval",
        default=0,
        min=0,
        max=31536000,
        mutable=True,
        help="""
Seconds for which a deleted server is kept, off, and can be restored; 0 deletes at once. Of the
super conductors.
""",
    ),
    cfg.IntOpt(
        "shelved_offload_time",
        default=0,
        min=-1,
        max=31536000,
        mutable=True,
        help="""
Seconds after which a shelved server gives up its place on its host: 0 at once, -1 never. Of the
cell conductors.
""",
    ),
]

_CONDUCTOR: list[cfg.Opt] = [
    cfg.StrOpt(
        "role",
        default=SUPER,
        choices=[
            (SUPER, "Owner of the API database and cell0; serves the API."),
            (CELL, "Owner of the database of the cell that [cell] describes."),
        ],
        help="Which of the two conductors this process is.",
    ),
    cfg.IntOpt(
        "workers",
        min=1,
        max=512,
        help="Number of worker processes. Unset, [DEFAULT] workers.",
    ),
    cfg.FloatOpt(
        "lease_seconds",
        default=30.0,
        min=1.0,
        max=3600.0,
        help="""
Seconds that a piece of work belongs to whoever took it and does not report progress. After that
another conductor takes it up: this is how long a build stands still when its conductor was killed.
The clocks of conductors that share a database must agree to much less than this.
""",
    ),
    cfg.FloatOpt(
        "recovery_interval_seconds",
        default=5.0,
        min=0.1,
        max=3600.0,
        help="Seconds between two looks for work whose lease ran out.",
    ),
    cfg.IntOpt(
        "recovery_batch_size_max",
        default=100,
        min=1,
        max=10000,
        help="How many pieces of work one look takes up at most; the rest waits for the next one.",
    ),
    cfg.FloatOpt(
        "retry_pause_seconds",
        default=2.0,
        min=0.1,
        max=600.0,
        mutable=True,
        help="""
Seconds before a step whose outcome is unknown (no answer, broker or cell out of reach) is tried
again.
""",
    ),
    cfg.IntOpt(
        "build_workers",
        default=8,
        min=1,
        max=512,
        help="""
How many requests for servers, or groups of them that came at the same time, one process works on at
once. More wait in a queue, then in the database.
""",
    ),
    cfg.IntOpt(
        "build_queue_size_max",
        default=200,
        min=1,
        max=100000,
        help="How many accepted requests wait in memory; those beyond it are taken up by recovery.",
    ),
    cfg.FloatOpt(
        "step_timeout_seconds",
        default=30.0,
        min=0.1,
        max=3600.0,
        mutable=True,
        help="""
Seconds that a step of a build waits for a scheduler or a cell before its outcome counts as unknown
and the step is done again. Doubled each time, up to [rpc] long_timeout_seconds.
""",
    ),
    cfg.IntOpt(
        "build_batch_size_max",
        default=200,
        min=1,
        max=10000,
        help="""
How many servers are handed over to a cell in one message at most, and how many requests that wait
are worked on together.
""",
    ),
    cfg.IntOpt(
        "scheduling_batch_size_max",
        default=100,
        min=1,
        max=10000,
        help="""
How many servers are in one message to a scheduler at most, where several requests wait for one. A
request with more is sent alone.
""",
    ),
    cfg.IntOpt(
        "scheduling_messages_max",
        default=4,
        min=1,
        max=1000,
        help="""
How many such messages each worker process has under way at a time. Only requests that come while so
many are wait for the next one, and share it. At least as many as there are schedulers keep all of
them at work.
""",
    ),
    cfg.IntOpt(
        "scheduling_deadline_seconds",
        default=600,
        min=1,
        max=86400,
        mutable=True,
        help="""
Seconds after its acceptance at which a request that could not be scheduled, because scheduler or
placement do not answer, ends in ERROR. A request that finds no host ends so at once. Moves of
servers are given up after 344 tries, too, however long this is.
""",
    ),
    cfg.IntOpt(
        "max_count",
        default=1000,
        min=1,
        max=10000,
        mutable=True,
        help="How many servers one request may ask for at most, whatever the quota.",
    ),
    cfg.FloatOpt(
        "cell_timeout_seconds",
        default=5.0,
        min=0.1,
        max=600.0,
        mutable=True,
        help="Seconds that a list waits for a cell; one that is silent is left out and named.",
    ),
    cfg.IntOpt(
        "cell_workers",
        default=16,
        min=1,
        max=512,
        help="""
How many calls to one cell a process has in hand at the same time; more wait. A cell that hangs
holds up no more than these.
""",
    ),
    cfg.FloatOpt(
        "discover_hosts_interval_seconds",
        default=10.0,
        max=86400.0,
        help="""
Seconds between two looks into all cells for hosts that no mapping names yet; zero or less turns
them off, and ``armillary-manage cell discover-hosts`` has to be called for each new host.
""",
    ),
    cfg.FloatOpt(
        "facts_interval_seconds",
        default=60.0,
        min=1.0,
        max=86400.0,
        help="""
Seconds between two repeats of what schedulers and placement have to know of cells and aggregates; a
change is sent at once, this is for those who missed it.
""",
    ),
    cfg.IntOpt(
        "trace_size_max",
        default=262144,
        min=4096,
        max=16777215,
        mutable=True,
        help="""
Size, in bytes, above which the shared part of a trace is stored without its details (the sentence
and the counts remain).
""",
    ),
    cfg.FloatOpt(
        "audit_interval_seconds",
        default=3600.0,
        max=86400.0,
        help="""
Seconds between two looks of a super conductor at all consumers in placement for those that are no
server, and no move of one, that any cell knows, and at all servers for those that hold too little
there. The former are logged and counted, not released, the latter are healed where there is room;
zero or less turns the looks off.
""",
    ),
    cfg.IntOpt(
        "move_traces_max",
        default=20,
        min=1,
        max=1000,
        mutable=True,
        help="""
Number of moves of each server (resizes, migrations, evacuations, unshelves) of which the decision
is kept; with one more the oldest is forgotten.
""",
    ),
    cfg.FloatOpt(
        "trace_prune_interval_seconds",
        default=3600.0,
        max=86400.0,
        help="""
Seconds between two looks for what [scheduler] trace_retention_hours keeps no longer; zero or less
turns them off.
""",
    ),
]

_CELL: list[cfg.Opt] = [
    cfg.StrOpt(
        "uuid",
        regex=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        help="""
UUID of the cell that this conductor serves, as ``armillary-manage cell list`` shows it. Needed when
[conductor] role is cell.
""",
    ),
    cfg.StrOpt(
        "name",
        default="cell1",
        max_length=255,
        help="Name of the cell, for people.",
    ),
    cfg.StrOpt(
        "transport_url",
        secret=True,
        help="""
Broker of the cell, such as ``rabbit://user:password@host:5672/cell1``: where its compute agents
are. The top broker is ``[DEFAULT] transport_url``. Needed when [conductor] role is cell.
""",
    ),
    cfg.FloatOpt(
        "host_push_interval_seconds",
        default=0.2,
        min=0.01,
        max=60.0,
        mutable=True,
        help="""
Seconds between two looks for changed host states, which are pushed to the schedulers at once: the
first change after a quiet time, and then once a second at most while hosts change all the time.
""",
    ),
    cfg.IntOpt(
        "host_push_batch_max",
        default=1000,
        min=1,
        max=100000,
        mutable=True,
        help="""
How many changed hosts one push tells of; more follow in the next one at once. What changed in one
transaction stays together, so a push may be larger.
""",
    ),
    cfg.FloatOpt(
        "host_push_idle_seconds",
        default=5.0,
        min=0.1,
        max=600.0,
        mutable=True,
        help="""
Seconds without a change after which an empty push shows the schedulers that the cell is alive. Must
be well below ``[DEFAULT] service_down_time``, after which schedulers count a silent cell as down.
""",
    ),
    cfg.FloatOpt(
        "service_watch_interval_seconds",
        default=2.0,
        max=600.0,
        help="""
Seconds between two looks for services that went silent or came back; zero or less turns them off,
and schedulers learn of a dead host by failing builds only.
""",
    ),
    cfg.FloatOpt(
        "timed_operations_interval_seconds",
        default=15.0,
        max=3600.0,
        help="""
Seconds between two looks for what is to be done without anybody asking: resizes to confirm, shelved
servers to offload, evacuated hosts that are back. Zero or less turns these off.
""",
    ),
    cfg.FloatOpt(
        "provider_retry_seconds",
        default=10.0,
        max=3600.0,
        help="""
Seconds between two tries to tell placement what it does not know yet of this cell's hosts, for
example because it was out of reach; zero or less turns them off.
""",
    ),
    cfg.FloatOpt(
        "provider_refresh_seconds",
        default=300.0,
        min=1.0,
        max=86400.0,
        mutable=True,
        help="""
Seconds after which a host's next report is told to placement although nothing changed. This repairs
what was lost there, and shows allocation ratios that an operator changed in placement.
""",
    ),
    cfg.FloatOpt(
        "self_heal_interval_seconds",
        default=60.0,
        max=86400.0,
        help="""
Seconds between two looks for what placement says is held of this cell's hosts by servers that were
deleted, which is then released; zero or less turns them off.
""",
    ),
    cfg.IntOpt(
        "self_heal_hosts_max",
        default=500,
        min=1,
        max=10000,
        mutable=True,
        help="How many hosts one such look is about at most; the next one goes on after them.",
    ),
    cfg.IntOpt(
        "instance_keep_deleted_days",
        default=90,
        min=0,
        max=3650,
        mutable=True,
        help="""
Days that a deleted server's record is kept, with its faults, actions and migrations: by a cell's
conductor in its cell, by the super conductor in cell0. What ``armillary-manage db archive`` moved
away is kept until ``db purge`` removes it.
""",
    ),
    cfg.FloatOpt(
        "purge_interval_seconds",
        default=3600.0,
        max=86400.0,
        help="""
Seconds between two looks for deleted servers past instance_keep_deleted_days; zero or less turns
them off.
""",
    ),
]

_SERVICES: list[cfg.Opt] = [
    cfg.BoolOpt(
        "enable_new_services",
        default=True,
        mutable=True,
        help="""
Whether hosts that a cell hears of for the first time take servers at once. Otherwise their services
start disabled, and an operator enables them.
""",
    ),
]

OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": _ZONES + _SERVICES + _OPERATIONS,
    "conductor": _CONDUCTOR,
    "cell": _CELL,
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group, options in OPTIONS.items():
        conf.register_opts(options, group=None if group == "DEFAULT" else group)


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
