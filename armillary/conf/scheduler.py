"""[scheduler]: which driver decides, what it asks of placement, how it knows the hosts."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "scheduler": [
        cfg.StrOpt(
            "driver",
            default="filter_scheduler",
            help="""
Name of the driver that decides: an entry point of ``armillary.scheduler.driver``, or the path of a
class. filter_scheduler asks placement, filters, weighs and claims. caching_scheduler filters and
weighs hosts as they were at its last refresh and claims nothing, chance_scheduler takes any host
that is up, fake_scheduler is for tests of a deployment. zone_scheduler is filter_scheduler for a
zone that has others below it. All schedulers must have the same one.
""",
        ),
        cfg.BoolOpt(
            "in_process",
            default=False,
            help="""
Whether each super conductor decides by itself, with a scheduler in its own process: no scheduler
service runs then, and no queue for one. Hosts are asked for every pull_interval_seconds, as nobody
can push them. All super conductors must have the same value.
""",
        ),
        cfg.IntOpt(
            "pull_interval_seconds",
            default=5,
            min=1,
            max=600,
            help="""
With in_process: seconds between two questions to each cell for what changed of its hosts.
""",
        ),
        cfg.FloatOpt(
            "plugin_timeout_seconds",
            default=10.0,
            min=0.1,
            max=600.0,
            mutable=True,
            help="""
Seconds that a filter, weigher or request filter has for one question. A plugin that takes longer
ends its request without a host, with the reason, where it looks at the next host; while one does
not come back at all, every request ends that way, at once.
""",
        ),
        cfg.IntOpt(
            "periodic_task_interval",
            default=60,
            min=1,
            max=3600,
            help="""
Seconds between two refreshes of what a driver keeps of the hosts; for caching_scheduler.
""",
        ),
        cfg.IntOpt(
            "workers",
            min=1,
            max=512,
            help="""
Number of worker processes. Unset, [DEFAULT] workers. Each keeps its own view of all hosts in
memory.
""",
        ),
        cfg.IntOpt(
            "max_attempts",
            default=3,
            min=1,
            max=100,
            mutable=True,
            help="""
On how many hosts a build is tried: the selected one and this number less one of alternates in its
cell. 1 means that the first failure is final. Schedulers and cell conductors must have the same
value.
""",
        ),
        cfg.IntOpt(
            "max_placement_results",
            default=0,
            min=0,
            mutable=True,
            help="""
How many candidates placement may answer with. 0, the default, is no limit, which ten thousand hosts
do not need. Requests with the hints group, same_host or different_host, and those for a certain
host, are never limited.
""",
        ),
        cfg.ListOpt(
            "request_filters",
            default=[
                "tenant",
                "availability_zone",
                "image_type_support",
                "disabled_hosts",
                "isolated_aggregates",
                "image_metadata",
                "accelerators",
                "packed_virtqueue",
                "routed_networks",
                "remote_managed_ports",
                "ephemeral_encryption",
                "virtio_sound",
                "tpm_secret_security",
                "owner",
            ],
            help="""
Request filters, in their order: entry points of ``armillary.scheduler.request_filters``, or paths
of classes. They turn what can be asked of placement into the question to it; without
disabled_hosts, for one, candidates on disabled hosts come back, and only ComputeFilter drops them.
""",
        ),
        cfg.BoolOpt(
            "query_placement_for_image_type_support",
            default=False,
            mutable=True,
            help="""
Whether servers go only to hosts whose provider has the trait of their image's disk format, such as
COMPUTE_IMAGE_TYPE_QCOW2.
""",
        ),
        cfg.BoolOpt(
            "query_placement_for_routed_network_aggregates",
            default=False,
            mutable=True,
            help="""
Whether servers that ask for a network go only to the hosts of those aggregates that name it in
their metadata ``routed_network``: one aggregate for each segment of a routed network. A network
that no aggregate names is no limit.
""",
        ),
        cfg.BoolOpt(
            "enable_isolated_aggregate_filtering",
            default=False,
            mutable=True,
            help="""
Whether the hosts of an aggregate with the metadata ``trait:NAME`` = ``required`` take only servers
whose flavor or image requires all of these traits.
""",
        ),
        cfg.BoolOpt(
            "image_metadata_prefilter",
            default=False,
            mutable=True,
            help="""
Whether servers go only to hosts whose provider has the traits of the buses, models and
architectures that their image's properties name.
""",
        ),
        cfg.BoolOpt(
            "limit_tenants_to_placement_aggregate",
            default=False,
            mutable=True,
            help="""
Whether a project's servers go only to the hosts of those aggregates that have its id as the value
of a metadata key which begins with ``filter_tenant_id``. A project that no aggregate names is not
limited, unless placement_aggregate_required_for_tenants says so.
""",
        ),
        cfg.BoolOpt(
            "placement_aggregate_required_for_tenants",
            default=False,
            mutable=True,
            help="""
With limit_tenants_to_placement_aggregate: whether a project that no aggregate names gets no host at
all.
""",
        ),
        cfg.IntOpt(
            "claimed_instance_seconds",
            default=120,
            min=1,
            max=3600,
            help="""
Seconds for which an instance that was claimed here counts as one of its host's although no report
of its cell has shown it yet.
""",
        ),
        cfg.IntOpt(
            "facts_interval_seconds",
            default=60,
            min=1,
            max=3600,
            help="""
Seconds between two questions to the super conductor for cells and aggregates. Changes are pushed;
this is for the push that got lost.
""",
        ),
        cfg.IntOpt(
            "scheduler_instance_sync_interval",
            default=120,
            min=0,
            max=86400,
            help="""
Seconds between two times that a cell's conductors tell all schedulers which instances its hosts
have, so that a scheduler asks for what it missed; 0 never does. Only with [filter_scheduler]
track_instance_changes.
""",
        ),
        cfg.IntOpt(
            "sync_interval_seconds",
            default=5,
            min=1,
            max=600,
            help="""
Seconds between two looks for cells whose host states are incomplete or which fell silent; each is
asked for what is missing.
""",
        ),
        cfg.IntOpt(
            "sync_timeout_seconds",
            default=10,
            min=1,
            max=600,
            help="Seconds that a cell, or the super conductor, has to answer such a question.",
        ),
        cfg.IntOpt(
            "first_sync_wait_seconds",
            default=30,
            min=0,
            max=600,
            help="""
Seconds that a request waits after a start of the scheduler until every enabled cell was asked for
its hosts. After that it is decided with the hosts that are known by then.
""",
        ),
        cfg.IntOpt(
            "trace_retention_hours",
            default=168,
            min=1,
            max=87600,
            mutable=True,
            help="""
Hours that the super conductors keep the trace of a decision, which explains where a server is, and
what they know of a deleted server.
""",
        ),
        cfg.IntOpt(
            "trace_choices_max",
            default=1000,
            min=0,
            max=100000,
            mutable=True,
            help="""
For how many instances of one request the decision's trace says which host was chosen, by which
weights.
""",
        ),
        cfg.IntOpt(
            "trace_runners_up_max",
            default=3,
            min=0,
            max=100,
            mutable=True,
            help="How many of the next best hosts a choice in the trace shows with their weights.",
        ),
        cfg.IntOpt(
            "trace_explained_hosts_max",
            default=100,
            min=0,
            max=100000,
            help="""
How many of the hosts that a filter removes are asked for their reason, some microseconds each.
Where there are more, they are picked evenly, and the trace says "at least" with its counts; filters
whose reason depends on a few figures are counted exactly without that. 0 asks none of them.
""",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group, options in OPTIONS.items():
        conf.register_opts(options, group=group)


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
