"""Versions of the API."""

from api.schemas.base import LINKS, OBJECT, STRING, every, fields, listed

_VERSION = {
    "id": STRING,
    "status": STRING,
    "version": STRING,
    "min_version": STRING,
    "updated": STRING,
    "links": LINKS,
}

INDEX_ANSWER = every({"versions": listed(every(_VERSION))})
SHOW_ANSWER = every(
    {
        "version": fields(
            {**_VERSION, "media-types": listed(every({"base": STRING, "type": STRING}))}, _VERSION
        )
    }
)
DOCUMENT_ANSWER = OBJECT
