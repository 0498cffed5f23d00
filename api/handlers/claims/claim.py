"""Claims: resources of pools that a project holds."""

from datetime import UTC, datetime, timedelta

from api.call import Call
from api.formats import times
from api.formats.links import page
from api.policies.claims import claim as policies
from api.schemas.claims import claim as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from armillary.names.identifiers import uuid_of_request
from objects.claims.resource_claim import NewClaim, ResourceClaim


def load(call: Call) -> ResourceClaim:
    """Return the claim of the path, the policy's target. Raises ClaimNotFound."""
    return call.conductor.get_claim(call.context, call.path["claim_id"])


def load_project(call: Call) -> dict[str, str]:
    """Return the project of the path, as policy target."""
    return {"project_id": call.path["project_id"]}


def index(call: Call) -> Answer:
    """List claims, newest first."""
    all_projects = call.query.get("all_projects", False)
    if all_projects:
        call.authorize(policies.ALL_PROJECTS)
    if "pool" in call.query:
        call.authorize(policies.SHOW_POOLS)
    after = call.query.get("marker")
    try:
        found = call.conductor.list_claims(
            call.context,
            all_projects=all_projects,
            server_uuid=call.query.get("server_id"),
            kind=call.query.get("kind"),
            pool=call.query.get("pool"),
            limit=call.page_size + 1,
            marker=after,
        )
    except exception.ClaimNotFound as error:
        raise invalid("marker", after, "It is not in this list") from error
    cut, marker = page(found, lambda each: each.uuid, call.page_size, None)
    shows_pools = call.allows(policies.SHOW_POOLS)
    body: Document = {"claims": [_shown(each, shows_pools=shows_pools) for each in cut]}
    if marker is not None:
        body["claims_links"] = call.links.next_page(marker)
    return Answer(body)


def show(call: Call) -> Answer:
    """Show a claim."""
    return Answer({"claim": _shown(call.subject, shows_pools=call.allows(policies.SHOW_POOLS))})


def create(call: Call) -> Answer:
    """Accept a claim; a scheduler looks for its pool."""
    wanted = call.body["claim"]
    if "pool" in wanted:
        call.authorize(policies.CREATE_ON_POOL)
    asked = NewClaim(
        uuid=uuid_of_request(call.context, "claim"),
        name=wanted.get("name"),
        kind=wanted["kind"],
        resources=wanted["resources"],
        required_traits=wanted.get("required", []),
        forbidden_traits=wanted.get("forbidden", []),
        pool=wanted.get("pool"),
        server_uuid=wanted.get("server_id"),
        ends_at=_end(wanted),
    )
    try:
        accepted = call.conductor.create_claim(call.context, asked)
    except exception.InstanceNotFound as error:
        raise invalid("claim.server_id", asked.server_uuid, error.message) from error
    return Answer({"claim": _shown(accepted, shows_pools=call.allows(policies.SHOW_POOLS))})


def delete(call: Call) -> Answer:
    """Accept the end of a claim."""
    call.conductor.delete_claim(call.context, call.path["claim_id"])
    return Answer()


def explain(call: Call) -> Answer:
    """Show why a claim has its pool, or none."""
    shows_pools = call.allows(policies.SHOW_POOLS)
    found = call.conductor.explain_claim(
        call.context, call.path["claim_id"], with_pools=shows_pools
    )
    claim = _shown(found.claim, shows_pools=shows_pools)
    return Answer({"explanation": {"claim": claim, "trace": found.trace}})


def show_quotas(call: Call) -> Answer:
    """Show a project's quotas of claims and their usage."""
    return _quotas(call.conductor.get_claim_quotas(call.context, call.path["project_id"]))


def update_quotas(call: Call) -> Answer:
    """Set a project's quotas of claims."""
    limits = call.body["claim_quotas"]
    return _quotas(
        call.conductor.update_claim_quotas(call.context, call.path["project_id"], limits)
    )


def _quotas(found: dict[str, dict[str, int]]) -> Answer:
    return Answer({"claim_quotas": found})


def _end(wanted: Document) -> datetime | None:
    """Return when the claim ends; a lifetime counts from now."""
    if "lifetime_seconds" not in wanted:
        return times.asked(wanted, "ends_at")
    if "ends_at" in wanted:
        raise invalid("claim", wanted, "It has an end or a lifetime, not both")
    return datetime.now(UTC) + timedelta(seconds=wanted["lifetime_seconds"])


def _shown(claim: ResourceClaim, *, shows_pools: bool) -> Document:
    asked = claim.asked
    shown = {
        "id": claim.uuid,
        "name": asked.name,
        "kind": asked.kind,
        "status": claim.state,
        "resources": asked.resources,
        "required": asked.required_traits,
        "forbidden": asked.forbidden_traits,
        "server_id": asked.server_uuid,
        "ends_at": times.seconds(asked.ends_at),
        "project_id": claim.project_id,
        "user_id": claim.user_id,
        "fault": claim.fault,
        "created_at": times.seconds(claim.created_at),
        "updated_at": times.seconds(claim.updated_at),
    }
    if not shows_pools:
        return shown
    return {
        **shown,
        "pool": claim.pool_name,
        "pool_id": claim.pool_uuid,
        "zone": claim.zone,
        "alternates": claim.alternates,
    }


_QUOTAS = "/v2.1/armillary/claim-quotas/{project_id}"

ROUTES: Routes[Call] = {
    "/v2.1/armillary/claims": {
        "GET": Action(index, policies.INDEX, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY),
        "POST": Action(
            create, policies.CREATE, schemas.SHOW_ANSWER, body=schemas.CREATE, status=202
        ),
    },
    "/v2.1/armillary/claims/{claim_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, subject=load),
        "DELETE": Action(delete, policies.DELETE, status=204, subject=load),
    },
    "/v2.1/armillary/claims/{claim_id}/explain": {
        "GET": Action(explain, policies.EXPLAIN, schemas.EXPLAIN_ANSWER, subject=load)
    },
    _QUOTAS: {
        "GET": Action(
            show_quotas, policies.SHOW_QUOTAS, schemas.QUOTAS_ANSWER, subject=load_project
        ),
        "PUT": Action(
            update_quotas,
            policies.UPDATE_QUOTAS,
            schemas.QUOTAS_ANSWER,
            body=schemas.UPDATE_QUOTAS,
            subject=load_project,
        ),
    },
}
