"""What is particular to the Placement API between its routes and its handlers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import falcon

from armillary.context import RequestContext
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Check, Dialect
from armillary.http.microversion import Version
from armillary.http.validation import Schema
from placement.rest import errors, validation
from placement.rest.call import AppState, Call

CACHE_HEADERS_SINCE: Version = (1, 15)

_ACCEPT_ALL = frozenset({"", "*/*", falcon.MEDIA_JSON})


class PlacementDialect(Dialect[Call]):
    """Query parameters have several values; a body is any JSON, and ignored if unexpected."""

    answers_options = False

    def __init__(self, site: AppState) -> None:
        self._site = site

    def make_check(self, schema: Schema) -> Check:
        return validation.Check(schema)

    def check_headers(self, req: falcon.Request, action: Action[Call], *, takes_body: bool) -> None:
        if action.status != 204 and action.rule is not None:
            _require_json_accepted(req)
        if takes_body:
            _require_json_sent(req)

    def check_path(self, parameters: Mapping[str, str]) -> None:
        validation.check_path(parameters)

    def read_query(self, req: falcon.Request) -> Mapping[str, Any]:
        return validation.parse_query(req.query_string)

    def read_body(self, req: falcon.Request, check: Check | None) -> Any:
        if check is None:
            return None
        body = validation.parse_body(_read(req))
        check.body(body)
        return body

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
            root=req.root_path,
            origin=f"{req.scheme}://{req.netloc}",
        )

    def set_headers(self, resp: falcon.Response, version: Version, answer: Answer) -> None:
        if answer.last_modified is not None and version >= CACHE_HEADERS_SINCE:
            resp.last_modified = answer.last_modified
            resp.set_header("Cache-Control", "no-cache")


def _require_json_accepted(req: falcon.Request) -> None:
    accept = req.accept
    if accept not in _ACCEPT_ALL and not req.client_accepts(falcon.MEDIA_JSON):
        raise falcon.HTTPNotAcceptable(description=f"Only {falcon.MEDIA_JSON} is provided")


def _require_json_sent(req: falcon.Request) -> None:
    media_type = req.content_type and req.content_type.partition(";")[0].strip().lower()
    if media_type != falcon.MEDIA_JSON:
        raise falcon.HTTPUnsupportedMediaType(
            description=f"The media type {req.content_type} is not supported, "
            f"use {falcon.MEDIA_JSON}"
        )


def _read(req: falcon.Request) -> bytes:
    """Return the body; a truncated body may be valid JSON, but not what the client meant."""
    raw: bytes = req.bounded_stream.read()
    if len(raw) < (req.content_length or 0):
        raise errors.bad_request(f"The body ended after {len(raw)} of {req.content_length} bytes")
    return raw
