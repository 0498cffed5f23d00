"""Tags of a server."""

from api.schemas.base import STRINGS, every
from api.schemas.servers.server import TAGS

ALL = every({"tags": TAGS})

ANSWER = every({"tags": STRINGS})
