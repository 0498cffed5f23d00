"""Set up the signing of a process from its configuration."""

from pathlib import Path

from oslo_config import cfg

from armillary import exception
from armillary.audit import AuditTrail
from rpc.broker.queue_names import claim_process_name
from rpc.signing import keys
from rpc.signing.keys import PublicKey
from rpc.signing.message_signer import MessageSigner
from rpc.signing.trust import AGENTS, SERVICES
from rpc.signing.trust_file import TrustFile

OFF, REQUIRED = "off", "required"


def make_signer(
    conf: cfg.ConfigOpts, process_name: str, lock_directory: Path
) -> MessageSigner | None:
    """Return the signing of this process, None if signing is off.

    Raises ConfigurationError if a key or trust list is missing, unreadable or not valid.
    """
    options = conf.signing
    if options.mode == OFF:
        return None
    return MessageSigner(
        key=keys.KeyFile(Path(options.key_file)).current,
        trusted=trust_files(conf),
        is_required=options.mode == REQUIRED,
        window_seconds=options.window_seconds,
        nonce_directory=Path(conf.state_path, "nonces"),
        slot=claim_process_name(f"nonces-{process_name}", lock_directory),
        trail=AuditTrail.from_conf(conf, process_name),
    )


def trust_files(conf: cfg.ConfigOpts) -> list[TrustFile]:
    """Return the configured trust lists; none if signing is off. Raises ConfigurationError."""
    options = conf.signing
    if options.mode == OFF:
        return []
    roots = [_root(text) for text in options.root_keys]
    if not roots:
        raise exception.ConfigurationError(
            reason=f"[signing] mode is {options.mode}, but root_keys is empty; no trust list could "
            "be verified"
        )
    trusted = [TrustFile(Path(options.trust_file), SERVICES, roots)]
    if options.compute_trust_file:
        trusted.append(TrustFile(Path(options.compute_trust_file), AGENTS, roots))
    return trusted


def _root(text: str) -> PublicKey:
    try:
        return PublicKey.from_text(text)
    except exception.Invalid as error:
        raise exception.ConfigurationError(
            reason=f"[signing] root_keys: {error.message}"
        ) from error
