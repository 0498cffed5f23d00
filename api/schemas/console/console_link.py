"""Links to the web console."""

from api.schemas.base import STRING, TIME_OR_NULL, every, fields

CREATE = fields({})

CREATE_ANSWER = every({"link": STRING, "expires_at": TIME_OR_NULL})
