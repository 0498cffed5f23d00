"""No password gets through."""

import pytest

from armillary.logs.masking import mask_passwords


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql+pymysql://me:pw@db/x", "mysql+pymysql://me:***@db/x"),
        ("rabbit://a:pw@h1:5672,b:pw@h2:5672/v", "rabbit://a:***@h1:5672,b:***@h2:5672/v"),
        ("rabbit://a:p@w@h1/", "rabbit://a:***@h1/"),
        ("postgresql://h/x?user=me&password=pw&a=b", "postgresql://h/x?user=me&password=***&a=b"),
        ("postgresql://h/x?sslpassword=pw", "postgresql://h/x?sslpassword=***"),
        ("cannot reach 'http://u:pw@h:80/p': no", "cannot reach 'http://u:***@h:80/p': no"),
        (
            "http://[::1]:5672/ at 10:30, me@example.org",
            "http://[::1]:5672/ at 10:30, me@example.org",
        ),
        ("sqlite:////var/lib/x.sqlite", "sqlite:////var/lib/x.sqlite"),
    ],
    ids=["database", "two-hosts", "at-sign", "query", "ssl", "in-text", "nothing", "no-host"],
)
def test_passwords_are_hidden_and_nothing_else(text: str, expected: str) -> None:
    """The rest stays readable."""
    assert mask_passwords(text) == expected


def test_an_exception_may_be_given() -> None:
    """What is logged is often an error."""
    assert mask_passwords(ValueError("amqp://u:pw@h")) == "amqp://u:***@h"
