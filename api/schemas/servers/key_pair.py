"""Key pairs: public keys of users."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    LINKS,
    NUMBER,
    PAGE,
    STRING,
    TIME_OR_NULL,
    Part,
    every,
    fields,
    listed,
    name,
    ruled,
    since,
    text,
)
from armillary.http.ranges import Ranged
from objects.key_pair import SSH, X509

KEY_CHARACTERS_MAX = 65535

_NAME = (
    Ranged(
        name(r"^[a-zA-Z0-9@._\- ]+$", "A name may contain letters, digits, spaces and @._- only"),
        since=(2, 92),
    ),
    Ranged(name(r"^[a-zA-Z0-9_\- ]+$", "A name may contain letters, digits, spaces and _- only")),
)
_PUBLIC_KEY = text(KEY_CHARACTERS_MAX, minimum=1)
_KIND = ruled({"enum": [SSH, X509]}, "It must be 'ssh' or 'x509'")

_WANTED: dict[str, Part] = {
    "name": _NAME[0],
    "public_key": _PUBLIC_KEY,
    "type": since(2, 2, _KIND),
    "user_id": since(2, 10, name()),
}


def _create(*required: str, **more: Part) -> dict[str, Part]:
    return every({"keypair": fields({**_WANTED, **more}, required)})


CREATE = (
    Ranged(_create("name", "public_key"), since=(2, 92)),
    Ranged(_create("name", name=_NAME[1])),
)

_USER = {"user_id": since(2, 10, name())}
ONE_QUERY = fields(_USER)
INDEX_QUERY = fields({**_USER, **{each: since(2, 35, schema) for each, schema in PAGE.items()}})

_BRIEF: dict[str, Part] = {
    "name": STRING,
    "public_key": STRING,
    "fingerprint": STRING,
    "type": since(2, 2, STRING),
}
_MADE: dict[str, Part] = {**_BRIEF, "user_id": STRING}

INDEX_ANSWER = fields(
    {"keypairs": listed(every({"keypair": every(_BRIEF)})), "keypairs_links": since(2, 35, LINKS)},
    required=["keypairs"],
)
SHOW_ANSWER = every(
    {
        "keypair": every(
            {
                **_MADE,
                "id": NUMBER,
                "created_at": TIME_OR_NULL,
                "updated_at": TIME_OR_NULL,
                "deleted_at": TIME_OR_NULL,
                "deleted": BOOLEAN,
            }
        )
    }
)
CREATE_ANSWER = every({"keypair": fields({**_MADE, "private_key": STRING}, _MADE)})
