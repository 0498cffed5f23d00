"""Options of [scheduler]: driver, placement queries, host state synchronisation and traces."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "scheduler": [
        cfg.StrOpt(
            "driver", default="filter_scheduler",
            help="""
Name of the scheduler driver: an entry point of ``armillary.scheduler.driver``, or the path of a
class. filter_scheduler asks placement, filters, weighs and claims. caching_scheduler filters and
weighs the hosts as of its last refresh and claims nothing. chance_scheduler takes any host that is
up. fake_scheduler is for testing a deployment. zone_scheduler is filter_scheduler for a zone with
child zones. All schedulers must have the same value.
""",
        ),
        cfg.BoolOpt(
            "in_process", default=False,
            help="""
Whether each super conductor runs a scheduler in its own process. If so, there is no scheduler
service and no queue for one, and hosts are polled every pull_interval_seconds, since conductors
cannot push them. All super conductors must have the same value, and read the scheduler's options.
""",
        ),
        cfg.IntOpt(
            "pull_interval_seconds", default=5, min=1, max=600,
            help="""
With in_process: seconds between two polls of each cell for changed hosts.
""",
        ),
        cfg.IntOpt(
            "random_seed", min=0,
            help="""
Seed for the choice among equal hosts and among the [filter_scheduler] host_subset_size best ones:
with the same seed, every worker of filter_scheduler selects the same host for the same request and
the same hosts. This repeats a decision, and makes concurrent workers collide more often. Unset,
each worker draws an order of its own.
""",
        ),
        cfg.FloatOpt(
            "plugin_timeout_seconds", default=10.0, min=0.1, max=600.0, mutable=True,
            help="""
Seconds that a filter, weigher or request filter has for one call. If a plugin takes longer, its
request ends without a host, with this reason, at the next host that the plugin examines. While a
call does not return at all, every further request ends this way immediately.
""",
        ),
        cfg.IntOpt(
            "periodic_task_interval", default=60, min=1, max=3600,
            help="""
Seconds between two refreshes of the driver's host list; for caching_scheduler.
""",
        ),
        cfg.IntOpt(
            "workers", min=0, max=512,
            help="""
Number of worker processes. Unset or 0: [DEFAULT] workers; if that is unset, too, the number of CPUs
for drivers that filter and claim, and 1 for others. Each keeps its own view of all hosts in
memory.
""",
        ),
        cfg.IntOpt(
            "max_attempts", default=3, min=1, max=100, mutable=True,
            help="""
Maximum number of hosts on which a build is tried: the selected host and up to this number minus one
of alternates in its cell. With 1, the first failure is final. Schedulers and cell conductors must
have the same value.
""",
        ),
        cfg.IntOpt(
            "max_placement_results", default=0, min=0, mutable=True,
            help="""
Maximum number of candidates that placement returns. 0, the default, means no limit; ten thousand
hosts do not need one. Requests with the hints group, same_host or different_host, and requests for
a particular host, are never limited.
""",
        ),
        cfg.ListOpt(
            "request_filters",
            default=[
                "tenant", "availability_zone", "image_type_support", "disabled_hosts",
                "isolated_aggregates", "image_metadata", "accelerators", "packed_virtqueue",
                "routed_networks", "remote_managed_ports", "ephemeral_encryption", "virtio_sound",
                "tpm_secret_security", "owner",
            ],
            help="""
Request filters, in this order: entry points of ``armillary.scheduler.request_filters``, or paths of
classes. They add to the placement query what placement can decide. Without disabled_hosts, for
example, placement returns candidates on disabled hosts, and only ComputeFilter rejects them.
""",
        ),
        cfg.BoolOpt(
            "query_placement_for_image_type_support", default=False, mutable=True,
            help="""
Whether servers are placed only on hosts whose provider has the trait of their image's disk format,
such as COMPUTE_IMAGE_TYPE_QCOW2.
""",
        ),
        cfg.BoolOpt(
            "query_placement_for_routed_network_aggregates", default=False, mutable=True,
            help="""
Whether servers that request a network are placed only on hosts of the aggregates that name it in
their metadata ``routed_network``, one aggregate per segment of a routed network. A network that no
aggregate names imposes no limit.
""",
        ),
        cfg.BoolOpt(
            "enable_isolated_aggregate_filtering", default=False, mutable=True,
            help="""
Whether the hosts of an aggregate with the metadata ``trait:NAME`` = ``required`` accept only
servers whose flavor or image requires all of these traits.
""",
        ),
        cfg.BoolOpt(
            "image_metadata_prefilter", default=False, mutable=True,
            help="""
Whether servers are placed only on hosts whose provider has the traits of the buses, models and
architectures in their image's properties.
""",
        ),
        cfg.BoolOpt(
            "limit_tenants_to_placement_aggregate", default=False, mutable=True,
            help="""
Whether a project's servers are placed only on hosts of the aggregates that contain its id as the
value of a metadata key that begins with ``filter_tenant_id``. A project that no aggregate names is
not limited, unless placement_aggregate_required_for_tenants is set.
""",
        ),
        cfg.BoolOpt(
            "placement_aggregate_required_for_tenants", default=False, mutable=True,
            help="""
With limit_tenants_to_placement_aggregate: whether a project that no aggregate names gets no host at
all.
""",
        ),
        cfg.IntOpt(
            "claimed_instance_seconds", default=120, min=1, max=3600,
            help="""
Seconds for which an instance claimed by this scheduler is assumed to be on its host until a report
of the cell confirms it.
""",
        ),
        cfg.IntOpt(
            "metadata_interval_seconds", default=60, min=1, max=3600,
            help="""
Seconds between two requests to the super conductor for cells and aggregates. Changes are pushed;
the requests repair a lost push.
""",
        ),
        cfg.IntOpt(
            "scheduler_instance_sync_interval", default=120, min=0, max=86400,
            help="""
Seconds between two messages in which a cell's conductors list the instances of its hosts to all
schedulers, so that a scheduler can request what it missed; 0 turns them off. Requires
[filter_scheduler] track_instance_changes.
""",
        ),
        cfg.IntOpt(
            "sync_interval_seconds", default=5, min=1, max=600,
            help="""
Seconds between two checks for cells that are silent or whose host states are incomplete. Each such
cell is asked for what is missing.
""",
        ),
        cfg.IntOpt(
            "sync_timeout_seconds", default=10, min=1, max=600,
            help="Seconds that a cell, or the super conductor, has to answer such a request.",
        ),
        cfg.IntOpt(
            "first_sync_wait_seconds", default=30, min=0, max=600,
            help="""
Seconds that a request waits after a start of the scheduler until every enabled cell was asked for
its hosts. After that it is scheduled with the hosts known by then.
""",
        ),
        cfg.IntOpt(
            "snapshot_interval_seconds", default=60, min=0, max=86_400,
            help="""
Seconds between two writes of what the scheduler knows (hosts, aggregates, summaries of child zones)
to ``$state_path/scheduler-HOST.snapshot``, from which a restarted scheduler answers until its cells
and child zones do. 0 turns it off: then a restarted scheduler waits for them.
""",
        ),
        cfg.IntOpt(
            "trace_retention_hours", default=168, min=1, max=87600, mutable=True,
            help="""
Hours for which super conductors keep the trace of a decision, which explains why a server is on its
host, and their records of a deleted server.
""",
        ),
        cfg.IntOpt(
            "trace_choices_max", default=1000, min=0, max=100000, mutable=True,
            help="""
Maximum number of instances of one request for which the trace records the selected host and its
weights.
""",
        ),
        cfg.IntOpt(
            "trace_runners_up_max", default=3, min=0, max=100, mutable=True,
            help=(
                "Number of runners-up that the trace records with their weights for each selection."
            ),
        ),
        cfg.IntOpt(
            "trace_explained_hosts_max", default=100, min=0, max=100000,
            help="""
Maximum number of hosts rejected by a filter that are asked for their reason, which takes some
microseconds each. If there are more, an even sample is taken, and the trace says "at least" with
its counts; filters whose reason depends on a few values are counted exactly in any case. 0 asks
none.
""",
        ),
    ]
}
