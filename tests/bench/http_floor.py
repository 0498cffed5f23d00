"""Lower bound of the time of an HTTP answer: the same server sends prepared bytes.

And what it costs to make and to read such JSON with the standard library.
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from armillary.http.wsgi.server import HttpServer
from tests.bench.measuring import Times, repeated
from tests.bench.placement.placement_clients import RestClient


def floors(body: bytes, folder: Path, rounds: int) -> dict[str, Times]:
    """Time the same body from memory, and the standard library's writer and reader for it."""
    parsed = json.loads(body)
    with _answering(body, folder) as (port, pid):
        client = RestClient(port)
        sent = repeated(lambda: client.get("/"), rounds, pids=[pid])
        client.close()
    return {
        "prepared body, same HTTP server": sent,
        "json.dumps of the answer": repeated(lambda: json.dumps(parsed), rounds),
        "json.loads of the answer (the client's share)": repeated(lambda: json.loads(body), rounds),
    }


@contextlib.contextmanager
def _answering(body: bytes, folder: Path) -> Iterator[tuple[int, int]]:
    """Serve a body, in a process of its own; lend port and process id."""
    path = folder / "body"
    path.write_bytes(body)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", __name__, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process.pid
    finally:
        process.communicate("")


def _serve(body: bytes) -> None:
    def app(environ: Any, start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response(
            "200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        )
        return [body]

    server = HttpServer(app, host="127.0.0.1", port=0, threads=16)
    server.start()
    print(server.address[1], flush=True)
    sys.stdin.read()
    server.stop()
    server.wait()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]).read_bytes())
