"""Volumes of servers."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    OBJECT,
    STRING,
    STRING_OR_NULL,
    UUID,
    every,
    fields,
    integer,
    listed,
    nullable,
    since,
    text,
    until,
)

_ATTACHMENT = every(
    {
        "id": until(2, 88, STRING),
        "volumeId": STRING,
        "serverId": STRING,
        "device": STRING_OR_NULL,
        "tag": since(2, 70, STRING_OR_NULL),
        "delete_on_termination": since(2, 79, BOOLEAN),
        "attachment_id": since(2, 89, STRING),
        "bdm_uuid": since(2, 89, STRING),
    }
)
INDEX_QUERY = fields({"limit": integer(), "offset": integer()})
INDEX_ANSWER = every({"volumeAttachments": listed(_ATTACHMENT)})
SHOW_ANSWER = every({"volumeAttachment": _ATTACHMENT})
CREATE = every(
    {
        "volumeAttachment": fields(
            {
                "volumeId": UUID,
                "device": nullable(text()),
                "tag": since(2, 49, text(maximum=60)),
                "delete_on_termination": since(2, 79, BOOLEAN),
            },
            required=["volumeId"],
        )
    }
)
UPDATE = every({"volumeAttachment": OBJECT})
