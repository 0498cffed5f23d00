"""Validation of users' requests for servers, before anything is stored."""

import dataclasses
from typing import Any

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.accept import pinned_zones
from conductor.super_conductor.db import cells, host_mappings, instance_mappings, models
from conductor.super_conductor.db.catalogue import flavors, images, server_groups
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.instances.instance_group import InstanceGroup
from objects.instances.local_resources import local_resources_of
from objects.instances.new_servers import NewServers
from objects.instances.server_settings import ServerSettings
from objects.pci import pci
from objects.request_spec import Destination, RequestSpec

GROUP_HINT = "group"
SERVER_HINTS = ("same_host", "different_host")
UNKNOWN_SERVER = "00000000-0000-0000-0000-000000000000"
CONFIG_DRIVE_PROPERTY = "img_config_drive"
MANDATORY = "mandatory"
"""The value of an image's property that asks for a config drive."""


@dataclasses.dataclass(frozen=True)
class ZoneAsked:
    """An availability zone as users write it: ``zone``, ``zone:host``, ``zone:host:node``."""

    zone: str | None
    host: str | None
    node: str | None

    @property
    def is_forced(self) -> bool:
        """Whether a host or node was forced."""
        return self.host is not None or self.node is not None


@dataclasses.dataclass(frozen=True)
class ServerRequest:
    """A request for servers with all references resolved."""

    name: str
    min_count: int
    max_count: int
    flavor: Flavor
    image: ImageMeta | None
    zone: ZoneAsked
    destination: Destination | None
    group: InstanceGroup | None
    networks: list[dict[str, str | bool]]
    local_resources: dict[str, Any]
    hints: dict[str, list[str]]
    metadata: dict[str, str]
    settings: ServerSettings | None

    def spec(self, context: RequestContext, *, count: int) -> RequestSpec:
        """Return the request spec for ``count`` instances."""
        group = None
        if self.group is not None:  # members and hosts are read when it is scheduled
            group = self.group.with_values(members=[], hosts=[])
        return RequestSpec.from_values(
            project_id=context.project_id,
            user_id=context.user_id,
            flavor=self.flavor,
            image=self.image,
            num_instances=count,
            availability_zone=self.zone.zone,
            scheduler_hints=self.hints,
            instance_group=group,
            force_hosts=[] if self.zone.host is None else [self.zone.host],
            force_nodes=[] if self.zone.node is None else [self.zone.node],
            requested_destination=self.destination,
            requested_networks=self.networks,
            is_bfv=self.settings is not None and self.settings.root_volume is not None,
            **self.local_resources,
        )


def resolve(
    session: Session,
    conf: cfg.ConfigOpts,
    context: RequestContext,
    servers: NewServers,
    known_flavors: dict[str, Flavor],
) -> ServerRequest:
    """Resolve all references of a request. Raises what ``create_servers`` promises.

    ``known_flavors`` caches the public flavors of other requests in the same transaction.
    """
    _check_counts(servers, conf.conductor.max_count)
    _check_name(servers)
    flavor = known_flavors.get(servers.flavor)
    if flavor is None:
        flavor = flavors.get_flavor(session, servers.flavor, context)
        if flavor.is_public:
            known_flavors[servers.flavor] = flavor
    image = images.get_image(session, servers.image, context) if servers.image else None
    _check_flavor(flavor, image)
    if servers.needs_root_disk:
        check_root_disk(flavor, image)
    zone = _zone(session, conf, context, servers.availability_zone)
    destination = _destination(session, servers.host, servers.node)
    _check_agreement(zone, destination)
    return ServerRequest(
        name=servers.name,
        min_count=servers.min_count,
        max_count=servers.count_max,
        flavor=flavor,
        image=image,
        zone=zone,
        destination=destination,
        group=_group(session, context, servers.hints),
        networks=servers.networks,
        local_resources=local_resources_of(flavor, image, pci.parse_aliases(conf.pci.alias)),
        hints=_own_hints(session, context, servers.hints),
        metadata=servers.metadata,
        settings=_settings(servers, image),
    )


def _settings(servers: NewServers, image: ImageMeta | None) -> ServerSettings | None:
    """Return the settings, with a config drive if the image asks for one."""
    settings = servers.settings
    if image is None or image.properties.get(CONFIG_DRIVE_PROPERTY) != MANDATORY:
        return settings
    return (settings or ServerSettings.from_values()).with_values(config_drive=True)


def parse_zone(text: str | None) -> ZoneAsked:
    """Parse ``zone:host:node``; each part may be empty. Raises Invalid."""
    parts = (text or "").split(":")
    if len(parts) > 3:
        raise exception.Invalid(
            reason=f"availability_zone must be zone, zone:host or zone:host:node, not {text}"
        )
    zone, host, node = (part or None for part in (*parts, "", "")[:3])
    return ZoneAsked(zone, host, node)


def _check_name(servers: NewServers) -> None:
    count = servers.count_max
    room = models.NAME_LENGTH - (len(f"-{count}") if count > 1 else 0)
    if not servers.name.strip() or len(servers.name) > room:
        raise exception.Invalid(reason=f"name must have 1 to {room} characters")


def _check_counts(servers: NewServers, count_max: int) -> None:
    min_count, max_count = servers.min_count, servers.count_max
    if min_count < 1 or max_count < min_count:
        raise exception.Invalid(
            reason=f"min_count ({min_count}) must be at least 1 and at most max_count ({max_count})"
        )
    if max_count > count_max:
        raise exception.Invalid(
            reason=f"max_count must be at most {count_max} in one request, not {max_count}"
        )


def _check_flavor(flavor: Flavor, image: ImageMeta | None) -> None:
    if flavor.disabled:
        raise exception.Invalid(reason=f"flavor {flavor.name} is disabled")
    if image is None:
        return
    if image.status != "active":
        raise exception.Invalid(reason=f"image {image.name} is {image.status}, not active")
    if flavor.memory_mb < image.min_ram_mb:
        raise exception.Invalid(
            reason=f"image {image.name} needs {image.min_ram_mb} MiB of memory, "
            f"flavor {flavor.name} has {flavor.memory_mb}"
        )
    if flavor.root_gb and flavor.root_gb < image.min_disk_gb:
        raise exception.Invalid(
            reason=f"image {image.name} needs {image.min_disk_gb} GiB of disk, "
            f"flavor {flavor.name} has {flavor.root_gb}"
        )


def check_root_disk(flavor: Flavor, image: ImageMeta | None) -> None:
    """Raise Forbidden for a disk that would be as large as its image says, and not be counted."""
    if not flavor.root_gb and image is not None and image.disk_format is not None:
        raise exception.Forbidden(
            reason=f"flavor {flavor.name} has no root disk, so that image {image.name} could take "
            "any room on its host; use a flavor with a disk"
        )


def _zone(
    session: Session, conf: cfg.ConfigOpts, context: RequestContext, text: str | None
) -> ZoneAsked:
    asked = parse_zone(text)
    if asked.is_forced and not context.is_admin:
        raise exception.PolicyNotAuthorized(rule="servers:create:forced_host")
    if asked.host is not None:
        _check_host(session, asked.host)
    if asked.zone is None:
        return dataclasses.replace(asked, zone=conf.default_schedule_zone)
    pinned_zones.check_known(session, conf, asked.zone)
    return asked


def _destination(session: Session, host: str | None, node: str | None) -> Destination | None:
    """Return the requested destination, without a cell: that is for moves within a cell."""
    if host is None and node is None:
        return None
    if host is not None:
        _check_host(session, host)
    return Destination.from_values(host=host, node=node)


def _check_agreement(zone: ZoneAsked, destination: Destination | None) -> None:
    """Raise Invalid if zone and destination name different hosts or nodes."""
    if destination is None:
        return
    for noun, first, second in (
        ("host", zone.host, destination.host),
        ("node", zone.node, destination.node),
    ):
        if first is not None and second is not None and first.lower() != second.lower():
            raise exception.Invalid(
                reason=f"availability_zone names the {noun} {first}, but {noun} or "
                f"hypervisor_hostname names {second}; name it once"
            )


def _check_host(session: Session, host: str) -> None:
    mapping = host_mappings.find_host_mapping(session, host)
    if mapping is None:
        raise exception.HostNotFound(host=host)
    cells.check_enabled(session, mapping)


def _own_hints(
    session: Session, context: RequestContext, hints: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Return hints in which the servers of other projects are unknown ones.

    A user could else be put beside another project's server, or learn which hosts have none.
    """
    named = {uuid for hint in SERVER_HINTS for uuid in hints.get(hint, ())}
    if not named or context.is_admin:
        return hints
    found = instance_mappings.find_mappings(session, named)
    foreign = {uuid for uuid, one in found.items() if one.project_id != context.project_id}
    return {
        hint: [UNKNOWN_SERVER if uuid in foreign else uuid for uuid in values]
        if hint in SERVER_HINTS
        else values
        for hint, values in hints.items()
    }


def _group(
    session: Session, context: RequestContext, hints: dict[str, list[str]]
) -> InstanceGroup | None:
    named = hints.get(GROUP_HINT, [])
    if not named:
        return None
    if len(named) > 1:
        raise exception.Invalid(reason="the hint group must name exactly one server group")
    return server_groups.get_group(session, named[0], context.visible_project)
