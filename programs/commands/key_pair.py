"""Key pairs: public keys of a user, which servers are created with."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from armillary import exception
from programs.commands import base
from programs.commands.lookup import KEY_PAIRS, find_key_pair

FIELDS: base.Columns = {
    "name": "name",
    "type": "type",
    "fingerprint": "fingerprint",
    "user": "user_id",
    "created": "created_at",
    "public_key": "public_key",
}
COLUMNS: base.Columns = {"Name": "name", "Type": "type", "Fingerprint": "fingerprint"}
KINDS = ("ssh", "x509")
KEY_BYTES_MAX = 65536


class CreateKeyPair(base.ApiShow):
    """Store a public key; servers get it with --key-name. A new pair is made with ssh-keygen."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name")
        parser.add_argument(
            "--public-key", metavar="FILE", type=Path, required=True,
            help="file with the public key, such as ~/.ssh/id_ed25519.pub",
        )  # fmt: skip
        parser.add_argument(
            "--type", choices=KINDS, default=KINDS[0], help="kind of key (default: %(default)s)"
        )

    def take_action(self, parsed_args: Namespace) -> base.Record:
        wanted = {
            "name": parsed_args.name,
            "type": parsed_args.type,
            "public_key": _public_key(parsed_args.public_key),
        }
        self.api.post(KEY_PAIRS, body={"keypair": wanted})
        return base.record(FIELDS, find_key_pair(self.api, parsed_args.name))


class ListKeyPairs(base.ApiLister):
    """List the own key pairs."""

    def take_action(self, parsed_args: Namespace) -> base.Table:
        found = (each["keypair"] for each in self.items("keypairs", KEY_PAIRS))
        return base.table(COLUMNS, found)


class ShowKeyPair(base.ApiShow):
    """Show one key pair with its public key."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("keypair", help="name")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        return base.record(FIELDS, find_key_pair(self.api, parsed_args.keypair))


class DeleteKeyPairs(base.ApiCommand):
    """Delete key pairs; existing servers keep the key."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("keypairs", nargs="+", metavar="keypair", help="name")

    def take_action(self, parsed_args: Namespace) -> int:
        for found in [find_key_pair(self.api, name) for name in parsed_args.keypairs]:
            self.api.delete(KEY_PAIRS, found["name"])
        return 0


def _public_key(path: Path) -> str:
    """Return the text of a file. Raises Invalid for one that cannot be a public key."""
    try:
        with path.open("rb") as file:
            text = file.read(KEY_BYTES_MAX + 1).decode()
    except OSError as error:
        raise exception.Invalid(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise exception.Invalid(f"{path} is not a text file with a public key") from error
    if "PRIVATE KEY" in text:
        raise exception.Invalid(f"{path} is a private key: give the public one, {path}.pub")
    return text.strip()
