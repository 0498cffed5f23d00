"""Applications below paths of one server."""

from typing import Any
from unittest.mock import sentinel

import pytest

from api.middleware.mounts import Mounts


def app(name: str) -> Any:
    return lambda environ, _start: (name, environ.get("SCRIPT_NAME", ""), environ["PATH_INFO"])


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/", ("other", "", "/")),
        ("/v2.1/images", ("other", "", "/v2.1/images")),
        ("/image", ("image", "/image", "/")),
        ("/image/v2/images", ("image", "/image", "/v2/images")),
        ("/images", ("other", "", "/images")),
        ("//image/v2", ("other", "", "//image/v2")),
        ("/v3/users", ("identity", "", "/v3/users")),
    ],
)
def test_the_first_part_of_the_path_decides(path: str, answer: tuple[str, str, str]) -> None:
    """A mounted application sees the rest, a shared path is seen whole."""
    front = Mounts(app("other"), mounted={"/image": app("image")}, shared={"/v3": app("identity")})
    assert front({"PATH_INFO": path}, sentinel.start) == answer
