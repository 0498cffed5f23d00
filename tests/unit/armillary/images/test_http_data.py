"""Data of HTTP responses that come slowly, in parts, or not as they were asked for."""

import io

import pytest
import requests
import urllib3

from armillary.images import http_data


def an_answer(data: bytes, status: int = 200, **headers: str) -> requests.Response:
    answer = requests.Response()
    answer.status_code = status
    answer.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    answer.raw = urllib3.HTTPResponse(io.BytesIO(data), preload_content=False)
    return answer


@pytest.mark.parametrize(
    ("answer", "start", "expected"),
    [
        (an_answer(b"abcdef"), 0, b"abcdef"),
        (an_answer(b"abcdef"), 4, b"ef"),
        (an_answer(b"ef", 206, Content_Range="bytes 4-5/6"), 4, b"ef"),
    ],
    ids=["all", "range-ignored", "range"],
)
def test_data_begins_where_it_is_asked_for(
    answer: requests.Response, start: int, expected: bytes
) -> None:
    assert b"".join(http_data.pieces(answer, start)) == expected


def test_another_part_is_refused() -> None:
    """Whatever a digest says later."""
    answer = an_answer(b"abc", 206, Content_Range="bytes 0-2/6")
    with pytest.raises(requests.RequestException, match="not the part asked for"):
        list(http_data.pieces(answer, 4))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7.0), ({}, 0.0), ({"Retry-After": "Wed, 21 Oct 2026"}, 0.0)],
    ids=["seconds", "none", "date"],
)
def test_a_server_may_ask_to_wait(headers: dict[str, str], seconds: float) -> None:
    assert http_data.retry_after_seconds(headers) == seconds
