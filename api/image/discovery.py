"""Versions, schemas and import methods of the image service."""

from api.image.call import Call
from api.image.schemas import PUBLISHED
from armillary import exception
from armillary.http.call import Answer

VERSIONS = ("v2.9", "v2.7", "v2.6", "v2.5", "v2.4", "v2.3", "v2.2", "v2.1", "v2.0")
"""Minor versions whose requests are answered, the newest first."""


def index(call: Call) -> Answer:
    """List the versions."""
    links = [{"rel": "self", "href": f"{call.root}/v2/"}]
    versions = [
        {"id": name, "status": "SUPPORTED" if number else "CURRENT", "links": links}
        for number, name in enumerate(VERSIONS)
    ]
    return Answer({"versions": versions})


def schema(call: Call) -> Answer:
    """Show a schema."""
    name = call.path["name"]
    if name not in PUBLISHED:
        raise exception.NotFound(f"There is no schema {name}.")
    return Answer(PUBLISHED[name])


def imports(call: Call) -> Answer:
    """List the methods of interoperable import: none, data is uploaded."""
    methods = {"description": "Import methods available.", "type": "array", "value": []}
    return Answer({"import-methods": methods})
