"""Project ids in paths: ``/v2.1/PROJECT/servers`` is ``/v2.1/servers`` of the caller's project."""

from collections.abc import Iterable

import falcon

from api.formats.links import OLDEST_VERSION_PATH, VERSION_PATH
from api.versions import MICROVERSIONS
from armillary import exception
from armillary.context import RequestContext
from armillary.http.call import Document

ALIASES = {"os-volumes_boot": "servers"}
"""First parts of paths that lead to those of another noun.

Libcloud and earlier releases of novaclient create servers with block devices by this one.
"""


class ProjectInPath:
    """Middleware: takes the project id out of the path before it is routed.

    Clients whose service catalogue has a project id in the endpoint send it. It must come before
    authentication, and ``check`` after it. Paths of the oldest version, ``/v2``, become those of
    version 2.1, and aliases what they stand for.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        nouns = {path.split("/")[2] for path in paths if path.startswith(f"{VERSION_PATH}/")}
        self._nouns = nouns | ALIASES.keys()
        self.check = _ProjectCheck()

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.project_in_path = None
        if req.path.startswith(f"{OLDEST_VERSION_PATH}/"):
            req.path = VERSION_PATH + req.path.removeprefix(OLDEST_VERSION_PATH)
            req.context.version = MICROVERSIONS.minimum
        if not req.path.startswith(f"{VERSION_PATH}/"):
            return
        project, _, rest = req.path.removeprefix(f"{VERSION_PATH}/").partition("/")
        if project not in self._nouns and rest.partition("/")[0] in self._nouns:
            req.context.project_in_path = project
            req.path = f"{VERSION_PATH}/{rest}"
        noun, slash, rest = req.path.removeprefix(f"{VERSION_PATH}/").partition("/")
        if noun in ALIASES:
            req.path = f"{VERSION_PATH}/{ALIASES[noun]}{slash}{rest}"


class _ProjectCheck:
    """Middleware: the project in the path is the caller's."""

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: Document
    ) -> None:
        project: str | None = req.context.project_in_path
        caller: RequestContext | None = getattr(req.context, "caller", None)
        if project is not None and caller is not None and project != caller.project_id:
            raise exception.Invalid(
                f"Malformed request URL: the project in the path is '{project[:80]}', that of the "
                f"token is '{caller.project_id}'"
            )
