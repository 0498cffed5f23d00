"""Route table: path, method, handler, policy, versions, schemas; one block per noun."""

from collections.abc import Mapping

from armillary.http.dispatch import Action
from placement.rest.call import Call
from placement.rest.handlers import (
    aggregate,
    allocation,
    allocation_candidate,
    health,
    inventory,
    provider_allocation,
    provider_trait,
    provider_usage,
    reshaper,
    resource_class,
    resource_provider,
    root,
    trait,
    usage,
)
from placement.rest.policies import aggregate as aggregate_policy
from placement.rest.policies import allocation as allocation_policy
from placement.rest.policies import allocation_candidate as allocation_candidate_policy
from placement.rest.policies import inventory as inventory_policy
from placement.rest.policies import reshaper as reshaper_policy
from placement.rest.policies import resource_class as resource_class_policy
from placement.rest.policies import resource_provider as resource_provider_policy
from placement.rest.policies import trait as trait_policy
from placement.rest.policies import usage as usage_policy
from placement.rest.schemas import aggregate as aggregate_schema
from placement.rest.schemas import allocation as allocation_schema
from placement.rest.schemas import allocation_candidate as allocation_candidate_schema
from placement.rest.schemas import inventory as inventory_schema
from placement.rest.schemas import reshaper as reshaper_schema
from placement.rest.schemas import resource_class as resource_class_schema
from placement.rest.schemas import resource_provider as resource_provider_schema
from placement.rest.schemas import trait as trait_schema
from placement.rest.schemas import usage as usage_schema

Routes = Mapping[str, Mapping[str, Action[Call]]]

ROUTES: Routes = {
    "/": {"GET": Action(root.index, None)},
    "/healthcheck": {"GET": Action(health.check, None)},
    "/openapi.json": {"GET": Action(root.document, None)},
    # Resource providers
    "/resource_providers": {
        "GET": Action(
            resource_provider.index,
            resource_provider_policy.LIST,
            query=resource_provider_schema.LIST_QUERY,
        ),
        "POST": Action(
            resource_provider.create,
            resource_provider_policy.CREATE,
            body=resource_provider_schema.CREATE,
        ),
    },
    "/resource_providers/{uuid}": {
        "GET": Action(resource_provider.show, resource_provider_policy.SHOW),
        "PUT": Action(
            resource_provider.update,
            resource_provider_policy.UPDATE,
            body=resource_provider_schema.UPDATE,
        ),
        "DELETE": Action(resource_provider.delete, resource_provider_policy.DELETE, status=204),
    },
    # Aggregates
    "/resource_providers/{uuid}/aggregates": {
        "GET": Action(aggregate.show, aggregate_policy.LIST, since=(1, 1)),
        "PUT": Action(
            aggregate.update,
            aggregate_policy.UPDATE,
            since=(1, 1),
            body=aggregate_schema.UPDATE,
            exists=aggregate.show,
        ),
    },
    # Inventories
    "/resource_providers/{uuid}/inventories": {
        "GET": Action(inventory.index, inventory_policy.LIST),
        "POST": Action(
            inventory.create,
            inventory_policy.CREATE,
            body={(1, 0): inventory_schema.CREATE},
            status=201,
        ),
        "PUT": Action(
            inventory.update_all, inventory_policy.UPDATE, body={(1, 0): inventory_schema.SET_ALL}
        ),
        "DELETE": Action(
            inventory.delete_all,
            inventory_policy.DELETE,
            since=(1, 5),
            too_old_status=405,
            status=204,
        ),
    },
    "/resource_providers/{uuid}/inventories/{resource_class}": {
        "GET": Action(inventory.show, inventory_policy.SHOW),
        "PUT": Action(
            inventory.update, inventory_policy.UPDATE, body={(1, 0): inventory_schema.SET_ONE}
        ),
        "DELETE": Action(inventory.delete, inventory_policy.DELETE, status=204),
    },
    # Resource classes
    "/resource_classes": {
        "GET": Action(resource_class.index, resource_class_policy.LIST, since=(1, 2)),
        "POST": Action(
            resource_class.create,
            resource_class_policy.CREATE,
            since=(1, 2),
            body={(1, 2): resource_class_schema.NAMED},
            status=204,
        ),
    },
    "/resource_classes/{name}": {
        "GET": Action(resource_class.show, resource_class_policy.SHOW, since=(1, 2)),
        "PUT": Action(
            resource_class.update,
            resource_class_policy.UPDATE,
            since=(1, 2),
            body={(1, 2): resource_class_schema.NAMED, (1, 7): None},
        ),
        "DELETE": Action(
            resource_class.delete, resource_class_policy.DELETE, since=(1, 2), status=204
        ),
    },
    # Traits
    "/traits": {
        "GET": Action(
            trait.index, trait_policy.LIST, since=(1, 6), query={(1, 6): trait_schema.LIST}
        )
    },
    "/traits/{name}": {
        "GET": Action(trait.show, trait_policy.SHOW, since=(1, 6), status=204),
        "PUT": Action(trait.update, trait_policy.UPDATE, since=(1, 6), status=204),
        "DELETE": Action(trait.delete, trait_policy.DELETE, since=(1, 6), status=204),
    },
    "/resource_providers/{uuid}/traits": {
        "GET": Action(provider_trait.index, trait_policy.PROVIDER_LIST, since=(1, 6)),
        "PUT": Action(
            provider_trait.update,
            trait_policy.PROVIDER_UPDATE,
            since=(1, 6),
            body={(1, 6): trait_schema.SET},
        ),
        "DELETE": Action(
            provider_trait.delete, trait_policy.PROVIDER_DELETE, since=(1, 6), status=204
        ),
    },
    # Allocations
    "/allocations": {
        "POST": Action(
            allocation.manage,
            allocation_policy.MANAGE,
            since=(1, 13),
            body=allocation_schema.MANAGE,
            status=204,
        )
    },
    "/allocations/{consumer_uuid}": {
        "GET": Action(allocation.show, allocation_policy.LIST),
        "PUT": Action(
            allocation.update, allocation_policy.UPDATE, body=allocation_schema.UPDATE, status=204
        ),
        "DELETE": Action(allocation.delete, allocation_policy.DELETE, status=204),
    },
    "/resource_providers/{uuid}/allocations": {
        "GET": Action(provider_allocation.index, allocation_policy.PROVIDER_LIST)
    },
    # Usages
    "/resource_providers/{uuid}/usages": {
        "GET": Action(provider_usage.index, usage_policy.SHOW_PROVIDER)
    },
    "/usages": {
        "GET": Action(
            usage.index,
            usage_policy.SHOW_TOTAL,
            since=(1, 9),
            query=usage_schema.INDEX,
            subject=usage.target,
        )
    },
    # Reshaper
    "/reshaper": {
        "POST": Action(
            reshaper.reshape,
            reshaper_policy.RESHAPE,
            since=(1, 30),
            body=reshaper_schema.RESHAPE,
            status=204,
        )
    },
    # Allocation candidates
    "/allocation_candidates": {
        "GET": Action(
            allocation_candidate.index,
            allocation_candidate_policy.LIST,
            since=(1, 10),
            query=allocation_candidate_schema.LIST_QUERY,
        )
    },
    "/allocation_candidates/explanation": {
        "GET": Action(
            allocation_candidate.explain,
            allocation_candidate_policy.LIST,
            since=(1, 10),
            query=allocation_candidate_schema.LIST_QUERY,
        )
    },
}
