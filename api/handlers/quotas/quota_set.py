"""Quotas: limits of a project."""

from __future__ import annotations

from api.call import Call
from api.policies.quotas import quota_set as policies
from api.schemas.quotas import quota_set as schemas
from api.schemas.quotas.quota_set import RESOURCES
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes

FIXED_LIMITS = {
    "floating_ips": -1,
    "fixed_ips": -1,
    "security_groups": -1,
    "security_group_rules": -1,
    "metadata_items": 128,
    "key_pairs": 100,
    "injected_files": 5,
    "injected_file_content_bytes": 10240,
    "injected_file_path_bytes": 255,
}
"""Limits that are the same for all projects; -1: networking is not part of this service."""

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
    detailed |= {
        name: {"limit": limit, "in_use": 0, "reserved": 0} for name, limit in FIXED_LIMITS.items()
    }
    return Answer({"quota_set": {"id": project_id, **detailed}})


def defaults(call: Call) -> Answer:
    """Show the default quotas."""
    return _answer(call, NO_PROJECT)


def update(call: Call) -> Answer:
    """Set a project's quotas."""
    given = call.body["quota_set"]
    limits = {name: given[name] for name in RESOURCES if name in given}
    quotas = call.conductor.update_quotas(call.context, call.path["project_id"], limits)
    return _limits(quotas)


def show_class(call: Call) -> Answer:
    """Show the default quotas as those of the only class of quotas."""
    name = call.path["quota_class"]
    quotas = call.conductor.get_quotas(call.context, NO_PROJECT)
    limits = {resource: quota["limit"] for resource, quota in quotas.items()}
    return Answer({"quota_class_set": {"id": name, **FIXED_LIMITS, **limits}})


def _answer(call: Call, project_id: str) -> Answer:
    return _limits(call.conductor.get_quotas(call.context, project_id), id=call.path["project_id"])


def _limits(quotas: dict[str, dict[str, int]], **identifier: str) -> Answer:
    limits = {name: quota["limit"] for name, quota in quotas.items()}
    return Answer({"quota_set": {**identifier, **FIXED_LIMITS, **limits}})


ROUTES: Routes[Call] = {
    "/v2.1/os-quota-sets/{project_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, subject=load),
        "PUT": Action(
            update, policies.UPDATE, schemas.UPDATE_ANSWER, body=schemas.UPDATE, subject=load
        ),
    },
    "/v2.1/os-quota-sets/{project_id}/detail": {
        "GET": Action(detail, policies.DETAIL, schemas.DETAIL_ANSWER, subject=load)
    },
    "/v2.1/os-quota-sets/{project_id}/defaults": {
        "GET": Action(defaults, policies.DEFAULTS, schemas.SHOW_ANSWER, subject=load)
    },
    "/v2.1/os-quota-class-sets/{quota_class}": {
        "GET": Action(show_class, policies.SHOW_CLASS, schemas.CLASS_ANSWER)
    },
}
