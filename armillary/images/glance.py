"""Client of an external image service: Glance's version 2, with an account of our own."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlencode

from oslo_config import cfg

from armillary import exception
from armillary.images import http_data

if TYPE_CHECKING:
    import requests

    from armillary.http.call import Document

LOG = logging.getLogger(__name__)

PAGE_SIZE = 200
IMAGES_MAX = 50_000
"""Maximum number of images in a list."""
_IMAGES = "/v2/images"
_PATCH = "application/openstack-images-v2.1-json-patch"
_DATA = "application/octet-stream"

_TEMPORARY = frozenset({408, 429})
"""Temporary errors of a client: a later attempt may succeed."""

_LOGINS: Mapping[str, tuple[str, ...]] = {
    "password": (
        "auth_url", "username", "password", "project_name", "user_domain_name",
        "project_domain_name",
    ),
    "v3applicationcredential": (
        "auth_url", "application_credential_id", "application_credential_secret",
    ),
    "none": (),
}  # fmt: skip
"""Type of login -> the options that it needs."""


class Glance:
    """The image service of ``[glance]``. Thread-safe.

    Every method raises Unavailable if the service cannot be reached, or refuses our account; its
    ``retry_after_seconds`` is None if another attempt cannot help.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        # on demand: most deployments have no Glance
        from keystoneauth1 import adapter, loading, session

        options = conf.glance
        loader: Any = loading.get_plugin_loader(options.auth_type)
        try:
            auth = loader.load_from_options(
                **{name: options[name] for name in _LOGINS[options.auth_type]}
            )
        except Exception as error:  # of the library, which names the missing options
            raise exception.ConfigurationError(f"[glance] {error}") from error
        self._adapter = adapter.Adapter(
            session.Session(
                auth=auth, verify=options.cafile or True, timeout=options.request_timeout_seconds
            ),
            service_type="image",
            interface=options.valid_interfaces,
            region_name=options.region_name,
            endpoint_override=options.endpoint_override,
            connect_retries=1,
        )

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Glance | None:
        """Return the client; None if images are kept by our own API.

        Raises ConfigurationError for an incomplete account.
        """
        return None if conf.glance.auth_type is None else cls(conf)

    def get(self, image_id: str) -> Document:
        """Return an image. Raises ImageNotFound."""
        return self._document("GET", f"{_IMAGES}/{image_id}", image_id)

    def list(self, **filters: str) -> Iterator[Document]:
        """Yield the images of all projects, hidden ones left out, at most ``IMAGES_MAX``."""
        query = {"limit": str(PAGE_SIZE), "sort": "name:asc,id:asc", **filters}
        path: str | None = f"{_IMAGES}?{urlencode(query)}"
        for _page in range(IMAGES_MAX // PAGE_SIZE):
            answer = self._document("GET", path or "", None)
            yield from answer["images"]
            path = answer.get("next")
            if path is None:
                return

    def members(self, image_id: str) -> dict[str, str]:
        """Return the projects that an image is shared with, and whether they accepted it."""
        found = self._document("GET", f"{_IMAGES}/{image_id}/members", image_id)
        return {each["member_id"]: each["status"] for each in found["members"]}

    def create(self, values: Document) -> None:
        """Create an image under its own id; an existing one is left as it is."""
        with contextlib.suppress(exception.ImageExists):
            self._request("POST", _IMAGES, values["id"], json=values)

    def change(self, image_id: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Replace properties of an image. Raises ImageNotFound."""
        changes = [
            {"op": "remove", "path": _pointer(name)} for name in before if name not in after
        ] + [
            {"op": "replace" if name in before else "add", "path": _pointer(name), "value": value}
            for name, value in after.items()
            if before.get(name) != value
        ]
        if changes:
            headers = {"Content-Type": _PATCH}
            self._request("PATCH", f"{_IMAGES}/{image_id}", image_id, json=changes, headers=headers)

    def delete(self, image_id: str) -> None:
        """Delete an image. Raises ImageNotFound, ImageProtected."""
        try:
            self._request("DELETE", f"{_IMAGES}/{image_id}", image_id)
        except exception.Forbidden as error:
            raise exception.ImageProtected(image=image_id) from error

    def upload(self, image_id: str, data: IO[bytes]) -> None:
        """Store the data of an image, which is active from then on. Raises ImageNotFound."""
        headers = {"Content-Type": _DATA}
        path = f"{_IMAGES}/{image_id}/file"
        self._request("PUT", path, image_id, data=data, headers=headers)

    def download(self, image_id: str, start: int = 0) -> Iterator[bytes]:
        """Yield the data of an image from a byte on, each piece as it arrives.

        Raises ImageNotFound, also without data.
        """
        import requests

        path = f"{_IMAGES}/{image_id}/file"
        headers = {"Accept": _DATA, "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        answer = self._request("GET", path, image_id, stream=True, headers=headers)
        with contextlib.closing(answer):
            if answer.status_code == requests.codes.no_content:
                raise exception.ImageNotFound(image=image_id)
            try:
                yield from http_data.pieces(answer, start)
            except requests.RequestException as error:
                raise _unavailable(error) from error

    def _document(self, method: str, path: str, image_id: str | None) -> Document:
        answer = self._request(method, path, image_id)
        try:
            found: Document = answer.json()
        except ValueError as error:
            raise _unavailable(error) from error
        return found

    def _request(
        self, method: str, path: str, image_id: str | None, **more: Any
    ) -> requests.Response:
        from keystoneauth1 import exceptions

        try:
            answer: requests.Response = self._adapter.request(path, method, redirect=False, **more)
        except exceptions.ClientException as error:
            raise _failure(error, image_id) from error
        if answer.is_redirect:  # to which our token would go along
            answer.close()
            raise exception.Unavailable(
                reason="Glance sends us to another address; see [glance] endpoint_override",
                retry_after_seconds=None,
            )
        return answer


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _failure(error: Exception, image_id: str | None) -> exception.ArmillaryError:
    from keystoneauth1 import exceptions

    response = getattr(error, "response", None)
    if response is not None:
        response.close()  # of a download, nothing was read yet
    match error:
        case exceptions.NotFound():
            return exception.ImageNotFound(image=image_id)
        case exceptions.BadRequest():
            return exception.Invalid(reason=f"Glance: {error.message}")
        case exceptions.Conflict():
            return exception.ImageExists(image=image_id)
        case exceptions.Forbidden():
            return exception.Forbidden(reason="Glance refuses it")
    return _unavailable(error)


def _unavailable(error: Exception) -> exception.Unavailable:
    LOG.warning("Glance: %s: %s", type(error).__name__, error)  # addresses are for operators
    return exception.Unavailable(
        reason=f"Glance {_what_it_does(error)}", retry_after_seconds=_retry_after_seconds(error)
    )


def _retry_after_seconds(error: Exception) -> float | None:
    """Return how long it asks to wait; None if another attempt cannot help."""
    from keystoneauth1 import exceptions
    from requests import JSONDecodeError

    match error:
        case exceptions.CatalogException() | JSONDecodeError():
            return None
        case exceptions.HTTPClientError(http_status=status) if status not in _TEMPORARY:
            return None
        case exceptions.HttpError(response=response) if response is not None:
            return http_data.retry_after_seconds(response.headers)
        case _:
            return 0.0


def _what_it_does(error: Exception) -> str:
    """Return what is wrong with a Glance's behaviour, and which option may be the cause."""
    from keystoneauth1 import exceptions
    from requests import JSONDecodeError, Timeout
    from requests.exceptions import ChunkedEncodingError, ContentDecodingError

    match error:
        case exceptions.ConnectTimeout() | Timeout():
            return "does not answer in time ([glance] request_timeout_seconds)"
        case ChunkedEncodingError():
            return "ends its answer early"
        case ContentDecodingError():
            return "answers with another part of the data than it is asked for"
        case exceptions.Unauthorized():
            return "refuses the account of [glance]"
        case exceptions.CatalogException():
            return "is not in Keystone's catalogue; set [glance] endpoint_override"
        case exceptions.HttpError():
            return f"answers with the status {error.http_status}"
        case JSONDecodeError():
            return "does not answer with JSON; see [glance] endpoint_override"
        case _:
            return f"cannot be reached ({type(error).__name__}; see [glance])"
