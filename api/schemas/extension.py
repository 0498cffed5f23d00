"""Extensions: parts of the Compute API that early clients looked for by name."""

from api.schemas.base import LINKS, STRING, every, listed

_EXTENSION = every(
    {
        "alias": STRING,
        "name": STRING,
        "namespace": STRING,
        "description": STRING,
        "links": LINKS,
        "updated": STRING,
    }
)

INDEX_ANSWER = every({"extensions": listed(_EXTENSION)})
SHOW_ANSWER = every({"extension": _EXTENSION})
