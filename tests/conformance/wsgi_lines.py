"""A WSGI application that is asked over standard input: a request and an answer a line, as JSON.

As a program it serves the reference implementation of the Placement API, with the Python of an
environment that has it: ``wsgi_lines.py FOLDER``. It needs nothing else of this repository. The
request ``"renew"`` empties its database.
"""

import base64
import io
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

CONFIGURATION = """\
[api]
auth_strategy = noauth2
[oslo_policy]
enforce_new_defaults = False
[placement_database]
connection = sqlite:///{folder}/placement.sqlite
sync_on_startup = True
"""


def ask(app: WsgiApp, request: dict[str, Any]) -> dict[str, Any]:
    """Return status, headers and body of the answer to a request, which is ``to_plain``."""
    begun: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Callable[[bytes], None]:
        begun[:] = [status, headers]
        return lambda data: None

    parts = app(_environ(request), start)
    try:
        body = b"".join(parts)
    finally:
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    status, headers = begun
    return {
        "status": status,
        "headers": [[name, value] for name, value in headers],
        "body": base64.b64encode(body).decode(),
    }


def _environ(request: dict[str, Any]) -> dict[str, Any]:
    path, _, query = request["path"].partition("?")
    body = base64.b64decode(request["body"])
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "HTTP_HOST": "localhost",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if body:
        environ["CONTENT_LENGTH"] = str(len(body))
    for name, value in request["headers"].items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    return environ


class _Tables:
    """The database as it was when the application had started."""

    def __init__(self, folder: Path) -> None:
        self._live = folder / "placement.sqlite"
        self._empty = folder / "empty.sqlite"
        self._copy(self._live, self._empty)

    def renew(self) -> None:
        self._copy(self._empty, self._live)

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
            here.backup(there)


def _main() -> None:
    folder, answers = Path(sys.argv[1]), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    (folder / "placement.conf").write_text(CONFIGURATION.format(folder=folder))
    os.environ["OS_PLACEMENT_CONFIG_DIR"] = str(folder)
    from placement.wsgi.api import application  # type: ignore[import-not-found,unused-ignore]

    tables = _Tables(folder)
    for line in sys.stdin:
        request = json.loads(line)
        answer = None
        if request == "renew":
            tables.renew()
        else:
            answer = ask(application, request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    _main()
