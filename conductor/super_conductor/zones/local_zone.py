"""Operations of this zone itself, called by parent zones and by its own walks."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.claims.delegated_claims import DelegatedClaims
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.servers.guest_requests import GuestRequests
from conductor.super_conductor.servers.server_lists import ServerLists
from conductor.super_conductor.servers.server_migrations import ServerMigrations
from conductor.super_conductor.servers.server_operations import ServerOperations
from conductor.super_conductor.servers.server_views import ServerReader
from conductor.super_conductor.zones.delegated_builds import DelegatedBuilds
from conductor.super_conductor.zones.forwarded import LIST_SERVERS, decode_arguments, encode_answer
from conductor.super_conductor.zones.hidden_hosts import HiddenHosts
from conductor.super_conductor.zones.uuid_translation import UuidTranslation
from objects.instances.server_answers import InstanceMarker, MigrationPage
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.zones.zone_attempt import Attempts
from objects.zones.zone_query import ZoneOrder
from objects.zones.zone_request import ZoneRequest

Served = Callable[..., Any]

_OF_GUESTS = frozenset({"get_console_output", "create_serial_console"})
"""Requests whose answers are passed on as they are: a guest's own words, or an agent's address."""


class LocalZone:
    """The local zone of ``Routes``: builds and operates instances for other zones."""

    def __init__(
        self,
        database: Database,
        delegated_builds: DelegatedBuilds,
        servers: ServerReader,
        lists: ServerLists,
        operations: ServerOperations,
        guest_requests: GuestRequests,
        migrations: ServerMigrations,
        *,
        claims: DelegatedClaims,
        hides_hosts: bool,
    ) -> None:
        self._database = database
        self._hosts = HiddenHosts(database, is_on=hides_hosts)
        self._delegated_builds = delegated_builds
        self._lists = lists
        self._migrations = migrations
        self._claims = claims
        self._of_one: dict[str, Served] = {
            "get_server": servers.get_server,
            "list_server_actions": servers.list_server_actions,
            "explain_server": servers.explain,
            "operate_server": partial(operations.operate, is_delegated=True),
            "get_console_output": guest_requests.get_console_output,
            "get_diagnostics": guest_requests.get_diagnostics,
            "get_topology": guest_requests.get_topology,
            "create_serial_console": guest_requests.create_serial_console,
            "set_admin_password": guest_requests.set_admin_password,
            "trigger_crash_dump": guest_requests.trigger_crash_dump,
            "list_migrations": self._list_migrations,
            "abort_migration": migrations.abort_migration,
            "force_migration": migrations.force_migration,
            "record_refusal": operations.record_refusal,
            "soft_delete": operations.soft_delete,
        }

    def create(self, context: RequestContext, order: ZoneOrder) -> None:
        """Store instances to build here. See ``ZoneAPI.create``."""
        self._delegated_builds.create(context, order)

    def get_attempts(self, context: RequestContext, instance_uuids: Sequence[str]) -> Attempts:
        """Return the state of attempts here. See ``ZoneAPI.get_attempts``."""
        return self._without_hosts(self._delegated_builds.get_attempts(context, instance_uuids))

    def cancel(self, context: RequestContext, attempts: Mapping[str, int]) -> Attempts:
        """Cancel attempts here. See ``ZoneAPI.cancel``."""
        return self._without_hosts(self._delegated_builds.cancel(context, attempts))

    def forward(self, context: RequestContext, request: ZoneRequest) -> Any:
        """Call a method on an instance of another zone; the caller uses the origin's UUID for it.

        Raises Invalid for a method that zones do not offer, InstanceNotFound when this zone has no
        such instance of the zone that asks, and what the method raises. Answers and errors name the
        origin's UUID, too.
        """
        method = request.operation
        if method == LIST_SERVERS:
            return self._list(context, **decode_arguments(request))
        if method in self._claims.methods:
            return self._claims.forward(context, request)
        served = self._of_one.get(method)
        if served is None:
            known = ", ".join(sorted([LIST_SERVERS, *self._of_one, *self._claims.methods]))
            raise exception.Invalid(
                reason=f"unknown method {method!r:.80} for another zone; known methods: {known}"
            )
        given = decode_arguments(request)
        name = request.instance_uuid or ""
        delegated = self._database.read(
            zone_attempts.find_living, name, zone_attempts.parent_of(context)
        )
        if delegated is None or delegated.local_uuid is None:
            raise exception.InstanceNotFound(instance_uuid=name)
        names = UuidTranslation([delegated])
        is_of_parent = delegated.origin != zone_attempts.OWN and method not in _OF_GUESTS
        try:
            with names.in_errors():
                answer = served(context, delegated.local_uuid, **given)
        except exception.ArmillaryError as error:
            if is_of_parent and self._hosts.is_on:
                raise self._hosts.in_error(error) from None
            raise
        told = names.in_answer(encode_answer(method, answer))
        return self._hosts.in_answer(told) if is_of_parent else told

    def _without_hosts(self, attempts: Attempts) -> Attempts:
        """Return attempts whose reasons name no host, if names are hidden.

        Reasons of the zone's own walks are hidden, too: users see them.
        """
        if not self._hosts.is_on:
            return attempts
        return {
            uuid: dataclasses.replace(one, reason=self._hosts.in_text(one.reason))
            if one.reason
            else one
            for uuid, one in attempts.items()
        }

    def _list_migrations(
        self, context: RequestContext, instance_uuid: str, filters: MigrationFilters, limit: int
    ) -> MigrationPage:
        of_server = dataclasses.replace(filters, instance_uuid=instance_uuid)
        return self._migrations.list_migrations(context, filters=of_server, limit=limit)

    def _list(
        self,
        context: RequestContext,
        filters: ServerFilters,
        limit: int,
        marker: InstanceMarker | None,
        for_display: bool = False,
    ) -> dict[str, Any]:
        page = self._lists.list_page(
            context, filters=filters, limit=limit, marker=marker, for_display=for_display
        )
        uuids = [one.uuid for one in page.instances]
        delegated = self._database.read(zone_attempts.by_local_uuid, uuids, renamed_only=True)
        told: dict[str, Any] = encode_answer(LIST_SERVERS, page)
        return self._hosts.in_answer(UuidTranslation(delegated.values()).in_answer(told))
