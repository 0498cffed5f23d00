"""Options of [quota]: default limits of a project."""

from oslo_config import cfg, types


def _limit(name: str, default: int, what: str) -> cfg.Opt:
    return cfg.IntOpt(
        name, default=default, min=-1, mutable=True, help=f"{what}. -1 means unlimited."
    )


OPTIONS: dict[str, list[cfg.Opt]] = {
    "quota": [
        _limit("instances", 10, "Maximum number of servers in a project"),
        _limit("cores", 20, "Maximum total number of vCPUs of a project's servers"),
        _limit("ram", 51200, "Maximum total memory of a project's servers, in MiB"),
        _limit("server_groups", 10, "Maximum number of server groups in a project"),
        _limit("server_group_members", 10, "Maximum number of servers in a server group"),
        _limit("metadata_items", 128, "Maximum number of metadata items of a server"),
        _limit("claims", 100, "Maximum number of claims in a project"),
        cfg.Opt(
            "claim_amounts",
            type=types.Dict(types.Integer(min=-1)),
            default={},
            mutable=True,
            help="""
Maximum total amounts of resource classes in a project's claims, such as ``DISK_GB:1000``. -1 and a
class that is left out are unlimited.
""",
        ),
        cfg.BoolOpt(
            "count_usage_from_placement",
            default=False,
            help="""
Whether cores and memory of a project are counted from its allocations in placement instead of its
servers' flavors. Then servers that hold no resources (shelved and offloaded, or without a host) do
not count until they are unshelved, both hosts of a resize do, and creates, resizes and unshelving
need placement. Servers of other zones and those being scheduled count by their flavor.
""",
        ),
        _limit("key_pairs", 100, "Maximum number of key pairs of a user"),
    ]
}
