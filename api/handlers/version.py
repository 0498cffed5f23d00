"""Versions of the API, and its OpenAPI document."""

from api.call import Call
from api.formats.links import OLDEST_VERSION_PATH
from api.schemas import version as schemas
from api.versions import MICROVERSIONS
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from armillary.http.microversion import to_text

MEDIA_TYPE = "application/vnd.openstack.compute+json;version=2.1"
MEDIA_TYPE_OF_OLDEST = "application/vnd.openstack.compute+json;version=2"


def index(call: Call) -> Answer:
    """List the versions of this API."""
    return Answer({"versions": [_oldest_version(call), _version(call)]})


def show_oldest(call: Call) -> Answer:
    """Show the version of this API without microversions."""
    media_types = [{"base": "application/json", "type": MEDIA_TYPE_OF_OLDEST}]
    return Answer({"version": {**_oldest_version(call), "media-types": media_types}})


def show(call: Call) -> Answer:
    """Show this version of the API."""
    media_types = [{"base": "application/json", "type": MEDIA_TYPE}]
    return Answer({"version": {**_version(call), "media-types": media_types}})


def document(call: Call) -> Answer:
    """Return the OpenAPI document of this API."""
    return Answer(call.site.document())


def _oldest_version(call: Call) -> Document:
    return {
        "id": "v2.0",
        "status": "SUPPORTED",
        "version": "",
        "min_version": "",
        "updated": "2011-01-21T11:33:21Z",  # date of the Compute API's version 2
        "links": call.links.version(OLDEST_VERSION_PATH),
    }


def _version(call: Call) -> Document:
    return {
        "id": "v2.1",
        "status": "CURRENT",
        "version": to_text(MICROVERSIONS.maximum),
        "min_version": to_text(MICROVERSIONS.minimum),
        "updated": "2013-07-23T11:33:21Z",  # date of the Compute API's version 2.1
        "links": call.links.version(),
    }


ROUTES: Routes[Call] = {
    "/": {"GET": Action(index, None, schemas.INDEX_ANSWER)},
    OLDEST_VERSION_PATH: {"GET": Action(show_oldest, None, schemas.SHOW_ANSWER)},
    "/v2.1": {"GET": Action(show, None, schemas.SHOW_ANSWER)},
    "/v2.1/openapi.json": {"GET": Action(document, None, schemas.DOCUMENT_ANSWER)},
}
