"""``armillary-manage identity``: entries of the token file."""

import argparse
import getpass
import sys

from armillary import exception
from armillary.identity import passwords
from programs.application import WithOptions


class HashPassword(WithOptions):
    """Print the hash of a password, for a user in the token file.

    The password is asked for, or read from a pipe; it is never an argument, which others could see.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        is_asked = sys.stdin.isatty()
        password = getpass.getpass() if is_asked else sys.stdin.readline().rstrip("\n")
        if not 0 < len(password) <= passwords.CHARACTERS_MAX:
            raise exception.Invalid(
                f"A password has 1 to {passwords.CHARACTERS_MAX} characters, not {len(password)}."
            )
        self.app.stdout.write(f"{passwords.hash_password(password)}\n")
        return 0
