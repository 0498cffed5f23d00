"""Trust levels of hosts: a cache that is filled in the background from an attestation service.

Decisions read cached levels. For missing levels, a worker queries the service and the decision
waits a bounded time. Levels close to expiry are refreshed ahead of time, without waiting.
"""

import dataclasses
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent import futures
from typing import Any

import requests
from oslo_config import cfg

from armillary.concurrency import WorkerPool, WorkerPoolFull

LOG = logging.getLogger(__name__)

UNKNOWN = "unknown"
Ask = Callable[[Sequence[str]], dict[str, str]]
"""Takes node names and returns the known levels by node; raises ``AskFailed``."""

_NODES_A_CALL_MAX = 500
_WORKERS = 4
_KEPT_MAX = 200_000
_FAILURE_KEPT_SECONDS = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class _Level:
    level: str
    asked_at: float
    until: float


class Attestations:
    """Trust levels of nodes, cached for ``attestation_auth_timeout`` seconds. Thread-safe.

    On any error a level is ``UNKNOWN``. After a failure, the affected nodes are not queried again
    for a few seconds.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        ask: Ask | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = conf.trusted_computing
        self._ask = ask or AttestationService(conf).poll
        self._clock = clock
        self._lock = threading.Lock()
        self._levels: dict[str, _Level] = {}
        self._asked: dict[str, futures.Future[None]] = {}  # pending queries by node
        self._pool = WorkerPool(_WORKERS, "attestation")

    def levels(self, nodes: Collection[str]) -> dict[str, str]:
        """Return the level of each node, waiting at most ``attestation_wait_seconds``."""
        missing, ending = self._not_fresh(nodes)
        awaited = self._ask_for(missing)
        self._ask_for(ending)
        if awaited:
            futures.wait(awaited, timeout=self._options.attestation_wait_seconds)
        now = self._clock()
        with self._lock:
            known = {node: self._levels.get(node) for node in nodes}
        return {
            node: found.level if found is not None and found.until > now else UNKNOWN
            for node, found in known.items()
        }

    def _not_fresh(self, nodes: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the nodes without a level, and those past half of their level's lifetime."""
        missing, ending = [], []
        with self._lock:
            now = self._clock()
            for node in nodes:
                found = self._levels.get(node)
                if found is None or found.until <= now:
                    missing.append(node)
                elif now - found.asked_at > found.until - now:
                    ending.append(node)
        return missing, ending

    def _ask_for(self, nodes: Sequence[str]) -> set[futures.Future[None]]:
        """Start queries for nodes without a pending one; return all pending queries for them."""
        with self._lock:
            awaited = {self._asked[node] for node in nodes if node in self._asked}
            others = [node for node in nodes if node not in self._asked]
            for start in range(0, len(others), _NODES_A_CALL_MAX):
                part = others[start : start + _NODES_A_CALL_MAX]
                try:
                    future = self._pool.submit(self._refresh, part)
                except WorkerPoolFull:
                    break
                awaited.add(future)
                self._asked.update(dict.fromkeys(part, future))
        return awaited

    def _refresh(self, nodes: Sequence[str]) -> None:
        kept_seconds = float(self._options.attestation_auth_timeout)
        answers: dict[str, str] = {}
        try:
            answers = self._ask(nodes)
        except AskFailed as error:
            LOG.warning("Attestation levels of %d hosts are unknown: %s", len(nodes), error)
            kept_seconds = min(kept_seconds, _FAILURE_KEPT_SECONDS)
        finally:
            self._keep(nodes, answers, kept_seconds)

    def _keep(self, nodes: Sequence[str], answers: Mapping[str, str], kept_seconds: float) -> None:
        with self._lock:
            now = self._clock()
            if len(self._levels) + len(nodes) > _KEPT_MAX:
                self._levels = {k: each for k, each in self._levels.items() if each.until > now}
            for node in nodes:
                level = answers.get(node, UNKNOWN)
                self._levels[node] = _Level(level, now, now + kept_seconds)
                self._asked.pop(node, None)


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
