"""Quotas: limits of a project."""

from __future__ import annotations

from api.call import Call
from armillary.http.call import Answer

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
    """Set a project's quotas."""
    quotas = call.conductor.update_quotas(
        call.context, call.path["project_id"], dict(call.body["quota_set"])
    )
    return _limits(call, quotas)


def _answer(call: Call, project_id: str) -> Answer:
    return _limits(call, call.conductor.get_quotas(call.context, project_id))


def _limits(call: Call, quotas: dict[str, dict[str, int]]) -> Answer:
    limits = {name: quota["limit"] for name, quota in quotas.items()}
    return Answer({"quota_set": {"id": call.path["project_id"], **limits}})
