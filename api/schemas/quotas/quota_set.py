"""Quotas: limits of a project; -1 is unlimited."""

from api.schemas import base

RESOURCES = ("instances", "cores", "ram", "server_groups", "server_group_members")

_NETWORK = ("floating_ips", "fixed_ips", "security_groups", "security_group_rules")
_FILES = ("injected_files", "injected_file_content_bytes", "injected_file_path_bytes")
_OTHERS = ("metadata_items", "key_pairs")


def _quotas(number: base.Schema, **more: base.Part) -> dict[str, base.Part]:
    return {
        **dict.fromkeys((*RESOURCES, *_OTHERS), number),
        **dict.fromkeys(_NETWORK, base.until(2, 35, number)),
        **dict.fromkeys(_FILES, base.until(2, 56, number)),
        **more,
    }


_LIMIT = base.integer(minimum=-1)
NAMES = tuple(_quotas(_LIMIT))
"""Names of all quotas."""

USER_QUERY = base.fields({"user_id": base.text()})
"""A user, who has the quotas of the project: there are no others."""

UPDATE = base.every(
    {
        "quota_set": {
            **base.fields(_quotas(_LIMIT, force=base.BOOLEAN, tenant_id=base.STRING)),
            "minProperties": 1,
        }
    }
)


def _answer(number: base.Schema, **identifier: base.Part) -> base.Schema:
    return base.every({"quota_set": base.every(_quotas(number, **identifier))})


SHOW_ANSWER = _answer(base.NUMBER, id=base.STRING)
UPDATE_ANSWER = _answer(base.NUMBER)
DETAIL_ANSWER = _answer(
    base.every({"limit": base.NUMBER, "in_use": base.NUMBER, "reserved": base.NUMBER}),
    id=base.STRING,
)


def _of_class(number: base.Schema, **more: base.Part) -> dict[str, base.Part]:
    return _quotas(number, **more) | {
        **dict.fromkeys(("server_groups", "server_group_members"), base.since(2, 50, number)),
        **dict.fromkeys(_NETWORK, base.until(2, 49, number)),
    }


UPDATE_CLASS = base.every(
    {"quota_class_set": {**base.fields(_of_class(_LIMIT)), "minProperties": 1}}
)
UPDATE_CLASS_ANSWER = base.every({"quota_class_set": base.every(_of_class(base.NUMBER))})
CLASS_ANSWER = base.every({"quota_class_set": base.every(_of_class(base.NUMBER, id=base.STRING))})
