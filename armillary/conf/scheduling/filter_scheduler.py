"""Options of [filter_scheduler]: filters, weighers and their parameters."""

from oslo_config import cfg


# fmt: off
def _multiplier(name: str, default: float, pull: str, *, minimum: float | None = None) -> cfg.Opt:
    return cfg.FloatOpt(
        f"{name}_weight_multiplier", default=default, min=minimum, mutable=True,
        help=f"""
{pull} 0 turns the weigher off. The aggregate metadata ``{name}_weight_multiplier`` overrides it for
the aggregate's hosts; with several values, the lowest applies.
""",
    )


OPTIONS: dict[str, list[cfg.Opt]] = {
    "filter_scheduler": [
        cfg.MultiStrOpt(
            "available_filters", default=["all_filters"],
            help="""
Filters that enabled_filters may refer to by class name. Repeat the option for several values. Each
is all_filters, for every entry point of ``armillary.scheduler.filters``; the path of a class
(``module.Class`` or ``module:Class``); or the path of a callable without arguments that returns
classes. Classes whose names begin with an underscore are ignored. ``scheduler.filters.all_filters``
and ``nova.scheduler.filters.all_filters`` are the same as all_filters. A path in enabled_filters
needs no entry here.
""",
        ),
        cfg.ListOpt(
            "enabled_filters",
            default=[
                "ComputeFilter",
                "ComputeCapabilitiesFilter",
                "ImagePropertiesFilter",
                "ServerGroupAntiAffinityFilter",
                "ServerGroupAffinityFilter",
                "TopologySpreadFilter",
                "NUMATopologyFilter",
                "PciPassthroughFilter",
            ],
            help="""
Filters that a host must pass, in this order: entry points of ``armillary.scheduler.filters``, or
paths of classes (``module.Class`` or ``module:Class``). Put the filters that reject most hosts
first.
""",
        ),
        cfg.ListOpt(
            "weight_classes",
            default=[
                "CPUWeigher", "RAMWeigher", "DiskWeigher", "IoOpsWeigher", "NumInstancesWeigher",
                "PCIWeigher", "HypervisorVersionWeigher", "ServerGroupSoftAffinityWeigher",
                "ServerGroupSoftAntiAffinityWeigher", "TopologySpreadWeigher",
                "ProjectSpreadWeigher", "BuildFailureWeigher", "CrossCellWeigher",
                "MetricsWeigher", "ImagePropertiesWeigher", "ImageCacheWeigher",
            ],
            help="""
Weighers whose normalised and multiplied weights add up to the weight of a host: entry points of
``armillary.scheduler.weighers``, or paths of classes. ``all_weighers`` stands for every entry
point, including those of other packages; ``scheduler.weights.all_weighers`` and
``nova.scheduler.weights.all_weighers`` are the same.
""",
        ),
        cfg.BoolOpt(
            "track_instance_changes", default=True,
            help="""
Whether cell conductors notify schedulers immediately of instances that arrive on a host or leave
it. If off, filters and weighers that use the instances of a host see a change when the host state
is pushed ([cell] host_push_interval_seconds later).
""",
        ),
        cfg.IntOpt(
            "host_subset_size", default=1, min=1, mutable=True,
            help="""
Number of best hosts from which one is chosen at random for an instance. More than 1 reduces
conflicts between schedulers that would all choose the same best host.
""",
        ),
        cfg.BoolOpt(
            "shuffle_best_same_weighed_hosts", default=False, mutable=True,
            help="""
Whether hosts that share the best weight are taken in a new random order for each instance, instead
of an order that each scheduler process draws once. This also reduces conflicts, as host_subset_size
does, but never takes a worse host.
""",
        ),
        cfg.IntOpt(
            "max_instances_per_host", default=50, min=1, mutable=True,
            help="""
NumInstancesFilter passes hosts that run fewer instances than this, and so does
AggregateNumInstancesFilter where the host's aggregates have no metadata of this name.
""",
        ),
        cfg.IntOpt(
            "max_io_ops_per_host", default=8, min=0, mutable=True,
            help="""
IoOpsFilter passes hosts with fewer builds, resizes, snapshots and similar operations in progress
than this, and so does AggregateIoOpsFilter where the host's aggregates have no metadata of this
name.
""",
        ),
        cfg.ListOpt(
            "isolated_hosts", default=[], mutable=True,
            help="Hosts that IsolatedHostsFilter reserves for isolated_images.",
        ),
        cfg.ListOpt(
            "isolated_images", default=[], mutable=True,
            help="Ids of the images that IsolatedHostsFilter restricts to isolated_hosts.",
        ),
        cfg.BoolOpt(
            "restrict_isolated_hosts_to_isolated_images", default=True, mutable=True,
            help="Whether IsolatedHostsFilter rejects isolated_hosts for all other images.",
        ),
        cfg.StrOpt(
            "aggregate_image_properties_isolation_namespace", mutable=True,
            help="""
Prefix of the metadata keys that AggregateImagePropertiesIsolation considers, followed by the
separator. The image property has the same full name. Unset: all keys.
""",
        ),
        cfg.StrOpt(
            "aggregate_image_properties_isolation_separator", default=".", mutable=True,
            help=(
                "Separator between aggregate_image_properties_isolation_namespace and the rest "
                "of the key."
            ),
        ),
        cfg.StrOpt(
            "image_properties_default_architecture", mutable=True,
            choices=[
                "aarch64", "alpha", "armv6l", "armv7l", "i686", "ia64", "loongarch64", "mips",
                "mips64", "mips64el", "mipsel", "ppc", "ppc64", "ppc64le", "riscv64", "s390x",
                "sparc", "sparc64", "x86_64",
            ],
            help="""
Architecture that ImagePropertiesFilter requires if the image has no hw_architecture. Unset: such an
image may run on any architecture.
""",
        ),
        _multiplier(
            "ram",
            1.0,
            "Above 0, hosts with more free memory are preferred, so "
            "instances spread; below 0, those with less, so they pack.",
        ),
        _multiplier(
            "cpu",
            1.0,
            "Above 0, hosts with more free vCPUs are preferred, so instances spread; "
            "below 0, those with fewer, so they pack.",
        ),
        _multiplier(
            "disk",
            1.0,
            "Above 0, hosts with more free disk are preferred, so instances spread; "
            "below 0, those with less, so they pack.",
        ),
        _multiplier(
            "io_ops",
            -1.0,
            "Below 0, hosts with fewer builds and other disk-heavy operations in progress "
            "are preferred; above 0, busier ones.",
        ),
        _multiplier(
            "num_instances",
            0.0,
            "Above 0, hosts that run more instances are preferred, so instances pack; "
            "below 0, those that run fewer, so they spread.",
        ),
        _multiplier(
            "pci",
            1.0,
            "Strength with which hosts with fewer free PCI devices are preferred, for "
            "requests with and without devices.",
            minimum=0.0,
        ),
        _multiplier(
            "hypervisor_version",
            1.0,
            "Above 0, hosts with a newer hypervisor are preferred; below 0, those with an "
            "older one.",
        ),
        _multiplier(
            "soft_affinity",
            1.0,
            "Strength with which hosts that run members of a server group with the policy "
            "soft-affinity are preferred.",
            minimum=0.0,
        ),
        _multiplier(
            "soft_anti_affinity",
            1.0,
            "Strength with which hosts that run members of a server group with the policy "
            "soft-anti-affinity are avoided.",
            minimum=0.0,
        ),
        _multiplier(
            "topology_spread",
            1000.0,
            "Strength with which domains, such as racks, are avoided where one more member of a "
            "server group with the policy spread or soft-spread would exceed its maximal skew.",
            minimum=0.0,
        ),
        _multiplier(
            "project_spread",
            0.0,
            "Above 0, hosts that run fewer servers of the request's project are preferred, so a "
            "customer's servers spread; below 0, those that run more.",
        ),
        _multiplier(
            "build_failure",
            1000000.0,
            "Above 0, hosts with recent failed builds are avoided, in proportion to the "
            "number of failures. The default outweighs everything else.",
        ),
        _multiplier(
            "cross_cell_move",
            1000000.0,
            "Above 0, moves that may leave their cell prefer hosts within it; below 0, "
            "hosts in other cells. The default outweighs everything else except failed "
            "builds.",
        ),
        cfg.BoolOpt(
            "pci_in_placement", default=False, mutable=True,
            help="""
Whether placement tracks PCI devices, as inventories of child providers of the hosts. If so, each
device that a flavor requests by an alias becomes a request group of its own, for the alias's
``resource_class``, or else CUSTOM_PCI_<vendor>_<product>, and its ``traits``.
""",
        ),
        cfg.FloatOpt(
            "image_props_weight_multiplier", default=0.0, mutable=True,
            help="""
Above 0, hosts that run instances of images with the same properties are preferred, so these pack;
below 0, such hosts are avoided. 0, the default, turns the weigher off, even for aggregates with the
metadata ``image_props_weight_multiplier``. Otherwise that metadata overrides it for the aggregate's
hosts; with several values, the lowest applies.
""",
        ),
        cfg.FloatOpt(
            "image_cache_weight_multiplier", default=0.0, mutable=True,
            help="""
Above 0, hosts that have the image of a new server already are preferred; below 0, they are avoided.
0, the default, turns the weigher off, except for the hosts of aggregates with the metadata
``image_cache_weight_multiplier``, which overrides it; with several values, the lowest applies.
""",
        ),
        cfg.ListOpt(
            "image_props_weight_setting", default=[], mutable=True,
            help="""
Comma-separated image properties that ImagePropertiesWeigher compares, each with its weight:
``os_distro=2.0``. Unset: all properties of the requested image count 1. Invalid entries are ignored
with a warning.
""",
        ),
    ]
}
