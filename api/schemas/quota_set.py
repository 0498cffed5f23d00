"""Quotas: limits of a project; -1 is unlimited."""

from __future__ import annotations

from api.schemas.base import NUMBER, STRING, Schema, every, fields, integer

RESOURCES = ("instances", "cores", "ram", "server_groups", "server_group_members")

UPDATE = every(
    {
        "quota_set": {
            **fields({resource: integer(minimum=-1) for resource in RESOURCES}),
            "minProperties": 1,
        }
    }
)


def _answer(number: Schema) -> Schema:
    return every(
        {
            "quota_set": {
                "type": "object",
                "properties": {"id": STRING},
                "required": ["id"],
                "additionalProperties": number,
            }
        }
    )


SHOW_ANSWER = _answer(NUMBER)
DETAIL_ANSWER = _answer(every({"limit": NUMBER, "in_use": NUMBER, "reserved": NUMBER}))
