"""Route table of the identity API: path, method, handler, policy, schemas."""

from collections.abc import Callable
from typing import Any

from api.identity import account_changes as changes
from api.identity import accounts, discovery, schemas, tokens
from api.identity import application_credentials as credentials
from api.identity.accounts import Collection
from api.identity.call import Call
from api.policies import identity as policies
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Methods, Routes, own


def _get(
    handler: Callable[[Call], Answer], rule: str | None, subject: Callable[[Call], Any] = own
) -> Methods[Call]:
    """Return the methods of a path that can be read."""
    action = Action(handler, rule, query=schemas.ANY_QUERY, subject=subject)
    return {"GET": action}


def _change(
    handler: Callable[[Call], Answer],
    rule: str,
    body: Document | None = None,
    *,
    status: int = 200,
    subject: Callable[[Call], Any] = own,
) -> Action[Call]:
    """Return a method that changes accounts."""
    return Action(handler, rule, query=schemas.ANY_QUERY, body=body, status=status, subject=subject)


def _collection(name: str, collection: Collection, rule: str) -> Routes[Call]:
    return {
        f"/v3/{name}": _get(collection.index, rule),
        f"/v3/{name}/{{id}}": _get(collection.show, rule),
    }


ROUTES: Routes[Call] = {
    "/": _get(discovery.index, None),
    "/v3": _get(discovery.show, None),
    "/v3/auth/tokens": {
        "POST": Action(
            tokens.create, None, query=schemas.ANY_QUERY, body=schemas.CREATE_TOKEN, status=201
        ),
        "GET": Action(
            tokens.show, policies.VALIDATE_TOKEN, query=schemas.ANY_QUERY, subject=tokens.subject
        ),
        "HEAD": Action(
            tokens.check, policies.VALIDATE_TOKEN, query=schemas.ANY_QUERY, subject=tokens.subject
        ),
        "DELETE": Action(
            tokens.revoke,
            policies.REVOKE_TOKEN,
            query=schemas.ANY_QUERY,
            subject=tokens.subject,
            status=204,
        ),
    },
    "/v3/auth/catalog": _get(tokens.catalog, policies.GET_CATALOG),
    "/v3/auth/projects": _get(accounts.own_projects, policies.OWN),
    "/v3/auth/domains": _get(accounts.own_domains, policies.OWN),
    "/v3/users": {
        **_get(accounts.USERS.index, policies.LIST),
        "POST": _change(changes.create_user, policies.CHANGE, schemas.CREATE_USER, status=201),
    },
    "/v3/users/{user_id}": {
        **_get(accounts.USERS.show, policies.GET_USER, accounts.user_of_path),
        "PATCH": _change(changes.update_user, policies.CHANGE, schemas.UPDATE_USER),
        "DELETE": _change(changes.delete_user, policies.CHANGE, status=204),
    },
    "/v3/users/{user_id}/password": {
        "POST": _change(
            changes.change_password,
            policies.CHANGE_PASSWORD,
            schemas.CHANGE_PASSWORD,
            status=204,
            subject=accounts.user_of_path,
        )
    },
    "/v3/users/{user_id}/projects": _get(
        accounts.projects_of_user, policies.GET_USER, accounts.user_of_path
    ),
    "/v3/users/{user_id}/groups": _get(
        accounts.groups_of_user, policies.GET_USER, accounts.user_of_path
    ),
    "/v3/users/{user_id}/application_credentials": {
        **_get(credentials.index, policies.GET_CREDENTIAL, accounts.user_of_path),
        "POST": _change(
            credentials.create,
            policies.CREATE_CREDENTIAL,
            schemas.CREATE_CREDENTIAL,
            status=201,
            subject=accounts.user_of_path,
        ),
    },
    "/v3/users/{user_id}/application_credentials/{credential_id}": {
        **_get(credentials.show, policies.GET_CREDENTIAL, accounts.user_of_path),
        "DELETE": _change(
            credentials.delete,
            policies.DELETE_CREDENTIAL,
            status=204,
            subject=accounts.user_of_path,
        ),
    },
    "/v3/projects": {
        **_get(accounts.PROJECTS.index, policies.LIST),
        "POST": _change(
            changes.create_project, policies.CHANGE, schemas.CREATE_PROJECT, status=201
        ),
    },
    "/v3/projects/{project_id}": {
        **_get(accounts.PROJECTS.show, policies.GET_PROJECT, accounts.project_of_path),
        "PATCH": _change(changes.update_project, policies.CHANGE, schemas.UPDATE_PROJECT),
        "DELETE": _change(changes.delete_project, policies.CHANGE, status=204),
    },
    "/v3/projects/{project_id}/users/{user_id}/roles": _get(changes.grants, policies.LIST),
    "/v3/projects/{project_id}/users/{user_id}/roles/{role_id}": {
        "HEAD": _change(changes.check_grant, policies.LIST, status=204),
        "PUT": _change(changes.grant, policies.CHANGE, status=204),
        "DELETE": _change(changes.revoke, policies.CHANGE, status=204),
    },
    "/v3/roles": {
        **_get(accounts.ROLES.index, policies.LIST),
        "POST": _change(changes.create_role, policies.CHANGE, schemas.CREATE_ROLE, status=201),
    },
    "/v3/roles/{id}": {
        **_get(accounts.ROLES.show, policies.LIST),
        "DELETE": _change(changes.delete_role, policies.CHANGE, status=204),
    },
    "/v3/role_assignments": _get(accounts.role_assignments, policies.LIST),
    **_collection("domains", accounts.DOMAINS, policies.OWN),
    **_collection("groups", accounts.GROUPS, policies.LIST),
    **_collection("services", accounts.SERVICES, policies.GET_CATALOG),
    **_collection("endpoints", accounts.ENDPOINTS, policies.GET_CATALOG),
    **_collection("regions", accounts.REGIONS, policies.GET_CATALOG),
}
