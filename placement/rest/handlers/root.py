"""Description of the API: GET / lists the versions, GET /openapi.json has the details."""

from __future__ import annotations

from oslo_utils import timeutils

from placement.rest import versions
from placement.rest.call import Answer, Call


def document(call: Call) -> Answer:
    """Describe this API as an OpenAPI document."""
    return Answer(call.site.document())


def index(call: Call) -> Answer:
    """List the versions of the API."""
    version = {
        "id": f"v{versions.to_text(versions.MIN)}",
        "min_version": versions.to_text(versions.MIN),
        "max_version": versions.to_text(versions.MAX),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": call.root}],
    }
    return Answer({"versions": [version]}, last_modified=timeutils.utcnow())
