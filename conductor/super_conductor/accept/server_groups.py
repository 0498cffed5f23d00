"""Server groups: validation, ownership and quota."""

from __future__ import annotations

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from armillary.names.identifiers import uuid_of_request
from conductor.common.clock import Clock, moment
from conductor.super_conductor.accept import quotas
from conductor.super_conductor.accept.owners import owner_of
from conductor.super_conductor.db import models
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from conductor.super_conductor.db.catalogue import server_groups
from objects.instances.instance_group import POLICIES, SPREAD_POLICIES, InstanceGroup
from rpc.notifications import SILENT, Notifier

_ANTI_AFFINITY = "anti-affinity"
_RULES = {"max_server_per_host": (_ANTI_AFFINITY,), "topology_key": SPREAD_POLICIES,
          "max_skew": SPREAD_POLICIES}  # fmt: skip
"""The policies that each rule is for."""


class ServerGroupsEndpoint:
    """A project's groups, or all for an administrator; see ``SuperConductorAPI``."""

    def __init__(
        self, conf: cfg.ConfigOpts, database: Database, now: Clock, notifier: Notifier = SILENT
    ) -> None:
        self._conf = conf
        self._database = database
        self._now = now
        self._notifier = notifier

    def create_server_group(
        self, context: RequestContext, name: str, policy: str, rules: dict[str, str]
    ) -> InstanceGroup:
        check_group(name, policy, rules)
        owner = owner_of(context)
        now = moment(self._now())
        group_uuid = uuid_of_request(context, f"server_group/{name}")

        def write(session: Session) -> InstanceGroup | None:
            quotas_db.lock_owner(session, owner.project_id)
            if server_groups.is_known(session, group_uuid):
                return None
            self._check_quota(session, owner.project_id)
            return server_groups.create_group(
                session, name=name, project_id=owner.project_id, user_id=owner.user_id,
                policy=policy, rules=rules, now=now, group_uuid=group_uuid,
            )  # fmt: skip

        made = self._database.run_in_writer(write)
        if made is None:  # the conductor that made it has not kept the answer for repeats
            return self.get_server_group(context, group_uuid)
        self._notifier.server_group(context, "create", made)
        return made

    def list_server_groups(
        self, context: RequestContext, all_projects: bool = False
    ) -> list[InstanceGroup]:
        project_id = context.visible_project if all_projects else context.project_id or ""
        return self._database.read(server_groups.list_groups, project_id)

    def get_server_group(self, context: RequestContext, group: str) -> InstanceGroup:
        return self._database.read(server_groups.get_group, group, context.visible_project)

    def delete_server_group(self, context: RequestContext, group: str) -> None:
        gone = None if self._notifier.is_silent else self.get_server_group(context, group)
        self._database.run_in_writer(server_groups.delete_group, group, context.visible_project)
        if gone is not None:
            self._notifier.server_group(context, "delete", gone)

    def _check_quota(self, session: Session, project_id: str) -> None:
        limits = quotas.limits_of(session, self._conf, project_id)
        used = {"server_groups": server_groups.count_groups(session, project_id)}
        quotas.fitting_count(limits, used, {"server_groups": 1}, min_count=1, max_count=1)


def check_group(name: str, policy: str, rules: dict[str, str]) -> None:
    """Raise Invalid for invalid values of a group."""
    if not name.strip() or len(name) > models.NAME_LENGTH:
        raise exception.Invalid(
            reason=f"the name of a server group must have 1 to {models.NAME_LENGTH} characters"
        )
    if policy not in POLICIES:
        raise exception.Invalid(reason=f"unknown policy {policy}; known: {', '.join(POLICIES)}")
    if unknown := sorted(rules.keys() - _RULES.keys()):
        raise exception.Invalid(
            reason=f"unknown rule {', '.join(unknown)}; known: {', '.join(_RULES)}"
        )
    for rule, value in rules.items():
        if policy not in _RULES[rule]:
            policies = " or ".join(_RULES[rule])
            raise exception.Invalid(reason=f"{rule} is for the policy {policies} only")
        if rule != "topology_key" and not (str(value).isdecimal() and int(value) >= 1):
            raise exception.Invalid(
                reason=f"{rule} must be a whole number of at least 1, not {value}"
            )
    if policy in SPREAD_POLICIES and not rules.get("topology_key", "").strip():
        raise exception.Invalid(
            reason=f"the policy {policy} needs the rule topology_key: an aggregate metadata key "
            "whose values are the domains, such as rack"
        )
