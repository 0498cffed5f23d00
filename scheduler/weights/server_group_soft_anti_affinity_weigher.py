"""Weigher that spreads the members of a server group if possible."""

from scheduler.weights.server_group import GroupMembersWeigher


class ServerGroupSoftAntiAffinityWeigher(GroupMembersWeigher):
    """Prefers hosts with fewer members of a server group whose policy is ``soft-anti-affinity``."""

    policy = "soft-anti-affinity"
    sign = -1
    multiplier_option = "soft_anti_affinity_weight_multiplier"
