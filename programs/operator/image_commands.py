"""``armillary-manage image``: the key that signs hosts' tickets for images."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any

from conductor.super_conductor.db import deployment_secrets
from programs.application import WithOptions
from programs.commands import arguments
from programs.operator.databases import open_api


class ImageRotateTicketKey(WithOptions):
    """Replace the key with which super conductors sign hosts' tickets for images.

    It takes effect in every super conductor immediately. Tickets that were signed before are
    accepted for the overlap; hosts ask for another one when a ticket is refused, so no transfer
    fails. Hosts of child zones cannot ask: the tickets of servers there have a key of their own,
    which stays unless --of-servers is given.
    """

    app: Any

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--overlap-seconds", type=arguments.not_negative, metavar="SECONDS",
            help="how long tickets of the former key are accepted; 0 after a theft; default: twice "
            "[image] ticket_lifetime_seconds",
        )  # fmt: skip
        parser.add_argument(
            "--of-servers", action="store_true",
            help="after a theft: replace the key of tickets of servers in child zones, too; the "
            "hosts of those servers cannot read their images any more, so that a rebuild, or an "
            "evacuation to a host without the image, fails there",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> None:
        seconds = parsed_args.overlap_seconds
        if seconds is None:  # clocks differ by less than the lifetime
            seconds = 2 * self.app.conf.image.ticket_lifetime_seconds
        name, of_servers = deployment_secrets.IMAGE_TICKET_KEY, deployment_secrets.SERVER_TICKET_KEY
        until = time.time() + seconds
        database = open_api(self.app.conf)
        deployment_secrets.find_or_copy(database, of_servers, other=name)
        deployment_secrets.rotate(database, name, former_until=until)
        if parsed_args.of_servers:
            deployment_secrets.replace(database, of_servers)
        self.app.stdout.write(
            "Image tickets are signed with a new key; those of the former one are accepted for "
            f"{seconds} s\n"
        )
        if parsed_args.of_servers:
            self.app.stdout.write(
                "Hosts of child zones can no longer read the images of the servers that are there; "
                "servers that are created from now on are not concerned\n"
            )
