"""Volumes of servers."""

from api.schemas import base

_ATTACHMENT = base.every(
    {
        "id": base.until(2, 88, base.STRING),
        "volumeId": base.STRING,
        "serverId": base.STRING,
        "device": base.STRING_OR_NULL,
        "tag": base.since(2, 70, base.STRING_OR_NULL),
        "delete_on_termination": base.since(2, 79, base.BOOLEAN),
        "attachment_id": base.since(2, 89, base.STRING),
        "bdm_uuid": base.since(2, 89, base.STRING),
    }
)
INDEX_QUERY = base.fields({"limit": base.integer(), "offset": base.integer()})
INDEX_ANSWER = base.every({"volumeAttachments": base.listed(_ATTACHMENT)})
SHOW_ANSWER = base.every({"volumeAttachment": _ATTACHMENT})
CREATE = base.every(
    {
        "volumeAttachment": base.fields(
            {
                "volumeId": base.UUID,
                "device": base.nullable(base.text()),
                "tag": base.since(2, 49, base.text(maximum=60)),
                "delete_on_termination": base.since(2, 79, base.BOOLEAN),
            },
            required=["volumeId"],
        )
    }
)
UPDATE = base.every({"volumeAttachment": base.OBJECT})
