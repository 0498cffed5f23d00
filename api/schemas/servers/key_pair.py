"""Key pairs: public keys of users."""

from api.schemas import base
from armillary.http.ranges import Ranged
from objects.key_pair import SSH, X509

KEY_CHARACTERS_MAX = 65535

_NAME = (
    Ranged(
        base.name(
            r"^[a-zA-Z0-9@._\- ]+$", "A name may contain letters, digits, spaces and @._- only"
        ),
        since=(2, 92),
    ),
    Ranged(
        base.name(r"^[a-zA-Z0-9_\- ]+$", "A name may contain letters, digits, spaces and _- only")
    ),
)
_PUBLIC_KEY = base.text(KEY_CHARACTERS_MAX, minimum=1)
_KIND = base.ruled({"enum": [SSH, X509]}, "It must be 'ssh' or 'x509'")

_WANTED: dict[str, base.Part] = {
    "name": _NAME[0],
    "public_key": _PUBLIC_KEY,
    "type": base.since(2, 2, _KIND),
    "user_id": base.since(2, 10, base.name()),
}


def _create(*required: str, **more: base.Part) -> dict[str, base.Part]:
    return base.every({"keypair": base.fields({**_WANTED, **more}, required)})


CREATE = (
    Ranged(_create("name", "public_key"), since=(2, 92)),
    Ranged(_create("name", name=_NAME[1])),
)

_USER = {"user_id": base.since(2, 10, base.name())}
ONE_QUERY = base.fields(_USER)
INDEX_QUERY = base.fields(
    {**_USER, **{each: base.since(2, 35, schema) for each, schema in base.PAGE.items()}}
)

_BRIEF: dict[str, base.Part] = {
    "name": base.STRING,
    "public_key": base.STRING,
    "fingerprint": base.STRING,
    "type": base.since(2, 2, base.STRING),
}
_MADE: dict[str, base.Part] = {**_BRIEF, "user_id": base.STRING}

INDEX_ANSWER = base.fields(
    {
        "keypairs": base.listed(base.every({"keypair": base.every(_BRIEF)})),
        "keypairs_links": base.since(2, 35, base.LINKS),
    },
    required=["keypairs"],
)
SHOW_ANSWER = base.every(
    {
        "keypair": base.every(
            {
                **_MADE,
                "id": base.NUMBER,
                "created_at": base.TIME_OR_NULL,
                "updated_at": base.TIME_OR_NULL,
                "deleted_at": base.TIME_OR_NULL,
                "deleted": base.BOOLEAN,
            }
        )
    }
)
CREATE_ANSWER = base.every({"keypair": base.fields({**_MADE, "private_key": base.STRING}, _MADE)})
