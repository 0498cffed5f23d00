"""Page sizes are numbers of KiB, or have a unit; nothing else is one."""

import pytest

from objects import page_sizes


@pytest.mark.parametrize(
    ("text", "size_kb"),
    [
        ("4", 4), (" 2048 ", 2048), ("2048KB", 2048), ("2m", 2048), ("2 MiB", 2048),
        ("1GB", 1048576), ("64G", page_sizes.SIZE_KB_MAX), ("65G", None), ("0", None),
        ("2TB", None), ("MB", None), ("", None), ("-1", None), ("1.5GB", None),
    ],
    ids=str,
)  # fmt: skip
def test_page_size_is_parsed_in_kib(text: str, size_kb: int | None) -> None:
    """Up to 64 GiB."""
    assert page_sizes.parse_kb(text) == size_kb
