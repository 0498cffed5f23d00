"""HTTPS client of the attestation service."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import requests
from oslo_config import cfg

_ANSWER_BYTES_MAX = 4 * 1024 * 1024
_CONNECT_SECONDS = 5.0


class AskFailed(Exception):
    """The service did not respond, or responded with something invalid."""


class AttestationService:
    """Client that POSTs ``{"hosts": [names]}`` to ``PollHosts`` over HTTPS.

    The response is ``{"hosts": [{"host_name": name, "trust_lvl": level}, ...]}``.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._options = conf.trusted_computing

    def poll(self, nodes: Sequence[str]) -> dict[str, str]:
        """Return node -> level for the nodes that the service knows; raise ``AskFailed``."""
        if not self._options.attestation_server:
            raise AskFailed("[trusted_computing] attestation_server is not set")
        try:
            answer = json.loads(self._post(json.dumps({"hosts": list(nodes)})))
            return {str(each["host_name"]): str(each["trust_lvl"]) for each in answer["hosts"]}
        except (requests.RequestException, OSError) as error:
            raise AskFailed(f"{self._url} does not respond: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise AskFailed(f"invalid response from {self._url}: {error}") from error

    def _post(self, body: str) -> bytes:
        seconds = self._options.attestation_call_seconds
        deadline = time.monotonic() + seconds
        with requests.Session() as session:
            session.trust_env = False  # only the options configure proxies and credentials
            with session.post(
                self._url,
                data=body,
                headers=self._headers,
                verify=self._verify,
                timeout=(min(_CONNECT_SECONDS, seconds), seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                if response.status_code != requests.codes.ok:
                    raise AskFailed(f"{self._url} responded with HTTP {response.status_code}")
                return self._read(response, deadline)

    def _read(self, response: requests.Response, deadline: float) -> bytes:
        answer = b""
        for part in response.iter_content(64 * 1024):
            answer += part
            if len(answer) > _ANSWER_BYTES_MAX or time.monotonic() > deadline:
                raise AskFailed(f"the response of {self._url} is too large or too slow")
        return answer

    @property
    def _url(self) -> str:
        options = self._options
        server = options.attestation_server
        host = f"[{server}]" if ":" in server else server
        path = options.attestation_api_url.strip("/")
        return f"https://{host}:{options.attestation_port}/{path}/PollHosts"

    @property
    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._options.attestation_auth_blob:
            headers["x-auth-blob"] = self._options.attestation_auth_blob
        return headers

    @property
    def _verify(self) -> Any:
        if self._options.attestation_insecure_ssl:
            return False
        return self._options.attestation_server_ca_file or True
