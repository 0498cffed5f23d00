"""What is particular to the Compute API between its routes and its handlers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import falcon

from api import validation
from api.call import AppState, Call
from api.links import Links
from armillary import exception
from armillary.context import RequestContext
from armillary.http.dispatch import Check, Dialect
from armillary.http.validation import Schema


class ComputeDialect(Dialect[Call]):
    """Query parameters have one value each; a body is an object, and refused if unexpected."""

    def __init__(self, site: AppState) -> None:
        self._site = site

    def make_check(self, schema: Schema) -> Check:
        return validation.Check(schema)

    def check_path(self, parameters: Mapping[str, str]) -> None:
        validation.check_path(parameters)

    def read_query(self, req: falcon.Request) -> Mapping[str, Any]:
        return req.params

    def read_body(self, req: falcon.Request, check: Check | None) -> Mapping[str, Any]:
        body: Mapping[str, Any] | None = req.context.body
        if check is not None:
            check.body({} if body is None else body)
        elif body is not None:
            raise exception.Invalid("This request does not accept a body.")
        return body or {}

    def make_call(
        self,
        req: falcon.Request,
        context: RequestContext,
        path: Mapping[str, str],
        query: Mapping[str, Any],
    ) -> Call:
        return Call(
            site=self._site,
            context=context,
            version=req.context.version,
            path=path,
            query=query,
            links=Links(self._site.link_prefix or req.prefix, req.path, query),
        )
