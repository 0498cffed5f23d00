"""The attestation service over HTTPS: how far it trusts which hosts."""

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
    """The service did not answer, or not in a way that can be read."""


class AttestationService:
    """The service itself: POST of ``{"hosts": [names]}`` to ``PollHosts``, over HTTPS.

    The answer is ``{"hosts": [{"host_name": name, "trust_lvl": level}, ...]}``.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._options = conf.trusted_computing

    def poll(self, nodes: Sequence[str]) -> dict[str, str]:
        """Return node -> level, of those that the service knows; raise ``AskFailed``."""
        if not self._options.attestation_server:
            raise AskFailed("[trusted_computing] attestation_server is not set")
        try:
            answer = json.loads(self._post(json.dumps({"hosts": list(nodes)})))
            return {str(each["host_name"]): str(each["trust_lvl"]) for each in answer["hosts"]}
        except (requests.RequestException, OSError) as error:
            raise AskFailed(f"{self._url} does not answer: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise AskFailed(f"the answer of {self._url} cannot be read: {error}") from error

    def _post(self, body: str) -> bytes:
        seconds = self._options.attestation_call_seconds
        deadline = time.monotonic() + seconds
        with requests.Session() as session:
            session.trust_env = False  # no proxy, no password file: the options say it all
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
                    raise AskFailed(f"{self._url} answers with HTTP {response.status_code}")
                return self._read(response, deadline)

    def _read(self, response: requests.Response, deadline: float) -> bytes:
        answer = b""
        for part in response.iter_content(64 * 1024):
            answer += part
            if len(answer) > _ANSWER_BYTES_MAX or time.monotonic() > deadline:
                raise AskFailed(f"the answer of {self._url} is too long, or takes too long")
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
