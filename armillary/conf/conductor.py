"""Options of [conductor], [cell] and [servicegroup]: role, leases, intervals and heartbeats."""

from oslo_config import cfg

from armillary.conf.command_template import CommandTemplate

# fmt: off
SUPER = "super"
CELL = "cell"

_ZONES: list[cfg.Opt] = [
    cfg.StrOpt(
        "default_availability_zone", default="nova", regex=r"^[^:]+$", mutable=True,
        help="""
Availability zone of hosts that no aggregate assigns to another one. Must not contain ``:``. Super
conductors and schedulers must have the same value.
""",
    ),
    cfg.StrOpt(
        "default_schedule_zone", regex=r"^[^:]+$", mutable=True,
        help="Availability zone of a server that requests none. Unset: any zone.",
    ),
]

_OPERATIONS: list[cfg.Opt] = [
    cfg.BoolOpt(
        "allow_resize_to_same_host", default=False, mutable=True,
        help="""
Whether a resized server may stay on its host, which then has room for both flavors until the resize
is confirmed. Used by super conductors.
""",
    ),
    cfg.IntOpt(
        "resize_confirm_window", default=0, min=0, max=31536000, mutable=True,
        help="""
Seconds after which a pending resize or cold migration is confirmed automatically; 0 waits for the
user. Used by cell conductors.
""",
    ),
    cfg.IntOpt(
        "reclaim_instance_interval", default=0, min=0, max=31536000, mutable=True,
        help="""
Seconds for which a deleted server is kept, powered off, and can be restored; 0 deletes it
immediately. Used by super conductors.
""",
    ),
    cfg.IntOpt(
        "shelved_offload_time", default=0, min=-1, max=31536000, mutable=True,
        help="""
Seconds after which a shelved server is offloaded from its host: 0 immediately, -1 never. Used by
cell conductors.
""",
    ),
]

_CONDUCTOR: list[cfg.Opt] = [
    cfg.StrOpt(
        "role", default=SUPER,
        choices=[
            (SUPER, "Owns the API database and cell0; serves the API."),
            (CELL, "Owns the database of the cell that [cell] describes."),
        ],
        help="Role of this conductor.",
    ),
    cfg.IntOpt(
        "workers", min=0, max=512, help="Number of worker processes. Unset or 0: [DEFAULT] workers."
    ),
    cfg.FloatOpt(
        "lease_seconds", default=30.0, min=1.0, max=3600.0,
        help="""
Lease, in seconds, of a conductor on a task. When the lease expires without progress, another
conductor resumes the task, so this is how long a build stalls after its conductor was killed. For
builds it is 2.5 times ``[DEFAULT] report_interval`` at least, because heartbeats of agents renew
their leases. The clock skew between conductors that share a database must be much smaller than
this.
""",
    ),
    cfg.FloatOpt(
        "recovery_interval_seconds", default=5.0, min=0.1, max=3600.0,
        help="Seconds between two scans for tasks whose lease expired.",
    ),
    cfg.IntOpt(
        "recovery_batch_size_max", default=100, min=1, max=10000,
        help="Maximum number of tasks that one scan resumes; the rest wait for the next scan.",
    ),
    cfg.FloatOpt(
        "retry_pause_seconds", default=2.0, min=0.1, max=600.0, mutable=True,
        help="""
Seconds to wait before a step with an unknown outcome (timeout, broker or cell unreachable) is
retried.
""",
    ),
    cfg.IntOpt(
        "build_workers", default=8, min=1, max=512,
        help="""
Maximum number of requests for servers, or batches of concurrent ones, that one process handles at
the same time. Further requests wait in a queue, then in the database.
""",
    ),
    cfg.IntOpt(
        "build_queue_size_max", default=200, min=1, max=100000,
        help=(
            "Maximum number of accepted requests that wait in memory. Requests beyond it are "
            "picked up by recovery."
        ),
    ),
    cfg.FloatOpt(
        "step_timeout_seconds", default=30.0, min=0.1, max=3600.0, mutable=True,
        help="""
Seconds that a build step waits for a scheduler or a cell before its outcome counts as unknown and
the step is retried. Doubled with each retry, up to [rpc] long_timeout_seconds.
""",
    ),
    cfg.IntOpt(
        "build_batch_size_max", default=200, min=1, max=10000,
        help="""
Maximum number of servers in one message to a cell, and maximum number of waiting requests that are
handled in one batch.
""",
    ),
    cfg.IntOpt(
        "scheduling_batch_size_max", default=100, min=1, max=10000,
        help="""
Maximum number of servers in one message to a scheduler when several requests share it. A request
for more servers is sent alone.
""",
    ),
    cfg.IntOpt(
        "scheduling_messages_max", default=4, min=1, max=1000,
        help="""
Maximum number of such messages that each worker process has in flight. Requests that arrive while
this many are in flight wait and share the next message. Use at least the number of schedulers, to
keep all of them busy.
""",
    ),
    cfg.IntOpt(
        "scheduling_deadline_seconds", default=600, min=1, max=86400, mutable=True,
        help="""
Seconds after its acceptance at which a request ends in ERROR if it could not be scheduled because
the scheduler or placement did not answer. A request for which no host fits ends in ERROR
immediately. Moves of servers are also given up after 344 attempts, whatever this value is.
""",
    ),
    cfg.IntOpt(
        "max_count", default=1000, min=1, max=10000, mutable=True,
        help="Maximum number of servers in one request, whatever the quota.",
    ),
    cfg.FloatOpt(
        "cell_timeout_seconds", default=5.0, min=0.1, max=600.0, mutable=True,
        help=(
            "Seconds that a list request waits for a cell. A cell that does not answer is "
            "skipped and named in the response."
        ),
    ),
    cfg.IntOpt(
        "cell_workers", default=16, min=1, max=512,
        help="""
Maximum number of concurrent calls of one process to one cell; further calls wait. This bounds the
effect of a cell that hangs.
""",
    ),
    cfg.FloatOpt(
        "discover_hosts_interval_seconds", default=10.0, max=86400.0,
        help="""
Seconds between two searches of all cells for hosts without a host mapping. Zero or less turns them
off; then run ``armillary-manage cell discover-hosts`` for each new host. Schedulers use a host once
it is mapped.
""",
    ),
    cfg.FloatOpt(
        "metadata_interval_seconds", default=60.0, min=1.0, max=86400.0,
        help="""
Seconds between two repeated broadcasts of cells and aggregates to schedulers and placement. Changes
are sent immediately; the repeats repair lost messages.
""",
    ),
    cfg.IntOpt(
        "trace_size_max", default=262144, min=4096, max=16777215, mutable=True,
        help="""
Size, in bytes, above which the shared part of a trace is stored without its details (the sentence
and the counts remain).
""",
    ),
    cfg.FloatOpt(
        "audit_interval_seconds", default=3600.0, max=86400.0,
        help="""
Seconds between two audits by a super conductor. An audit looks for consumers in placement that are
neither a server nor a migration in any cell, and for servers whose allocations are missing or too
small. The former are logged and counted, not released; the latter are healed where there is room.
It also corrects what servers count against quota. Zero or less turns audits off.
""",
    ),
    cfg.IntOpt(
        "move_traces_max", default=20, min=1, max=1000, mutable=True,
        help="""
Maximum number of moves of each server (resizes, migrations, evacuations, unshelves) whose decision
trace is kept. The oldest is dropped first.
""",
    ),
    cfg.FloatOpt(
        "trace_prune_interval_seconds", default=3600.0, max=86400.0,
        help="""
Seconds between two runs of the task that prunes traces after [scheduler] trace_retention_hours.
Zero or less turns it off.
""",
    ),
]

_CELL: list[cfg.Opt] = [
    cfg.StrOpt(
        "uuid", regex=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        help="""
UUID of the cell that this conductor or compute agent belongs to, as shown by
``armillary-manage cell list``. Required if [conductor] role is cell, and of agents whose messages
are signed ([signing] mode).
""",
    ),
    cfg.StrOpt(
        "transport_url", secret=True,
        help="""
Broker of the cell, to which its compute agents connect, such as
``rabbit://user:password@host:5672/cell1``. The top broker is ``[DEFAULT] transport_url``. Required
if [conductor] role is cell.
""",
    ),
    cfg.FloatOpt(
        "host_push_interval_seconds", default=0.2, min=0.01, max=60.0, mutable=True,
        help="""
Seconds between two checks for changed host states. Changes are pushed to the schedulers: the first
change after a quiet period immediately, then at most once a second while hosts keep changing.
""",
    ),
    cfg.IntOpt(
        "host_push_batch_max", default=1000, min=1, max=100000, mutable=True,
        help="""
Maximum number of changed hosts in one push; the rest follow immediately in the next push. Changes
of one transaction stay together, so a push may exceed this.
""",
    ),
    cfg.FloatOpt(
        "host_push_idle_seconds", default=5.0, min=0.1, max=600.0, mutable=True,
        help="""
Seconds without a change after which an empty push serves as a heartbeat of the cell. Must be well
below ``[DEFAULT] service_down_time``, after which schedulers count a silent cell as down.
""",
    ),
    cfg.FloatOpt(
        "service_watch_interval_seconds", default=2.0, max=600.0,
        help="""
Seconds between two checks for services that went down or came back. Zero or less turns them off;
schedulers then learn of a dead host only from failed builds.
""",
    ),
    cfg.Opt(
        "fencing_command", type=CommandTemplate(), secret=True,
        help="""
Command that powers a host off, called before its first server is evacuated each time that it is
down, such as ``fence_ipmilan --action off --ip {host}-bmc ...`` or a script that asks Redfish.
``{host}`` and ``{node}`` are replaced in it, other braces stay as they are. It runs on the cell
conductor's machine, without a shell, and ends with 0 when the host is off for certain. Otherwise it
is called again, and after several times the evacuation fails, except for a host that an operator
has forced down. Unset: a
host is evacuated when it counts as down; one that is forced down, ``[DEFAULT] service_down_time``
after its agent was last heard from or it was forced down, because an agent that is stalled holds
its guests by then.
""",
    ),
    cfg.FloatOpt(
        "fencing_timeout_seconds", default=60.0, min=1.0, max=3600.0,
        help="Maximum seconds that ``fencing_command`` may take.",
    ),
    cfg.FloatOpt(
        "timed_operations_interval_seconds", default=15.0, max=3600.0,
        help="""
Seconds between two scans for timed operations: resizes to confirm, shelved servers to offload,
evacuated hosts that are back. Zero or less turns them off.
""",
    ),
    cfg.FloatOpt(
        "provider_retry_seconds", default=10.0, max=3600.0,
        help="""
Seconds between two retries to report hosts of this cell to placement, for example after placement
was unreachable. Zero or less turns retries off.
""",
    ),
    cfg.FloatOpt(
        "provider_refresh_seconds", default=300.0, min=1.0, max=86400.0, mutable=True,
        help="""
Seconds after which a host's next report is sent to placement even if nothing changed. This repairs
lost updates and picks up allocation ratios that an operator changed in placement.
""",
    ),
    cfg.FloatOpt(
        "self_heal_interval_seconds", default=60.0, max=86400.0,
        help="""
Seconds between two searches for allocations of deleted servers on this cell's hosts, which are then
released. Zero or less turns them off.
""",
    ),
    cfg.IntOpt(
        "self_heal_hosts_max", default=500, min=1, max=10000, mutable=True,
        help=(
            "Maximum number of hosts covered by one such search; the next one continues after them."
        ),
    ),
    cfg.IntOpt(
        "instance_keep_deleted_days", default=90, min=0, max=3650, mutable=True,
        help="""
Days for which the record of a deleted server is kept with its faults, actions and migrations: by a
cell conductor in its cell, by the super conductor in cell0. Records moved by ``armillary-manage db
archive`` are kept until ``db purge`` removes them.
""",
    ),
    cfg.FloatOpt(
        "purge_interval_seconds", default=3600.0, max=86400.0,
        help="""
Seconds between two searches for deleted servers past instance_keep_deleted_days. Zero or less turns
them off.
""",
    ),
]

_SERVICES: list[cfg.Opt] = [
    cfg.BoolOpt(
        "enable_new_services", default=True, mutable=True,
        help="""
Whether new hosts of a cell accept servers immediately. Otherwise their services start disabled
until an operator enables them.
""",
    ),
    cfg.StrOpt(
        "servicegroup_driver", default="db",
        help="""
Where the heartbeats of a cell's hosts are kept: ``db``, a transaction each in the cell's database;
``mc``, in memcached ([servicegroup] memcache_servers), from where the database gets them in
batches; or a driver that a plugin installs under ``armillary.servicegroup.drivers``. Which hosts
are up, and which agents may act, is decided by the database in any case. All conductors of a cell
need the same driver.
""",
    ),
]

_SERVICEGROUP: list[cfg.Opt] = [
    cfg.ListOpt(
        "memcache_servers", default=["127.0.0.1:11211"],
        help="""
Servers of memcached for ``[DEFAULT] servicegroup_driver = mc``, such as ``10.0.0.5:11211``, the
same for all conductors of a cell. They have no accounts: any process that reaches one can make
a dead host look alive, so let only conductors reach them.
""",
    ),
    cfg.FloatOpt(
        "memcache_socket_timeout", default=1.0, min=0.05, max=10.0,
        help="""
Seconds to wait for a server of memcached. After a failure heartbeats go to the database, and
memcached is tried again 5 seconds later.
""",
    ),
]

OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": _ZONES + _SERVICES + _OPERATIONS,
    "servicegroup": _SERVICEGROUP,
    "conductor": _CONDUCTOR,
    "cell": _CELL,
}
