"""Security of virtual machines on the network: their migrations and their consoles."""

import datetime
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from armillary.http.wsgi.server import is_loopback
from programs.operator.check_results import Result
from programs.operator.security.inspected import API, COMPUTE, Inspected, result_of

PKI = Path("/etc/pki")
"""Where libvirt and QEMU look for certificates, unless their own configuration says otherwise."""
OF_LIBVIRT = ("CA/cacert.pem", "libvirt/clientcert.pem", "libvirt/servercert.pem")
OF_QEMU = ("qemu/ca-cert.pem", "qemu/client-cert.pem", "qemu/server-cert.pem")
SECONDS_A_DAY = 86400


def check_migrations(of: Inspected) -> Result | None:
    """Check that memory and disks of virtual machines are encrypted on the network."""
    if not _has_guests(of):
        return None
    options = of.conf.libvirt
    failures: list[str] = []
    warnings: list[str] = []
    uri = options.live_migration_uri
    if uri.startswith("qemu+tcp"):
        warnings.append("[libvirt] live_migration_uri uses TCP without TLS; use qemu+tls")
    if uri.startswith("qemu+tls") and "pkipath=" not in uri:
        _judge_certificates(of, "[libvirt] live_migration_uri", OF_LIBVIRT, failures, warnings)
    if options.live_migration_with_native_tls:
        option = "[libvirt] live_migration_with_native_tls"
        _judge_certificates(of, option, OF_QEMU, failures, warnings)
    else:
        warnings.append("[libvirt] live_migration_with_native_tls is off: memory is not encrypted")
    return result_of(failures, warnings)


def check_consoles(of: Inspected) -> Result | None:
    """Check that what users type at consoles is encrypted, on both sides of the proxy."""
    options = of.conf.serial_console
    has_guests = _has_guests(of)
    if not options.enabled or not (has_guests or of.serves(API)):
        return None
    warnings = []
    if has_guests and not options.cert_file:
        warnings.append("[serial_console] cert_file is not set: passwords typed can be read")
    elif has_guests and not options.client_ca_file:
        warnings.append("[serial_console] client_ca_file is not set: any program may try tokens")
    address = urlsplit(options.base_url)
    if of.serves(API) and address.scheme != "wss" and not is_loopback(address.hostname or ""):
        warnings.append(f"[serial_console] base_url is {options.base_url}: passwords typed can be "
                        "read, and links be used by others; use wss")  # fmt: skip
    return result_of([], warnings)


def _has_guests(of: Inspected) -> bool:
    return of.serves(COMPUTE) and "libvirt" in of.conf.compute.driver


def _judge_certificates(
    of: Inspected, option: str, names: tuple[str, ...], failures: list[str], warnings: list[str]
) -> None:
    """Check the certificates that an option needs; one that is missing makes migrations fail."""
    for path in (PKI / name for name in names):
        try:
            found = x509.load_pem_x509_certificates(path.read_bytes())
        except FileNotFoundError:
            warnings.append(f"{option} needs {path}, which does not exist")
            continue
        except (OSError, ValueError) as error:
            failures.append(f"{path} cannot be read: {error}")
            continue
        left = min(one.not_valid_after_utc for one in found).timestamp() - of.now_seconds
        if left <= 0:
            failures.append(f"a certificate in {path} has expired")
        elif left < of.expires_seconds:
            days = datetime.timedelta(seconds=left).days
            warnings.append(f"a certificate in {path} expires in {days} days")
