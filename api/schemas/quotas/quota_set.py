"""Quotas: limits of a project; -1 is unlimited."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    NUMBER,
    STRING,
    Part,
    Schema,
    every,
    fields,
    integer,
    since,
    until,
)

RESOURCES = ("instances", "cores", "ram", "server_groups", "server_group_members")

UPDATE = every(
    {
        "quota_set": {
            **fields(
                {
                    **{resource: integer(minimum=-1) for resource in RESOURCES},
                    "force": BOOLEAN,
                    "tenant_id": STRING,
                }
            ),
            "minProperties": 1,
        }
    }
)


_NETWORK = ("floating_ips", "fixed_ips", "security_groups", "security_group_rules")
_FILES = ("injected_files", "injected_file_content_bytes", "injected_file_path_bytes")
_OTHERS = ("metadata_items", "key_pairs")


def _quotas(number: Schema, **more: Part) -> dict[str, Part]:
    return {
        **dict.fromkeys((*RESOURCES, *_OTHERS), number),
        **dict.fromkeys(_NETWORK, until(2, 35, number)),
        **dict.fromkeys(_FILES, until(2, 56, number)),
        **more,
    }


def _answer(number: Schema, **identifier: Part) -> Schema:
    return every({"quota_set": every(_quotas(number, **identifier))})


SHOW_ANSWER = _answer(NUMBER, id=STRING)
UPDATE_ANSWER = _answer(NUMBER)
DETAIL_ANSWER = _answer(every({"limit": NUMBER, "in_use": NUMBER, "reserved": NUMBER}), id=STRING)

_OF_CLASS = _quotas(NUMBER, id=STRING) | {
    **dict.fromkeys(("server_groups", "server_group_members"), since(2, 50, NUMBER)),
    **dict.fromkeys(_NETWORK, until(2, 49, NUMBER)),
}
CLASS_ANSWER = every({"quota_class_set": every(_OF_CLASS)})
