"""The files for TLS in a database's URL: they reach the driver, and a bad one is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from armillary import exception
from armillary.db import Database
from tests.fixtures.authority import CertificateAuthority

PEOPLE = "user:secret@db1/name"
URLS = {
    "sslrootcert": f"postgresql+psycopg2://{PEOPLE}?sslmode=verify-full&sslrootcert=",
    "sslcert": f"postgresql+psycopg2://{PEOPLE}?sslcert=",
    "ssl_ca": f"mysql+pymysql://{PEOPLE}?ssl_ca=",
    "ssl_key": f"mysql+pymysql://{PEOPLE}?ssl_key=",
}


def driver_arguments(url: str) -> dict[str, object]:
    engine = Database(url, name="API").engine
    _, named = engine.dialect.create_connect_args(engine.url)
    return dict(named)


def test_postgresql_is_told_what_to_check(certificate_authority: CertificateAuthority) -> None:
    """The library's own parameters, beside ours."""
    named = driver_arguments(f"{URLS['sslrootcert']}{certificate_authority.ca_file}")
    assert named["sslmode"] == "verify-full"
    assert named["sslrootcert"] == str(certificate_authority.ca_file)
    assert named["connect_timeout"]


def test_mysql_is_told_what_to_check(certificate_authority: CertificateAuthority) -> None:
    """The driver checks name and authority when it has one."""
    named = driver_arguments(f"{URLS['ssl_ca']}{certificate_authority.ca_file}")
    assert named["ssl"] == {"ca": str(certificate_authority.ca_file)}


@pytest.mark.parametrize("option", URLS)
def test_a_missing_file_is_a_configuration_error(option: str, tmp_path: Path) -> None:
    """It names option and file, and no password."""
    with pytest.raises(exception.ConfigurationError) as raised:
        Database(f"{URLS[option]}{tmp_path}/none.pem", name="API")
    assert f"{option}={tmp_path}/none.pem" in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("option", ["sslrootcert", "ssl_ca"])
def test_a_file_without_an_authority_is_a_configuration_error(option: str, tmp_path: Path) -> None:
    """No server could be verified."""
    path = tmp_path / "notes.txt"
    path.write_text("nothing of use")
    with pytest.raises(exception.ConfigurationError, match=r"notes\.txt"):
        Database(f"{URLS[option]}{path}", name="API")


@pytest.mark.parametrize("option", ["ssl_ca", "ssl_cert"])
@pytest.mark.parametrize("how", ["missing", "no PEM"])
def test_a_file_that_is_of_no_use_later_is_like_a_server_that_is_away(
    option: str, how: str, certificate_authority: CertificateAuthority, tmp_path: Path
) -> None:
    """It is being replaced, perhaps; PostgreSQL's library says so by itself."""
    path = tmp_path / "replaced.pem"
    path.write_bytes(certificate_authority.ca_file.read_bytes())
    database = Database(f"mysql+pymysql://user:secret@127.0.0.1:1/name?{option}={path}", name="API")
    if how == "missing":
        path.unlink()
    else:
        path.write_text("nothing of use")
    with pytest.raises(exception.DatabaseUnavailable, match="TLS file"):
        database.ping()


def test_the_authorities_of_the_system_are_no_file() -> None:
    """PostgreSQL's library has a word for them."""
    Database(f"{URLS['sslrootcert']}system", name="API")
