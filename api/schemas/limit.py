"""Limits: a project's quotas and usage in one flat object."""

from __future__ import annotations

from api.schemas.base import ANY, NUMBER, every, fields, listed, name

SHOW_QUERY = fields({"tenant_id": name()})

_ABSOLUTE = {"type": "object", "additionalProperties": NUMBER}

SHOW_ANSWER = every({"limits": every({"rate": listed(ANY), "absolute": _ABSOLUTE})})
