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
    text,
    until,
)

RESOURCES = ("instances", "cores", "ram", "server_groups", "server_group_members")

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


_LIMIT = integer(minimum=-1)
NAMES = tuple(_quotas(_LIMIT))
"""Names of all quotas."""

USER_QUERY = fields({"user_id": text()})
"""A user, who has the quotas of the project: there are no others."""

UPDATE = every(
    {"quota_set": {**fields(_quotas(_LIMIT, force=BOOLEAN, tenant_id=STRING)), "minProperties": 1}}
)


def _answer(number: Schema, **identifier: Part) -> Schema:
    return every({"quota_set": every(_quotas(number, **identifier))})


SHOW_ANSWER = _answer(NUMBER, id=STRING)
UPDATE_ANSWER = _answer(NUMBER)
DETAIL_ANSWER = _answer(every({"limit": NUMBER, "in_use": NUMBER, "reserved": NUMBER}), id=STRING)


def _of_class(number: Schema, **more: Part) -> dict[str, Part]:
    return _quotas(number, **more) | {
        **dict.fromkeys(("server_groups", "server_group_members"), since(2, 50, number)),
        **dict.fromkeys(_NETWORK, until(2, 49, number)),
    }


UPDATE_CLASS = every({"quota_class_set": {**fields(_of_class(_LIMIT)), "minProperties": 1}})
UPDATE_CLASS_ANSWER = every({"quota_class_set": every(_of_class(NUMBER))})
CLASS_ANSWER = every({"quota_class_set": every(_of_class(NUMBER, id=STRING))})
