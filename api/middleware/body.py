"""Request bodies: of the right type, a JSON object of clean text."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import falcon

from armillary import exception
from armillary.http.call import Document
from armillary.http.dispatch import Check
from armillary.http.validation import DEPTH_MAX, DuplicateField, check_clean, unique_fields


class Body:
    """Sets ``req.context.body`` to the parsed object, or to None if there is no body.

    It is read after authentication.
    """

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.body = None

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: Document
    ) -> None:
        raw = req.bounded_stream.read() if req.content_length else b""
        if not raw:
            return
        media_type = (req.content_type or "").partition(";")[0].strip().lower()
        if media_type != falcon.MEDIA_JSON:
            raise falcon.HTTPUnsupportedMediaType(
                description=f"The body must be {falcon.MEDIA_JSON}, not '{media_type[:80]}'."
            )
        req.context.body = parse(raw)


def read_body(req: falcon.Request, check: Check | None) -> Mapping[str, Any]:
    """Return the valid body; raise ``Invalid``, also if there is one without a check."""
    body: Mapping[str, Any] | None = req.context.body
    if check is not None:
        check.body({} if body is None else body)
    elif body is not None:
        raise exception.Invalid("This request does not accept a body.")
    return body or {}


def parse(raw: bytes) -> Document:
    """Return the JSON object in ``raw``; raise ``HTTPBadRequest`` for anything else."""
    value = parse_any(raw)
    if not isinstance(value, dict):
        raise _refused(f"it must be a JSON object, not {_JSON_NAMES[type(value)]}")
    return value


def parse_any(raw: bytes) -> Any:
    """Return the clean JSON value in ``raw``; raise ``HTTPBadRequest`` for anything else."""
    try:
        value = json.loads(
            raw.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=unique_fields
        )
    except UnicodeDecodeError as error:
        raise _refused(f"it is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise _refused(f"it is not JSON: {error.msg} at {where}") from error
    except RecursionError as error:
        raise _too_deep() from error
    except DuplicateField as error:
        raise _refused(f"it has a {error}") from error
    except ValueError as error:  # NaN; or a number with thousands of digits, which int() rejects
        raise _refused("it contains a number that is not valid JSON or too long") from error
    try:
        check_clean(value, allow_infinity=True)
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise _refused(str(error)) from error
    return value


_JSON_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _too_deep() -> falcon.HTTPBadRequest:
    return _refused(f"it is nested deeper than {DEPTH_MAX} levels")


def _refused(why: str) -> falcon.HTTPBadRequest:
    return falcon.HTTPBadRequest(description=f"The body is invalid: {why}.")
