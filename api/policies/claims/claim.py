"""Claims: projects manage their own; names of pools have a rule of their own."""

from api.policies.base import ADMIN, MEMBER, READER, rule

INDEX = "os_compute_api:armillary:claims:index"
SHOW = "os_compute_api:armillary:claims:show"
CREATE = "os_compute_api:armillary:claims:create"
CREATE_ON_POOL = "os_compute_api:armillary:claims:create:pool"
DELETE = "os_compute_api:armillary:claims:delete"
EXPLAIN = "os_compute_api:armillary:claims:explain"
SHOW_POOLS = "os_compute_api:armillary:claims:pools"
ALL_PROJECTS = "os_compute_api:armillary:claims:index:all_projects"
SHOW_QUOTAS = "os_compute_api:armillary:claim-quotas:show"
UPDATE_QUOTAS = "os_compute_api:armillary:claim-quotas:update"

_ALL = "/v2.1/armillary/claims"
_ONE = f"{_ALL}/{{claim_id}}"
_EXPLAIN = f"{_ONE}/explain"

RULES = [
    rule(INDEX, READER, "List the project's claims."),
    rule(ALL_PROJECTS, ADMIN, "List the claims of all projects.", [("GET", _ALL)]),
    rule(SHOW, READER, "Show a claim."),
    rule(CREATE, MEMBER, "Claim resources of a pool."),
    rule(CREATE_ON_POOL, ADMIN, "Claim resources of a certain pool.", [("POST", _ALL)]),
    rule(DELETE, MEMBER, "End a claim."),
    rule(EXPLAIN, READER, "Explain why a claim has its pool, or none."),
    rule(
        SHOW_POOLS,
        ADMIN,
        "See the names of pools in claims and explanations, and alternates; list the claims of a "
        "pool.",
        [("GET", _ALL), ("GET", _ONE), ("GET", _EXPLAIN)],
    ),
    rule(SHOW_QUOTAS, READER, "Show a project's quotas of claims."),
    rule(UPDATE_QUOTAS, ADMIN, "Set a project's quotas of claims."),
]
