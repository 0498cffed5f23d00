"""TLS to the broker: what the driver is told, and files that are of no use."""

import ssl
from pathlib import Path
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg

from armillary import exception
from rpc.broker import broker_tls
from rpc.transport import Bus
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.signing.authority import CertificateAuthority


def conf_with(**options: Any) -> cfg.ConfigOpts:
    conf: cfg.ConfigOpts = messaging_conf()
    Bus(conf, "kombu+memory:////options").close()  # registers the options of messaging
    for name, value in options.items():
        conf.set_override(name, value, group=broker_tls.GROUP)
    return conf


def hosts(*names: str) -> list[oslo_messaging.TransportHost]:
    return [oslo_messaging.TransportHost(name, 5671) for name in names]


def test_without_tls_nothing_is_set() -> None:
    """Plain AMQP, the default."""
    assert broker_tls.settings(conf_with(), hosts("a")) is False


def test_the_brokers_name_is_checked_without_an_authority_of_ones_own() -> None:
    """By those of the machine; the library alone would take any name then."""
    found = broker_tls.settings(conf_with(ssl=True), hosts("broker1"))
    assert found == {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": "broker1"}


def test_files_are_handed_on(certificate_authority: CertificateAuthority) -> None:
    """Authority, certificate and key."""
    mine = certificate_authority.issue("me")
    conf = conf_with(
        ssl=True,
        ssl_ca_file=str(certificate_authority.ca_file),
        ssl_cert_file=str(mine.cert_file),
        ssl_key_file=str(mine.key_file),
    )
    broker_tls.check(conf)
    found = broker_tls.settings(conf, hosts("a", "b"))
    assert isinstance(found, dict)
    assert found["ca_certs"] == str(certificate_authority.ca_file)
    assert (found["certfile"], found["keyfile"]) == (str(mine.cert_file), str(mine.key_file))
    assert found["server_hostname"] is None


@pytest.mark.parametrize("option", ["ssl_ca_file", "ssl_cert_file"])
def test_a_file_of_no_use_ends_the_start(option: str, tmp_path: Path) -> None:
    """A bus to RabbitMQ is not made; the file is named."""
    for path in (tmp_path / "none.pem", tmp_path):
        conf = conf_with(ssl=True, **{option: str(path)})
        with pytest.raises(exception.ConfigurationError, match=f"{option} {path}"):
            Bus(conf, "rabbit://guest:guest@127.0.0.1:1/")


def test_a_key_without_certificate_is_a_configuration_error() -> None:
    """Its owner is unknown."""
    with pytest.raises(exception.ConfigurationError, match="ssl_cert_file"):
        broker_tls.check(conf_with(ssl=True, ssl_key_file="a.key"))


def test_files_are_not_looked_at_without_tls() -> None:
    """They may be those of another deployment."""
    broker_tls.check(conf_with(ssl_ca_file="/nowhere"))
