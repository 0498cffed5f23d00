"""Weigher that places the members of a server group together if possible."""

from scheduler.weights.server_group import GroupMembersWeigher


class ServerGroupSoftAffinityWeigher(GroupMembersWeigher):
    """Prefers hosts with more members of a server group whose policy is ``soft-affinity``."""

    policy = "soft-affinity"
    multiplier_option = "soft_affinity_weight_multiplier"
