"""Versions of the identity API: 3 only."""

from api.identity.call import Call
from armillary.http.call import Answer, Document


def index(call: Call) -> Answer:
    """List the versions."""
    return Answer({"versions": {"values": [_version(call)]}}, status=300)


def show(call: Call) -> Answer:
    """Show version 3."""
    return Answer({"version": _version(call)})


def _version(call: Call) -> Document:
    return {
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",  # date of Keystone's version 3.14
        "links": [{"rel": "self", "href": f"{call.root}/"}],
        "media-types": [
            {"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}
        ],
    }
