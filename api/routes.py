"""Route table: path, method, handler, policy, schemas."""

from __future__ import annotations

from api.call import Call
from api.handlers import event, extension, health, version
from api.handlers.flavors import extra_spec, flavor
from api.handlers.hosts import aggregate, availability_zone, host, hypervisor, service
from api.handlers.images import image, image_metadata
from api.handlers.quotas import limit, quota_set
from api.handlers.scheduling import allocation, dry_run, explanation, zone
from api.handlers.servers import (
    instance_action,
    key_pair,
    migration,
    server,
    server_attachment,
    server_group,
    server_metadata,
    server_tag,
)
from api.policies import event as event_policies
from api.policies import extension as extension_policies
from api.policies import health as health_policies
from api.policies.flavors import extra_spec as extra_spec_policies
from api.policies.flavors import flavor as flavor_policies
from api.policies.hosts import aggregate as aggregate_policies
from api.policies.hosts import availability_zone as availability_zone_policies
from api.policies.hosts import host as host_policies
from api.policies.hosts import hypervisor as hypervisor_policies
from api.policies.hosts import service as service_policies
from api.policies.images import image as image_policies
from api.policies.images import image_metadata as image_metadata_policies
from api.policies.quotas import limit as limit_policies
from api.policies.quotas import quota_set as quota_set_policies
from api.policies.scheduling import allocation as allocation_policies
from api.policies.scheduling import dry_run as dry_run_policies
from api.policies.scheduling import explanation as explanation_policies
from api.policies.scheduling import zone as zone_policies
from api.policies.servers import instance_action as instance_action_policies
from api.policies.servers import key_pair as key_pair_policies
from api.policies.servers import migration as migration_policies
from api.policies.servers import server as server_policies
from api.policies.servers import server_attachment as server_attachment_policies
from api.policies.servers import server_group as server_group_policies
from api.policies.servers import server_metadata as server_metadata_policies
from api.policies.servers import server_tag as server_tag_policies
from api.schemas import event as event_schemas
from api.schemas import extension as extension_schemas
from api.schemas import health as health_schemas
from api.schemas import version as version_schemas
from api.schemas.flavors import extra_spec as extra_spec_schemas
from api.schemas.flavors import flavor as flavor_schemas
from api.schemas.hosts import aggregate as aggregate_schemas
from api.schemas.hosts import availability_zone as availability_zone_schemas
from api.schemas.hosts import host as host_schemas
from api.schemas.hosts import hypervisor as hypervisor_schemas
from api.schemas.hosts import service as service_schemas
from api.schemas.images import image as image_schemas
from api.schemas.images import image_metadata as image_metadata_schemas
from api.schemas.quotas import limit as limit_schemas
from api.schemas.quotas import quota_set as quota_set_schemas
from api.schemas.scheduling import allocation as allocation_schemas
from api.schemas.scheduling import dry_run as dry_run_schemas
from api.schemas.scheduling import explanation as explanation_schemas
from api.schemas.scheduling import zone as zone_schemas
from api.schemas.servers import instance_action as instance_action_schemas
from api.schemas.servers import key_pair as key_pair_schemas
from api.schemas.servers import migration as migration_schemas
from api.schemas.servers import server as server_schemas
from api.schemas.servers import server_attachment as server_attachment_schemas
from api.schemas.servers import server_group as server_group_schemas
from api.schemas.servers import server_metadata as server_metadata_schemas
from api.schemas.servers import server_tag as server_tag_schemas
from api.server_action_routes import ACTIONS
from armillary.http.dispatch import Action, Choice, Routes

LAST_WITH_IMAGE_METADATA = (2, 38)

ROUTES: Routes[Call] = {
    "/": {"GET": Action(version.index, None, version_schemas.INDEX_ANSWER)},
    "/healthcheck": {"GET": Action(health.check, None, health_schemas.CHECK_ANSWER)},
    "/v2.1": {"GET": Action(version.show, None, version_schemas.SHOW_ANSWER)},
    "/v2.1/openapi.json": {"GET": Action(version.document, None, version_schemas.DOCUMENT_ANSWER)},
    #
    # Servers
    "/v2.1/servers": {
        "GET": Action(
            server.index,
            server_policies.INDEX,
            server_schemas.INDEX_ANSWER,
            query=server_schemas.INDEX_QUERY,
        ),
        "POST": Action(
            server.create,
            server_policies.CREATE,
            server_schemas.CREATE_ANSWER,
            body=server_schemas.CREATE,
            status=202,
        ),
    },
    "/v2.1/servers/detail": {
        "GET": Action(
            server.detail,
            server_policies.DETAIL,
            server_schemas.DETAIL_ANSWER,
            query=server_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/servers/{server_id}": {
        "GET": Action(
            server.show, server_policies.SHOW, server_schemas.SHOW_ANSWER, subject=server.load
        ),
        "PUT": Action(
            server.update,
            server_policies.UPDATE,
            server_schemas.UPDATE_ANSWER,
            body=server_schemas.UPDATE,
            subject=server.load,
        ),
        "DELETE": Action(server.delete, server_policies.DELETE, status=204, subject=server.load),
    },
    "/v2.1/servers/{server_id}/metadata": {
        "GET": Action(
            server_metadata.index,
            server_metadata_policies.INDEX,
            server_metadata_schemas.ANSWER,
            subject=server.load,
        ),
        "POST": Action(
            server_metadata.create,
            server_metadata_policies.CREATE,
            server_metadata_schemas.ANSWER,
            body=server_metadata_schemas.ALL,
            subject=server.load,
        ),
        "PUT": Action(
            server_metadata.update_all,
            server_metadata_policies.UPDATE_ALL,
            server_metadata_schemas.ANSWER,
            body=server_metadata_schemas.ALL,
            subject=server.load,
        ),
    },
    "/v2.1/servers/{server_id}/metadata/{key}": {
        "GET": Action(
            server_metadata.show,
            server_metadata_policies.SHOW,
            server_metadata_schemas.ITEM_ANSWER,
            subject=server.load,
        ),
        "PUT": Action(
            server_metadata.update,
            server_metadata_policies.UPDATE,
            server_metadata_schemas.ITEM_ANSWER,
            body=server_metadata_schemas.ITEM,
            subject=server.load,
        ),
        "DELETE": Action(
            server_metadata.delete, server_metadata_policies.DELETE, status=204, subject=server.load
        ),
    },
    "/v2.1/servers/{server_id}/ips": {
        "GET": Action(
            server_attachment.list_addresses,
            server_attachment_policies.ADDRESSES,
            server_attachment_schemas.ADDRESSES_ANSWER,
            subject=server.load,
        )
    },
    "/v2.1/servers/{server_id}/ips/{network}": {
        "GET": Action(
            server_attachment.show_addresses,
            server_attachment_policies.NETWORK,
            server_attachment_schemas.NETWORK_ANSWER,
            subject=server.load,
        )
    },
    "/v2.1/servers/{server_id}/os-interface": {
        "GET": Action(
            server_attachment.list_interfaces,
            server_attachment_policies.INTERFACES,
            server_attachment_schemas.INTERFACES_ANSWER,
            subject=server.load,
        )
    },
    "/v2.1/servers/{server_id}/os-security-groups": {
        "GET": Action(
            server_attachment.list_security_groups,
            server_attachment_policies.SECURITY_GROUPS,
            server_attachment_schemas.SECURITY_GROUPS_ANSWER,
            subject=server.load,
        )
    },
    "/v2.1/servers/{server_id}/os-volume_attachments": {
        "GET": Action(
            server_attachment.list_volumes,
            server_attachment_policies.VOLUMES,
            server_attachment_schemas.VOLUMES_ANSWER,
            subject=server.load,
        )
    },
    "/v2.1/servers/{server_id}/tags": {
        "GET": Action(
            server_tag.index,
            server_tag_policies.INDEX,
            server_tag_schemas.ANSWER,
            since=(2, 26),
            subject=server.load,
        ),
        "PUT": Action(
            server_tag.update_all,
            server_tag_policies.UPDATE_ALL,
            server_tag_schemas.ANSWER,
            since=(2, 26),
            body=server_tag_schemas.ALL,
            subject=server.load,
        ),
        "DELETE": Action(
            server_tag.delete_all,
            server_tag_policies.DELETE_ALL,
            since=(2, 26),
            status=204,
            subject=server.load,
        ),
    },
    "/v2.1/servers/{server_id}/tags/{tag}": {
        "GET": Action(
            server_tag.show,
            server_tag_policies.SHOW,
            since=(2, 26),
            status=204,
            subject=server.load,
        ),
        "PUT": Action(
            server_tag.update,
            server_tag_policies.UPDATE,
            since=(2, 26),
            status=201,
            subject=server.load,
        ),
        "DELETE": Action(
            server_tag.delete,
            server_tag_policies.DELETE,
            since=(2, 26),
            status=204,
            subject=server.load,
        ),
    },
    "/v2.1/servers/{server_id}/action": {"POST": ACTIONS},
    "/v2.1/servers/{server_id}/migrations": {
        "GET": Action(
            migration.index_of_server,
            migration_policies.OF_SERVER_INDEX,
            migration_schemas.OF_SERVER_ANSWER,
            query=migration_schemas.OF_SERVER_QUERY,
            subject=server.load,
        )
    },
    "/v2.1/servers/{server_id}/migrations/{migration_id}": {
        "GET": Action(
            migration.show,
            migration_policies.SHOW,
            migration_schemas.SHOW_ANSWER,
            subject=server.load,
        ),
        "DELETE": Action(
            migration.abort, migration_policies.ABORT, status=202, subject=server.load
        ),
    },
    "/v2.1/os-migrations": {
        "GET": Action(
            migration.index,
            migration_policies.INDEX,
            migration_schemas.INDEX_ANSWER,
            query=migration_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/servers/{server_id}/os-instance-actions": {
        "GET": Action(
            instance_action.index,
            instance_action_policies.LIST,
            instance_action_schemas.INDEX_ANSWER,
            subject=server.load,
        )
    },
    "/v2.1/servers/{server_id}/os-instance-actions/{request_id}": {
        "GET": Action(
            instance_action.show,
            instance_action_policies.SHOW,
            instance_action_schemas.SHOW_ANSWER,
            subject=server.load,
        )
    },
    #
    # Flavors
    "/v2.1/flavors": {
        "GET": Action(
            flavor.index,
            flavor_policies.SHOW,
            flavor_schemas.INDEX_ANSWER,
            query=flavor_schemas.INDEX_QUERY,
        ),
        "POST": Action(
            flavor.create,
            flavor_policies.CREATE,
            flavor_schemas.SHOW_ANSWER,
            body=flavor_schemas.CREATE,
        ),
    },
    "/v2.1/flavors/detail": {
        "GET": Action(
            flavor.detail,
            flavor_policies.SHOW,
            flavor_schemas.DETAIL_ANSWER,
            query=flavor_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/flavors/{flavor_id}": {
        "GET": Action(flavor.show, flavor_policies.SHOW, flavor_schemas.SHOW_ANSWER),
        "DELETE": Action(flavor.delete, flavor_policies.DELETE, status=202),
    },
    "/v2.1/flavors/{flavor_id}/os-extra_specs": {
        "GET": Action(extra_spec.index, extra_spec_policies.INDEX, extra_spec_schemas.INDEX_ANSWER),
        "POST": Action(
            extra_spec.create,
            extra_spec_policies.CREATE,
            extra_spec_schemas.INDEX_ANSWER,
            body=extra_spec_schemas.CREATE,
        ),
    },
    "/v2.1/flavors/{flavor_id}/os-extra_specs/{key}": {
        "GET": Action(extra_spec.show, extra_spec_policies.SHOW, extra_spec_schemas.PAIR_ANSWER),
        "PUT": Action(
            extra_spec.update,
            extra_spec_policies.UPDATE,
            extra_spec_schemas.PAIR_ANSWER,
            body=extra_spec_schemas.UPDATE,
        ),
        "DELETE": Action(extra_spec.delete, extra_spec_policies.DELETE),
    },
    #
    # Images
    "/v2.1/images": {
        "GET": Action(
            image.index,
            image_policies.SHOW,
            image_schemas.INDEX_ANSWER,
            query=image_schemas.INDEX_QUERY,
        ),
        "POST": Action(
            image.create,
            image_policies.CREATE,
            image_schemas.SHOW_ANSWER,
            body=image_schemas.CREATE,
            status=201,
        ),
    },
    "/v2.1/images/detail": {
        "GET": Action(
            image.detail,
            image_policies.SHOW,
            image_schemas.DETAIL_ANSWER,
            query=image_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/images/{image_id}": {
        "GET": Action(image.show, image_policies.SHOW, image_schemas.SHOW_ANSWER),
        "DELETE": Action(
            image.delete, image_policies.DELETE, status=204, subject=image_metadata.load
        ),
    },
    "/v2.1/images/{image_id}/metadata": {
        "GET": Action(
            image_metadata.index,
            image_metadata_policies.INDEX,
            image_metadata_schemas.ANSWER,
            until=LAST_WITH_IMAGE_METADATA,
            subject=image_metadata.load,
        ),
        "POST": Action(
            image_metadata.create,
            image_metadata_policies.CREATE,
            image_metadata_schemas.ANSWER,
            until=LAST_WITH_IMAGE_METADATA,
            body=image_metadata_schemas.ALL,
            subject=image_metadata.load,
        ),
        "PUT": Action(
            image_metadata.update_all,
            image_metadata_policies.UPDATE_ALL,
            image_metadata_schemas.ANSWER,
            until=LAST_WITH_IMAGE_METADATA,
            body=image_metadata_schemas.ALL,
            subject=image_metadata.load,
        ),
    },
    "/v2.1/images/{image_id}/metadata/{key}": {
        "GET": Action(
            image_metadata.show,
            image_metadata_policies.SHOW,
            image_metadata_schemas.ITEM_ANSWER,
            until=LAST_WITH_IMAGE_METADATA,
            subject=image_metadata.load,
        ),
        "PUT": Action(
            image_metadata.update,
            image_metadata_policies.UPDATE,
            image_metadata_schemas.ITEM_ANSWER,
            until=LAST_WITH_IMAGE_METADATA,
            body=image_metadata_schemas.ITEM,
            subject=image_metadata.load,
        ),
        "DELETE": Action(
            image_metadata.delete,
            image_metadata_policies.DELETE,
            until=LAST_WITH_IMAGE_METADATA,
            status=204,
            subject=image_metadata.load,
        ),
    },
    #
    # Hosts
    "/v2.1/os-hypervisors": {
        "GET": Action(
            hypervisor.index,
            hypervisor_policies.LIST,
            hypervisor_schemas.INDEX_ANSWER,
            query=hypervisor_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/os-hypervisors/detail": {
        "GET": Action(
            hypervisor.detail,
            hypervisor_policies.DETAIL,
            hypervisor_schemas.DETAIL_ANSWER,
            query=hypervisor_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/os-hypervisors/{hypervisor_id}": {
        "GET": Action(
            hypervisor.show,
            hypervisor_policies.SHOW,
            hypervisor_schemas.SHOW_ANSWER,
            query=hypervisor_schemas.SHOW_QUERY,
        )
    },
    "/v2.1/os-hypervisors/statistics": {
        "GET": Action(
            hypervisor.statistics,
            hypervisor_policies.STATISTICS,
            hypervisor_schemas.STATISTICS_ANSWER,
            until=hypervisor_schemas.SIZES_UNTIL,
        )
    },
    "/v2.1/os-hypervisors/{hypervisor_id}/search": {
        "GET": Action(
            hypervisor.search,
            hypervisor_policies.SEARCH,
            hypervisor_schemas.SEARCH_ANSWER,
            until=hypervisor_schemas.SEARCH_UNTIL,
        )
    },
    "/v2.1/os-hypervisors/{hypervisor_id}/servers": {
        "GET": Action(
            hypervisor.list_servers,
            hypervisor_policies.SERVERS,
            hypervisor_schemas.SERVERS_ANSWER,
            until=hypervisor_schemas.SEARCH_UNTIL,
        )
    },
    "/v2.1/os-hypervisors/{hypervisor_id}/uptime": {
        "GET": Action(
            hypervisor.uptime,
            hypervisor_policies.UPTIME,
            hypervisor_schemas.UPTIME_ANSWER,
            until=hypervisor_schemas.SIZES_UNTIL,
        )
    },
    "/v2.1/os-hosts": {
        "GET": Action(
            host.index,
            host_policies.LIST,
            host_schemas.INDEX_ANSWER,
            until=host_schemas.UNTIL,
            query=host_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/os-hosts/{host}": {
        "GET": Action(
            host.show, host_policies.SHOW, host_schemas.SHOW_ANSWER, until=host_schemas.UNTIL
        )
    },
    "/v2.1/os-services": {
        "GET": Action(
            service.index,
            service_policies.LIST,
            service_schemas.INDEX_ANSWER,
            query=service_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/os-services/enable": {
        "PUT": Action(
            service.enable,
            service_policies.UPDATE,
            service_schemas.ENABLE_ANSWER,
            body=service_schemas.ENABLE,
        )
    },
    "/v2.1/os-services/disable": {
        "PUT": Action(
            service.disable,
            service_policies.UPDATE,
            service_schemas.ENABLE_ANSWER,
            body=service_schemas.ENABLE,
        )
    },
    "/v2.1/os-services/disable-log-reason": {
        "PUT": Action(
            service.disable_with_reason,
            service_policies.UPDATE,
            service_schemas.DISABLE_WITH_REASON_ANSWER,
            body=service_schemas.DISABLE_WITH_REASON,
        )
    },
    "/v2.1/os-services/force-down": {
        "PUT": Action(
            service.force_down,
            service_policies.UPDATE,
            service_schemas.FORCE_DOWN_ANSWER,
            body=service_schemas.FORCE_DOWN,
        )
    },
    "/v2.1/os-services/{service_id}": {
        "PUT": Action(
            service.update,
            service_policies.UPDATE,
            service_schemas.UPDATE_ANSWER,
            body=service_schemas.UPDATE,
        ),
        "DELETE": Action(service.delete, service_policies.DELETE, status=204),
    },
    #
    # Aggregates and availability zones
    "/v2.1/os-aggregates": {
        "GET": Action(aggregate.index, aggregate_policies.INDEX, aggregate_schemas.INDEX_ANSWER),
        "POST": Action(
            aggregate.create,
            aggregate_policies.CREATE,
            aggregate_schemas.CREATE_ANSWER,
            body=aggregate_schemas.CREATE,
        ),
    },
    "/v2.1/os-aggregates/{aggregate_id}": {
        "GET": Action(aggregate.show, aggregate_policies.SHOW, aggregate_schemas.SHOW_ANSWER),
        "PUT": Action(
            aggregate.update,
            aggregate_policies.UPDATE,
            aggregate_schemas.SHOW_ANSWER,
            body=aggregate_schemas.UPDATE,
        ),
        "DELETE": Action(aggregate.delete, aggregate_policies.DELETE),
    },
    "/v2.1/os-aggregates/{aggregate_id}/action": {
        "POST": Choice(
            {
                "add_host": Action(
                    aggregate.add_host,
                    aggregate_policies.ADD_HOST,
                    aggregate_schemas.SHOW_ANSWER,
                    body=aggregate_schemas.ADD_HOST,
                ),
                "remove_host": Action(
                    aggregate.remove_host,
                    aggregate_policies.REMOVE_HOST,
                    aggregate_schemas.SHOW_ANSWER,
                    body=aggregate_schemas.REMOVE_HOST,
                ),
                "set_metadata": Action(
                    aggregate.set_metadata,
                    aggregate_policies.SET_METADATA,
                    aggregate_schemas.SHOW_ANSWER,
                    body=aggregate_schemas.SET_METADATA,
                ),
            }
        )
    },
    "/v2.1/os-availability-zone": {
        "GET": Action(
            availability_zone.index,
            availability_zone_policies.LIST,
            availability_zone_schemas.INDEX_ANSWER,
        )
    },
    "/v2.1/os-availability-zone/detail": {
        "GET": Action(
            availability_zone.detail,
            availability_zone_policies.DETAIL,
            availability_zone_schemas.DETAIL_ANSWER,
        )
    },
    #
    # Server groups
    "/v2.1/os-server-groups": {
        "GET": Action(
            server_group.index,
            server_group_policies.INDEX,
            server_group_schemas.INDEX_ANSWER,
            query=server_group_schemas.INDEX_QUERY,
        ),
        "POST": Action(
            server_group.create,
            server_group_policies.CREATE,
            server_group_schemas.SHOW_ANSWER,
            body=server_group_schemas.CREATE,
        ),
    },
    "/v2.1/os-server-groups/{server_group_id}": {
        "GET": Action(
            server_group.show,
            server_group_policies.SHOW,
            server_group_schemas.SHOW_ANSWER,
            subject=server_group.load,
        ),
        "DELETE": Action(
            server_group.delete, server_group_policies.DELETE, status=204, subject=server_group.load
        ),
    },
    #
    # Quotas
    "/v2.1/os-quota-sets/{project_id}": {
        "GET": Action(
            quota_set.show,
            quota_set_policies.SHOW,
            quota_set_schemas.SHOW_ANSWER,
            subject=quota_set.load,
        ),
        "PUT": Action(
            quota_set.update,
            quota_set_policies.UPDATE,
            quota_set_schemas.UPDATE_ANSWER,
            body=quota_set_schemas.UPDATE,
            subject=quota_set.load,
        ),
    },
    "/v2.1/os-quota-sets/{project_id}/detail": {
        "GET": Action(
            quota_set.detail,
            quota_set_policies.DETAIL,
            quota_set_schemas.DETAIL_ANSWER,
            subject=quota_set.load,
        )
    },
    "/v2.1/os-quota-sets/{project_id}/defaults": {
        "GET": Action(
            quota_set.defaults,
            quota_set_policies.DEFAULTS,
            quota_set_schemas.SHOW_ANSWER,
            subject=quota_set.load,
        )
    },
    "/v2.1/limits": {
        "GET": Action(
            limit.show,
            limit_policies.SHOW,
            limit_schemas.SHOW_ANSWER,
            query=limit_schemas.SHOW_QUERY,
        )
    },
    "/v2.1/os-keypairs": {
        "GET": Action(
            key_pair.index,
            key_pair_policies.INDEX,
            key_pair_schemas.INDEX_ANSWER,
            query=key_pair_schemas.INDEX_QUERY,
            subject=key_pair.load,
        ),
        "POST": Action(
            key_pair.create,
            key_pair_policies.CREATE,
            key_pair_schemas.CREATE_ANSWER,
            body=key_pair_schemas.CREATE,
            status=201,
            subject=key_pair.load,
        ),
    },
    "/v2.1/os-keypairs/{keypair}": {
        "GET": Action(
            key_pair.show,
            key_pair_policies.SHOW,
            key_pair_schemas.SHOW_ANSWER,
            query=key_pair_schemas.ONE_QUERY,
            subject=key_pair.load,
        ),
        "DELETE": Action(
            key_pair.delete,
            key_pair_policies.DELETE,
            status=204,
            query=key_pair_schemas.ONE_QUERY,
            subject=key_pair.load,
        ),
    },
    "/v2.1/os-quota-class-sets/{quota_class}": {
        "GET": Action(
            quota_set.show_class, quota_set_policies.SHOW_CLASS, quota_set_schemas.CLASS_ANSWER
        )
    },
    "/v2.1/extensions": {
        "GET": Action(extension.index, extension_policies.LIST, extension_schemas.INDEX_ANSWER)
    },
    "/v2.1/extensions/{alias}": {
        "GET": Action(extension.show, extension_policies.LIST, extension_schemas.SHOW_ANSWER)
    },
    #  Not part of the Compute API
    "/v2.1/armillary/servers/{server_id}/explain": {
        "GET": Action(
            explanation.show,
            explanation_policies.SHOW,
            explanation_schemas.SHOW_ANSWER,
            query=explanation_schemas.SHOW_QUERY,
            subject=server.load,
        )
    },
    "/v2.1/armillary/dry-run": {
        "POST": Action(
            dry_run.create,
            dry_run_policies.CREATE,
            dry_run_schemas.CREATE_ANSWER,
            body=dry_run_schemas.CREATE,
        )
    },
    "/v2.1/armillary/allocations": {
        "GET": Action(
            allocation.index,
            allocation_policies.LIST,
            allocation_schemas.INDEX_ANSWER,
            query=allocation_schemas.INDEX_QUERY,
        )
    },
    "/v2.1/armillary/zones": {
        "GET": Action(zone.index, zone_policies.LIST, zone_schemas.INDEX_ANSWER),
        "POST": Choice(
            {
                "refresh": Action(
                    zone.refresh, zone_policies.REFRESH, body=zone_schemas.REFRESH, status=202
                )
            }
        ),
    },
    "/v2.1/armillary/zones/{zone_name}": {
        "GET": Action(zone.show, zone_policies.SHOW, zone_schemas.SHOW_ANSWER)
    },
    "/v2.1/armillary/health": {
        "GET": Action(health.show, health_policies.SHOW, health_schemas.SHOW_ANSWER)
    },
    "/v2.1/armillary/events": {
        "GET": Action(
            event.follow,
            event_policies.FOLLOW,
            event_schemas.FOLLOW_ANSWER,
            query=event_schemas.FOLLOW_QUERY,
            media_type=event_schemas.EVENT_STREAM,
        )
    },
}
