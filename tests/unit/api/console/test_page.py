"""The page: files of the package, and how browsers have to treat them."""

import gzip
import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import falcon
import pytest
from falcon import testing

from api.console.app import SECURITY_HEADERS
from api.console.page import INDEX, STATIC, Page
from tests.fixtures import waiting
from tests.unit.api.console.conftest import Browser as Tab


def status_of(url: str, path: str) -> int:
    """Return the status of a request whose path no client has cleaned up."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=waiting.seconds(10))
    connection.putrequest("GET", path, skip_accept_encoding=True)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize("view", ["/ui/", "/ui/fleet", "/ui/hosts/a-host.b", "/ui/login"])
def test_each_view_is_the_page(browser: Tab, view: str) -> None:
    """Its scripts show what the path names."""
    answer = browser.send("GET", view)
    assert re.sub("/v-[0-9a-f]{16}/", "/", answer.text) == (STATIC / INDEX).read_text("utf-8")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


def test_every_answer_forbids_foreign_scripts_and_frames(browser: Tab) -> None:
    """Errors, too."""
    for path in ("/ui", "/ui/", "/ui/session", "/ui/assets/none.js"):
        answer = browser.send("GET", path, allow_redirects=False)
        assert {name: answer.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    "path",
    [
        "/ui/assets/../index.html", "/ui/assets/..%2findex.html", "/ui/assets/%2e%2e/page.py",
        "/ui/assets/../../page.py", "/ui/assets//etc/passwd", "/ui/assets/.hidden.js",
        "/ui/assets/", "/ui/assets/%00.js", "/ui/assets/..\\index.html", "/ui/assets/x.py",
    ],
)  # fmt: skip
def test_only_files_of_the_package_are_served(front: str, path: str) -> None:
    """No path leads out of their directory."""
    assert status_of(front, path) == 404


def test_the_page_cannot_be_posted_to(browser: Tab) -> None:
    """It is for reading."""
    answer = browser.send("POST", "/ui/fleet", data="x")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


def of_directory(path: Path) -> testing.TestClient:
    """Return a client of a page whose files are in a directory."""
    app = falcon.App()
    app.add_sink(Page(path), "/ui")
    return testing.TestClient(app)


def test_files_are_kept_by_browsers_until_an_upgrade(tmp_path: Path) -> None:
    """The page is asked for each time; it names its files by their version."""
    scripts = []
    for release in ("1", "2"):
        assets = tmp_path / release / "assets"
        assets.mkdir(parents=True)
        (tmp_path / release / INDEX).write_text('<script src="/ui/assets/app.js"></script>')
        (assets / "app.js").write_text(f"release({release});")
        web = of_directory(tmp_path / release)
        page = web.simulate_get("/ui/fleet")
        assert page.headers["Cache-Control"] == "no-cache"
        known = {"If-None-Match": page.headers["ETag"]}
        assert web.simulate_get("/ui/fleet", headers=known).status_code == 304
        scripts.append(re.findall('"(/ui/assets/[^"]+)"', page.text)[0])
        script = web.simulate_get(scripts[-1])
        assert script.text == f"release({release});"
        assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert "immutable" in script.headers["Cache-Control"]
    assert scripts[0] != scripts[1]
    of_the_old_page = web.simulate_get(scripts[0])
    assert of_the_old_page.text == "release(2);"
    assert of_the_old_page.headers["Cache-Control"] == "no-cache"


def test_a_large_file_is_compressed_for_who_can_read_that(tmp_path: Path) -> None:
    """Others get it as it is."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "app.js").write_text("call();\n" * 1000)
    web = of_directory(tmp_path)
    packed = web.simulate_get("/ui/assets/app.js", headers={"Accept-Encoding": "br, gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.content) < 200
    for accepted in ("", "br", "gzip;q=0"):
        plain = web.simulate_get("/ui/assets/app.js", headers={"Accept-Encoding": accepted})
        assert len(plain.content) == 8000


def test_a_link_out_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    """However it came there."""
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (static / "assets" / "secret.txt").symlink_to(tmp_path / "secret.txt")
    assert of_directory(static).simulate_get("/ui/assets/secret.txt").status_code == 404


def imports_of(module: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield all modules that one imports before it runs, each once."""
    for name in re.findall(r' from "(\.[^"]+)"', module.read_text(encoding="utf-8")):
        found = (module.parent / name).resolve()
        if found not in seen:
            seen.add(found)
            yield found
            yield from imports_of(found, seen)


def test_all_modules_of_the_first_view_are_fetched_together() -> None:
    """One that the page does not name is fetched when the one before it has been read."""
    main = STATIC / "assets" / "app" / "main.js"
    needed = {f"/ui/{path.relative_to(STATIC)}" for path in imports_of(main, set())}
    page = (STATIC / INDEX).read_text(encoding="utf-8")
    assert set(re.findall(r'"modulepreload" href="([^"]+)"', page)) == needed


def test_the_whole_page_weighs_at_most_300_kb() -> None:
    """Compressed, with the views that are fetched when they are opened."""
    files = [path for path in STATIC.rglob("*") if path.is_file()]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= 300_000
