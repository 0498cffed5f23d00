"""Paths of one object whose id is empty: not found, although they look like those of a list."""

import falcon

_ENDS = ("/os-simple-tenant-usage/",)
"""Ends of paths after which the Compute API expects an id; others may end with a slash."""


class EmptyIds:
    """Falcon middleware; it looks at the path as it was sent."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        if req.env.get("PATH_INFO", "").endswith(_ENDS):
            raise falcon.HTTPNotFound(description="The id at the end of the path is empty.")
