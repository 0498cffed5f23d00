"""``console``: a link that opens the web console, already logged in."""

from argparse import Namespace

from programs.commands.base import ApiCommand


class Console(ApiCommand):
    """Print a link that opens the web console; it works once.

    It logs its user in with the token that this command uses: give it to no other person.
    """

    def take_action(self, parsed_args: Namespace) -> int:
        found = self.api.post("armillary", "console-links", body={})
        self.application.stdout.write(f"{self.api.url}{found['link']}\n")
        if found["expires_at"] is not None:
            self.report(f"It opens once, until {found['expires_at']}.")
        return 0
