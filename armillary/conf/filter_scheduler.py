"""[filter_scheduler]: which filters and weighers decide, and what they go by."""

from __future__ import annotations

from oslo_config import cfg


def _multiplier(name: str, default: float, pull: str, *, minimum: float | None = None) -> cfg.Opt:
    return cfg.FloatOpt(
        f"{name}_weight_multiplier",
        default=default,
        min=minimum,
        mutable=True,
        help=f"""
{pull} 0 turns the weigher off. An aggregate's metadata ``{name}_weight_multiplier`` overrides it
for the aggregate's hosts; of several, the least counts.
""",
    )


OPTIONS: dict[str, list[cfg.Opt]] = {
    "filter_scheduler": [
        cfg.MultiStrOpt(
            "available_filters",
            default=["all_filters"],
            help="""
Filters that enabled_filters may call by the name of their class; may be given several times. Each
is all_filters, which stands for every entry point of ``armillary.scheduler.filters``; or the path
of a class; or the path of something that is called without arguments and returns classes. Classes
whose names begin with an underscore are left out. A path in enabled_filters needs no entry here.
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
            ],
            help="""
Filters that a host has to pass, in their order: entry points of ``armillary.scheduler.filters``, or
paths of classes (``package.module.Class``). Put first what rules out most.
""",
        ),
        cfg.ListOpt(
            "weight_classes",
            default=[
                "CPUWeigher",
                "RAMWeigher",
                "DiskWeigher",
                "IoOpsWeigher",
                "NumInstancesWeigher",
                "PCIWeigher",
                "HypervisorVersionWeigher",
                "ServerGroupSoftAffinityWeigher",
                "ServerGroupSoftAntiAffinityWeigher",
                "BuildFailureWeigher",
                "CrossCellWeigher",
                "MetricsWeigher",
                "ImagePropertiesWeigher",
            ],
            help="""
Weighers whose weights, each normalised and multiplied, add up to a host's weight: entry points of
``armillary.scheduler.weighers``, or paths of classes. ``all_weighers`` stands for every entry
point, those of other packages among them.
""",
        ),
        cfg.BoolOpt(
            "track_instance_changes",
            default=True,
            help="""
Whether cell conductors tell schedulers at once which instances came to a host or are gone from it,
and schedulers listen. Without it, filters and weighers that ask which instances a host has see a
change when its host state is pushed ([cell] host_push_interval_seconds later).
""",
        ),
        cfg.IntOpt(
            "host_subset_size",
            default=1,
            min=1,
            mutable=True,
            help="""
An instance goes to a random one of this many best hosts. More than 1 makes several schedulers,
which all see the same best host, get into each other's way less.
""",
        ),
        cfg.BoolOpt(
            "shuffle_best_same_weighed_hosts",
            default=False,
            mutable=True,
            help="""
Whether hosts that share the best weight are taken in random order, each time another one, instead
of an order that each scheduler process draws once. It has the same use as host_subset_size and
never takes a worse host.
""",
        ),
        cfg.IntOpt(
            "max_instances_per_host",
            default=50,
            min=1,
            mutable=True,
            help="""
NumInstancesFilter passes hosts that run fewer instances than this; AggregateNumInstancesFilter,
too, where the host's aggregates have no metadata of this name.
""",
        ),
        cfg.IntOpt(
            "max_io_ops_per_host",
            default=8,
            min=0,
            mutable=True,
            help="""
IoOpsFilter passes hosts with fewer builds, resizes, snapshots and the like in hand than this;
AggregateIoOpsFilter, too, where the host's aggregates have no metadata of this name.
""",
        ),
        cfg.ListOpt(
            "isolated_hosts",
            default=[],
            mutable=True,
            help="Hosts that IsolatedHostsFilter keeps for isolated_images.",
        ),
        cfg.ListOpt(
            "isolated_images",
            default=[],
            mutable=True,
            help="Ids of the images that IsolatedHostsFilter lets run on isolated_hosts only.",
        ),
        cfg.BoolOpt(
            "restrict_isolated_hosts_to_isolated_images",
            default=True,
            mutable=True,
            help="Whether IsolatedHostsFilter keeps other images away from isolated_hosts.",
        ),
        cfg.StrOpt(
            "aggregate_image_properties_isolation_namespace",
            mutable=True,
            help="""
AggregateImagePropertiesIsolation looks only at metadata whose keys begin with this and the
separator. The image's property has the same long name. Unset, it looks at all keys.
""",
        ),
        cfg.StrOpt(
            "aggregate_image_properties_isolation_separator",
            default=".",
            mutable=True,
            help="What stands between aggregate_image_properties_isolation_namespace and the rest.",
        ),
        cfg.StrOpt(
            "image_properties_default_architecture",
            choices=[
                "aarch64",
                "alpha",
                "armv6l",
                "armv7l",
                "i686",
                "ia64",
                "loongarch64",
                "mips",
                "mips64",
                "mips64el",
                "mipsel",
                "ppc",
                "ppc64",
                "ppc64le",
                "riscv64",
                "s390x",
                "sparc",
                "sparc64",
                "x86_64",
            ],
            mutable=True,
            help="""
The architecture that ImagePropertiesFilter asks of a host when the image has no hw_architecture.
Unset, such an image may run on any.
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
            "Below 0, hosts with fewer builds and other disk-heavy work in hand "
            "are preferred; above 0, busy ones.",
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
            "How much hosts are preferred that have fewer free PCI devices, by requests with and "
            "without devices.",
            minimum=0.0,
        ),
        _multiplier(
            "hypervisor_version",
            1.0,
            "Above 0, hosts with a newer hypervisor are preferred; below 0, with an older one.",
        ),
        _multiplier(
            "soft_affinity",
            1.0,
            "How much hosts are preferred that run members of a server group with the policy "
            "soft-affinity.",
            minimum=0.0,
        ),
        _multiplier(
            "soft_anti_affinity",
            1.0,
            "How much hosts are avoided that run members of a server group with the policy "
            "soft-anti-affinity.",
            minimum=0.0,
        ),
        _multiplier(
            "build_failure",
            1000000.0,
            "Above 0, hosts whose builds failed lately are avoided, "
            "the more the more of them failed. The default outweighs everything else.",
        ),
        _multiplier(
            "cross_cell_move",
            1000000.0,
            "Above 0, moves that may leave their cell prefer hosts within it; below 0, hosts in "
            "other cells. The default outweighs everything else but failed builds.",
        ),
        cfg.BoolOpt(
            "pci_in_placement",
            default=False,
            mutable=True,
            help="""
Whether placement keeps count of PCI devices, as inventories of providers below those of the hosts.
Then each device that a flavor asks for by an alias becomes a request group of its own, for the
alias's ``resource_class``, else CUSTOM_PCI_<vendor>_<product>, and its ``traits``.
""",
        ),
        cfg.FloatOpt(
            "image_props_weight_multiplier",
            default=0.0,
            mutable=True,
            help="""
Above 0, hosts are preferred that run instances of images with the same properties, so these pack;
below 0, such hosts are avoided. 0, the default, turns the weigher off, also where an aggregate has
the metadata ``image_props_weight_multiplier``; else that overrides it for the aggregate's hosts, of
several the least.
""",
        ),
        cfg.ListOpt(
            "image_props_weight_setting",
            default=[],
            mutable=True,
            help="""
Image properties that ImagePropertiesWeigher compares, each with its weight: ``os_distro=2.0``, with
commas between them. Unset, all properties of the requested image count 1. What cannot be read is
left out, with a warning.
""",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group, options in OPTIONS.items():
        conf.register_opts(options, group=group)


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
