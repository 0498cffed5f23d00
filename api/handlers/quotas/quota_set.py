"""Quotas: limits of a project."""

from collections.abc import Mapping

from api.call import Call
from api.policies.quotas import quota_set as policies
from api.schemas.quotas import quota_set as schemas
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid

Quotas = Mapping[str, Mapping[str, int]]

DEFAULT_CLASS = "default"

NO_PROJECT = ""
"""A project that cannot exist and has no quotas of its own, so its quotas are the defaults."""


def load(call: Call) -> dict[str, str]:
    """Return the project of the path, as policy target."""
    return {"project_id": call.path["project_id"]}


def show(call: Call) -> Answer:
    """Show a project's quotas."""
    return _answer(call, call.path["project_id"])


def detail(call: Call) -> Answer:
    """Show a project's quotas and their usage."""
    project_id = call.path["project_id"]
    quotas = call.conductor.get_quotas(call.context, project_id)
    detailed = {
        name: {"limit": quota["limit"], "in_use": quota["in_use"], "reserved": 0}
        for name, quota in quotas.items()
    }
    return Answer({"quota_set": {"id": project_id, **detailed}})


def defaults(call: Call) -> Answer:
    """Show the default quotas."""
    return _answer(call, NO_PROJECT)


def update(call: Call) -> Answer:
    """Set a project's quotas: not below what it uses, unless that is forced."""
    given, project_id = call.body["quota_set"], call.path["project_id"]
    limits = {name: given[name] for name in schemas.NAMES if name in given}
    if not given.get("force", False):
        _check_usage(limits, call.conductor.get_quotas(call.context, project_id))
    return _limits(call.conductor.update_quotas(call.context, project_id, limits))


def delete(call: Call) -> Answer:
    """Reset a project's quotas to the defaults."""
    call.conductor.reset_quotas(call.context, call.path["project_id"])
    return Answer()


def show_class(call: Call) -> Answer:
    """Show the default quotas as those of the only class of quotas."""
    return _class(call.conductor.get_quotas(call.context, NO_PROJECT), id=call.path["quota_class"])


def update_class(call: Call) -> Answer:
    """Set the default quotas, which are those of the only class."""
    name, limits = call.path["quota_class"], call.body["quota_class_set"]
    if name != DEFAULT_CLASS:
        raise invalid("quota_class", name, f"The only class of quotas is '{DEFAULT_CLASS}'")
    return _class(call.conductor.update_quotas(call.context, NO_PROJECT, limits))


def _check_usage(limits: Mapping[str, int], quotas: Quotas) -> None:
    for name, limit in limits.items():
        used = quotas[name]["in_use"]
        if 0 <= limit < used:
            rule = f"{used} are in use; 'force' sets a limit below that"
            raise invalid(f"quota_set.{name}", limit, rule)


def _answer(call: Call, project_id: str) -> Answer:
    return _limits(call.conductor.get_quotas(call.context, project_id), id=call.path["project_id"])


def _limits(quotas: Quotas, **identifier: str) -> Answer:
    limits = {name: quota["limit"] for name, quota in quotas.items()}
    return Answer({"quota_set": {**identifier, **limits}})


def _class(quotas: Quotas, **identifier: str) -> Answer:
    limits = {name: quota["limit"] for name, quota in quotas.items()}
    return Answer({"quota_class_set": {**identifier, **limits}})


ROUTES: Routes[Call] = {
    "/v2.1/os-quota-sets/{project_id}": {
        "GET": Action(
            show, policies.SHOW, schemas.SHOW_ANSWER, query=schemas.USER_QUERY, subject=load
        ),
        "PUT": Action(
            update,
            policies.UPDATE,
            schemas.UPDATE_ANSWER,
            query=schemas.USER_QUERY,
            body=schemas.UPDATE,
            subject=load,
        ),
        "DELETE": Action(
            delete, policies.DELETE, query=schemas.USER_QUERY, status=202, subject=load
        ),
    },
    "/v2.1/os-quota-sets/{project_id}/detail": {
        "GET": Action(
            detail, policies.DETAIL, schemas.DETAIL_ANSWER, query=schemas.USER_QUERY, subject=load
        )
    },
    "/v2.1/os-quota-sets/{project_id}/defaults": {
        "GET": Action(defaults, policies.DEFAULTS, schemas.SHOW_ANSWER, subject=load)
    },
    "/v2.1/os-quota-class-sets/{quota_class}": {
        "GET": Action(show_class, policies.SHOW_CLASS, schemas.CLASS_ANSWER),
        "PUT": Action(
            update_class,
            policies.UPDATE_CLASS,
            schemas.UPDATE_CLASS_ANSWER,
            body=schemas.UPDATE_CLASS,
        ),
    },
}
